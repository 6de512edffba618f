/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_META_LIST_H
#define COMMON_KUBE_META_LIST_H

#include <stdint.h>

#include "common/err.h"
#include "common/kube/meta.h"
#include "common/str.h"

/*
 * Reads a list of metadata in protobuf (KUBE_META_LIST_ACCEPT) from bytes fed
 * as they come, in pieces of any size.  Memory is bounded by the largest item
 * that is accepted (4 MiB) and one piece.
 */
struct kube_meta_list;

#define KUBE_META_ITEM_MAX ((size_t)4 << 20)

struct kube_meta_list_calls {
    /* An item; its views die with the call. */
    void (*item)(void *arg, const struct kube_meta *meta);
    /* An item that is malformed or too large and left out; the others go on. */
    void (*bad)(void *arg, const struct err *err);
    void *arg;
};

/* calls is copied. */
struct kube_meta_list *
kube_meta_list_new(const struct kube_meta_list_calls *calls);

/* NULL is fine. Not from within a callback of this list. */
void kube_meta_list_free(struct kube_meta_list *list);

/* Takes the next piece, calling back for each item that is complete with it.
 * -1 and err if the list itself is malformed; feed no more then. */
int kube_meta_list_feed(struct kube_meta_list *list, struct str bytes,
                        struct err *err);

/* The list as a whole; texts live as long as the reader. */
struct kube_meta_list_end {
    const char *resource_version; /* "" if none */
    const char *more;             /* continue token; "": this was all */
    int64_t remaining; /* items after this page; 0: none or unknown */
};

/* The answer has ended. -1 and err if the list has not: nothing of it may then
 * count as complete. */
int kube_meta_list_finish(const struct kube_meta_list *list,
                          struct kube_meta_list_end *end, struct err *err);

#endif
