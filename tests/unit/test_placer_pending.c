/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of racks whose outcome the feed does not show: what is asked, and what
 * is not said meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "placer/pending.h"
#include "tests/unit/placer_sim.h"

#define GROUP(id, count)                                                       \
    "{\"id\":\"" id "\",\"count\":" #count ",\"profileRef\":{\"name\":\"p\"}}"

static void
declare(struct sim *s, int64_t generation, bool deleting, const char *groups)
{
    sim_inventory(s, &(struct sim_inventory){.name = "lab",
                                             .groups = groups,
                                             .created = 1,
                                             .generation = generation,
                                             .deleting = deleting});
}

/* One rack of one slot and one Node; the rack's name. */
static const char *
begin(struct sim *s)
{
    struct object_ref lab;
    char name[IDENTITY_NAME_MAX];

    sim_init(s);
    sim_profile(s, "p", 1, 1);
    declare(s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(s, &(struct sim_node){.name = "n", .created = 1});
    sim_synced(s);
    lab = sim_ref(s, "lab");
    identity_rack_name(lab.name, lab.uid, STR("a"), 0, name);
    assert_int_equal(sim_said(s, MSG_RACK_WRITE, name), 1);
    return arena_str(&s->arena, str_of(name)).s;
}

/* The answer to what was said last for the rack. */
static void
answer(struct sim *s, uint16_t type, const char *rack, enum outcome outcome,
       const char *version)
{
    const struct sim_said *w = sim_last(s, type, rack);
    struct buf body = {0};

    result_pack(&body, &(struct result){.action = ACTION_RACK,
                                        .outcome = outcome,
                                        .name = str_of(rack),
                                        .version = str_of(version),
                                        .reason = STR("because")});
    sim_frame(s, MSG_RESULT, w->id, &body);
}

static void
projector_restarts(struct sim *s)
{
    placer_projector_lost(&s->p);
    sim_forget(s);
    sim_ledger(s, 1);
}

static void
shown_up_to(struct sim *s, const char *version)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, KIND_RACK);
    pack_text(&body, version);
    sim_frame(s, MSG_AS_OF, 0, &body);
}

/* What came of a creation is asked, and it is not said again before. */
static void
test_a_lost_creation_is_asked(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    projector_restarts(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, rack), 1);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, rack), 1);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_GONE, "");
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    sim_fini(&s);
}

/* It was carried out: nothing more until the feed shows it. */
static void
test_a_creation_that_was_carried_out(void **state)
{
    struct sim s;
    const char *rack = begin(&s);
    char digest[RACK_DIGEST];

    (void)state;
    sim_digest(&s, "lab", "a", 0, digest);
    s.version = 50;
    projector_restarts(&s);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_DONE, "51");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, NULL), 0);
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "a",
                                    .slots = 1,
                                    .nodes = {"n"},
                                    .digest = digest});
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, NULL), 1);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, "n"), 1);
    sim_fini(&s);
}

/* ... or shows that it is gone again by then. */
static void
test_a_creation_that_came_and_went(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    projector_restarts(&s);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_DONE, "51");
    shown_up_to(&s, "50");
    sim_gone(&s, KIND_RACK, rack, "uid");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    shown_up_to(&s, "52");
    sim_gone(&s, KIND_RACK, rack, "uid");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    sim_fini(&s);
}

/* A Node that a lost write may have bound is bound nowhere else. */
static void
test_a_node_of_a_lost_write_is_not_given_away(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    placer_projector_lost(&s.p);
    declare(&s, 2, false, "[" GROUP("b", 1) "]");
    sim_batch(&s);
    sim_forget(&s);
    sim_ledger(&s, 1);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, rack), 1);
    /* The other rack comes, but does not bind it. */
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    assert_int_equal(alloc_node(&s.p.alloc, "n-uid")->binding_count, 1);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_GONE, "");
    assert_null(pending_of(&s.p, rack));
    sim_fini(&s);
}

/* The term: what was open in it is asked in the next. */
static void
test_a_term_ends(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    placer_term_ended(&s.p);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, NULL), 0);
    sim_term(&s, 2);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, rack), 1);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    sim_fini(&s);
}

