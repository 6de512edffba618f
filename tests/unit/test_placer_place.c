/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/arena.h"
#include "placer/place.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/* An input under construction, and a plan of it. */
struct estate {
    struct place_group *groups;
    struct place_node *nodes;
    struct place_binding *bindings;
    struct selector *selectors;
    struct place_input in;
    struct place_plan plan;
    struct arena arena;
};

static void
estate_init(struct estate *e, size_t groups, size_t nodes, size_t bindings)
{
    *e = (struct estate){
        .groups = mem_zalloc(groups * sizeof(*e->groups)),
        .nodes = mem_zalloc(nodes * sizeof(*e->nodes)),
        .bindings = mem_zalloc(bindings * sizeof(*e->bindings)),
        .selectors = mem_zalloc(groups * sizeof(*e->selectors)),
    };
    e->in = (struct place_input){
        .groups = e->groups, .nodes = e->nodes, .bindings = e->bindings};
}

static void
estate_fini(struct estate *e)
{
    place_plan_fini(&e->plan);
    for (size_t i = 0; i < e->in.group_count; i++)
        selector_fini(&e->selectors[i]);
    arena_fini(&e->arena);
    free(e->groups);
    free(e->nodes);
    free(e->bindings);
    free(e->selectors);
}

static void
must_place(struct estate *e)
{
    struct err err;

    if (place(&e->plan, &e->in, &err) != 0)
        fail_msg("%s", err.text);
}

/* "name/uid/id" */
static void
split_key(struct estate *e, struct str key, struct object_ref *inventory,
          struct str *id)
{
    char *copy = (char *)(uintptr_t)arena_str(&e->arena, key).s;

    inventory->name = str_of(strsep(&copy, "/"));
    inventory->uid = str_of(strsep(&copy, "/"));
    *id = str_of(copy);
}

static struct place_group *
add_group(struct estate *e, const char *key, int64_t racks, int64_t nodes,
          const json_t *selector)
{
    size_t i = e->in.group_count++;
    struct place_group *g = &e->groups[i];
    struct json_value v;
    struct err err;

    split_key(e, str_of(key), &g->inventory, &g->id);
    g->racks = racks;
    g->nodes_per_rack = nodes;
    json_value_init(&v, selector);
    if (selector_compile(&e->selectors[i], v.root, &err) != 0)
        fail_msg("%s", err.text);
    g->selector = v.root == NULL ? NULL : &e->selectors[i];
    json_value_fini(&v);
    return g;
}

static struct place_binding *
add_binding(struct estate *e, const char *key, int64_t rack, int64_t slot,
            const char *name, const char *uid)
{
    struct place_binding *b = &e->bindings[e->in.binding_count++];

    split_key(e, str_of(key), &b->inventory, &b->group);
    b->rack = rack;
    b->slot = slot;
    b->node = (struct object_ref){arena_str(&e->arena, str_of(name)),
                                  arena_str(&e->arena, str_of(uid))};
    return b;
}

static const struct pair eligible_label = {STR("mokka.nvidia.com/sgpu-node"),
                                           STR("true")};

/* With the eligibility label, and one more, or none if key is NULL. */
static struct place_node *
add_node(struct estate *e, const char *name, const char *uid, int64_t created,
         const char *key, const char *value)
{
    struct place_node *n = &e->nodes[e->in.node_count++];
    struct pair *labels = arena_alloc(&e->arena, 2 * sizeof(*labels));

    labels[0] = eligible_label;
    if (key != NULL)
        labels[1] = (struct pair){str_of(key), str_of(value)};
    pairs_sort(labels, key == NULL ? 1 : 2);
    *n = (struct place_node){
        .name = arena_str(&e->arena, str_of(name)),
        .uid = arena_str(&e->arena, str_of(uid)),
        .created = created,
        .labels = {labels, key == NULL ? 1 : 2, NULL},
    };
    return n;
}

/* A plan as text, a line for each entry. */

static void
print_coordinate(struct buf *out, struct object_ref inventory, struct str id,
                 int64_t rack, int64_t slot)
{
    buf_printf(out, "%.*s/%.*s/%.*s %" PRId64 " %" PRId64 " ",
               (int)inventory.name.n, inventory.name.s, (int)inventory.uid.n,
               inventory.uid.s, (int)id.n, id.s, rack, slot);
}

static void
print_binding(struct buf *out, const struct place_binding *b)
{
    print_coordinate(out, b->inventory, b->group, b->rack, b->slot);
    buf_printf(out, "%s %s", b->node.name.s, b->node.uid.s);
}

static void
print_conflict(struct buf *out, const struct place_conflict *c)
{
    buf_printf(out, "conflict %s %.*s %.*s", place_conflict_name(c->kind),
               (int)c->ref.name.n, c->ref.name.s, (int)c->ref.uid.n,
               c->ref.uid.s);
    for (size_t i = 0; i < c->group_count; i++)
        buf_printf(out, " %s/%s/%s", c->groups[i]->inventory.name.s,
                   c->groups[i]->inventory.uid.s, c->groups[i]->id.s);
    for (size_t i = 0; i < c->binding_count; i++) {
        buf_addz(out, " [");
        print_binding(out, c->bindings[i]);
        buf_addc(out, ']');
    }
    buf_addc(out, '\n');
}

