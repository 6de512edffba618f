/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/mem.h"
#include "informer/watch.h"

#define MIDDLE 0x80000000u /* half of what dice can be */

/* A watch with a clock of its own. */
struct run {
    struct watch *w;
    int64_t now;
    uint32_t dice;
};

static struct run
run_new(void)
{
    return (struct run){watch_new(), 1000 * CLOCK_SECOND, MIDDLE};
}

static struct watch_todo
say(struct run *run, enum watch_event_type type, const char *version,
    const char *more, int64_t retry_after)
{
    struct watch_event event = {type,        str_of(version), str_of(more),
                                retry_after, run->now,        run->dice};

    return watch_step(run->w, &event);
}

static struct watch_todo
step(struct run *run, enum watch_event_type type)
{
    return say(run, type, "", "", 0);
}

static struct watch_todo
with(struct run *run, enum watch_event_type type, const char *version)
{
    return say(run, type, version, "", 0);
}

/* Brings a new watch into a state, with version 7 known where one can be. */
static struct run
in_state(enum watch_state state)
{
    struct run run = run_new();

    if (state == WATCH_IDLE)
        return run;
    step(&run, WATCH_START);
    if (state == WATCH_ASKING)
        return run;
    if (state == WATCH_FILLING) {
        step(&run, WATCH_OPENED);
        return run;
    }
    step(&run, WATCH_GARBLED); /* pages from now on */
    if (state == WATCH_LISTING)
        return run;
    if (state == WATCH_TO_LIST) {
        step(&run, WATCH_CUT);
        return run;
    }
    with(&run, WATCH_LISTED, "7");
    if (state == WATCH_OPENING)
        return run;
    step(&run, WATCH_OPENED);
    if (state == WATCH_TO_WATCH)
        step(&run, WATCH_CUT);
    return run;
}

struct expected {
    enum watch_state next;
    unsigned actions;
};

#define STAY(state)                                                            \
    {                                                                          \
        WATCH_##state, 0                                                       \
    }
#define IDLE                                                                   \
    {                                                                          \
        WATCH_IDLE, WATCH_DO_CANCEL                                            \
    }
#define STREAM                                                                 \
    {                                                                          \
        WATCH_ASKING, WATCH_DO_BEGIN | WATCH_DO_STREAM | WATCH_DO_WAIT         \
    }
#define FILL                                                                   \
    {                                                                          \
        WATCH_FILLING, WATCH_DO_WAIT                                           \
    }
#define FILLED                                                                 \
    {                                                                          \
        WATCH_WATCHING, WATCH_DO_END                                           \
    }
#define PAGES                                                                  \
    {                                                                          \
        WATCH_LISTING, WATCH_DO_CANCEL | WATCH_DO_BEGIN | WATCH_DO_LIST        \
    }
#define ANEW                                                                   \
    {                                                                          \
        WATCH_ASKING,                                                          \
            WATCH_DO_CANCEL | WATCH_DO_BEGIN | WATCH_DO_STREAM | WATCH_DO_WAIT \
    }
#define FIRST_PAGE                                                             \
    {                                                                          \
        WATCH_LISTING, WATCH_DO_BEGIN | WATCH_DO_LIST                          \
    }
#define NEXT_PAGE                                                              \
    {                                                                          \
        WATCH_LISTING, WATCH_DO_LIST                                           \
    }
#define OPEN                                                                   \
    {                                                                          \
        WATCH_OPENING, WATCH_DO_END | WATCH_DO_WATCH | WATCH_DO_WAIT           \
    }
#define REOPEN                                                                 \
    {                                                                          \
        WATCH_OPENING, WATCH_DO_WATCH | WATCH_DO_WAIT                          \
    }
#define TO_LIST                                                                \
    {                                                                          \
        WATCH_TO_LIST, WATCH_DO_CANCEL | WATCH_DO_WAIT                         \
    }
#define TO_WATCH                                                               \
    {                                                                          \
        WATCH_TO_WATCH, WATCH_DO_CANCEL | WATCH_DO_WAIT                        \
    }

/* What changes anything, each state with each event; whatever is not named
 * leaves the state as it is and asks for nothing. */
