/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_PAGE_H
#define INFORMER_PAGE_H

#include "common/err.h"
#include "common/str.h"
#include "informer/extract.h"
#include "informer/resource.h"

/*
 * Reads one page of a list, in either encoding, from bytes fed as they come:
 * object by object, so that memory is bounded by the largest object.
 */
struct page;

struct page_calls {
    /* An object; it dies with the call. */
    void (*object)(void *arg, const struct wire_object *object);
    /* An object that cannot be read; the others go on. */
    void (*bad)(void *arg, const struct err *err);
    void *arg;
};

/* What stands around the objects; texts live as long as the page. */
struct page_end {
    struct str version;
    struct str more; /* the continue token; empty: this was the last page */
};

struct page *page_new(enum encoding encoding, const struct page_calls *calls);

/* NULL is fine. Not from within a call of this page. */
void page_free(struct page *page);

/* -1 and err if the bytes are no list; feed no more then. */
int page_feed(struct page *page, struct str bytes, struct err *err);

/* The answer has ended.  -1 and err if the list has not, or does not say its
 * version: nothing may then count as complete. */
int page_finish(struct page *page, struct page_end *end, struct err *err);

#endif
