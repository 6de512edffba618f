/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_POOL_H
#define PROTO_POOL_H

#include "common/map.h"
#include "proto/object.h"

/*
 * The labels of many objects, each pair of key and value once; and what the
 * assignment annotations of a rack's Nodes have in common, as a pair of its
 * key.  Nearly all Nodes of an estate have the same thirty labels or more, and
 * nine tenths of an annotation say which rack it is of; kept with each Node
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

/* What others' annotations begin with, too, kept likewise as a pair's value;
 * NULL for an empty text. */
const struct pair *pool_keep_head(struct pool *pool, struct str head);

/* Once for each that pool_keep or pool_keep_head gave; they are not to be used
 * any more. */
void pool_let_go(struct pool *pool, struct pairs pairs);

/* All must have been let go. */
void pool_fini(struct pool *pool);

#endif
