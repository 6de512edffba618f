/* SPDX-License-Identifier: Apache-2.0 */
#include "common/arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define BLOCK 1000 /* with malloc's header, just below a round size */

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

void *
arena_alloc(struct arena *arena, size_t n)
{
    size_t align = alignof(max_align_t);
    size_t need = (n + align - 1) / align * align;
    struct arena_block *b = arena->blocks;

    if (b == NULL || b->size - b->used < need) {
        size_t size = need > BLOCK ? need : BLOCK;

        b = mem_zalloc(sizeof(*b) + size);
        b->size = size;
        b->next = arena->blocks;
        arena->blocks = b;
    }
    b->used += need;
    return b->data + b->used - need;
}

struct str
arena_str(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, text.n + 1);

    if (text.n > 0)
        memcpy(copy, text.s, text.n);
    return (struct str){copy, text.n};
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
