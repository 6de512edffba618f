/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "projector/intent.h"
#include "proto/frame.h"
#include "proto/unpack.h"

#define MS CLOCK_MS
#define NEVER INT64_MAX

/* A table, the time, and the reply of the last call. */
struct bench {
    struct intents *t;
    int64_t now;
    struct reply reply;
};

static int
setup(void **state)
{
    const struct intents_pace pace = {100 * MS, 1000 * MS};
    struct bench *b = mem_zalloc(sizeof(*b));

    b->t = intents_new(&pace);
    b->now = 1000 * CLOCK_SECOND;
    *state = b;
    return 0;
}

static int
teardown(void **state)
{
    struct bench *b = *state;

    intents_free(b->t);
    free(b);
    return 0;
}

static struct order *
make(uint16_t type, uint32_t id, struct buf *body)
{
    struct err err = {0};
    struct unpacked *u = unpack_body(buf_str(body), &err);
    struct order *order;

    assert_non_null(u);
    order = order_new(type, id, unpacked_root(u), &err);
    assert_non_null(order);
    unpacked_free(u);
    buf_fini(body);
    return order;
}

static struct target
target(const char *name, const char *uid, const char *version)
{
    return (struct target){str_of(name), str_of(uid), str_of(version)};
}

static bool
say_node(struct bench *b, uint32_t id, const char *name, const char *version,
         const char *annotation)
{
    struct intent_node i = {.target = target(name, "u", version),
                            .clique = STR("c.0"),
                            .annotation = str_of(annotation)};
    struct buf body = {0};

    intent_node_pack(&body, &i);
    return intents_accept(b->t, make(MSG_NODE_APPLY, id, &body), b->now,
                          &b->reply);
}

static bool
say_rack(struct bench *b, uint32_t id, const char *uid, const char *version,
         const char *spec)
{
    struct intent_rack i = {.target = target("rack", uid, version),
                            .spec = str_of(spec)};
    struct buf body = {0};

    intent_rack_pack(&body, &i);
    return intents_accept(b->t, make(MSG_RACK_WRITE, id, &body), b->now,
                          &b->reply);
}

static bool
say_status(struct bench *b, uint32_t id, enum action action, const char *name,
           const char *fields)
{
    struct intent_status i = {.target = target(name, "u", "1"),
                              .action = action,
                              .status.fields = str_of(fields)};
    struct buf body = {0};

    intent_status_pack(&body, &i);
    return intents_accept(b->t, make(MSG_STATUS_WRITE, id, &body), b->now,
                          &b->reply);
}

/* The status of a rack, another one for each id, with that reason. */
static bool
say_reason(struct bench *b, uint32_t id, const char *reason)
{
    const struct condition ready = {STR("Ready"), STR("False"), str_of(reason),
                                    STR("m"), id};
    struct intent_status i = {.target = target("rack", "u", "1"),
                              .action = ACTION_RACK_STATUS,
                              .status = {STR("{}"), {&ready, 1}}};
    struct buf body = {0};

    intent_status_pack(&body, &i);
    return intents_accept(b->t, make(MSG_STATUS_WRITE, id, &body), b->now,
                          &b->reply);
}

static bool
say_finalizer(struct bench *b, uint32_t id, const char *name)
{
    struct intent_finalizer i = {.target = target(name, "u", "1"),
                                 .finalizer = STR("f"),
                                 .present = true};
    struct buf body = {0};

    intent_finalizer_pack(&body, &i);
    return intents_accept(b->t, make(MSG_FINALIZER, id, &body), b->now,
                          &b->reply);
}

static void
withdraw(struct bench *b, enum action action, const char *name)
{
    intents_withdraw(b->t, action, str_of(name), b->now);
}

/* Takes the next slot, which must hold intent id (0: none is due). */
static struct intent_slot *
take(struct bench *b, uint32_t id)
{
    struct intent_slot *s = intents_next(b->t, b->now);

    if (id == 0) {
        assert_null(s);
        return NULL;
    }
    assert_non_null(s);
    assert_int_equal(intent_slot_order(s)->id, id);
    return s;
}

static bool
end(struct bench *b, struct intent_slot *s, enum outcome outcome,
    const char *version)
{
    const struct answer a = {.outcome = outcome,
                             .uid = STR("u"),
                             .version = str_of(version),
                             .reason = STR("because")};

    return intents_finish(b->t, s, &a, b->now, &b->reply);
}

static bool
lose(struct bench *b, struct intent_slot *s, int64_t retry_after)
{
    const struct answer a = {.verdict = VERDICT_FAILED,
                             .retry_after = retry_after};

    return intents_finish(b->t, s, &a, b->now, &b->reply);
}

