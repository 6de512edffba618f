/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/mem.h"
#include "placer/input.h"
#include "placer/replay.h"
#include "proto/pack.h"

/* A section of a placer that got its projector and a term: it says an empty
 * plan. */
static void
begin(struct buf *out)
{
    struct buf term = {0};

    pack_array(&term, 1);
    pack_int(&term, 5);
    recording_add_begin(out, 1, 0);
    recording_add_link(out, RECORDED_LINKED, ROLE_PROJECTOR);
    recording_add_frame(out, RECORDED_TAKEN, ROLE_PROJECTOR, MSG_WRITTEN_END, 0,
                        STR("\221\1"));
    recording_add_frame(out, RECORDED_TAKEN, ROLE_SUPERVISOR, MSG_TERM_BEGAN, 0,
                        buf_str(&term));
    recording_add_frame(out, RECORDED_TAKEN, ROLE_INFORMER, MSG_SYNC_BEGIN, 0,
                        STR("\220"));
    recording_add_frame(out, RECORDED_TAKEN, ROLE_INFORMER, MSG_SYNC_END, 0,
                        STR("\220"));
    buf_fini(&term);
}

static void
say_begin(struct buf *out, int64_t term)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, term);
    recording_add_frame(out, RECORDED_SAID, ROLE_PROJECTOR, MSG_PLAN_BEGIN, 0,
                        buf_str(&body));
    buf_fini(&body);
}

static void
say_end(struct buf *out)
{
    recording_add_frame(out, RECORDED_SAID, ROLE_PROJECTOR, MSG_PLAN_END, 0,
                        STR(""));
}

/* Replays it, and gives it back. */
static struct replay_sums
run(struct buf *recording, enum replay_result wanted, const char *why)
{
    struct replay_sums sums;
    struct err err = {""};
    enum replay_result result =
        replay(buf_str(recording), REPLAY_NOTHING, &sums, &err);

    if (result != wanted || (why != NULL && strstr(err.text, why) == NULL))
        fail_msg("result %d: %s", (int)result, err.text);
    buf_fini(recording);
    return sums;
}

static void
test_the_same_is_the_same(void **state)
{
    struct buf r = {0};
    struct replay_sums sums;

    (void)state;
    begin(&r);
    say_begin(&r, 5);
    say_end(&r);
    recording_add_end(&r, true, "");
    sums = run(&r, REPLAY_SAME, NULL);
    assert_int_equal(sums.sections, 1);
    assert_int_equal(sums.taken, 5);
    assert_int_equal(sums.said, 2);
    assert_int_equal(sums.cut, 0);
    assert_int_equal(sums.extra, 0);
}

static void
test_another_field_is_named(void **state)
{
    struct buf r = {0};

    (void)state;
    begin(&r);
    say_begin(&r, 6);
    say_end(&r);
    run(&r, REPLAY_DIFFERS,
        "section 1, after input 5 (SYNC_END from informer): intent 1 differs: "
        "PLAN_BEGIN id 0, field term: recorded ...6..., replayed ...5...");
}

static void
test_another_message_is_named(void **state)
{
    struct buf r = {0};

    (void)state;
    begin(&r);
    say_end(&r);
    run(&r, REPLAY_DIFFERS, "recorded PLAN_END id 0, replayed PLAN_BEGIN id 0");
}

static void
test_one_too_few_and_one_too_many(void **state)
{
    struct buf r = {0};

    (void)state;
    begin(&r);
    say_begin(&r, 5);
    say_end(&r);
    say_end(&r);
    run(&r, REPLAY_DIFFERS,
        "intent 3 differs: recorded PLAN_END id 0, replayed nothing");
    begin(&r);
    say_begin(&r, 5);
    recording_add_link(&r, RECORDED_LOST, ROLE_INFORMER);
    run(&r, REPLAY_DIFFERS,
        "intent 2 differs: recorded nothing, replayed PLAN_END id 0");
    begin(&r);
    say_begin(&r, 5);
    recording_add_end(&r, true, "");
    run(&r, REPLAY_DIFFERS,
        "intent 2 differs: recorded nothing, replayed PLAN_END id 0");
}

/* Of a placer that was killed, or whose file was full, the last intents may be
 * missing; another section starts with a placer that knows nothing. */
static void
test_a_section_without_an_end_may_lack_the_last_intents(void **state)
{
    struct buf r = {0};
    struct replay_sums sums;

    (void)state;
    begin(&r);
    say_begin(&r, 5);
    begin(&r);
    recording_add_end(&r, false, "full");
    begin(&r);
    sums = run(&r, REPLAY_SAME, NULL);
    assert_int_equal(sums.sections, 3);
    assert_int_equal(sums.cut, 2);
    assert_int_equal(sums.said, 1);
    assert_int_equal(sums.extra, 5);
}

/* What broke the protocol breaks it again, and the link is lost. */
static void
test_a_frame_that_breaks_the_protocol(void **state)
{
    struct buf r = {0};

    (void)state;
    recording_add_begin(&r, 1, 0);
    recording_add_frame(&r, RECORDED_TAKEN, ROLE_INFORMER, MSG_NODE, 0,
                        STR("\220"));
    recording_add_link(&r, RECORDED_LOST, ROLE_INFORMER);
    recording_add_end(&r, true, "");
    run(&r, REPLAY_SAME, NULL);
    recording_add_begin(&r, 1, 0);
    recording_add_frame(&r, RECORDED_TAKEN, ROLE_INFORMER, MSG_NODE, 0,
                        STR("\301"));
    run(&r, REPLAY_BAD, "NODE: body has a header");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_is_the_same),
        cmocka_unit_test(test_another_field_is_named),
        cmocka_unit_test(test_another_message_is_named),
        cmocka_unit_test(test_one_too_few_and_one_too_many),
        cmocka_unit_test(
            test_a_section_without_an_end_may_lack_the_last_intents),
        cmocka_unit_test(test_a_frame_that_breaks_the_protocol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
