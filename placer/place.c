/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation (mokka-api 9.1 to 9.5).
 *
 * Eligible is a Node that is not terminating and has the label
 * mokka.nvidia.com/sgpu-node with the value "true".
 *
 * 1. Each binding, first match:
 *      group is not (any more)             released, GroupRemoved
 *      outside the group's dimensions      released, CapacityShrink
 *      no Node with that uid               released, NodeGone
 *      Node not eligible                   released, NodeIneligible
 *      the group's selector does not match released, SelectorMismatch
 *      else                                retained
 *    A coordinate inside the dimensions that a binding names is occupied in
 *    this plan, whatever becomes of the binding.  The Node's name plays no
 * role. A stray binding (place.h) is released as GroupRemoved and occupies
 * nothing.
 *
 * 2. A Node uid in two or more bindings is a DuplicateBinding conflict with all
 *    of them; each stays retained or released, and the Node gets nothing new.
 *
 * 3. Eligible Nodes in the order creation, name, uid.  One with a retained
 *    binding, or two, is passed by.  Else, by the groups whose selectors match:
 *      none                                nothing
 *      one, its binding is released        waits for that group
 *      one, it has no binding              the group's next free coordinate, or
 *                                          waits if there is none
 *      more                                SelectorOverlap conflict
 *    Next free is, from where the group's last search ended, the first
 *    coordinate that is not occupied, rack by rack.
 *
 * Bindings sorted by coordinate make a cursor per group enough to know what is
 * occupied, and everything but conflicts comes out in the order wanted.
 */
#include "placer/place.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/arena.h"
#include "common/mem.h"
#include "placer/place_work.h"

#define NONE UINT32_MAX /* the end of a chain of bindings */

struct place_lists {
    struct arena arena;
};

const char *
place_conflict_name(enum place_conflict_kind kind)
{
    return kind == PLACE_DUPLICATE_BINDING ? "DuplicateBinding"
                                           : "SelectorOverlap";
}

bool
place_eligible(bool terminating, struct pairs labels)
{
    const struct str *value;

    if (terminating)
        return false;
    value = pairs_get(labels, STR(LABEL_ELIGIBLE));
    return value != NULL && str_is(*value, LABEL_TRUE);
}

static int
cmp_released(const void *a, const void *b)
{
    const struct place_released *x = a;
    const struct place_released *y = b;
    int order = place_coordinate_cmp(x->binding, y->binding);

    if (order == 0)
        order = str_cmp(x->binding->node.uid, y->binding->node.uid);
    if (order == 0)
        order = place_int_cmp(x->reason, y->reason);
    return order != 0 ? order : place_rest_cmp(x->binding, y->binding);
}

static int
cmp_to_group(const struct place_binding *b, const struct place_work_group *g)
{
    return place_key_cmp(b->inventory, b->group, g->in->inventory, g->in->id);
}

/* A Node that is gone counts as the oldest. */
static int
cmp_conflict(const void *a, const void *b)
{
    const struct place_conflict *x = a;
    const struct place_conflict *y = b;
    int order = place_int_cmp(x->node == NULL ? INT64_MIN : x->node->created,
                              y->node == NULL ? INT64_MIN : y->node->created);

    if (order == 0)
        order = str_cmp(x->ref.name, y->ref.name);
    if (order == 0)
        order = str_cmp(x->ref.uid, y->ref.uid);
    return order != 0 ? order : place_int_cmp(x->kind, y->kind);
}

/* The Node of a binding's uid, made up if it is gone. */
static struct place_work_node *
node_of(struct place_work *w, const struct place_binding *b)
{
    struct place_work_node *n = map_get(&w->by_uid, b->node.uid.s);

    if (n != NULL)
        return n;
    n = &w->nodes[w->node_count + w->gone++];
    *n = (struct place_work_node){.in = NULL};
    map_put(&w->by_uid, b->node.uid.s, n);
    return n;
}

static void
chain(struct place_work *w, struct place_work_node *n, uint32_t binding)
{
    w->next[binding] = NONE;
    if (n->bindings++ == 0)
        n->first = binding;
    else
        w->next[n->last] = binding;
    n->last = binding;
}

/* Step 1. */

static bool
inside(const struct place_group *g, const struct place_binding *b)
{
    return b->rack < g->racks && b->slot < g->nodes_per_rack;
}

static bool
matches(struct place_work *w, const struct place_work_group *g,
        const struct place_node *node)
{
    w->plan->evaluations++;
    return g->in->selector == NULL ||
           selector_match(g->in->selector, node->labels);
}