static char *
print_plan(const struct place_plan *p)
{
    struct buf out = {0};

    for (size_t i = 0; i < p->retained_count; i++) {
        buf_addz(&out, "retained ");
        print_binding(&out, p->retained[i]);
        buf_addc(&out, '\n');
    }
    for (size_t i = 0; i < p->released_count; i++) {
        buf_addz(&out, "released ");
        print_binding(&out, p->released[i].binding);
        buf_printf(&out, " %s\n", release_name(p->released[i].reason));
    }
    for (size_t i = 0; i < p->assigned_count; i++) {
        const struct place_assigned *a = &p->assigned[i];

        buf_addz(&out, "assigned ");
        print_coordinate(&out, a->group->inventory, a->group->id, a->rack,
                         a->slot);
        buf_printf(&out, "%s %s\n", a->node->name.s, a->node->uid.s);
    }
    for (size_t i = 0; i < p->pending_count; i++)
        buf_printf(
            &out, "pending %s %s %s/%s/%s\n", p->pending[i].node->name.s,
            p->pending[i].node->uid.s, p->pending[i].group->inventory.name.s,
            p->pending[i].group->inventory.uid.s, p->pending[i].group->id.s);
    for (size_t i = 0; i < p->conflict_count; i++)
        print_conflict(&out, &p->conflicts[i]);
    return buf_take(&out);
}

/* The same lines from a vector's output. */

static void
print_json_binding(struct buf *out, const json_t *b)
{
    buf_printf(out, "%s %" PRId64 " %" PRId64 " %s %s", json_str(b, "group").s,
               json_int(b, "rackIndex"), json_int(b, "nodeIndex"),
               json_str(b, "nodeName").s, json_str(b, "nodeUID").s);
}

static void
print_json_bindings(struct buf *out, const json_t *plan, const char *key)
{
    json_t *b;
    size_t i;

    json_array_foreach(json_object_get(plan, key), i, b)
    {
        buf_printf(out, "%s ", key);
        print_json_binding(out, b);
        if (json_object_get(b, "reason") != NULL)
            buf_printf(out, " %s", json_str(b, "reason").s);
        buf_addc(out, '\n');
    }
}

static void
print_json_conflict(struct buf *out, const json_t *c)
{
    json_t *item;
    size_t i;

    buf_printf(out, "conflict %s %s %s", json_str(c, "kind").s,
               json_str(c, "node").s, json_str(c, "uid").s);
    json_array_foreach(json_object_get(c, "candidates"), i, item)
        buf_printf(out, " %s", json_string_value(item));
    json_array_foreach(json_object_get(c, "bindings"), i, item)
    {
        buf_addz(out, " [");
        print_json_binding(out, item);
        buf_addc(out, ']');
    }
    buf_addc(out, '\n');
}

static char *
print_json_plan(const json_t *plan)
{
    struct buf out = {0};
    json_t *row;
    size_t i;

    print_json_bindings(&out, plan, "retained");
    print_json_bindings(&out, plan, "released");
    print_json_bindings(&out, plan, "assigned");
    json_array_foreach(json_object_get(plan, "pending"), i, row)
        buf_printf(&out, "pending %s %s %s\n", json_str(row, "node").s,
                   json_str(row, "uid").s, json_str(row, "group").s);
    json_array_foreach(json_object_get(plan, "conflicts"), i, row)
        print_json_conflict(&out, row);
    return buf_take(&out);
}

static void
read_node(struct estate *e, const json_t *row)
{
    json_t *labels = json_object_get(row, "labels");
    struct pair *items =
        arena_alloc(&e->arena, json_object_size(labels) * sizeof(*items));
    struct place_node *n = &e->nodes[e->in.node_count++];
    const char *key;
    json_t *value;
    size_t count = 0;

    json_object_foreach(labels, key, value) items[count++] =
        (struct pair){str_of(key), str_of(json_string_value(value))};
    pairs_sort(items, count);
    *n = (struct place_node){
        .name = json_str(row, "name"),
        .uid = json_str(row, "uid"),
        .created = json_int(row, "created"),
        .terminating = json_is_true(json_object_get(row, "terminating")),
        .labels = {items, count, NULL},
    };
}

static void
read_estate(struct estate *e, const json_t *in)
{
    const json_t *groups = json_object_get(in, "groups");
    const json_t *nodes = json_object_get(in, "nodes");
    const json_t *bindings = json_object_get(in, "bindings");
    json_t *row;
    size_t i;

    estate_init(e, json_array_size(groups), json_array_size(nodes),
                json_array_size(bindings));
    json_array_foreach(groups, i, row) add_group(
        e, json_str(row, "group").s, json_int(row, "racks"),
        json_int(row, "nodesPerRack"), json_object_get(row, "selector"));
    json_array_foreach(nodes, i, row) read_node(e, row);
    json_array_foreach(bindings, i, row)
        add_binding(e, json_str(row, "group").s, json_int(row, "rackIndex"),
                    json_int(row, "nodeIndex"), json_str(row, "nodeName").s,
                    json_str(row, "nodeUID").s);
}

static void
assert_plan(const struct estate *e, const char *wanted)
{
    char *got = print_plan(&e->plan);

    if (strcmp(got, wanted) != 0) {
        printf("got:\n%swanted:\n%s", got, wanted);
        fail();
    }
    free(got);
}

static void
test_allocation_vector(void **state)
{
    const json_t *out = json_object_get(*state, "output");
    char *wanted = print_json_plan(out);
    struct estate e;

    read_estate(&e, json_object_get(*state, "input"));
    must_place(&e);
    assert_plan(&e, wanted);
    assert_true(e.plan.evaluations <=
                (uint64_t)json_int(out, "selectorEvaluations"));
    estate_fini(&e);
    free(wanted);
}

/* 9.1: what fails the whole plan. */

static void
assert_error(struct estate *e, const char *word)
{
    struct err err;

    assert_int_equal(place(&e->plan, &e->in, &err), -1);
    if (strstr(err.text, word) == NULL)
        fail_msg("no \"%s\" in: %s", word, err.text);
    assert_null(e->plan.retained);
    assert_int_equal(e->plan.retained_count, 0);
    estate_fini(e);
}

