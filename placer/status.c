/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "placer/project.h"
#include "proto/frame.h"

#define INVENTORY_CONDITIONS 4

/* What is counted of one group, and in sum of one inventory. */
struct counts {
    int64_t requested, allocated, available, pending;
    int64_t projected; /* of the allocated ones */
};

struct tally {
    const struct plan_inventory *inventory;
    struct counts *groups;
    struct counts sum;
    struct capacity capacity;
    int64_t conflicts;      /* Nodes in conflict that it is named in */
    int64_t blocked;        /* slots whose Node somebody else's keys block */
    int64_t racks_wanted;   /* desired racks */
    int64_t racks_standing; /* of them, those that stand as rendered */
    int64_t rival_racks;    /* names taken by somebody else's rack */
};

static ssize_t
group_at(const struct plan_inventory *v, struct str id)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (str_eq(v->groups[i].spec->id, id))
            return (ssize_t)i;
    return -1;
}

/* ---- counting ---------------------------------------------------------- */

/* Nodes that match, each once for the inventory and once for each group. */
static void
count_requests(struct tally *t, const struct place_node *node)
{
    const struct plan_inventory *v = t->inventory;
    bool any = false;

    for (size_t i = 0; i < v->group_count; i++) {
        const struct inventory_group *g = v->groups[i].spec;

        if (!g->sound || !selector_match(&g->selector, node->labels))
            continue;
        t->groups[i].requested++;
        any = true;
    }
    t->sum.requested += any;
}

static void
count_slot(const struct placer *p, struct tally *t, struct counts *g,
           const struct object_rack *rack, const struct object_slot *slot)
{
    const struct world_node *n = world_node_exact(&p->world, &slot->node);
    struct arena arena = {0};
    struct projection wanted;

    if (n == NULL)
        return;
    g->allocated++;
    wanted = project_wanted(rack, slot, &arena);
    switch (project_compare(&n->o, &wanted, NULL)) {
    case PROJECT_STANDS:
        g->projected++;
        break;
    case PROJECT_CONFLICT:
        t->blocked++;
        break;
    case PROJECT_MISSING:
        break;
    }
    arena_fini(&arena);
}

static void
count_rack(const struct placer *p, struct tally *t, const struct world_rack *r)
{
    ssize_t i = group_at(t->inventory, r->o.group);

    if (i < 0)
        return;
    for (size_t j = 0; j < r->o.slot_count; j++)
        if (r->o.slots[j].node.name.n > 0)
            count_slot(p, t, &t->groups[i], &r->o, &r->o.slots[j]);
}

static void
count_racks(const struct placer *p, struct tally *tallies)
{
    const struct plan_rack *rack;
    const struct world_rack *r;
    size_t pos = 0;

    while ((r = map_next(&p->world.kinds[KIND_RACK], &pos)) != NULL) {
        const struct plan_inventory *v =
            plan_inventory(&p->plan, &r->o.inventory);

        if (v != NULL && rack_owned(&r->o))
            count_rack(p, &tallies[v - p->plan.inventories], r);
    }
    pos = 0;
    while ((rack = map_next(&p->plan.racks, &pos)) != NULL) {
        const struct plan_inventory *v = rack->group->inventory;
        struct tally *t = &tallies[v - p->plan.inventories];
        struct object_ref ref = {v->world->o.meta.name, v->world->o.meta.uid};

        r = world_rack(&p->world, rack->facts.name);
        t->racks_wanted++;
        if (r == NULL)
            continue;
        if (!rack_controlled(r->o.owners, ref) ||
            (r->o.managed && !r->o.spec_ours))
            t->rival_racks++;
        else if (!r->o.meta.deleting && str_is(r->o.digest, rack->facts.digest))
            t->racks_standing++;
    }
}

static struct tally *
tally_of(const struct placer *p, struct tally *tallies,
         const struct object_ref *ref)
{
    const struct plan_inventory *v = plan_inventory(&p->plan, ref);

    return v == NULL ? NULL : &tallies[v - p->plan.inventories];
}

static void
count_plan(const struct placer *p, struct tally *tallies)
{
    const struct place_plan *plan = &p->plan.place;

    for (size_t i = 0; i < plan->pending_count; i++) {
        const struct place_group *g = plan->pending[i].group;
        struct tally *t = tally_of(p, tallies, &g->inventory);
        ssize_t at = t == NULL ? -1 : group_at(t->inventory, g->id);

        if (at >= 0)
            t->groups[at].pending++;
    }
    for (size_t i = 0; i < plan->conflict_count; i++) {
        const struct place_conflict *c = &plan->conflicts[i];
        const struct tally *last = NULL;

        /* Groups and bindings come in the order of keys: those of one
         * inventory follow each other. */
        for (size_t j = 0; j < c->group_count + c->binding_count; j++) {
            const struct object_ref *ref =
                j < c->group_count
                    ? &c->groups[j]->inventory
                    : &c->bindings[j - c->group_count]->inventory;
            struct tally *t = tally_of(p, tallies, ref);

            if (t != NULL && t != last)
                t->conflicts++;
            last = t;
        }
    }
}

