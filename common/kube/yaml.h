/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_YAML_H
#define COMMON_KUBE_YAML_H

#include <stddef.h>

#include "common/err.h"
#include "common/str.h"

/*
 * A small YAML document as a tree, with limits: 1 MiB of text, 32 levels,
 * 16384 nodes, one document.  Aliases are refused (a few hundred bytes of them
 * can stand for gigabytes), and so are keys that come twice or are no scalars.
 * Every message names file:line.
 */
enum kube_yaml_kind { KUBE_YAML_SCALAR, KUBE_YAML_MAP, KUBE_YAML_LIST };

struct kube_yaml {
    enum kube_yaml_kind kind;
    char *key;        /* in a map: this node's key, or NULL */
    char *text;       /* of a scalar; "" for an empty one */
    int plain_null;   /* a scalar that stands for null: empty, ~ or null */
    size_t line;      /* in the file, from 1 */
    const char *file; /* what the reader was told it is called */
    size_t n_items;   /* of a map or list, in the order of the file */
    struct kube_yaml **items;
};

/* Reads text; file is what messages call it, borrowed for as long as the tree
 * lives. An empty document is an empty map. NULL and err if it is no YAML or
 * beyond a limit. */
struct kube_yaml *kube_yaml_parse(struct str text, const char *file,
                                  struct err *err);

/* Wipes every text and frees the tree; NULL is fine. */
void kube_yaml_free(struct kube_yaml *node);

/* The value at key, or NULL if node is NULL, no map, or has none. */
const struct kube_yaml *kube_yaml_get(const struct kube_yaml *node,
                                      const char *key);

#endif
