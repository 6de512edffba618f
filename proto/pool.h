/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_POOL_H
#define PROTO_POOL_H

#include "common/map.h"
#include "proto/object.h"

/*
 * The labels of many objects, each pair of key and value once.  Nearly all
 * Nodes of an estate have the same thirty labels or more; kept with each Node
 * they would be most of what is remembered of it.  A zeroed pool is empty.
 */
struct pool {
    struct map pairs; /* struct pooled by text */
};

/* The same pairs (no text has a NUL in it), kept here until pool_let_go.  list
 * is the caller's, with room for all, and lives as long.  A value has a NUL
 * behind it, as texts in an arena have; a key has none. */
struct pairs pool_keep(struct pool *pool, struct pairs pairs,
                       const struct pair **list);

/* Once for each that pool_keep gave; they are not to be used any more. */
void pool_let_go(struct pool *pool, struct pairs pairs);

/* All must have been let go. */
void pool_fini(struct pool *pool);

#endif
