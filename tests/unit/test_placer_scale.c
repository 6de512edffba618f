/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 100000 Nodes and 64 groups in memory: allocated in one pass, with as many
 * looks and as many bytes as the headers promise.  Times are printed, not
 * tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <string.h>
#include <time.h>

#include "tests/unit/placer_sim.h"

#define NODES 100000
#define GROUPS 64
#define RACKS 15     /* of each group */
#define PER_RACK 104 /* Nodes; 99840 slots in all */
#define SLOTS (GROUPS * RACKS * PER_RACK)

/* ---- figures ----------------------------------------------------------- */

/* Of AddressSanitizer, if it is there. */
extern size_t __sanitizer_get_current_allocated_bytes(void)
    __attribute__((weak));

/* Bytes allocated now; 0 if nobody counts them (valgrind). */
static size_t
bytes(void)
{
    struct mallinfo2 info;

    if (__sanitizer_get_current_allocated_bytes != NULL)
        return __sanitizer_get_current_allocated_bytes();
    info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static double
seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct measure {
    const char *what;
    double began;
    size_t bytes;
};

static struct measure
begin(const char *what)
{
    return (struct measure){what, seconds(), bytes()};
}

/* Prints what it took, and holds what was kept against a limit. */
static void
end(const struct measure *m, size_t most)
{
    size_t now = bytes();
    size_t kept = now > m->bytes ? now - m->bytes : 0;

    printf("  %s: %.0f ms, %.1f MB (at most %.1f)\n", m->what,
           (seconds() - m->began) * 1e3, (double)kept / 1e6,
           (double)most / 1e6);
    if (now > 0)
        assert_in_range(kept, 0, most);
}

/* ---- the estate -------------------------------------------------------- */

/* Group i has the Nodes of pool i: 1562 or 1563 of them for 1560 slots. */
struct estate {
    struct arena arena;
    struct selector selectors[GROUPS];
    struct place_group groups[GROUPS];
    size_t inventories[GROUPS];
    struct place_node *nodes;
    struct place_binding *bindings;
};

static struct str
text(struct estate *e, const char *fmt, int i)
{
    char out[64];

    snprintf(out, sizeof(out), fmt, i);
    return arena_str(&e->arena, str_of(out));
}

static void
estate_init(struct estate *e)
{
    *e = (struct estate){
        .nodes = mem_zalloc(NODES * sizeof(*e->nodes)),
        .bindings = mem_zalloc(SLOTS * sizeof(*e->bindings)),
    };
    for (int i = 0; i < GROUPS; i++) {
        struct str selector =
            text(e, "{\"matchLabels\":{\"pool\":\"p%d\"}}", i);
        struct json_value v;
        struct err err;

        json_value_parse(&v, selector.s);
        assert_int_equal(selector_compile(&e->selectors[i], v.root, &err), 0);
        json_value_fini(&v);
        e->groups[i] = (struct place_group){
            .inventory = {STR("lab"), STR("lab-uid")},
            .id = text(e, "g%02d", i),
            .selector = &e->selectors[i],
            .racks = RACKS,
            .nodes_per_rack = PER_RACK,
        };
    }
    for (int i = 0; i < NODES; i++) {
        struct pair *labels = arena_alloc(&e->arena, 2 * sizeof(*labels));

        labels[0] = (struct pair){STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)};
        labels[1] = (struct pair){STR("pool"), text(e, "p%d", i % GROUPS)};
        pairs_sort(labels, 2);
        e->nodes[i] = (struct place_node){
            .name = text(e, "node-%d", i),
            .uid = text(e, "0b7c1c7e-5a1e-4a57-9a43-%012d", i),
            .created = i * 7919 % 1000,
            .labels = {labels, 2},
        };
    }
}

static void
estate_fini(struct estate *e)
{
    for (int i = 0; i < GROUPS; i++)
        selector_fini(&e->selectors[i]);
    free(e->nodes);
    free(e->bindings);
    arena_fini(&e->arena);
}

/* ---- place() ----------------------------------------------------------- */

