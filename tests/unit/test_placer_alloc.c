/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/arena.h"
#include "placer/alloc.h"
#include "placer/place_work.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/*
 * The same groups, Nodes and racks twice: as the module under test has them
 * after many small changes, and as plain lists for place() and for counting by
 * hand.  Records are freed the moment the module must not use them any more.
 */
enum {
    INVENTORIES = 4, /* the last one never has a group */
    GROUPS = 5,
    NODES = 10, /* names, and as many uids again for who replaces them */
    RACKS = 6,
    SLOTS = 5, /* bindings of a rack, at most */
    STEPS = 32
};

struct node {
    struct arena arena;
    struct place_node in; /* name empty: no such Node */
};

struct rack {
    struct arena arena;
    const char *name; /* NULL: no such rack */
    size_t inventory;
    struct place_binding bindings[SLOTS];
    size_t count;
    bool touched;
    char *answers; /* before the change under way */
};

struct history {
    struct seeded chance;
    struct selector selectors[4];
    struct alloc alloc;
    struct place_group groups[GROUPS];
    size_t inventory_of[GROUPS];
    size_t group_count;
    struct node nodes[NODES];
    struct rack racks[RACKS];
    int uids; /* given so far */
    uint64_t node_changes;
};

static const char *const selector_texts[] = {
    "{}",
    "{\"matchLabels\":{\"pool\":\"a\"}}",
    "{\"matchExpressions\":[{\"key\":\"pool\",\"operator\":\"In\","
    "\"values\":[\"a\",\"b\"]}]}",
    "{\"matchExpressions\":[{\"key\":\"pool\",\"operator\":"
    "\"DoesNotExist\"}]}",
};

static const char *const rack_names[RACKS] = {"r0", "r1", "r2",
                                              "r3", "r4", "r5"};

static int
below(struct history *h, int n)
{
    return seeded_below(&h->chance, n);
}

static struct object_ref
inventory_ref(size_t number)
{
    static const struct object_ref refs[INVENTORIES] = {
        {{"lab", 3}, {"u0", 2}},
        {{"farm", 4}, {"u1", 2}},
        {{"lab", 3}, {"u2", 2}},
        {{"none", 4}, {"u3", 2}},
    };

    return refs[number];
}

static void
touched(void *arg, const char *rack)
{
    struct history *h = arg;

    for (int i = 0; i < RACKS; i++)
        if (strcmp(rack, rack_names[i]) == 0)
            h->racks[i].touched = true;
}

/* ---- what place() says -------------------------------------------------- */

struct lists {
    struct place_node nodes[NODES];
    struct place_binding bindings[RACKS * SLOTS];
    struct place_input in;
    struct place_plan plan;
};

static void
lists_init(struct lists *l, const struct history *h)
{
    struct err err;

    *l = (struct lists){0};
    for (int i = 0; i < NODES; i++)
        if (h->nodes[i].in.name.n > 0)
            l->nodes[l->in.node_count++] = h->nodes[i].in;
    for (int i = 0; i < RACKS; i++)
        for (size_t j = 0; h->racks[i].name != NULL && j < h->racks[i].count;
             j++)
            l->bindings[l->in.binding_count++] = h->racks[i].bindings[j];
    l->in.groups = h->groups;
    l->in.group_count = h->group_count;
    l->in.nodes = l->nodes;
    l->in.bindings = l->bindings;
    if (place(&l->plan, &l->in, &err) != 0)
        fail_msg("%s", err.text);
}

static void
lists_fini(struct lists *l)
{
    place_plan_fini(&l->plan);
}

/* ---- bindings ----------------------------------------------------------- */

/* The module's binding for a listed one. */
static const struct alloc_binding *
find_binding(const struct history *h, size_t number)
{
    for (int i = 0; i < RACKS; i++) {
        if (h->racks[i].name == NULL)
            continue;
        if (number < h->racks[i].count)
            return &alloc_rack(&h->alloc, h->racks[i].name)->bindings[number];
        number -= h->racks[i].count;
    }
    return NULL;
}

