/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_OWNED_H
#define COMMON_KUBE_OWNED_H

#include <stdbool.h>

#include "common/buf.h"
#include "proto/object.h"

struct json_t;
struct kube_meta;

/*
 * Whose the fields of an object are, by its managedFields: the one place of
 * these rules, for who watches objects and for who looks at answers.
 *
 * Only entries of the main resource in the form FieldsV1 count.
 */

/* The projected keys of a Node (mokka-control 4.3); sets are bits of enum
 * projected_key. */
struct owned_keys {
    int ours;                     /* by our field manager's Apply, of v1 */
    int foreign;                  /* by anybody else */
    struct buf rivals[KEY_COUNT]; /* who, key by key: comma-joined, at most
                                     some 1,000 bytes */
};

/* An entry whose field set is not readable owns, as a stranger, each key that
 * it mentions. */
void owned_keys_read(struct owned_keys *o, const struct kube_meta *meta);
void owned_keys_fini(struct owned_keys *o);

/* Appends rivals in the form of object_node.rivals. */
void owned_keys_rivals(struct buf *out, const struct owned_keys *o);

/*
 * The spec of a rack is owned by our field manager and by nobody else
 * (mokka-control 5.5).  list is its metadata.managedFields, or NULL.
 */
bool owned_spec(const struct json_t *list);

/* What it does not read of an object: a path for kube_prune. */
#define OWNED_UNREAD "metadata.managedFields.*.fieldsV1.*"

#endif
