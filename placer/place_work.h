/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLACE_WORK_H
#define PLACER_PLACE_WORK_H

#include "common/map.h"
#include "placer/place.h"

/* Private to place*.c: a plan under way, and the orders it needs. */

/* A group, and where its search for free coordinates stands. */
struct place_work_group {
    const struct place_group *in;
    size_t cursor, end; /* its bindings not passed yet */
    int64_t rack, slot; /* the next coordinate to look at */
    struct place_assigned *assigned;
    size_t assigned_count, assigned_room;
};

/* A Node uid that is known or bound. */
struct place_work_node {
    const struct place_node *in; /* NULL: gone */
    uint32_t bindings;
    uint32_t first, last; /* of them, a chain */
    bool retained;
};

struct place_work {
    struct place_work_group *groups; /* by key */
    size_t group_count;
    struct place_work_node *nodes; /* as served; behind them those gone */
    size_t node_count, gone;
    const struct place_binding **bindings; /* by coordinate */
    uint32_t *next;                        /* binding of the same Node */
    size_t binding_count;
    struct map by_uid;                    /* to struct place_work_node */
    struct place_work_group **candidates; /* of the Node looked at */
    size_t conflict_room;
    struct place_plan *plan;
};

/*
 * Fills groups, nodes, bindings and by_uid (whose arrays have room) from the
 * input, sorted and checked by 9.1.  -1 and err if it contradicts itself.
 */
int place_load(struct place_work *w, const struct place_input *in,
               struct err *err);

int place_int_cmp(int64_t a, int64_t b);

/* Group keys: inventory name, uid, group id. */
int place_key_cmp(struct object_ref a, struct str a_group, struct object_ref b,
                  struct str b_group);

/* Group key, rack, slot. */
int place_coordinate_cmp(const struct place_binding *a,
                         const struct place_binding *b);

/* What of two bindings of one coordinate and Node comes first: only strays can
 * be such. */
int place_rest_cmp(const struct place_binding *a,
                   const struct place_binding *b);

/* As qsort; costs one walk if they are sorted already. */
void place_sort(void *items, size_t count, size_t size,
                int (*cmp)(const void *, const void *));

#endif