static void
check_bindings(const struct history *h, const struct lists *l)
{
    for (size_t i = 0; i < l->plan.retained_count; i++) {
        size_t number = (size_t)(l->plan.retained[i] - l->bindings);

        assert_false(find_binding(h, number)->released);
    }
    for (size_t i = 0; i < l->plan.released_count; i++) {
        const struct place_released *r = &l->plan.released[i];
        const struct alloc_binding *b =
            find_binding(h, (size_t)(r->binding - l->bindings));

        assert_true(b->released);
        assert_int_equal(b->reason, r->reason);
    }
    assert_int_equal(l->plan.retained_count + l->plan.released_count,
                     l->in.binding_count);
}

static void
check_named(const struct history *h, const struct lists *l)
{
    for (int i = 0; i < NODES; i++) {
        char name[8];
        size_t wanted = 0;

        snprintf(name, sizeof(name), "n%d", i);
        for (size_t j = 0; j < l->in.binding_count; j++)
            wanted += str_is(l->bindings[j].node.name, name);
        for (const struct alloc_binding *b = alloc_named(&h->alloc, name);
             b != NULL; b = b->named) {
            assert_string_equal(b->in.node.name.s, name);
            assert_true(wanted-- > 0);
        }
        assert_int_equal(wanted, 0);
    }
}

/* ---- groups ------------------------------------------------------------- */

static bool
is_taken(const struct lists *l, const struct place_group *g, int64_t at)
{
    for (size_t i = 0; i < l->in.binding_count; i++) {
        const struct place_binding *b = &l->bindings[i];

        if (!b->stray && b->slot < g->nodes_per_rack && b->rack < g->racks &&
            b->rack * g->nodes_per_rack + b->slot == at &&
            place_key_cmp(b->inventory, b->group, g->inventory, g->id) == 0)
            return true;
    }
    return false;
}

static void
check_free(const struct lists *l, const struct alloc_group *g)
{
    int64_t size = g->in.racks * g->in.nodes_per_rack;
    int64_t free_count = 0;
    int64_t next = -1;

    assert_int_equal(alloc_free_from(g, size), -1);
    for (int64_t at = size - 1; at >= 0; at--) {
        if (!is_taken(l, &g->in, at)) {
            next = at;
            free_count++;
        }
        assert_int_equal(alloc_free_from(g, at), next);
    }
    assert_int_equal(g->free, free_count);
}

/* Who gets what: those that wait and what is free, pair by pair. */
static void
check_assigned(const struct lists *l, struct alloc_group *g)
{
    struct place_share s = place_share(&l->plan, g->in.inventory, g->in.id);
    int64_t at = 0;

    assert_int_equal(alloc_assignable(g), s.assigned_count);
    for (size_t i = 0; i < s.assigned_count; i++) {
        at = alloc_free_from(g, at);
        assert_string_equal(waiting_at(&g->waiting, i)->in.uid.s,
                            s.assigned[i].node->uid.s);
        assert_int_equal(at, s.assigned[i].rack * g->in.nodes_per_rack +
                                 s.assigned[i].slot);
        at++;
    }
}

static void
check_pending(const struct history *h, const struct lists *l,
              const struct alloc_group *g)
{
    size_t pending = 0;

    for (size_t i = 0; i < l->plan.pending_count; i++) {
        const struct place_pending *p = &l->plan.pending[i];
        const struct alloc_node *n = alloc_node(&h->alloc, p->node->uid.s);

        if (place_key_cmp(p->group->inventory, p->group->id, g->in.inventory,
                          g->in.id) != 0)
            continue;
        assert_ptr_equal(n->group, g);
        assert_int_equal(n->state,
                         n->bindings != NULL ? ALLOC_HELD : ALLOC_WAITING);
        pending++;
    }
    assert_int_equal(alloc_pending(g), pending);
}

