/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_PATH_H
#define COMMON_KUBE_PATH_H

#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * Request paths.  A piece is given as it is; the functions escape it.
 *
 *     struct buf path = {0};
 *
 *     kube_path_add(&path, &(struct kube_path){.version = "v1",
 *         .resource = "nodes", .name = name}, err);
 *     kube_path_query(&path, "fieldManager", "mokka-controller");
 *     request.path = text = buf_take(&path);
 */
struct kube_path {
    const char *group;       /* NULL or "": the core group */
    const char *version;     /* "v1" */
    const char *namespace;   /* NULL: cluster-scoped, or all namespaces */
    const char *resource;    /* "nodes"; NULL: the group itself */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* NULL: none */
};

/*
 * Appends /api/v1/... or /apis/group/version/... to out.  -1 and err, with out
 * unchanged, if a piece that is given is empty, "." or "..": such a path would
 * address something else.
 */
int kube_path_add(struct buf *out, const struct kube_path *path,
                  struct err *err);

/* Appends ?key=value, or &key=value if out has a query already. */
void kube_path_query(struct buf *out, const char *key, const char *value);

/* As kube_path_query, with a number. */
void kube_path_query_int(struct buf *out, const char *key, int64_t value);

#endif
