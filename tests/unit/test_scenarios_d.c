/* SPDX-License-Identifier: Apache-2.0 */
/* Retirement, finalizers, deletion: what the feed tells, what the placer says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/lab.h"

/* Nodes n1, n2, n3 of pool x, for these groups. */
static void
converge(struct lab *l, const char *groups)
{
    lab_init(l);
    lab_profile(l, "p", 2);
    lab_inventory(l, "lab", 1, groups);
    lab_node(l, "n1", 1, "x");
    lab_node(l, "n2", 2, "x");
    lab_node(l, "n3", 3, "x");
    lab_start(l);
    lab_quiet(l);
}

/* How often a line was told. */
static int
count_told(const struct lab *l, const char *line)
{
    struct str told = buf_str(&l->told);
    size_t n = strlen(line);
    int count = 0;

    for (size_t i = 0; i + n <= told.n; i++)
        count += memcmp(told.s + i, line, n) == 0;
    return count;
}

/* ---- retirement -------------------------------------------------------- */

static void
test_D02_a_bound_slot_outlives_its_profile(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 1) "]");
    rack = lab_rack(&l, "lab", "a", 0);
    l.held = MSG_NODE_APPLY;
    lab_edit(&l, KIND_PROFILE, "p", "spec.rack.nodesPerRack", "1");
    lab_settle(&l);
    assert_int_equal(count_told(&l, "release n2\n"), 1);
    assert_int_equal(count_told(&l, "release"), 1);
    assert_bound(&l, rack, "n1 n2");
    l.held = 0;
    lab_settle(&l);
    assert_bound(&l, rack, "n1");
    assert_int_equal(count_told(&l, "release"), 1);
    assert_int_equal(count_told(&l, "delete"), 0);
    assert_stands(&l, KIND_RACK, rack, "Ready", "True Ready");
    lab_fini(&l);
}

static void
test_D03_a_group_that_is_removed(void **state)
{
    struct lab l;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 2) "," LAB_POOLED("b", 1, "y") "]");
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups",
             "[" LAB_POOLED("b", 1, "y") "]");
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "release n2\n"
                    "release n3\n"
                    "delete lab/a/0\n"
                    "delete lab/a/1\n");
    for (int i = 0; i < 2; i++)
        assert_retired(&l, lab_rack(&l, "lab", "a", i), "GroupRemoved");
    assert_int_equal(json_object_size(l.objects[KIND_RACK]), 1);
    lab_fini(&l);
}

/* Ours, but under a wrong name, or of a negative index and bound. */
static void
test_D04_racks_out_of_place(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l, "[" LAB_POOLED("a", 1, "y") "]");
    rack = lab_rack(&l, "lab", "a", 0);
    lab_copy_rack(&l, rack, "odd");
    lab_copy_rack(&l, rack, "negative");
    lab_edit(&l, KIND_RACK, "negative", "spec.identity.rackIndex", "-1");
    json_put(lab_find(&l, KIND_RACK, "negative"), "spec.nodes.0.nodeRef",
             json_pack("{s:s,s:s}", "name", "n1", "uid",
                       lab_uid(&l, KIND_NODE, "n1")));
    lab_settle(&l);
    assert_told(&l, "delete odd\n"
                    "release n1\n" /* it is read, and left as it is */
                    "delete negative\n");
    assert_retired(&l, "odd", "GroupRemoved");
    assert_retired(&l, "negative", "GroupRemoved");
    assert_non_null(lab_find(&l, KIND_RACK, rack));
    lab_fini(&l);
}

/* ---- the inventory goes ------------------------------------------------ */

static void
test_D05_an_inventory_is_deleted(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 2) "]");
    rack = lab_rack(&l, "lab", "a", 0);
    lab_delete(&l, KIND_INVENTORY, "lab");
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "release n2\n"
                    "release n3\n"
                    "delete lab/a/0\n"
                    "delete lab/a/1\n"
                    "finalizer lab off\n");
    assert_retired(&l, rack, "InventoryDeleting");
    lab_fini(&l);
}

static void
test_D07_racks_that_others_keep(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 1) "]");
    rack = lab_rack(&l, "lab", "a", 0);
    lab_edit(&l, KIND_RACK, rack, "metadata.finalizers",
             "[\"mokka.nvidia.com/rack-cleanup\",\"theirs/keep\"]");
    lab_delete(&l, KIND_INVENTORY, "lab");
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "release n2\n"
                    "delete lab/a/0\n");
    assert_at(&l, KIND_RACK, rack, "metadata.finalizers", "[\"theirs/keep\"]");
    lab_changed(&l, KIND_RACK, rack);
    lab_changed(&l, KIND_INVENTORY, "lab");
    lab_settle(&l);
    assert_told(&l, "");
    lab_remove(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_told(&l, "finalizer lab off\n");
    lab_fini(&l);
}