static const struct expected expected[WATCH_STATES][WATCH_EVENTS] = {
    [WATCH_IDLE] = {[WATCH_START] = STREAM},
    [WATCH_LISTING] = {[WATCH_STOP] = IDLE,
                       [WATCH_REFRESH] = PAGES,
                       [WATCH_PAGE] = NEXT_PAGE,
                       [WATCH_LISTED] = OPEN,
                       [WATCH_EXPIRED] = TO_LIST,
                       [WATCH_TOO_NEW] = TO_LIST,
                       [WATCH_DENIED] = TO_LIST,
                       [WATCH_MISSING] = TO_LIST,
                       [WATCH_BUSY] = TO_LIST,
                       [WATCH_CUT] = TO_LIST,
                       [WATCH_GARBLED] = TO_LIST},
    [WATCH_OPENING] = {[WATCH_STOP] = IDLE,
                       [WATCH_REFRESH] = PAGES,
                       [WATCH_OPENED] = STAY(WATCHING),
                       [WATCH_ENDED] = TO_WATCH,
                       [WATCH_EXPIRED] = TO_LIST,
                       [WATCH_TOO_NEW] = TO_LIST,
                       [WATCH_DENIED] = TO_WATCH,
                       [WATCH_MISSING] = TO_LIST,
                       [WATCH_BUSY] = TO_WATCH,
                       [WATCH_CUT] = TO_WATCH,
                       [WATCH_GARBLED] = TO_LIST,
                       [WATCH_TIMER] = TO_WATCH},
    [WATCH_WATCHING] = {[WATCH_STOP] = IDLE,
                        [WATCH_REFRESH] = PAGES,
                        [WATCH_ENDED] = TO_WATCH,
                        [WATCH_EXPIRED] = TO_LIST,
                        [WATCH_TOO_NEW] = TO_LIST,
                        [WATCH_DENIED] = TO_WATCH,
                        [WATCH_MISSING] = TO_LIST,
                        [WATCH_BUSY] = TO_WATCH,
                        [WATCH_CUT] = TO_WATCH,
                        [WATCH_GARBLED] = TO_LIST},
    [WATCH_ASKING] = {[WATCH_STOP] = IDLE,
                      [WATCH_REFRESH] = ANEW,
                      [WATCH_OPENED] = FILL,
                      [WATCH_ENDED] = TO_LIST,
                      [WATCH_EXPIRED] = TO_LIST,
                      [WATCH_TOO_NEW] = TO_LIST,
                      [WATCH_DENIED] = TO_LIST,
                      [WATCH_MISSING] = TO_LIST,
                      [WATCH_BUSY] = TO_LIST,
                      [WATCH_CUT] = TO_LIST,
                      [WATCH_GARBLED] = PAGES,
                      [WATCH_TIMER] = TO_LIST},
    [WATCH_FILLING] = {[WATCH_STOP] = IDLE,
                       [WATCH_REFRESH] = ANEW,
                       [WATCH_CHANGE] = FILL,
                       [WATCH_BOOKMARK] = FILL,
                       [WATCH_FILLED] = FILLED,
                       [WATCH_ENDED] = TO_LIST,
                       [WATCH_EXPIRED] = TO_LIST,
                       [WATCH_TOO_NEW] = TO_LIST,
                       [WATCH_DENIED] = TO_LIST,
                       [WATCH_MISSING] = TO_LIST,
                       [WATCH_BUSY] = TO_LIST,
                       [WATCH_CUT] = TO_LIST,
                       [WATCH_GARBLED] = PAGES,
                       [WATCH_TIMER] = PAGES},
    [WATCH_TO_LIST] = {[WATCH_STOP] = IDLE, [WATCH_TIMER] = FIRST_PAGE},
    [WATCH_TO_WATCH] =
        {[WATCH_STOP] = IDLE, [WATCH_REFRESH] = PAGES, [WATCH_TIMER] = REOPEN},
};

/* What is not named in the table. */
static struct expected
expected_of(enum watch_state state, enum watch_event_type event)
{
    struct expected e = expected[state][event];

    if (e.next == WATCH_IDLE && e.actions == 0)
        e.next = state;
    return e;
}

static void
test_every_state_with_every_event(void **state)
{
    (void)state;
    for (unsigned s = 0; s < WATCH_STATES; s++) {
        for (unsigned e = 0; e < WATCH_EVENTS; e++) {
            struct run run = in_state(s);
            struct expected wanted = expected_of(s, e);
            struct watch_todo todo;

            assert_int_equal(watch_state(run.w), s);
            todo = say(&run, e, "8", e == WATCH_PAGE ? "token" : "", 0);
            if (watch_state(run.w) != wanted.next ||
                todo.actions != wanted.actions)
                fail_msg("%s, event %u: %s with actions %x",
                         watch_state_name(s), e,
                         watch_state_name(watch_state(run.w)), todo.actions);
            watch_free(run.w);
        }
    }
}