static void
written(struct sim *s, const char *rack, const char *version)
{
    struct buf body = {0};

    written_pack(&body, ACTION_RACK,
                 &(struct target){str_of(rack), STR("u"), str_of(version)});
    sim_frame(s, MSG_WRITTEN, 0, &body);
}

/* A new placer: no plan before what its predecessor wrote is known. */
static void
test_nothing_is_planned_before_the_ledger_is_settled(void **state)
{
    static const char *const versions[] = {"51", ""};
    struct sim s;

    (void)state;
    for (size_t i = 0; i < nitems(versions); i++) {
        s = (struct sim){.count = 0};
        placer_init(&s.p, sim_hear, &s);
        sim_term(&s, 1);
        sim_frame(&s, MSG_SYNC_BEGIN, 0, NULL);
        sim_profile(&s, "p", 1, 1);
        declare(&s, 1, false, "[" GROUP("a", 1) "]");
        shown_up_to(&s, "50");
        sim_synced(&s);
        written(&s, "some-rack", versions[i]);
        sim_ledger(&s, 1);
        assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
        assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, NULL), 0);
        assert_int_equal(s.p.led, 0);
        if (versions[i][0] == '\0') {
            answer(&s, MSG_RACK_LOOK, "some-rack", OUTCOME_DONE, "51");
            assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
        }
        shown_up_to(&s, "51");
        sim_batch(&s);
        assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
        assert_int_equal(sim_said(&s, MSG_WITHDRAW, "some-rack"), 1);
        assert_int_equal(s.p.led, 1);
        sim_fini(&s);
    }
}

/* mokka-control 5.6: racks that are on their way when their inventory is to go
 * are called back, or waited for; only then its finalizer goes. */
static void
test_5_6_inventory_deleted_while_racks_are_made(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    sim_forget(&s);
    declare(&s, 1, true, "[" GROUP("a", 1) "]");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, rack), 1);
    assert_int_equal(sim_said(&s, MSG_FINALIZER, NULL), 0);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_DONE, "51");
    assert_int_equal(sim_said(&s, MSG_FINALIZER, NULL), 0);
    s.version = 50;
    sim_rack(&s,
             &(struct sim_rack){
                 .inventory = "lab", .group = "a", .slots = 1, .nodes = {"n"}});
    sim_batch(&s);
    sim_looked(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 1);
    assert_int_equal(sim_said(&s, MSG_FINALIZER, NULL), 0);
    answer(&s, MSG_RACK_DELETE, rack, OUTCOME_DONE, "52");
    sim_gone(&s, KIND_RACK, rack, rack);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_FINALIZER, "lab"), 1);
    sim_fini(&s);
}

/* Never made: the finalizer goes at once. */
static void
test_5_6_a_rack_that_was_never_made(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    declare(&s, 1, true, "[" GROUP("a", 1) "]");
    sim_batch(&s);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_GONE, "");
    assert_int_equal(sim_said(&s, MSG_FINALIZER, "lab"), 1);
    sim_fini(&s);
}

/* The group shrinks meanwhile: the rack that is too many is not made, or goes.
 */
static void
test_5_6_group_shrinks_while_racks_are_made(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    declare(&s, 2, false, "[" GROUP("b", 1) "]");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_LOOK, rack), 1);
    answer(&s, MSG_RACK_LOOK, rack, OUTCOME_DONE, "51");
    s.version = 50;
    sim_rack(&s,
             &(struct sim_rack){.inventory = "lab", .group = "a", .slots = 1});
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 1);
    sim_fini(&s);
}

/* M14: one attempt for the group, and the inventory shows it, until something
 * changes that the rack was made of. */
static void
test_M14_a_rack_is_refused(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    answer(&s, MSG_RACK_WRITE, rack, OUTCOME_INVALID, "");
    sim_batch(&s);
    sim_node(&s, &(struct sim_node){.name = "m", .created = 2});
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    assert_condition(&s, "lab", "ResolvedRefs", "False InvalidProfile");
    assert_condition(&s, "lab", "Programmed", "False ReferencesUnresolved");
    sim_forget(&s);
    sim_profile(&s, "p", 2, 1);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    answer(&s, MSG_RACK_WRITE, rack, OUTCOME_INVALID, "");
    sim_forget(&s);
    declare(&s, 2, false, "[" GROUP("a", 1) "]");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    answer(&s, MSG_RACK_WRITE, rack, OUTCOME_INVALID, "");
    sim_forget(&s);
    /* Others may have led, and the API server be another one. */
    placer_term_ended(&s.p);
    sim_term(&s, 2);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 1);
    sim_fini(&s);
}

