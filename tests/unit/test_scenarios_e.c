/* SPDX-License-Identifier: Apache-2.0 */
/* What an event leads to, and what it does not; what allocation costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/lab.h"

/* Two inventories of two groups, which select by pool; a Node in each of the
 * pools x and z, and y and w are empty. */
static void
converge(struct lab *l)
{
    lab_init(l);
    lab_profile(l, "p", 2);
    lab_inventory(l, "one", 1,
                  "[" LAB_POOLED("a", 1, "x") "," LAB_POOLED("b", 1, "y") "]");
    lab_inventory(l, "two", 2,
                  "[" LAB_POOLED("a", 1, "z") "," LAB_POOLED("b", 1, "w") "]");
    lab_node(l, "n1", 1, "x");
    lab_node(l, "n2", 2, "z");
    lab_start(l);
    assert_stands(l, KIND_INVENTORY, "one", "Programmed", "True Programmed");
    assert_stands(l, KIND_INVENTORY, "two", "Programmed", "True Programmed");
    lab_quiet(l);
}

/* Statuses said since, a line each. */
static void
assert_statuses(struct lab *l, const char *wanted)
{
    char *statuses = buf_take(&l->statuses);

    assert_string_equal(statuses, wanted);
    free(statuses);
}

/* ---- what comes -------------------------------------------------------- */

static void
test_E01_what_an_addition_leads_to(void **state)
{
    uint64_t examined;
    uint64_t evaluations;
    struct lab l;

    (void)state;
    converge(&l);
    examined = l.s.p.examined;
    evaluations = l.s.p.alloc.evaluations;
    lab_node(&l, "n3", 3, "y"); /* the groups that it matches */
    lab_batch(&l);
    assert_told(&l, "update one/b/0 n3 -\n");
    assert_int_equal(l.s.p.alloc.evaluations - evaluations, 4);
    assert_in_range(l.s.p.examined - examined, 1, 3);
    lab_settle(&l);
    assert_told(&l, "apply n3 one/b/0/0\n");
    lab_quiet(&l);

    lab_inventory(&l, "three", 3, /* itself alone */
                  "[{\"id\":\"a\",\"count\":1,\"profileRef\":{\"name\":\"q\"},"
                  "\"placement\":{\"nodeSelector\":{\"matchLabels\":{\"pool\":"
                  "\"v\"}}}}]");
    lab_settle(&l);
    assert_told(&l, "finalizer three on\n");
    assert_statuses(&l, "three\nthree\n"); /* the finalizer between them */
    lab_profile(&l, "q", 1);               /* whoever refers to it */
    lab_settle(&l);
    assert_told(&l, "create three/a/0 -\n");
    lab_fini(&l);
}

/* A rack of ours that comes bound, as after a restore: its slots are applied,
 * and its group gets what is free in it. */
static void
test_E01_E03_a_rack_comes(void **state)
{
    json_t *standing;
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "one", "a", 0);
    standing = json_incref(lab_find(&l, KIND_RACK, rack));
    lab_project(&l, "n1", NULL, "");
    lab_node(&l, "n4", 4, "x");
    json_object_del(l.objects[KIND_RACK], rack);
    l.held = MSG_RACK_WRITE;
    lab_restart(&l);
    assert_told(&l, "create one/a/0 n1 n4\n");
    json_object_set_new(l.objects[KIND_RACK], rack, standing);
    lab_changed(&l, KIND_RACK, rack);
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "apply n1 one/a/0/0\n"
                    "update one/a/0 n1 n4\n"
                    "apply n4 one/a/0/1\n");
    assert_bound(&l, lab_rack(&l, "two", "a", 0), "n2 -");
    lab_fini(&l);
}

