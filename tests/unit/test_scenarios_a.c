/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity admission: what the feed tells, what the placer says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/lab.h"

#define ZERO "{\"gpus\":0,\"nodes\":0,\"racks\":0}"

/* So many groups of one rack each. */
static void
declare_groups(struct lab *l, const char *name, int created, int count)
{
    struct buf groups = {0};
    char *list;

    for (int i = 0; i < count; i++)
        buf_printf(&groups,
                   "%c{\"id\":\"g%02d\",\"count\":1,\"profileRef\":{\"name\":"
                   "\"p\"}}",
                   i == 0 ? '[' : ',', i);
    buf_addc(&groups, ']');
    list = buf_take(&groups);
    lab_inventory(l, name, created, list);
    free(list);
}

/* Racks of an inventory that is no more leave so many Nodes of the envelope to
 * others. */
static void
leave_room(struct lab *l, int nodes)
{
    const int ballast = MAX_NODES - nodes;

    for (int i = 0; i <= ballast / 1024; i++)
        sim_rack(&l->s, &(struct sim_rack){
                            .inventory = "vanished",
                            .group = "a",
                            .index = i,
                            .slots = i < ballast / 1024 ? 1024 : ballast % 1024,
                        });
}

/* Nodes n1, n2, ... in a pool. */
static void
add_nodes(struct lab *l, int count, const char *pool)
{
    for (int i = 1; i <= count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        lab_node(l, name, i, pool);
    }
}

static void
assert_accepted(const struct lab *l, const char *inventory, const char *wanted)
{
    assert_stands(l, KIND_INVENTORY, inventory, "Accepted", wanted);
}

/* ---- the envelope ------------------------------------------------------ */

static void
profile_of_64_gpus(struct lab *l)
{
    json_t *slots = json_array();
    char *text;

    for (int i = 0; i < 64; i++) {
        char pci[16];
        char root[16];

        snprintf(pci, sizeof(pci), "0000:%02x:00.0", i);
        snprintf(root, sizeof(root), "pci0000:%02x", i);
        json_array_append_new(slots, json_pack("{s:i,s:s,s:s}", "index", i,
                                               "pciAddress", pci, "rootComplex",
                                               root));
    }
    text = json_dumps(slots, 0);
    lab_profile(l, "p", 1);
    lab_edit(l, KIND_PROFILE, "p", "spec.node.gpus.count", "64");
    lab_edit(l, KIND_PROFILE, "p", "spec.node.topology.gpuSlots", text);
    free(text);
    json_decref(slots);
}

static void
test_A01_the_whole_envelope(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    profile_of_64_gpus(&l);
    lab_inventory(&l, "lab", 1, "[" LAB_GROUP("a", 100000) "]");
    l.held = MSG_FINALIZER; /* no rack is made */
    lab_start(&l);
    assert_int_equal(l.s.p.plan.racks.count, 100000);
    assert_accepted(&l, "lab", "True Accepted");
    assert_at(&l, KIND_INVENTORY, "lab", "status.capacity",
              "{\"gpus\":6400000,\"nodes\":100000,\"racks\":100000}");
    lab_fini(&l);
}

static void
test_A02_more_than_the_envelope(void **state)
{
    static const struct {
        int per_rack;
        const char *groups;
    } rows[] = {
        {1, "[" LAB_GROUP("a", 100000) "," LAB_GROUP("b", 1) "]"},
        {11, "[" LAB_GROUP("a", 9091) "]"}, /* 100001 Nodes */
        {1024, "[" LAB_GROUP("a", 100000) "]"},
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct lab l;

        lab_init(&l);
        lab_profile(&l, "p", rows[i].per_rack);
        lab_inventory(&l, "lab", 1, rows[i].groups);
        lab_start(&l);
        assert_told(&l, "");
        assert_accepted(&l, "lab", "False CapacityExceeded");
        assert_at(&l, KIND_INVENTORY, "lab", "status.capacity", ZERO);
        lab_fini(&l);
    }
    /* GPUs alone cannot exceed it, whatever a profile says. */
    assert_int_equal(
        capacity_check((struct capacity){1, 1, INT64_C(2147483647)}, &err), 0);
    assert_int_equal(
        capacity_check((struct capacity){1, 1, INT64_C(2147483648)}, &err), -1);
}

