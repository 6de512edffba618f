/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLACE_H
#define PLACER_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "placer/release.h"
#include "placer/selector.h"
#include "proto/object.h"

/*
 * Allocation (mokka-api 9.1 to 9.5): which Node fills which slot.  A pure
 * function of three lists whose order does not matter.
 *
 * The lists are borrowed, and the plan points into them: they must stay as
 * they are until the plan was given back.  Node uids, in all lists, must have
 * a NUL after them (as arena_str gives).
 */
struct place_group {
    struct object_ref inventory;
    struct str id;
    const struct selector *selector; /* NULL matches every Node */
    int64_t racks, nodes_per_rack;
};

struct place_node {
    struct str name, uid;
    int64_t created; /* seconds since 1970 */
    bool terminating;
    struct pairs labels;
};

/* A bound slot of a rack. */
struct place_binding {
    struct object_ref inventory;
    struct str group;
    int64_t rack, slot;
    struct object_ref node;
    /* Of a rack that is to go because its name is not canonical or its index
     * negative: takes no coordinate, so it may share one; its Node counts as
     * bound; released as GroupRemoved. */
    bool stray;
};

struct place_input {
    const struct place_group *groups;
    size_t group_count;
    const struct place_node *nodes;
    size_t node_count;
    const struct place_binding *bindings;
    size_t binding_count;
};

struct place_released {
    const struct place_binding *binding;
    enum release reason;
};

/* A Node that gets a slot. */
struct place_assigned {
    const struct place_group *group;
    const struct place_node *node;
    int32_t rack, slot;
};

/* A Node that waits for one. */
struct place_pending {
    const struct place_group *group;
    const struct place_node *node;
};

enum place_conflict_kind { PLACE_DUPLICATE_BINDING, PLACE_SELECTOR_OVERLAP };

/* "DuplicateBinding", "SelectorOverlap". */
const char *place_conflict_name(enum place_conflict_kind kind);

struct place_conflict {
    enum place_conflict_kind kind;
    struct object_ref ref;         /* of the Node */
    const struct place_node *node; /* NULL: gone */
    /* SelectorOverlap: who selects it, in the order of keys. */
    const struct place_group *const *groups;
    size_t group_count;
    /* DuplicateBinding: all that name it, in the order of bindings. */
    const struct place_binding *const *bindings;
    size_t binding_count;
};

/* In the orders of 9.5. */
struct place_plan {
    const struct place_binding **retained;
    size_t retained_count;
    struct place_released *released;
    size_t released_count;
    struct place_assigned *assigned;
    size_t assigned_count;
    struct place_pending *pending;
    size_t pending_count;
    struct place_conflict *conflicts;
    size_t conflict_count;
    uint64_t evaluations;      /* how often a selector was asked */
    struct place_lists *lists; /* private: what conflicts point to */
};

/*
 * Makes the plan for these lists.  -1 and err if the input contradicts itself
 * (9.1); *plan is then empty.  *plan needs no initialisation and is given back
 * with place_plan_fini.
 *
 * With N Nodes, G groups, B bindings: selectors are asked at most B + N*G
 * times; sorting takes N log N + B log B (N + B if the lists come sorted);
 * finding free slots takes at most as many steps as slots are filled or
 * occupied before them.  Memory is some 100 bytes for each Node
 * and 60 for each binding.
 */
int place(struct place_plan *plan, const struct place_input *input,
          struct err *err);

/* Frees what it holds. A zeroed one may be given. */
void place_plan_fini(struct place_plan *plan);

/*
 * The share of one group, which need not be among the groups planned, as runs
 * of the plan's lists.  log n.
 */
struct place_share {
    const struct place_binding *const *retained;
    size_t retained_count;
    const struct place_assigned *assigned;
    size_t assigned_count;
    const struct place_released *released;
    size_t released_count;
};

struct place_share place_share(const struct place_plan *plan,
                               struct object_ref inventory, struct str group);

/* Is it not terminating, and labelled eligible? (9.1) */
bool place_eligible(bool terminating, struct pairs labels);

/* The order in which Nodes are served: creation, name, uid. */
int place_node_cmp(const struct place_node *a, const struct place_node *b);

#endif