static void
test_E04_a_bound_node_returns(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    l.held = MSG_NODE_APPLY;
    lab_label(&l, "n1", LABEL_ELIGIBLE, NULL);
    lab_settle(&l);
    assert_told(&l, "release n1\n");
    lab_project(&l, "n1", NULL, ""); /* carried out, the answer is late */
    lab_label(&l, "n1", LABEL_ELIGIBLE, LABEL_TRUE);
    lab_settle(&l);
    assert_told(&l, "apply n1 one/a/0/0\n");
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "");
    assert_stands(&l, KIND_INVENTORY, "one", "Programmed", "True Programmed");

    /* Under the same name, another: the slot is not its own. */
    lab_remove(&l, KIND_NODE, "n1");
    lab_node(&l, "n1", 1, "v");
    lab_settle(&l);
    assert_told(&l, "update one/a/0 - -\n");
    assert_at(&l, KIND_NODE, "n1", "ours", "0");
    lab_fini(&l);
}

/* ---- what changes ------------------------------------------------------ */

static void
test_E02_what_leads_to_nothing(void **state)
{
    uint64_t evaluations;
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "one", "a", 0);
    evaluations = l.s.p.alloc.evaluations;
    lab_changed(&l, KIND_PROFILE, "p");
    lab_changed(&l, KIND_INVENTORY, "one");
    lab_changed(&l, KIND_NODE, "n1");
    lab_changed(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_silent(&l);
    lab_edit(&l, KIND_RACK, rack, "metadata.finalizers",
             "[\"mokka.nvidia.com/rack-cleanup\",\"theirs/keep\"]");
    lab_edit(&l, KIND_INVENTORY, "one", "metadata.finalizers",
             "[\"mokka.nvidia.com/inventory-cleanup\",\"theirs/keep\"]");
    lab_edit(&l, KIND_INVENTORY, "one", "metadata.labels", "{\"a\":\"b\"}");
    lab_settle(&l);
    assert_silent(&l);
    assert_int_equal(l.s.p.alloc.evaluations, evaluations);
    lab_fini(&l);
}

/* The rack and its inventory are told, nobody else, and nothing is written. */
static void
test_E06_somebody_takes_a_projected_key(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    lab_edit(&l, KIND_NODE, "n1", "foreign", "2");
    lab_settle(&l);
    assert_told(&l, "");
    assert_statuses(&l, "one/a/0\none\n");
    assert_stands(&l, KIND_RACK, lab_rack(&l, "one", "a", 0), "Ready",
                  "False NodeMetadataConflict");
    lab_fini(&l);
}

static void
test_E11_bindings_and_templates(void **state)
{
    uint64_t examined;
    uint64_t evaluations;
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "one", "a", 0);
    examined = l.s.p.examined;
    evaluations = l.s.p.alloc.evaluations;
    lab_edit(&l, KIND_RACK, rack, "spec.nodes.0.nodeRef", NULL);
    lab_batch(&l);
    assert_told(&l, "update one/a/0 n1 -\n");
    assert_in_range(l.s.p.examined - examined, 1, 3);
    assert_in_range(l.s.p.alloc.evaluations - evaluations, 0, 4);
    lab_settle(&l);
    assert_told(&l, "");
    lab_quiet(&l);
    lab_edit(&l, KIND_RACK, rack, "spec.profileRef.revision", "\"other\"");
    lab_settle(&l);
    assert_told(&l, "update one/a/0 n1 -\n");
    lab_fini(&l);
}

static void
test_E12_a_freed_node_goes_to_another_group(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    lab_label(&l, "n1", "pool", "w");
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "update one/a/0 - -\n"
                    "update two/b/0 n1 -\n"
                    "apply n1 two/b/0/0\n");
    lab_fini(&l);
}

/* ---- what goes --------------------------------------------------------- */

static void
test_E10_a_late_delete_of_an_inventory(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    sim_gone(&l.s, KIND_INVENTORY, "one", "the-uid-of-an-older-one");
    lab_settle(&l);
    assert_silent(&l);
    lab_node(&l, "n3", 3, "y"); /* it is still there */
    lab_settle(&l);
    assert_told(&l, "update one/b/0 n3 -\n"
                    "apply n3 one/b/0/0\n");
    lab_fini(&l);
}

