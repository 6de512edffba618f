/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/decide.h"
#include "placer/fate.h"
#include "placer/placer_work.h"
#include "placer/project.h"
#include "placer/questions.h"

#define UNKNOWN "not known"

/* All that a verdict is made from: a plan of the present model, as the leader
 * would make it. */
struct why {
    const struct placer *p;
    struct str name;
    const struct world_node *node; /* or NULL */
    struct buf *out;
    struct plan plan;
    struct place_group groups[MAX_GROUPS];
    struct place_node *nodes;
    struct place_binding *bindings;
    struct place_input in;
    struct place_plan places;
    bool planned;
    struct err trouble; /* unless planned */
};

/* ---- lines ------------------------------------------------------------- */

static void say(struct why *w, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
say(struct why *w, const char *what, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    buf_printf(w->out, "  %-12s %s\n", what, text);
}

/* The first line, and the rule behind it. */
static void say_verdict(struct why *w, const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
say_verdict(struct why *w, const char *rule, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    buf_printf(w->out, "%s: %s\n", w->name.s, text);
    say(w, "rule", "%s", rule);
}

/* ---- the plan ---------------------------------------------------------- */

static void
add_groups(struct why *w)
{
    for (size_t i = 0; i < w->plan.inventory_count; i++) {
        const struct plan_inventory *v = &w->plan.inventories[i];

        for (size_t j = 0; j < v->group_count; j++) {
            const struct plan_group *g = &v->groups[j];

            if (!plan_allocates(g) || w->in.group_count == MAX_GROUPS)
                continue;
            w->groups[w->in.group_count++] = (struct place_group){
                .inventory = plan_ref(v),
                .id = g->spec->id,
                .selector = &g->spec->selector,
                .racks = g->spec->count,
                .nodes_per_rack = g->profile->nodes_per_rack,
            };
        }
    }
}

static void
add_nodes(struct why *w)
{
    const struct map *nodes = &w->p->world.kinds[KIND_NODE];
    const struct world_node *n;
    size_t pos = 0;

    w->nodes = mem_zalloc(nodes->count * sizeof(*w->nodes));
    while ((n = map_next(nodes, &pos)) != NULL)
        w->nodes[w->in.node_count++] = placer_node_of(n);
}

static void
add_bindings(struct why *w, const struct object_rack *r)
{
    if (!rack_owned(r) ||
        (plan_inventory(&w->plan, &r->inventory) == NULL && !r->meta.deleting))
        return;
    w->bindings = mem_resize(w->bindings, w->in.binding_count + r->slot_count,
                             sizeof(*w->bindings));
    for (size_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].node.name.n > 0)
            w->bindings[w->in.binding_count++] = placer_binding_of(
                r, &r->slots[i], !plan_canonical(&w->plan, r));
}

static void
make_plan(struct why *w)
{
    const struct world_rack *r;
    struct plan none = {0};
    size_t pos = 0;

    plan_make(&w->plan, &none, &w->p->world, &w->p->barred);
    add_groups(w);
    add_nodes(w);
    while ((r = map_next(&w->p->world.kinds[KIND_RACK], &pos)) != NULL)
        add_bindings(w, &r->o);
    w->in.groups = w->groups;
    w->in.nodes = w->nodes;
    w->in.bindings = w->bindings;
    w->planned = place(&w->places, &w->in, &w->trouble) == 0;
}

static void
forget_plan(struct why *w)
{
    if (w->planned)
        place_plan_fini(&w->places);
    plan_fini(&w->plan);
    free(w->nodes);
    free(w->bindings);
}

/* ---- what is waited for ------------------------------------------------ */

static void
say_wish(struct why *w, enum action action, struct str name, const char *what)
{
    struct wish wish = wish_look(&w->p->wishes, action, name);

    if (wish.state == WISH_OPEN)
        say(w, "waits for", "the projector, which is to write %s", what);
    else if (wish.state == WISH_DONE)
        say(w, "waits for", "the informer, to show %s as written (version %s)",
            what, wish.version);
    else if (wish.state == WISH_REFUSED)
        say(w, "waits for", "a change of %s: the last write was refused, %s",
            what, wish.reason);
    else if (w->p->term == 0)
        say(w, "waits for", "the leader: this replica stands by");
    else if (w->p->wishes.missed)
        say(w, "waits for",
            "the informer, to list the racks once in this term");
    else
        say(w, "waits for", "the placer, to ask for %s", what);
}

/* ---- verdicts ---------------------------------------------------------- */

static bool
is_it(const struct why *w, struct str uid)
{
    return w->node != NULL && str_eq(uid, w->node->o.meta.uid);
}

static const struct object_rack *
rack_of(const struct why *w, const struct place_binding *b,
        const struct object_slot **slot)
{
    const struct world_rack *r;
    size_t pos = 0;

    while ((r = map_next(&w->p->world.kinds[KIND_RACK], &pos)) != NULL) {
        if (r->o.index != b->rack || !str_eq(r->o.group, b->group) ||
            !str_eq(r->o.inventory.uid, b->inventory.uid))
            continue;
        for (size_t i = 0; i < r->o.slot_count; i++) {
            *slot = &r->o.slots[i];
            if ((*slot)->index == b->slot &&
                str_eq((*slot)->node.uid, b->node.uid))
                return &r->o;
        }
    }
    return NULL;
}

static void
say_slot(struct why *w, const struct place_binding *b)
{
    const struct object_slot *slot;
    const struct object_rack *rack = rack_of(w, b, &slot);

    say(w, "slot",
        "rack %s (index %" PRId64 ") slot %" PRId64 " of group %s/%s",
        rack == NULL ? "?" : rack->meta.name.s, b->rack, b->slot,
        b->inventory.name.s, b->group.s);
}

static void
say_conflict(struct why *w, const struct place_conflict *c)
{
    if (c->kind == PLACE_SELECTOR_OVERLAP) {
        say_verdict(w,
                    "mokka-api 9.4: a Node that several groups select is "
                    "assigned to none",
                    "not assigned: %zu groups select it (SelectorOverlap)",
                    c->group_count);
        say(w, "remedy", "make their placementSelectors disjoint");
        return;
    }
    say_verdict(w,
                "mokka-api 9.3: a Node that several slots name gets nothing "
                "new",
                "%zu slots name it (DuplicateBinding)", c->binding_count);
    for (size_t i = 0; i < c->binding_count; i++)
        say_slot(w, c->bindings[i]);
}

static bool
find_conflict(struct why *w)
{
    for (size_t i = 0; i < w->places.conflict_count; i++) {
        if (!is_it(w, w->places.conflicts[i].ref.uid))
            continue;
        say_conflict(w, &w->places.conflicts[i]);
        return true;
    }
    return false;
}

static bool
find_assigned(struct why *w)
{
    for (size_t i = 0; i < w->places.assigned_count; i++) {
        const struct place_assigned *a = &w->places.assigned[i];
        char name[IDENTITY_NAME_MAX];

        if (!is_it(w, a->node->uid))
            continue;
        identity_rack_name(a->group->inventory.name, a->group->inventory.uid,
                           a->group->id, (uint32_t)a->rack, name);
        say_verdict(w,
                    "mokka-api 9.4: the next free slot of the one group that "
                    "selects it",
                    "gets slot %d of rack %s, which is not written yet",
                    a->slot, name);
        say_wish(w, ACTION_RACK, str_of(name), "the rack");
        return true;
    }
    return false;
}

static bool
find_pending(struct why *w)
{
    size_t before = 0;

    for (size_t i = 0; i < w->places.pending_count; i++) {
        const struct place_pending *n = &w->places.pending[i];

        if (!is_it(w, n->node->uid)) {
            before++;
            continue;
        }
        say_verdict(w,
                    "mokka-api 9.4: a Node that one group selects waits until "
                    "a slot of it is free",
                    "pending: group %s/%s has no free slot",
                    n->group->inventory.name.s, n->group->id.s);
        say(w, "waits for",
            "a slot: %zu Nodes wait before it; raise the group's count "
            "(%" PRId64 " racks of %" PRId64 " Nodes now) or free a Node",
            before, n->group->racks, n->group->nodes_per_rack);
        return true;
    }
    return false;
}

static void
say_keys(struct why *w, int conflict)
{
    static const struct {
        int key;
        const char *name;
    } keys[] = {
        {KEY_ASSIGNED, LABEL_ASSIGNED},
        {KEY_CLIQUE, LABEL_CLIQUE},
        {KEY_ANNOTATION, ANNOTATION_ASSIGNMENT},
    };
    const struct object_node *n = &w->node->o;

    for (size_t i = 0; i < nitems(keys); i++) {
        const struct str *value =
            pairs_get(n->meta.labels, str_of(keys[i].name));
        bool ours = (n->ours & keys[i].key) != 0;
        bool foreign = (n->foreign & keys[i].key) != 0;
        struct str managers =
            foreign ? projected_key_managers(n->rivals, keys[i].key) : STR("");

        say(w, "key", "%s%s%s: %s%s%.*s%s", keys[i].name,
            value == NULL ? "" : "=", value == NULL ? "" : value->s,
            ours      ? "ours"
            : foreign ? "owned by "
                      : "owned by nobody",
            ours && foreign ? " and owned by " : "", (int)managers.n,
            managers.s, (conflict & keys[i].key) != 0 ? " (in the way)" : "");
    }
}

/* Why a Node that is to be cleaned is not, and what helps. */
static void
say_blocked(struct why *w, const struct place_binding *b)
{
    const struct object_slot *slot;
    const struct object_rack *rack = rack_of(w, b, &slot);
    int keys = rack == NULL ? 0 : decide_in_the_way(w->p, rack, slot);
    struct wish wish = wish_look(&w->p->wishes, ACTION_NODE, w->name);

    if (keys == 0 && wish.state != WISH_REFUSED)
        return;
    say(w, "remedy",
        "its slot stays taken until the keys that are in the way have gone: "
        "have their owners give them up, or remove them");
    if (w->node != NULL)
        say_keys(w, keys);
}

static void
say_released(struct why *w, const char *rule, enum release reason,
             const struct place_binding *b)
{
    say_verdict(w, rule, "gives its slot up: %s", release_name(reason));
    say_slot(w, b);
    say_wish(w, ACTION_NODE, w->name, "the Node, cleaned");
    say_blocked(w, b);
}

/* Does the binding name the Node? One that is gone is known by its name. */
static bool
names_it(const struct why *w, const struct place_binding *b)
{
    return w->node == NULL ? str_eq(b->node.name, w->name)
                           : is_it(w, b->node.uid);
}

static void
say_left(struct why *w, const struct place_binding *b)
{
    say_verdict(w,
                "mokka-api 9.6: what a group has bound stays as it is while "
                "the group takes no part",
                "bound, and left as it is: its group takes no part now");
    if (w->node != NULL)
        say_keys(w, 0);
    say_slot(w, b);
}

/* Whether its rack goes, or is left as it is: then so are its slots, whatever
 * their Nodes are. */
static bool
find_doomed(struct why *w)
{
    for (size_t i = 0; i < w->in.binding_count; i++) {
        const struct place_binding *b = &w->bindings[i];
        const struct object_slot *slot;
        const struct object_rack *rack =
            names_it(w, b) ? rack_of(w, b, &slot) : NULL;
        enum release reason;

        if (rack == NULL)
            continue;
        switch (fate_of(&w->plan, rack, &reason)) {
        case FATE_STANDS:
            continue;
        case FATE_GOES:
            say_released(w,
                         "mokka-api 7.6: a rack that goes gives up its slots "
                         "first",
                         reason, b);
            return true;
        case FATE_LEFT:
            say_left(w, b);
            return true;
        }
    }
    return false;
}

static bool
find_released(struct why *w)
{
    for (size_t i = 0; i < w->places.released_count; i++) {
        const struct place_released *r = &w->places.released[i];

        if (!names_it(w, r->binding))
            continue;
        say_released(w,
                     "mokka-api 9.2: the first test of a binding that fails "
                     "releases it",
                     r->reason, r->binding);
        return true;
    }
    return false;
}

static void
say_projection(struct why *w, const struct object_rack *rack,
               const struct object_slot *slot)
{
    static const char rule[] = "mokka-control 4.1: what a bound slot puts on "
                               "its Node";
    struct arena arena = {0};
    struct projection wanted = placer_projection(w->p, rack, slot, &arena);
    int keys = 0;

    switch (project_compare(&w->node->o, &wanted, &keys)) {
    case PROJECT_STANDS:
        say_verdict(w, rule, "assigned and projected");
        break;
    case PROJECT_MISSING:
        say_verdict(w, rule, "assigned, not projected yet");
        say_wish(w, ACTION_NODE, w->name, "the Node");
        break;
    case PROJECT_CONFLICT:
        say_verdict(w,
                    "mokka-control 4.1 step 6: nothing of another owner is "
                    "overwritten",
                    "assigned, not projected: NodeMetadataConflict");
        say(w, "remedy",
            "remove the keys that are in the way, or the Node's "
            "label " LABEL_ELIGIBLE);
        break;
    }
    say_keys(w, keys);
    arena_fini(&arena);
}

static bool
find_retained(struct why *w)
{
    for (size_t i = 0; i < w->places.retained_count; i++) {
        const struct place_binding *b = w->places.retained[i];
        const struct object_slot *slot;
        const struct object_rack *rack;

        if (!is_it(w, b->node.uid))
            continue;
        rack = rack_of(w, b, &slot);
        if (rack != NULL)
            say_projection(w, rack, slot);
        say_slot(w, b);
        return true;
    }
    return false;
}

/* ---- candidates -------------------------------------------------------- */

static void
say_group(struct why *w, const struct plan_group *g)
{
    const struct plan_inventory *v = g->inventory;
    bool matches = g->spec->sound && w->node != NULL &&
                   selector_match(&g->spec->selector, w->node->o.meta.labels);

    if (!v->valid || !v->accepted)
        say(w, "group", "%s/%s takes no part: its inventory is %s, %s",
            plan_ref(v).name.s, g->spec->id.s,
            v->refusal == NULL ? "not accepted" : v->refusal, v->why.text);
    else if (g->issue != PLAN_RESOLVED)
        say(w, "group", "%s/%s takes no part: %s", plan_ref(v).name.s,
            g->spec->id.s, g->why.text);
    else if (!plan_allocates(g))
        say(w, "group", "%s/%s takes no part now: its inventory is %s",
            plan_ref(v).name.s, g->spec->id.s,
            v->world->o.meta.deleting ? "being deleted"
                                      : admit_name(v->verdict.decision));
    else
        say(w, "group", "%s/%s %s", plan_ref(v).name.s, g->spec->id.s,
            matches ? "selects it" : "does not select it, by its labels");
}

static void
say_candidates(struct why *w)
{
    for (size_t i = 0; i < w->plan.inventory_count; i++)
        for (size_t j = 0; j < w->plan.inventories[i].group_count; j++)
            say_group(w, &w->plan.inventories[i].groups[j]);
    if (w->plan.inventory_count == 0)
        say(w, "group", "there is no SGPUInventory");
}

static void
say_unknown(struct why *w)
{
    if (w->planned && (find_doomed(w) || find_released(w)))
        return;
    say_verdict(
        w,
        "mokka-api 9.1: only Nodes labelled " LABEL_ELIGIBLE "=" LABEL_TRUE
        " are looked at",
        UNKNOWN
        ": there is no such Node, or it has not the label " LABEL_ELIGIBLE
        "=" LABEL_TRUE);
    say(w, "remedy", "kubectl label node %s " LABEL_ELIGIBLE "=" LABEL_TRUE,
        w->name.s);
}

static void
say_idle(struct why *w)
{
    if (w->node->o.meta.deleting)
        say_verdict(w,
                    "mokka-api 9.1: a Node that is being deleted is not "
                    "eligible",
                    "not assigned: it is being deleted");
    else
        say_verdict(w,
                    "mokka-api 9.4: a Node that no group selects gets "
                    "nothing",
                    "not assigned: no group selects it");
}

static void
judge(struct why *w)
{
    if (w->node == NULL) {
        say_unknown(w);
        return;
    }
    if (!w->planned)
        say_verdict(w,
                    "mokka-api 9.1: a model that contradicts itself has no "
                    "plan",
                    "nothing is decided: %s", w->trouble.text);
    else if (!find_conflict(w) && !find_doomed(w) && !find_retained(w) &&
             !find_released(w) && !find_assigned(w) && !find_pending(w))
        say_idle(w);
    say(w, "uid", "%s", w->node->o.meta.uid.s);
    say_candidates(w);
}

int
question_why(const struct placer *p, struct str name, struct buf *out,
             struct err *err)
{
    char *text = mem_dup(name.s, name.n);
    struct why w = {.p = p, .name = str_of(text), .out = out};
    int rc = 0;

    if (!p->synced) {
        rc = err_set(err, "not ready: the placer waits for the informer's "
                          "snapshot");
    } else {
        w.node = world_node(&p->world, text);
        make_plan(&w);
        judge(&w);
        forget_plan(&w);
    }
    free(text);
    return rc;
}

bool
question_why_knows(struct str name, struct str answer)
{
    static const char unknown[] = ": " UNKNOWN;

    return answer.n < name.n + strlen(unknown) ||
           memcmp(answer.s + name.n, unknown, strlen(unknown)) != 0;
}
