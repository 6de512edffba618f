/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_PRUNE_H
#define COMMON_KUBE_PRUNE_H

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/str.h"

/*
 * JSON without what nobody wants to know of it.  Of a rack, as the API server
 * sends it, half is the account of who wrote which field; to skip it costs a
 * hundredth of what it costs to parse it.
 *
 * paths are places, ended by NULL: keys joined by dots, from the root, and *
 * for any key of an object or any element of a list
 * ("metadata.managedFields.*"). The object or list at such a place is emptied;
 * a value of another type stays.  Keys are compared as they are written, at
 * most PRUNE_DEPTH of them.
 */
#define PRUNE_DEPTH 8

/* Appends text, so emptied. What is no JSON around them is none afterwards. */
void kube_prune(struct buf *out, struct str text, const char *const *paths);

/* kube_json_parse of the text, so emptied; what is cut out is not looked at. */
json_t *kube_json_parse_pruned(struct str text, const char *const *paths,
                               struct err *err);

#endif
