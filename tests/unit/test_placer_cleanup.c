/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "placer/questions.h"
#include "tests/unit/placer_sim.h"

/*
 * Projection and cleanup as the placer decides them: one rack of two slots, one
 * Node, and what stands on it.
 */
#define RACK_0                                                                 \
    {                                                                          \
        .inventory = "lab", .group = "a", .slots = 2, .nodes = { "n1" }        \
    }
#define POOL_X                                                                 \
    "[{\"id\":\"a\",\"count\":1,\"profileRef\":{\"name\":\"p\"},"              \
    "\"placement\":{\"nodeSelector\":{\"matchLabels\":{\"pool\":\"x\"}}}}]"

struct lab {
    struct sim s;
    const char *rack; /* its name */
    struct arena arena;
    struct projection wanted; /* on n1 */
};

static void
show_rack(struct lab *l, bool deleting)
{
    struct sim_rack r = RACK_0;
    char digest[RACK_DIGEST];

    sim_digest(&l->s, "lab", "a", 0, digest);
    r.digest = digest;
    r.deleting = deleting;
    l->rack = sim_rack(&l->s, &r);
}

/* What of n1 is to be shown. Its labels pool, assigned and clique unless
 * NULL. */
struct shown {
    const char *pool, *assigned, *clique, *annotation;
    int ours, foreign;
    const char *rivals;
};

static void
show_node(struct lab *l, const struct shown *n)
{
    struct pair labels[4] = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)}};
    struct object_ref ref = sim_ref(&l->s, "n1");
    struct object_node o = {
        .meta = {.name = ref.name,
                 .uid = ref.uid,
                 .version = sim_version(&l->s),
                 .created = 1},
        .annotation = n->annotation == NULL ? STR("") : str_of(n->annotation),
        .ours = n->ours,
        .foreign = n->foreign,
        .rivals = n->rivals == NULL ? STR("") : str_of(n->rivals),
    };
    struct buf body = {0};
    size_t count = 1;

    if (n->pool != NULL)
        labels[count++] = (struct pair){STR("pool"), str_of(n->pool)};
    if (n->assigned != NULL)
        labels[count++] =
            (struct pair){STR(LABEL_ASSIGNED), str_of(n->assigned)};
    if (n->clique != NULL)
        labels[count++] = (struct pair){STR(LABEL_CLIQUE), str_of(n->clique)};
    pairs_sort(labels, count);
    o.meta.labels = (struct pairs){labels, count, NULL};
    object_node_pack(&body, &o);
    sim_frame(&l->s, MSG_NODE, 0, &body);
    sim_batch(&l->s);
}

/* The Node as it is once all is projected, but for what a test changes. */
static struct shown
projected(const struct lab *l)
{
    return (struct shown){
        .pool = "x",
        .assigned = "true",
        .clique = l->wanted.clique,
        .annotation = l->wanted.annotation.s,
        .ours = l->s.p.no_clique ? KEY_ALL & ~KEY_CLIQUE : KEY_ALL,
    };
}

/* The rack stands and binds n1, of which an apply has just been said. */
static void
begin(struct lab *l, bool no_clique)
{
    const struct world_rack *r;

    *l = (struct lab){.rack = NULL};
    sim_init(&l->s);
    l->s.p.no_clique = no_clique;
    sim_profile(&l->s, "p", 1, 2);
    sim_inventory(&l->s, &(struct sim_inventory){.name = "lab",
                                                 .groups = POOL_X,
                                                 .created = 1,
                                                 .generation = 1});
    sim_node(&l->s,
             &(struct sim_node){.name = "n1", .pool = "x", .created = 1});
    sim_synced(&l->s);
    show_rack(l, false);
    sim_result(&l->s, sim_last(&l->s, MSG_RACK_WRITE, l->rack), ACTION_RACK,
               OUTCOME_DONE);
    show_rack(l, false);
    sim_batch(&l->s);
    r = world_rack(&l->s.p.world, l->rack);
    l->wanted = placer_projection(&l->s.p, &r->o, &r->o.slots[0], &l->arena);
}

