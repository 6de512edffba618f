/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership conflicts: what the feed tells, what the placer says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/lab.h"

/* Rack 0 of two has a name that somebody else's has. */
static const char *
converge(struct lab *l)
{
    const char *rack;

    lab_init(l);
    lab_profile(l, "p", 1);
    lab_inventory(l, "lab", 1, "[" LAB_GROUP("a", 2) "]");
    rack = lab_rack(l, "lab", "a", 0);
    lab_foreign_rack(l, rack);
    lab_start(l);
    return rack;
}

static void
assert_conflict(const struct lab *l)
{
    assert_stands(l, KIND_INVENTORY, "lab", "Programmed",
                  "False RackOwnershipConflict");
}

static void
test_O01_somebody_elses_rack(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    rack = converge(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/a/1 -\n");
    assert_conflict(&l);
    assert_null(json_at(lab_find(&l, KIND_RACK, rack), "status"));
    assert_at(&l, KIND_RACK, rack, "metadata.ownerReferences.0.uid",
              "\"other-uid\"");
    lab_fini(&l);
}

/* The answer to the creation tells of it before the feed does. */
static void
test_O01_found_by_the_creation(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_inventory(&l, "lab", 1, "[" LAB_GROUP("a", 1) "]");
    l.held = MSG_RACK_WRITE;
    lab_start(&l);
    rack = lab_rack(&l, "lab", "a", 0);
    lab_foreign_rack(&l, rack);
    lab_carry(&l, MSG_RACK_WRITE, rack);
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/a/0 -\n");
    assert_conflict(&l);
    lab_fini(&l);
}

static void
test_O02_a_conflict_is_quiet(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    rack = converge(&l);
    lab_quiet(&l);
    for (int i = 0; i < 10; i++) {
        lab_changed(&l, KIND_RACK, rack);
        lab_changed(&l, KIND_INVENTORY, "lab");
        lab_settle(&l);
        assert_silent(&l);
    }
    lab_fini(&l);
}

static void
test_O03_the_other_rack_goes(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    rack = converge(&l);
    lab_quiet(&l);
    lab_remove(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_told(&l, "create lab/a/0 -\n");
    assert_stands(&l, KIND_INVENTORY, "lab", "Programmed", "True Programmed");
    lab_fini(&l);
}

/* What goes is one that had the name before. */
static void
test_O05_a_late_delete(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    rack = converge(&l);
    lab_quiet(&l);
    sim_gone(&l.s, KIND_RACK, rack, "the-uid-of-an-older-one");
    lab_settle(&l);
    assert_silent(&l);
    assert_non_null(world_rack(&l.s.p.world, rack));
    assert_conflict(&l);
    lab_fini(&l);
}

/* Who waited for the name was another instance, or is not declared any more. */
static void
test_O09_claims_of_the_past(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    rack = converge(&l);
    lab_remove(&l, KIND_RACK, lab_rack(&l, "lab", "a", 1));
    lab_delete(&l, KIND_INVENTORY, "lab");
    lab_remove(&l, KIND_INVENTORY, "lab");
    lab_inventory(&l, "lab", 2, "[" LAB_GROUP("a", 1) "]");
    lab_settle(&l);
    lab_quiet(&l);
    lab_remove(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_silent(&l);
    lab_fini(&l);

    rack = converge(&l);
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups",
             "[" LAB_GROUP("b", 1) "]");
    lab_settle(&l);
    lab_quiet(&l);
    lab_remove(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_silent(&l);
    lab_fini(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_O01_somebody_elses_rack),
        cmocka_unit_test(test_O01_found_by_the_creation),
        cmocka_unit_test(test_O02_a_conflict_is_quiet),
        cmocka_unit_test(test_O03_the_other_rack_goes),
        cmocka_unit_test(test_O05_a_late_delete),
        cmocka_unit_test(test_O09_claims_of_the_past),
    };

    return cmocka_run_group_tests_name("scenarios O", tests, NULL, NULL);
}