static void
add_up(struct tally *t)
{
    const struct plan_inventory *v = t->inventory;
    struct capacity sum = {0};
    bool fits = true;

    for (size_t i = 0; i < v->group_count; i++) {
        struct counts *g = &t->groups[i];
        int64_t free_slots = v->groups[i].capacity.nodes - g->allocated;

        fits = fits && capacity_add(&sum, v->groups[i].capacity, NULL) == 0;
        g->available = free_slots > 0 ? free_slots : 0;
        t->sum.allocated += g->allocated;
        t->sum.available += g->available;
        t->sum.pending += g->pending;
        t->sum.projected += g->projected;
    }
    if (fits && capacity_check(sum, NULL) == 0)
        t->capacity = sum;
}

static struct tally *
count_all(const struct placer *p)
{
    struct tally *tallies =
        mem_zalloc(p->plan.inventory_count * sizeof(*tallies));

    for (size_t i = 0; i < p->plan.inventory_count; i++) {
        struct tally *t = &tallies[i];

        t->inventory = &p->plan.inventories[i];
        t->groups = mem_zalloc(t->inventory->group_count * sizeof(*t->groups));
        for (size_t j = 0;
             t->inventory->verdict.budgeted && j < p->plan.node_count; j++)
            count_requests(t, &p->plan.nodes[j]);
    }
    count_racks(p, tallies);
    count_plan(p, tallies);
    for (size_t i = 0; i < p->plan.inventory_count; i++)
        add_up(&tallies[i]);
    return tallies;
}

/* ---- conditions -------------------------------------------------------- */

static void set(struct condition *c, struct arena *arena, const char *type,
                bool yes, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

static void
set(struct condition *c, struct arena *arena, const char *type, bool yes,
    const char *reason, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    *c = (struct condition){
        .type = str_of(type),
        .status = yes ? STR("True") : STR("False"),
        .reason = str_of(reason),
        .message = arena_str(arena, str_of(text)),
    };
}

static const struct plan_group *
first_issue(const struct plan_inventory *v, enum plan_issue issue)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].issue == issue)
            return &v->groups[i];
    return NULL;
}

static void
set_accepted(struct condition *c, struct arena *arena, const struct tally *t)
{
    const struct plan_inventory *v = t->inventory;

    if (v->accepted)
        set(c, arena, "Accepted", true, "Accepted",
            "the inventory is valid and fits");
    else
        set(c, arena, "Accepted", false, v->refusal, "%s", v->why.text);
}

static void
set_resolved(struct condition *c, struct arena *arena, const struct tally *t)
{
    const struct plan_group *invalid = first_issue(t->inventory, PLAN_INVALID);
    const struct plan_group *missing =
        first_issue(t->inventory, PLAN_NOT_FOUND);

    if (invalid != NULL)
        set(c, arena, "ResolvedRefs", false, "InvalidProfile", "%s",
            invalid->why.text);
    else if (missing != NULL)
        set(c, arena, "ResolvedRefs", false, "ProfileNotFound", "%s",
            missing->why.text);
    else
        set(c, arena, "ResolvedRefs", true, "ProfilesResolved",
            "every group's profile is there and valid");
}

static void
set_programmed(struct condition *c, struct arena *arena, const struct tally *t,
               const struct condition *accepted,
               const struct condition *resolved)
{
    const char *type = "Programmed";

    if (str_is(accepted->status, "False"))
        set(c, arena, type, false, accepted->reason.s,
            "the inventory is not accepted");
    else if (str_is(resolved->status, "False"))
        set(c, arena, type, false, "ReferencesUnresolved",
            "a group has no usable profile");
    else if (t->rival_racks > 0)
        set(c, arena, type, false, "RackOwnershipConflict",
            "%" PRId64 " racks belong to or were edited by somebody else",
            t->rival_racks);
    else if (t->inventory->verdict.decision != ADMIT_ACCEPTED ||
             t->racks_standing < t->racks_wanted)
        set(c, arena, type, false, "RacksPending",
            "%" PRId64 " of %" PRId64 " racks stand as declared",
            t->racks_standing, t->racks_wanted);
    else if (t->sum.projected < t->sum.allocated && t->blocked > 0)
        set(c, arena, type, false, "NodeMetadataConflict",
            "%" PRId64 " of %" PRId64
            " Nodes carry their assignment; on %" PRId64
            " somebody else holds a label or annotation of it",
            t->sum.projected, t->sum.allocated, t->blocked);
    else if (t->sum.projected != t->sum.allocated)
        set(c, arena, type, false, "ProjectionIncomplete",
            "%" PRId64 " of %" PRId64 " Nodes carry their assignment",
            t->sum.projected, t->sum.allocated);
    else
        set(c, arena, type, true, "Programmed",
            "every rack stands and every bound Node carries its assignment");
}