static bool
is_requested(const struct place_node *n, const struct place_group *g)
{
    const struct str *label =
        pairs_get(n->labels, STR("mokka.nvidia.com/sgpu-node"));

    return label != NULL && str_is(*label, "true") &&
           (g->selector == NULL || selector_match(g->selector, n->labels));
}

static void
check_groups(const struct history *h, const struct lists *l)
{
    assert_int_equal(h->alloc.group_count, h->group_count);
    for (size_t i = 0; i < h->group_count; i++) {
        const struct place_group *in = &h->groups[i];
        struct alloc_group *g = alloc_group(&h->alloc, in->inventory, in->id);
        size_t requested = 0;

        for (size_t j = 0; j < l->in.node_count; j++)
            requested += is_requested(&l->nodes[j], in);
        assert_int_equal(g->requested, requested);
        assert_int_equal(g->inventory, h->inventory_of[i]);
        check_free(l, g);
        check_assigned(l, g);
        check_pending(h, l, g);
    }
}

/* ---- Nodes and inventories ---------------------------------------------- */

static bool
is_named_by(const struct place_conflict *c, struct object_ref inventory)
{
    bool named = false;

    for (size_t i = 0; i < c->group_count; i++)
        named |= str_eq(c->groups[i]->inventory.uid, inventory.uid);
    for (size_t i = 0; i < c->binding_count; i++)
        named |= str_eq(c->bindings[i]->inventory.uid, inventory.uid);
    return named;
}

static void
check_inventory(const struct history *h, const struct lists *l, size_t number)
{
    size_t conflicts = 0;
    size_t requested = 0;

    for (size_t i = 0; i < l->plan.conflict_count; i++)
        conflicts += is_named_by(&l->plan.conflicts[i], inventory_ref(number));
    for (size_t i = 0; i < l->in.node_count; i++) {
        bool any = false;

        for (size_t j = 0; j < h->group_count; j++)
            any |= h->inventory_of[j] == number &&
                   is_requested(&l->nodes[i], &h->groups[j]);
        requested += any;
    }
    assert_int_equal(h->alloc.conflicts[number], conflicts);
    assert_int_equal(h->alloc.requested[number], requested);
}

static void
check_conflicts(const struct history *h, const struct lists *l)
{
    for (size_t i = 0; i < l->plan.conflict_count; i++) {
        const struct place_conflict *c = &l->plan.conflicts[i];
        const struct alloc_node *n = alloc_node(&h->alloc, c->ref.uid.s);

        assert_int_equal(n->state, c->kind == PLACE_DUPLICATE_BINDING
                                       ? ALLOC_DUPLICATE
                                       : ALLOC_OVERLAP);
    }
    for (size_t i = 0; i < INVENTORIES; i++)
        check_inventory(h, l, i);
}

/* Every uid that is present or bound has an entry, and nothing else has. */
static void
check_entries(const struct history *h, const struct lists *l)
{
    size_t conflicts = 0;
    struct alloc_node *n;
    size_t pos = 0;

    while ((n = map_next(&h->alloc.nodes, &pos)) != NULL) {
        size_t bound = 0;
        bool present = false;

        for (size_t i = 0; i < l->in.binding_count; i++)
            bound += str_is(l->bindings[i].node.uid, n->uid);
        for (size_t i = 0; i < l->in.node_count; i++)
            present |= str_is(l->nodes[i].uid, n->uid);
        assert_int_equal(n->binding_count, bound);
        assert_int_equal(n->present, present);
        assert_true(present || bound > 0);
        conflicts +=
            n->state == ALLOC_OVERLAP || n->state == ALLOC_DUPLICATE ? 1 : 0;
    }
    assert_int_equal(conflicts, l->plan.conflict_count);
}

/* ---- who is told -------------------------------------------------------- */

