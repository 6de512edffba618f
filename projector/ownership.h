/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_OWNERSHIP_H
#define PROJECTOR_OWNERSHIP_H

#include "common/buf.h"
#include "common/err.h"
#include "proto/object.h"

struct kube_meta;

/* The three projected keys on a Node: what they say and whose they are. Sets
 * are bits of enum projected_key. */
struct ownership {
    int present;                   /* the Node has it at all */
    struct str clique, annotation; /* borrowed from the metadata */
    bool assigned;                 /* label sgpu-assigned is "true" */
    int ours;          /* owned by our field manager by Apply, apiVersion v1 */
    int foreign;       /* owned by anybody else */
    struct buf rivals; /* the managers behind foreign, comma-joined */
};

/* Reads it from a Node's metadata. -1 and err (nothing to free then) if an
 * owner's field set is not readable. */
int ownership_read(struct ownership *o, const struct kube_meta *meta,
                   struct err *err);
void ownership_fini(struct ownership *o);

/* Appends the names of the keys in the set, comma-joined. */
void ownership_names(struct buf *out, int keys);

/* Appends name to a comma-joined list, unless it is in it. */
void ownership_add_name(struct buf *list, struct str name);

#endif
