/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_POOL_H
#define PROTO_POOL_H

#include "common/map.h"
#include "proto/object.h"

/*
 * The labels of many objects.  Nearly all Nodes of an estate have the same
 * thirty labels or more; kept with each Node they would be most of what is
 * remembered of it.  Here each pair of key and value is kept once, and so is
 * the list of a Node's pairs but for those that tell it from the others: its
 * clique, and whatever has its name for a value, as kubernetes.io/hostname has.
 * A list is looked for among the last few only, which finds it where neighbours
 * are alike and costs no more than a list of its own where they are not.
 *
 * Likewise what the assignment annotations of a rack's Nodes begin with.
 *
 * A zeroed pool is empty.
 */
enum { POOL_RECENT = 8 };

struct pool_list;

struct pool {
    struct map pairs; /* struct pooled by text */
    struct pool_list *recent[POOL_RECENT];
    unsigned next; /* of recent, to be replaced */
};

/* The bytes that pool_keep needs for these pairs of the object of that name. */
size_t pool_room(struct pairs pairs, struct str name);

/* The same pairs (no text has a NUL in it), kept here until pool_let_go.  room
 * has the size that pool_room gave, is aligned as a pointer is, and lives as
 * long as the result; so does the name, with a NUL behind it.  A value has a
 * NUL behind it, as texts in an arena have; a key has none. */
struct pairs pool_keep(struct pool *pool, struct pairs pairs, struct str name,
                       void *room);

/* Once for each that pool_keep gave; they are not to be used any more. */
void pool_let_go(struct pool *pool, struct pairs pairs);

/* One pair alone, with that value; NULL for an empty one. */
const struct pair *pool_keep_value(struct pool *pool, struct str key,
                                   struct str value);

/* Once for each that pool_keep_value gave; NULL is fine. */
void pool_let_go_value(struct pool *pool, const struct pair *pair);

/* All must have been let go. */
void pool_fini(struct pool *pool);

#endif
