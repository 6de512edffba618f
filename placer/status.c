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

/* What the status of one inventory says in numbers. */
struct usage {
    int64_t requested, allocated, available, pending;
};

struct numbers {
    const struct plan_inventory *inventory;
    const struct tally_inventory *tally;
    struct usage *groups;
    struct usage sum;
    struct capacity capacity;
    int64_t projected; /* of the allocated slots */
    int64_t conflicts; /* Nodes in conflict that it is named in */
};

/* ---- numbers ----------------------------------------------------------- */

/* Nodes that a group's selector matches, for groups that take no part in
 * allocation: nobody keeps count of those (6.1: they count all the same). */
static int64_t
count_matches(const struct placer *p, const struct plan_inventory *v,
              const struct plan_group *only)
{
    const struct world_node *n;
    int64_t count = 0;
    size_t pos = 0;

    while ((n = map_next(&p->world.kinds[KIND_NODE], &pos)) != NULL) {
        bool any = false;

        for (size_t i = 0; i < v->group_count && !any; i++)
            any =
                (only == NULL || only == &v->groups[i]) &&
                v->groups[i].spec->sound &&
                selector_match(&v->groups[i].spec->selector, n->o.meta.labels);
        count += any;
    }
    return count;
}

static bool
all_allocate(const struct plan_inventory *v)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (!plan_allocates(&v->groups[i]))
            return false;
    return true;
}

static void
fill_group(const struct placer *p, struct numbers *n, size_t i)
{
    const struct plan_group *g = &n->inventory->groups[i];
    const struct alloc_group *a =
        alloc_group(&p->alloc, plan_ref(n->inventory), g->spec->id);
    struct usage *u = &n->groups[i];
    int64_t free_slots;

    if (a != NULL) {
        u->requested = (int64_t)a->requested;
        u->pending = (int64_t)alloc_pending(a);
    } else if (n->inventory->verdict.budgeted) {
        u->requested = count_matches(p, n->inventory, g);
    }
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

    for (size_t i = 0; i < v->group_count; i++)
        if (capacity_add(&sum, v->groups[i].capacity, NULL) != 0)
            return (struct capacity){0};
    return capacity_check(sum, NULL) == 0 ? sum : (struct capacity){0};
}

