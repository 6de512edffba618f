/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "projector/window.h"

#define MS CLOCK_MS
#define START (1000 * CLOCK_SECOND)

struct bench {
    struct window w;
    int64_t now;
};

static struct bench
bench_new(void)
{
    struct bench b = {.now = START};

    window_init(&b.w, 42, b.now);
    return b;
}

/* One answer to a request sent latency ago, with the window in full use. */
static void
answer(struct bench *b, int status, int64_t latency)
{
    const struct window_answer a = {.status = status,
                                    .sent_at = b->now - latency,
                                    .in_flight = window_limit(&b->w)};

    window_answered(&b->w, &a, b->now);
}

static void
answers(struct bench *b, unsigned n, int64_t latency)
{
    for (unsigned i = 0; i < n; i++) {
        b->now += 1 * MS;
        answer(b, 200, latency);
    }
}

static void
it_starts_at_eight(void **state)
{
    struct bench b = bench_new();

    (void)state;
    assert_int_equal(window_limit(&b.w), 8);
    assert_true(window_open(&b.w, 7, b.now));
    assert_false(window_open(&b.w, 8, b.now));
    assert_int_equal(window_opens(&b.w, b.now), b.now);
}

static void
it_grows_by_one_a_round_while_latency_is_flat(void **state)
{
    struct bench b = bench_new();

    (void)state;
    answers(&b, 9, 5 * MS);
    assert_int_equal(window_limit(&b.w), 9);
    answers(&b, 5000, 5 * MS);
    assert_int_equal(window_limit(&b.w), 64);
}

static void
it_does_not_grow_unused(void **state)
{
    struct bench b = bench_new();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const struct window_answer a = {
            .status = 200, .sent_at = b.now - 5 * MS, .in_flight = 1};

        window_answered(&b.w, &a, b.now);
    }
    assert_int_equal(window_limit(&b.w), 8);
}

static void
it_shrinks_while_latency_rises(void **state)
{
    struct bench b = bench_new();

    (void)state;
    answers(&b, 5000, 5 * MS);
    answers(&b, 5000, 100 * MS);
    assert_int_equal(window_limit(&b.w), 4);
}

static void
what_is_usual_is_learnt_anew(void **state)
{
    struct bench b = bench_new();

    (void)state;
    answers(&b, 100, 5 * MS);
    answers(&b, 500, 60 * MS);
    assert_int_equal(window_limit(&b.w), 4);
    /* Two periods later nothing faster is known. */
    b.now += 31 * CLOCK_SECOND;
    answers(&b, 1, 60 * MS);
    b.now += 31 * CLOCK_SECOND;
    answers(&b, 5000, 60 * MS);
    assert_int_equal(window_limit(&b.w), 64);
}

static void
a_refusal_halves_it_once_for_all_under_way(void **state)
{
    static const int refusals[] = {429, 500, 503, 0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct bench b = bench_new();

        answers(&b, 5000, 5 * MS);
        answer(&b, refusals[i], 5 * MS);
        assert_int_equal(window_limit(&b.w), 32);
        b.now += 1 * MS;
        answer(&b, refusals[i], 6 * MS);
        assert_int_equal(window_limit(&b.w), 32);
        b.now += 1 * MS;
        answer(&b, refusals[i], 1 * MS);
        assert_int_equal(window_limit(&b.w), 16);
    }
}

static void
it_is_never_below_four(void **state)
{
    struct bench b = bench_new();

    (void)state;
    for (int i = 0; i < 20; i++) {
        b.now += CLOCK_SECOND;
        answer(&b, 503, 1 * MS);
    }
    assert_int_equal(window_limit(&b.w), 4);
    assert_int_equal(window_refusals(&b.w), 20);
}

static void
refusals_pause_longer_each_time(void **state)
{
    struct bench b = bench_new();
    int64_t pause = 25 * MS;

    (void)state;
    for (int i = 0; i < 20; i++) {
        int64_t opens;

        answer(&b, 503, 1 * MS);
        opens = window_opens(&b.w, b.now);
        assert_in_range(opens - b.now, pause, pause + pause / 4);
        assert_false(window_open(&b.w, 0, opens - 1));
        assert_true(window_open(&b.w, 0, opens));
        b.now = opens + 2 * MS;
        pause = pause * 2 < 30 * CLOCK_SECOND ? pause * 2 : 30 * CLOCK_SECOND;
    }
    answer(&b, 200, 1 * MS);
    answer(&b, 503, 0);
    assert_in_range(window_opens(&b.w, b.now) - b.now, 25 * MS, 32 * MS);
}