static void
simple(struct estate *e)
{
    estate_init(e, 4, 4, 4);
    add_group(e, "lab/lu/a", 2, 2, NULL);
    add_group(e, "lab/lu/b", 2, 2, NULL);
    add_node(e, "n1", "u1", 1, NULL, NULL);
    add_node(e, "n2", "u2", 2, NULL, NULL);
    add_binding(e, "lab/lu/a", 0, 0, "n1", "u1");
    add_binding(e, "lab/lu/b", 0, 0, "n2", "u2");
}

static void
test_9_1_group_errors(void **state)
{
    struct estate e;

    (void)state;
    simple(&e);
    e.groups[1].id = STR("a");
    assert_error(&e, "twice");
    simple(&e);
    e.groups[0].inventory.name = STR("");
    assert_error(&e, "name");
    simple(&e);
    e.groups[0].inventory.uid = STR("");
    assert_error(&e, "uid");
    simple(&e);
    e.groups[0].id = STR("");
    assert_error(&e, "id");
    simple(&e);
    e.groups[0].racks = -1;
    assert_error(&e, "-1");
    simple(&e);
    e.groups[0].nodes_per_rack = -1;
    assert_error(&e, "-1");
}

static void
test_9_1_node_errors(void **state)
{
    struct estate e;

    (void)state;
    simple(&e);
    e.nodes[0].name = STR("");
    assert_error(&e, "Node");
    simple(&e);
    e.nodes[1].uid = STR("");
    assert_error(&e, "Node");
    simple(&e);
    e.nodes[1].uid = STR("u1");
    assert_error(&e, "u1");
}

static void
test_9_1_binding_errors(void **state)
{
    struct estate e;

    (void)state;
    simple(&e);
    e.bindings[0].node.name = STR("");
    assert_error(&e, "name or uid");
    simple(&e);
    e.bindings[0].node.uid = STR("");
    assert_error(&e, "name or uid");
    simple(&e);
    e.bindings[0].group = STR("");
    assert_error(&e, "group");
    simple(&e);
    e.bindings[0].rack = -1;
    assert_error(&e, "negative");
    simple(&e);
    e.bindings[0].slot = -1;
    assert_error(&e, "negative");
    simple(&e);
    e.bindings[1].group = STR("a");
    assert_error(&e, "twice");
    /* A stray before them makes no difference. */
    simple(&e);
    e.bindings[0].rack = e.bindings[1].rack = 1;
    e.bindings[1].group = STR("a");
    add_binding(&e, "lab/lu/a", 0, 0, "n3", "u3")->stray = true;
    assert_error(&e, "twice");
    /* Strays may share a coordinate. */
    simple(&e);
    e.bindings[1].group = STR("a");
    e.bindings[1].stray = true;
    must_place(&e);
    estate_fini(&e);
}

static void
test_9_1_eligible(void **state)
{
    const struct pair yes[] = {eligible_label};
    const struct pair no[][1] = {
        {{STR("mokka.nvidia.com/sgpu-node"), STR("True")}},
        {{STR("mokka.nvidia.com/sgpu-node"), STR("")}},
        {{STR("mokka.nvidia.com/sgpu-nodes"), STR("true")}},
    };

    (void)state;
    assert_true(place_eligible(false, (struct pairs){yes, 1, NULL}));
    assert_false(place_eligible(true, (struct pairs){yes, 1, NULL}));
    assert_false(place_eligible(false, (struct pairs){NULL, 0, NULL}));
    for (size_t i = 0; i < nitems(no); i++)
        assert_false(place_eligible(false, (struct pairs){no[i], 1, NULL}));
}

static void
test_9_empty(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e, 1, 1, 1);
    must_place(&e);
    assert_plan(&e, "");
    place_plan_fini(&e.plan);
    add_group(&e, "lab/lu/a", 0, 5, NULL);
    add_node(&e, "n", "u", 1, NULL, NULL);
    must_place(&e);
    assert_plan(&e, "pending n u lab/lu/a\n");
    estate_fini(&e);
}

/* Each test of the table comes before those below it. */
static void
test_9_2_first_match(void **state)
{
    static const struct {
        const char *group;
        int64_t rack, slot;
        const char *uid;
        bool terminating, mismatch;
        const char *wanted;
    } rows[] = {
        {"lab/lu/x", 9, 9, "gone", true, true, "GroupRemoved"},
        {"lab/lv/a", 0, 0, "u", false, false, "GroupRemoved"},
        {"lab/lu/a", 2, 0, "gone", true, true, "CapacityShrink"},
        {"lab/lu/a", 0, 2, "gone", true, true, "CapacityShrink"},
        {"lab/lu/a", 1, 1, "gone", true, true, "NodeGone"},
        {"lab/lu/a", 1, 1, "u", true, true, "NodeIneligible"},
        {"lab/lu/a", 1, 1, "u", false, true, "SelectorMismatch"},
        {"lab/lu/a", 1, 1, "u", false, false, NULL},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        json_t *selector = json_text("{\"matchLabels\":{\"p\":\"1\"}}");
        struct estate e;

        estate_init(&e, 1, 1, 1);
        add_group(&e, "lab/lu/a", 2, 2, selector);
        add_node(&e, "n", "u", 1, "p", rows[i].mismatch ? "2" : "1")
            ->terminating = rows[i].terminating;
        /* The name in a binding plays no role. */
        add_binding(&e, rows[i].group, rows[i].rack, rows[i].slot, "other",
                    rows[i].uid);
        must_place(&e);
        assert_int_equal(e.plan.retained_count, rows[i].wanted == NULL);
        assert_int_equal(e.plan.released_count, rows[i].wanted != NULL);
        if (rows[i].wanted != NULL)
            assert_string_equal(release_name(e.plan.released[0].reason),
                                rows[i].wanted);
        estate_fini(&e);
        json_decref(selector);
    }
}

