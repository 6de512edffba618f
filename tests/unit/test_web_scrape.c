/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/web/page.h"
#include "supervisor/web/scrape.h"

static int
give(struct scrape *s,
     int (*take)(struct scrape *s, const struct value *body, struct err *err),
     struct buf *body)
{
    struct err err = {""};
    struct unpacked *u = unpack_body(buf_str(body), &err);
    int rc;

    assert_non_null(u);
    rc = take(s, unpacked_root(u), &err);
    unpacked_free(u);
    buf_fini(body);
    return rc;
}

static int
give_metrics(struct scrape *s, enum role from, enum metric id, int64_t number)
{
    struct metrics *m = metrics_new();
    struct buf body = {0};

    metrics_set(m, id, 0, 0, number);
    metrics_pack(&body, m, from);
    metrics_free(m);
    return give(s, scrape_metrics, &body);
}

static int
give_asked(struct scrape *s, int64_t a, int64_t b)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_array(&body, 2);
    pack_int(&body, a);
    pack_int(&body, b);
    return give(s, scrape_measuring, &body);
}

static void
test_it_is_complete_when_all_who_were_asked_have_answered(void **state)
{
    struct scrape s;

    (void)state;
    scrape_init(&s);
    assert_false(scrape_fresh(&s, 1));
    assert_true(scrape_begin(&s, 1));
    assert_false(scrape_begin(&s, 2)); /* one at a time */
    assert_false(scrape_complete(&s, 2));
    assert_int_equal(give_metrics(&s, ROLE_SUPERVISOR, METRIC_READY, 1), 0);
    assert_int_equal(give_asked(&s, ROLE_INFORMER, ROLE_WEB), 0);
    assert_false(scrape_complete(&s, 2));
    assert_int_equal(give_metrics(&s, ROLE_INFORMER, METRIC_FEED_PENDING, 5),
                     0);
    assert_false(scrape_complete(&s, 2));
    assert_int_equal(give_metrics(&s, ROLE_WEB, METRIC_LINK_SENT, 5), 0);
    assert_true(scrape_complete(&s, 2));
    assert_false(scrape_fresh(&s, 2));
    scrape_end(&s, 2);
    assert_true(scrape_fresh(&s, 1 + SCRAPE_FRESH));
    assert_false(scrape_fresh(&s, 2 + SCRAPE_FRESH));
    assert_int_equal(*metrics_get(s.all[ROLE_WEB], METRIC_WORKER_RESPONDED,
                                  ROLE_INFORMER, 0),
                     1);
    scrape_fini(&s);
}

static void
test_who_does_not_answer_is_not_waited_for_nor_shown(void **state)
{
    struct scrape s;

    (void)state;
    scrape_init(&s);
    scrape_begin(&s, 1);
    assert_int_equal(give_asked(&s, ROLE_PLACER, ROLE_WEB), 0);
    give_metrics(&s, ROLE_PLACER, METRIC_CONVERGED, 1);
    give_metrics(&s, ROLE_WEB, METRIC_LINK_SENT, 1);
    scrape_end(&s, 2);
    scrape_begin(&s, 2 + SCRAPE_FRESH);
    assert_int_equal(give_asked(&s, ROLE_PLACER, ROLE_WEB), 0);
    give_metrics(&s, ROLE_WEB, METRIC_LINK_SENT, 1);
    assert_false(scrape_complete(&s, 2 + SCRAPE_FRESH + SCRAPE_PATIENCE - 1));
    assert_true(scrape_complete(&s, 2 + SCRAPE_FRESH + SCRAPE_PATIENCE));
    scrape_end(&s, 2 + SCRAPE_FRESH + SCRAPE_PATIENCE);
    assert_null(metrics_get(s.all[ROLE_PLACER], METRIC_CONVERGED, 0, 0));
    assert_int_equal(
        *metrics_get(s.all[ROLE_WEB], METRIC_WORKER_RESPONDED, ROLE_PLACER, 0),
        0);
    /* Its answer to what is over changes nothing. */
    assert_int_equal(give_metrics(&s, ROLE_PLACER, METRIC_CONVERGED, 1), 0);
    assert_null(metrics_get(s.all[ROLE_PLACER], METRIC_CONVERGED, 0, 0));
    scrape_fini(&s);
}

static void
test_a_body_that_is_none_is_refused(void **state)
{
    struct scrape s;
    struct buf body = {0};

    (void)state;
    scrape_init(&s);
    scrape_begin(&s, 1);
    assert_int_equal(give_asked(&s, ROLE_WEB, ROLE_COUNT), -1);
    assert_int_equal(give_asked(&s, ROLE_WEB, -1), -1);
    pack_int(&body, 1);
    assert_int_equal(give(&s, scrape_measuring, &body), -1);
    pack_int(&body, 1);
    assert_int_equal(give(&s, scrape_metrics, &body), -1);
    assert_int_equal(give_metrics(&s, ROLE_WEB, METRIC_READY, 1), -1);
    scrape_fini(&s);
}

static void
test_the_page_waits_for_a_scrape(void **state)
{
    struct page *page = page_new("the-lease");
    struct scrape *s = page_scrape(page);
    struct metrics *m = metrics_new();
    struct page_head head;
    struct buf out = {0};
    char *text;

    (void)state;
    assert_int_equal(page_answer(page, "GET", "/metrics", 1, &out, &head), 0);
    scrape_begin(s, 1);
    assert_int_equal(page_answer(page, "GET", "/metrics", 1, &out, &head), 0);
    give_metrics(s, ROLE_ELECTOR, METRIC_LEADER, 1);
    scrape_end(s, 2);
    assert_int_equal(out.len, 0);
    assert_int_equal(page_answer(page, "GET", "/metrics", 3, &out, &head), 200);
    assert_string_equal(head.type, "text/plain; version=0.0.4; charset=utf-8");
    text = buf_take(&out);
    assert_non_null(strstr(
        text, "\nleader_election_master_status{name=\"the-lease\"} 1\n"));
    free(text);
    page_measure(page, m);
    assert_int_equal(
        *metrics_get(m, METRIC_HTTP_REQUESTS, WEB_METRICS, WEB_200), 1);
    assert_null(metrics_get(m, METRIC_HTTP_REQUESTS, WEB_METRICS, WEB_503));
    metrics_free(m);
    page_free(page);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_it_is_complete_when_all_who_were_asked_have_answered),
        cmocka_unit_test(test_who_does_not_answer_is_not_waited_for_nor_shown),
        cmocka_unit_test(test_a_body_that_is_none_is_refused),
        cmocka_unit_test(test_the_page_waits_for_a_scrape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