static void
test_A03_too_many_racks_before_any_profile(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_inventory(&l, "lab", 1,
                  "[{\"id\":\"a\",\"count\":100000,\"profileRef\":{\"name\":"
                  "\"none\"}}," LAB_GROUP("b", 1) "]");
    add_nodes(&l, 2, NULL);
    lab_start(&l);
    assert_told(&l, "");
    assert_accepted(&l, "lab", "False CapacityExceeded");
    assert_at(&l, KIND_INVENTORY, "lab", "status.capacity", ZERO);
    assert_int_equal(l.s.p.alloc.group_count, 0);
    lab_fini(&l);
}

/* ---- who comes first --------------------------------------------------- */

static void
test_A07_sixty_four_groups(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    declare_groups(&l, "old", 1, 64);
    declare_groups(&l, "young", 2, 1);
    lab_start(&l);
    assert_int_equal(json_object_size(l.objects[KIND_RACK]), 64);
    assert_accepted(&l, "old", "True Accepted");
    assert_accepted(&l, "young", "False CapacityExceeded");
    lab_quiet(&l);
    l.held = MSG_RACK_DELETE;
    lab_delete(&l, KIND_INVENTORY, "old");
    lab_settle(&l);
    l.held = 0;
    lab_quiet(&l);
    lab_settle(&l);
    assert_null(lab_find(&l, KIND_INVENTORY, "old"));
    assert_accepted(&l, "young", "True Accepted");
    assert_int_equal(json_object_size(l.objects[KIND_RACK]), 1);
    lab_fini(&l);
}

/* An incumbent is displaced by one of the same age whose name sorts first. */
static void
test_A08_equal_ages(void **state)
{
    const struct admit_inventory a = {.ref = {STR("x"), STR("1")}};
    const struct admit_inventory b = {.ref = {STR("x"), STR("2")}};
    struct lab l;

    (void)state;
    assert_true(admit_cmp(&a, &b) < 0);
    lab_init(&l);
    lab_profile(&l, "p", 1);
    declare_groups(&l, "b", 1, 40);
    lab_start(&l);
    assert_accepted(&l, "b", "True Accepted");
    lab_quiet(&l);
    declare_groups(&l, "a", 1, 40);
    lab_settle(&l);
    assert_accepted(&l, "a", "True Accepted");
    assert_accepted(&l, "b", "False CapacityExceeded");
    assert_non_null(lab_find(&l, KIND_RACK, lab_rack(&l, "a", "g00", 0)));
    assert_null(lab_find(&l, KIND_RACK, lab_rack(&l, "b", "g00", 0)));
    lab_fini(&l);
}

/* ---- handing over ------------------------------------------------------ */

/* The older one waits for the room that the younger has: nothing is written of
 * it, not even its finalizer, while a rack of the younger stands. */
static void
test_A09_A10_displaced_racks_go_first(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 2);
    leave_room(&l, 4);
    lab_inventory(&l, "young", 2, "[" LAB_GROUP("a", 2) "]");
    add_nodes(&l, 3, NULL);
    lab_start(&l);
    lab_quiet(&l);
    l.held = MSG_NODE_APPLY;
    lab_inventory(&l, "old", 1, "[" LAB_GROUP("a", 2) "]");
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "release n2\n"
                    "release n3\n");
    assert_accepted(&l, "young", "False CapacityExceeded");
    assert_accepted(&l, "old", "True Accepted");
    assert_stands(&l, KIND_INVENTORY, "old", "Programmed",
                  "False RacksPending");
    lab_carry(&l, MSG_NODE_APPLY, "n3");
    lab_settle(&l);
    assert_told(&l, "delete young/a/1\n");
    assert_retired(&l, lab_rack(&l, "young", "a", 1), "CapacityRejected");
    assert_stands(&l, KIND_INVENTORY, "old", "Programmed",
                  "False RacksPending");
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "delete young/a/0\n"
                    "finalizer old on\n"
                    "create old/a/0 n1 n2\n"
                    "create old/a/1 n3 -\n"
                    "apply n1 old/a/0/0\n"
                    "apply n2 old/a/0/1\n"
                    "apply n3 old/a/1/0\n");
    lab_fini(&l);
}

/* Room comes two Nodes at a time: the one that needs four holds up the one
 * behind it, which would fit. */