/* What the module says of a rack, and of the Nodes that it binds. */
static char *
answers_of(const struct history *h, const struct rack *r)
{
    const struct alloc_rack *rack =
        r->name == NULL ? NULL : alloc_rack(&h->alloc, r->name);
    struct buf out = {0};

    for (size_t i = 0; rack != NULL && i < rack->count; i++) {
        const struct alloc_binding *b = &rack->bindings[i];
        const struct alloc_binding *other;
        size_t instances = 0;

        buf_printf(&out, "%s %d %d several %d present %d %p", b->in.node.uid.s,
                   b->released, b->released ? (int)b->reason : 0,
                   b->node->binding_count > 1, b->node->present,
                   (const void *)b->node->in.labels.items);
        for (int j = 0; j < NODES; j++)
            instances += str_eq(h->nodes[j].in.name, b->in.node.name);
        for (other = alloc_named(&h->alloc, b->in.node.name.s); other != b;
             other = other->named)
            ;
        buf_printf(&out, " instances %zu\n", instances);
    }
    return buf_take(&out);
}

static void
before_change(struct history *h)
{
    for (int i = 0; i < RACKS; i++) {
        free(h->racks[i].answers);
        h->racks[i].answers = answers_of(h, &h->racks[i]);
        h->racks[i].touched = false;
    }
}

static void
check_touched(struct history *h)
{
    for (int i = 0; i < RACKS; i++) {
        char *now = answers_of(h, &h->racks[i]);

        if (strcmp(now, h->racks[i].answers) != 0 && !h->racks[i].touched)
            fail_msg("%s changed and was not touched:\n%s%s", rack_names[i],
                     h->racks[i].answers, now);
        free(now);
    }
}

static void
check(struct history *h)
{
    struct lists l;

    lists_init(&l, h);
    check_bindings(h, &l);
    check_named(h, &l);
    check_groups(h, &l);
    check_conflicts(h, &l);
    check_entries(h, &l);
    lists_fini(&l);
}

/* ---- changes ------------------------------------------------------------ */

static void
random_labels(struct history *h, struct node *n)
{
    static const char *const pools[] = {"a", "b", "c"};
    struct pair *items = arena_alloc(&n->arena, 2 * sizeof(*items));
    size_t count = 0;

    if (below(h, 8) > 0)
        items[count++] = (struct pair){STR("mokka.nvidia.com/sgpu-node"),
                                       str_of(below(h, 10) ? "true" : "false")};
    if (below(h, 4) > 0)
        items[count++] = (struct pair){STR("pool"), str_of(pools[below(h, 3)])};
    n->in.labels = (struct pairs){items, count, NULL};
    n->in.created = below(h, 3);
    n->in.terminating = below(h, 8) == 0;
}

/* Another record for the same Node, or for one that replaces it. */
static struct node
make_node(struct history *h, int number, const char *uid)
{
    struct node n = {.arena = {0}};
    char text[16];

    snprintf(text, sizeof(text), "n%d", number);
    n.in.name = arena_str(&n.arena, str_of(text));
    snprintf(text, sizeof(text), "uid%d", h->uids++);
    n.in.uid = arena_str(&n.arena, str_of(uid != NULL ? uid : text));
    random_labels(h, &n);
    return n;
}

static void
take_node(struct history *h, struct node *n)
{
    uint64_t asked = h->alloc.evaluations;

    alloc_node_take(&h->alloc, (struct object_ref){n->in.name, n->in.uid});
    arena_fini(&n->arena);
    *n = (struct node){.arena = {0}};
    assert_int_equal(h->alloc.evaluations, asked);
}

static void
put_node(struct history *h, struct node *n)
{
    uint64_t asked = h->alloc.evaluations;

    assert_true(alloc_node_put(&h->alloc, &n->in));
    assert_true(h->alloc.evaluations - asked <= h->group_count);
}