/* M14: other groups go on. */
static void
test_M14_others_go_on(void **state)
{
    struct sim s;
    const char *rack = begin(&s);

    (void)state;
    declare(&s, 2, false, "[" GROUP("a", 1) "," GROUP("b", 2) "]");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 3);
    answer(&s, MSG_RACK_WRITE, rack, OUTCOME_INVALID, "");
    assert_null(plan_rack(&s.p.plan, rack));
    assert_int_equal(s.p.plan.racks.count, 2);
    sim_fini(&s);
}

/* 7.6: a rack whose coordinate somebody edited goes; the one that belongs there
 * comes after it. */
static void
test_7_6_a_rack_that_was_moved(void **state)
{
    struct sim s;
    struct object_ref lab;
    char name[IDENTITY_NAME_MAX];

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    declare(&s, 1, false, "[" GROUP("a", 2) "]");
    lab = sim_ref(&s, "lab");
    identity_rack_name(lab.name, lab.uid, STR("a"), 0, name);
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "a",
                                    .name = name,
                                    .index = 1,
                                    .slots = 1});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, name), 1);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, name), 0);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    answer(&s, MSG_RACK_DELETE, name, OUTCOME_DONE, "51");
    sim_gone(&s, KIND_RACK, name, name);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, name), 1);
    sim_fini(&s);
}

/* 7.5, 9.7: the profile shrinks; the slot that is not clean stays as it is, the
 * rest of the rack is written at once, and once only. */
static void
test_7_5_a_slot_outlives_its_rendering(void **state)
{
    struct sim s;
    const char *rack;
    char *spec;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 2, 1);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                           .group = "a",
                                           .slots = 3,
                                           .nodes = {"n0", "n1", "n2"}});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, NULL), 3);
    spec = sim_spec(&s, rack);
    assert_non_null(strstr(spec, ",{\"index\":1},{\"index\":2}]}"));
    free(spec);
    /* None of them is taken for given up by that write. */
    assert_int_equal(pending_of(&s.p, rack)->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_false(pending_of(&s.p, rack)->leaving[i]);
    sim_fini(&s);
}

/* (f) Readiness: a plan was made in this term, whether or not there is a
 * projector now. */
static void
test_the_term_was_planned_though_the_projector_is_away(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    assert_int_equal(s.p.led, 1);
    placer_projector_lost(&s.p);
    assert_int_equal(s.p.led, 1);
    placer_term_ended(&s.p);
    sim_term(&s, 2);
    assert_int_equal(s.p.led, 1);
    sim_ledger(&s, 1);
    assert_int_equal(s.p.led, 2);
    sim_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_creation_is_asked),
        cmocka_unit_test(test_a_creation_that_was_carried_out),
        cmocka_unit_test(test_a_creation_that_came_and_went),
        cmocka_unit_test(test_a_node_of_a_lost_write_is_not_given_away),
        cmocka_unit_test(test_a_term_ends),
        cmocka_unit_test(test_nothing_is_planned_before_the_ledger_is_settled),
        cmocka_unit_test(test_5_6_inventory_deleted_while_racks_are_made),
        cmocka_unit_test(test_5_6_a_rack_that_was_never_made),
        cmocka_unit_test(test_5_6_group_shrinks_while_racks_are_made),
        cmocka_unit_test(test_M14_a_rack_is_refused),
        cmocka_unit_test(test_M14_others_go_on),
        cmocka_unit_test(test_7_6_a_rack_that_was_moved),
        cmocka_unit_test(test_7_5_a_slot_outlives_its_rendering),
        cmocka_unit_test(
            test_the_term_was_planned_though_the_projector_is_away),
    };

    log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    return cmocka_run_group_tests_name("placer pending", tests, NULL, NULL);
}