static void
test_first_list_asks_for_the_newest_state(void **state)
{
    struct run run = run_new();
    struct watch_todo todo = step(&run, WATCH_START);

    (void)state;
    assert_null(todo.version);
    assert_null(todo.more);
    assert_false(todo.whole);
    watch_free(run.w);
}

/* A watch that came to be by a streaming list, at version 7. */
static struct run
streamed(void)
{
    struct run run = in_state(WATCH_FILLING);

    with(&run, WATCH_FILLED, "7");
    return run;
}

/* No version stands for the newest; the one seen last would do with less. */
static void
test_refresh_asks_for_the_newest_state(void **state)
{
    static const enum watch_state states[] = {WATCH_WATCHING, WATCH_TO_LIST};

    (void)state;
    for (size_t i = 0; i < nitems(states); i++) {
        struct run run = in_state(states[i]);
        struct watch_todo todo = step(&run, WATCH_REFRESH);

        if (states[i] == WATCH_TO_LIST)
            todo = step(&run, WATCH_TIMER);
        assert_true((todo.actions & WATCH_DO_BEGIN) != 0);
        assert_null(todo.version);
        assert_null(todo.more);
        watch_free(run.w);
    }
}

/* Its snapshot is that of what was asked for last, in pages as well. */
static void
test_refresh_begins_with_the_first_page(void **state)
{
    struct run run = in_state(WATCH_LISTING);
    struct watch_todo todo = say(&run, WATCH_PAGE, "8", "token", 0);

    (void)state;
    assert_string_equal(todo.more, "token");
    todo = step(&run, WATCH_REFRESH);
    assert_null(todo.more);
    assert_int_equal(todo.actions,
                     WATCH_DO_CANCEL | WATCH_DO_BEGIN | WATCH_DO_LIST);
    with(&run, WATCH_LISTED, "9");
    assert_string_equal(watch_version(run.w), "9");
    watch_free(run.w);
}

/* Somebody waits for it: a silent server is asked again soon, and given more
 * time each time. */
static void
test_refresh_gives_a_silent_server_little_time(void **state)
{
    static const int64_t pages[] = {10, 20, 40, 60};
    static const int64_t streams[] = {10, 20, 30, 30};
    struct run run = in_state(WATCH_LISTING);
    struct watch_todo todo = step(&run, WATCH_REFRESH);

    (void)state;
    for (size_t i = 0; i < nitems(pages); i++) {
        assert_int_equal(todo.silence, pages[i] * CLOCK_SECOND);
        step(&run, WATCH_CUT);
        todo = step(&run, WATCH_TIMER);
    }
    with(&run, WATCH_LISTED, "9");
    step(&run, WATCH_REFRESH);
    todo = with(&run, WATCH_LISTED, "10");
    assert_int_equal(todo.silence, 60 * CLOCK_SECOND);
    watch_free(run.w);

    run = in_state(WATCH_ASKING);
    todo = step(&run, WATCH_REFRESH);
    for (size_t i = 0; i < nitems(streams); i++) {
        assert_int_equal(todo.wait, streams[i] * CLOCK_SECOND);
        step(&run, WATCH_TIMER);
        todo = step(&run, WATCH_TIMER);
    }
    watch_free(run.w);
}

static void
test_streaming_list_goes_on_as_a_watch(void **state)
{
    struct run run = in_state(WATCH_IDLE);
    struct watch_todo todo = step(&run, WATCH_START);

    (void)state;
    assert_int_equal(todo.wait, 30 * CLOCK_SECOND);
    assert_in_range(todo.seconds, 300, 600);
    todo = step(&run, WATCH_OPENED);
    assert_int_equal(todo.wait, 10 * CLOCK_SECOND);
    todo = with(&run, WATCH_FILLED, "7");
    assert_int_equal(todo.actions, WATCH_DO_END);
    assert_string_equal(watch_version(run.w), "7");
    assert_false(watch_is_paged(run.w));
    /* Cut, it is resumed; only what asks for a list gets one. */
    step(&run, WATCH_CUT);
    assert_int_equal(step(&run, WATCH_TIMER).actions,
                     WATCH_DO_WATCH | WATCH_DO_WAIT);
    watch_free(run.w);
}

