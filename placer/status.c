/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/status.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/json_text.h"
#include "common/mem.h"
#include "common/sip.h"
#include "placer/status_work.h"
#include "proto/frame.h"

#define INVENTORY_CONDITIONS 4

/* ---- conditions -------------------------------------------------------- */

/* Takes over what is in text. */
static void
set(struct condition *c, struct arena *arena, const char *type, bool yes,
    const char *reason, struct buf *text)
{
    struct buf cut = {0};

    status_add_cut(&cut, buf_str(text), STATUS_TEXT_MAX);
    *c = (struct condition){
        .type = str_of(type),
        .status = yes ? STR("True") : STR("False"),
        .reason = str_of(reason),
        .message = arena_str(arena, buf_str(&cut)),
    };
    buf_fini(&cut);
    buf_fini(text);
}

static void
set_accepted(struct condition *c, struct arena *arena, const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;
    struct buf text = {0};

    buf_addz(&text,
             v->accepted ? "the inventory is valid and fits" : v->why.text);
    set(c, arena, "Accepted", v->accepted,
        v->accepted ? "Accepted" : v->refusal, &text);
}

static bool
has_issue(const struct plan_inventory *v, enum plan_issue issue)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].issue == issue)
            return true;
    return false;
}

static void
set_resolved(struct condition *c, struct arena *arena, const struct numbers *n)
{
    bool invalid = has_issue(n->inventory, PLAN_INVALID);
    bool missing = has_issue(n->inventory, PLAN_NOT_FOUND);
    const char *reason = "ProfilesResolved";
    struct buf text = {0};

    if (invalid)
        reason = "InvalidProfile";
    else if (missing)
        reason = "ProfileNotFound";
    if (invalid || missing)
        status_say_issues(&text, n);
    else
        buf_addz(&text, "every group's profile is there and valid");
    set(c, arena, "ResolvedRefs", !invalid && !missing, reason, &text);
}

/* The reason why it is not programmed, and its text; NULL if it is (6.2). */
static const char *
judge_programmed(struct buf *text, const struct placer *p,
                 const struct numbers *n)
{
    if (n->tally->racks[TALLY_RIVAL].count > 0) {
        status_say_rivals(text, p, n);
        return "RackOwnershipConflict";
    }
    if (n->inventory->verdict.decision != ADMIT_ACCEPTED ||
        n->tally->standing < n->tally->wanted) {
        status_say_pending(text, p, n);
        return "RacksPending";
    }
    if (n->projected < n->sum.allocated && n->tally->blocked > 0) {
        status_say_blocked(text, p, n);
        return "NodeMetadataConflict";
    }
    if (n->projected != n->sum.allocated) {
        status_say_unprojected(text, p, n);
        return REASON_PROJECTING;
    }
    return NULL;
}

static void
set_programmed(struct condition *c, struct arena *arena, const struct placer *p,
               const struct numbers *n, const struct condition *accepted,
               const struct condition *resolved)
{
    const char *reason = NULL;
    struct buf text = {0};

    if (str_is(accepted->status, "False")) {
        buf_addz(&text, "the inventory is not accepted");
        reason = accepted->reason.s;
    } else if (str_is(resolved->status, "False")) {
        status_say_unresolved(&text, n);
        reason = "ReferencesUnresolved";
    } else {
        reason = judge_programmed(&text, p, n);
    }
    if (reason == NULL)
        status_say_programmed(&text, p, n);
    set(c, arena, "Programmed", reason == NULL,
        reason == NULL ? "Programmed" : reason, &text);
}

static void
set_satisfied(struct condition *c, struct arena *arena, const struct placer *p,
              const struct numbers *n)
{
    const char *reason = "RequestsSatisfied";
    struct buf text = {0};

    if (n->conflicts + n->twins > 0) {
        status_say_conflicts(&text, p, n);
        reason = "PlacementConflicts";
    } else if (n->sum.pending > 0) {
        status_say_waiting(&text, p, n);
        reason = "PendingNodes";
    } else {
        status_say_satisfied(&text, n);
    }
    set(c, arena, "RequestsSatisfied",
        str_is(str_of(reason), "RequestsSatisfied"), reason, &text);
}

/* A condition that stands as True and agrees keeps its text if somebody else
 * worded it, so that taking over writes nothing. */
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
                c->observed == wanted[i].observed &&
                !condition_same_words(c->message, wanted[i].message))
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

/* Says the status of one object, unless it stands; true: it does. */
static bool
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
        return true;
    }
    intent_status_pack(&body, &i);
    if (!wish_want(&p->wishes, action, meta->name, meta->version,
                   MSG_STATUS_WRITE, buf_str(&body)))
        placer_starve(p, action);
    buf_fini(&body);
    return false;
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

/* Nothing is wrong with it, so that its texts depend on its numbers alone. */
static bool
is_flawless(const struct numbers *n)
{
    for (int cause = 0; cause < TALLY_CAUSES; cause++)
        if (n->tally->racks[cause].count > 0)
            return false;
    return n->conflicts == 0 && n->twins == 0 && n->sum.pending == 0;
}