static void
check_reply(const struct bench *b, uint32_t id, enum outcome outcome,
            const char *version)
{
    assert_int_equal(b->reply.id, id);
    assert_int_equal(b->reply.result.outcome, outcome);
    assert_string_equal(b->reply.result.version.s, version);
}

static void
check_counts(const struct bench *b, size_t in_flight, size_t queued,
             size_t written)
{
    struct intents_counts c = intents_counts(b->t);

    assert_int_equal(c.in_flight, in_flight);
    assert_int_equal(c.queued, queued);
    assert_int_equal(c.written, written);
    assert_int_equal(intents_settled(b->t), in_flight == 0);
}

static void
count_written(void *arg, enum action action, const struct target *t)
{
    struct buf *out = arg;

    buf_printf(out, "%s %.*s %.*s %.*s;", action_name(action), (int)t->name.n,
               t->name.s, (int)t->uid.n, t->uid.s, (int)t->version.n,
               t->version.s);
}

static void
check_written(const struct bench *b, const char *expected)
{
    struct buf out = {0};

    intents_each_written(b->t, count_written, &out);
    buf_addc(&out, '\0');
    assert_string_equal(buf_bytes(&out), expected);
    buf_fini(&out);
}

static void
every_intent_ends_in_one_reply(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    assert_false(say_node(b, 7, "n", "5", "a"));
    check_counts(b, 0, 1, 0);
    s = take(b, 7);
    check_counts(b, 1, 0, 0);
    take(b, 0);
    assert_true(end(b, s, OUTCOME_DONE, "9"));
    check_reply(b, 7, OUTCOME_DONE, "9");
    assert_string_equal(b->reply.result.name.s, "n");
    assert_string_equal(b->reply.result.uid.s, "u");
    assert_int_equal(b->reply.result.action, ACTION_NODE);
    check_counts(b, 0, 0, 1);
    take(b, 0);
}

static void
the_latest_intent_wins_while_queued(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    say_node(b, 2, "n", "5", "b");
    check_counts(b, 0, 1, 0);
    s = take(b, 2);
    assert_true(end(b, s, OUTCOME_DONE, "9"));
    take(b, 0);
}

static void
the_latest_intent_wins_while_in_flight(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    s = take(b, 1);
    say_node(b, 2, "n", "5", "b");
    say_node(b, 3, "n", "5", "c");
    take(b, 0);
    /* Replaced: nothing to tell. */
    assert_false(end(b, s, OUTCOME_DONE, "9"));
    s = take(b, 3);
    assert_true(end(b, s, OUTCOME_DONE, "10"));
    check_reply(b, 3, OUTCOME_DONE, "10");
}

static void
a_replaced_failure_is_not_tried_again(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    s = take(b, 1);
    say_node(b, 2, "n", "5", "b");
    assert_false(lose(b, s, 0));
    b->now += 5 * MS;
    s = take(b, 2);
    assert_true(end(b, s, OUTCOME_DONE, "9"));
    check_reply(b, 2, OUTCOME_DONE, "9");
}

static void
what_stands_is_done_at_once(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "n", "5", "a");
    end(b, take(b, 1), OUTCOME_DONE, "9");
    /* The author has not seen version 9. */
    assert_true(say_node(b, 2, "n", "8", "a"));
    check_reply(b, 2, OUTCOME_DONE, "9");
    take(b, 0);
    /* It has, by the feed, before it read our answer. */
    assert_true(say_node(b, 3, "n", "9", "a"));
    check_reply(b, 3, OUTCOME_DONE, "9");
    take(b, 0);
    /* It wants it again: somebody changed it. */
    assert_false(say_node(b, 4, "n", "10", "a"));
    end(b, take(b, 4), OUTCOME_DONE, "11");
    /* Another content. */
    assert_false(say_node(b, 5, "n", "8", "b"));
    end(b, take(b, 5), OUTCOME_DONE, "12");
}

static void
versions_are_numbers(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "n", "5", "a");
    end(b, take(b, 1), OUTCOME_DONE, "10");
    assert_true(say_node(b, 2, "n", "9", "a"));
    assert_false(say_node(b, 3, "n", "11", "a"));
}

static void
what_was_wanted_meanwhile_and_stands_is_done(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    s = take(b, 1);
    say_node(b, 2, "n", "5", "a");
    assert_true(end(b, s, OUTCOME_DONE, "9"));
    check_reply(b, 2, OUTCOME_DONE, "9");
    take(b, 0);
    check_counts(b, 0, 0, 1);
}

static void
going_back_to_what_stands_drops_the_queued_one(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "n", "5", "a");
    end(b, take(b, 1), OUTCOME_DONE, "9");
    say_node(b, 2, "n", "5", "b");
    assert_true(say_node(b, 3, "n", "5", "a"));
    check_reply(b, 3, OUTCOME_DONE, "9");
    take(b, 0);
}

