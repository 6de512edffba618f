/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_MAP_H
#define COMMON_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sip.h"

/*
 * A map from text to pointer.  Open addressing with a seed of its own (names
 * come from outside, so the hash must not be guessable), over a dense array of
 * entries: walking it gives the order of insertion, whatever the seed, which
 * keeps every user of it deterministic.  Get, put and remove take constant
 * time, and so does finding the first entry, which makes it a queue without
 * doubles, too; an entry costs some 32 bytes.
 *
 * Keys are borrowed: they must live, unchanged, as long as their entry.
 * Usually they are a member of the value.  A zeroed struct map is empty.
 */
struct map_entry {
    const char *key; /* NULL: removed */
    void *value;
    uint64_t hash;
};

struct map {
    struct map_entry *entries; /* in order of insertion, with holes */
    uint32_t *slots;           /* index of an entry plus one; 0 is free */
    size_t used;               /* entries in use, holes included */
    size_t first;              /* entries before it are holes */
    size_t count;              /* live entries */
    size_t capacity;           /* of entries; slots has twice as many */
    struct sip seed;
};

/* Frees the map's own memory, not keys or values. The map is then empty. */
void map_fini(struct map *map);

/* The value at key, or NULL. */
void *map_get(const struct map *map, const char *key);

/* Sets the value (not NULL) at key; the key given replaces the borrowed one.
 * Returns the value that stood there, or NULL. */
void *map_put(struct map *map, const char *key, void *value);

/* Removes key; returns its value, or NULL. Safe during map_next. */
void *map_remove(struct map *map, const char *key);

/* Walks: *pos starts at 0; returns the next value or NULL at the end. Entries
 * may be removed on the way; after a put the walk must start anew. */
void *map_next(const struct map *map, size_t *pos);

#endif
