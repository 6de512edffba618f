/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/elector/lease.h"

/* 2026-01-02T03:04:05Z */
#define BASE (INT64_C(1767323045) * CLOCK_SECOND)

static json_t *
parse(const char *text)
{
    struct err err = {""};
    json_t *json = kube_json_parse(str_of(text), &err);

    if (json == NULL)
        fail_msg("%s", err.text);
    return json;
}

static void
assert_json(const json_t *json, const char *wanted)
{
    json_t *other = parse(wanted);

    if (!json_equal(json, other))
        fail_msg("%s", json_dumps(json, JSON_INDENT(2)));
    json_decref(other);
}

static void
test_a_new_lease(void **state)
{
    struct lease_record record = {
        .holder = "host_1",
        .duration = 15,
        .acquired = BASE,
        .renewed = BASE + 678 * CLOCK_MS,
    };
    json_t *lease =
        lease_new("mokka", "control-plane.mokka.nvidia.com", &record);

    (void)state;
    assert_json(lease,
                "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                "\"metadata\":{\"namespace\":\"mokka\","
                "\"name\":\"control-plane.mokka.nvidia.com\"},"
                "\"spec\":{\"holderIdentity\":\"host_1\","
                "\"leaseDurationSeconds\":15,"
                "\"acquireTime\":\"2026-01-02T03:04:05.000000Z\","
                "\"renewTime\":\"2026-01-02T03:04:05.678000Z\","
                "\"leaseTransitions\":0}}");
    json_decref(lease);
}

static const char live_text[] =
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
    "\"metadata\":{\"name\":\"l\",\"namespace\":\"n\",\"resourceVersion\":"
    "\"77\",\"uid\":\"u\",\"labels\":{\"team\":\"x\"},\"managedFields\":[{}]},"
    "\"spec\":{\"holderIdentity\":\"them\",\"leaseDurationSeconds\":30,"
    "\"acquireTime\":\"2026-01-02T03:04:05.000001Z\","
    "\"renewTime\":\"2026-01-02T03:04:06.5Z\",\"leaseTransitions\":4,"
    "\"strategy\":\"OldestEmulationVersion\",\"preferredHolder\":\"p\","
    "\"novelty\":{\"a\":[1,2.5]}}}";

static void
test_reading(void **state)
{
    json_t *live = parse(live_text);
    struct lease_record record;

    (void)state;
    assert_int_equal(lease_read(live, &record, NULL), 0);
    assert_string_equal(record.holder, "them");
    assert_int_equal(record.duration, 30);
    assert_int_equal(record.transitions, 4);
    assert_true(record.acquired == BASE + 1000);
    assert_true(record.renewed == BASE + 1500 * CLOCK_MS);
    json_decref(live);
}

static void
test_D01_times_have_six_digits_and_unknown_fields_stay(void **state)
{
    json_t *live = parse(live_text);
    struct lease_record record = {
        .holder = "us",
        .duration = 15,
        .acquired = BASE,
        .renewed = BASE,
        .transitions = 5,
    };
    json_t *lease = lease_with(live, &record);

    (void)state;
    assert_json(
        lease,
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
        "\"metadata\":{\"name\":\"l\",\"namespace\":\"n\","
        "\"resourceVersion\":\"77\",\"uid\":\"u\",\"labels\":{\"team\":\"x\"},"
        "\"managedFields\":[{}]},"
        "\"spec\":{\"holderIdentity\":\"us\",\"leaseDurationSeconds\":15,"
        "\"acquireTime\":\"2026-01-02T03:04:05.000000Z\","
        "\"renewTime\":\"2026-01-02T03:04:05.000000Z\",\"leaseTransitions\":5,"
        "\"strategy\":\"OldestEmulationVersion\",\"preferredHolder\":\"p\","
        "\"novelty\":{\"a\":[1,2.5]}}}");
    assert_json(live, live_text);
    json_decref(lease);
    json_decref(live);
}