/* The same, once the Node shows its projection. */
static void
begin_projected(struct lab *l, bool no_clique)
{
    struct shown n;

    begin(l, no_clique);
    sim_result(&l->s, sim_last(&l->s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    n = projected(l);
    show_node(l, &n);
    sim_forget(&l->s);
}

static void
end(struct lab *l)
{
    arena_fini(&l->arena);
    sim_fini(&l->s);
}

/* What was last wanted of n1. */
static struct intent_node
last_apply(struct lab *l)
{
    struct unpacked *u = unpack_body(
        buf_str(&sim_last(&l->s, MSG_NODE_APPLY, "n1")->body), NULL);
    struct intent_node i;

    assert_int_equal(intent_node_unpack(&i, unpacked_root(u), &l->arena, NULL),
                     0);
    unpacked_free(u);
    return i;
}

static size_t
applies(const struct lab *l)
{
    return sim_said(&l->s, MSG_NODE_APPLY, "n1");
}

/* P02: what stands is not wanted again, whatever else happens to the Node. */
static void
test_P02_what_stands_is_left_alone(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    show_node(&l, &n);
    show_node(&l, &n);
    assert_int_equal(applies(&l), 0);
    end(&l);
}

/* P05, P04: in conflict nothing is sent; the next state of the Node decides
 * anew. */
static void
test_P04_P05_a_conflict_waits_for_the_node(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.assigned = "false";
    n.ours = KEY_CLIQUE | KEY_ANNOTATION;
    n.foreign = KEY_ASSIGNED;
    n.rivals = "kubectl;;";
    show_node(&l, &n);
    sim_batch(&l.s);
    assert_int_equal(applies(&l), 0);
    n.assigned = NULL;
    n.foreign = 0;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_false(last_apply(&l).release);
    end(&l);
}

/* P14, P13: not while the rack is edited by others, or being deleted. */
static void
test_P13_nothing_is_projected_from_a_rack_that_goes(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, false);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_CONFLICT);
    sim_forget(&l.s);
    show_rack(&l, true);
    show_node(&l, &(struct shown){.pool = "x"});
    for (size_t i = 0; i < l.s.count; i++)
        assert_true(l.s.said[i].type != MSG_NODE_APPLY ||
                    last_apply(&l).release);
    end(&l);
}

/* DESIGN 12: without the clique label it is neither written nor looked at, and
 * what we have of it is released. */
static void
test_12_clique_label_left_to_others(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin(&l, true);
    assert_string_equal(last_apply(&l).clique.s, "");
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    sim_forget(&l.s);
    n = projected(&l);
    n.clique = "theirs";
    n.foreign = KEY_CLIQUE;
    n.rivals = ";gpu-operator;";
    show_node(&l, &n);
    assert_int_equal(applies(&l), 0);
    n.ours = KEY_ALL;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    end(&l);
}

/* The Node leaves the pool: its binding is given up. */
static void
leave_pool(struct lab *l, struct shown *n)
{
    n->pool = "y";
    show_node(l, n);
}

static bool
is_bound(const struct lab *l)
{
    return sim_said(&l->s, MSG_RACK_WRITE, l->rack) == 0;
}

/* 4.4 step 6: all three keys go, then the slot. */
static void
test_4_4_6_a_release_and_then_the_slot(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    leave_pool(&l, &n);
    assert_true(last_apply(&l).release);
    assert_false(last_apply(&l).keep);
    assert_non_null(strstr(last_apply(&l).annotation.s, l.rack));
    assert_non_null(strstr(last_apply(&l).annotation.s, "n1-uid"));
    assert_string_equal(last_apply(&l).clique.s, l.wanted.clique);
    assert_true(is_bound(&l));
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    assert_true(is_bound(&l));
    show_node(&l, &(struct shown){.pool = "y"});
    assert_false(is_bound(&l));
    end(&l);
}

/* What mokkactl why says of n1 has that word. */
static void
check_why(struct lab *l, const char *word, bool there)
{
    struct buf out = {0};
    struct err err;

    assert_int_equal(question_why(&l->s.p, STR("n1"), &out, &err), 0);
    if ((memmem(buf_bytes(&out), out.len, word, strlen(word)) != NULL) != there)
        fail_msg("%s \"%s\" in %.*s", there ? "no" : "there is", word,
                 (int)out.len, buf_bytes(&out));
    buf_fini(&out);
}

/* K03: a foreign value keeps our annotation, and the binding; no second try
 * while nothing changes. */
static void
test_K03_a_foreign_value_blocks(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.clique = "x";
    n.ours = KEY_ASSIGNED | KEY_ANNOTATION;
    n.foreign = KEY_CLIQUE;
    leave_pool(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_true(last_apply(&l).release);
    assert_true(last_apply(&l).keep);
    /* Its echo comes before its answer. */
    n.assigned = NULL;
    n.ours = KEY_ANNOTATION;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_KEPT);
    n.rivals = ";painter;";
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_true(is_bound(&l));
    check_why(&l, "n1: gives its slot up: SelectorMismatch", true);
    check_why(&l, LABEL_CLIQUE "=x: owned by painter (in the way)", true);
    check_why(&l, "remedy       its slot stays taken until the keys", true);
    /* The value goes: now the annotation goes, too. */
    n.clique = NULL;
    n.foreign = 0;
    n.rivals = NULL;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 2);
    check_why(&l, "remedy", false);
    assert_false(last_apply(&l).keep);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    show_node(&l, &(struct shown){.pool = "y"});
    assert_false(is_bound(&l));
    end(&l);
}

