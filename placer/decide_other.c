/* SPDX-License-Identifier: Apache-2.0 */
/* Racks that are not to be any more, and those that wait until they are gone.
 */
#include <stdlib.h>

#include "common/api.h"
#include "common/log.h"
#include "placer/decide.h"
#include "placer/decide_work.h"
#include "placer/fate.h"
#include "placer/pending.h"
#include "proto/frame.h"

/* ---- growth (mokka-api 8.4) -------------------------------------------- */

/* Neither is it to be, nor is it to go: what its bindings were given up for is
 * not acted upon (9.6). */
static bool
is_left(const struct placer *p, const struct world_rack *r)
{
    enum release why;

    return plan_rack(&p->plan, r->o.meta.name.s) == NULL &&
           fate_of(&p->plan, &r->o, &why) != FATE_GOES;
}

/* Is a cleanup of that rack awaited that frees capacity? */
static bool
is_draining(const struct placer *p, const struct alloc_rack *bound)
{
    const struct world_rack *r = world_rack(&p->world, bound->name);

    if (r == NULL || (bound->freeing == 0 && !r->o.meta.deleting) ||
        is_left(p, r))
        return false;
    for (size_t i = 0; i < bound->count; i++) {
        const struct alloc_binding *b = &bound->bindings[i];
        const struct object_slot *slot = rack_slot(&r->o, b->in.slot);
        bool frees =
            r->o.meta.deleting || (b->released && release_frees(b->reason));

        if (frees && slot != NULL && str_eq(slot->node.uid, b->in.node.uid) &&
            !decide_is_clean(p, &r->o, slot))
            return true;
    }
    return false;
}

/* Whether some rack of an inventory (its number) drains. */
static bool
is_any_draining(const struct placer *p, size_t inventory)
{
    bool leaving = p->plan.inventories[inventory].leaving > 0;
    const struct alloc_rack *bound;
    size_t pos = 0;

    if (p->alloc.freeing[inventory] == 0 && !leaving)
        return false;
    while ((bound = map_next(&p->alloc.racks, &pos)) != NULL)
        if (bound->inventory == inventory && (bound->freeing > 0 || leaving) &&
            is_draining(p, bound))
            return true;
    return false;
}

/* The same, asked once in a pass: nothing that a pass does ends a cleanup, and
 * it begins one only where the answer is yes already. */
static bool
is_awaiting(struct placer *p, size_t inventory)
{
    enum tally_awaits *known = &p->tally.inventories[inventory].awaits;

    if (*known == TALLY_UNKNOWN)
        *known = is_any_draining(p, inventory) ? TALLY_AWAITS : TALLY_FREE;
    return *known == TALLY_AWAITS;
}

static bool
grows(const struct plan_rack *rack, const struct world_rack *have)
{
    const struct profile *profile = rack->group->profile;
    int64_t gpus = 0;

    if (have == NULL)
        return true;
    for (size_t i = 0; i < have->o.slot_count; i++)
        gpus += have->o.slots[i].gpus;
    return profile->nodes_per_rack > (int64_t)have->o.slot_count ||
           profile->nodes_per_rack * profile->gpus > gpus;
}

/* Capacity is released before it is claimed: whether the rack has to wait for
 * that; it is looked at again when the last cleanup is done. */
bool
decide_waits_to_grow(struct placer *p, const struct plan_rack *rack,
                     const struct world_rack *have)
{
    size_t inventory = (size_t)(rack->group->inventory - p->plan.inventories);

    if (!grows(rack, have) || !is_awaiting(p, inventory))
        return false;
    log_debug("admission waits for what is released",
              F_STR("inventory", plan_ref(rack->group->inventory).name.s),
              F_STR("rack", rack->name));
    placer_hold(p, rack->name);
    return true;
}

void
decide_held(struct placer *p)
{
    struct map held = p->held;
    size_t pos = 0;
    char *name;

    for (size_t i = 0; i < p->tally.inventory_count; i++)
        p->tally.inventories[i].awaits = TALLY_UNKNOWN;
    p->held = (struct map){0};
    while ((name = map_next(&held, &pos)) != NULL) {
        const struct plan_rack *rack = plan_rack(&p->plan, name);

        if (rack != NULL && is_awaiting(p, (size_t)(rack->group->inventory -
                                                    p->plan.inventories)))
            placer_hold(p, name);
        else
            placer_touch(p, name);
        free(name);
    }
    map_fini(&held);
}