/* A released coordinate is not given away in the same plan. */
static void
test_9_2_12_10_released_stays_occupied(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e, 1, 2, 2);
    add_group(&e, "lab/lu/a", 1, 3, NULL);
    add_binding(&e, "lab/lu/a", 0, 1, "gone", "ug");
    add_binding(&e, "lab/lu/a", 0, 7, "gone2", "ug2");
    add_node(&e, "n1", "u1", 1, NULL, NULL);
    add_node(&e, "n2", "u2", 2, NULL, NULL);
    must_place(&e);
    assert_plan(&e, "released lab/lu/a 0 1 gone ug NodeGone\n"
                    "released lab/lu/a 0 7 gone2 ug2 CapacityShrink\n"
                    "assigned lab/lu/a 0 0 n1 u1\n"
                    "assigned lab/lu/a 0 2 n2 u2\n");
    estate_fini(&e);
}

/* Overlap never touches a retained binding, but any other Node. */
static void
test_9_4_12_9_overlap(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e, 2, 3, 2);
    add_group(&e, "lab/lu/b", 1, 3, NULL);
    add_group(&e, "lab/lu/a", 1, 3, NULL);
    add_node(&e, "kept", "u1", 1, NULL, NULL);
    add_node(&e, "freed", "u2", 2, NULL, NULL);
    add_node(&e, "new", "u3", 3, NULL, NULL);
    add_binding(&e, "lab/lu/a", 0, 0, "kept", "u1");
    add_binding(&e, "lab/lu/c", 0, 0, "freed", "u2");
    must_place(&e);
    assert_plan(&e, "retained lab/lu/a 0 0 kept u1\n"
                    "released lab/lu/c 0 0 freed u2 GroupRemoved\n"
                    "conflict SelectorOverlap freed u2 lab/lu/a lab/lu/b\n"
                    "conflict SelectorOverlap new u3 lab/lu/a lab/lu/b\n");
    estate_fini(&e);
}

/* A Node whose binding is released waits, though there is room. */
static void
test_9_4_released_waits(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e, 1, 1, 1);
    add_group(&e, "lab/lu/a", 1, 3, NULL);
    add_node(&e, "n", "u", 1, NULL, NULL);
    add_binding(&e, "lab/lu/old", 0, 0, "n", "u");
    must_place(&e);
    assert_plan(&e, "released lab/lu/old 0 0 n u GroupRemoved\n"
                    "pending n u lab/lu/a\n");
    estate_fini(&e);
}

/* A Node that is gone sorts first, under the name of its first binding; one
 * that is there under its own. */
static void
test_9_3_9_5_duplicates(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e, 1, 2, 6);
    add_group(&e, "lab/lu/a", 2, 3, NULL);
    add_node(&e, "old", "u1", -5, NULL, NULL);
    add_binding(&e, "lab/lu/a", 1, 2, "z2", "ug");
    add_binding(&e, "lab/lu/a", 0, 0, "z1", "ug");
    add_binding(&e, "lab/lu/a", 0, 1, "former", "u1");
    add_binding(&e, "lab/lu/b", 0, 1, "former", "u1");
    must_place(&e);
    assert_plan(&e, "retained lab/lu/a 0 1 former u1\n"
                    "released lab/lu/a 0 0 z1 ug NodeGone\n"
                    "released lab/lu/a 1 2 z2 ug NodeGone\n"
                    "released lab/lu/b 0 1 former u1 GroupRemoved\n"
                    "conflict DuplicateBinding z1 ug [lab/lu/a 0 0 z1 ug] "
                    "[lab/lu/a 1 2 z2 ug]\n"
                    "conflict DuplicateBinding old u1 [lab/lu/a 0 1 former u1] "
                    "[lab/lu/b 0 1 former u1]\n");
    estate_fini(&e);
}

/* A stray takes no coordinate, may share one or be negative, and counts. */
static void
test_9_1_stray_bindings(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e, 1, 3, 4);
    add_group(&e, "lab/lu/a", 1, 2, NULL);
    add_node(&e, "n1", "u1", 1, NULL, NULL);
    add_node(&e, "n2", "u2", 2, NULL, NULL);
    add_node(&e, "n3", "u3", 3, NULL, NULL);
    add_binding(&e, "lab/lu/a", 0, 0, "n1", "u1")->stray = true;
    add_binding(&e, "lab/lu/a", -3, 0, "gone", "ug")->stray = true;
    add_binding(&e, "lab/lu/a", 0, 1, "n2", "u2")->stray = true;
    add_binding(&e, "lab/lu/a", 0, 1, "n2b", "ub");
    must_place(&e);
    assert_plan(&e, "released lab/lu/a -3 0 gone ug GroupRemoved\n"
                    "released lab/lu/a 0 0 n1 u1 GroupRemoved\n"
                    "released lab/lu/a 0 1 n2 u2 GroupRemoved\n"
                    "released lab/lu/a 0 1 n2b ub NodeGone\n"
                    "assigned lab/lu/a 0 0 n3 u3\n"
                    "pending n1 u1 lab/lu/a\n"
                    "pending n2 u2 lab/lu/a\n");
    estate_fini(&e);
}