/* K04, K05: one try, then the co-owner is waited for. */
static void
test_K04_K05_a_co_owner_blocks(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.foreign = KEY_ANNOTATION;
    leave_pool(&l, &n);
    assert_int_equal(applies(&l), 1);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_KEPT);
    n.assigned = n.clique = NULL;
    n.ours = 0;
    show_node(&l, &n);
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_true(is_bound(&l));
    show_node(&l, &(struct shown){.pool = "y"});
    assert_int_equal(applies(&l), 1);
    assert_false(is_bound(&l));
    end(&l);
}

/* 4.4 step 9: a label that others keep holds the binding, too. */
static void
test_4_4_9_a_kept_label_blocks(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.foreign = KEY_CLIQUE;
    leave_pool(&l, &n);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_KEPT);
    n = (struct shown){
        .pool = "y", .clique = l.wanted.clique, .foreign = KEY_CLIQUE};
    show_node(&l, &n);
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_true(is_bound(&l));
    show_node(&l, &(struct shown){.pool = "y"});
    assert_false(is_bound(&l));
    end(&l);
}

/* The same if somebody deletes the rack itself, which is to be made anew. */
static void
test_4_4_9_a_kept_label_blocks_a_rack_that_is_deleted(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.foreign = KEY_CLIQUE;
    show_node(&l, &n);
    show_rack(&l, true);
    sim_batch(&l.s);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_KEPT);
    n = (struct shown){
        .pool = "x", .clique = l.wanted.clique, .foreign = KEY_CLIQUE};
    show_node(&l, &n);
    show_node(&l, &n);
    assert_int_equal(sim_said(&l.s, MSG_RACK_DELETE, l.rack), 0);
    show_node(&l, &(struct shown){.pool = "x"});
    assert_int_equal(sim_said(&l.s, MSG_RACK_DELETE, l.rack), 1);
    end(&l);
}

/* A left-over whose clean-up was lost with the projector is cleaned again. */
static void
test_4_1_6_a_lost_clean_up_is_asked_again(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.annotation = "{\"v\":1,\"rack\":{\"name\":\"gone\",\"uid\":\"g\"},"
                   "\"nodeUID\":\"n1-uid\"}";
    show_node(&l, &n);
    assert_true(last_apply(&l).release);
    assert_int_equal(applies(&l), 1);
    placer_projector_lost(&l.s.p);
    sim_ledger(&l.s, 1);
    assert_int_equal(applies(&l), 2);
    assert_true(last_apply(&l).release);
    end(&l);
}

/* The echo of a release can come before its answer: it is not said again. */
static void
test_4_4_the_echo_before_the_answer(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.foreign = KEY_ANNOTATION;
    leave_pool(&l, &n);
    n.assigned = n.clique = NULL;
    n.ours = 0;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_KEPT);
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_true(is_bound(&l));
    end(&l);
}

/* K12: wanted again before the slot is cleared: projected again. */
static void
test_K12_a_binding_that_is_wanted_again(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    leave_pool(&l, &n);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    show_node(&l, &(struct shown){.pool = "x"});
    assert_true(is_bound(&l));
    assert_int_equal(applies(&l), 2);
    assert_false(last_apply(&l).release);
    end(&l);
}

/* 4.1 step 6: the annotation of a rack that is gone is cleaned first. */
static void
test_4_1_6_a_left_over_is_cleaned_first(void **state)
{
    static const char left[] =
        "{\"v\":1,\"inventory\":{\"name\":\"lab\",\"uid\":\"o\"},\"rack\":{"
        "\"name\":\"gone\",\"uid\":\"g\"},\"rackGroup\":\"a\",\"rackIndex\":0,"
        "\"nodeIndex\":0,\"nodeUID\":\"n1-uid\"}";
    struct shown n = {.pool = "x",
                      .assigned = "true",
                      .annotation = left,
                      .ours = KEY_ASSIGNED | KEY_ANNOTATION};
    struct lab l;

    (void)state;
    begin(&l, false);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_CONFLICT);
    sim_forget(&l.s);
    /* Somebody's co-ownership makes it no left-over of ours. */
    n.foreign = KEY_ANNOTATION;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 0);
    n.foreign = 0;
    show_node(&l, &n);
    assert_int_equal(applies(&l), 1);
    assert_true(last_apply(&l).release);
    assert_true(last_apply(&l).stray);
    assert_string_equal(last_apply(&l).annotation.s, left);
    /* The rack is there after all: asked once for each state of the Node. */
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_CONFLICT);
    sim_batch(&l.s);
    assert_int_equal(applies(&l), 1);
    show_node(&l, &n);
    assert_int_equal(applies(&l), 2);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    show_node(&l, &(struct shown){.pool = "x"});
    assert_int_equal(applies(&l), 3);
    assert_false(last_apply(&l).release);
    end(&l);
}