/* Objects of the list come in any order: what broke off is listed again. */
static void
test_A06_versions_of_a_list_that_is_not_complete_do_not_count(void **state)
{
    struct run run = in_state(WATCH_FILLING);
    struct watch_todo todo;

    (void)state;
    with(&run, WATCH_CHANGE, "99");
    with(&run, WATCH_BOOKMARK, "100");
    assert_int_equal(watch_state(run.w), WATCH_FILLING);
    assert_null(watch_version(run.w));
    step(&run, WATCH_CUT);
    todo = step(&run, WATCH_TIMER);
    assert_int_equal(todo.actions,
                     WATCH_DO_BEGIN | WATCH_DO_STREAM | WATCH_DO_WAIT);
    assert_null(todo.version);
    watch_free(run.w);
}

static void
test_A06_a_stream_that_never_says_it_is_complete_is_left_for_pages(void **state)
{
    struct run run = in_state(WATCH_FILLING);
    struct watch_todo todo;

    (void)state;
    /* As long as objects come it may go on, for two minutes. */
    for (int i = 0; i < 12; i++) {
        todo = with(&run, i % 2 == 0 ? WATCH_CHANGE : WATCH_BOOKMARK, "8");
        assert_int_equal(todo.actions, WATCH_DO_WAIT);
        assert_int_equal(todo.wait, 10 * CLOCK_SECOND);
        run.now += 10 * CLOCK_SECOND;
    }
    assert_int_equal(with(&run, WATCH_CHANGE, "9").wait, 0);
    step(&run, WATCH_TIMER);
    assert_int_equal(watch_state(run.w), WATCH_LISTING);
    /* And that is remembered. */
    with(&run, WATCH_LISTED, "9");
    step(&run, WATCH_OPENED);
    step(&run, WATCH_EXPIRED);
    assert_int_equal(step(&run, WATCH_TIMER).actions,
                     WATCH_DO_BEGIN | WATCH_DO_LIST);
    watch_free(run.w);
}

static void
test_streams_that_break_off_twice_are_left_for_pages(void **state)
{
    static const enum watch_event_type breaks[] = {WATCH_CUT, WATCH_ENDED};

    (void)state;
    for (size_t i = 0; i < nitems(breaks); i++) {
        struct run run = in_state(WATCH_FILLING);

        step(&run, breaks[i]);
        assert_int_equal(step(&run, WATCH_TIMER).actions & WATCH_DO_STREAM,
                         WATCH_DO_STREAM);
        step(&run, WATCH_OPENED);
        step(&run, breaks[i]);
        assert_int_equal(step(&run, WATCH_TIMER).actions,
                         WATCH_DO_BEGIN | WATCH_DO_LIST);
        watch_free(run.w);
    }
}

/* A refusal that says nothing of streaming lists is no reason to leave them. */
static void
test_streams_refused_for_the_moment_are_asked_for_again(void **state)
{
    static const enum watch_event_type refusals[] = {
        WATCH_EXPIRED, WATCH_TOO_NEW, WATCH_DENIED, WATCH_MISSING, WATCH_BUSY};

    (void)state;
    for (size_t i = 0; i < nitems(refusals); i++) {
        struct run run = streamed();

        step(&run, WATCH_EXPIRED);
        assert_string_equal(step(&run, WATCH_TIMER).version, "7");
        for (int try = 0; try < 5; try++) {
            step(&run, refusals[i]);
            assert_int_equal(step(&run, WATCH_TIMER).actions,
                             WATCH_DO_BEGIN | WATCH_DO_STREAM | WATCH_DO_WAIT);
        }
        watch_free(run.w);
    }
}

static void
test_A02_new_stream_is_not_older_than_what_was_seen(void **state)
{
    struct run run = streamed();

    (void)state;
    with(&run, WATCH_CHANGE, "12");
    step(&run, WATCH_EXPIRED);
    assert_string_equal(step(&run, WATCH_TIMER).version, "12");
    step(&run, WATCH_TOO_NEW);
    assert_null(step(&run, WATCH_TIMER).version);
    watch_free(run.w);
}

