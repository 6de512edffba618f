/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static void
rack_free(struct plan_rack *rack)
{
    free(rack->profile_uid);
    free(rack);
}

void
plan_fini(struct plan *plan)
{
    struct plan_rack *rack;
    size_t pos = 0;

    for (size_t i = 0; i < plan->inventory_count; i++)
        free(plan->inventories[i].groups);
    free(plan->inventories);
    while ((rack = map_next(&plan->racks, &pos)) != NULL)
        rack_free(rack);
    map_fini(&plan->racks);
    *plan = (struct plan){0};
}

struct object_ref
plan_ref(const struct plan_inventory *v)
{
    return (struct object_ref){v->world->spec.name, v->world->spec.uid};
}

const struct plan_rack *
plan_rack(const struct plan *plan, const char *name)
{
    return map_get(&plan->racks, name);
}

bool
plan_canonical(const struct plan *plan, const struct object_rack *r)
{
    const struct plan_rack *rack = plan_rack(plan, r->meta.name.s);
    struct object_ref inventory;

    if (rack == NULL || rack->index != r->index ||
        !str_eq(rack->group->spec->id, r->group))
        return false;
    inventory = plan_ref(rack->group->inventory);
    return str_eq(inventory.name, r->inventory.name) &&
           str_eq(inventory.uid, r->inventory.uid);
}

const struct plan_inventory *
plan_inventory(const struct plan *plan, const struct object_ref *ref)
{
    for (size_t i = 0; i < plan->inventory_count; i++) {
        const struct object_ref own = plan_ref(&plan->inventories[i]);

        if (str_eq(own.name, ref->name) && str_eq(own.uid, ref->uid))
            return &plan->inventories[i];
    }
    return NULL;
}

static struct rack_input
rack_input(const struct plan_group *g, int64_t index)
{
    return (struct rack_input){
        .inventory = plan_ref(g->inventory),
        .group = g->spec->id,
        .index = index,
        .count = g->spec->count,
        .profile = g->profile,
    };
}

/* Renders rack 0 as a check: a rack too large shows before any is made. */
static int
try_render(const struct plan_group *g, struct err *err)
{
    struct rack_input in = rack_input(g, 0);
    struct rack_facts facts;

    return rack_render(&facts, NULL, &in, NULL, err);
}

static void
fail_group(struct plan_group *g, enum plan_issue issue)
{
    g->issue = issue;
    g->profile = NULL;
    g->capacity = (struct capacity){0};
}

static char *
bar_key(const struct plan_group *g)
{
    return mem_printf("%s %s", g->inventory->world->spec.uid.s, g->spec->id.s);
}

static void
bar_free(struct plan_bar *bar)
{
    if (bar == NULL)
        return;
    free(bar->key);
    free(bar->profile_uid);
    free(bar);
}

void
plan_bar(struct map *bars, const struct plan_group *g, struct str why)
{
    struct plan_bar *bar = mem_zalloc(sizeof(*bar));

    bar->key = bar_key(g);
    bar->declared = g->inventory->world->o.meta.generation;
    bar->profile_uid = mem_strdup(g->profile->uid);
    bar->generation = g->profile->generation;
    err_set(&bar->why,
            "group %s: profile %s: the API server refuses its racks: %.*s",
            g->spec->id.s, g->profile->name, (int)why.n, why.s);
    bar_free(map_put(bars, bar->key, bar));
}

void
plan_unbar(struct map *bars)
{
    struct plan_bar *bar;
    size_t pos = 0;

    while ((bar = map_next(bars, &pos)) != NULL)
        bar_free(bar);
    map_fini(bars);
}

static bool
is_barred(struct plan_group *g, const struct map *bars)
{
    char *key = bar_key(g);
    const struct plan_bar *bar = bars == NULL ? NULL : map_get(bars, key);

    free(key);
    if (bar == NULL || strcmp(bar->profile_uid, g->profile->uid) != 0 ||
        bar->generation != g->profile->generation ||
        bar->declared != g->inventory->world->o.meta.generation)
        return false;
    g->why = bar->why;
    return true;
}

/* Section 6.3 for one group. */
static void
resolve(struct plan_group *g, const struct world *world, const struct map *bars)
{
    const struct world_profile *p = world_profile(world, g->spec->profile.s);

    if (p == NULL) {
        fail_group(g, PLAN_NOT_FOUND);
        err_set(&g->why, "group %s: profile %s does not exist", g->spec->id.s,
                g->spec->profile.s);
        return;
    }
    g->profile = &p->spec;
    if (!p->spec.valid)
        err_set(&g->why, "group %s: profile %s: %s", g->spec->id.s,
                g->spec->profile.s, p->spec.issue.text);
    if (!p->spec.valid ||
        capacity_group(&g->capacity, g->spec->id, g->spec->count,
                       p->spec.nodes_per_rack, p->spec.gpus, &g->why) != 0 ||
        is_barred(g, bars))
        fail_group(g, PLAN_INVALID);
}