static void
set_satisfied(struct condition *c, struct arena *arena, const struct tally *t)
{
    const char *type = "RequestsSatisfied";

    if (t->conflicts > 0)
        set(c, arena, type, false, "PlacementConflicts",
            "%" PRId64 " Nodes are claimed more than once", t->conflicts);
    else if (t->sum.pending > 0)
        set(c, arena, type, false, "PendingNodes",
            "%" PRId64 " Nodes wait for a free slot", t->sum.pending);
    else
        set(c, arena, type, true, "RequestsSatisfied",
            "every matching Node has a slot");
}

/* A condition that stands as True and agrees keeps its text, so that taking
 * over from somebody who words it otherwise writes nothing. */
static void
keep_texts(struct condition *wanted, size_t count,
           const struct conditions *standing)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < standing->count; j++) {
            const struct condition *c = &standing->items[j];

            if (str_eq(c->type, wanted[i].type) && str_is(c->status, "True") &&
                str_eq(c->status, wanted[i].status) &&
                str_eq(c->reason, wanted[i].reason) &&
                c->observed == wanted[i].observed)
                wanted[i].message = c->message;
        }
}

static bool
same_conditions(const struct condition *wanted, size_t count,
                const struct conditions *standing)
{
    if (standing->count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct condition *c = &standing->items[i];

        if (!str_eq(c->type, wanted[i].type) ||
            !str_eq(c->status, wanted[i].status) ||
            !str_eq(c->reason, wanted[i].reason) ||
            !str_eq(c->message, wanted[i].message) ||
            c->observed != wanted[i].observed)
            return false;
    }
    return true;
}

/* Says the status of one object, unless it stands. */
static void
say(struct placer *p, enum action action, const struct object_meta *meta,
    const struct object_status *standing, struct str fields,
    struct condition *conditions, size_t count)
{
    struct intent_status i = {
        .target = {meta->name, meta->uid, meta->version},
        .action = action,
        .status = {fields, {conditions, count}},
    };
    struct buf body = {0};

    for (size_t j = 0; j < count; j++)
        conditions[j].observed = meta->generation;
    keep_texts(conditions, count, &standing->conditions);
    if (str_eq(standing->fields, fields) &&
        same_conditions(conditions, count, &standing->conditions)) {
        wish_drop(&p->wishes, action, meta->name);
        return;
    }
    intent_status_pack(&body, &i);
    if (!wish_want(&p->wishes, action, meta->name, meta->version,
                   MSG_STATUS_WRITE, buf_str(&body)))
        p->starved = true;
    buf_fini(&body);
}

/* ---- inventories ------------------------------------------------------- */

static void
add_capacity(struct buf *out, struct capacity c)
{
    buf_printf(out,
               "\"capacity\":{\"gpus\":%" PRId64 ",\"nodes\":%" PRId64
               ",\"racks\":%" PRId64 "}",
               c.gpus, c.nodes, c.racks);
}

static void
add_usage(struct buf *out, const struct counts *c)
{
    buf_printf(out,
               "\"usage\":{\"allocatedNodes\":%" PRId64
               ",\"availableNodes\":%" PRId64 ",\"pendingNodes\":%" PRId64
               ",\"requestedNodes\":%" PRId64 "}",
               c->allocated, c->available, c->pending, c->requested);
}

static int
by_id(const void *a, const void *b)
{
    return str_cmp((*(const struct plan_group *const *)a)->spec->id,
                   (*(const struct plan_group *const *)b)->spec->id);
}

/* The members but conditions, in the order of their names. */
static void
add_inventory_fields(struct buf *out, const struct tally *t)
{
    const struct plan_inventory *v = t->inventory;
    const struct plan_group **sorted =
        mem_zalloc(v->group_count * sizeof(struct plan_group *));
    struct buf ids = {0};

    for (size_t i = 0; i < v->group_count; i++)
        sorted[i] = &v->groups[i];
    if (v->group_count > 1)
        qsort(sorted, v->group_count, sizeof(struct plan_group *), by_id);
    buf_addc(out, '{');
    add_capacity(out, t->capacity);
    buf_addz(out, ",\"rackGroups\":[");
    for (size_t i = 0; i < v->group_count; i++) {
        buf_addz(out, i == 0 ? "{" : ",{");
        add_capacity(out, sorted[i]->capacity);
        buf_addz(out, ",\"id\":");
        json_text_string(out, sorted[i]->spec->id);
        buf_addz(out, ",\"profileName\":");
        json_text_string(out, sorted[i]->spec->profile);
        buf_addc(out, ',');
        add_usage(out, &t->groups[sorted[i] - v->groups]);
        buf_addc(out, '}');
        buf_addz(&ids, i == 0 ? "" : ",");
        buf_adds(&ids, sorted[i]->spec->id);
    }
    buf_addz(out, "],\"rackGroupsSummary\":");
    json_text_string(out, buf_str(&ids));
    buf_addc(out, ',');
    add_usage(out, &t->sum);
    buf_addc(out, '}');
    buf_fini(&ids);
    free(sorted);
}

