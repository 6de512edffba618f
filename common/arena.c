/* SPDX-License-Identifier: Apache-2.0 */
#include "common/arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define BLOCK 1000 /* with malloc's header, just below a round size */

/* Aligned pieces grow from the front, texts from the back. */
struct arena_block {
    struct arena_block *next;
    size_t front, back, size;
    alignas(max_align_t) char data[];
};

void
arena_reserve(struct arena *arena, size_t n)
{
    struct arena_block *b = mem_zalloc(sizeof(*b) + n);

    b->back = b->size = n;
    b->next = arena->blocks;
    arena->blocks = b;
}

/* A block with that much room. */
static struct arena_block *
block(struct arena *arena, size_t need)
{
    const struct arena_block *b = arena->blocks;

    if (b == NULL || b->back - b->front < need)
        arena_reserve(arena, need > BLOCK ? need : BLOCK);
    return arena->blocks;
}

size_t
arena_round(size_t n)
{
    size_t align = alignof(max_align_t);

    return (n + align - 1) / align * align;
}

void *
arena_alloc(struct arena *arena, size_t n)
{
    size_t need = arena_round(n);
    struct arena_block *b = block(arena, need);

    b->front += need;
    return b->data + b->front - need;
}

struct str
arena_str(struct arena *arena, struct str text)
{
    struct arena_block *b = block(arena, text.n + 1);
    char *copy;

    b->back -= text.n + 1;
    copy = b->data + b->back;
    if (text.n > 0)
        memcpy(copy, text.s, text.n);
    return (struct str){copy, text.n};
}

size_t
arena_used(const struct arena *arena)
{
    size_t used = 0;

    for (const struct arena_block *b = arena->blocks; b != NULL; b = b->next)
        used += b->front + b->size - b->back;
    return used;
}

void
arena_fini(struct arena *arena)
{
    while (arena->blocks != NULL) {
        struct arena_block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
}
