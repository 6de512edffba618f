/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/mem.h"
#include "placer/status_work.h"

static void
fill_group(const struct placer *p, struct numbers *n, size_t i)
{
    const struct plan_group *g = &n->inventory->groups[i];
    const struct alloc_group *a =
        alloc_group(&p->alloc, plan_ref(n->inventory), g->spec->id);
    struct usage *u = &n->groups[i];
    int64_t free_slots;

    u->requested = (int64_t)alloc_requested(&p->alloc, &g->spec->selector);
    u->pending = a == NULL ? 0 : (int64_t)alloc_pending(a);
    u->allocated = n->tally->groups[i].allocated;
    free_slots = g->capacity.nodes - u->allocated;
    u->available = free_slots > 0 ? free_slots : 0;
    n->sum.allocated += u->allocated;
    n->sum.available += u->available;
    n->sum.pending += u->pending;
    n->projected += n->tally->groups[i].projected;
}

static struct capacity
sum_capacity(const struct plan_inventory *v)
{
    struct capacity sum = {0};

    if (v->world->spec.verdict == INVENTORY_TOO_LARGE)
        return sum;
    for (size_t i = 0; i < v->group_count; i++)
        if (capacity_add(&sum, v->groups[i].capacity, NULL) != 0)
            return (struct capacity){0};
    return capacity_check(sum, NULL) == 0 ? sum : (struct capacity){0};
}

/* Does some group of it select a Node? */
static bool
selects(const struct plan_inventory *v, const struct place_node *node)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].spec->sound &&
            selector_match(&v->groups[i].spec->selector, node->labels))
            return true;
    return false;
}

void
status_numbers(struct numbers *n, const struct placer *p, size_t i)
{
    const struct plan_inventory *v = &p->plan.inventories[i];
    const struct alloc_twin *t;
    size_t pos = 0;

    *n = (struct numbers){
        .inventory = v,
        .number = i,
        .tally = &p->tally.inventories[i],
        .groups = mem_zalloc(v->group_count * sizeof(*n->groups)),
        .sum.requested = (int64_t)p->alloc.requested[i],
        .capacity = sum_capacity(v),
        .conflicts = (int64_t)p->alloc.conflicts[i],
    };
    for (size_t j = 0; j < v->group_count; j++)
        fill_group(p, n, j);
    while ((t = map_next(&p->alloc.twins, &pos)) != NULL)
        n->twins += selects(v, &t->in);
}

void
status_numbers_fini(struct numbers *n)
{
    free(n->groups);
}