static void
test_pages_keep_the_version_of_the_first(void **state)
{
    struct run run = in_state(WATCH_LISTING);
    struct watch_todo todo = say(&run, WATCH_PAGE, "5", "one", 0);

    (void)state;
    assert_string_equal(todo.more, "one");
    todo = say(&run, WATCH_PAGE, "6", "two", 0);
    assert_string_equal(todo.more, "two");
    todo = with(&run, WATCH_LISTED, "9");
    assert_int_equal(todo.actions & WATCH_DO_WATCH, WATCH_DO_WATCH);
    assert_string_equal(todo.version, "5");
    assert_null(todo.more);
    watch_free(run.w);
}

/* A page that fails for the moment is asked for again; those before stay. */
static void
test_pages_go_on_after_a_failure(void **state)
{
    static const enum watch_event_type failures[] = {WATCH_CUT, WATCH_BUSY,
                                                     WATCH_DENIED};

    (void)state;
    for (size_t i = 0; i < nitems(failures); i++) {
        struct run run = in_state(WATCH_LISTING);
        struct watch_todo todo;

        say(&run, WATCH_PAGE, "5", "one", 0);
        step(&run, failures[i]);
        todo = step(&run, WATCH_TIMER);
        assert_int_equal(todo.actions, WATCH_DO_LIST);
        assert_string_equal(todo.more, "one");
        watch_free(run.w);
    }
}

static void
test_A01_expired_watch_lists_anew(void **state)
{
    struct run run = in_state(WATCH_WATCHING);
    struct watch_todo todo = with(&run, WATCH_EXPIRED, "99");

    (void)state;
    assert_int_equal(watch_state(run.w), WATCH_TO_LIST);
    assert_string_equal(watch_version(run.w), "7");
    assert_in_range(todo.wait, 0, CLOCK_SECOND / 2);
    todo = step(&run, WATCH_TIMER);
    assert_int_equal(todo.actions, WATCH_DO_BEGIN | WATCH_DO_LIST);
    watch_free(run.w);
}

static void
test_A01_expiring_again_and_again_backs_off(void **state)
{
    struct run run = in_state(WATCH_WATCHING);
    int64_t wait = step(&run, WATCH_EXPIRED).wait;

    (void)state;
    for (int i = 0; i < 4; i++) {
        int64_t before = wait;

        step(&run, WATCH_TIMER);
        with(&run, WATCH_LISTED, "8");
        step(&run, WATCH_OPENED);
        wait = step(&run, WATCH_EXPIRED).wait;
        assert_true(wait > before);
    }
    watch_free(run.w);
}

static void
test_A02_new_list_is_not_older_than_what_was_seen(void **state)
{
    struct run run = in_state(WATCH_WATCHING);
    struct watch_todo todo;

    (void)state;
    with(&run, WATCH_CHANGE, "12");
    step(&run, WATCH_EXPIRED);
    todo = step(&run, WATCH_TIMER);
    assert_string_equal(todo.version, "12");
    /* Refused for that version too: then from whatever there is. */
    step(&run, WATCH_EXPIRED);
    todo = step(&run, WATCH_TIMER);
    assert_null(todo.version);
    watch_free(run.w);
}

static void
test_A04_version_that_the_server_does_not_know_is_dropped(void **state)
{
    static const enum watch_state from[] = {WATCH_LISTING, WATCH_OPENING,
                                            WATCH_WATCHING};

    (void)state;
    for (size_t i = 0; i < nitems(from); i++) {
        struct run run = in_state(from[i]);
        struct watch_todo todo;

        step(&run, WATCH_TOO_NEW);
        todo = step(&run, WATCH_TIMER);
        assert_int_equal(todo.actions, WATCH_DO_BEGIN | WATCH_DO_LIST);
        assert_null(todo.version);
        watch_free(run.w);
    }
}

static void
test_A05_bookmark_only_moves_the_version(void **state)
{
    struct run run = in_state(WATCH_WATCHING);

    (void)state;
    assert_int_equal(with(&run, WATCH_BOOKMARK, "20").actions, 0);
    assert_string_equal(watch_version(run.w), "20");
    step(&run, WATCH_CUT);
    assert_string_equal(step(&run, WATCH_TIMER).version, "20");
    watch_free(run.w);
}

static void
test_A05_bookmark_without_a_version_is_harmless(void **state)
{
    struct run run = in_state(WATCH_WATCHING);

    (void)state;
    with(&run, WATCH_BOOKMARK, "");
    assert_string_equal(watch_version(run.w), "7");
    watch_free(run.w);
}

