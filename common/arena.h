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

/* A copy of the text, with a NUL after it. */
struct str arena_str(struct arena *arena, struct str text);

/* Gives back everything; the arena is then empty. */
void arena_fini(struct arena *arena);

#endif