/* The shares of all keys, in any order, put together are the plan. */
static void
assert_shares(const struct estate *e)
{
    static const char *const names[] = {"a", "a-b", "b", "c", "zz"};
    static const char *const uids[] = {"u", "u1", "u2"};
    static const char *const ids[] = {"g", "h", "i", "x"};
    const struct place_plan *p = &e->plan;
    size_t retained = 0;
    size_t released = 0;
    size_t assigned = 0;

    for (size_t i = 0; i < nitems(names) * nitems(uids) * nitems(ids); i++) {
        struct object_ref inventory = {
            str_of(names[i / (nitems(ids) * nitems(uids))]),
            str_of(uids[i / nitems(ids) % nitems(uids)])};
        struct str id = str_of(ids[i % nitems(ids)]);
        struct place_share s = place_share(p, inventory, id);

        for (size_t j = 0; j < s.retained_count; j++)
            assert_ptr_equal(s.retained[j], p->retained[retained++]);
        for (size_t j = 0; j < s.released_count; j++)
            assert_ptr_equal(&s.released[j], &p->released[released++]);
        for (size_t j = 0; j < s.assigned_count; j++) {
            assert_ptr_equal(&s.assigned[j], &p->assigned[assigned++]);
            assert_true(str_eq(s.assigned[j].group->id, id));
        }
    }
    assert_int_equal(retained, p->retained_count);
    assert_int_equal(released, p->released_count);
    assert_int_equal(assigned, p->assigned_count);
}

/*
 * The reference: section 9 word by word, over the same input, with scans in
 * place of indexes.  Its plan is written as lines at once, unsorted where the
 * section sorts; lines are then sorted by the keys of 9.5 made text.
 */
struct line {
    char *key, *text;
};

struct lines {
    struct line items[400];
    size_t count;
};

/* A number as text that sorts like it. */
#define SORTABLE(n) ((unsigned long long)(n) ^ 1ull << 63)

static void
add_line(struct lines *lines, char *key, struct buf *text)
{
    lines->items[lines->count++] = (struct line){key, buf_take(text)};
}

static int
cmp_line(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;

    return strcmp(x->key, y->key);
}

static void
flush_lines(struct lines *lines, struct buf *out, bool sorted)
{
    if (sorted)
        qsort(lines->items, lines->count, sizeof(*lines->items), cmp_line);
    for (size_t i = 0; i < lines->count; i++) {
        buf_addz(out, lines->items[i].text);
        free(lines->items[i].text);
        free(lines->items[i].key);
    }
    lines->count = 0;
}

static const struct place_group *
ref_group(const struct place_input *in, const struct place_binding *b)
{
    for (size_t i = 0; i < in->group_count; i++)
        if (str_eq(in->groups[i].inventory.name, b->inventory.name) &&
            str_eq(in->groups[i].inventory.uid, b->inventory.uid) &&
            str_eq(in->groups[i].id, b->group))
            return &in->groups[i];
    return NULL;
}

static const struct place_node *
ref_node(const struct place_input *in, struct str uid)
{
    for (size_t i = 0; i < in->node_count; i++)
        if (str_eq(in->nodes[i].uid, uid))
            return &in->nodes[i];
    return NULL;
}

static bool
ref_matches(const struct place_group *g, const struct place_node *n)
{
    return g->selector == NULL || selector_match(g->selector, n->labels);
}

/* NULL: retained */
static const char *
ref_reason(const struct place_input *in, const struct place_binding *b)
{
    const struct place_group *g = ref_group(in, b);
    const struct place_node *n = ref_node(in, b->node.uid);

    if (g == NULL || b->stray)
        return "GroupRemoved";
    if (b->rack >= g->racks || b->slot >= g->nodes_per_rack)
        return "CapacityShrink";
    if (n == NULL)
        return "NodeGone";
    if (!place_eligible(n->terminating, n->labels))
        return "NodeIneligible";
    return ref_matches(g, n) ? NULL : "SelectorMismatch";
}

static char *
ref_key(struct object_ref inventory, struct str group, int64_t rack,
        int64_t slot, struct str uid, const char *reason)
{
    return mem_printf("%s\1%s\1%s\1%020llu%020llu%s\1%s", inventory.name.s,
                      inventory.uid.s, group.s, SORTABLE(rack), SORTABLE(slot),
                      uid.s, reason);
}

/* Of a binding; strays may have all that in common. */
static char *
ref_binding_key(const struct place_binding *b, const char *reason)
{
    char *rest = mem_printf("%s\1%d%s", reason, b->stray, b->node.name.s);
    char *key =
        ref_key(b->inventory, b->group, b->rack, b->slot, b->node.uid, rest);

    free(rest);
    return key;
}

static void
ref_bindings(const struct place_input *in, bool released, struct buf *out)
{
    struct lines lines = {.count = 0};

    for (size_t i = 0; i < in->binding_count; i++) {
        const struct place_binding *b = &in->bindings[i];
        const char *reason = ref_reason(in, b);
        struct buf text = {0};

        if ((reason != NULL) != released)
            continue;
        buf_addz(&text, released ? "released " : "retained ");
        print_binding(&text, b);
        buf_printf(&text, "%s%s\n", released ? " " : "",
                   released ? reason : "");
        add_line(&lines, ref_binding_key(b, released ? reason : ""), &text);
    }
    flush_lines(&lines, out, true);
}

static bool
ref_occupied(const struct place_input *in, const struct place_group *g,
             int64_t rack, int64_t slot)
{
    for (size_t i = 0; i < in->binding_count; i++)
        if (!in->bindings[i].stray && ref_group(in, &in->bindings[i]) == g &&
            in->bindings[i].rack == rack && in->bindings[i].slot == slot)
            return true;
    return false;
}

