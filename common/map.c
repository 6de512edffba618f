/* SPDX-License-Identifier: Apache-2.0 */
#include "common/map.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define FIRST_CAPACITY 8

static uint64_t
hash_of(const struct map *map, const char *key)
{
    return sip_hash(&map->seed, key, strlen(key));
}

static size_t
nslots(const struct map *map)
{
    return map->capacity * 2;
}

static size_t
home(const struct map *map, uint64_t hash)
{
    return (size_t)hash & (nslots(map) - 1);
}

/* The slot that holds key, or the free one where it would go. */
static size_t
find(const struct map *map, const char *key, uint64_t hash)
{
    size_t slot = home(map, hash);

    for (; map->slots[slot] != 0; slot = (slot + 1) & (nslots(map) - 1)) {
        const struct map_entry *e = &map->entries[map->slots[slot] - 1];

        if (e->key != NULL && e->hash == hash && strcmp(e->key, key) == 0)
            break;
    }
    return slot;
}

/* Closes the holes and rebuilds the slots for the given capacity. */
static void
rebuild(struct map *map, size_t capacity)
{
    size_t used = 0;

    if (map->capacity == 0)
        map->seed = sip_seed();
    for (size_t i = 0; i < map->used; i++)
        if (map->entries[i].key != NULL)
            map->entries[used++] = map->entries[i];
    map->used = used;
    map->first = 0;
    map->capacity = capacity;
    map->entries = mem_resize(map->entries, capacity, sizeof(*map->entries));
    free(map->slots);
    map->slots = mem_zalloc(nslots(map) * sizeof(*map->slots));
    for (size_t i = 0; i < used; i++) {
        size_t slot = home(map, map->entries[i].hash);

        while (map->slots[slot] != 0)
            slot = (slot + 1) & (nslots(map) - 1);
        map->slots[slot] = (uint32_t)i + 1;
    }
}

void
map_fini(struct map *map)
{
    free(map->entries);
    free(map->slots);
    *map = (struct map){0};
}

void *
map_get(const struct map *map, const char *key)
{
    size_t slot;

    if (map->count == 0)
        return NULL;
    slot = map->slots[find(map, key, hash_of(map, key))];
    return slot == 0 ? NULL : map->entries[slot - 1].value;
}

void *
map_put(struct map *map, const char *key, void *value)
{
    struct map_entry *e;
    uint64_t hash;
    size_t slot;

    if (map->used == map->capacity)
        rebuild(map, map->capacity == 0           ? FIRST_CAPACITY
                     : map->count * 2 > map->used ? map->capacity * 2
                                                  : map->capacity);
    hash = hash_of(map, key);
    slot = find(map, key, hash);
    if (map->slots[slot] != 0) {
        void *old;

        e = &map->entries[map->slots[slot] - 1];
        old = e->value;
        e->key = key;
        e->value = value;
        return old;
    }
    e = &map->entries[map->used++];
    *e = (struct map_entry){key, value, hash};
    map->slots[slot] = (uint32_t)map->used;
    map->count++;
    return NULL;
}

void *
map_remove(struct map *map, const char *key)
{
    struct map_entry *e;
    size_t slot;

    if (map->count == 0)
        return NULL;
    slot = map->slots[find(map, key, hash_of(map, key))];
    if (slot == 0)
        return NULL;
    /* The slot goes on pointing at the hole, so that probes pass over it. */
    e = &map->entries[slot - 1];
    e->key = NULL;
    map->count--;
    while (map->first < map->used && map->entries[map->first].key == NULL)
        map->first++;
    return e->value;
}

void *
map_next(const struct map *map, size_t *pos)
{
    if (*pos < map->first)
        *pos = map->first;
    while (*pos < map->used) {
        const struct map_entry *e = &map->entries[(*pos)++];

        if (e->key != NULL)
            return e->value;
    }
    return NULL;
}