static struct numbers
number(const struct placer *p, size_t i)
{
    const struct plan_inventory *v = &p->plan.inventories[i];
    struct numbers n = {
        .inventory = v,
        .tally = &p->tally.inventories[i],
        .groups = mem_zalloc(v->group_count * sizeof(*n.groups)),
        .capacity = sum_capacity(v),
        .conflicts = (int64_t)p->alloc.conflicts[i],
    };

    for (size_t j = 0; j < v->group_count; j++)
        fill_group(p, &n, j);
    if (all_allocate(v))
        n.sum.requested = (int64_t)p->alloc.requested[i];
    else if (v->verdict.budgeted)
        n.sum.requested = count_matches(p, v, NULL);
    return n;
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
set_accepted(struct condition *c, struct arena *arena, const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;

    if (v->accepted)
        set(c, arena, "Accepted", true, "Accepted",
            "the inventory is valid and fits");
    else
        set(c, arena, "Accepted", false, v->refusal, "%s", v->why.text);
}

static void
set_resolved(struct condition *c, struct arena *arena, const struct numbers *n)
{
    const struct plan_group *invalid = first_issue(n->inventory, PLAN_INVALID);
    const struct plan_group *missing =
        first_issue(n->inventory, PLAN_NOT_FOUND);

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
set_programmed(struct condition *c, struct arena *arena,
               const struct numbers *n, const struct condition *accepted,
               const struct condition *resolved)
{
    const char *type = "Programmed";

    if (str_is(accepted->status, "False"))
        set(c, arena, type, false, accepted->reason.s,
            "the inventory is not accepted");
    else if (str_is(resolved->status, "False"))
        set(c, arena, type, false, "ReferencesUnresolved",
            "a group has no usable profile");
    else if (n->tally->rivals > 0)
        set(c, arena, type, false, "RackOwnershipConflict",
            "%" PRId64 " racks belong to or were edited by somebody else",
            n->tally->rivals);
    else if (n->inventory->verdict.decision != ADMIT_ACCEPTED ||
             n->tally->standing < n->tally->wanted)
        set(c, arena, type, false, "RacksPending",
            "%" PRId64 " of %" PRId64 " racks stand as declared",
            n->tally->standing, n->tally->wanted);
    else if (n->projected < n->sum.allocated && n->tally->blocked > 0)
        set(c, arena, type, false, "NodeMetadataConflict",
            "%" PRId64 " of %" PRId64
            " Nodes carry their assignment; on %" PRId64
            " somebody else holds a label or annotation of it",
            n->projected, n->sum.allocated, n->tally->blocked);
    else if (n->projected != n->sum.allocated)
        set(c, arena, type, false, "ProjectionIncomplete",
            "%" PRId64 " of %" PRId64 " Nodes carry their assignment",
            n->projected, n->sum.allocated);
    else
        set(c, arena, type, true, "Programmed",
            "every rack stands and every bound Node carries its assignment");
}

static void
set_satisfied(struct condition *c, struct arena *arena, const struct numbers *n)
{
    const char *type = "RequestsSatisfied";

    if (n->conflicts > 0)
        set(c, arena, type, false, "PlacementConflicts",
            "%" PRId64 " Nodes are claimed more than once", n->conflicts);
    else if (n->sum.pending > 0)
        set(c, arena, type, false, "PendingNodes",
            "%" PRId64 " Nodes wait for a free slot", n->sum.pending);
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
add_usage(struct buf *out, const struct usage *c)
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
add_inventory_fields(struct buf *out, const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;
    const struct plan_group **sorted =
        mem_zalloc(v->group_count * sizeof(struct plan_group *));
    struct buf ids = {0};

    for (size_t i = 0; i < v->group_count; i++)
        sorted[i] = &v->groups[i];
    if (v->group_count > 1)
        qsort(sorted, v->group_count, sizeof(struct plan_group *), by_id);
    buf_addc(out, '{');
    add_capacity(out, n->capacity);
    buf_addz(out, ",\"rackGroups\":[");
    for (size_t i = 0; i < v->group_count; i++) {
        buf_addz(out, i == 0 ? "{" : ",{");
        add_capacity(out, sorted[i]->capacity);
        buf_addz(out, ",\"id\":");
        json_text_string(out, sorted[i]->spec->id);
        buf_addz(out, ",\"profileName\":");
        json_text_string(out, sorted[i]->spec->profile);
        buf_addc(out, ',');
        add_usage(out, &n->groups[sorted[i] - v->groups]);
        buf_addc(out, '}');
        buf_addz(&ids, i == 0 ? "" : ",");
        buf_adds(&ids, sorted[i]->spec->id);
    }
    buf_addz(out, "],\"rackGroupsSummary\":");
    json_text_string(out, buf_str(&ids));
    buf_addc(out, ',');
    add_usage(out, &n->sum);
    buf_addc(out, '}');
    buf_fini(&ids);
    free(sorted);
}

static void
say_inventory(struct placer *p, const struct numbers *n)
{
    const struct object_inventory *o = &n->inventory->world->o;
    struct condition c[INVENTORY_CONDITIONS]; /* sorted by type */
    struct arena arena = {0};
    struct buf fields = {0};

    set_accepted(&c[0], &arena, n);
    set_resolved(&c[3], &arena, n);
    set_programmed(&c[1], &arena, n, &c[0], &c[3]);
    set_satisfied(&c[2], &arena, n);
    add_inventory_fields(&fields, n);
    news_inventory(p, o, c, INVENTORY_CONDITIONS);
    say(p, ACTION_INVENTORY_STATUS, &o->meta, &o->status, buf_str(&fields), c,
        INVENTORY_CONDITIONS);
    buf_fini(&fields);
    arena_fini(&arena);
}

void
status_inventories(struct placer *p)
{
    for (size_t i = 0; i < p->plan.inventory_count; i++) {
        struct numbers n = number(p, i);

        say_inventory(p, &n);
        free(n.groups);
    }
}

/* ---- racks ------------------------------------------------------------- */

static void
set_ready(struct condition *c, struct arena *arena, const struct tally_rack *n)
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

void
status_rack(struct placer *p, const char *name)
{
    const struct tally_rack *n = tally_count(p, name);
    const struct world_rack *r = world_rack(&p->world, name);
    struct arena arena = {0};
    struct condition ready;
    struct buf fields = {0};

    if (r == NULL)
        return;
    if (n->inventory == SIZE_MAX || !rack_owned(&r->o) || r->o.meta.deleting) {
        wish_drop(&p->wishes, ACTION_RACK_STATUS, r->o.meta.name);
        return;
    }
    set_ready(&ready, &arena, n);
    buf_printf(&fields,
               "{\"assignedNodes\":%" PRId64 ",\"observedGeneration\":%" PRId64
               "}",
               n->bound, r->o.meta.generation);
    say(p, ACTION_RACK_STATUS, &r->o.meta, &r->o.status, buf_str(&fields),
        &ready, 1);
    buf_fini(&fields);
    arena_fini(&arena);
}