/* The next free coordinate from offset *at on. */
static bool
ref_free(const struct place_input *in, const struct place_group *g, int64_t *at,
         int64_t *rack, int64_t *slot)
{
    for (; *at < g->racks * g->nodes_per_rack; ++*at) {
        *rack = *at / g->nodes_per_rack;
        *slot = *at % g->nodes_per_rack;
        if (!ref_occupied(in, g, *rack, *slot)) {
            ++*at;
            return true;
        }
    }
    return false;
}

static char *
ref_conflict_key(const struct place_node *n, struct object_ref ref,
                 const char *kind)
{
    return mem_printf("%020llu%s\1%s\1%s",
                      n == NULL ? 0ull : SORTABLE(n->created), ref.name.s,
                      ref.uid.s, kind);
}

static void
ref_duplicates(const struct place_input *in, struct lines *conflicts)
{
    for (size_t i = 0; i < in->binding_count; i++) {
        struct str uid = in->bindings[i].node.uid;
        const struct place_node *n = ref_node(in, uid);
        struct lines list = {.count = 0};
        struct object_ref ref = {{NULL, 0}, uid};
        struct buf text = {0};
        struct buf bindings = {0};
        char *first;
        bool seen = false;

        for (size_t j = 0; j < in->binding_count; j++) {
            const struct place_binding *b = &in->bindings[j];
            struct buf one = {0};

            if (!str_eq(b->node.uid, uid))
                continue;
            seen |= j < i;
            print_binding(&one, b);
            add_line(&list, ref_binding_key(b, ""), &one);
        }
        qsort(list.items, list.count, sizeof(*list.items), cmp_line);
        for (size_t j = 0; j < list.count; j++)
            buf_printf(&bindings, " [%s]", list.items[j].text);
        /* "group rack slot name uid" */
        first = mem_strdup(list.items[0].text);
        *strrchr(first, ' ') = '\0';
        ref.name = str_of(n != NULL ? n->name.s : strrchr(first, ' ') + 1);
        if (!seen && list.count > 1) {
            buf_printf(&text, "conflict DuplicateBinding %s %s%.*s\n",
                       ref.name.s, uid.s, (int)bindings.len,
                       buf_bytes(&bindings));
            add_line(conflicts, ref_conflict_key(n, ref, "D"), &text);
        }
        free(first);
        buf_fini(&bindings);
        buf_clear(&text);
        flush_lines(&list, &text, false);
        buf_fini(&text);
    }
}

static int
cmp_group_key(const void *a, const void *b)
{
    const struct place_group *const *x = a;
    const struct place_group *const *y = b;
    char *xs = mem_printf("%s\1%s\1%s", (*x)->inventory.name.s,
                          (*x)->inventory.uid.s, (*x)->id.s);
    char *ys = mem_printf("%s\1%s\1%s", (*y)->inventory.name.s,
                          (*y)->inventory.uid.s, (*y)->id.s);
    int order = strcmp(xs, ys);

    free(xs);
    free(ys);
    return order;
}

static int
cmp_node_order(const void *a, const void *b)
{
    return place_node_cmp(*(const struct place_node *const *)a,
                          *(const struct place_node *const *)b);
}

static char *
reference(const struct place_input *in)
{
    const struct place_group *groups[8];
    const struct place_node *nodes[64];
    int64_t at[8] = {0};
    struct lines assigned = {.count = 0};
    struct lines pending = {.count = 0};
    struct lines conflicts = {.count = 0};
    struct buf out = {0};

    for (size_t i = 0; i < in->group_count; i++)
        groups[i] = &in->groups[i];
    for (size_t i = 0; i < in->node_count; i++)
        nodes[i] = &in->nodes[i];
    qsort(groups, in->group_count, sizeof(*groups), cmp_group_key);
    qsort(nodes, in->node_count, sizeof(*nodes), cmp_node_order);
    ref_bindings(in, false, &out);
    ref_bindings(in, true, &out);
    ref_duplicates(in, &conflicts);
    for (size_t i = 0; i < in->node_count; i++) {
        const struct place_node *n = nodes[i];
        size_t bound = 0;
        bool retained = false;
        size_t candidates = 0;
        size_t candidate = 0;
        struct buf text = {0};
        struct buf names = {0};
        int64_t rack;
        int64_t slot;

        for (size_t j = 0; j < in->binding_count; j++)
            if (str_eq(in->bindings[j].node.uid, n->uid)) {
                bound++;
                retained |= ref_reason(in, &in->bindings[j]) == NULL;
            }
        for (size_t j = 0; j < in->group_count; j++)
            if (ref_matches(groups[j], n)) {
                candidates++;
                candidate = j;
                buf_printf(&names, " %s/%s/%s", groups[j]->inventory.name.s,
                           groups[j]->inventory.uid.s, groups[j]->id.s);
            }
        if (!place_eligible(n->terminating, n->labels) || bound > 1 ||
            retained || candidates == 0) {
            buf_fini(&names);
            continue;
        }
        if (candidates > 1) {
            buf_printf(&text, "conflict SelectorOverlap %s %s%.*s\n", n->name.s,
                       n->uid.s, (int)names.len, buf_bytes(&names));
            add_line(
                &conflicts,
                ref_conflict_key(n, (struct object_ref){n->name, n->uid}, "S"),
                &text);
        } else if (bound == 0 && ref_free(in, groups[candidate], &at[candidate],
                                          &rack, &slot)) {
            const struct place_group *g = groups[candidate];

            buf_addz(&text, "assigned ");
            print_coordinate(&text, g->inventory, g->id, rack, slot);
            buf_printf(&text, "%s %s\n", n->name.s, n->uid.s);
            add_line(&assigned,
                     ref_key(g->inventory, g->id, rack, slot, n->uid, ""),
                     &text);
        } else {
            buf_printf(&text, "pending %s %s%.*s\n", n->name.s, n->uid.s,
                       (int)names.len, buf_bytes(&names));
            add_line(&pending, mem_strdup(""), &text);
        }
        buf_fini(&names);
    }
    flush_lines(&assigned, &out, true);
    flush_lines(&pending, &out, false);
    flush_lines(&conflicts, &out, true);
    return buf_take(&out);
}