/* A Node comes, changes, is replaced under its name, or goes. */
static void
change_node(struct history *h)
{
    int number = below(h, NODES);
    struct node *n = &h->nodes[number];
    bool there = n->in.name.n > 0;
    bool replace = there && below(h, 4) == 0;
    char uid[16] = "";

    if (there)
        snprintf(uid, sizeof(uid), "%s", n->in.uid.s);
    if (there)
        take_node(h, n);
    if (there && !replace && below(h, 3) == 0)
        return;
    *n = make_node(h, number, there && !replace ? uid : NULL);
    put_node(h, n);
}

/* A new record that differs in nothing that counts. */
static void
renew_node(struct history *h)
{
    struct node *n = &h->nodes[below(h, NODES)];
    uint64_t asked = h->alloc.evaluations;
    struct node news = {.arena = {0}};
    struct pair *items;

    if (n->in.name.n == 0)
        return;
    items = arena_alloc(&news.arena, (n->in.labels.count + 1) * sizeof(*items));
    for (size_t i = 0; i < n->in.labels.count; i++)
        items[i] = n->in.labels.items[i];
    news.in = n->in;
    news.in.name = arena_str(&news.arena, n->in.name);
    news.in.uid = arena_str(&news.arena, n->in.uid);
    news.in.labels.items = items;
    alloc_node_renew(&h->alloc, &news.in);
    arena_fini(&n->arena);
    *n = news;
    assert_int_equal(h->alloc.evaluations, asked);
}

/* Whom a slot binds: some Node that is there, was there, or will be. */
static struct object_ref
random_bound(struct history *h, struct arena *arena)
{
    const struct node *n = &h->nodes[below(h, NODES)];
    struct object_ref ref;
    char text[16];

    if (n->in.name.n > 0 && below(h, 5) > 0) {
        ref = (struct object_ref){n->in.name, n->in.uid};
    } else {
        snprintf(text, sizeof(text), "n%d", below(h, NODES));
        ref.name = arena_str(arena, str_of(text));
        snprintf(text, sizeof(text), "uid%d", below(h, h->uids + 2));
        ref.uid = arena_str(arena, str_of(text));
    }
    ref.name = arena_str(arena, ref.name);
    ref.uid = arena_str(arena, ref.uid);
    return ref;
}

/* Two racks do not claim one coordinate, unless they are astray. */
static bool
is_claimed(const struct history *h, const struct place_binding *b)
{
    for (int i = 0; i < RACKS; i++)
        for (size_t j = 0; h->racks[i].name != NULL && j < h->racks[i].count;
             j++) {
            const struct place_binding *other = &h->racks[i].bindings[j];

            if (!b->stray && !other->stray &&
                place_coordinate_cmp(b, other) == 0)
                return true;
        }
    return false;
}

static void
fill_rack(struct history *h, struct rack *r)
{
    static const char *const ids[] = {"a", "b", "x"};
    struct place_binding b = {
        .inventory = inventory_ref(r->inventory),
        .group = str_of(ids[below(h, 3)]),
        .rack = below(h, 4),
        .stray = below(h, 6) == 0,
    };

    if (b.stray && below(h, 2))
        b.rack = -1;
    for (int slot = 0; slot < SLOTS; slot++) {
        b.slot = slot;
        b.node = random_bound(h, &r->arena);
        if (below(h, 2) && !is_claimed(h, &b))
            r->bindings[r->count++] = b;
    }
}

static void
take_rack(struct history *h, struct rack *r)
{
    alloc_rack_take(&h->alloc, r->name);
    assert_null(alloc_rack(&h->alloc, r->name));
    arena_fini(&r->arena);
    r->name = NULL;
    r->count = 0;
}

static void
put_rack(struct history *h, struct rack *r)
{
    alloc_rack_put(&h->alloc, r->name, r->inventory, r->bindings, r->count);
}

/* A rack comes, is written anew, or goes. */
static void
change_rack(struct history *h)
{
    int number = below(h, RACKS);
    struct rack *r = &h->racks[number];
    bool there = r->name != NULL;
    uint64_t asked = h->alloc.evaluations;

    if (there)
        take_rack(h, r);
    if (!there || below(h, 3) > 0) {
        r->name = rack_names[number];
        r->inventory = (size_t)below(h, INVENTORIES);
        fill_rack(h, r);
        put_rack(h, r);
    }
    assert_int_equal(h->alloc.evaluations, asked);
}