/* ---- capacity ---------------------------------------------------------- */

/* A rack of an inventory that is no more, of so many slots, bound or not. */
static void
vanished(struct lab *l, int slots, const char *node)
{
    for (int i = 0; i <= slots / 1024; i++)
        sim_rack(&l->s, &(struct sim_rack){
                            .inventory = "vanished",
                            .group = "a",
                            .index = i,
                            .slots = i < slots / 1024 ? 1024 : slots % 1024,
                            .nodes = {i == 0 ? node : NULL},
                        });
}

static void
test_E13_a_rack_changes_its_size(void **state)
{
    uint64_t examined;
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 2);
    vanished(&l, MAX_NODES - 1, NULL);
    lab_inventory(&l, "lab", 1, "[" LAB_GROUP("a", 1) "]");
    lab_start(&l);
    assert_told(&l, "");
    assert_stands(&l, KIND_INVENTORY, "lab", "Accepted",
                  "False CapacityExceeded");
    lab_quiet(&l);
    examined = l.s.p.examined;
    sim_rack(&l.s, &(struct sim_rack){.inventory = "vanished",
                                      .group = "a",
                                      .slots = 1024,
                                      .nodes = {"n9"}});
    lab_settle(&l);
    assert_silent(&l);
    assert_in_range(l.s.p.examined - examined, 1, 2);
    sim_rack(&l.s, &(struct sim_rack){
                       .inventory = "vanished", .group = "a", .slots = 1023});
    lab_settle(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/a/0 - -\n");
    lab_fini(&l);
}

static char *
groups_of(int count)
{
    struct buf groups = {0};

    for (int i = 0; i < 64; i++)
        buf_printf(&groups,
                   "%c{\"id\":\"g%02d\",\"count\":%d,\"profileRef\":{\"name\":"
                   "\"p\"}}",
                   i == 0 ? '[' : ',', i, count);
    buf_addc(&groups, ']');
    return buf_take(&groups);
}

/* 64 groups of 100000 racks each are not expanded; nor is the most that there
 * may be, by an event of their inventory. */
static void
test_E14_groups_are_not_expanded(void **state)
{
    char *too_many = groups_of(100000);
    char *many = groups_of(1562);
    uint64_t examined;
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_inventory(&l, "lab", 1, too_many);
    lab_start(&l);
    assert_int_equal(l.s.p.plan.racks.count, 0);
    assert_int_equal(l.s.p.examined, 0);
    json_put(lab_find(&l, KIND_INVENTORY, "lab"), "spec.rackGroups",
             json_text(many));
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.a", "1");
    l.held = MSG_FINALIZER;
    lab_settle(&l);
    assert_int_equal(l.s.p.plan.racks.count, 64 * 1562);
    examined = l.s.p.examined;
    lab_changed(&l, KIND_INVENTORY, "lab");
    lab_settle(&l);
    assert_int_equal(l.s.p.examined, examined);
    free(too_many);
    free(many);
    lab_fini(&l);
}

/* ---- what is none ------------------------------------------------------ */

/* Such a frame ends the link; what stands stays as it was. */
static void
test_E15_what_is_no_object(void **state)
{
    static const uint16_t types[] = {MSG_RACK, MSG_NODE, MSG_INVENTORY,
                                     MSG_PROFILE, MSG_HELLO};
    struct lab l;

    (void)state;
    converge(&l);
    for (size_t i = 0; i < nitems(types); i++) {
        struct buf body = {0};
        struct unpacked *u;
        struct err err = {""};

        pack_array(&body, 1);
        pack_text(&body, "no object");
        u = unpack_body(buf_str(&body), NULL);
        assert_int_equal(
            placer_frame(&l.s.p, types[i], 0, unpacked_root(u), &err), -1);
        assert_string_not_equal(err.text, "");
        unpacked_free(u);
        buf_fini(&body);
    }
    lab_settle(&l);
    assert_silent(&l);
    lab_fini(&l);
}

