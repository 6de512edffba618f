/* SPDX-License-Identifier: Apache-2.0 */
/* A group's share of a plan: runs of lists that are sorted by group key. */
#include "placer/place_work.h"

/* The key of an item of one of the lists. */
struct key {
    struct object_ref inventory;
    struct str group;
};

static struct key
retained_key(const struct place_plan *plan, size_t i)
{
    const struct place_binding *b = plan->retained[i];

    return (struct key){b->inventory, b->group};
}

static struct key
released_key(const struct place_plan *plan, size_t i)
{
    const struct place_binding *b = plan->released[i].binding;

    return (struct key){b->inventory, b->group};
}

static struct key
assigned_key(const struct place_plan *plan, size_t i)
{
    const struct place_group *g = plan->assigned[i].group;

    return (struct key){g->inventory, g->id};
}

/* The first item whose key is not before the key, or, with after, is behind
 * it. */
static size_t
bound(const struct place_plan *plan, size_t count,
      struct key (*key_of)(const struct place_plan *, size_t), struct key key,
      bool after)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        struct key at = key_of(plan, middle);
        int order =
            place_key_cmp(at.inventory, at.group, key.inventory, key.group);

        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

struct place_share
place_share(const struct place_plan *plan, struct object_ref inventory,
            struct str group)
{
    const struct key key = {inventory, group};
    size_t retained =
        bound(plan, plan->retained_count, retained_key, key, false);
    size_t released =
        bound(plan, plan->released_count, released_key, key, false);
    size_t assigned =
        bound(plan, plan->assigned_count, assigned_key, key, false);

    return (struct place_share){
        .retained = plan->retained + retained,
        .retained_count =
            bound(plan, plan->retained_count, retained_key, key, true) -
            retained,
        .released = plan->released + released,
        .released_count =
            bound(plan, plan->released_count, released_key, key, true) -
            released,
        .assigned = plan->assigned + assigned,
        .assigned_count =
            bound(plan, plan->assigned_count, assigned_key, key, true) -
            assigned,
    };
}