static void
random_groups(struct history *h)
{
    static const struct {
        size_t inventory;
        const char *id;
    } keys[GROUPS] = {{1, "a"}, {0, "b"}, {0, "a"}, {2, "a"}, {1, "b"}};

    h->group_count = 0;
    for (size_t i = 0; i < GROUPS; i++) {
        int selector = below(h, 5);

        if (below(h, 3) == 0)
            continue;
        h->inventory_of[h->group_count] = keys[i].inventory;
        h->groups[h->group_count++] = (struct place_group){
            .inventory = inventory_ref(keys[i].inventory),
            .id = str_of(keys[i].id),
            .selector = selector == 4 ? NULL : &h->selectors[selector],
            .racks = below(h, 4),
            .nodes_per_rack = below(h, 4),
        };
    }
}

/* Other groups, or other dimensions: everything is put in again. */
static void
reset(struct history *h)
{
    random_groups(h);
    alloc_reset(&h->alloc, h->groups, h->inventory_of, h->group_count,
                INVENTORIES);
    for (int i = 0; i < NODES; i++)
        if (h->nodes[i].in.name.n > 0)
            put_node(h, &h->nodes[i]);
    for (int i = 0; i < RACKS; i++)
        if (h->racks[i].name != NULL)
            put_rack(h, &h->racks[i]);
}

static void
step(struct history *h)
{
    int what = below(h, 20);

    before_change(h);
    if (what == 0)
        reset(h);
    else if (what < 9)
        change_node(h);
    else if (what < 12)
        renew_node(h);
    else
        change_rack(h);
    if (what != 0)
        check_touched(h);
    check(h);
}

static void
history_init(struct history *h, uint64_t seed)
{
    *h = (struct history){.chance = {seed}};
    h->alloc.touched = touched;
    h->alloc.arg = h;
    for (size_t i = 0; i < nitems(h->selectors); i++) {
        struct json_value v;

        json_value_parse(&v, selector_texts[i]);
        assert_int_equal(selector_compile(&h->selectors[i], v.root, NULL), 0);
        json_value_fini(&v);
    }
    reset(h);
}

static void
history_fini(struct history *h)
{
    alloc_fini(&h->alloc);
    assert_int_equal(h->alloc.group_count, 0);
    for (int i = 0; i < NODES; i++)
        arena_fini(&h->nodes[i].arena);
    for (int i = 0; i < RACKS; i++) {
        arena_fini(&h->racks[i].arena);
        free(h->racks[i].answers);
    }
    for (size_t i = 0; i < nitems(h->selectors); i++)
        selector_fini(&h->selectors[i]);
}

/* After every one of many changes: what place() says of the same lists. */
static void
test_9_same_as_place(void **state)
{
    struct seeded s = seeded_start("test_9_same_as_place");
    static struct history h;

    (void)state;
    for (int i = 0; i < seeded_rounds(2000); i++) {
        history_init(&h, seeded_next(&s));
        for (int j = 0; j < STEPS; j++)
            step(&h);
        history_fini(&h);
    }
}

/* ---- one by one --------------------------------------------------------- */

static const struct pair eligible_label = {STR("mokka.nvidia.com/sgpu-node"),
                                           STR("true")};

static struct place_node
plain_node(const char *name, const char *uid, int64_t created)
{
    return (struct place_node){.name = str_of(name),
                               .uid = str_of(uid),
                               .created = created,
                               .labels = {&eligible_label, 1, NULL}};
}

static void
ignore(void *arg, const char *rack)
{
    (void)arg;
    (void)rack;
}

static struct place_group
plain_group(int64_t racks, int64_t nodes)
{
    return (struct place_group){.inventory = inventory_ref(0),
                                .id = STR("a"),
                                .racks = racks,
                                .nodes_per_rack = nodes};
}