static void
resolve_all(struct plan_inventory *v, const struct world *world,
            const struct map *bars)
{
    v->group_count = v->world->spec.group_count;
    v->groups = mem_zalloc(v->group_count * sizeof(*v->groups));
    for (size_t i = 0; i < v->group_count; i++) {
        v->groups[i].inventory = v;
        v->groups[i].spec = &v->world->spec.groups[i];
        resolve(&v->groups[i], world, bars);
    }
}

static void
refuse(struct plan_inventory *v, const char *reason, const struct err *why)
{
    v->accepted = false;
    v->refusal = reason;
    v->why = *why;
}

/* What the inventory is by itself: sections 6.1 and 6.3. */
static void
judge(struct plan_inventory *v)
{
    struct err err = {""};
    bool fits = true;

    v->accepted = true;
    if (v->world->spec.verdict == INVENTORY_INVALID) {
        refuse(v, "InvalidInventory", &v->world->spec.issue);
        return;
    }
    if (v->world->spec.verdict == INVENTORY_TOO_LARGE) {
        refuse(v, "CapacityExceeded", &v->world->spec.issue);
        return;
    }
    for (size_t i = 0; i < v->group_count && fits; i++)
        fits = capacity_check(v->groups[i].capacity, &err) == 0 &&
               capacity_add(&v->desired, v->groups[i].capacity, &err) == 0;
    if (!fits || capacity_check(v->desired, &err) != 0) {
        v->desired = (struct capacity){0};
        refuse(v, "CapacityExceeded", &err);
        return;
    }
    v->valid = true;
    for (size_t i = 0; i < v->group_count; i++) {
        struct plan_group *g = &v->groups[i];
        struct capacity lost = g->capacity;

        if (g->profile == NULL || try_render(g, &err) == 0)
            continue;
        err_set(&g->why, "group %s: profile %s: %s", g->spec->id.s,
                g->spec->profile.s, err.text);
        capacity_sub(&v->desired, lost);
        fail_group(g, PLAN_INVALID);
    }
}

static struct capacity
rack_capacity(const struct object_rack *rack)
{
    struct capacity c = {.racks = 1, .nodes = (int64_t)rack->slot_count};

    for (size_t i = 0; i < rack->slot_count; i++)
        c.gpus += rack->slots[i].gpus;
    return c;
}

static const struct plan_group *
group_of(const struct plan_inventory *v, struct str id)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (str_eq(v->groups[i].spec->id, id))
            return &v->groups[i];
    return NULL;
}

static void
charge(struct capacity *sum, struct capacity c, bool add)
{
    if (add)
        capacity_add(sum, c, NULL);
    else
        capacity_sub(sum, c);
}

void
plan_charge(struct plan *plan, const struct object_rack *rack, bool add)
{
    struct capacity c = rack_capacity(rack);
    struct plan_inventory *v =
        (struct plan_inventory *)plan_inventory(plan, &rack->inventory);
    const struct plan_group *g;

    if (v != NULL && rack_controlled(rack->owners, plan_ref(v))) {
        v->racks += add ? 1 : SIZE_MAX;
        if (rack->meta.deleting)
            v->leaving += add ? 1 : SIZE_MAX;
    }
    if (!rack_owned(rack))
        return;
    charge(&plan->total, c, add);
    if (v == NULL)
        return;
    charge(&v->existing, c, add);
    g = group_of(v, rack->group);
    if (g != NULL && g->profile == NULL)
        charge(&v->kept, c, add);
}

static void
charge_racks(struct plan *plan, const struct world *world)
{
    const struct world_rack *r;
    size_t pos = 0;

    while ((r = map_next(&world->kinds[KIND_RACK], &pos)) != NULL)
        plan_charge(plan, &r->o, true);
}

static bool
any_resolved(const struct plan_inventory *v)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].profile != NULL)
            return true;
    return false;
}

static struct admit_inventory
admit_input(const struct plan_inventory *v)
{
    return (struct admit_inventory){
        .ref = plan_ref(v),
        .created = v->world->o.meta.created,
        .deleting = v->world->o.meta.deleting,
        .declared = v->world->spec.declared,
        .valid = v->valid,
        .resolved = any_resolved(v),
        .desired = v->desired,
        .existing = v->existing,
        .kept = v->kept,
    };
}

/* A verdict for each inventory, to be freed. */
static struct admit_verdict *
decide_admission(const struct plan *plan)
{
    size_t n = plan->inventory_count;
    struct admit_inventory *inputs = mem_zalloc(n * sizeof(*inputs));
    struct admit_verdict *verdicts = mem_zalloc(n * sizeof(*verdicts));

    for (size_t i = 0; i < n; i++)
        inputs[i] = admit_input(&plan->inventories[i]);
    admit(inputs, n, plan->total, verdicts);
    free(inputs);
    return verdicts;
}