/* A random estate: few names, so that all collide often. */

static void
random_groups(struct seeded *s, struct estate *e)
{
    static const char *const keys[] = {"a/u1/g", "a/u2/g",  "a/u1/h",
                                       "b/u1/g", "a-b/u/x", "c/u/i"};
    static const char *const selectors[] = {
        "null",
        "{\"matchLabels\":{\"p\":\"1\"}}",
        "{\"matchLabels\":{\"p\":\"2\"}}",
        ("{\"matchExpressions\":[{\"key\":\"p\",\"operator\":\"NotIn\","
         "\"values\":[\"1\"]}]}"),
        "{\"matchExpressions\":[{\"key\":\"p\",\"operator\":\"Exists\"}]}",
        "{\"matchLabels\":{\"p\":\"3\"}}",
    };

    for (size_t i = 0; i < nitems(keys); i++) {
        json_t *selector;

        if (seeded_below(s, 2) == 0)
            continue;
        selector = json_text(selectors[seeded_below(s, nitems(selectors))]);
        add_group(e, keys[i], seeded_below(s, 4), seeded_below(s, 4),
                  json_is_null(selector) ? NULL : selector);
        json_decref(selector);
    }
}

static void
random_nodes(struct seeded *s, struct estate *e)
{
    static const char *const values[] = {"1", "2", "3", "4"};

    for (int i = seeded_below(s, 20); i > 0; i--) {
        char name[16];
        char uid[16];
        struct place_node *n;

        snprintf(name, sizeof(name), "n%d", seeded_below(s, 8));
        snprintf(uid, sizeof(uid), "u%d", i);
        n = add_node(e, name, uid, seeded_below(s, 4), "p",
                     values[seeded_below(s, 4)]);
        n->terminating = seeded_below(s, 10) == 0;
        if (seeded_below(s, 10) == 0)
            n->labels.items++, n->labels.count--;
        if (seeded_below(s, 10) == 0)
            n->labels.count--;
    }
}

static void
random_bindings(struct seeded *s, struct estate *e)
{
    static const char *const keys[] = {"a/u1/g",  "a/u2/g", "a/u1/h", "b/u1/g",
                                       "a-b/u/x", "c/u/i",  "zz/u/i"};

    for (int i = seeded_below(s, 14); i > 0; i--) {
        const char *key = keys[seeded_below(s, nitems(keys))];
        int rack = seeded_below(s, 4);
        int slot = seeded_below(s, 4);
        bool stray = seeded_below(s, 12) == 0;
        char name[16];
        char uid[16];
        struct place_binding *b;
        bool taken = false;

        snprintf(name, sizeof(name), "n%d", seeded_below(s, 8));
        snprintf(uid, sizeof(uid), "u%d", 1 + seeded_below(s, 24));
        b = add_binding(e, key, stray ? rack - 1 : rack, slot, name, uid);
        b->stray = stray;
        for (const struct place_binding *o = e->bindings; o < b; o++)
            taken |= str_eq(o->inventory.name, b->inventory.name) &&
                     str_eq(o->inventory.uid, b->inventory.uid) &&
                     str_eq(o->group, b->group) && o->rack == b->rack &&
                     o->slot == b->slot && !o->stray && !b->stray;
        if (taken)
            e->in.binding_count--;
    }
}

static void
random_estate(struct seeded *s, struct estate *e)
{
    estate_init(e, 8, 32, 32);
    random_groups(s, e);
    random_nodes(s, e);
    random_bindings(s, e);
}

static void
test_9_5_shares(void **state)
{
    struct seeded s = seeded_start("test_9_5_shares");

    (void)state;
    for (int i = 0; i < seeded_rounds(300); i++) {
        struct estate e;

        random_estate(&s, &e);
        must_place(&e);
        assert_shares(&e);
        estate_fini(&e);
    }
}

static void
test_9_against_reference(void **state)
{
    struct seeded s = seeded_start("test_9_against_reference");

    (void)state;
    for (int i = 0; i < seeded_rounds(3000); i++) {
        struct estate e;
        char *wanted;

        random_estate(&s, &e);
        must_place(&e);
        wanted = reference(&e.in);
        assert_plan(&e, wanted);
        free(wanted);
        estate_fini(&e);
    }
}

static void
swap(void *items, size_t size, size_t a, size_t b)
{
    char *x = (char *)items + a * size;
    char *y = (char *)items + b * size;
    char copy[256];

    assert_true(size <= sizeof(copy));
    memcpy(copy, x, size);
    memcpy(x, y, size);
    memcpy(y, copy, size);
}

static void
shuffle(struct seeded *s, void *items, size_t count, size_t size)
{
    for (size_t i = count; i > 1; i--)
        swap(items, size, i - 1, (size_t)seeded_below(s, (int)i));
}

/* The order of the input makes no difference. */
static void
test_9_any_order(void **state)
{
    struct seeded s = seeded_start("test_9_any_order");

    (void)state;
    for (int i = 0; i < seeded_rounds(500); i++) {
        struct estate e;
        char *wanted;

        random_estate(&s, &e);
        must_place(&e);
        wanted = print_plan(&e.plan);
        for (int j = 0; j < 3; j++) {
            shuffle(&s, e.groups, e.in.group_count, sizeof(*e.groups));
            shuffle(&s, e.nodes, e.in.node_count, sizeof(*e.nodes));
            shuffle(&s, e.bindings, e.in.binding_count, sizeof(*e.bindings));
            place_plan_fini(&e.plan);
            must_place(&e);
            assert_plan(&e, wanted);
        }
        free(wanted);
        estate_fini(&e);
    }
}

