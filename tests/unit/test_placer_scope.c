/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two inventories that have nothing to do with each other: what happens to a
 * Node of one costs its own rack, and what is remembered of Nodes is as much as
 * there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"

enum { RACKS = 20, PER_RACK = 2, NODES = RACKS * PER_RACK };

/* Number i of an inventory; somebody else's clique is on it, or none. */
static void
put_node(struct sim *s, const char *inventory, int i, bool blocked)
{
    char *name = mem_printf("%s%02d", inventory, i);
    struct object_ref ref = sim_ref(s, name);
    struct pair labels[] = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)},
                            {STR("pool"), str_of(inventory)},
                            {STR(LABEL_CLIQUE), STR("theirs")}};
    struct object_node o = {
        .meta = {.name = ref.name,
                 .uid = ref.uid,
                 .version = sim_version(s),
                 .created = 1},
        .annotation = STR(""),
        .rivals = STR(""),
    };
    struct buf body = {0};

    pairs_sort(labels, blocked ? 3 : 2);
    o.meta.labels = (struct pairs){labels, blocked ? 3 : 2, NULL};
    object_node_pack(&body, &o);
    sim_frame(s, MSG_NODE, 0, &body);
    free(name);
}

static void
declare(struct sim *s, const char *name, int64_t created)
{
    char *groups =
        mem_printf("[{\"id\":\"a\",\"count\":%d,\"profileRef\":{\"name\":\"p\"}"
                   ",\"placement\":{\"nodeSelector\":{\"matchLabels\":{"
                   "\"pool\":\"%s\"}}}}]",
                   RACKS, name);

    sim_inventory(s, &(struct sim_inventory){.name = name,
                                             .groups = groups,
                                             .created = created,
                                             .generation = 1});
    free(groups);
}

/* A rack that stands, with its Nodes. */
static void
put_rack(struct sim *s, const char *inventory, int index)
{
    char *names[PER_RACK];
    char digest[RACK_DIGEST];

    sim_digest(s, inventory, "a", index, digest);
    for (int i = 0; i < PER_RACK; i++)
        names[i] = mem_printf("%s%02d", inventory, index * PER_RACK + i);
    sim_rack(s, &(struct sim_rack){.inventory = inventory,
                                   .group = "a",
                                   .index = index,
                                   .slots = PER_RACK,
                                   .nodes = {names[0], names[1]},
                                   .digest = digest});
    for (int i = 0; i < PER_RACK; i++)
        free(names[i]);
}

/* All racks stand; every Node of x is blocked, those of y are asked for. */
static void
start(struct sim *s)
{
    log_hand_to(sim_quiet, NULL);
    sim_init(s);
    sim_profile(s, "p", 1, PER_RACK);
    declare(s, "x", 1);
    declare(s, "y", 2);
    sim_synced(s);
    for (size_t i = 0; i < s->count; i++)
        if (s->said[i].type == MSG_RACK_WRITE)
            sim_result(s, &s->said[i], ACTION_RACK, OUTCOME_DONE);
    for (int i = 0; i < NODES; i++) {
        put_node(s, "x", i, true);
        put_node(s, "y", i, false);
    }
    for (int i = 0; i < RACKS; i++) {
        put_rack(s, "x", i);
        put_rack(s, "y", i);
    }
    sim_batch(s);
}

static void
end(struct sim *s)
{
    sim_fini(s);
    log_hand_to(NULL, NULL);
}

static void
test_P16_outcomes_are_those_of_live_nodes(void **state)
{
    char name[8], uid[16];
    uint64_t examined;
    struct sim s;

    (void)state;
    start(&s);
    assert_int_equal(s.p.told.count, NODES);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, NULL), NODES);
    assert_condition(&s, "x", "Programmed", "False NodeMetadataConflict");
    assert_condition(&s, "y", "Programmed", "False ProjectionIncomplete");
    /* One of them is read again: its own rack. */
    examined = s.p.examined;
    put_node(&s, "x", 7, false);
    sim_batch(&s);
    assert_in_range(s.p.examined - examined, 1, 2);
    assert_int_equal(s.p.told.count, NODES - 1);
    /* They go: nothing is remembered of them. */
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof(name), "x%02d", i);
        snprintf(uid, sizeof(uid), "%s-uid", name);
        sim_gone(&s, KIND_NODE, name, uid);
    }
    sim_batch(&s);
    assert_int_equal(s.p.told.count, 0);
    end(&s);
}

static void
test_W12_one_inventory_is_no_work_of_another(void **state)
{
    uint64_t examined, evaluations;
    struct sim s;

    (void)state;
    start(&s);
    examined = s.p.examined;
    evaluations = s.p.alloc.evaluations;
    sim_forget(&s);
    put_node(&s, "x", 7, false);
    sim_batch(&s);
    assert_in_range(s.p.examined - examined, 1, 2);
    /* No selector but at most those of the two groups. */
    assert_in_range(s.p.alloc.evaluations - evaluations, 0, 2);
    /* The Node itself, its rack's status, its inventory's. */
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, "x07"), 1);
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "x"), 1);
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "y"), 0);
    assert_in_range(s.count, 3, 4);
    end(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P16_outcomes_are_those_of_live_nodes),
        cmocka_unit_test(test_W12_one_inventory_is_no_work_of_another),
    };

    return cmocka_run_group_tests_name("placer scope", tests, NULL, NULL);
}