/* The plan cut up: what each group gets of it. */
static void
assert_shares(const struct place_plan *plan, const struct estate *e,
              size_t retained, size_t assigned)
{
    for (int i = 0; i < GROUPS; i++) {
        struct place_share share =
            place_share(plan, e->groups[i].inventory, e->groups[i].id);

        assert_int_equal(share.retained_count, retained);
        assert_int_equal(share.assigned_count, assigned);
        assert_int_equal(share.released_count, 0);
    }
}

/* Every slot is bound to a Node of its group's pool. */
static void
bind_all(struct estate *e)
{
    for (int i = 0; i < SLOTS; i++) {
        int group = i / (RACKS * PER_RACK);
        int at = i % (RACKS * PER_RACK);
        const struct place_node *n = &e->nodes[at * GROUPS + group];

        e->bindings[i] = (struct place_binding){
            .inventory = e->groups[group].inventory,
            .group = e->groups[group].id,
            .rack = at / PER_RACK,
            .slot = at % PER_RACK,
            .node = {n->name, n->uid},
        };
    }
}

static void
test_S03_place_in_one_pass(void **state)
{
    struct place_input in = {.group_count = GROUPS, .node_count = NODES};
    struct place_plan plan;
    struct estate e;
    struct measure m;
    struct err err;

    (void)state;
    estate_init(&e);
    in.groups = e.groups;
    in.nodes = e.nodes;
    in.bindings = e.bindings;
    m = begin("a plan from nothing");
    assert_int_equal(place(&plan, &in, &err), 0);
    end(&m, NODES * 100);
    assert_int_equal(plan.assigned_count, SLOTS);
    assert_int_equal(plan.pending_count, NODES - SLOTS);
    assert_int_equal(plan.conflict_count, 0);
    assert_in_range(plan.evaluations, 0, (uint64_t)NODES * GROUPS);
    assert_shares(&plan, &e, 0, RACKS * PER_RACK);
    place_plan_fini(&plan);
    bind_all(&e);
    in.binding_count = SLOTS;
    m = begin("a plan of what stands");
    assert_int_equal(place(&plan, &in, &err), 0);
    end(&m, NODES * 100 + SLOTS * 60);
    assert_int_equal(plan.retained_count, SLOTS);
    assert_int_equal(plan.assigned_count + plan.released_count, 0);
    /* One look for each binding, all groups for those that wait. */
    assert_in_range(plan.evaluations, 0,
                    SLOTS + (uint64_t)(NODES - SLOTS) * GROUPS);
    assert_shares(&plan, &e, RACKS * PER_RACK, 0);
    place_plan_fini(&plan);
    estate_fini(&e);
}

/* ---- kept up to date --------------------------------------------------- */

/* Racks that were touched one after the other. */
struct touched {
    char rack[32];
    size_t count;
};

static void
count_touched(void *arg, const char *rack)
{
    struct touched *t = arg;

    if (strcmp(t->rack, rack) == 0)
        return;
    snprintf(t->rack, sizeof(t->rack), "%s", rack);
    t->count++;
}

/* The racks of a plan that was carried out come. */
static void
put_racks(struct alloc *a, const struct estate *e)
{
    for (size_t i = 0; i < SLOTS; i += PER_RACK) {
        char name[32];

        snprintf(name, sizeof(name), "rack-%zu", i / PER_RACK);
        alloc_rack_put(a, name, 0, &e->bindings[i], PER_RACK);
    }
}

static size_t
assignable(const struct alloc *a)
{
    size_t sum = 0;

    for (size_t i = 0; i < a->group_count; i++)
        sum += alloc_assignable(&a->groups[i]);
    return sum;
}

