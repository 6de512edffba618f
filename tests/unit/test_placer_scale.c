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
            .labels = {labels, 2, NULL},
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

/* ---- what a change costs ----------------------------------------------- */

#define LARGE 1000 /* racks of a hundred Nodes */

/* A rack as it is to be, all its slots bound. */
static void
put_large_rack(struct sim *s, int64_t index)
{
    static const struct str finalizers[] = {STR(FINALIZER_RACK)};
    const struct object_owner owner = {STR(API_GROUP_VERSION),
                                       STR(API_INVENTORY),
                                       STR("lab"),
                                       STR("lab-uid"),
                                       1,
                                       0};
    const struct rack_input in = {
        .inventory = {STR("lab"), STR("lab-uid")},
        .group = STR("a"),
        .index = index,
        .count = LARGE,
        .profile = &world_profile(&s->p.world, "p")->spec,
    };
    struct rack_metadata meta;
    struct object_slot slots[100];
    struct rack_facts facts;
    struct arena arena = {0};
    struct buf body = {0};

    assert_int_equal(rack_render(&facts, NULL, &in, NULL, NULL), 0);
    rack_metadata(&meta, &(struct rack_metadata){0}, &in, &arena);
    for (int i = 0; i < 100; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%05d", (int)index * 100 + i);
        slots[i] = (struct object_slot){i, 1, sim_ref(s, name)};
    }
    object_rack_pack(&body, &(struct object_rack){
                                .meta = {.name = str_of(facts.name),
                                         .uid = str_of(facts.name),
                                         .version = sim_version(s),
                                         .generation = 1,
                                         .labels = meta.labels},
                                .annotations = meta.annotations,
                                .finalizers = {finalizers, 1},
                                .owners = {&owner, 1},
                                .inventory = in.inventory,
                                .profile = {STR("p"), STR("profile-uid")},
                                .profile_generation = 1,
                                .revision = str_of(in.profile->revision),
                                .group = in.group,
                                .index = index,
                                .fabric = str_of(facts.fabric),
                                .slots = slots,
                                .slot_count = 100,
                                .managed = true,
                                .spec_ours = true,
                                .digest = str_of(facts.digest),
                                .status.fields = STR("{}"),
                            });
    sim_frame(s, MSG_RACK, 0, &body);
    arena_fini(&arena);
}

static void
put_large_node(struct sim *s, int i, const char *pool)
{
    char name[16];
    char rack[IDENTITY_NAME_MAX];
    struct arena arena = {0};
    const struct world_rack *r;
    struct projection p;

    snprintf(name, sizeof(name), "n%05d", i);
    identity_rack_name(STR("lab"), STR("lab-uid"), STR("a"), (uint32_t)i / 100,
                       rack);
    r = world_rack(&s->p.world, rack);
    p = project_wanted(&r->o, &r->o.slots[i % 100], true, &arena);
    sim_node(s, &(struct sim_node){.name = name,
                                   .pool = pool,
                                   .assignment = p.annotation.s,
                                   .clique = p.clique});
    arena_fini(&arena);
}

static void
put_large_inventory(struct sim *s)
{
    sim_inventory(s, &(struct sim_inventory){
                         .name = "lab",
                         .groups = "[{\"id\":\"a\",\"count\":1000,"
                                   "\"profileRef\":{\"name\":\"p\"},"
                                   "\"placement\":{\"nodeSelector\":{"
                                   "\"matchLabels\":{\"pool\":\"x\"}}}}]",
                         .generation = 1});
}

/* 1000 racks x 100 bindings, all as it should be. */
static void
begin_large(struct sim *s)
{
    sim_init(s);
    sim_profile(s, "p", 1, 100);
    put_large_inventory(s);
    for (int i = 0; i < LARGE; i++)
        put_large_rack(s, i);
    for (int i = 0; i < NODES; i++)
        put_large_node(s, i, "x");
    arena_fini(&s->arena);
    sim_synced(s);
    /* Statuses, within one plan, and what is news to people. */
    assert_int_equal(s->count - sim_said(s, MSG_EVENT, NULL), LARGE + 3);
    assert_in_range(sim_said(s, MSG_EVENT, NULL), 0, 4);
    assert_int_equal(sim_said(s, MSG_STATUS_WRITE, NULL), LARGE + 1);
    sim_forget(s);
}

/* What was said but statuses. */
static size_t
writes(const struct sim *s)
{
    return s->count - sim_said(s, MSG_STATUS_WRITE, NULL);
}

/* First an event of the group that changes nothing: no rack is looked at.  Then
 * one Node leaves the pool: its rack alone is looked at, its cleanup asked for
 * once, and nothing written before that is seen. */
static void
test_M22_M23_work_is_that_of_the_change(void **state)
{
    uint64_t examined;
    uint64_t evaluations;
    const struct sim_said *asked;
    struct sim s;

    (void)state;
    begin_large(&s);
    examined = s.p.examined;
    evaluations = s.p.alloc.evaluations;
    put_large_inventory(&s);
    sim_batch(&s);
    assert_int_equal(writes(&s), 0);
    assert_int_equal(s.p.examined, examined);
    assert_int_equal(s.p.alloc.evaluations, evaluations);

    put_large_node(&s, 50050, "y");
    sim_batch(&s);
    assert_in_range(s.p.examined - examined, 1,
                    2); /* and once more if touched */
    assert_int_equal(s.p.alloc.evaluations - evaluations, 1);
    assert_int_equal(writes(&s), 1);
    asked = sim_last(&s, MSG_NODE_APPLY, "n50050");
    sim_result(&s, asked, ACTION_NODE, OUTCOME_DONE);
    assert_int_equal(writes(&s), 1);
    sim_node(&s, &(struct sim_node){.name = "n50050", .pool = "y"});
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, NULL), 1);
    assert_in_range(s.p.examined - examined, 2, 6);
    assert_int_equal(s.p.alloc.evaluations - evaluations, 1);
    sim_fini(&s);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S03_place_in_one_pass),
        cmocka_unit_test(test_S03_alloc_in_one_pass),
        cmocka_unit_test(test_S03_placer_in_one_pass),
        cmocka_unit_test(test_M22_M23_work_is_that_of_the_change),
    };

    return cmocka_run_group_tests_name("placer scale", tests, NULL, NULL);
}
