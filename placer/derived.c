/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/placer_work.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/names.h"
#include "placer/pending.h"

void
placer_drop_derived(struct placer *p)
{
    p->rebuild = true;
    alloc_fini(&p->alloc);
    names_fini(&p->dirty);
    names_fini(&p->held);
    names_fini(&p->queue);
    names_fini(&p->parked);
}

struct place_node
placer_node_of(const struct world_node *n)
{
    return (struct place_node){
        .name = n->o.meta.name,
        .uid = n->o.meta.uid,
        .created = n->o.meta.created,
        .terminating = n->o.meta.deleting,
        .labels = n->o.meta.labels,
    };
}

struct place_binding
placer_binding_of(const struct object_rack *r, const struct object_slot *slot,
                  bool stray)
{
    return (struct place_binding){
        .inventory = r->inventory,
        .group = r->group,
        .rack = r->index,
        .slot = slot->index,
        .node = slot->node,
        .stray = stray,
    };
}

/* The number of an inventory in the plan; its count if it is not there. */
static size_t
number_of(const struct placer *p, const struct object_ref *inventory)
{
    const struct plan_inventory *v = plan_inventory(&p->plan, inventory);

    return v == NULL ? p->plan.inventory_count
                     : (size_t)(v - p->plan.inventories);
}

/* The bound slots of a rack that an inventory of the plan owns; or owned, if
 * the rack is being deleted, for it is cleaned all the same. */
static void
bind_standing(struct placer *p, const struct object_rack *r)
{
    struct place_binding *bindings;
    bool stray = !plan_canonical(&p->plan, r);
    size_t inventory = number_of(p, &r->inventory);
    size_t count = 0;

    if (!rack_owned(r) ||
        (inventory == p->plan.inventory_count && !r->meta.deleting)) {
        placer_touch(p, r->meta.name.s);
        return;
    }
    bindings = mem_zalloc(r->slot_count * sizeof(*bindings));
    for (size_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].node.name.n > 0)
            bindings[count++] = placer_binding_of(r, &r->slots[i], stray);
    alloc_rack_put(&p->alloc, r->meta.name.s, inventory, bindings, count);
    free(bindings);
}

static bool
has_binding(const struct pending *a, const struct object_slot *slot)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->bindings[i].slot == slot->index &&
            str_eq(a->bindings[i].node.uid, slot->node.uid))
            return true;
    return false;
}

/* All that may be bound in a rack with a write pending: what stood when it was
 * said, what it binds, and what another leader has bound since. */
static void
bind_pending(struct placer *p, const struct pending *a,
             const struct object_rack *r)
{
    bool stray = r == NULL ? plan_rack(&p->plan, a->rack) == NULL
                           : !plan_canonical(&p->plan, r);
    size_t standing = r == NULL ? 0 : r->slot_count;
    struct place_binding *all =
        mem_zalloc((a->count + standing) * sizeof(*all));
    size_t count = 0;

    for (; count < a->count; count++) {
        all[count] = a->bindings[count];
        all[count].stray = stray;
    }
    for (size_t i = 0; i < standing; i++)
        if (r->slots[i].node.name.n > 0 && !has_binding(a, &r->slots[i]))
            all[count++] = placer_binding_of(r, &r->slots[i], stray);
    alloc_rack_put(&p->alloc, a->rack, number_of(p, &a->inventory), all, count);
    free(all);
}

void
placer_bind(struct placer *p, const char *name)
{
    const struct pending *a = pending_of(p, name);
    const struct world_rack *r = world_rack(&p->world, name);

    if (a != NULL)
        bind_pending(p, a, r == NULL ? NULL : &r->o);
    else if (r != NULL)
        bind_standing(p, &r->o);
    else
        placer_touch(p, name);
}

void
placer_rebind(struct placer *p, const char *rack)
{
    if (p->rebuild)
        return;
    alloc_rack_take(&p->alloc, rack);
    placer_bind(p, rack);
}

/* The groups that take no part: their Nodes count as requested (mokka-control
 * 6.1). */
static void
watch_groups(struct placer *p, size_t number)
{
    const struct plan_inventory *v = &p->plan.inventories[number];

    for (size_t i = 0; v->verdict.budgeted && i < v->group_count; i++) {
        const struct plan_group *g = &v->groups[i];
        const struct alloc_watch watch = {
            .selector = &g->spec->selector,
            .number = number,
        };

        if (!plan_allocates(g) && g->spec->sound)
            alloc_watch(&p->alloc, &watch);
    }
}

static void
load_groups(struct placer *p)
{
    struct place_group groups[MAX_GROUPS];
    size_t inventory_of[MAX_GROUPS];
    size_t count = 0;

    for (size_t i = 0; i < p->plan.inventory_count; i++) {
        const struct plan_inventory *v = &p->plan.inventories[i];

        for (size_t j = 0; j < v->group_count; j++) {
            const struct plan_group *g = &v->groups[j];

            if (!plan_allocates(g) || count == MAX_GROUPS)
                continue;
            inventory_of[count] = i;
            groups[count++] = (struct place_group){
                .inventory = plan_ref(v),
                .id = g->spec->id,
                .selector = &g->spec->selector,
                .racks = g->spec->count,
                .nodes_per_rack = g->profile->nodes_per_rack,
            };
        }
    }
    alloc_reset(&p->alloc, groups, inventory_of, count,
                p->plan.inventory_count);
    for (size_t i = 0; i < p->plan.inventory_count; i++)
        watch_groups(p, i);
}

void
placer_rebuild(struct placer *p)
{
    const struct map *racks = &p->world.kinds[KIND_RACK];
    const struct map *nodes = &p->world.kinds[KIND_NODE];
    struct plan old = p->plan;
    const struct pending *a;
    const struct plan_rack *wanted;
    const struct world_node *n;
    const struct world_rack *r;
    size_t pos = 0;

    plan_make(&p->plan, &old, &p->world, &p->barred);
    p->rebuild = p->recharged = false;
    load_groups(p);
    tally_reset(p);
    for (pos = 0; (a = map_next(&p->pending, &pos)) != NULL;)
        placer_bind(p, a->rack);
    for (pos = 0; (r = map_next(racks, &pos)) != NULL;)
        if (pending_of(p, r->o.meta.name.s) == NULL)
            placer_bind(p, r->o.meta.name.s);
    /* After the racks, so that those that are bound never wait. */
    for (pos = 0; (n = map_next(nodes, &pos)) != NULL;) {
        struct place_node node = placer_node_of(n);

        alloc_node_put(&p->alloc, &node);
    }
    for (pos = 0; (wanted = map_next(&p->plan.racks, &pos)) != NULL;)
        placer_touch(p, wanted->name);
}