/* Is it to be released, and why? group is NULL if there is none. */
static bool
is_released(struct place_work *w, const struct place_work_group *group,
            const struct place_binding *b, const struct place_work_node *node,
            enum release *reason)
{
    if (group == NULL || b->stray)
        *reason = RELEASE_GROUP_REMOVED;
    else if (!inside(group->in, b))
        *reason = RELEASE_CAPACITY_SHRINK;
    else if (node->in == NULL)
        *reason = RELEASE_NODE_GONE;
    else if (!place_eligible(node->in->terminating, node->in->labels))
        *reason = RELEASE_NODE_INELIGIBLE;
    else if (!matches(w, group, node->in))
        *reason = RELEASE_SELECTOR_MISMATCH;
    else
        return false;
    return true;
}

static void
judge_binding(struct place_work *w, const struct place_work_group *group,
              size_t i)
{
    const struct place_binding *b = w->bindings[i];
    struct place_plan *plan = w->plan;
    struct place_work_node *node = node_of(w, b);
    enum release reason;

    chain(w, node, (uint32_t)i);
    if (is_released(w, group, b, node, &reason)) {
        plan->released[plan->released_count++] =
            (struct place_released){b, reason};
    } else {
        plan->retained[plan->retained_count++] = b;
        node->retained = true;
    }
}

/* Bindings and groups are in the same order: they are walked together. */
static void
judge_bindings(struct place_work *w)
{
    size_t i = 0;

    for (struct place_work_group *g = w->groups; g < w->groups + w->group_count;
         g++) {
        while (i < w->binding_count && cmp_to_group(w->bindings[i], g) < 0)
            judge_binding(w, NULL, i++);
        g->cursor = i;
        while (i < w->binding_count && cmp_to_group(w->bindings[i], g) == 0)
            judge_binding(w, g, i++);
        g->end = i;
    }
    while (i < w->binding_count)
        judge_binding(w, NULL, i++);
    place_sort(w->plan->released, w->plan->released_count,
               sizeof(*w->plan->released), cmp_released);
}

/* Step 2. */

static struct place_conflict *
add_conflict(struct place_work *w, enum place_conflict_kind kind,
             const struct place_node *node)
{
    struct place_plan *plan = w->plan;
    struct place_conflict *c;

    if (plan->conflict_count == w->conflict_room) {
        w->conflict_room = w->conflict_room * 2 + 16;
        plan->conflicts = mem_resize(plan->conflicts, w->conflict_room,
                                     sizeof(*plan->conflicts));
    }
    c = &plan->conflicts[plan->conflict_count++];
    *c = (struct place_conflict){.kind = kind, .node = node};
    if (node != NULL)
        c->ref = (struct object_ref){node->name, node->uid};
    return c;
}

static void
add_duplicate(struct place_work *w, const struct place_work_node *node)
{
    struct place_conflict *c =
        add_conflict(w, PLACE_DUPLICATE_BINDING, node->in);
    const struct place_binding **list =
        arena_alloc(&w->plan->lists->arena, node->bindings * sizeof(*list));

    if (node->in == NULL)
        c->ref = w->bindings[node->first]->node;
    c->bindings = list;
    for (uint32_t i = node->first; i != NONE; i = w->next[i])
        list[c->binding_count++] = w->bindings[i];
}

static void
find_duplicates(struct place_work *w)
{
    for (size_t i = 0; i < w->node_count + w->gone; i++)
        if (w->nodes[i].bindings > 1)
            add_duplicate(w, &w->nodes[i]);
}

/* Step 3. */

/* Passes what is not occupied by the bindings before the group's next
 * coordinate, and tells whether that one is. */
static bool
occupied(const struct place_work *w, struct place_work_group *g)
{
    for (; g->cursor < g->end; g->cursor++) {
        const struct place_binding *b = w->bindings[g->cursor];

        if (b->stray || !inside(g->in, b) || b->rack < g->rack ||
            (b->rack == g->rack && b->slot < g->slot))
            continue;
        return b->rack == g->rack && b->slot == g->slot;
    }
    return false;
}

/* Moves the group to its next free coordinate; false if it has none. */
static bool
find_free(const struct place_work *w, struct place_work_group *g)
{
    for (; g->rack < g->in->racks; g->rack++) {
        for (; g->slot < g->in->nodes_per_rack; g->slot++)
            if (!occupied(w, g))
                return true;
        g->slot = 0;
    }
    return false;
}

static void
assign(struct place_work_group *g, const struct place_node *node)
{
    if (g->assigned_count == g->assigned_room) {
        g->assigned_room = g->assigned_room * 2 + 16;
        g->assigned =
            mem_resize(g->assigned, g->assigned_room, sizeof(*g->assigned));
    }
    g->assigned[g->assigned_count++] = (struct place_assigned){
        g->in, node, (int32_t)g->rack, (int32_t)g->slot};
    g->slot++;
}

