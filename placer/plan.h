/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLAN_H
#define PLACER_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/map.h"
#include "placer/admit.h"
#include "placer/place.h"
#include "placer/rack.h"
#include "placer/world.h"

/*
 * What should stand, worked out from the model as a whole: which inventories
 * are accepted, which profile each group uses, which racks there are to be and
 * which Node fills which slot (mokka-api 6.3, 8, 9).  The plan points into the
 * model and must be made anew after each change of it.
 */

/* Why a group has no profile to work with. */
enum plan_issue { PLAN_RESOLVED, PLAN_NOT_FOUND, PLAN_INVALID };

struct plan_group {
    const struct plan_inventory *inventory;
    const struct inventory_group *spec;
    const struct profile *profile; /* NULL unless resolved */
    enum plan_issue issue;
    struct err why;           /* with an issue */
    struct capacity capacity; /* zero unless resolved */
};

struct plan_inventory {
    const struct world_inventory *world;
    struct plan_group *groups;
    size_t group_count;
    struct admit_verdict verdict;
    bool accepted;       /* in status terms: pending ones are, too */
    const char *refusal; /* reason token, unless accepted */
    struct err why;      /* unless accepted */
    struct capacity desired;
};

/* A rack that is to be. */
struct plan_rack {
    const struct plan_group *group;
    int64_t index;
    struct rack_facts facts;
    /* What facts were rendered for. */
    char *profile_uid;
    int64_t generation;
};

/* Bindings that were sent and are not in the feed yet (A18 of the pitfalls:
 * never decide twice on a stale view). */
struct plan_assumed {
    char *rack; /* object name */
    struct object_ref inventory;
    struct str group;
    int64_t index;
    struct object_ref *nodes; /* by slot, name empty: unbound */
    size_t count;
    struct arena arena;
};

struct plan {
    struct plan_inventory *inventories; /* in order of admission */
    size_t inventory_count;
    struct map racks; /* struct plan_rack by name */
    struct map bound; /* by Node uid: first binding, struct place_binding */
    struct place_plan place;
    bool placed; /* false: the input contradicts itself, see why */
    struct err why;
    /* Private: what place borrows. */
    struct place_group *groups;
    struct place_node *nodes;
    struct place_binding *bindings;
    size_t group_count, node_count, binding_count;
};

/*
 * Makes the plan of this model.  assumed: struct plan_assumed by rack name.
 * old, which may be zeroed, gives its renderings where they still hold, and is
 * finished.  n log n in Nodes, racks and bindings; see place.h.
 */
void plan_make(struct plan *plan, struct plan *old, const struct world *world,
               const struct map *assumed);
void plan_fini(struct plan *plan);

/* The planned rack of that name, or NULL. */
const struct plan_rack *plan_rack(const struct plan *plan, const char *name);

/* The inventory that a rack belongs to by its spec (name and uid), or NULL. */
const struct plan_inventory *plan_inventory(const struct plan *plan,
                                            const struct object_ref *ref);

#endif