/* 7: a rack that went without our finalizer leaves nothing on its Nodes. */
static void
test_7_a_rack_removed_by_force_is_cleaned_up_after(void **state)
{
    struct shown n;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    leave_pool(&l, &n);
    sim_forget(&l.s);
    sim_gone(&l.s, KIND_RACK, l.rack, l.rack);
    sim_batch(&l.s);
    assert_true(last_apply(&l).release);
    assert_true(last_apply(&l).stray);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_DONE);
    sim_forget(&l.s);
    show_node(&l, &(struct shown){.pool = "y"});
    show_node(&l, &(struct shown){.pool = "y"});
    assert_int_equal(applies(&l), 0);
    assert_int_equal(sim_said(&l.s, MSG_WITHDRAW, "n1"), 1);
    end(&l);
}

/* The binding is taken off by hand: the Node is cleaned, unless the projector
 * finds the binding. */
static void
test_7_a_binding_that_somebody_takes_off(void **state)
{
    struct sim_rack r = RACK_0;
    struct lab l;

    (void)state;
    begin_projected(&l, false);
    r.nodes[0] = NULL;
    sim_rack(&l.s, &r);
    sim_gone(&l.s, KIND_INVENTORY, "lab", "lab-uid");
    sim_batch(&l.s);
    assert_int_equal(applies(&l), 1);
    assert_true(last_apply(&l).release);
    assert_true(last_apply(&l).stray);
    end(&l);
}

/* P11: a Node that two slots bind is not projected at all. */
static void
test_P11_a_node_in_two_slots(void **state)
{
    struct sim_rack r = RACK_0;
    char digest[RACK_DIGEST];
    struct lab l;

    (void)state;
    begin(&l, false);
    sim_result(&l.s, sim_last(&l.s, MSG_NODE_APPLY, "n1"), ACTION_NODE,
               OUTCOME_CONFLICT);
    sim_digest(&l.s, "lab", "a", 0, digest);
    r.digest = digest;
    r.nodes[1] = "n1";
    sim_rack(&l.s, &r);
    sim_batch(&l.s);
    sim_forget(&l.s);
    show_node(&l, &(struct shown){.pool = "x"});
    for (size_t i = 0; i < l.s.count; i++)
        assert_true(l.s.said[i].type != MSG_NODE_APPLY);
    end(&l);
}

/* W09: a status was written and the feed does not show it yet: what it shows
 * is not taken for what stands, and the next wish waits for the echo. */
static void
test_W09_an_older_status_than_the_one_written(void **state)
{
    struct shown n;
    struct lab l;
    size_t said;

    (void)state;
    begin_projected(&l, false);
    n = projected(&l);
    n.assigned = NULL;
    show_node(&l, &n);
    said = sim_said(&l.s, MSG_STATUS_WRITE, l.rack);
    assert_true(said > 0);
    sim_result(&l.s, sim_last(&l.s, MSG_STATUS_WRITE, l.rack),
               ACTION_RACK_STATUS, OUTCOME_DONE);
    n.assigned = "true";
    show_node(&l, &n);
    assert_int_equal(sim_said(&l.s, MSG_STATUS_WRITE, l.rack), said);
    show_rack(&l, false);
    sim_batch(&l.s);
    assert_int_equal(sim_said(&l.s, MSG_STATUS_WRITE, l.rack), said + 1);
    end(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P02_what_stands_is_left_alone),
        cmocka_unit_test(test_P04_P05_a_conflict_waits_for_the_node),
        cmocka_unit_test(test_P13_nothing_is_projected_from_a_rack_that_goes),
        cmocka_unit_test(test_12_clique_label_left_to_others),
        cmocka_unit_test(test_4_4_6_a_release_and_then_the_slot),
        cmocka_unit_test(test_K03_a_foreign_value_blocks),
        cmocka_unit_test(test_K04_K05_a_co_owner_blocks),
        cmocka_unit_test(test_4_4_9_a_kept_label_blocks),
        cmocka_unit_test(test_4_4_9_a_kept_label_blocks_a_rack_that_is_deleted),
        cmocka_unit_test(test_4_1_6_a_lost_clean_up_is_asked_again),
        cmocka_unit_test(test_4_4_the_echo_before_the_answer),
        cmocka_unit_test(test_K12_a_binding_that_is_wanted_again),
        cmocka_unit_test(test_4_1_6_a_left_over_is_cleaned_first),
        cmocka_unit_test(test_P11_a_node_in_two_slots),
        cmocka_unit_test(test_W09_an_older_status_than_the_one_written),
        cmocka_unit_test(test_7_a_rack_removed_by_force_is_cleaned_up_after),
        cmocka_unit_test(test_7_a_binding_that_somebody_takes_off),
    };

    log_setup("placer", 1, LOG_ERROR, LOG_JSON);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
