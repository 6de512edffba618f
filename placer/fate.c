/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/fate.h"

static bool
is_unresolved(const struct plan_inventory *v, struct str group)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (str_eq(v->groups[i].spec->id, group))
            return v->groups[i].profile == NULL;
    return false;
}

static enum fate
goes(enum release reason, enum release *why)
{
    *why = reason;
    return FATE_GOES;
}

/* Of an inventory that may write: its groups and their racks decide. */
static enum fate
by_place(const struct plan *plan, const struct plan_inventory *v,
         const struct object_rack *rack, enum release *why)
{
    const struct inventory_group *g;

    if (is_unresolved(v, rack->group))
        return FATE_LEFT;
    if (plan_canonical(plan, rack))
        return FATE_STANDS;
    g = inventory_group(&v->world->spec, rack->group);
    return goes(g != NULL && rack->index >= g->count ? RELEASE_CAPACITY_SHRINK
                                                     : RELEASE_GROUP_REMOVED,
                why);
}

enum fate
fate_of(const struct plan *plan, const struct object_rack *rack,
        enum release *why)
{
    const struct plan_inventory *v = plan_inventory(plan, &rack->inventory);
    bool deleting = rack->meta.deleting;

    if (v == NULL)
        return deleting ? goes(RELEASE_RACK_DELETING, why) : FATE_LEFT;
    if (v->world->o.meta.deleting)
        return goes(RELEASE_INVENTORY_DELETING, why);
    if (v->verdict.decision == ADMIT_REJECTED)
        return goes(RELEASE_CAPACITY_REJECTED, why);
    if (v->verdict.decision != ADMIT_ACCEPTED)
        return FATE_LEFT;
    if (deleting)
        return goes(RELEASE_RACK_DELETING, why);
    return by_place(plan, v, rack, why);
}