static void
test_S03_alloc_in_one_pass(void **state)
{
    struct place_node moved;
    struct alloc a = {.touched = count_touched};
    struct estate e;
    struct measure m;
    struct touched touched = {"", 0};
    uint64_t before;

    (void)state;
    estate_init(&e);
    a.arg = &touched;
    m = begin("100000 Nodes come");
    alloc_reset(&a, e.groups, e.inventories, GROUPS, 1);
    for (int i = 0; i < NODES; i++)
        assert_true(alloc_node_put(&a, &e.nodes[i]));
    end(&m, NODES * 350 + SLOTS);
    assert_in_range(a.evaluations, 0, (uint64_t)NODES * GROUPS);
    assert_int_equal(assignable(&a), SLOTS);
    assert_int_equal(a.requested[0], NODES);

    bind_all(&e);
    before = a.evaluations;
    m = begin("99840 bindings come");
    put_racks(&a, &e);
    end(&m, SLOTS * 250);
    assert_in_range(a.evaluations - before, 0, SLOTS);
    assert_int_equal(assignable(&a), 0);

    /* One Node leaves its pool: its selectors, and its rack. */
    touched = (struct touched){"", 0};
    before = a.evaluations;
    m = begin("one Node changes");
    moved = e.nodes[NODES / 2];
    moved.labels.count = 1;
    alloc_node_take(&a, (struct object_ref){moved.name, moved.uid});
    assert_true(alloc_node_put(&a, &moved));
    end(&m, 4096);
    assert_in_range(a.evaluations - before, 0, 2 * GROUPS);
    assert_int_equal(touched.count, 1);
    alloc_fini(&a);
    estate_fini(&e);
}

/* ---- the placer -------------------------------------------------------- */

static void
put_declarations(struct sim *s)
{
    struct buf groups = {0};
    char *list;

    for (int i = 0; i < GROUPS; i++)
        buf_printf(&groups,
                   "%c{\"id\":\"g%02d\",\"count\":%d,\"profileRef\":{\"name\":"
                   "\"p\"},\"placement\":{\"nodeSelector\":{\"matchLabels\":{"
                   "\"pool\":\"p%d\"}}}}",
                   i == 0 ? '[' : ',', i, RACKS, i);
    buf_addc(&groups, ']');
    list = buf_take(&groups);
    sim_profile(s, "p", 1, PER_RACK);
    sim_inventory(s, &(struct sim_inventory){
                         .name = "lab", .groups = list, .generation = 1});
    free(list);
}

/* Through its frames: every rack is written once, with all its bindings. */
static void
test_S03_placer_in_one_pass(void **state)
{
    struct sim s;
    struct measure m;
    uint64_t examined;
    uint64_t evaluations;

    (void)state;
    sim_init(&s);
    m = begin("100000 Nodes are fed");
    put_declarations(&s);
    for (int i = 0; i < NODES; i++) {
        char name[24];
        char pool[8];

        snprintf(name, sizeof(name), "node-%d", i);
        snprintf(pool, sizeof(pool), "p%d", i % GROUPS);
        sim_node(&s, &(struct sim_node){
                         .name = name, .pool = pool, .created = i % 997});
    }
    arena_fini(&s.arena);
    end(&m, NODES * (size_t)450);
    m = begin("all are planned");
    sim_synced(&s);
    /* What is not said at once for its size is said as results come. */
    for (size_t i = 0; i < s.count; i++)
        if (s.said[i].type == MSG_RACK_WRITE)
            sim_result(&s, &s.said[i], ACTION_RACK, OUTCOME_DONE);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), GROUPS * RACKS);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, NULL), 0);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, NULL), 0);
    assert_in_range(sim_said(&s, MSG_STATUS_WRITE, "lab"), 1, 10);
    assert_int_equal(sim_said(&s, MSG_PLAN_END, NULL), 1);
    for (size_t i = 0; i < s.p.alloc.group_count; i++)
        assert_int_equal(s.p.alloc.groups[i].free, 0);
    sim_forget(&s);
    end(&m, NODES * (size_t)1000);
    assert_in_range(s.p.alloc.evaluations, 0,
                    (uint64_t)NODES * GROUPS + 2 * SLOTS);
    assert_in_range(s.p.examined, 0, 3 * GROUPS * RACKS);

    /* A heartbeat of one of them is no work. */
    sim_batch(&s);
    examined = s.p.examined;
    evaluations = s.p.alloc.evaluations;
    sim_node(&s,
             &(struct sim_node){.name = "node-0", .pool = "p0", .created = 0});
    sim_batch(&s);
    assert_int_equal(s.count, 0);
    assert_int_equal(s.p.alloc.evaluations, evaluations);
    assert_in_range(s.p.examined - examined, 0, 1);
    sim_fini(&s);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S03_place_in_one_pass),
        cmocka_unit_test(test_S03_alloc_in_one_pass),
        cmocka_unit_test(test_S03_placer_in_one_pass),
    };

    return cmocka_run_group_tests_name("placer scale", tests, NULL, NULL);
}