static void
nothing_stands_once_another_was_sent(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    end(b, take(b, 1), OUTCOME_DONE, "9");
    say_node(b, 2, "n", "5", "b");
    s = take(b, 2);
    assert_false(say_node(b, 3, "n", "5", "a"));
    assert_false(lose(b, s, 0));
    b->now += 5 * MS;
    s = take(b, 3);
    /* What was lost has to be seen, too, whatever comes later. */
    check_written(b, "node n  ;");
    end(b, s, OUTCOME_STALE, "");
    check_written(b, "node n  ;");
    say_node(b, 4, "n", "5", "a");
    b->now += 10 * MS;
    end(b, take(b, 4), OUTCOME_DONE, "10");
    check_written(b, "node n u 10;");
}

static void
a_creation_repeated_is_done(void **state)
{
    struct bench *b = *state;

    say_rack(b, 1, "", "", "{}");
    end(b, take(b, 1), OUTCOME_DONE, "9");
    assert_true(say_rack(b, 2, "", "", "{}"));
    check_reply(b, 2, OUTCOME_DONE, "9");
    assert_string_equal(b->reply.result.uid.s, "u");
    /* The same, from one who saw the object at an earlier version. */
    assert_true(say_rack(b, 3, "u", "8", "{}"));
    /* Another object of the name. */
    assert_false(say_rack(b, 4, "v", "8", "{}"));
}

static void
a_refusal_leaves_nothing(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "n", "5", "a");
    assert_true(end(b, take(b, 1), OUTCOME_INVALID, ""));
    check_reply(b, 1, OUTCOME_INVALID, "");
    assert_string_equal(b->reply.result.reason.s, "because");
    check_counts(b, 0, 0, 0);
    /* But rest: who is refused may want the same again at once. */
    assert_false(say_node(b, 2, "n", "5", "a"));
    take(b, 0);
    b->now = intents_due(b->t);
    take(b, 2);
}

static void
withdrawing_empties_the_slot(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "n", "5", "a");
    withdraw(b, ACTION_NODE, "n");
    take(b, 0);
    check_counts(b, 0, 0, 0);
    say_node(b, 2, "n", "5", "a");
    end(b, take(b, 2), OUTCOME_DONE, "9");
    withdraw(b, ACTION_NODE, "n");
    check_counts(b, 0, 0, 0);
    check_written(b, "");
    /* Nothing is remembered. */
    assert_false(say_node(b, 3, "n", "5", "a"));
    withdraw(b, ACTION_NODE, "unknown");
}

static void
withdrawn_in_flight_it_ends_silently(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    s = take(b, 1);
    say_node(b, 2, "n", "5", "b");
    withdraw(b, ACTION_NODE, "n");
    assert_false(end(b, s, OUTCOME_DONE, "9"));
    check_counts(b, 0, 0, 0);

    say_node(b, 3, "n", "5", "a");
    s = take(b, 3);
    withdraw(b, ACTION_NODE, "n");
    assert_false(lose(b, s, 0));
    b->now += CLOCK_SECOND;
    take(b, 0);
}

static void
wanted_again_in_flight_it_stands(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "n", "5", "a");
    s = take(b, 1);
    withdraw(b, ACTION_NODE, "n");
    say_node(b, 2, "n", "5", "a");
    assert_true(end(b, s, OUTCOME_DONE, "9"));
    check_reply(b, 2, OUTCOME_DONE, "9");
}

static void
a_plan_sweeps_what_it_does_not_name(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;
    struct err err;

    say_node(b, 1, "flying", "5", "a");
    s = take(b, 1);
    say_node(b, 2, "written", "5", "a");
    end(b, take(b, 2), OUTCOME_DONE, "9");
    say_node(b, 3, "queued", "5", "a");
    say_node(b, 4, "named", "5", "a");
    assert_int_equal(intents_plan_begin(b->t, b->now, &err), 0);
    say_node(b, 5, "named", "5", "b");
    say_node(b, 6, "new", "5", "a");
    check_counts(b, 1, 3, 1);
    assert_int_equal(intents_plan_end(b->t, b->now, &err), 0);
    check_counts(b, 1, 2, 1);
    assert_false(end(b, s, OUTCOME_DONE, "10"));
    check_counts(b, 0, 2, 2);
    /* What was carried out stays known until it is withdrawn. */
    check_written(b, "node flying u 10;node written u 9;");
    end(b, take(b, 5), OUTCOME_DONE, "11");
    end(b, take(b, 6), OUTCOME_DONE, "12");
    take(b, 0);
}

static void
a_plan_that_names_what_stands_keeps_it(void **state)
{
    struct bench *b = *state;
    struct err err;

    say_node(b, 1, "n", "5", "a");
    end(b, take(b, 1), OUTCOME_DONE, "9");
    intents_plan_begin(b->t, b->now, &err);
    assert_true(say_node(b, 2, "n", "5", "a"));
    intents_plan_end(b->t, b->now, &err);
    check_written(b, "node n u 9;");
}