/* Two Nodes with one uid: the later one is not taken, and cannot take away. */
static void
test_9_1_one_uid_twice(void **state)
{
    struct alloc a = {.touched = ignore};
    struct place_group g = plain_group(1, 1);
    struct place_node first = plain_node("n1", "u", 1);
    struct place_node second = plain_node("n2", "u", 1);
    const size_t inventory = 0;

    (void)state;
    alloc_reset(&a, &g, &inventory, 1, 1);
    assert_true(alloc_node_put(&a, &first));
    assert_false(alloc_node_put(&a, &second));
    alloc_node_take(&a, (struct object_ref){second.name, second.uid});
    alloc_node_renew(&a, &second);
    assert_int_equal(a.groups[0].waiting.count, 1);
    assert_string_equal(waiting_at(&a.groups[0].waiting, 0)->in.name.s, "n1");
    alloc_node_take(&a, (struct object_ref){first.name, first.uid});
    assert_int_equal(a.nodes.count, 0);
    alloc_fini(&a);
}

/* The later one of two is taken when the other goes, as it is by then. */
static void
test_9_1_one_uid_is_free_again(void **state)
{
    struct alloc a = {.touched = ignore};
    struct place_group g = plain_group(1, 1);
    struct place_node first = plain_node("n1", "u", 1);
    struct place_node second = plain_node("n2", "u", 2);
    const size_t inventory = 0;

    (void)state;
    alloc_reset(&a, &g, &inventory, 1, 1);
    assert_true(alloc_node_put(&a, &first));
    assert_false(alloc_node_put(&a, &second));
    assert_int_equal(a.twins.count, 1);
    second.created = 7;
    alloc_node_renew(&a, &second);
    alloc_node_take(&a, (struct object_ref){first.name, first.uid});
    assert_int_equal(a.twins.count, 0);
    assert_int_equal(a.groups[0].waiting.count, 1);
    assert_string_equal(waiting_at(&a.groups[0].waiting, 0)->in.name.s, "n2");
    assert_int_equal(waiting_at(&a.groups[0].waiting, 0)->in.created, 7);
    alloc_fini(&a);
}

/* Groups that take no part: counted by group, and once by inventory. */
static void
test_9_1_watched_groups_are_counted_only(void **state)
{
    struct alloc a = {.touched = ignore};
    struct place_group g = plain_group(1, 1);
    struct place_node n = plain_node("n1", "u1", 1);
    const struct selector all[3] = {{0}};
    const size_t inventory = 0;

    (void)state;
    alloc_reset(&a, &g, &inventory, 1, 3);
    for (size_t i = 0; i < 3; i++)
        alloc_watch(&a, &(struct alloc_watch){.selector = &all[i],
                                              .number = i < 2 ? i : 1});
    assert_true(alloc_node_put(&a, &n));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(alloc_requested(&a, &all[i]), 1);
    assert_int_equal(a.requested[0], 1); /* by its own group, and a watch */
    assert_int_equal(a.requested[1], 1); /* by two watches */
    assert_int_equal(a.requested[2], 0);
    assert_int_equal(a.groups[0].waiting.count, 1); /* it is no overlap */
    alloc_node_take(&a, (struct object_ref){n.name, n.uid});
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(alloc_requested(&a, &all[i]), 0);
        assert_int_equal(a.requested[i], 0);
    }
    alloc_fini(&a);
}