static void
retry_after_is_kept(void **state)
{
    struct bench b = bench_new();
    struct window_answer a = {.status = 429,
                              .sent_at = b.now,
                              .in_flight = 8,
                              .retry_after = 2 * CLOCK_SECOND};

    (void)state;
    window_answered(&b.w, &a, b.now);
    assert_in_range(window_opens(&b.w, b.now) - b.now, 2 * CLOCK_SECOND,
                    2500 * MS);
    /* Of one that was under way then, too. */
    a.sent_at = b.now - 1;
    a.retry_after = 5 * CLOCK_SECOND;
    window_answered(&b.w, &a, b.now);
    assert_int_equal(window_opens(&b.w, b.now), b.now + 5 * CLOCK_SECOND);
    assert_int_equal(window_limit(&b.w), 4);
}

static void
a_fixed_rate_is_kept(void **state)
{
    struct bench b = bench_new();
    int64_t end = b.now + 10 * CLOCK_SECOND;
    unsigned sent = 0;
    struct err err;

    (void)state;
    assert_int_equal(window_rate(&b.w, "2.5", "4", &err), 0);
    while (b.now < end) {
        if (window_open(&b.w, 0, b.now)) {
            window_sent(&b.w, b.now);
            sent++;
        } else {
            int64_t opens = window_opens(&b.w, b.now);

            assert_true(opens > b.now);
            assert_true(window_open(&b.w, 0, opens));
            b.now = opens;
        }
    }
    /* 4 at once and 2.5 a second for 10 seconds. */
    assert_in_range(sent, 28, 29);
}

static void
unused_rate_is_not_saved_beyond_the_burst(void **state)
{
    struct bench b = bench_new();
    struct err err;
    unsigned sent = 0;

    (void)state;
    assert_int_equal(window_rate(&b.w, "1000", "3", &err), 0);
    b.now += 3600 * CLOCK_SECOND;
    for (; window_open(&b.w, 0, b.now); sent++)
        window_sent(&b.w, b.now);
    assert_int_equal(sent, 3);
}

static void
half_a_rate_takes_the_usual_other_half(void **state)
{
    struct bench b = bench_new();
    struct err err;
    unsigned sent = 0;

    (void)state;
    assert_int_equal(window_rate(&b.w, "1", "", &err), 0);
    for (; window_open(&b.w, 0, b.now); sent++)
        window_sent(&b.w, b.now);
    assert_int_equal(sent, 100);
}

static void
what_is_no_rate_is_refused(void **state)
{
    static const char *const bad[][2] = {
        {"0", ""},   {"-1", ""},  {"x", ""},     {"1x", ""},
        {"inf", ""}, {"nan", ""}, {"", "0"},     {"", "0.5"},
        {"", "-3"},  {"5", "y"},  {"1e999", ""},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bench b = bench_new();
        struct err err = {0};

        assert_int_equal(window_rate(&b.w, bad[i][0], bad[i][1], &err), -1);
        assert_int_not_equal(err.text[0], '\0');
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_at_eight),
        cmocka_unit_test(it_grows_by_one_a_round_while_latency_is_flat),
        cmocka_unit_test(it_does_not_grow_unused),
        cmocka_unit_test(it_shrinks_while_latency_rises),
        cmocka_unit_test(what_is_usual_is_learnt_anew),
        cmocka_unit_test(a_refusal_halves_it_once_for_all_under_way),
        cmocka_unit_test(it_is_never_below_four),
        cmocka_unit_test(refusals_pause_longer_each_time),
        cmocka_unit_test(retry_after_is_kept),
        cmocka_unit_test(a_fixed_rate_is_kept),
        cmocka_unit_test(unused_rate_is_not_saved_beyond_the_burst),
        cmocka_unit_test(half_a_rate_takes_the_usual_other_half),
        cmocka_unit_test(what_is_no_rate_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