static void
plans_come_in_turn(void **state)
{
    struct bench *b = *state;
    struct err err;

    assert_int_equal(intents_plan_end(b->t, b->now, &err), -1);
    assert_int_equal(intents_plan_begin(b->t, b->now, &err), 0);
    assert_int_equal(intents_plan_begin(b->t, b->now, &err), -1);
    /* An author who died in a plan leaves none open. */
    intents_orphan(b->t, b->now);
    assert_int_equal(intents_plan_begin(b->t, b->now, &err), 0);
}

static void
orphans_are_finished_and_remembered(void **state)
{
    struct bench *b = *state;
    struct intent_slot *done, *failed, *stale;

    say_node(b, 1, "done", "5", "a");
    say_node(b, 2, "failed", "5", "a");
    say_node(b, 3, "stale", "5", "a");
    say_node(b, 4, "queued", "5", "a");
    done = take(b, 1);
    failed = take(b, 2);
    stale = take(b, 3);
    say_node(b, 5, "failed", "5", "b");
    intents_orphan(b->t, b->now);
    check_counts(b, 3, 0, 0);
    assert_false(end(b, done, OUTCOME_DONE, "9"));
    assert_false(end(b, stale, OUTCOME_STALE, ""));
    assert_false(intents_settled(b->t));
    assert_false(lose(b, failed, 0));
    assert_true(intents_settled(b->t));
    check_written(b, "node done u 9;node failed  ;");
    b->now += CLOCK_SECOND;
    take(b, 0);
    /* The successor says what stands already. */
    assert_true(say_node(b, 1, "done", "5", "a"));
}

static void
written_slots_are_walked_in_order(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "b", "5", "a");
    say_rack(b, 2, "", "", "{}");
    say_node(b, 3, "a", "5", "a");
    end(b, take(b, 1), OUTCOME_DONE, "7");
    end(b, take(b, 2), OUTCOME_DONE, "8");
    end(b, take(b, 3), OUTCOME_DONE, "9");
    check_written(b, "node b u 7;rack rack u 8;node a u 9;");
}

static void
an_object_has_one_request_in_flight(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_status(b, 1, ACTION_RACK_STATUS, "rack", "{}");
    b->now += CLOCK_SECOND;
    s = take(b, 1);
    say_rack(b, 2, "u", "1", "{}");
    take(b, 0);
    end(b, s, OUTCOME_DONE, "9");
    s = take(b, 2);
    say_status(b, 3, ACTION_RACK_STATUS, "rack", "{\"a\":1}");
    b->now += CLOCK_SECOND;
    take(b, 0);
    end(b, s, OUTCOME_DONE, "10");
    end(b, take(b, 3), OUTCOME_DONE, "11");
}

static void
names_of_different_kinds_are_different_objects(void **state)
{
    struct bench *b = *state;

    say_finalizer(b, 1, "x");
    say_node(b, 2, "x", "1", "a");
    say_status(b, 3, ACTION_RACK_STATUS, "x", "{}");
    b->now += CLOCK_SECOND;
    take(b, 1);
    take(b, 2);
    take(b, 3);
    check_counts(b, 3, 0, 0);
}

static void
an_inventory_has_one_request_in_flight(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_finalizer(b, 1, "inv");
    say_status(b, 2, ACTION_INVENTORY_STATUS, "inv", "{}");
    b->now += CLOCK_SECOND;
    s = take(b, 1);
    take(b, 0);
    end(b, s, OUTCOME_DONE, "9");
    take(b, 2);
}

static void
objects_take_turns(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_node(b, 1, "c", "1", "a");
    say_node(b, 2, "a", "1", "a");
    say_node(b, 3, "b", "1", "a");
    s = take(b, 1);
    say_node(b, 4, "c", "1", "b");
    end(b, s, OUTCOME_DONE, "2");
    /* A later intent for one that waits keeps its place. */
    say_node(b, 5, "a", "1", "b");
    take(b, 5);
    take(b, 3);
    take(b, 4);
}

static void
a_failing_object_rests_longer_each_time(void **state)
{
    struct bench *b = *state;
    int64_t rest = 5 * MS;

    say_node(b, 1, "n", "1", "a");
    for (unsigned i = 0; i < 40; i++) {
        struct intent_slot *s = take(b, 1);

        assert_int_equal(intent_slot_failures(s), i);
        lose(b, s, 0);
        assert_int_equal(intents_due(b->t), b->now + rest);
        b->now += rest - 1;
        take(b, 0);
        b->now += 1;
        rest = rest * 2 < 1000 * CLOCK_SECOND ? rest * 2 : 1000 * CLOCK_SECOND;
    }
    end(b, take(b, 1), OUTCOME_DONE, "2");
    say_node(b, 2, "n", "2", "b");
    assert_int_equal(intent_slot_failures(take(b, 2)), 0);
}

