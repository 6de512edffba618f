/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_WORLD_H
#define PLACER_WORLD_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/map.h"
#include "placer/inventory.h"
#include "placer/profile.h"
#include "proto/object.h"

/*
 * The model: every object of the feed in its newest state, by kind and name.
 * A record stays where it is until it is replaced or removed; whoever keeps a
 * pointer to one lets go of it at the next world_put or world_remove.
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
    struct object_node o;
    bool seen;
};

struct world {
    struct map kinds[KIND_COUNT];
};

/* Takes the body of a PROFILE, INVENTORY, RACK or NODE. -1 and err if it is
 * not one; the model is then as it was. */
int world_put(struct world *world, enum object_kind kind,
              const struct value *body, struct err *err);

/* Removes the object if it is there under that uid. */
void world_remove(struct world *world, enum object_kind kind, struct str name,
                  struct str uid);

/* A sync: objects that no put names between the two are gone. */
void world_sync_begin(struct world *world);
void world_sync_end(struct world *world);

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

void world_fini(struct world *world);

#endif