static void
test_A08_expired_token_leads_to_one_whole_list(void **state)
{
    struct run run = in_state(WATCH_LISTING);
    struct watch_todo todo;

    (void)state;
    say(&run, WATCH_PAGE, "5", "one", 0);
    step(&run, WATCH_EXPIRED);
    todo = step(&run, WATCH_TIMER);
    assert_int_equal(todo.actions, WATCH_DO_BEGIN | WATCH_DO_LIST);
    assert_true(todo.whole);
    assert_null(todo.more);
    todo = with(&run, WATCH_LISTED, "6");
    assert_int_equal(todo.actions & WATCH_DO_END, WATCH_DO_END);
    /* The next one is in pages again. */
    step(&run, WATCH_EXPIRED);
    assert_false(step(&run, WATCH_TIMER).whole);
    watch_free(run.w);
}

static void
test_A11_watches_last_five_to_ten_minutes(void **state)
{
    static const uint32_t dice[] = {0, 1, MIDDLE, UINT32_MAX, 300, 301};

    (void)state;
    for (size_t i = 0; i < nitems(dice); i++) {
        struct run run = in_state(WATCH_LISTING);

        run.dice = dice[i];
        assert_in_range(with(&run, WATCH_LISTED, "1").seconds, 300, 600);
        watch_free(run.w);
    }
}

static void
test_A11_clean_end_is_no_failure(void **state)
{
    struct run run = in_state(WATCH_WATCHING);
    struct watch_todo todo;

    (void)state;
    for (int i = 0; i < 20; i++) {
        run.now += 400 * CLOCK_SECOND;
        todo = step(&run, WATCH_ENDED);
        assert_in_range(todo.wait, 0, CLOCK_SECOND / 2);
        assert_string_equal(step(&run, WATCH_TIMER).version, "7");
        step(&run, WATCH_OPENED);
    }
    watch_free(run.w);
}

static void
test_A11_short_and_empty_watch_is_a_failure(void **state)
{
    struct run run = in_state(WATCH_WATCHING);
    int64_t last = 0;

    (void)state;
    for (int i = 0; i < 5; i++) {
        int64_t wait;

        run.now += CLOCK_SECOND / 2;
        wait = step(&run, WATCH_ENDED).wait;
        assert_true(wait > last);
        last = wait;
        step(&run, WATCH_TIMER);
        step(&run, WATCH_OPENED);
    }
    /* One event makes it a good one. */
    with(&run, WATCH_CHANGE, "8");
    assert_in_range(step(&run, WATCH_ENDED).wait, 0, CLOCK_SECOND / 2);
    watch_free(run.w);
}

static void
test_cut_watch_goes_on_without_a_list(void **state)
{
    static const enum watch_event_type cuts[] = {WATCH_CUT, WATCH_BUSY,
                                                 WATCH_DENIED, WATCH_ENDED};

    (void)state;
    for (size_t i = 0; i < nitems(cuts); i++) {
        struct run run = in_state(WATCH_WATCHING);

        with(&run, WATCH_CHANGE, "33");
        step(&run, cuts[i]);
        for (int try = 0; try < 30; try++) {
            struct watch_todo todo = step(&run, WATCH_TIMER);

            assert_int_equal(todo.actions, WATCH_DO_WATCH | WATCH_DO_WAIT);
            assert_string_equal(todo.version, "33");
            assert_int_equal(step(&run, WATCH_CUT).actions & WATCH_DO_LIST, 0);
        }
        watch_free(run.w);
    }
}

/* Who answers then may have been restored to an older state. */
static void
test_A04_a_watch_that_was_lost_for_long_is_listed_again(void **state)
{
    static const enum watch_event_type failures[] = {WATCH_CUT, WATCH_BUSY,
                                                     WATCH_DENIED, WATCH_TIMER};

    (void)state;
    for (size_t i = 0; i < nitems(failures); i++) {
        struct run run = in_state(WATCH_WATCHING);
        struct watch_todo todo;

        with(&run, WATCH_CHANGE, "33");
        step(&run, WATCH_CUT);
        run.now += 5 * CLOCK_SECOND - 1;
        assert_int_equal(step(&run, WATCH_TIMER).actions,
                         WATCH_DO_WATCH | WATCH_DO_WAIT);
        step(&run, failures[i]);
        run.now += 1;
        todo = step(&run, WATCH_TIMER);
        assert_int_equal(todo.actions, WATCH_DO_BEGIN | WATCH_DO_LIST);
        assert_string_equal(todo.version, "33");
        step(&run, WATCH_TOO_NEW);
        todo = step(&run, WATCH_TIMER);
        assert_int_equal(todo.actions, WATCH_DO_BEGIN | WATCH_DO_LIST);
        assert_null(todo.version);
        with(&run, WATCH_LISTED, "21");
        assert_string_equal(watch_version(run.w), "21");
        watch_free(run.w);
    }
}