/* Its author hears it once, when a rest has come to a second. */
static void
B05_a_long_rest_is_told_once(void **state)
{
    struct bench *b = *state;

    say_node(b, 7, "n", "1", "a");
    for (unsigned i = 0; i < 20; i++) {
        bool told = lose(b, take(b, 7), 0);

        assert_int_equal(told, i == 8); /* 5 ms doubled eight times */
        if (told) {
            assert_true(b->reply.resting);
            assert_int_equal(b->reply.id, 7);
            assert_int_equal(b->reply.result.action, ACTION_NODE);
            assert_string_equal(b->reply.result.name.s, "n");
        }
        b->now = intents_due(b->t);
    }
    assert_true(end(b, take(b, 7), OUTCOME_DONE, "2"));
    assert_false(b->reply.resting);
}

/* Its author, or another one after it, wants something else meanwhile. */
static void
B05_what_comes_during_a_long_rest_is_told(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_rack(b, 1, "u", "1", "a");
    for (unsigned i = 0; i < 12; i++) {
        b->now += 1000 * CLOCK_SECOND;
        lose(b, take(b, 1), 0);
    }
    assert_true(say_rack(b, 2, "u", "1", "b"));
    assert_true(b->reply.resting);
    assert_int_equal(b->reply.id, 2);
    assert_true(say_status(b, 3, ACTION_RACK_STATUS, "rack", "{}"));
    assert_true(b->reply.resting);
    assert_int_equal(b->reply.id, 3);
    /* Also what came while the last try was under way. */
    b->now += 1000 * CLOCK_SECOND;
    s = take(b, 2);
    assert_false(say_rack(b, 4, "u", "1", "c"));
    assert_true(lose(b, s, 0));
    assert_true(b->reply.resting);
    assert_int_equal(b->reply.id, 4);
}

/* Refused again and again is as good as failed. */
static void
B05_what_comes_after_many_conflicts_is_told(void **state)
{
    struct bench *b = *state;
    char version[16];

    for (uint32_t i = 1; i < 12; i++) {
        bool told;

        snprintf(version, sizeof(version), "%u", i);
        told = say_node(b, i, "n", version, "a");
        assert_int_equal(told, i > 9); /* 5 ms doubled eight times */
        assert_true(!told || b->reply.resting);
        b->now = intents_due(b->t);
        assert_true(end(b, take(b, i), OUTCOME_CONFLICT, ""));
        assert_false(b->reply.resting);
    }
}

/* What ails all objects is not told of each. */
static void
B05_a_rest_for_everybodys_trouble_is_not_told(void **state)
{
    const struct answer answers[] = {
        {.verdict = VERDICT_FAILED, .denied = true},
        {.verdict = VERDICT_FAILED, .server = true},
    };
    struct bench *b = *state;

    say_node(b, 1, "n", "1", "a");
    for (unsigned i = 0; i < 40; i++) {
        assert_false(intents_finish(b->t, take(b, 1), &answers[i % 2], b->now,
                                    &b->reply));
        b->now = intents_due(b->t);
    }
    b->now -= CLOCK_SECOND;
    assert_false(say_node(b, 2, "n", "1", "b"));
}

/* The same is carried out and wanted again: the first time is a repair. */
static void
B05_what_does_not_stand_is_written_ever_more_seldom(void **state)
{
    struct bench *b = *state;
    int64_t rest = 0;
    char version[16];

    for (uint32_t i = 1; i < 25; i++) {
        bool told;

        snprintf(version, sizeof(version), "%u", i);
        told = say_rack(b, i, "u", version, "a");
        assert_int_equal(told, rest >= CLOCK_SECOND);
        assert_true(!told || b->reply.resting);
        if (rest > 0) {
            assert_int_equal(intents_due(b->t), b->now + rest);
            b->now += rest - 1;
            take(b, 0);
            b->now += 1;
        }
        snprintf(version, sizeof(version), "%u", i + 1);
        end(b, take(b, i), OUTCOME_DONE, version);
        assert_int_equal(intents_contested(b->t, b->now),
                         i >= INTENTS_CONTESTED);
        withdraw(b, ACTION_RACK, "rack");
        if (i >= 2)
            rest =
                rest * 2 < 1000 * CLOCK_SECOND ? rest * 2 : 1000 * CLOCK_SECOND;
        if (i == 2)
            rest = 5 * MS;
    }
    /* Nobody else's matter, and another content is none of it. */
    say_rack(b, 90, "u", "90", "b");
    end(b, take(b, 90), OUTCOME_DONE, "91");
    say_rack(b, 91, "u", "91", "a");
    end(b, take(b, 91), OUTCOME_DONE, "92");
    assert_int_equal(intents_contested(b->t, b->now), 0);
}