/* What the status of a flawless inventory is made of, beside the plan, and
 * which version of it stands; 0 of any other. */
static uint64_t
digest(const struct numbers *n)
{
    static const struct sip seed; /* nobody gains by aiming at it */
    struct buf bytes = {0};
    uint64_t hash;

    if (!is_flawless(n))
        return 0;
    buf_adds(&bytes, n->inventory->world->o.meta.version);
    buf_add(&bytes, &n->sum, sizeof(n->sum));
    buf_add(&bytes, &n->projected, sizeof(n->projected));
    buf_add(&bytes, n->groups, n->inventory->group_count * sizeof(*n->groups));
    hash = sip_hash(&seed, buf_bytes(&bytes), bytes.len) | 1;
    buf_fini(&bytes);
    return hash;
}

static bool
say_inventory(struct placer *p, const struct numbers *n)
{
    const struct object_inventory *o = &n->inventory->world->o;
    struct condition c[INVENTORY_CONDITIONS]; /* sorted by type */
    struct arena arena = {0};
    struct buf fields = {0};
    bool stands;

    p->tally.rendered++;
    set_accepted(&c[0], &arena, n);
    set_resolved(&c[3], &arena, n);
    set_programmed(&c[1], &arena, p, n, &c[0], &c[3]);
    set_satisfied(&c[2], &arena, p, n);
    add_inventory_fields(&fields, n);
    news_inventory(p, o, c, INVENTORY_CONDITIONS);
    stands = say(p, ACTION_INVENTORY_STATUS, &o->meta, &o->status,
                 buf_str(&fields), c, INVENTORY_CONDITIONS);
    buf_fini(&fields);
    arena_fini(&arena);
    return stands;
}

/* An inventory of which nothing has changed since its status was found to stand
 * costs its numbers only. */
static void
status_inventory(struct placer *p, size_t number)
{
    uint64_t *silent = &p->tally.inventories[number].silent;
    struct numbers n;
    uint64_t made_of;

    status_numbers(&n, p, number);
    made_of = digest(&n);
    if (made_of == 0 || made_of != *silent)
        *silent = say_inventory(p, &n) ? made_of : 0;
    status_numbers_fini(&n);
}

void
status_inventories(struct placer *p)
{
    tally_complete(p);
    for (size_t i = 0; i < p->plan.inventory_count; i++)
        status_inventory(p, i);
}

/* ---- racks ------------------------------------------------------------- */

/* "Nodes that carry their assignment: N of M; WHAT: " */
static void
add_projected(struct buf *text, const struct tally_rack *n, const char *what)
{
    buf_printf(text,
               "Nodes that carry their assignment: %" PRId64 " of %" PRId64
               "; %s: ",
               n->projected, n->bound, what);
}

/* The first thing that is wrong with it (6.3), in words; NULL if nothing is. */
static const char *
judge_ready(struct buf *text, const struct tally_rack *n,
            enum status_slot_fault *fault)
{
    if (n->doubled > 0) {
        buf_addz(text, "bound to another slot, too: ");
        *fault = STATUS_DOUBLED;
        return "DuplicateBindings";
    }
    if (n->broken > 0) {
        buf_addz(text, "slots that cannot be: ");
        *fault = STATUS_BROKEN;
        return "InvalidBindings";
    }
    if (n->gone > 0) {
        buf_addz(text, "bound, but not there or not eligible: ");
        *fault = STATUS_GONE;
        return "InvalidBindings";
    }
    if (n->projected < n->bound && n->blocked > 0) {
        add_projected(text, n, "somebody else holds a label or annotation");
        *fault = STATUS_BLOCKED;
        return "NodeMetadataConflict";
    }
    if (n->projected != n->bound) {
        add_projected(text, n, "not yet");
        *fault = STATUS_WAITING;
        return REASON_PROJECTING;
    }
    return NULL;
}

static void
set_ready(struct condition *c, struct arena *arena, const struct placer *p,
          const struct world_rack *r, const struct tally_rack *n)
{
    enum status_slot_fault fault = STATUS_WAITING;
    struct buf text = {0};
    const char *reason = judge_ready(&text, n, &fault);
    size_t told = 0;

    if (reason != NULL)
        status_add_more(&text, FEW_TOLD,
                        status_add_slots(&text, p, r, fault, &told));
    else
        buf_addz(&text, "every bound Node carries its assignment");
    if (n->causes[TALLY_LEFTOVER])
        status_say_leftover(&text, p, &r->o);
    set(c, arena, "Ready", reason == NULL, reason == NULL ? "Ready" : reason,
        &text);
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
    if (!n->own || r->o.meta.deleting) {
        wish_drop(&p->wishes, ACTION_RACK_STATUS, r->o.meta.name);
        return;
    }
    set_ready(&ready, &arena, p, r, n);
    buf_printf(&fields,
               "{\"assignedNodes\":%" PRId64 ",\"observedGeneration\":%" PRId64
               "}",
               n->bound, r->o.meta.generation);
    say(p, ACTION_RACK_STATUS, &r->o.meta, &r->o.status, buf_str(&fields),
        &ready, 1);
    buf_fini(&fields);
    arena_fini(&arena);
}