/* Nobody was asked meanwhile: the time is our own. */
static void
test_A02_a_watch_that_was_cut_goes_on_after_a_long_back_off(void **state)
{
    struct run run = in_state(WATCH_WATCHING);

    (void)state;
    step(&run, WATCH_CUT);
    run.now += 30 * CLOCK_SECOND;
    assert_int_equal(step(&run, WATCH_TIMER).actions,
                     WATCH_DO_WATCH | WATCH_DO_WAIT);
    watch_free(run.w);
}

/* The list told what there is; so did a watch that opened. */
static void
test_a_lost_watch_that_came_back_is_no_longer_lost(void **state)
{
    (void)state;
    for (int listed = 0; listed < 2; listed++) {
        struct run run = in_state(WATCH_WATCHING);

        step(&run, WATCH_CUT);
        step(&run, WATCH_TIMER);
        if (listed) {
            step(&run, WATCH_CUT);
            run.now += 5 * CLOCK_SECOND;
            step(&run, WATCH_TIMER);
        }
        if (listed)
            with(&run, WATCH_LISTED, "21");
        else
            step(&run, WATCH_OPENED);
        run.now += 5 * CLOCK_SECOND;
        step(&run, WATCH_CUT);
        assert_int_equal(step(&run, WATCH_TIMER).actions,
                         WATCH_DO_WATCH | WATCH_DO_WAIT);
        watch_free(run.w);
    }
}

static void
test_back_off_doubles_from_0_8_to_30_seconds(void **state)
{
    static const int64_t steps[] = {800,   1600,  3200,  6400, 12800,
                                    25600, 30000, 30000, 30000};

    (void)state;
    for (int side = 0; side < 2; side++) {
        struct run run = in_state(WATCH_LISTING);

        run.dice = side == 0 ? 0 : UINT32_MAX;
        for (size_t i = 0; i < nitems(steps); i++) {
            int64_t wait = step(&run, WATCH_CUT).wait;
            int64_t base = steps[i] * CLOCK_MS;

            assert_in_range(wait, side == 0 ? base / 2 : base - CLOCK_MS, base);
            step(&run, WATCH_TIMER);
        }
        watch_free(run.w);
    }
}

static void
test_two_healthy_minutes_end_a_series(void **state)
{
    struct run run = in_state(WATCH_WATCHING);

    (void)state;
    for (int i = 0; i < 8; i++) {
        step(&run, WATCH_CUT);
        step(&run, WATCH_TIMER);
    }
    step(&run, WATCH_OPENED);
    run.now += 119 * CLOCK_SECOND;
    assert_true(step(&run, WATCH_CUT).wait >= 15 * CLOCK_SECOND);
    step(&run, WATCH_TIMER);
    step(&run, WATCH_OPENED);
    run.now += 120 * CLOCK_SECOND;
    assert_true(step(&run, WATCH_CUT).wait < CLOCK_SECOND);
    watch_free(run.w);
}

static void
test_what_is_being_mended_is_tried_every_few_seconds(void **state)
{
    static const enum watch_event_type mending[] = {WATCH_DENIED,
                                                    WATCH_MISSING};

    (void)state;
    for (size_t i = 0; i < nitems(mending); i++) {
        struct run run = in_state(WATCH_LISTING);

        for (int try = 0; try < 100; try++) {
            assert_in_range(step(&run, mending[i]).wait, 1, 4 * CLOCK_SECOND);
            step(&run, WATCH_TIMER);
        }
        watch_free(run.w);
    }
}