/* How often was it carried out before? */
static void
B05_the_rest_of_a_rack_does_not_matter(void **state)
{
    struct bench *b = *state;

    for (uint32_t i = 1; i < 6; i++) {
        struct intent_rack rack = {.target = target("rack", "u", "1"),
                                   .generation = i,
                                   .spec = STR("a")};
        struct buf body = {0};
        struct intent_slot *s;

        intent_rack_pack(&body, &rack);
        intents_accept(b->t, make(MSG_RACK_WRITE, i, &body), b->now, &b->reply);
        b->now += CLOCK_SECOND;
        s = take(b, i);
        assert_int_equal(intent_slot_repeats(s), i - 1);
        end(b, s, OUTCOME_DONE, "2");
    }
    /* A minute of peace. */
    b->now += 62 * CLOCK_SECOND;
    say_rack(b, 9, "u", "9", "a");
    assert_int_equal(intent_slot_repeats(take(b, 9)), 0);
}

static void
the_servers_trouble_keeps_nobody_long(void **state)
{
    const struct answer a = {.verdict = VERDICT_FAILED, .server = true};
    struct bench *b = *state;

    say_node(b, 1, "n", "1", "a");
    for (unsigned i = 0; i < 20; i++) {
        intents_finish(b->t, take(b, 1), &a, b->now, &b->reply);
        assert_true(intents_due(b->t) - b->now <= 30 * CLOCK_SECOND);
        b->now = intents_due(b->t);
    }
}

static void
hurrying_ends_every_rest(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "a", "1", "a");
    lose(b, take(b, 1), CLOCK_SECOND);
    say_node(b, 2, "b", "1", "a");
    lose(b, take(b, 2), 2 * CLOCK_SECOND);
    say_status(b, 3, ACTION_RACK_STATUS, "r", "{}");
    intents_hurry(b->t, b->now);
    take(b, 1);
    /* It is not the quiet time that is cut short. */
    assert_int_equal(intent_slot_failures(take(b, 2)), 1);
    take(b, 0);
}

static void
a_rest_is_the_whole_objects(void **state)
{
    struct bench *b = *state;

    say_rack(b, 1, "u", "1", "{}");
    lose(b, take(b, 1), 300 * MS);
    say_status(b, 2, ACTION_RACK_STATUS, "rack", "{}");
    b->now += 299 * MS;
    take(b, 0);
    b->now += 1 * MS;
    end(b, take(b, 1), OUTCOME_DONE, "2");
    take(b, 2);
}

static void
others_go_on_while_one_rests(void **state)
{
    struct bench *b = *state;

    say_node(b, 1, "a", "1", "a");
    lose(b, take(b, 1), 0);
    say_node(b, 2, "b", "1", "a");
    end(b, take(b, 2), OUTCOME_DONE, "2");
    take(b, 0);
}

static void
outdated_news_slow_their_author_down(void **state)
{
    struct bench *b = *state;

    say_rack(b, 1, "u", "1", "{}");
    assert_true(end(b, take(b, 1), OUTCOME_STALE, "2"));
    say_rack(b, 2, "u", "1", "{}");
    take(b, 0);
    b->now += 5 * MS;
    end(b, take(b, 2), OUTCOME_STALE, "2");
    say_rack(b, 3, "u", "1", "{}");
    b->now += 9 * MS;
    take(b, 0);
    b->now += 1 * MS;
    end(b, take(b, 3), OUTCOME_DONE, "3");
    withdraw(b, ACTION_RACK, "rack");
    assert_int_equal(intents_due(b->t), NEVER);
}

static void
failures_are_forgotten_after_a_while(void **state)
{
    struct bench *b = *state;

    say_rack(b, 1, "u", "1", "{}");
    end(b, take(b, 1), OUTCOME_STALE, "2");
    b->now = intents_due(b->t);
    take(b, 0);
    assert_int_equal(intents_due(b->t), NEVER);
    say_rack(b, 2, "u", "1", "{}");
    assert_int_equal(intent_slot_failures(take(b, 2)), 0);
}

/* Told as done, but nothing stands: the same is sent again, and does not rest.
 */
static void
what_is_pretended_does_not_stand(void **state)
{
    const struct answer a = {
        .outcome = OUTCOME_DONE, .version = STR("9"), .pretended = true};
    struct bench *b = *state;

    for (unsigned i = 1; i < 10; i++) {
        assert_false(say_rack(b, i, "u", "1", "{}"));
        assert_true(intents_finish(b->t, take(b, i), &a, b->now, &b->reply));
        assert_int_equal(b->reply.result.outcome, OUTCOME_DONE);
        assert_int_equal(intents_counts(b->t).written, 0);
    }
}

