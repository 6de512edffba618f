/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stddef.h>

#include "common/str.h"

/*
 * Memory that is given back all at once: the pieces of one decoded object live
 * and die together.  A zeroed struct arena is empty.
 */
struct arena_block;

struct arena {
    struct arena_block *blocks;
};

/* n zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t n);

/* What arena_alloc takes for n bytes; a text takes one more than it has. */
size_t arena_round(size_t n);

/* A copy of the text, with a NUL after it. */
struct str arena_str(struct arena *arena, struct str text);

/* How many bytes are in use; and, for an empty arena that is to hold just that
 * many, a place of that size. (An arena that grows by itself wastes up to a
 * kilobyte, which is much for an object that exists a hundred thousand times.)
 */
size_t arena_used(const struct arena *arena);
void arena_reserve(struct arena *arena, size_t n);

/* Gives back everything; the arena is then empty. */
void arena_fini(struct arena *arena);

#endif