static void
overlap(struct place_work *w, const struct place_node *node, size_t count)
{
    struct place_conflict *c = add_conflict(w, PLACE_SELECTOR_OVERLAP, node);
    const struct place_group **list =
        arena_alloc(&w->plan->lists->arena, count * sizeof(*list));

    for (size_t i = 0; i < count; i++)
        list[i] = w->candidates[i]->in;
    c->groups = list;
    c->group_count = count;
}

static size_t
find_candidates(struct place_work *w, const struct place_node *node)
{
    size_t count = 0;

    for (size_t i = 0; i < w->group_count; i++)
        if (matches(w, &w->groups[i], node))
            w->candidates[count++] = &w->groups[i];
    return count;
}

static void
serve(struct place_work *w, const struct place_work_node *node)
{
    struct place_plan *plan = w->plan;
    struct place_work_group *g;
    size_t count;

    if (node->bindings > 1 || node->retained ||
        !place_eligible(node->in->terminating, node->in->labels))
        return;
    count = find_candidates(w, node->in);
    if (count == 0)
        return;
    if (count > 1) {
        overlap(w, node->in, count);
        return;
    }
    g = w->candidates[0];
    if (node->bindings == 0 && find_free(w, g))
        assign(g, node->in);
    else
        plan->pending[plan->pending_count++] =
            (struct place_pending){g->in, node->in};
}

/* Puts what the groups collected together, in their order. */
static void
collect(struct place_work *w)
{
    struct place_plan *plan = w->plan;
    size_t total = 0;

    for (size_t i = 0; i < w->group_count; i++)
        total += w->groups[i].assigned_count;
    plan->assigned = mem_zalloc(total * sizeof(*plan->assigned));
    for (size_t i = 0; i < w->group_count; i++) {
        const struct place_work_group *g = &w->groups[i];

        if (g->assigned_count > 0)
            memcpy(plan->assigned + plan->assigned_count, g->assigned,
                   g->assigned_count * sizeof(*g->assigned));
        plan->assigned_count += g->assigned_count;
    }
}

static void
serve_nodes(struct place_work *w)
{
    for (size_t i = 0; i < w->node_count; i++)
        serve(w, &w->nodes[i]);
    collect(w);
    place_sort(w->plan->conflicts, w->plan->conflict_count,
               sizeof(*w->plan->conflicts), cmp_conflict);
}

static void
work_init(struct place_work *w, struct place_plan *plan,
          const struct place_input *in)
{
    size_t bindings = in->binding_count;

    *plan = (struct place_plan){
        .retained = mem_zalloc(bindings * sizeof(*plan->retained)),
        .released = mem_zalloc(bindings * sizeof(*plan->released)),
        .pending = mem_zalloc(in->node_count * sizeof(*plan->pending)),
        .lists = mem_zalloc(sizeof(*plan->lists)),
    };
    *w = (struct place_work){
        .groups = mem_zalloc(in->group_count * sizeof(*w->groups)),
        .nodes = mem_zalloc((in->node_count + bindings) * sizeof(*w->nodes)),
        .bindings = mem_zalloc(bindings * sizeof(*w->bindings)),
        .next = mem_zalloc(bindings * sizeof(*w->next)),
        .candidates = mem_zalloc(in->group_count * sizeof(*w->candidates)),
        .plan = plan,
    };
}

static void
work_fini(struct place_work *w)
{
    for (size_t i = 0; i < w->group_count; i++)
        free(w->groups[i].assigned);
    free(w->groups);
    free(w->nodes);
    free(w->bindings);
    free(w->next);
    free(w->candidates);
    map_fini(&w->by_uid);
}

int
place(struct place_plan *plan, const struct place_input *input, struct err *err)
{
    struct place_work w;
    int failed = 0;

    work_init(&w, plan, input);
    if (place_load(&w, input, err) == 0) {
        judge_bindings(&w);
        find_duplicates(&w);
        serve_nodes(&w);
    } else {
        place_plan_fini(plan);
        failed = -1;
    }
    work_fini(&w);
    return failed;
}

void
place_plan_fini(struct place_plan *plan)
{
    if (plan->lists != NULL)
        arena_fini(&plan->lists->arena);
    free(plan->lists);
    free(plan->retained);
    free(plan->released);
    free(plan->assigned);
    free(plan->pending);
    free(plan->conflicts);
    *plan = (struct place_plan){0};
}
