/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_VIEW_H
#define MOKKACTL_VIEW_H

#include "supervisor/mokkactl/cluster.h"
#include "supervisor/mokkactl/story.h"

/*
 * A converged cluster as people ask about it: inventories (by name), their
 * groups (in the order of the spec), the groups' racks (by index), and what
 * became of each slot.
 */
enum mark {
    MARK_FREE = '.',
    MARK_BOUND = '#',    /* as it was given */
    MARK_NEW = '+',      /* bound by the plan */
    MARK_RELEASED = '-', /* free now, and was not */
    MARK_BLOCKED = '!',  /* bound, but its Node cannot be labelled */
};

struct view_slot {
    int64_t index;
    struct object_ref now, before; /* Node; name empty: none */
    char mark;
};

struct view_group;

struct view_rack {
    const struct stored *o;
    const struct view_group *group; /* NULL: none that is declared */
    struct view_slot *slots;        /* by index; those that are gone included */
    size_t count;
};

struct view_group {
    const char *id, *profile;
    int64_t declared;           /* racks of the spec */
    int64_t requested, pending; /* Nodes, of the status */
    int64_t standing;           /* racks */
    int64_t slots, bound, fresh, released, blocked;
    struct view_rack **racks; /* by index; those that are gone included */
    size_t rack_count;
};

struct view_inventory {
    const struct stored *o;
    json_t *spec, *status;
    struct view_group *groups;
    size_t group_count;
};

struct view {
    struct view_inventory *inventories;
    size_t inventory_count;
    struct view_rack *racks; /* by inventory, group, index; gone ones first */
    size_t rack_count;
    /* Objects that the plan makes, changes, deletes. */
    size_t created, updated, deleted;
    size_t bound, released; /* slots */
    size_t nodes, eligible; /* Nodes given; of them, those that count */
};

/* Cluster and story outlive it. */
void view_init(struct view *v, const struct cluster *c,
               const struct story *story);
void view_fini(struct view *v);

/* The objects of a shelf, by name; count of them; the caller frees the list. */
struct stored **view_sorted(const struct cluster *c, unsigned shelf,
                            size_t *count);

#endif
