/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "projector/shadow.h"
#include "proto/frame.h"
#include "proto/unpack.h"

/* A shadow, the time, and the answer of the last call. */
struct bench {
    struct shadow *s;
    int64_t now;
    struct answer answer;
};

static int
setup(void **state)
{
    struct bench *b = mem_zalloc(sizeof(*b));

    b->s = shadow_new();
    b->now = 1000 * CLOCK_SECOND;
    shadow_planned(b->s, true, b->now);
    *state = b;
    return 0;
}

static int
teardown(void **state)
{
    struct bench *b = *state;

    shadow_free(b->s);
    free(b);
    return 0;
}

static int64_t
keep(struct bench *b, uint16_t type, struct buf *body)
{
    struct err err = {0};
    struct unpacked *u = unpack_body(buf_str(body), &err);
    struct order *order = order_new(type, 1, unpacked_root(u), &err);
    int64_t pause;

    assert_non_null(order);
    pause = shadow_keep(b->s, order, b->now, &b->answer);
    unpacked_free(u);
    buf_fini(body);
    free(order);
    return pause;
}

static struct target
target(const char *name, const char *version)
{
    return (struct target){str_of(name), str_of(*version == '\0' ? "" : "u"),
                           str_of(version)};
}

static int64_t
keep_rack(struct bench *b, const char *name, const char *version)
{
    struct intent_rack i = {
        .target = target(name, version),
        .spec = STR("{\"nodes\":[{\"nodeRef\":{}},{},{\"nodeRef\":{}}]}")};
    struct buf body = {0};

    intent_rack_pack(&body, &i);
    return keep(b, MSG_RACK_WRITE, &body);
}

static int64_t
keep_node(struct bench *b, const char *name, const char *version, bool release)
{
    struct intent_node i = {
        .target = target(name, version),
        .annotation = STR("{\"rack\":{\"name\":\"r\"},\"nodeIndex\":3}"),
        .release = release};
    struct buf body = {0};

    intent_node_pack(&body, &i);
    return keep(b, MSG_NODE_APPLY, &body);
}

static int64_t
keep_status(struct bench *b, const char *name)
{
    const struct condition ready = {
        .type = STR("Ready"), .status = STR("False"), .reason = STR("Why")};
    struct intent_status i = {.target = target(name, "1"),
                              .action = ACTION_RACK_STATUS,
                              .status = {STR("{}"), {&ready, 1}}};
    struct buf body = {0};

    intent_status_pack(&body, &i);
    return keep(b, MSG_STATUS_WRITE, &body);
}

static int64_t
keep_finalizer(struct bench *b, const char *name)
{
    struct intent_finalizer i = {
        .target = target(name, "1"), .finalizer = STR("f"), .present = true};
    struct buf body = {0};

    intent_finalizer_pack(&body, &i);
    return keep(b, MSG_FINALIZER, &body);
}

static int64_t
keep_deletion(struct bench *b, const char *name)
{
    struct target t = target(name, "1");
    struct buf body = {0};

    intent_delete_pack(&body, &t);
    return keep(b, MSG_RACK_DELETE, &body);
}

static void
pass(struct bench *b, int64_t time)
{
    b->now += time;
    shadow_tell(b->s, b->now);
}

static void
reported(const struct bench *b, const char *lines)
{
    struct buf out = {0};
    struct err err = {0};
    char *text;

    assert_int_equal(shadow_list(b->s, b->now, &out, &err), 0);
    text = buf_take(&out);
    assert_string_equal(text, lines);
    free(text);
}

static void
said(const struct bench *b, bool in_sync, const char *wanted)
{
    struct err reason = {""};

    assert_int_equal(shadow_in_sync(b->s, b->now, &reason), in_sync);
    assert_string_equal(reason.text, wanted);
}

static void
test_each_kind_of_write_is_a_line(void **state)
{
    struct bench *b = *state;

    keep_rack(b, "new", "");
    keep_rack(b, "old", "7");
    keep_deletion(b, "out");
    keep_node(b, "a", "7", false);
    keep_node(b, "b", "7", true);
    keep_finalizer(b, "lab");
    pass(b, SHADOW_STANDS + CLOCK_SECOND);
    reported(b, "{\"verb\":\"patch\",\"resource\":\"nodes\",\"name\":\"a\","
                "\"seconds\":6,\"what\":\"assigned to rack r slot 3\"}\n"
                "{\"verb\":\"patch\",\"resource\":\"nodes\",\"name\":\"b\","
                "\"seconds\":6,\"what\":\"no longer rack r slot 3\"}\n"
                "{\"verb\":\"update\",\"resource\":\"sgpuinventories\","
                "\"name\":\"lab\",\"seconds\":6,"
                "\"what\":\"with our finalizer\"}\n"
                "{\"verb\":\"create\",\"resource\":\"sgpuracks\","
                "\"name\":\"new\",\"seconds\":6,"
                "\"what\":\"with 2 of 3 slots bound\"}\n"
                "{\"verb\":\"update\",\"resource\":\"sgpuracks\","
                "\"name\":\"old\",\"seconds\":6,"
                "\"what\":\"with 2 of 3 slots bound\"}\n"
                "{\"verb\":\"delete\",\"resource\":\"sgpuracks\","
                "\"name\":\"out\",\"seconds\":6,\"what\":\"\"}\n");
    said(b, false,
         "would make 6 writes: patch nodes a, patch nodes b, update "
         "sgpuinventories lab, ... (mokkactl shadow)");
}