/* Nor may it have been written without our knowing: whoever comes next is not
 * told so. */
static void
what_is_pretended_to_fail_was_not_written(void **state)
{
    static const enum verdict verdicts[] = {VERDICT_FAILED, VERDICT_HELD};
    struct bench *b = *state;

    for (unsigned i = 0; i < nitems(verdicts); i++) {
        const struct answer a = {.verdict = verdicts[i], .pretended = true};

        say_node(b, i + 1, i == 0 ? "n" : "m", "", "a");
        intents_finish(b->t, take(b, i + 1), &a, b->now, &b->reply);
    }
    intents_orphan(b->t, b->now);
    check_written(b, "");
}

static void
held_is_nobodys_failure(void **state)
{
    const struct answer held = {.verdict = VERDICT_HELD};
    struct bench *b = *state;

    say_node(b, 1, "n", "1", "a");
    assert_false(intents_finish(b->t, take(b, 1), &held, b->now, &b->reply));
    check_counts(b, 0, 1, 0);
    assert_int_equal(intent_slot_failures(take(b, 1)), 0);
}

static void
a_status_waits_for_quiet(void **state)
{
    struct bench *b = *state;

    say_status(b, 1, ACTION_INVENTORY_STATUS, "i", "{}");
    b->now += 99 * MS;
    take(b, 0);
    say_status(b, 2, ACTION_INVENTORY_STATUS, "i", "{\"a\":1}");
    b->now += 99 * MS;
    take(b, 0);
    b->now += 1 * MS;
    take(b, 2);
}

static void
a_status_does_not_wait_for_ever(void **state)
{
    struct bench *b = *state;
    int64_t began = b->now;
    struct intent_slot *s = NULL;

    for (uint32_t id = 1; s == NULL; id++) {
        say_status(b, id, ACTION_INVENTORY_STATUS, "i", "{}");
        b->now += 50 * MS;
        s = intents_next(b->t, b->now);
    }
    assert_int_equal(b->now - began, 1000 * MS);
}

static void
a_status_said_in_flight_waits_for_quiet(void **state)
{
    struct bench *b = *state;
    struct intent_slot *s;

    say_status(b, 1, ACTION_INVENTORY_STATUS, "i", "{}");
    b->now += 100 * MS;
    s = take(b, 1);
    b->now += 30 * MS;
    say_status(b, 2, ACTION_INVENTORY_STATUS, "i", "{\"a\":1}");
    b->now += 40 * MS;
    assert_false(end(b, s, OUTCOME_DONE, "9"));
    take(b, 0);
    assert_int_equal(intents_due(b->t), b->now + 60 * MS);
    b->now += 60 * MS;
    take(b, 2);
}

static void
a_status_behind_a_withdrawn_write_still_waits(void **state)
{
    struct bench *b = *state;

    say_rack(b, 1, "u", "1", "{}");
    say_status(b, 2, ACTION_RACK_STATUS, "rack", "{}");
    withdraw(b, ACTION_RACK, "rack");
    take(b, 0);
    b->now += 100 * MS;
    take(b, 2);
}

static int
take_any(struct bench *b)
{
    struct intent_slot *s = intents_next(b->t, b->now);
    int id;

    assert_non_null(s);
    id = (int)intent_slot_order(s)->id;
    end(b, s, OUTCOME_DONE, "9");
    return id;
}

static void
say_nodes(struct bench *b, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        say_node(b, (uint32_t)i, name, "5", "a");
    }
}

/* 6.4: what the Nodes change is written once they are done; but not never. */
static void
a_passing_status_lets_others_go_first(void **state)
{
    struct bench *b = *state;

    say_reason(b, 2000, REASON_PROJECTING);
    say_status(b, 2001, ACTION_INVENTORY_STATUS, "inventory", "{}");
    b->now += 100 * MS;
    assert_int_equal(intents_due(b->t), b->now);
    say_nodes(b, 1, 1050);
    assert_int_equal(take_any(b), 2001);
    for (int i = 1; i <= 998; i++)
        assert_int_equal(take_any(b), i);
    assert_int_equal(take_any(b), 2000); /* the thousandth */
    for (int i = 999; i <= 1050; i++)
        assert_int_equal(take_any(b), i);
    take(b, 0);
    /* And at once where nothing else waits. */
    say_reason(b, 2002, REASON_PROJECTING);
    b->now += 100 * MS;
    assert_int_equal(take_any(b), 2002);
}

/* It stops being one. */
static void
a_status_that_stays_takes_its_turn(void **state)
{
    struct bench *b = *state;

    say_reason(b, 1000, REASON_PROJECTING);
    b->now += 100 * MS;
    say_nodes(b, 1, 2);
    say_reason(b, 1001, "Ready");
    b->now += 100 * MS;
    say_nodes(b, 3, 1);
    for (int i = 1; i <= 2; i++)
        assert_int_equal(take_any(b), i);
    assert_int_equal(take_any(b), 1001);
    assert_int_equal(take_any(b), 3);
    take(b, 0);
}