/* ---- allocation -------------------------------------------------------- */

/* Selectors are asked for labels, a deletion, a new uid; not for our echo. */
static void
test_C05_what_moves_the_allocation(void **state)
{
    uint64_t before;
    struct lab l;

    (void)state;
    converge(&l);
    before = l.s.p.alloc.evaluations;
    lab_node(&l, "n3", 3, "x");
    lab_settle(&l);
    assert_told(&l, "update one/a/0 n1 n3\n"
                    "apply n3 one/a/0/1\n");
    /* When it came, and when it was bound: not when it was projected. */
    assert_in_range(l.s.p.alloc.evaluations - before, 4, 6);
    before = l.s.p.alloc.evaluations;
    lab_changed(&l, KIND_NODE, "n3");
    lab_settle(&l);
    assert_int_equal(l.s.p.alloc.evaluations, before);
    lab_label(&l, "n3", "other", "label");
    lab_settle(&l);
    assert_int_equal(l.s.p.alloc.evaluations - before, 4);
    before = l.s.p.alloc.evaluations;
    lab_edit(&l, KIND_NODE, "n3", "metadata.deletionTimestamp",
             "\"2026-01-02T03:04:05Z\"");
    lab_batch(&l);
    assert_told(&l, "release n3\n");
    assert_in_range(l.s.p.alloc.evaluations - before, 1, 4);
    lab_settle(&l);
    lab_quiet(&l);
    before = l.s.p.alloc.evaluations;
    lab_remove(&l, KIND_NODE, "n3");
    lab_node(&l, "n3", 3, "x");
    lab_batch(&l);
    assert_told(&l, "update one/a/0 n1 n3\n");
    assert_in_range(l.s.p.alloc.evaluations - before, 4, 6);
    lab_fini(&l);
}

/* However much changes in a batch, it is planned once, at its end; an answer
 * that comes in the middle of it waits. */
static void
test_C06_one_plan_for_one_state(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    l.held = MSG_NODE_APPLY;
    lab_node(&l, "n3", 3, "y");
    lab_settle(&l);
    assert_told(&l, "update one/b/0 n3 -\n"
                    "apply n3 one/b/0/0\n");
    lab_node(&l, "n4", 4, "y");
    lab_node(&l, "n5", 5, "x");
    lab_feed(&l);
    lab_answer(&l, MSG_NODE_APPLY, "n3", OUTCOME_STALE, "");
    assert_told(&l, "");
    lab_label(&l, "n5", "pool", "y");
    lab_label(&l, "n4", "pool", "x");
    lab_feed(&l);
    assert_told(&l, "");
    lab_settle(&l);
    assert_told(&l, "update one/a/0 n1 n4\n"
                    "update one/b/0 n3 n5\n"
                    "apply n4 one/a/0/1\n"
                    "apply n5 one/b/0/1\n");
    lab_fini(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_E01_what_an_addition_leads_to),
        cmocka_unit_test(test_E01_E03_a_rack_comes),
        cmocka_unit_test(test_E02_what_leads_to_nothing),
        cmocka_unit_test(test_E04_a_bound_node_returns),
        cmocka_unit_test(test_E06_somebody_takes_a_projected_key),
        cmocka_unit_test(test_E10_a_late_delete_of_an_inventory),
        cmocka_unit_test(test_E11_bindings_and_templates),
        cmocka_unit_test(test_E12_a_freed_node_goes_to_another_group),
        cmocka_unit_test(test_E13_a_rack_changes_its_size),
        cmocka_unit_test(test_E14_groups_are_not_expanded),
        cmocka_unit_test(test_E15_what_is_no_object),
        cmocka_unit_test(test_C05_what_moves_the_allocation),
        cmocka_unit_test(test_C06_one_plan_for_one_state),
    };

    return cmocka_run_group_tests_name("scenarios E, C", tests, NULL, NULL);
}
