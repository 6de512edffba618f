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
    for (size_t i = 0; i < t->inventory_count; i++) {
        for (int cause = 0; cause < TALLY_CAUSES; cause++)
            few_fini(&t->inventories[i].racks[cause]);
        free(t->inventories[i].groups);
    }
    free(t->inventories);
    *t = (struct tally){.rendered = t->rendered};
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

/* Names it as a culprit of its inventory, or does so no more. */
static void
accuse(struct tally_inventory *v, struct tally_rack *r, bool yes)
{
    for (int cause = 0; cause < TALLY_CAUSES; cause++) {
        if (yes && r->causes[cause])
            few_add(&v->racks[cause], &r->items[cause].item);
        else
            few_remove(&v->racks[cause], &r->items[cause].item);
    }
}

/* Adds what a rack counts for (by 1), or takes it away (-1). */
static void
apply(struct tally *t, struct tally_rack *r, int64_t by)
{
    struct tally_inventory *v;
    struct tally_group *g;

    if (r->inventory == SIZE_MAX)
        return;
    v = &t->inventories[r->inventory];
    accuse(v, r, by > 0);
    v->blocked += by * r->blocked;
    v->wanted += by * r->wanted;
    v->standing += by * r->standing;
    if (r->group == SIZE_MAX)
        return;
    g = &v->groups[r->group];
    g->allocated += by * (r->bound - r->gone);
    g->projected += by * r->projected;
}

bool
tally_repeated(const struct object_rack *rack, const struct object_slot *slot)
{
    for (const struct object_slot *s = rack->slots; s < slot; s++)
        if (s->index == slot->index)
            return true;
    return false;
}

/* Slots come in the order of their indexes, from whoever knows the rules. */
static bool
are_rising(const struct object_rack *rack)
{
    for (size_t i = 1; i < rack->slot_count; i++)
        if (rack->slots[i].index <= rack->slots[i - 1].index)
            return false;
    return true;
}

static void
count_slot(const struct placer *p, struct tally_rack *n, struct projecting *x,
           const struct object_slot *slot)
{
    const struct world_node *node = world_node_exact(&p->world, &slot->node);
    const struct alloc_node *a = alloc_node(&p->alloc, slot->node.uid.s);
    enum project_state state;

    n->bound++;
    n->broken += slot->node.uid.n == 0;
    n->doubled += a != NULL && a->binding_count > 1;
    if (node == NULL) {
        n->gone++;
        return;
    }
    state = project_compare(&node->o, projecting_slot(x, slot), NULL);
    n->projected += state == PROJECT_STANDS;
    n->blocked += state == PROJECT_CONFLICT;
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
    const struct plan_inventory *v = wanted->group->inventory;

    n->wanted = true;
    if (have != NULL && (!rack_controlled(have->o.owners, plan_ref(v)) ||
                         (have->o.managed && !have->o.spec_ours)))
        n->causes[TALLY_RIVAL] = true;
    else
        n->standing = have != NULL && !have->o.meta.deleting &&
                      str_is(have->o.digest, plan_digest(wanted));
    n->causes[TALLY_PENDING] = !n->standing && !n->causes[TALLY_RIVAL];
}

static void
count_slots(const struct placer *p, struct tally_rack *n,
            const struct object_rack *rack)
{
    struct projecting x;

    placer_projecting(p, &x, rack);
    for (size_t i = 0; i < rack->slot_count; i++)
        if (rack->slots[i].node.name.n > 0)
            count_slot(p, n, &x, &rack->slots[i]);
    projecting_end(&x);
    for (size_t i = 1; !are_rising(rack) && i < rack->slot_count; i++)
        n->broken += tally_repeated(rack, &rack->slots[i]);
    n->causes[TALLY_BLOCKED] = n->blocked > 0;
    n->causes[TALLY_WAITING] = n->projected < n->bound - n->gone;
}

/* Of a rack that is not planned: it stays while its inventory waits for
 * capacity, and while its group has no usable profile. */
static bool
is_to_go(const struct plan_inventory *v, size_t group)
{
    if (v->world->o.meta.deleting || v->verdict.decision == ADMIT_REJECTED)
        return true;
    return v->verdict.decision == ADMIT_ACCEPTED &&
           (group == SIZE_MAX || v->groups[group].profile != NULL);
}

/* A rack is told of to the inventory that wants its name, else to its own. */
static void
count(const struct placer *p, struct tally_rack *n,
      const struct plan_rack *wanted, const struct world_rack *have)
{
    const struct plan_inventory *own = NULL;
    const struct plan_inventory *v;

    if (have != NULL && rack_owned(&have->o))
        own = plan_inventory(&p->plan, &have->o.inventory);
    v = wanted == NULL ? own : wanted->group->inventory;
    if (wanted != NULL) {
        n->group = (size_t)(wanted->group - v->groups);
        judge(n, wanted, have);
    }
    n->own = own != NULL && own == v;
    if (n->own) {
        count_slots(p, n, &have->o);
        n->group = group_at(own, have->o.group);
        n->causes[TALLY_LEFTOVER] = wanted == NULL && is_to_go(own, n->group);
    }
    if (v != NULL)
        n->inventory = (size_t)(v - p->plan.inventories);
}

static struct tally_rack *
new_rack(const char *name)
{
    struct tally_rack *n = mem_zalloc(sizeof(*n));

    n->name = mem_strdup(name);
    return n;
}

/* As new; it is in no set now. */
static void
clear(struct tally_rack *n)
{
    *n = (struct tally_rack){
        .name = n->name, .inventory = SIZE_MAX, .group = SIZE_MAX};
    for (int cause = 0; cause < TALLY_CAUSES; cause++)
        n->items[cause] = (struct tally_item){{n->name, 0}, n};
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
        n = new_rack(name);
        map_put(&p->tally.racks, n->name, n);
    }
    clear(n);
    count(p, n, wanted, have);
    apply(&p->tally, n, 1);
    return n;
}

static void
count_new(struct placer *p, const struct map *names)
{
    size_t pos = 0;
    const char *name;

    while ((name = map_next(names, &pos)) != NULL)
        if (map_get(&p->tally.racks, name) == NULL)
            tally_count(p, name);
}

void
tally_complete(struct placer *p)
{
    if (p->tally.complete)
        return;
    p->tally.complete = true;
    count_new(p, &p->queue);
    count_new(p, &p->dirty);
}
