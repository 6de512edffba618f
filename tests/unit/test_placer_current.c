/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new leader writes before it knows what the one before has bound:
 * nothing that a model which is not current could make wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/pending.h"
#include "tests/unit/placer_sim.h"

#define GROUP(id, count)                                                       \
    "{\"id\":\"" id "\",\"count\":" #count ",\"profileRef\":{\"name\":\"p\"}}"

/* Racks of one slot and one Node, in a term of which nothing is known. */
static void
begin(struct sim *s, const char *groups)
{
    *s = (struct sim){.count = 0};
    placer_init(&s->p, sim_hear, s);
    placer_term_began(&s->p, 7);
    sim_ledger(s, 1);
    sim_frame(s, MSG_SYNC_BEGIN, 0, NULL);
    sim_profile(s, "p", 1, 1);
    sim_inventory(
        s, &(struct sim_inventory){
               .name = "lab", .groups = groups, .created = 1, .generation = 1});
    sim_node(s, &(struct sim_node){.name = "n", .created = 1});
    assert_int_equal(placer_asks(&s->p).term, 0);
}

/* L: the first write of a term waits until the racks are known to be current.
 */
static void
test_L_first_write_of_a_term_waits_for_the_racks(void **state)
{
    struct sim s;

    (void)state;
    begin(&s, "[" GROUP("a", 2) "]");
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 1);
    assert_int_equal(sim_said(&s, MSG_PLAN_END, NULL), 1);
    assert_int_equal(placer_asks(&s.p).term, 7);
    sim_current(&s, 6, 1);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    assert_int_equal(placer_asks(&s.p).term, 7);
    sim_current(&s, 7, 1);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 2);
    assert_int_equal(placer_asks(&s.p).term, 0);
    sim_fini(&s);
}

/* L: what is known of one term says nothing of the next. */
static void
test_L_each_term_asks_anew(void **state)
{
    struct sim s;

    (void)state;
    begin(&s, "[" GROUP("a", 2) "]");
    sim_synced(&s);
    placer_term_ended(&s.p);
    assert_int_equal(placer_asks(&s.p).term, 0);
    sim_current(&s, 7, 1);
    placer_term_began(&s.p, 8);
    assert_int_equal(placer_asks(&s.p).term, 8);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    sim_current(&s, 8, 1);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 2);
    /* A rack that is gone is made again without a question. */
    sim_forget(&s);
    sim_batch(&s);
    assert_int_equal(placer_asks(&s.p).term, 0);
    sim_fini(&s);
}

/* L: nothing to write, nothing to ask: a take-over costs no request. */
static void
test_L_a_term_with_nothing_to_write_asks_nothing(void **state)
{
    struct sim s;

    (void)state;
    s = (struct sim){.count = 0};
    placer_init(&s.p, sim_hear, &s);
    placer_term_began(&s.p, 7);
    sim_ledger(&s, 1);
    sim_frame(&s, MSG_SYNC_BEGIN, 0, NULL);
    sim_profile(&s, "p", 1, 1);
    sim_synced(&s);
    assert_int_equal(placer_asks(&s.p).term, 0);
    sim_fini(&s);
}

/* The rack's name of group a and that index. */
static const char *
rack_of(struct sim *s, uint32_t index)
{
    struct object_ref lab = sim_ref(s, "lab");
    char name[IDENTITY_NAME_MAX];

    identity_rack_name(lab.name, lab.uid, STR("a"), index, name);
    return arena_str(&s->arena, str_of(name)).s;
}

/* L: while it is asked what came of a write, the feed shows that the leader
 * between bound a Node there: that one is taken. */
static void
test_L_what_another_leader_bound_in_a_rack_that_is_asked_about(void **state)
{
    struct sim s;
    const char *first;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    sim_inventory(&s, &(struct sim_inventory){.name = "lab",
                                              .groups = "[" GROUP("a", 2) "]",
                                              .created = 1,
                                              .generation = 1});
    sim_synced(&s);
    first = rack_of(&s, 0);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, first), 1);
    placer_term_ended(&s.p);
    sim_node(&s, &(struct sim_node){.name = "n", .created = 1});
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "a",
                                    .slots = 1,
                                    .nodes = {"n"},
                                    .digest = "of another time"});
    sim_batch(&s);
    sim_forget(&s);
    sim_term(&s, 2);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, first), 1);
    assert_non_null(pending_of(&s.p, first));
    assert_non_null(alloc_named(&s.p.alloc, "n"));
    assert_string_equal(alloc_named(&s.p.alloc, "n")->rack->name, first);
    assert_int_equal(alloc_node(&s.p.alloc, "n-uid")->binding_count, 1);
    sim_fini(&s);
}

/* A rack of somebody else goes while others are held up, and is not looked at
 * for that: nobody speaks of it any more. */
static void
test_L_a_rack_that_goes_meanwhile(void **state)
{
    struct sim s;
    const char *rack;

    (void)state;
    begin(&s, "[" GROUP("a", 50) "]");
    rack = rack_of(&s, 40);
    sim_rack(&s, &(struct sim_rack){.inventory = "other",
                                    .name = rack,
                                    .index = 40,
                                    .group = "a",
                                    .slots = 1,
                                    .digest = "of somebody else"});
    sim_synced(&s);
    assert_int_equal(s.p.tally.inventories[0].racks[TALLY_RIVAL].count, 1);
    sim_gone(&s, KIND_RACK, rack, rack);
    sim_batch(&s);
    assert_int_equal(s.p.tally.inventories[0].racks[TALLY_RIVAL].count, 0);
    sim_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_L_first_write_of_a_term_waits_for_the_racks),
        cmocka_unit_test(test_L_each_term_asks_anew),
        cmocka_unit_test(test_L_a_term_with_nothing_to_write_asks_nothing),
        cmocka_unit_test(
            test_L_what_another_leader_bound_in_a_rack_that_is_asked_about),
        cmocka_unit_test(test_L_a_rack_that_goes_meanwhile),
    };

    return cmocka_run_group_tests_name("placer current", tests, NULL, NULL);
}