/* Nor does it hold up what else is wanted of its rack. */
static void
a_rack_whose_status_passes_is_written_in_its_turn(void **state)
{
    struct bench *b = *state;

    say_reason(b, 1000, REASON_PROJECTING);
    b->now += 100 * MS;
    say_nodes(b, 1, 2);
    say_rack(b, 3, "u", "1", "{}");
    say_nodes(b, 4, 2);
    assert_int_equal(take_any(b), 1);
    assert_int_equal(take_any(b), 2);
    withdraw(b, ACTION_RACK_STATUS, "rack");
    assert_int_equal(take_any(b), 3);
    say_reason(b, 1001, REASON_PROJECTING);
    b->now += 100 * MS;
    assert_int_equal(take_any(b), 4);
    assert_int_equal(take_any(b), 5);
    assert_int_equal(take_any(b), 1001);
    take(b, 0);
}

/* Many objects in pseudo-random order against the plainest model: what is due
 * must come out, once, in the order of its times. */
static void
many_objects_come_out_in_time(void **state)
{
    enum { OBJECTS = 500 };
    struct bench *b = *state;
    uint64_t chance = 88172645463325252u;
    int64_t last = 0;
    char name[16];

    for (uint32_t i = 0; i < OBJECTS; i++) {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        snprintf(name, sizeof(name), "n%u", i);
        say_node(b, i + 1, name, "1", "a");
        lose(b, take(b, i + 1), (int64_t)(chance % 1000) * MS + 5 * MS);
    }
    for (uint32_t i = 0; i < OBJECTS; i++) {
        struct intent_slot *s;

        assert_true(intents_due(b->t) >= last);
        b->now = last = intents_due(b->t);
        s = intents_next(b->t, b->now);
        assert_non_null(s);
        end(b, s, OUTCOME_DONE, "2");
    }
    assert_int_equal(intents_due(b->t), NEVER);
    check_counts(b, 0, 0, OBJECTS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_intent_ends_in_one_reply),
        TEST(the_latest_intent_wins_while_queued),
        TEST(the_latest_intent_wins_while_in_flight),
        TEST(a_replaced_failure_is_not_tried_again),
        TEST(what_stands_is_done_at_once),
        TEST(versions_are_numbers),
        TEST(what_was_wanted_meanwhile_and_stands_is_done),
        TEST(going_back_to_what_stands_drops_the_queued_one),
        TEST(nothing_stands_once_another_was_sent),
        TEST(a_creation_repeated_is_done),
        TEST(a_refusal_leaves_nothing),
        TEST(withdrawing_empties_the_slot),
        TEST(withdrawn_in_flight_it_ends_silently),
        TEST(wanted_again_in_flight_it_stands),
        TEST(a_plan_sweeps_what_it_does_not_name),
        TEST(a_plan_that_names_what_stands_keeps_it),
        TEST(plans_come_in_turn),
        TEST(orphans_are_finished_and_remembered),
        TEST(written_slots_are_walked_in_order),
        TEST(an_object_has_one_request_in_flight),
        TEST(names_of_different_kinds_are_different_objects),
        TEST(an_inventory_has_one_request_in_flight),
        TEST(objects_take_turns),
        TEST(a_failing_object_rests_longer_each_time),
        TEST(B05_a_long_rest_is_told_once),
        TEST(B05_a_rest_for_everybodys_trouble_is_not_told),
        TEST(B05_what_comes_during_a_long_rest_is_told),
        TEST(B05_what_comes_after_many_conflicts_is_told),
        TEST(B05_what_does_not_stand_is_written_ever_more_seldom),
        TEST(B05_the_rest_of_a_rack_does_not_matter),
        TEST(the_servers_trouble_keeps_nobody_long),
        TEST(hurrying_ends_every_rest),
        TEST(a_rest_is_the_whole_objects),
        TEST(others_go_on_while_one_rests),
        TEST(outdated_news_slow_their_author_down),
        TEST(failures_are_forgotten_after_a_while),
        TEST(what_is_pretended_does_not_stand),
        TEST(what_is_pretended_to_fail_was_not_written),
        TEST(held_is_nobodys_failure),
        TEST(a_status_waits_for_quiet),
        TEST(a_status_does_not_wait_for_ever),
        TEST(a_status_said_in_flight_waits_for_quiet),
        TEST(a_status_behind_a_withdrawn_write_still_waits),
        TEST(a_passing_status_lets_others_go_first),
        TEST(a_status_that_stays_takes_its_turn),
        TEST(a_rack_whose_status_passes_is_written_in_its_turn),
        TEST(many_objects_come_out_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
