/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/tally.h"

#include <stdlib.h>

#include "common/mem.h"
#include "placer/placer.h"
#include "placer/project.h"

void
tally_fini(struct tally *t)
{
    struct tally_rack *r;
    size_t pos = 0;

    while ((r = map_next(&t->racks, &pos)) != NULL) {
        free(r->name);
        free(r);
    }
    map_fini(&t->racks);
    for (size_t i = 0; i < t->inventory_count; i++)
        free(t->inventories[i].groups);
    free(t->inventories);
    *t = (struct tally){0};
}

void
tally_reset(struct placer *p)
{
    struct tally *t = &p->tally;

    tally_fini(t);
    t->inventory_count = p->plan.inventory_count;
    t->inventories = mem_zalloc(t->inventory_count * sizeof(*t->inventories));
    for (size_t i = 0; i < t->inventory_count; i++)
        t->inventories[i].groups = mem_zalloc(
            p->plan.inventories[i].group_count * sizeof(struct tally_group));
}

/* Adds what a rack counts for, or takes it away. */
static void
apply(struct tally *t, const struct tally_rack *r, int64_t by)
{
    struct tally_inventory *v;

    if (r->inventory == SIZE_MAX)
        return;
    v = &t->inventories[r->inventory];
    v->blocked += by * r->blocked;
    v->wanted += by * r->wanted;
    v->standing += by * r->standing;
    v->rivals += by * r->rival;
    if (r->group == SIZE_MAX)
        return;
    v->groups[r->group].allocated += by * (r->bound - r->gone);
    v->groups[r->group].projected += by * r->projected;
}

static void
count_slot(const struct placer *p, struct tally_rack *n,
           const struct object_rack *rack, const struct object_slot *slot)
{
    const struct world_node *node = world_node_exact(&p->world, &slot->node);
    const struct alloc_node *a = alloc_node(&p->alloc, slot->node.uid.s);
    struct arena arena = {0};
    struct projection wanted;
    enum project_state state;

    n->bound++;
    n->doubled += a != NULL && a->binding_count > 1;
    if (node == NULL) {
        n->gone++;
        return;
    }
    wanted = placer_projection(p, rack, slot, &arena);
    state = project_compare(&node->o, &wanted, NULL);
    n->projected += state == PROJECT_STANDS;
    n->blocked += state == PROJECT_CONFLICT;
    arena_fini(&arena);
}

static size_t
group_at(const struct plan_inventory *v, struct str id)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (str_eq(v->groups[i].spec->id, id))
            return i;
    return SIZE_MAX;
}

/* A rack that is to be: does it stand, or is something in the way? */
static void
judge(struct tally_rack *n, const struct plan_rack *wanted,
      const struct world_rack *have)
{
    n->wanted = true;
    if (have == NULL)
        return;
    if (!rack_controlled(have->o.owners, plan_ref(wanted->group->inventory)) ||
        (have->o.managed && !have->o.spec_ours))
        n->rival = true;
    else
        n->standing = !have->o.meta.deleting &&
                      str_is(have->o.digest, plan_digest(wanted));
}

static void
count(const struct placer *p, struct tally_rack *n,
      const struct plan_rack *wanted, const struct world_rack *have)
{
    const struct plan_inventory *v = NULL;

    if (wanted != NULL) {
        v = wanted->group->inventory;
        judge(n, wanted, have);
    }
    if (have != NULL && rack_owned(&have->o)) {
        v = plan_inventory(&p->plan, &have->o.inventory);
        for (size_t i = 0; v != NULL && i < have->o.slot_count; i++)
            if (have->o.slots[i].node.name.n > 0)
                count_slot(p, n, &have->o, &have->o.slots[i]);
        if (v != NULL)
            n->group = group_at(v, have->o.group);
    }
    if (v != NULL)
        n->inventory = (size_t)(v - p->plan.inventories);
}

const struct tally_rack *
tally_count(struct placer *p, const char *name)
{
    const struct plan_rack *wanted = plan_rack(&p->plan, name);
    const struct world_rack *have = world_rack(&p->world, name);
    struct tally_rack *n = map_get(&p->tally.racks, name);

    if (n != NULL)
        apply(&p->tally, n, -1);
    if (wanted == NULL && have == NULL) {
        if (n != NULL) {
            map_remove(&p->tally.racks, name);
            free(n->name);
            free(n);
        }
        return NULL;
    }
    if (n == NULL) {
        n = mem_zalloc(sizeof(*n));
        n->name = mem_strdup(name);
        map_put(&p->tally.racks, n->name, n);
    }
    *n = (struct tally_rack){
        .name = n->name, .inventory = SIZE_MAX, .group = SIZE_MAX};
    count(p, n, wanted, have);
    apply(&p->tally, n, 1);
    return n;
}
