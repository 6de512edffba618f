/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <string.h>

#include "common/mem.h"
#include "common/metrics.h"
#include "proto/frame.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* Reads a body; -1 and err as metrics_unpack. */
static int
read_body(struct metrics *m, enum role *from, const struct buf *body,
          struct err *err)
{
    struct unpacked *u = unpack_body(buf_str(body), err);
    int rc;

    if (u == NULL)
        fail_msg("%s", err->text);
    rc = metrics_unpack(m, from, unpacked_root(u), err);
    unpacked_free(u);
    return rc;
}

static void
test_what_was_set_comes_out_at_the_other_end(void **state)
{
    struct histogram h = {0};
    struct metrics *in = metrics_new();
    struct metrics *out = metrics_new();
    struct buf body = {0};
    const int64_t *numbers;
    enum role from;
    struct err err;

    (void)state;
    histogram_note(&h, 2000000);
    histogram_note(&h, 2000001);
    histogram_note(&h, INT64_C(11000000000));
    metrics_set(in, METRIC_API_REQUESTS, API_LIST, metrics_code_of(200), 7);
    metrics_set(in, METRIC_API_REQUESTS, API_DELETE, metrics_code_of(999), -1);
    metrics_set_histogram(in, METRIC_API_DURATION, API_PATCH, 0, &h);
    metrics_set(in, METRIC_FEED_PENDING, 0, 0, INT64_MAX);
    metrics_pack(&body, in, ROLE_INFORMER);
    assert_int_equal(read_body(out, &from, &body, &err), 0);
    assert_int_equal(from, ROLE_INFORMER);
    assert_int_equal(*metrics_get(out, METRIC_API_REQUESTS, API_LIST, 1), 7);
    assert_int_equal(
        *metrics_get(out, METRIC_API_REQUESTS, API_DELETE, API_CODES - 1), -1);
    assert_true(*metrics_get(out, METRIC_FEED_PENDING, 0, 0) == INT64_MAX);
    numbers = metrics_get(out, METRIC_API_DURATION, API_PATCH, 0);
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 1);
    assert_int_equal(numbers[HISTOGRAM_BUCKETS], 1);
    assert_true(numbers[HISTOGRAM_BUCKETS + 1] == INT64_C(11004000001));
    assert_null(metrics_get(out, METRIC_API_REQUESTS, API_GET, 1));
    assert_null(metrics_get(out, METRIC_FEED_LAG, 0, 0));
    assert_null(metrics_get(out, METRIC_FEED_LAG, 1, 0));
    metrics_clear(out);
    assert_null(metrics_get(out, METRIC_FEED_PENDING, 0, 0));
    buf_fini(&body);
    metrics_free(in);
    metrics_free(out);
}

/* Everything that a role may say, set. */
static size_t
fill(struct metrics *m, enum role role)
{
    const struct histogram h = {.sum = INT64_MAX};
    size_t count = 0;

    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct metric_row *row = metrics_row((enum metric)id);

        if ((row->from & 1u << role) == 0)
            continue;
        for (unsigned a = 0; a < metrics_label(row->a)->count; a++)
            for (unsigned b = 0; b < metrics_label(row->b)->count; b++) {
                count++;
                if (row->type == METRIC_HISTOGRAM)
                    metrics_set_histogram(m, (enum metric)id, a, b, &h);
                else
                    metrics_set(m, (enum metric)id, a, b, INT64_MIN);
            }
    }
    return count;
}

static void
test_all_of_the_table_fits_in_a_frame(void **state)
{
    (void)state;
    for (unsigned role = 0; role < ROLE_COUNT; role++) {
        struct metrics *m = metrics_new();
        struct metrics *back = metrics_new();
        struct buf body = {0};
        enum role from;
        struct err err;

        assert_true(fill(m, (enum role)role) > 0);
        metrics_pack(&body, m, (enum role)role);
        assert_true(body.len < message_cap(MSG_METRICS));
        assert_int_equal(read_body(back, &from, &body, &err), 0);
        metrics_free(m);
        metrics_free(back);
        buf_fini(&body);
    }
}

/* A body with one series of two numbers at most. */
static void
pack_one(struct buf *body, int64_t role, int64_t series, size_t numbers)
{
    buf_clear(body);
    pack_array(body, 2);
    pack_int(body, role);
    pack_array(body, 1);
    pack_array(body, numbers + 1);
    pack_int(body, series);
    for (size_t i = 0; i < numbers; i++)
        pack_int(body, (int64_t)i);
}

