/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/plan.h"

#include <stdlib.h>

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
    map_fini(&plan->bound);
    place_plan_fini(&plan->place);
    free(plan->groups);
    free(plan->nodes);
    free(plan->bindings);
    *plan = (struct plan){0};
}

const struct plan_rack *
plan_rack(const struct plan *plan, const char *name)
{
    return map_get(&plan->racks, name);
}

const struct plan_inventory *
plan_inventory(const struct plan *plan, const struct object_ref *ref)
{
    for (size_t i = 0; i < plan->inventory_count; i++) {
        const struct object_meta *m = &plan->inventories[i].world->o.meta;

        if (str_eq(m->name, ref->name) && str_eq(m->uid, ref->uid))
            return &plan->inventories[i];
    }
    return NULL;
}

static struct object_ref
ref_of(const struct plan_inventory *v)
{
    return (struct object_ref){v->world->o.meta.name, v->world->o.meta.uid};
}

/* Renders rack 0 as a check: a rack too large shows before any is made. */
static int
try_render(const struct plan_group *g, struct err *err)
{
    struct rack_facts facts;
    struct rack_input in = {
        .inventory = ref_of(g->inventory),
        .group = g->spec->id,
        .count = g->spec->count,
        .profile = g->profile,
    };

    return rack_render(&facts, NULL, &in, NULL, err);
}

static void
fail_group(struct plan_group *g, enum plan_issue issue)
{
    g->issue = issue;
    g->profile = NULL;
    g->capacity = (struct capacity){0};
}

/* Section 6.3 for one group. */
static void
resolve(struct plan_group *g, const struct world *world)
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
                       p->spec.nodes_per_rack, p->spec.gpus, &g->why) != 0)
        fail_group(g, PLAN_INVALID);
}

static void
resolve_all(struct plan_inventory *v, const struct world *world)
{
    v->group_count = v->world->spec.group_count;
    v->groups = mem_zalloc(v->group_count * sizeof(*v->groups));
    for (size_t i = 0; i < v->group_count; i++) {
        v->groups[i].inventory = v;
        v->groups[i].spec = &v->world->spec.groups[i];
        resolve(&v->groups[i], world);
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

/* The durable capacity (8.2): of all, of each inventory, and of what of it is
 * in groups that do not resolve now. */
static void
charge_racks(struct plan *plan, const struct world *world,
             struct admit_inventory *inputs, struct capacity *total)
{
    const struct world_rack *r;
    size_t pos = 0;

    while ((r = map_next(&world->kinds[KIND_RACK], &pos)) != NULL) {
        struct capacity c = rack_capacity(&r->o);
        const struct plan_inventory *v;
        const struct plan_group *g;

        if (!rack_owned(&r->o))
            continue;
        capacity_add(total, c, NULL);
        v = plan_inventory(plan, &r->o.inventory);
        if (v == NULL)
            continue;
        capacity_add(&inputs[v - plan->inventories].existing, c, NULL);
        g = group_of(v, r->o.group);
        if (g != NULL && g->profile == NULL)
            capacity_add(&inputs[v - plan->inventories].kept, c, NULL);
    }
}

static bool
any_resolved(const struct plan_inventory *v)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].profile != NULL)
            return true;
    return false;
}

static void
admit_all(struct plan *plan, const struct world *world)
{
    size_t n = plan->inventory_count;
    struct admit_inventory *inputs = mem_zalloc(n * sizeof(*inputs));
    struct admit_verdict *verdicts = mem_zalloc(n * sizeof(*verdicts));
    struct capacity total = {0};

    for (size_t i = 0; i < n; i++) {
        const struct plan_inventory *v = &plan->inventories[i];

        inputs[i] = (struct admit_inventory){
            .ref = ref_of(v),
            .created = v->world->o.meta.created,
            .deleting = v->world->o.meta.deleting,
            .declared = v->world->spec.declared,
            .valid = v->accepted,
            .resolved = any_resolved(v),
            .desired = v->desired,
        };
    }
    charge_racks(plan, world, inputs, &total);
    admit(inputs, n, total, verdicts);
    for (size_t i = 0; i < n; i++) {
        struct plan_inventory *v = &plan->inventories[i];
        struct err why;

        v->verdict = verdicts[i];
        if (verdicts[i].decision != ADMIT_REJECTED)
            continue;
        admit_explain(&inputs[i], &why);
        refuse(v, "CapacityExceeded", &why);
    }
    free(inputs);
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
take_inventories(struct plan *plan, const struct world *world)
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
        resolve_all(&plan->inventories[i], world);
        judge(&plan->inventories[i]);
    }
}

/* The facts of a rack; those of the old plan where nothing they are made of
 * has changed, since rendering is the dear part. */