static void
say_inventory(struct placer *p, const struct tally *t)
{
    const struct object_inventory *o = &t->inventory->world->o;
    struct condition c[INVENTORY_CONDITIONS]; /* sorted by type */
    struct arena arena = {0};
    struct buf fields = {0};

    set_accepted(&c[0], &arena, t);
    set_resolved(&c[3], &arena, t);
    set_programmed(&c[1], &arena, t, &c[0], &c[3]);
    set_satisfied(&c[2], &arena, t);
    add_inventory_fields(&fields, t);
    say(p, ACTION_INVENTORY_STATUS, &o->meta, &o->status, buf_str(&fields), c,
        INVENTORY_CONDITIONS);
    buf_fini(&fields);
    arena_fini(&arena);
}

/* ---- racks ------------------------------------------------------------- */

struct rack_counts {
    int64_t bound, gone, projected, blocked, doubled;
};

static struct rack_counts
count_one_rack(const struct placer *p, const struct object_rack *rack)
{
    struct rack_counts n = {0};

    for (size_t i = 0; i < rack->slot_count; i++) {
        const struct object_slot *slot = &rack->slots[i];
        const struct world_node *node;
        struct arena arena = {0};
        struct projection wanted;
        enum project_state state;

        if (slot->node.name.n == 0)
            continue;
        n.bound++;
        n.doubled += map_get(&p->duplicates, slot->node.uid.s) != NULL;
        node = world_node_exact(&p->world, &slot->node);
        if (node == NULL) {
            n.gone++;
            continue;
        }
        wanted = project_wanted(rack, slot, &arena);
        state = project_compare(&node->o, &wanted, NULL);
        n.projected += state == PROJECT_STANDS;
        n.blocked += state == PROJECT_CONFLICT;
        arena_fini(&arena);
    }
    return n;
}

static void
set_ready(struct condition *c, struct arena *arena, const struct rack_counts *n)
{
    if (n->doubled > 0)
        set(c, arena, "Ready", false, "DuplicateBindings",
            "%" PRId64 " bound Nodes are bound to another slot, too",
            n->doubled);
    else if (n->gone > 0)
        set(c, arena, "Ready", false, "InvalidBindings",
            "%" PRId64 " bound Nodes are not there or not eligible", n->gone);
    else if (n->projected < n->bound && n->blocked > 0)
        set(c, arena, "Ready", false, "NodeMetadataConflict",
            "%" PRId64 " of %" PRId64
            " Nodes carry their assignment; on %" PRId64
            " somebody else holds a label or annotation of it",
            n->projected, n->bound, n->blocked);
    else if (n->projected != n->bound)
        set(c, arena, "Ready", false, "ProjectionIncomplete",
            "%" PRId64 " of %" PRId64 " Nodes carry their assignment",
            n->projected, n->bound);
    else
        set(c, arena, "Ready", true, "Ready",
            "every bound Node carries its assignment");
}

static void
say_rack(struct placer *p, const struct world_rack *r)
{
    struct rack_counts n = count_one_rack(p, &r->o);
    struct arena arena = {0};
    struct condition ready;
    struct buf fields = {0};

    set_ready(&ready, &arena, &n);
    buf_printf(&fields,
               "{\"assignedNodes\":%" PRId64 ",\"observedGeneration\":%" PRId64
               "}",
               n.bound, r->o.meta.generation);
    say(p, ACTION_RACK_STATUS, &r->o.meta, &r->o.status, buf_str(&fields),
        &ready, 1);
    buf_fini(&fields);
    arena_fini(&arena);
}

void
status_decide(struct placer *p)
{
    struct tally *tallies;
    const struct world_rack *r;
    size_t pos = 0;

    if (!p->plan.placed)
        return;
    tallies = count_all(p);
    for (size_t i = 0; i < p->plan.inventory_count; i++) {
        say_inventory(p, &tallies[i]);
        free(tallies[i].groups);
    }
    free(tallies);
    while ((r = map_next(&p->world.kinds[KIND_RACK], &pos)) != NULL)
        if (rack_owned(&r->o) && !r->o.meta.deleting &&
            plan_inventory(&p->plan, &r->o.inventory) != NULL)
            say_rack(p, r);
}
