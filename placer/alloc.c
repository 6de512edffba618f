/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/alloc.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/place_work.h"

#define MANY UINT8_MAX

/* ---- groups ------------------------------------------------------------ */

struct numbered {
    struct place_group group;
    size_t inventory;
};

static int
by_key(const void *a, const void *b)
{
    const struct numbered *x = a;
    const struct numbered *y = b;

    return place_key_cmp(x->group.inventory, x->group.id, y->group.inventory,
                         y->group.id);
}

static void
free_claims(struct alloc_claim *claim)
{
    while (claim != NULL) {
        struct alloc_claim *next = claim->next;

        free((char *)claim->item.name);
        free(claim);
        claim = next;
    }
}

static void
twin_free(struct alloc_twin *t)
{
    if (t == NULL)
        return;
    free(t->name);
    free(t);
}

static void
clear(struct alloc *a)
{
    struct alloc_twin *t;
    struct alloc_node *n;
    struct alloc_rack *r;
    size_t pos = 0;

    while ((n = map_next(&a->nodes, &pos)) != NULL) {
        free_claims(n->claims);
        free(n->uid);
        free(n);
    }
    for (pos = 0; (t = map_next(&a->twins, &pos)) != NULL;)
        twin_free(t);
    map_fini(&a->twins);
    for (size_t i = 0; a->culprits != NULL && i <= a->inventory_count; i++)
        few_fini(&a->culprits[i]);
    free(a->culprits);
    free(a->watches);
    pos = 0;
    while ((r = map_next(&a->racks, &pos)) != NULL) {
        free(r->bindings);
        free(r->name);
        free(r);
    }
    for (size_t i = 0; i < a->group_count; i++) {
        free(a->groups[i].occupied);
        waiting_fini(&a->groups[i].waiting);
    }
    map_fini(&a->nodes);
    map_fini(&a->racks);
    map_fini(&a->names);
    free(a->groups);
    free(a->conflicts);
    free(a->freeing);
    free(a->requested);
}

void
alloc_fini(struct alloc *a)
{
    clear(a);
    *a = (struct alloc){.touched = a->touched, .arg = a->arg};
}

void
alloc_reset(struct alloc *a, const struct place_group *groups,
            const size_t *inventory_of, size_t count, size_t inventory_count)
{
    struct numbered *sorted = mem_zalloc(count * sizeof(*sorted));

    if (count > MAX_GROUPS)
        fatal("%zu groups are planned, %d is the limit", count, MAX_GROUPS);
    alloc_fini(a);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct numbered){groups[i], inventory_of[i]};
    if (count > 1)
        qsort(sorted, count, sizeof(*sorted), by_key);
    a->groups = mem_zalloc(count * sizeof(*a->groups));
    a->group_count = count;
    a->inventory_count = inventory_count;
    a->conflicts = mem_zalloc((inventory_count + 1) * sizeof(*a->conflicts));
    a->freeing = mem_zalloc((inventory_count + 1) * sizeof(*a->freeing));
    a->culprits = mem_zalloc((inventory_count + 1) * sizeof(*a->culprits));
    a->requested = mem_zalloc(inventory_count * sizeof(*a->requested));
    for (size_t i = 0; i < count; i++) {
        struct alloc_group *g = &a->groups[i];

        g->in = sorted[i].group;
        g->inventory = sorted[i].inventory;
        g->size = g->free = g->in.racks * g->in.nodes_per_rack;
        g->occupied = mem_zalloc((size_t)g->size);
    }
    free(sorted);
}

