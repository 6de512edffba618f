/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/kube/stats.h"
#include "common/mem.h"

static void
test_the_verb_is_the_audit_logs(void **state)
{
    static const struct {
        const char *method, *path;
        enum api_verb verb;
    } cases[] = {
        {"GET", "/api/v1/nodes", API_LIST},
        {"GET", "/api/v1/nodes?limit=500&continue=a/b", API_LIST},
        {"GET", "/api/v1/nodes/watch=1", API_GET},
        {"GET", "/api/v1/nodes/a", API_GET},
        {"GET", "/api/v1/nodes?watch=true&resourceVersion=1", API_WATCH},
        {"GET", "/api/v1/nodes?limit=1&watch=1", API_WATCH},
        {"GET", "/api/v1/nodes?unwatch=1", API_LIST},
        {"GET", "/api/v1/nodes?watch=0", API_LIST},
        {"GET", "/apis/mokka.nvidia.com/v1alpha1/sgpuracks", API_LIST},
        {"GET", "/apis/mokka.nvidia.com/v1alpha1/sgpuracks/a", API_GET},
        {"GET", "/apis/mokka.nvidia.com/v1alpha1/sgpuracks/a/status", API_GET},
        {"GET", "/apis/coordination.k8s.io/v1/namespaces/a/leases", API_LIST},
        {"GET", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", API_GET},
        {"POST", "/api/v1/namespaces/a/events", API_CREATE},
        {"PUT", "/apis/mokka.nvidia.com/v1alpha1/sgpuracks/a/status",
         API_UPDATE},
        {"PATCH", "/api/v1/nodes/a?fieldManager=b", API_PATCH},
        {"DELETE", "/apis/mokka.nvidia.com/v1alpha1/sgpuracks/a", API_DELETE},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++)
        if (kube_verb(cases[i].method, cases[i].path) != cases[i].verb)
            fail_msg("%s %s", cases[i].method, cases[i].path);
}

static void
test_only_what_was_asked_is_told(void **state)
{
    struct kube_stats stats = {0};
    struct metrics *m = metrics_new();
    const int64_t *numbers;

    (void)state;
    kube_stats_note(&stats, API_PATCH, 200, 3000000);
    kube_stats_note(&stats, API_PATCH, 200, 4000000);
    kube_stats_note(&stats, API_PATCH, 0, 60000000000);
    kube_stats_measure(&stats, m);
    assert_int_equal(
        *metrics_get(m, METRIC_API_REQUESTS, API_PATCH, metrics_code_of(200)),
        2);
    assert_int_equal(*metrics_get(m, METRIC_API_REQUESTS, API_PATCH, 0), 1);
    assert_null(
        metrics_get(m, METRIC_API_REQUESTS, API_PATCH, metrics_code_of(201)));
    numbers = metrics_get(m, METRIC_API_DURATION, API_PATCH, 0);
    assert_int_equal(numbers[1], 2);
    assert_int_equal(numbers[HISTOGRAM_BUCKETS], 1);
    assert_null(metrics_get(m, METRIC_API_DURATION, API_GET, 0));
    metrics_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_verb_is_the_audit_logs),
        cmocka_unit_test(test_only_what_was_asked_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