static void
test_D01_a_kept_time_keeps_its_value(void **state)
{
    json_t *live = parse(live_text);
    struct lease_record record;
    json_t *lease;

    (void)state;
    assert_int_equal(lease_read(live, &record, NULL), 0);
    record.renewed = BASE + 2 * CLOCK_SECOND;
    lease = lease_with(live, &record);
    assert_string_equal(kube_json_text(lease, "spec.acquireTime"),
                        "2026-01-02T03:04:05.000001Z");
    assert_string_equal(kube_json_text(lease, "spec.renewTime"),
                        "2026-01-02T03:04:07.000000Z");
    json_decref(lease);
    json_decref(live);
}

static void
test_a_time_beyond_our_range_stays_as_it_is(void **state)
{
    json_t *live = parse("{\"kind\":\"Lease\",\"spec\":{\"acquireTime\":"
                         "\"0001-01-01T00:00:00.000000Z\"}}");
    struct lease_record record;
    json_t *lease;

    (void)state;
    assert_int_equal(lease_read(live, &record, NULL), 0);
    assert_true(record.acquired == LEASE_NO_TIME);
    assert_true(record.renewed == LEASE_NO_TIME);
    lease = lease_with(live, &record);
    assert_string_equal(kube_json_text(lease, "spec.acquireTime"),
                        "0001-01-01T00:00:00.000000Z");
    assert_null(kube_json_at(lease, "spec.renewTime"));
    json_decref(lease);
    json_decref(live);
}

/* As the API server keeps a release: some clients leave fields out. */
static void
test_absent_fields(void **state)
{
    static const char *const texts[] = {
        "{\"kind\":\"Lease\"}",
        "{\"kind\":\"Lease\",\"spec\":null}",
        "{\"kind\":\"Lease\",\"spec\":{}}",
        ("{\"kind\":\"Lease\",\"spec\":{\"holderIdentity\":null,"
         "\"leaseDurationSeconds\":null,\"renewTime\":null}}"),
    };
    struct lease_record ours = {
        .holder = "us", .duration = 15, .acquired = BASE, .renewed = BASE};

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        json_t *live = parse(texts[i]);
        struct lease_record record;
        json_t *lease;

        assert_int_equal(lease_read(live, &record, NULL), 0);
        assert_string_equal(record.holder, "");
        assert_int_equal(record.duration, 0);
        assert_int_equal(record.transitions, 0);
        lease = lease_with(live, &ours);
        assert_string_equal(kube_json_text(lease, "spec.holderIdentity"), "us");
        json_decref(lease);
        json_decref(live);
    }
}

static void
test_what_is_no_lease(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{}", "is no Lease"},
        {"{\"kind\":\"Status\"}", "no Lease but \"Status\""},
        {"{\"kind\":\"Lease\",\"spec\":[]}", "spec"},
        {"{\"kind\":\"Lease\",\"spec\":{\"holderIdentity\":7}}",
         "spec.holderIdentity"},
        {"{\"kind\":\"Lease\",\"spec\":{\"leaseDurationSeconds\":\"15\"}}",
         "spec.leaseDurationSeconds"},
        {"{\"kind\":\"Lease\",\"spec\":{\"leaseTransitions\":99999999999}}",
         "spec.leaseTransitions"},
        {"{\"kind\":\"Lease\",\"spec\":{\"renewTime\":1}}", "spec.renewTime"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        json_t *live = parse(cases[i].text);
        struct lease_record record;
        struct err err = {""};

        assert_int_equal(lease_read(live, &record, &err), -1);
        if (strstr(err.text, cases[i].wanted) == NULL)
            fail_msg("\"%s\" does not name %s", err.text, cases[i].wanted);
        json_decref(live);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_lease),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(
            test_D01_times_have_six_digits_and_unknown_fields_stay),
        cmocka_unit_test(test_D01_a_kept_time_keeps_its_value),
        cmocka_unit_test(test_a_time_beyond_our_range_stays_as_it_is),
        cmocka_unit_test(test_absent_fields),
        cmocka_unit_test(test_what_is_no_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
