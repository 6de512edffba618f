/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_APPLY_KIND_H
#define MOKKACTL_APPLY_KIND_H

#include "supervisor/mokkactl/apply.h"

/* What the files apply_*.c share. */

struct work {
    struct cluster *c;
    struct arena *arena;
    union intent intent;
    uint16_t type;
    struct result result; /* action, name and uid are set */
};

/* Each ends with apply_end, or one of the others below. */
void apply_rack_write(struct work *w);
void apply_rack_delete(struct work *w);
void apply_node(struct work *w);
void apply_edit(struct work *w); /* finalizers and statuses */

void apply_end(struct work *w, enum outcome outcome, const char *reason);

/* The target, if it is there under that name and uid; otherwise NULL, and the
 * work has ended. */
struct stored *apply_target(struct work *w, unsigned shelf);

/* Commits the object's new metadata (see cluster_commit): DONE, or INVALID if
 * the feed cannot take it. true if DONE. */
bool apply_commit(struct work *w, struct stored *o, json_t *metadata,
                  json_t *spec);

/* It stands as wanted already. */
void apply_unchanged(struct work *w, const struct stored *o);

#endif