static void
test_B01_retry_after_is_the_least(void **state)
{
    struct run run = in_state(WATCH_WATCHING);
    int64_t wait = say(&run, WATCH_BUSY, "", "", 7 * CLOCK_SECOND).wait;

    (void)state;
    assert_in_range(wait, 7 * CLOCK_SECOND, 8 * CLOCK_SECOND);
    step(&run, WATCH_TIMER);
    run.dice = 0;
    wait = say(&run, WATCH_BUSY, "", "", 60 * CLOCK_SECOND).wait;
    assert_in_range(wait, 60 * CLOCK_SECOND, 61 * CLOCK_SECOND);
    /* A small one does not shorten the wait. */
    for (int i = 0; i < 6; i++) {
        step(&run, WATCH_TIMER);
        wait = say(&run, WATCH_BUSY, "", "", CLOCK_SECOND).wait;
    }
    assert_true(wait >= 15 * CLOCK_SECOND);
    watch_free(run.w);
}

static void
test_watch_that_does_not_open_is_given_up(void **state)
{
    struct run run = in_state(WATCH_LISTING);
    struct watch_todo todo = with(&run, WATCH_LISTED, "1");

    (void)state;
    assert_int_equal(todo.wait, 30 * CLOCK_SECOND);
    todo = step(&run, WATCH_TIMER);
    assert_int_equal(todo.actions, WATCH_DO_CANCEL | WATCH_DO_WAIT);
    assert_int_equal(watch_state(run.w), WATCH_TO_WATCH);
    watch_free(run.w);
}

static void
test_stop_forgets(void **state)
{
    struct run run = in_state(WATCH_WATCHING);

    (void)state;
    step(&run, WATCH_STOP);
    assert_null(watch_version(run.w));
    assert_null(step(&run, WATCH_START).version);
    watch_free(run.w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state_with_every_event),
        cmocka_unit_test(test_first_list_asks_for_the_newest_state),
        cmocka_unit_test(test_refresh_asks_for_the_newest_state),
        cmocka_unit_test(test_refresh_begins_with_the_first_page),
        cmocka_unit_test(test_refresh_gives_a_silent_server_little_time),
        cmocka_unit_test(test_streaming_list_goes_on_as_a_watch),
        cmocka_unit_test(
            test_A06_versions_of_a_list_that_is_not_complete_do_not_count),
        cmocka_unit_test(
            test_A06_a_stream_that_never_says_it_is_complete_is_left_for_pages),
        cmocka_unit_test(test_streams_that_break_off_twice_are_left_for_pages),
        cmocka_unit_test(
            test_streams_refused_for_the_moment_are_asked_for_again),
        cmocka_unit_test(test_A02_new_stream_is_not_older_than_what_was_seen),
        cmocka_unit_test(test_pages_keep_the_version_of_the_first),
        cmocka_unit_test(test_pages_go_on_after_a_failure),
        cmocka_unit_test(test_A01_expired_watch_lists_anew),
        cmocka_unit_test(test_A01_expiring_again_and_again_backs_off),
        cmocka_unit_test(test_A02_new_list_is_not_older_than_what_was_seen),
        cmocka_unit_test(
            test_A04_version_that_the_server_does_not_know_is_dropped),
        cmocka_unit_test(test_A05_bookmark_only_moves_the_version),
        cmocka_unit_test(test_A05_bookmark_without_a_version_is_harmless),
        cmocka_unit_test(test_A08_expired_token_leads_to_one_whole_list),
        cmocka_unit_test(test_A11_watches_last_five_to_ten_minutes),
        cmocka_unit_test(test_A11_clean_end_is_no_failure),
        cmocka_unit_test(test_A11_short_and_empty_watch_is_a_failure),
        cmocka_unit_test(test_cut_watch_goes_on_without_a_list),
        cmocka_unit_test(
            test_A04_a_watch_that_was_lost_for_long_is_listed_again),
        cmocka_unit_test(
            test_A02_a_watch_that_was_cut_goes_on_after_a_long_back_off),
        cmocka_unit_test(test_a_lost_watch_that_came_back_is_no_longer_lost),
        cmocka_unit_test(test_back_off_doubles_from_0_8_to_30_seconds),
        cmocka_unit_test(test_two_healthy_minutes_end_a_series),
        cmocka_unit_test(test_what_is_being_mended_is_tried_every_few_seconds),
        cmocka_unit_test(test_B01_retry_after_is_the_least),
        cmocka_unit_test(test_watch_that_does_not_open_is_given_up),
        cmocka_unit_test(test_stop_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