struct alloc_group *
alloc_group(const struct alloc *a, struct object_ref inventory, struct str id)
{
    size_t low = 0;
    size_t high = a->group_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        struct alloc_group *g = &a->groups[middle];
        int order = place_key_cmp(g->in.inventory, g->in.id, inventory, id);

        if (order == 0)
            return g;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void
alloc_watch(struct alloc *a, const struct alloc_watch *watch)
{
    if (a->watch_count == MAX_GROUPS)
        return;
    a->watches = mem_resize(a->watches, a->watch_count + 1, sizeof(*watch));
    a->watches[a->watch_count++] = *watch;
}

size_t
alloc_requested(const struct alloc *a, const struct selector *selector)
{
    for (size_t i = 0; i < a->group_count; i++)
        if (a->groups[i].in.selector == selector)
            return a->groups[i].requested;
    for (size_t i = 0; i < a->watch_count; i++)
        if (a->watches[i].selector == selector)
            return a->watches[i].requested;
    return 0;
}

/* ---- coordinates ------------------------------------------------------- */

/* The coordinate of a binding in its group, -1 if it has none. */
static int64_t
coordinate(const struct alloc_binding *b)
{
    const struct alloc_group *g = b->group;

    if (g == NULL || b->in.stray || b->in.rack < 0 || b->in.slot < 0 ||
        b->in.rack >= g->in.racks || b->in.slot >= g->in.nodes_per_rack)
        return -1;
    return b->in.rack * g->in.nodes_per_rack + b->in.slot;
}

static void
occupy(struct alloc_group *g, int64_t at)
{
    if (g->occupied[at] == 0)
        g->free--;
    if (g->occupied[at] < MANY)
        g->occupied[at]++;
}

static void
vacate(struct alloc_group *g, int64_t at)
{
    /* So many that they were not counted any more: it stays taken. */
    if (g->occupied[at] == MANY || --g->occupied[at] > 0)
        return;
    g->free++;
    if (at < g->hint)
        g->hint = at;
}

int64_t
alloc_free_from(const struct alloc_group *g, int64_t from)
{
    if (g->free == 0)
        return -1;
    for (int64_t at = from > g->hint ? from : g->hint; at < g->size; at++)
        if (g->occupied[at] == 0) {
            if (from <= g->hint)
                ((struct alloc_group *)g)->hint = at;
            return at;
        }
    return -1;
}

size_t
alloc_assignable(const struct alloc_group *g)
{
    return g->waiting.count < (size_t)g->free ? g->waiting.count
                                              : (size_t)g->free;
}

size_t
alloc_pending(const struct alloc_group *g)
{
    return g->waiting.count - alloc_assignable(g) + g->held;
}

size_t
alloc_all_pending(const struct alloc *a)
{
    size_t sum = 0;

    for (size_t i = 0; i < a->group_count; i++)
        sum += alloc_pending(&a->groups[i]);
    return sum;
}

size_t
alloc_all_conflicts(const struct alloc *a)
{
    size_t sum = 0;

    for (size_t i = 0; i < a->inventory_count; i++)
        sum += a->conflicts[i];
    return sum;
}

/* ---- classification ---------------------------------------------------- */

/* The name of a Node, also of one that only bindings name. */
static struct str
name_of(const struct alloc_node *n)
{
    return n->present ? n->in.name : n->bindings->in.node.name;
}

/* The Node's conflict names an inventory; once is enough. */
static void
claim(struct alloc *a, struct alloc_node *n, size_t inventory)
{
    struct str name = name_of(n);
    struct alloc_claim *c = n->claims;

    while (c != NULL && c->inventory != inventory)
        c = c->next;
    if (c != NULL)
        return;
    c = mem_zalloc(sizeof(*c));
    c->item.name = mem_printf("%.*s %s", (int)name.n, name.s, n->uid);
    c->node = n;
    c->inventory = inventory;
    c->next = n->claims;
    n->claims = c;
    a->conflicts[inventory]++;
    few_add(&a->culprits[inventory], &c->item);
}

/* Each inventory that a conflict names: those of the groups that select the
 * Node, or those that bind it. */
static void
enter_conflict(struct alloc *a, struct alloc_node *n)
{
    if (n->state == ALLOC_OVERLAP)
        for (uint64_t m = n->matches; m != 0; m &= m - 1)
            claim(a, n, a->groups[__builtin_ctzll(m)].inventory);
    else if (n->state == ALLOC_DUPLICATE)
        for (const struct alloc_binding *b = n->bindings; b != NULL;
             b = b->next)
            claim(a, n, b->rack->inventory);
}

static void
leave_conflict(struct alloc *a, struct alloc_node *n)
{
    for (struct alloc_claim *c = n->claims; c != NULL; c = c->next) {
        few_remove(&a->culprits[c->inventory], &c->item);
        a->conflicts[c->inventory]--;
    }
    free_claims(n->claims);
    n->claims = NULL;
}

static enum alloc_state
state_of(const struct alloc_node *n)
{
    bool several = (n->matches & (n->matches - 1)) != 0;

    if (n->binding_count > 1)
        return ALLOC_DUPLICATE;
    if (n->bindings != NULL && !n->bindings->released)
        return ALLOC_BOUND;
    if (!n->present || !n->eligible || n->matches == 0)
        return ALLOC_IDLE;
    if (several)
        return ALLOC_OVERLAP;
    return n->bindings != NULL ? ALLOC_HELD : ALLOC_WAITING;
}

/* Takes the Node out of whatever its state put it in. */
static void
leave(struct alloc *a, struct alloc_node *n)
{
    if (n->state == ALLOC_WAITING)
        waiting_remove(&n->group->waiting, n);
    if (n->state == ALLOC_HELD)
        n->group->held--;
    leave_conflict(a, n);
    n->state = ALLOC_IDLE;
    n->group = NULL;
}

static void
enter(struct alloc *a, struct alloc_node *n)
{
    n->state = state_of(n);
    if (n->state == ALLOC_WAITING || n->state == ALLOC_HELD)
        n->group = &a->groups[__builtin_ctzll(n->matches)];
    if (n->state == ALLOC_WAITING)
        waiting_add(&n->group->waiting, n);
    if (n->state == ALLOC_HELD)
        n->group->held++;
    enter_conflict(a, n);
}

static void
count_freeing(struct alloc *a, const struct alloc_binding *b, int by)
{
    if (!b->released || !release_frees(b->reason))
        return;
    b->rack->freeing += (size_t)(int64_t)by;
    a->freeing[b->rack->inventory] += (size_t)(int64_t)by;
}

/* What becomes of a binding (9.2): first match. */
static void
judge(struct alloc *a, struct alloc_binding *b)
{
    const struct alloc_node *n = b->node;

    count_freeing(a, b, -1);
    b->released = true;
    if (b->group == NULL || b->in.stray)
        b->reason = RELEASE_GROUP_REMOVED;
    else if (coordinate(b) < 0)
        b->reason = RELEASE_CAPACITY_SHRINK;
    else if (!n->present)
        b->reason = RELEASE_NODE_GONE;
    else if (!n->eligible)
        b->reason = RELEASE_NODE_INELIGIBLE;
    else if ((n->matches & UINT64_C(1) << (b->group - a->groups)) == 0)
        b->reason = RELEASE_SELECTOR_MISMATCH;
    else
        b->released = false;
    count_freeing(a, b, 1);
}

static void
touch(struct alloc *a, const struct alloc_node *n)
{
    for (const struct alloc_binding *b = n->bindings; b != NULL; b = b->next)
        a->touched(a->arg, b->rack->name);
}

/* The racks that bind a Node of that name, whatever the uid: whether another
 * instance has the name decides if their old binding is clean. */
static void
touch_named(struct alloc *a, const char *name)
{
    for (const struct alloc_binding *b = map_get(&a->names, name); b != NULL;
         b = b->named)
        a->touched(a->arg, b->rack->name);
}

/* Which groups the Node's labels match. */
static void
match(struct alloc *a, struct alloc_node *n)
{
    const struct str *label = pairs_get(n->in.labels, STR(LABEL_ELIGIBLE));

    n->matches = n->watched = 0;
    n->eligible = place_eligible(n->in.terminating, n->in.labels);
    if (label == NULL || !str_is(*label, LABEL_TRUE))
        return;
    for (size_t i = 0; i < a->group_count; i++) {
        const struct selector *s = a->groups[i].in.selector;

        a->evaluations++;
        if (s == NULL || selector_match(s, n->in.labels))
            n->matches |= UINT64_C(1) << i;
    }
    for (size_t i = 0; i < a->watch_count; i++) {
        a->evaluations++;
        if (selector_match(a->watches[i].selector, n->in.labels))
            n->watched |= UINT64_C(1) << i;
    }
}

/* Does an inventory have a group that selects the Node, among those that take
 * part, or among the watches before one? */
static bool
is_requested(const struct alloc *a, const struct alloc_node *n,
             size_t inventory, size_t watch)
{
    for (uint64_t m = n->matches; m != 0; m &= m - 1)
        if (a->groups[__builtin_ctzll(m)].inventory == inventory)
            return true;
    for (size_t i = 0; i < watch; i++)
        if ((n->watched & UINT64_C(1) << i) != 0 &&
            a->watches[i].number == inventory)
            return true;
    return false;
}

static void
count_watches(struct alloc *a, const struct alloc_node *n, int by)
{
    for (uint64_t m = n->watched; m != 0; m &= m - 1) {
        size_t at = (size_t)__builtin_ctzll(m);
        struct alloc_watch *w = &a->watches[at];

        w->requested += (size_t)(int64_t)by;
        if (!is_requested(a, n, w->number, at))
            a->requested[w->number] += (size_t)(int64_t)by;
    }
}

static void
count_requests(struct alloc *a, const struct alloc_node *n, int by)
{
    size_t last = SIZE_MAX;

    count_watches(a, n, by);

    for (uint64_t m = n->matches; m != 0; m &= m - 1) {
        struct alloc_group *g = &a->groups[__builtin_ctzll(m)];

        g->requested += (size_t)(int64_t)by;
        if (g->inventory != last)
            a->requested[g->inventory] += (size_t)(int64_t)by;
        last = g->inventory;
    }
}

/* ---- Nodes ------------------------------------------------------------- */

/* The entry of a uid, made if there is none. */
static struct alloc_node *
node_of(struct alloc *a, struct str uid)
{
    char *key = mem_dup(uid.s, uid.n);
    struct alloc_node *n = map_get(&a->nodes, key);

    if (n != NULL) {
        free(key);
        return n;
    }
    n = mem_zalloc(sizeof(*n));
    n->uid = key;
    map_put(&a->nodes, n->uid, n);
    return n;
}

static void
drop_if_empty(struct alloc *a, struct alloc_node *n)
{
    if (n->present || n->bindings != NULL)
        return;
    map_remove(&a->nodes, n->uid);
    free(n->uid);
    free(n);
}

static void
judge_all(struct alloc *a, struct alloc_node *n)
{
    for (struct alloc_binding *b = n->bindings; b != NULL; b = b->next)
        judge(a, b);
}

/* Keeps a Node whose uid is taken. */
static void
put_twin(struct alloc *a, const struct place_node *node)
{
    struct alloc_twin *t = mem_zalloc(sizeof(*t));

    t->name = mem_dup(node->name.s, node->name.n);
    t->in = *node;
    twin_free(map_put(&a->twins, t->name, t));
}

/* The one of that name and uid, or NULL. */
static struct alloc_twin *
twin(const struct alloc *a, struct object_ref node)
{
    struct alloc_twin *t =
        a->twins.count == 0 ? NULL : map_get(&a->twins, node.name.s);

    return t != NULL && str_eq(t->in.uid, node.uid) ? t : NULL;
}

/* One that waited for its uid gets it. */
static void
free_uid(struct alloc *a, const char *uid)
{
    struct alloc_twin *t;
    size_t pos = 0;

    while ((t = map_next(&a->twins, &pos)) != NULL) {
        if (!str_is(t->in.uid, uid))
            continue;
        map_remove(&a->twins, t->name);
        alloc_node_put(a, &t->in);
        twin_free(t);
        return;
    }
}

bool
alloc_node_put(struct alloc *a, const struct place_node *node)
{
    struct alloc_node *n = node_of(a, node->uid);

    if (n->present) {
        put_twin(a, node);
        return false;
    }
    leave(a, n);
    n->in = *node;
    n->present = true;
    match(a, n);
    count_requests(a, n, 1);
    judge_all(a, n);
    enter(a, n);
    touch(a, n);
    touch_named(a, node->name.s);
    return true;
}

void
alloc_node_renew(struct alloc *a, const struct place_node *node)
{
    struct alloc_node *n = map_get(&a->nodes, node->uid.s);
    struct alloc_twin *t = twin(a, (struct object_ref){node->name, node->uid});

    if (t != NULL)
        t->in = *node;
    if (n == NULL || !n->present || !str_eq(n->in.name, node->name))
        return;
    n->in = *node;
    touch(a, n);
}

void
alloc_node_take(struct alloc *a, struct object_ref node)
{
    struct alloc_node *n = map_get(&a->nodes, node.uid.s);
    struct alloc_twin *t = twin(a, node);
    char *uid;

    if (t != NULL)
        twin_free(map_remove(&a->twins, t->name));
    if (n == NULL || !n->present || !str_eq(n->in.name, node.name))
        return;
    leave(a, n);
    count_requests(a, n, -1);
    n->present = n->eligible = false;
    n->matches = n->watched = 0;
    judge_all(a, n);
    enter(a, n);
    touch(a, n);
    touch_named(a, n->in.name.s);
    n->in = (struct place_node){0};
    uid = mem_strdup(n->uid);
    drop_if_empty(a, n);
    free_uid(a, uid);
    free(uid);
}

const struct alloc_node *
alloc_node(const struct alloc *a, const char *uid)
{
    return map_get(&a->nodes, uid);
}

/* ---- racks ------------------------------------------------------------- */

static void
bind(struct alloc *a, struct alloc_rack *r, struct alloc_binding *b)
{
    struct alloc_binding *same = map_get(&a->names, b->in.node.name.s);
    int64_t at;

    b->rack = r;
    b->group = alloc_group(a, b->in.inventory, b->in.group);
    b->node = node_of(a, b->in.node.uid);
    at = coordinate(b);
    if (at >= 0)
        occupy(b->group, at);
    leave(a, b->node);
    b->next = b->node->bindings;
    b->node->bindings = b;
    b->node->binding_count++;
    judge(a, b);
    enter(a, b->node);
    b->named = same;
    map_put(&a->names, b->in.node.name.s, b);
}

/* Takes a binding out of the chain of its Node's name. The map borrows the
 * name from the chain's first. */
static void
unname(struct alloc *a, struct alloc_binding *b)
{
    struct alloc_binding *first = map_get(&a->names, b->in.node.name.s);
    struct alloc_binding **at = &first;

    while (*at != b)
        at = &(*at)->named;
    *at = b->named;
    if (first == NULL)
        map_remove(&a->names, b->in.node.name.s);
    else
        map_put(&a->names, first->in.node.name.s, first);
}

static void
unbind(struct alloc *a, struct alloc_binding *b)
{
    struct alloc_binding **at = &b->node->bindings;
    int64_t coordinate_of = coordinate(b);

    if (coordinate_of >= 0)
        vacate(b->group, coordinate_of);
    leave(a, b->node);
    count_freeing(a, b, -1);
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    b->node->binding_count--;
    enter(a, b->node);
    unname(a, b);
    /* Another slot that named the Node, too, is no duplicate any more. */
    touch(a, b->node);
    drop_if_empty(a, b->node);
}

void
alloc_rack_put(struct alloc *a, const char *name, size_t inventory,
               const struct place_binding *bindings, size_t count)
{
    struct alloc_rack *r = mem_zalloc(sizeof(*r));

    r->name = mem_strdup(name);
    r->inventory = inventory;
    r->bindings = mem_zalloc(count * sizeof(*r->bindings));
    r->count = count;
    if (map_put(&a->racks, r->name, r) != NULL)
        fatal("rack %s is in twice", name);
    for (size_t i = 0; i < count; i++) {
        r->bindings[i].in = bindings[i];
        bind(a, r, &r->bindings[i]);
        if (r->bindings[i].node->binding_count > 1)
            touch(a, r->bindings[i].node);
    }
    a->touched(a->arg, name);
}

void
alloc_rack_take(struct alloc *a, const char *name)
{
    struct alloc_rack *r = map_remove(&a->racks, name);

    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        unbind(a, &r->bindings[i]);
    a->touched(a->arg, r->name);
    free(r->bindings);
    free(r->name);
    free(r);
}

const struct alloc_rack *
alloc_rack(const struct alloc *a, const char *name)
{
    return map_get(&a->racks, name);
}

const struct alloc_binding *
alloc_named(const struct alloc *a, const char *node)
{
    return map_get(&a->names, node);
}