bool
plan_readmit(struct plan *plan)
{
    struct admit_verdict *verdicts = decide_admission(plan);
    bool changed = false;

    for (size_t i = 0; i < plan->inventory_count; i++) {
        const struct admit_verdict *old = &plan->inventories[i].verdict;

        changed = changed || verdicts[i].decision != old->decision ||
                  verdicts[i].budgeted != old->budgeted;
    }
    free(verdicts);
    return changed;
}

static void
admit_all(struct plan *plan)
{
    struct admit_verdict *verdicts = decide_admission(plan);

    for (size_t i = 0; i < plan->inventory_count; i++) {
        struct plan_inventory *v = &plan->inventories[i];
        struct admit_inventory input = admit_input(v);
        struct err why;

        v->verdict = verdicts[i];
        if (verdicts[i].decision != ADMIT_REJECTED)
            continue;
        admit_explain(&input, &why);
        refuse(v, "CapacityExceeded", &why);
    }
    free(verdicts);
}

static int
by_age(const void *a, const void *b)
{
    const struct object_meta *x =
        &((const struct plan_inventory *)a)->world->o.meta;
    const struct object_meta *y =
        &((const struct plan_inventory *)b)->world->o.meta;
    int order;

    if (x->created != y->created)
        return x->created < y->created ? -1 : 1;
    order = str_cmp(x->name, y->name);
    return order != 0 ? order : str_cmp(x->uid, y->uid);
}

static void
take_inventories(struct plan *plan, const struct world *world,
                 const struct map *bars)
{
    const struct map *all = &world->kinds[KIND_INVENTORY];
    const struct world_inventory *v;
    size_t pos = 0;

    plan->inventories = mem_zalloc(all->count * sizeof(*plan->inventories));
    while ((v = map_next(all, &pos)) != NULL)
        plan->inventories[plan->inventory_count++].world = v;
    if (plan->inventory_count > 1)
        qsort(plan->inventories, plan->inventory_count,
              sizeof(*plan->inventories), by_age);
    for (size_t i = 0; i < plan->inventory_count; i++) {
        resolve_all(&plan->inventories[i], world, bars);
        judge(&plan->inventories[i]);
    }
}

const char *
plan_digest(const struct plan_rack *rack)
{
    struct plan_rack *cache = (struct plan_rack *)rack;
    struct rack_input in = rack_input(rack->group, rack->index);
    struct rack_facts facts;

    /* That rack 0 can be rendered was seen when the group was judged. */
    if (rack->digest[0] == '\0' &&
        rack_render(&facts, NULL, &in, NULL, NULL) == 0)
        memcpy(cache->digest, facts.digest, sizeof(cache->digest));
    return rack->digest;
}

/* A planned rack; that of the old plan where what it is made of is the same. */
static void
add_rack(struct plan *plan, struct plan *old, const struct plan_group *g,
         int64_t index)
{
    struct object_ref inventory = plan_ref(g->inventory);
    char name[IDENTITY_NAME_MAX];
    struct plan_rack *rack;

    identity_rack_name(inventory.name, inventory.uid, g->spec->id,
                       (uint32_t)index, name);
    rack = map_remove(&old->racks, name);
    if (rack != NULL && (strcmp(rack->profile_uid, g->profile->uid) != 0 ||
                         rack->generation != g->profile->generation)) {
        rack_free(rack);
        rack = NULL;
    }
    if (rack == NULL) {
        rack = mem_zalloc(sizeof(*rack));
        memcpy(rack->name, name, sizeof(rack->name));
        rack->profile_uid = mem_strdup(g->profile->uid);
        rack->generation = g->profile->generation;
    }
    rack->group = g;
    rack->index = index;
    map_put(&plan->racks, rack->name, rack);
}

/* The racks of every group that may be worked on now (9.1). */
static void
take_racks(struct plan *plan, struct plan *old)
{
    for (size_t i = 0; i < plan->inventory_count; i++) {
        const struct plan_inventory *v = &plan->inventories[i];

        for (size_t j = 0; j < v->group_count; j++)
            for (int64_t r = 0;
                 plan_allocates(&v->groups[j]) && r < v->groups[j].spec->count;
                 r++)
                add_rack(plan, old, &v->groups[j], r);
    }
}

bool
plan_allocates(const struct plan_group *g)
{
    return g->inventory->verdict.decision == ADMIT_ACCEPTED &&
           g->profile != NULL;
}

void
plan_make(struct plan *plan, struct plan *old, const struct world *world,
          const struct map *bars)
{
    *plan = (struct plan){0};
    take_inventories(plan, world, bars);
    charge_racks(plan, world);
    admit_all(plan);
    take_racks(plan, old);
    plan_fini(old);
}
