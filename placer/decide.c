/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/decide.h"

#include <stdlib.h>

#include "common/api.h"
#include "placer/decide_work.h"
#include "placer/pending.h"
#include "placer/status.h"
#include "proto/frame.h"

/* Says a wish; remembers if it had to be held back. */
bool
decide_want(struct placer *p, enum action action, const struct target *target,
            uint16_t type, struct buf *body)
{
    bool said = wish_want(&p->wishes, action, target->name, target->version,
                          type, buf_str(body));

    if (!said)
        placer_starve(p, action);
    buf_fini(body);
    return said;
}

/* Nothing is decided of that object now: what was carried out and stands, or
 * was refused of an older version, is no wish any more. */
void
decide_drop_settled(struct placer *p, enum action action,
                    const struct object_meta *m)
{
    struct wish w = wish_look(&p->wishes, action, m->name);

    if (w.state == WISH_DONE ? version_cmp(m->version, str_of(w.version)) >= 0
                             : w.state == WISH_REFUSED &&
                                   version_cmp(m->version, str_of(w.basis)) > 0)
        wish_drop(&p->wishes, action, m->name);
}

struct target
decide_target(const struct object_meta *m)
{
    return (struct target){m->name, m->uid, m->version};
}

/* ---- inventories ------------------------------------------------------- */

static void
want_finalizer(struct placer *p, const struct world_inventory *v, bool present)
{
    struct intent_finalizer i = {
        .target = decide_target(&v->o.meta),
        .finalizer = STR(FINALIZER_INVENTORY),
        .present = present,
    };
    struct buf body = {0};

    intent_finalizer_pack(&body, &i);
    decide_want(p, ACTION_INVENTORY_FINALIZER, &i.target, MSG_FINALIZER, &body);
}

/* Is there a rack of it, or may there be one? */
static bool
has_racks(const struct placer *p, const struct plan_inventory *v)
{
    const struct object_ref own = plan_ref(v);
    const struct pending *a;
    size_t pos = 0;

    if (v->racks > 0)
        return true;
    while ((a = map_next(&p->pending, &pos)) != NULL)
        if (str_eq(a->inventory.name, own.name) &&
            str_eq(a->inventory.uid, own.uid))
            return true;
    return false;
}

/* The finalizer comes before the first rack and goes after the last one. */
static void
decide_inventory(struct placer *p, const struct plan_inventory *v)
{
    bool deleting = v->world->o.meta.deleting;
    bool has = world_has_finalizer(v->world);

    if (!deleting && !has && v->accepted &&
        v->verdict.decision == ADMIT_ACCEPTED)
        want_finalizer(p, v->world, true);
    else if (deleting && has && !has_racks(p, v))
        want_finalizer(p, v->world, false);
    else
        wish_drop(&p->wishes, ACTION_INVENTORY_FINALIZER,
                  v->world->o.meta.name);
}

/* ---- one pass ---------------------------------------------------------- */

/* Has a rack's write been held back? */
static bool
is_held_up(const struct placer *p)
{
    return (p->starved & 1u << ACTION_RACK) != 0;
}

static void
look_at(struct placer *p, const char *name, struct assigning *assigning)
{
    const struct plan_rack *rack = plan_rack(&p->plan, name);
    const struct world_rack *have = world_rack(&p->world, name);
    bool misnamed = have != NULL && rack_owned(&have->o) &&
                    !plan_canonical(&p->plan, &have->o);

    pending_ask(p, name);
    if (rack != NULL && !misnamed)
        decide_rack(p, rack, assigning);
    if (rack == NULL || misnamed || (have != NULL && have->o.meta.deleting))
        decide_other(p, name);
    status_rack(p, name);
}

/* Looks at one rack; false: its own write had to be held back, it stays dirty.
 * Held back were only wishes for its Nodes or its status: it is parked, and
 * others are looked at meanwhile. */
static bool
decide_one(struct placer *p, const char *name, struct assigning *assigning)
{
    unsigned before = p->starved;
    bool done;

    p->starved = 0;
    look_at(p, name, assigning);
    done = !is_held_up(p);
    if (done && p->starved != 0)
        placer_park(p, name);
    p->starved |= before;
    return done;
}

/* The object name of the rack that holds a coordinate. */
static void
name_rack(const struct alloc_group *g, int64_t at, char name[IDENTITY_NAME_MAX])
{
    identity_rack_name(g->in.inventory.name, g->in.inventory.uid, g->in.id,
                       (uint32_t)(at / g->in.nodes_per_rack), name);
}

/* Gives slots to the Nodes that wait for a group.  What is written counts as
 * standing at once and leaves the waiting ones, so each turn looks at the state
 * that is left; a rack that cannot be written now is passed by. */
static void
assign(struct placer *p, struct alloc_group *g)
{
    const struct plan_inventory *v = &p->plan.inventories[g->inventory];
    int64_t from = 0;
    size_t skipped = 0;

    if (!world_has_finalizer(v->world))
        return;
    while (!is_held_up(p) && g->waiting.count > skipped) {
        struct assigning a = {.group = g, .next = skipped};
        size_t before = g->waiting.count;
        char name[IDENTITY_NAME_MAX];

        a.at = alloc_free_from(g, from);
        if (a.at < 0)
            return;
        a.count = g->waiting.count;
        from = (a.at / g->in.nodes_per_rack + 1) * g->in.nodes_per_rack;
        name_rack(g, a.at, name);
        decide_one(p, name, &a);
        if (g->waiting.count == before)
            skipped = a.next;
    }
}

/* A rack for which wishes had to be held back stays the next. */
static void
look_at_touched(struct placer *p)
{
    const char *name;

    while (!is_held_up(p) && (name = placer_next(p)) != NULL)
        if (decide_one(p, name, NULL))
            placer_looked(p, name);
}

bool
decide_may_unpark(const struct placer *p)
{
    return p->parked.count > 0 && wish_has_room(&p->wishes, ACTION_NODE) &&
           wish_has_room(&p->wishes, ACTION_RACK_STATUS);
}

/* One after the other, until there is no room again: that one is parked anew,
 * and those behind it stay. */
static void
look_at_parked(struct placer *p)
{
    bool may = decide_may_unpark(p);
    size_t pos = 0;
    char *name;

    while (may && (name = map_next(&p->parked, &pos)) != NULL) {
        map_remove(&p->parked, name);
        may = decide_one(p, name, NULL) && map_get(&p->parked, name) == NULL;
        if (is_held_up(p))
            placer_touch(p, name);
        free(name);
        pos = 0;
    }
}

void
decide(struct placer *p)
{
    for (size_t i = 0; i < p->plan.inventory_count; i++)
        decide_inventory(p, &p->plan.inventories[i]);
    for (size_t i = 0; i < p->alloc.group_count; i++)
        assign(p, &p->alloc.groups[i]);
    look_at_parked(p);
    look_at_touched(p);
    decide_strays(p);
}
