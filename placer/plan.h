/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLAN_H
#define PLACER_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/map.h"
#include "placer/admit.h"
#include "placer/rack.h"
#include "placer/world.h"

/*
 * What the declarations ask for: which inventories are accepted, which profile
 * each group uses, which racks there are to be (mokka-api 6.3, 8).  It changes
 * with inventories, profiles and the capacity that stands, not with Nodes;
 * which Node fills which slot is alloc.h's.
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
    struct capacity existing; /* its racks that count as owned */
    struct capacity kept;     /* those of groups that do not resolve now */
    size_t racks;             /* that it controls */
    size_t leaving;           /* of them: being deleted */
    bool valid;               /* by itself */
    bool accepted;            /* in status terms: pending ones are, too */
    const char *refusal;      /* reason token, unless accepted */
    struct err why;           /* unless accepted */
    struct capacity desired;
};

/* A rack that is to be. */
struct plan_rack {
    const struct plan_group *group;
    int64_t index;
    char name[IDENTITY_NAME_MAX];
    /* Private: the digest of its rendering, and what that was made of. */
    char digest[RACK_DIGEST]; /* empty: not rendered yet */
    char *profile_uid;
    int64_t generation;
};

struct plan {
    struct plan_inventory *inventories; /* in order of admission */
    size_t inventory_count;
    struct capacity total; /* of all racks that count as owned */
    struct map racks;      /* struct plan_rack by name */
};

/*
 * A group of which the API server refused a rack as invalid (7.5).  As long as
 * nothing changes that the rack was made of, the group counts as one whose
 * profile is invalid: its racks stay as they are, and nothing is tried again.
 */
struct plan_bar {
    char *key;        /* uid of the inventory, id of the group */
    int64_t declared; /* generation of the inventory */
    char *profile_uid;
    int64_t generation; /* of the profile */
    struct err why;
};

/* Notes that in a map of such, in which the next plan is made. */
void plan_bar(struct map *bars, const struct plan_group *g, struct str why);

/* Empties the map. */
void plan_unbar(struct map *bars);

/*
 * Makes the plan of this model.  old, which may be zeroed, gives its renderings
 * where they still hold, and is finished.  bars, of struct plan_bar, may be
 * NULL.  Costs a pass over the racks that
 * stand, and a name for each that is to be.
 */
void plan_make(struct plan *plan, struct plan *old, const struct world *world,
               const struct map *bars);
void plan_fini(struct plan *plan);

/* A rack stands now, or stands no more: what it charges (8.2). Pass true to
 * add. */
void plan_charge(struct plan *plan, const struct object_rack *rack, bool add);

/* Decides admission anew for what is charged now; true if a verdict changed,
 * and the plan must be made anew. */
bool plan_readmit(struct plan *plan);

/* Name and uid of an inventory; the texts live as long as its compiled spec. */
struct object_ref plan_ref(const struct plan_inventory *v);

/* Is the group resolved, and its inventory free to write: does it take part in
 * allocation? */
bool plan_allocates(const struct plan_group *g);

/* The digest of a planned rack's spec without bindings.  Rendering is the dear
 * part, so it is done when first asked for, and kept from plan to plan. */
const char *plan_digest(const struct plan_rack *rack);

/* The planned rack of that name, or NULL. */
const struct plan_rack *plan_rack(const struct plan *plan, const char *name);

/* Is it the planned rack of the coordinate that its spec names? */
bool plan_canonical(const struct plan *plan, const struct object_rack *r);

/* The inventory that a rack belongs to by its spec (name and uid), or NULL. */
const struct plan_inventory *plan_inventory(const struct plan *plan,
                                            const struct object_ref *ref);

#endif
