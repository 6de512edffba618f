/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/web/exposition.h"

static int
setup(void **state)
{
    struct metrics **all = mem_zalloc(ROLE_COUNT * sizeof(*all));

    for (unsigned i = 0; i < ROLE_COUNT; i++)
        all[i] = metrics_new();
    *state = all;
    return 0;
}

static int
teardown(void **state)
{
    struct metrics **all = *state;

    for (unsigned i = 0; i < ROLE_COUNT; i++)
        metrics_free(all[i]);
    free(all);
    return 0;
}

static void
assert_text(struct metrics **all, const char *lease, const char *wanted)
{
    struct buf out = {0};
    char *text;

    exposition_add(&out, all, lease);
    text = buf_take(&out);
    assert_string_equal(text, wanted);
    free(text);
}

static void
test_nothing_reported_is_an_empty_page(void **state)
{
    struct metrics **all = *state;

    assert_text(all, "", "");
}

static void
test_one_head_for_what_several_report(void **state)
{
    struct metrics **all = *state;

    metrics_set(all[ROLE_PROJECTOR], METRIC_API_REQUESTS, API_GET, 0, 2);
    metrics_set(all[ROLE_INFORMER], METRIC_API_REQUESTS, API_LIST,
                metrics_code_of(200), 1);
    assert_text(all, "",
                "# HELP mokka_api_requests_total Requests to the API server "
                "that ended, by HTTP status; \"none\": no complete answer "
                "came.\n"
                "# TYPE mokka_api_requests_total counter\n"
                "mokka_api_requests_total{worker=\"informer\",verb=\"list\","
                "code=\"200\"} 1\n"
                "mokka_api_requests_total{worker=\"projector\",verb=\"get\","
                "code=\"none\"} 2\n");
}

static void
test_nanoseconds_are_shown_as_seconds(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "0.000000001"},
        {1500000000, "1.5"},
        {-1500000000, "-1.5"},
        {1000000000, "1"},
        {INT64_MAX, "9223372036.854775807"},
        {INT64_MIN, "-9223372036.854775808"},
    };
    struct metrics **all = *state;

    for (size_t i = 0; i < nitems(cases); i++) {
        char *wanted = mem_printf(
            "# HELP mokka_feed_lag_seconds For how long the placer has been "
            "behind the cache; 0: it is not.\n"
            "# TYPE mokka_feed_lag_seconds gauge\n"
            "mokka_feed_lag_seconds %s\n",
            cases[i].text);

        metrics_set(all[ROLE_INFORMER], METRIC_FEED_LAG, 0, 0, cases[i].ns);
        assert_text(all, "", wanted);
        free(wanted);
    }
}

static void
test_buckets_are_cumulative(void **state)
{
    struct metrics **all = *state;
    struct histogram h = {0};
    struct buf out = {0};
    char *text;

    histogram_note(&h, 2000000);
    histogram_note(&h, 20000000);
    histogram_note(&h, INT64_C(20000000000));
    metrics_set_histogram(all[ROLE_ELECTOR], METRIC_API_DURATION, API_UPDATE, 0,
                          &h);
    exposition_add(&out, all, "");
    text = buf_take(&out);
#define LINE(suffix, le, number)                                               \
    "\nmokka_api_request_duration_seconds" suffix                              \
    "{worker=\"elector\",verb=\"update\"" le "} " number "\n"
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"0.002\"", "1")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"0.01\"", "1")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"0.025\"", "2")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"10\"", "2")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"+Inf\"", "3")));
    assert_non_null(strstr(text, LINE("_sum", "", "20.022")));
    assert_non_null(strstr(text, LINE("_count", "", "3")));
    free(text);
}

static void
test_label_values_are_escaped(void **state)
{
    struct metrics **all = *state;

    metrics_set(all[ROLE_ELECTOR], METRIC_LEADER, 0, 0, 1);
    assert_text(all, "a\"b\\c\nd",
                "# HELP leader_election_master_status 1 on the replica that "
                "holds the Lease, else 0.\n"
                "# TYPE leader_election_master_status gauge\n"
                "leader_election_master_status{name=\"a\\\"b\\\\c\\nd\"} 1\n");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_reported_is_an_empty_page),
        TEST(test_one_head_for_what_several_report),
        TEST(test_nanoseconds_are_shown_as_seconds),
        TEST(test_buckets_are_cumulative),
        TEST(test_label_values_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
