/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_WORLD_H
#define PLACER_WORLD_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/map.h"
#include "placer/inventory.h"
#include "placer/profile.h"
#include "proto/object.h"
#include "proto/pool.h"

/*
 * The model: every object of the feed in its newest state, by kind and name.
 * A record stays at its address until its name is gone; what is in it, texts
 * included, is replaced by each world_put of that name.  What was compiled of a
 * profile or an inventory stays untouched while uid and generation do.
 */
struct world_profile {
    char *version;
    struct profile spec;
    bool seen;
};

struct world_inventory {
    struct arena arena;
    struct object_inventory o; /* its spec is compiled and not kept */
    struct inventory spec;
    bool seen;
};

struct world_rack {
    struct arena arena;
    struct object_rack o;
    bool seen;
};

struct world_node {
    struct arena arena;
    struct object_node o;    /* its labels are in the pool */
    const struct pair *head; /* and that of its annotation; or NULL */
    bool seen;
};

struct world {
    struct map kinds[KIND_COUNT];
    struct pool labels; /* of the Nodes */
};

/* Reads the body of a PROFILE, INVENTORY, RACK or NODE to a record of its own;
 * *name is its name, and lives in it. NULL and err if it is not one. */
void *world_read(struct world *world, enum object_kind kind,
                 const struct value *body, const char **name, struct err *err);

/* Takes over a record that world_read gave, as the news of that name. */
void world_put(struct world *world, enum object_kind kind, const char *name,
               void *record);

/* Removes the object of that name, if it is there. */
void world_remove(struct world *world, enum object_kind kind, const char *name);

/* Name and uid of a record. */
struct object_ref world_ref(enum object_kind kind, const void *record);

/* For a sync: forgets that anything was seen, and whether a record was put
 * since. */
void world_unsee(struct world *world);
bool world_seen(enum object_kind kind, void *record);

/* Look up by name (NUL-terminated); NULL if it is not there. */
const struct world_profile *world_profile(const struct world *world,
                                          const char *name);
const struct world_inventory *world_inventory(const struct world *world,
                                              const char *name);
const struct world_rack *world_rack(const struct world *world,
                                    const char *name);
const struct world_node *world_node(const struct world *world,
                                    const char *name);

/* The Node of that name if it is this very instance, else NULL. */
const struct world_node *world_node_exact(const struct world *world,
                                          const struct object_ref *ref);

/* Does it carry our finalizer? */
bool world_has_finalizer(const struct world_inventory *v);

void world_fini(struct world *world);

#endif