static void
test_D13_an_invalid_inventory_is_deleted(void **state)
{
    struct lab l;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 2) "]");
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups.0.id",
             "\"not a label\"");
    lab_settle(&l);
    assert_told(&l, "");
    assert_stands(&l, KIND_INVENTORY, "lab", "Accepted",
                  "False InvalidInventory");
    lab_delete(&l, KIND_INVENTORY, "lab");
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "release n2\n"
                    "release n3\n"
                    "delete lab/a/0\n"
                    "delete lab/a/1\n"
                    "finalizer lab off\n");
    lab_fini(&l);
}

/* ---- Nodes that change under a binding --------------------------------- */

/* The slot frees without a look at the newcomer, which may then have it. */
static void
test_D11_another_node_of_the_same_name(void **state)
{
    struct lab l;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 2) "]");
    lab_delete(&l, KIND_NODE, "n2");
    lab_node(&l, "n2", 9, "x");
    lab_settle(&l);
    assert_int_equal(count_told(&l, "release"), 0);
    assert_told(&l, "update lab/a/1 n3 n2\n"
                    "update lab/a/0 n1 -\n"
                    "apply n2 lab/a/1/1\n");
    lab_fini(&l);

    /* No other slot is free: the old one. */
    converge(&l, "[" LAB_GROUP("a", 1) "]");
    lab_delete(&l, KIND_NODE, "n3");
    lab_delete(&l, KIND_NODE, "n2");
    lab_node(&l, "n2", 9, "x");
    lab_settle(&l);
    assert_told(&l, "update lab/a/0 n1 -\n"
                    "update lab/a/0 n1 n2\n"
                    "apply n2 lab/a/0/1\n");
    assert_at(&l, KIND_NODE, "n2", "ours", "7");
    lab_fini(&l);
}

static void
leave_pool(struct lab *l)
{
    lab_label(l, "n2", "pool", "z");
}

static void
leave_feed(struct lab *l)
{
    lab_label(l, "n2", LABEL_ELIGIBLE, NULL);
}

static void
go_away(struct lab *l)
{
    lab_remove(l, KIND_NODE, "n2");
}

static void
come_anew(struct lab *l)
{
    lab_remove(l, KIND_NODE, "n2");
    lab_node(l, "n2", 9, "z");
}

/* Whoever leads next asks for the same cleanup before it takes the slot; a Node
 * that is another needs none. */
static void
test_D12_a_restart_in_the_middle_of_a_release(void **state)
{
    static const struct {
        void (*leave)(struct lab *l);
        const char *asked; /* before the rack is written */
    } rows[] = {
        {leave_pool, "release n2\n"},
        {leave_feed, "release n2\n"},
        {go_away, "release n2\n"},
        {come_anew, ""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct lab l;

        converge(&l, "[" LAB_POOLED("a", 2, "x") "]");
        l.held = *rows[i].asked == '\0' ? MSG_RACK_WRITE : MSG_NODE_APPLY;
        rows[i].leave(&l);
        lab_settle(&l);
        if (l.held == MSG_NODE_APPLY)
            assert_told(&l, rows[i].asked);
        else
            assert_told(&l, "update lab/a/0 n1 -\n");
        lab_restart(&l);
        if (l.held == MSG_NODE_APPLY)
            assert_told(&l, rows[i].asked);
        assert_bound(&l, lab_rack(&l, "lab", "a", 0), "n1 n2");
        l.held = 0;
        lab_settle(&l);
        assert_told(&l, "update lab/a/0 n1 -\n");
        assert_bound(&l, lab_rack(&l, "lab", "a", 0), "n1 -");
        lab_fini(&l);
    }
}

static void
test_D12_a_restart_in_the_middle_of_a_retirement(void **state)
{
    struct lab l;

    (void)state;
    converge(&l, "[" LAB_GROUP("a", 2) "]");
    l.held = MSG_NODE_APPLY;
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups.0.count", "1");
    lab_settle(&l);
    assert_told(&l, "release n3\n");
    lab_restart(&l);
    assert_told(&l, "release n3\n");
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "delete lab/a/1\n");
    lab_fini(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_D02_a_bound_slot_outlives_its_profile),
        cmocka_unit_test(test_D03_a_group_that_is_removed),
        cmocka_unit_test(test_D04_racks_out_of_place),
        cmocka_unit_test(test_D05_an_inventory_is_deleted),
        cmocka_unit_test(test_D07_racks_that_others_keep),
        cmocka_unit_test(test_D11_another_node_of_the_same_name),
        cmocka_unit_test(test_D12_a_restart_in_the_middle_of_a_release),
        cmocka_unit_test(test_D12_a_restart_in_the_middle_of_a_retirement),
        cmocka_unit_test(test_D13_an_invalid_inventory_is_deleted),
    };

    return cmocka_run_group_tests_name("scenarios D", tests, NULL, NULL);
}