static void
test_A11_growers_in_their_order(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 2);
    leave_room(&l, 8);
    lab_inventory(&l, "old", 1, "[" LAB_POOLED("a", 4, "x") "]");
    add_nodes(&l, 8, "x");
    lab_start(&l);
    l.held = MSG_NODE_APPLY;
    lab_inventory(&l, "large", 2, "[" LAB_POOLED("a", 2, "y") "]");
    lab_inventory(&l, "small", 3, "[" LAB_POOLED("a", 1, "y") "]");
    lab_settle(&l);
    assert_accepted(&l, "small", "False CapacityExceeded");
    lab_quiet(&l);
    lab_edit(&l, KIND_INVENTORY, "old", "spec.rackGroups.0.count", "1");
    lab_settle(&l);
    assert_told(&l, "release n3\n"
                    "release n4\n"
                    "release n5\n"
                    "release n6\n"
                    "release n7\n"
                    "release n8\n");
    for (int i = 0; i < 3; i++) {
        static const char *const pairs[][2] = {
            {"n7", "n8"}, {"n5", "n6"}, {"n3", "n4"}};
        static const char *const wanted[] = {
            "delete old/a/3\n",
            "delete old/a/2\n"
            "finalizer large on\n"
            "create large/a/0 - -\n"
            "create large/a/1 - -\n",
            "delete old/a/1\n"
            "finalizer small on\n"
            "create small/a/0 - -\n",
        };

        lab_carry(&l, MSG_NODE_APPLY, pairs[i][0]);
        lab_carry(&l, MSG_NODE_APPLY, pairs[i][1]);
        lab_settle(&l);
        assert_told(&l, wanted[i]);
    }
    lab_fini(&l);
}

/* With a group that is resolved beside the one that is not, and without. */
static void
test_A12_what_stands_is_charged(void **state)
{
    static const char *const groups[] = {
        "[{\"id\":\"q\",\"count\":1,\"profileRef\":{\"name\":\"q\"}}]",
        "[{\"id\":\"q\",\"count\":1,\"profileRef\":{\"name\":\"q\"}}"
        "," LAB_GROUP("a", 1) "]",
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lab l;

        lab_init(&l);
        lab_profile(&l, "p", 2);
        lab_profile(&l, "q", 2);
        leave_room(&l, 4 + 2 * i);
        lab_inventory(&l, "old", 1, groups[i]);
        lab_start(&l);
        lab_delete(&l, KIND_PROFILE, "q");
        lab_inventory(&l, "young", 2, "[" LAB_GROUP("a", 2) "]");
        lab_quiet(&l);
        lab_settle(&l);
        assert_told(&l, "");
        assert_accepted(&l, "old", "True Accepted");
        assert_accepted(&l, "young", "False CapacityExceeded");
        lab_edit(&l, KIND_INVENTORY, "young", "spec.rackGroups.0.count", "1");
        lab_settle(&l);
        assert_told(&l, "finalizer young on\n"
                        "create young/a/0 - -\n");
        lab_fini(&l);
    }
}

/* Growth waits until what is released in the same inventory is clean; the Node
 * follows when its old binding is gone. */
static void
test_A14_a_profile_grows_while_a_rack_goes(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_inventory(&l, "lab", 1, "[" LAB_GROUP("a", 2) "]");
    add_nodes(&l, 2, NULL);
    lab_start(&l);
    lab_quiet(&l);
    l.held = MSG_NODE_APPLY;
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups.0.count", "1");
    lab_edit(&l, KIND_PROFILE, "p", "spec.rack.nodesPerRack", "2");
    lab_settle(&l);
    assert_told(&l, "release n2\n");
    l.held = 0;
    lab_settle(&l);
    assert_bound(&l, lab_rack(&l, "lab", "a", 0), "n1 n2");
    assert_told(&l, "delete lab/a/1\n"
                    "update lab/a/0 n1 -\n"
                    "apply n1 lab/a/0/0\n"
                    "update lab/a/0 n1 n2\n"
                    "apply n2 lab/a/0/1\n");
    lab_fini(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_A14_a_profile_grows_while_a_rack_goes),
        cmocka_unit_test(test_A01_the_whole_envelope),
        cmocka_unit_test(test_A02_more_than_the_envelope),
        cmocka_unit_test(test_A03_too_many_racks_before_any_profile),
        cmocka_unit_test(test_A07_sixty_four_groups),
        cmocka_unit_test(test_A08_equal_ages),
        cmocka_unit_test(test_A09_A10_displaced_racks_go_first),
        cmocka_unit_test(test_A11_growers_in_their_order),
        cmocka_unit_test(test_A12_what_stands_is_charged),
    };

    return cmocka_run_group_tests_name("scenarios A", tests, NULL, NULL);
}