/* Each binding is in the plan once: it stays, or it goes for the first reason
 * of the table that holds.  None moves. */
static void
assert_reasons(const struct estate *e)
{
    const struct place_plan *p = &e->plan;
    bool *seen = mem_zalloc(e->in.binding_count * sizeof(*seen));

    assert_int_equal(p->retained_count + p->released_count,
                     e->in.binding_count);
    for (size_t i = 0; i < p->retained_count; i++) {
        assert_null(ref_reason(&e->in, p->retained[i]));
        assert_false(seen[p->retained[i] - e->in.bindings]);
        seen[p->retained[i] - e->in.bindings] = true;
    }
    for (size_t i = 0; i < p->released_count; i++) {
        const char *reason = ref_reason(&e->in, p->released[i].binding);

        assert_string_equal(reason == NULL ? "none" : reason,
                            release_name(p->released[i].reason));
        assert_false(seen[p->released[i].binding - e->in.bindings]);
        seen[p->released[i].binding - e->in.bindings] = true;
    }
    free(seen);
}

/* Of a plan: no coordinate twice, no Node assigned that is bound or assigned
 * already, only eligible ones that match; no binding moved without a reason. */
static void
assert_sane(const struct estate *e)
{
    const struct place_plan *p = &e->plan;

    assert_reasons(e);
    for (size_t i = 0; i < p->assigned_count; i++) {
        const struct place_assigned *a = &p->assigned[i];

        assert_true(place_eligible(a->node->terminating, a->node->labels));
        assert_true(ref_matches(a->group, a->node));
        assert_true(a->rack < a->group->racks);
        assert_true(a->slot < a->group->nodes_per_rack);
        assert_false(ref_occupied(&e->in, a->group, a->rack, a->slot));
        for (size_t j = 0; j < e->in.binding_count; j++)
            assert_false(str_eq(e->bindings[j].node.uid, a->node->uid));
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(p->assigned[j].node, a->node);
            assert_false(p->assigned[j].group == a->group &&
                         p->assigned[j].rack == a->rack &&
                         p->assigned[j].slot == a->slot);
        }
    }
}

/* Carries a plan out: what is released is gone, what is assigned is bound. */
static void
carry_out(struct estate *e)
{
    struct place_binding *next =
        mem_zalloc((e->in.node_count + 64) * sizeof(*next));
    size_t count = 0;

    for (size_t i = 0; i < e->plan.retained_count; i++)
        next[count++] = *e->plan.retained[i];
    for (size_t i = 0; i < e->plan.assigned_count; i++) {
        const struct place_assigned *a = &e->plan.assigned[i];

        next[count++] = (struct place_binding){
            .inventory = a->group->inventory,
            .group = a->group->id,
            .rack = a->rack,
            .slot = a->slot,
            .node = {a->node->name, a->node->uid},
        };
    }
    place_plan_fini(&e->plan);
    free(e->bindings);
    e->bindings = next;
    e->in.bindings = next;
    e->in.binding_count = count;
}

/* Carried out, a plan leads to one that binds and releases nothing: at once if
 * nothing was released, else after the cleaned slots were filled. */
static void
test_9_7_converges(void **state)
{
    struct seeded s = seeded_start("test_9_7_converges");

    (void)state;
    for (int i = 0; i < seeded_rounds(1000); i++) {
        struct estate e;
        int rounds = 0;

        random_estate(&s, &e);
        must_place(&e);
        assert_sane(&e);
        for (; e.plan.released_count + e.plan.assigned_count > 0; rounds++) {
            assert_true(rounds < 3);
            carry_out(&e);
            must_place(&e);
            assert_sane(&e);
        }
        estate_fini(&e);
    }
}

/* At the size of the envelope: one look per Node and group, none at Nodes that
 * stay bound but their own group's. */
static void
test_9_8_cost(void **state)
{
    enum { NODES = 20000 };
    struct estate e;
    char name[24];

    (void)state;
    estate_init(&e, 1, NODES, 0);
    add_group(&e, "lab/lu/a", NODES / 100, 100, NULL);
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        add_node(&e, name, name, i % 7, NULL, NULL);
    }
    must_place(&e);
    assert_int_equal(e.plan.assigned_count, NODES);
    assert_int_equal(e.plan.evaluations, NODES);
    carry_out(&e);
    must_place(&e);
    assert_int_equal(e.plan.retained_count, NODES);
    assert_int_equal(e.plan.evaluations, NODES);
    estate_fini(&e);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_9_1_group_errors),
        cmocka_unit_test(test_9_1_node_errors),
        cmocka_unit_test(test_9_1_binding_errors),
        cmocka_unit_test(test_9_1_eligible),
        cmocka_unit_test(test_9_empty),
        cmocka_unit_test(test_9_2_first_match),
        cmocka_unit_test(test_9_2_12_10_released_stays_occupied),
        cmocka_unit_test(test_9_4_12_9_overlap),
        cmocka_unit_test(test_9_4_released_waits),
        cmocka_unit_test(test_9_3_9_5_duplicates),
        cmocka_unit_test(test_9_1_stray_bindings),
        cmocka_unit_test(test_9_5_shares),
        cmocka_unit_test(test_9_against_reference),
        cmocka_unit_test(test_9_any_order),
        cmocka_unit_test(test_9_7_converges),
        cmocka_unit_test(test_9_8_cost),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "allocation.json", NULL, "test_9_",
                test_allocation_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer place");
}