static int64_t
series_of(enum metric id, unsigned a, unsigned b)
{
    return ((int64_t)id << 6 | a) << 6 | b;
}

static void
test_what_is_not_in_the_table_is_refused(void **state)
{
    const struct {
        int64_t role, series;
        size_t numbers;
    } bad[] = {
        {ROLE_COUNT, series_of(METRIC_FEED_LAG, 0, 0), 1},
        {-1, series_of(METRIC_FEED_LAG, 0, 0), 1},
        {ROLE_INFORMER, series_of(METRIC_COUNT, 0, 0), 1},
        {ROLE_INFORMER, -1, 1},
        {ROLE_INFORMER, INT64_MAX, 1},
        {ROLE_INFORMER, INT64_MIN, 1},
        {ROLE_INFORMER, series_of(METRIC_FEED_LAG, 1, 0), 1},
        {ROLE_INFORMER, series_of(METRIC_FEED_LAG, 0, 1), 1},
        {ROLE_INFORMER, series_of(METRIC_FEED_LAG, 0, 0), 0},
        {ROLE_INFORMER, series_of(METRIC_FEED_LAG, 0, 0), 2},
        {ROLE_INFORMER, series_of(METRIC_API_DURATION, 0, 0),
         HISTOGRAM_BUCKETS + 1},
        /* for others to tell */
        {ROLE_WEB, series_of(METRIC_FEED_LAG, 0, 0), 1},
        {ROLE_INFORMER, series_of(METRIC_READY, 0, 0), 1},
    };

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        struct metrics *m = metrics_new();
        struct buf body = {0};
        enum role from;
        struct err err;

        pack_one(&body, bad[i].role, bad[i].series, bad[i].numbers);
        if (read_body(m, &from, &body, &err) != -1)
            fail_msg("case %zu was taken", i);
        buf_fini(&body);
        metrics_free(m);
    }
}

static void
test_codes_are_a_fixed_set(void **state)
{
    const struct metric_label_row *codes = metrics_label(METRIC_LABEL_CODE);

    (void)state;
    assert_string_equal(codes->value(metrics_code_of(0)), "none");
    assert_string_equal(codes->value(metrics_code_of(200)), "200");
    assert_string_equal(codes->value(metrics_code_of(429)), "429");
    assert_string_equal(codes->value(metrics_code_of(504)), "504");
    assert_string_equal(codes->value(metrics_code_of(418)), "other");
    assert_string_equal(codes->value(metrics_code_of(-5)), "other");
}

static bool
ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);

    return n > strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* What `promtool check metrics` cannot see on a page that lacks a metric. */
static void
test_names_follow_the_conventions(void **state)
{
    (void)state;
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct metric_row *row = metrics_row((enum metric)id);
        bool counter = row->type == METRIC_COUNTER;

        if (strncmp(row->name, "mokka_", 6) != 0)
            assert_string_equal(row->name, "leader_election_master_status");
        for (const char *c = row->name; *c != '\0'; c++)
            assert_true(islower(*c) || isdigit(*c) || *c == '_');
        assert_int_equal(ends_with(row->name, "_total"), counter);
        assert_int_equal(row->unit == METRIC_NS,
                         strstr(row->name, "_seconds") != NULL);
        assert_true(ends_with(row->help, "."));
        assert_true(row->from != 0);
        /* Several who tell are told apart by a label that none may have. */
        if ((row->from & (row->from - 1)) != 0)
            assert_true(row->a != METRIC_LABEL_WORKER &&
                        row->b != METRIC_LABEL_WORKER);
        for (unsigned other = 0; other < id; other++)
            assert_string_not_equal(metrics_row((enum metric)other)->name,
                                    row->name);
    }
    for (unsigned i = 1; i < METRIC_LABELS; i++) {
        const struct metric_label_row *label =
            metrics_label((enum metric_label)i);

        assert_in_range(label->count, 1, 64);
        for (unsigned v = 0; v < label->count; v++)
            assert_non_null(label->value(v));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_set_comes_out_at_the_other_end),
        cmocka_unit_test(test_all_of_the_table_fits_in_a_frame),
        cmocka_unit_test(test_what_is_not_in_the_table_is_refused),
        cmocka_unit_test(test_codes_are_a_fixed_set),
        cmocka_unit_test(test_names_follow_the_conventions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