static void
test_what_stands_briefly_is_not_reported(void **state)
{
    int64_t counts[ACTION_COUNT];
    struct bench *b = *state;

    pass(b, 100 * CLOCK_SECOND);
    said(b, true, "");
    keep_node(b, "a", "7", false);
    pass(b, SHADOW_STANDS - 1);
    assert_true(shadow_is_restless(b->s, b->now));
    said(b, true, "");
    reported(b, "");
    pass(b, 1);
    assert_false(shadow_is_restless(b->s, b->now));
    said(b, false, "would make 1 write: patch nodes a");
    shadow_count(b->s, b->now, counts);
    assert_int_equal(counts[ACTION_NODE], 1);
    shadow_drop(b->s, ACTION_NODE, STR("a"), b->now);
    said(b, true, "");
    shadow_count(b->s, b->now, counts);
    assert_int_equal(counts[ACTION_NODE], 0);
}

static void
test_nothing_is_known_before_a_plan_has_stood(void **state)
{
    struct bench *b = *state;
    struct buf out = {0};
    struct err err;

    pass(b, SHADOW_STANDS - 1);
    said(b, false, "looks for what it would write");
    assert_int_equal(shadow_list(b->s, b->now, &out, &err), -1);
    keep_node(b, "late", "7", false);
    pass(b, SHADOW_STANDS - 1);
    said(b, false, "looks for what it would write");
    pass(b, 1);
    said(b, false, "would make 1 write: patch nodes late");
    shadow_planned(b->s, false, b->now);
    pass(b, 100 * CLOCK_SECOND);
    said(b, false, "looks for what it would write");
    shadow_planned(b->s, true, b->now);
    assert_true(shadow_is_restless(b->s, b->now));
    pass(b, SHADOW_STANDS);
    said(b, true, "");
}

/* Others that never rest do not keep it from saying anything for ever. */
static void
test_what_never_stands_is_nothing_in_the_end(void **state)
{
    struct bench *b = *state;

    for (int i = 0; i < 10; i++) {
        said(b, false, "looks for what it would write");
        keep_node(b, "a", "7", false);
        pass(b, CLOCK_SECOND);
        shadow_drop(b->s, ACTION_NODE, STR("a"), b->now);
        keep_node(b, "b", "7", false);
        shadow_drop(b->s, ACTION_NODE, STR("b"), b->now);
        keep_node(b, "a", "7", false);
    }
    said(b, true, "");
}

static void
test_a_status_is_reported_once_it_is_all_there_is(void **state)
{
    struct bench *b = *state;

    keep_status(b, "r");
    keep_node(b, "a", "7", false);
    pass(b, SHADOW_STANDS);
    said(b, false, "would make 1 write: patch nodes a");
    shadow_drop(b->s, ACTION_NODE, STR("a"), b->now);
    reported(b, "{\"verb\":\"update\",\"resource\":\"sgpuracks/status\","
                "\"name\":\"r\",\"seconds\":5,\"what\":\"Ready=False "
                "(Why)\"}\n");
}

/* The same rack is decided upon again and again; it stands all the time. */
static void
test_a_rack_is_asked_for_ever_more_seldom(void **state)
{
    static const int64_t pauses[] = {1, 2, 4, 8, 15, 15};
    struct bench *b = *state;

    for (size_t i = 0; i < nitems(pauses); i++) {
        assert_int_equal(keep_rack(b, "r", "7"), pauses[i] * CLOCK_SECOND);
        assert_int_equal(b->answer.verdict, VERDICT_ENDED);
        assert_int_equal(b->answer.outcome, OUTCOME_DONE);
        assert_true(b->answer.pretended);
        assert_true(str_is(b->answer.version, "0"));
        pass(b, pauses[i] * CLOCK_SECOND);
        shadow_drop(b->s, ACTION_RACK, STR("r"), b->now);
        pass(b, CLOCK_SECOND / 2);
        assert_true(shadow_is_restless(b->s, b->now));
        if (b->now >= 1000 * CLOCK_SECOND + 2 * SHADOW_STANDS)
            said(b, false, "would make 1 write: update sgpuracks r");
    }
    pass(b, CLOCK_SECOND / 2);
    said(b, true, "");
}

/* Withdrawn without having been asked for, it is over at once. */
static void
test_a_rack_that_is_withdrawn_is_gone(void **state)
{
    struct bench *b = *state;

    keep_rack(b, "r", "7");
    pass(b, CLOCK_SECOND);
    shadow_drop(b->s, ACTION_RACK, STR("r"), b->now);
    keep_rack(b, "r", "7");
    keep_rack(b, "r", "7");
    pass(b, SHADOW_STANDS);
    said(b, false, "would make 1 write: update sgpuracks r");
    keep_rack(b, "r", "7");
    shadow_drop(b->s, ACTION_RACK, STR("r"), b->now);
    said(b, true, "");
}

static void
test_a_status_is_answered_at_once_a_node_unseen_is_tried_again(void **state)
{
    struct bench *b = *state;

    assert_int_equal(keep_status(b, "r"), 0);
    assert_int_equal(b->answer.verdict, VERDICT_ENDED);
    assert_int_equal(keep_finalizer(b, "lab"), CLOCK_SECOND);
    assert_int_equal(keep_node(b, "a", "", true), CLOCK_SECOND);
    assert_int_equal(b->answer.verdict, VERDICT_FAILED);
    assert_true(b->answer.server);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_each_kind_of_write_is_a_line),
        T(test_what_stands_briefly_is_not_reported),
        T(test_nothing_is_known_before_a_plan_has_stood),
        T(test_what_never_stands_is_nothing_in_the_end),
        T(test_a_status_is_reported_once_it_is_all_there_is),
        T(test_a_rack_is_asked_for_ever_more_seldom),
        T(test_a_rack_that_is_withdrawn_is_gone),
        T(test_a_status_is_answered_at_once_a_node_unseen_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