/* Deletion has begun and nothing of ours holds it: others' finalizers do. */
static bool
is_out_of_our_hands(const struct object_rack *rack)
{
    for (size_t i = 0; i < rack->finalizers.count; i++)
        if (str_is(rack->finalizers.items[i], FINALIZER_RACK))
            return false;
    for (size_t i = 0; i < rack->slot_count; i++)
        if (rack->slots[i].node.name.n > 0)
            return false;
    return rack->meta.deleting;
}

static void
tell_retired(const struct object_rack *rack, enum release why)
{
    log_info("rack retired", F_STR("rack", rack->meta.name.s),
             F_STR("reason", release_name(why)),
             F_STR("inventory", rack->inventory.name.s),
             F_STR("rackGroup", rack->group.s), F_INT("rackIndex", rack->index),
             F_STR("profileRevision", rack->revision.s));
}

/* Its bindings are those of the inventory that controls it, whichever its spec
 * names by now. */
static void
retire(struct placer *p, const struct world_rack *r, enum release why)
{
    struct target target = decide_target(&r->o.meta);
    struct object_rack rack = r->o;
    struct buf body = {0};
    bool all = true;

    rack.inventory = rack_holder(r->o.owners);
    if (decide_is_busy(p, target.name))
        return;
    for (size_t i = 0; i < r->o.slot_count; i++)
        if (r->o.slots[i].node.name.n > 0)
            all = decide_clean(p, &rack, &r->o.slots[i]) && all;
    if (!all) {
        /* News of its Nodes touches the racks that count as binding them. */
        if (alloc_rack(&p->alloc, target.name.s) == NULL)
            placer_hold(p, target.name.s);
        log_debug("retirement waits for Nodes", F_STR("rack", target.name.s),
                  F_STR("reason", release_name(why)));
        return;
    }
    if (is_out_of_our_hands(&r->o)) {
        wish_drop(&p->wishes, ACTION_RACK, target.name);
        return;
    }
    intent_delete_pack(&body, &target);
    if (!decide_want(p, ACTION_RACK, &target, MSG_RACK_DELETE, &body) ||
        wish_look(&p->wishes, ACTION_RACK, target.name).state != WISH_OPEN)
        return;
    if (!p->shadow)
        tell_retired(&rack, why);
    pending_begin(p, &(struct pending_write){
                         .rack = target.name.s,
                         .where = {.inventory = rack.inventory,
                                   .group = r->o.group,
                                   .rack = r->o.index},
                         .have = r,
                     });
}

/* A rack that is left as it is. */
static void
leave_rack(struct placer *p, const struct world_rack *r)
{
    decide_drop_settled(p, ACTION_RACK, &r->o.meta);
    for (size_t i = 0; i < r->o.slot_count; i++)
        if (r->o.slots[i].node.name.n > 0)
            decide_leave_slot(p, &r->o.slots[i]);
}

/* A rack that one of our inventories controls, but whose spec names another: it
 * is in the way of its deletion and its inventory's, and of nothing else. */
static void
decide_misled(struct placer *p, const struct world_rack *r)
{
    const struct object_ref holder = rack_holder(r->o.owners);
    const struct plan_inventory *v = plan_inventory(&p->plan, &holder);

    if (holder.name.n == 0)
        return;
    if (v != NULL && v->world->o.meta.deleting)
        retire(p, r, RELEASE_INVENTORY_DELETING);
    else if (r->o.meta.deleting)
        retire(p, r, RELEASE_RACK_DELETING);
}

/* One whose inventory is gone goes when somebody deletes it. */
static void
decide_owned(struct placer *p, const struct world_rack *r)
{
    enum release why;

    if (fate_of(&p->plan, &r->o, &why) == FATE_GOES)
        retire(p, r, why);
    else
        leave_rack(p, r);
}

void
decide_other(struct placer *p, const char *name)
{
    const struct world_rack *r = world_rack(&p->world, name);

    p->examined++;
    if (r == NULL)
        pending_recall(p, name);
    else if (rack_owned(&r->o))
        decide_owned(p, r);
    else
        decide_misled(p, r);
}