/* M03: who sorts before those that are bound does not move them. */
static void
test_M03_bound_ones_do_not_move(void **state)
{
    struct alloc a = {.touched = ignore};
    struct place_group g = plain_group(1, 2);
    struct place_node bound = plain_node("n2", "u2", 2);
    struct place_node older = plain_node("n1", "u1", 1);
    struct place_binding b = {.inventory = g.inventory,
                              .group = g.id,
                              .node = {bound.name, bound.uid}};
    const size_t inventory = 0;

    (void)state;
    alloc_reset(&a, &g, &inventory, 1, 1);
    assert_true(alloc_node_put(&a, &bound));
    alloc_rack_put(&a, "r", 0, &b, 1);
    assert_true(alloc_node_put(&a, &older));
    assert_false(alloc_rack(&a, "r")->bindings[0].released);
    assert_int_equal(alloc_assignable(&a.groups[0]), 1);
    assert_string_equal(waiting_at(&a.groups[0].waiting, 0)->in.name.s, "n1");
    assert_int_equal(alloc_free_from(&a.groups[0], 0), 1);
    alloc_fini(&a);
}

/* Racks that all claim one coordinate: it is free when the last one went, but
 * for so many that they were not counted. */
static void
test_coordinate_claimed_often(void **state)
{
    struct alloc a = {.touched = ignore};
    struct place_group g = plain_group(1, 1);
    struct place_binding b = {
        .inventory = g.inventory, .group = g.id, .node = {STR("n"), STR("u")}};
    const size_t inventory = 0;
    char name[8];

    (void)state;
    for (int racks = 253; racks < 257; racks++) {
        alloc_reset(&a, &g, &inventory, 1, 1);
        for (int i = 0; i < racks; i++) {
            snprintf(name, sizeof(name), "r%d", i);
            alloc_rack_put(&a, name, 0, &b, 1);
        }
        assert_int_equal(alloc_free_from(&a.groups[0], 0), -1);
        for (int i = 0; i < racks; i++) {
            snprintf(name, sizeof(name), "r%d", i);
            alloc_rack_take(&a, name);
        }
        assert_int_equal(a.groups[0].free, racks < 255 ? 1 : 0);
    }
    alloc_fini(&a);
}

/* 64 groups that all select a Node: one look at each, and one conflict. */
static void
test_9_8_64_groups(void **state)
{
    enum { COUNT = 64 };
    struct alloc a = {.touched = ignore};
    struct place_group groups[COUNT];
    struct place_node n = plain_node("n", "u", 0);
    size_t inventory_of[COUNT];
    char ids[COUNT][4];

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(ids[i], sizeof(ids[i]), "g%zu", i);
        groups[i] = plain_group(1, 1);
        groups[i].id = str_of(ids[i]);
        inventory_of[i] = 0;
    }
    alloc_reset(&a, groups, inventory_of, COUNT, 1);
    assert_true(alloc_node_put(&a, &n));
    assert_int_equal(a.evaluations, COUNT);
    assert_int_equal(a.conflicts[0], 1);
    assert_int_equal(a.requested[0], 1);
    assert_int_equal(alloc_node(&a, "u")->state, ALLOC_OVERLAP);
    alloc_fini(&a);
}

static void
test_nothing(void **state)
{
    struct alloc a = {.touched = ignore};
    struct place_node n = plain_node("n", "u", 0);

    (void)state;
    alloc_reset(&a, NULL, NULL, 0, 0);
    assert_true(alloc_node_put(&a, &n));
    assert_int_equal(alloc_node(&a, "u")->state, ALLOC_IDLE);
    alloc_rack_take(&a, "no such rack");
    alloc_node_take(&a, (struct object_ref){STR("other"), STR("u")});
    alloc_node_take(&a, (struct object_ref){STR("n"), STR("other")});
    assert_non_null(alloc_node(&a, "u"));
    assert_null(alloc_named(&a, "n"));
    alloc_fini(&a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_9_same_as_place),
        cmocka_unit_test(test_9_1_one_uid_twice),
        cmocka_unit_test(test_9_1_one_uid_is_free_again),
        cmocka_unit_test(test_9_1_watched_groups_are_counted_only),
        cmocka_unit_test(test_M03_bound_ones_do_not_move),
        cmocka_unit_test(test_coordinate_claimed_often),
        cmocka_unit_test(test_9_8_64_groups),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests_name("placer alloc", tests, NULL, NULL);
}