static void
add_rack(struct plan *plan, struct plan *old, const struct plan_group *g,
         int64_t index)
{
    struct rack_input in = {
        .inventory = ref_of(g->inventory),
        .group = g->spec->id,
        .index = index,
        .count = g->spec->count,
        .profile = g->profile,
    };
    char name[IDENTITY_NAME_MAX];
    struct plan_rack *rack;

    identity_rack_name(in.inventory.name, in.inventory.uid, in.group,
                       (uint32_t)index, name);
    rack = map_remove(&old->racks, name);
    if (rack == NULL || strcmp(rack->profile_uid, g->profile->uid) != 0 ||
        rack->generation != g->profile->generation) {
        if (rack != NULL)
            rack_free(rack);
        rack = mem_zalloc(sizeof(*rack));
        rack->profile_uid = mem_strdup(g->profile->uid);
        rack->generation = g->profile->generation;
        if (rack_render(&rack->facts, NULL, &in, NULL, NULL) != 0) {
            rack_free(rack);
            return;
        }
    }
    rack->group = g;
    rack->index = index;
    map_put(&plan->racks, rack->facts.name, rack);
}

/* Allocation takes the groups of inventories that may write now (9.1). */
static void
take_groups(struct plan *plan, struct plan *old)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->inventory_count; i++)
        count += plan->inventories[i].group_count;
    plan->groups = mem_zalloc(count * sizeof(*plan->groups));
    for (size_t i = 0; i < plan->inventory_count; i++) {
        const struct plan_inventory *v = &plan->inventories[i];

        for (size_t j = 0; j < v->group_count; j++) {
            const struct plan_group *g = &v->groups[j];

            if (v->verdict.decision != ADMIT_ACCEPTED || g->profile == NULL)
                continue;
            plan->groups[plan->group_count++] = (struct place_group){
                .inventory = ref_of(v),
                .id = g->spec->id,
                .selector = &g->spec->selector,
                .racks = g->spec->count,
                .nodes_per_rack = g->profile->nodes_per_rack,
            };
            for (int64_t r = 0; r < g->spec->count; r++)
                add_rack(plan, old, g, r);
        }
    }
}

static void
take_nodes(struct plan *plan, const struct world *world)
{
    const struct map *all = &world->kinds[KIND_NODE];
    const struct world_node *n;
    size_t pos = 0;

    plan->nodes = mem_zalloc(all->count * sizeof(*plan->nodes));
    while ((n = map_next(all, &pos)) != NULL)
        plan->nodes[plan->node_count++] = (struct place_node){
            .name = n->o.meta.name,
            .uid = n->o.meta.uid,
            .created = n->o.meta.created,
            .terminating = n->o.meta.deleting,
            .labels = n->o.meta.labels,
        };
}

static void
add_binding(struct plan *plan, size_t *room, const struct place_binding *b)
{
    if (plan->binding_count == *room) {
        *room = *room == 0 ? 64 : *room * 2;
        plan->bindings =
            mem_resize(plan->bindings, *room, sizeof(*plan->bindings));
    }
    plan->bindings[plan->binding_count++] = *b;
}

static void
bind_standing(struct plan *plan, size_t *room, const struct object_rack *r)
{
    struct place_binding b = {
        .inventory = r->inventory,
        .group = r->group,
        .rack = r->index,
        .stray = plan_rack(plan, r->meta.name.s) == NULL && r->index < 0,
    };

    for (size_t i = 0; i < r->slot_count; i++) {
        if (r->slots[i].node.name.n == 0)
            continue;
        b.slot = r->slots[i].index;
        b.node = r->slots[i].node;
        add_binding(plan, room, &b);
    }
}

static void
bind_assumed(struct plan *plan, size_t *room, const struct plan_assumed *a)
{
    struct place_binding b = {
        .inventory = a->inventory,
        .group = a->group,
        .rack = a->index,
    };

    for (size_t i = 0; i < a->count; i++) {
        if (a->nodes[i].name.n == 0)
            continue;
        b.slot = (int64_t)i;
        b.node = a->nodes[i];
        add_binding(plan, room, &b);
    }
}

/* Every bound slot of a rack that an existing inventory controls; of a rack
 * that was written and is not in the feed yet, what was written. */
static void
take_bindings(struct plan *plan, const struct world *world,
              const struct map *assumed)
{
    const struct world_rack *r;
    const struct plan_assumed *a;
    size_t room = 0;
    size_t pos = 0;

    while ((a = map_next(assumed, &pos)) != NULL)
        bind_assumed(plan, &room, a);
    pos = 0;
    while ((r = map_next(&world->kinds[KIND_RACK], &pos)) != NULL)
        if (map_get(assumed, r->o.meta.name.s) == NULL && rack_owned(&r->o) &&
            plan_inventory(plan, &r->o.inventory) != NULL)
            bind_standing(plan, &room, &r->o);
    for (size_t i = 0; i < plan->binding_count; i++) {
        struct place_binding *b = &plan->bindings[i];

        if (map_get(&plan->bound, b->node.uid.s) == NULL)
            map_put(&plan->bound, b->node.uid.s, b);
    }
}

void
plan_make(struct plan *plan, struct plan *old, const struct world *world,
          const struct map *assumed)
{
    *plan = (struct plan){0};
    take_inventories(plan, world);
    admit_all(plan, world);
    take_groups(plan, old);
    take_nodes(plan, world);
    take_bindings(plan, world, assumed);
    plan->placed = place(&plan->place,
                         &(struct place_input){
                             .groups = plan->groups,
                             .group_count = plan->group_count,
                             .nodes = plan->nodes,
                             .node_count = plan->node_count,
                             .bindings = plan->bindings,
                             .binding_count = plan->binding_count,
                         },
                         &plan->why) == 0;
    plan_fini(old);
}
