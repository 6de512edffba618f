/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/kube/http.h"
#include "common/kube/json.h"
#include "common/kube/status.h"
#include "common/mem.h"
#include "tests/fake/wire.h"

static const char conflict[] =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
    "\"message\":\"Apply failed with 2 conflicts\",\"reason\":\"Conflict\","
    "\"details\":{\"retryAfterSeconds\":3,\"causes\":["
    "{\"reason\":\"FieldManagerConflict\",\"message\":"
    "\"conflict with \\\"kubectl\\\" using v1\",\"field\":"
    "\".metadata.labels.nvidia.com/gpu.clique\"},"
    "{\"reason\":\"FieldManagerConflict\",\"field\":7}]},\"code\":409}";

static struct kube_response
response_of(int status, const char *body)
{
    return (struct kube_response){
        .status = status,
        .body = str_of(body),
        .content_type = "application/json",
        .method = "PATCH",
        .url = "https://h:6443/api/v1/nodes/n?fieldManager=x",
    };
}

static void
test_json(void **state)
{
    json_t *object = kube_json_parse(str_of(conflict), NULL);
    struct kube_status status;
    struct err err;

    (void)state;
    assert_int_equal(kube_status_json(&status, object, &err), 0);
    json_decref(object);
    assert_int_equal(status.code, 409);
    assert_string_equal(status.reason, "Conflict");
    assert_string_equal(status.message, "Apply failed with 2 conflicts");
    assert_true(status.retry_after == 3 * CLOCK_SECOND);
    assert_int_equal(status.n_causes, 2);
    assert_int_equal(status.total_causes, 2);
    assert_string_equal(status.causes[0].type, "FieldManagerConflict");
    assert_string_equal(status.causes[0].message,
                        "conflict with \"kubectl\" using v1");
    assert_string_equal(status.causes[0].field,
                        ".metadata.labels.nvidia.com/gpu.clique");
    assert_string_equal(status.causes[1].field, "");
    assert_true(kube_status_has(&status, "FieldManagerConflict"));
    assert_false(kube_status_has(&status, "Other"));
    kube_status_fini(&status);
    kube_status_fini(&status);
}

static void
test_json_of_another_kind(void **state)
{
    json_t *object = kube_json_parse(STR("{\"kind\":\"Node\"}"), NULL);
    struct kube_status status;
    struct err err;

    (void)state;
    assert_int_equal(kube_status_json(&status, object, &err), -1);
    assert_non_null(strstr(err.text, "Node"));
    assert_int_equal(kube_status_json(&status, NULL, &err), -1);
    json_decref(object);
}

static void
test_many_causes_are_counted(void **state)
{
    struct kube_status status;
    struct kube_response response;
    struct buf body = {0};
    char *text;

    (void)state;
    buf_addz(&body, "{\"kind\":\"Status\",\"details\":{\"causes\":[{}");
    for (int i = 1; i < 100; i++)
        buf_addz(&body, ",{\"reason\":\"r\",\"message\":\"m\"}");
    buf_addz(&body, "]}}");
    text = buf_take(&body);
    response = response_of(422, text);
    kube_status_read(&status, &response);
    assert_int_equal(status.n_causes, KUBE_CAUSES);
    assert_int_equal(status.total_causes, 100);
    assert_int_equal(status.code, 422);
    kube_status_fini(&status);
    free(text);
}

static void
test_A01_protobuf(void **state)
{
    struct buf cause = {0}, details = {0}, message = {0};
    struct kube_status status;
    struct err err;

    (void)state;
    wire_text(&cause, 1, "ResourceVersionTooLarge");
    wire_text(&cause, 2, "m");
    wire_text(&cause, 3, "f");
    wire_message(&details, 4, &cause);
    wire_number(&details, 5, 2);
    wire_text(&message, 2, "Failure");
    wire_text(&message, 3, "too old resource version: 1 (2)");
    wire_text(&message, 4, "Expired");
    wire_message(&message, 5, &details);
    wire_number(&message, 6, 410);
    assert_int_equal(kube_status_protobuf(&status, buf_str(&message), &err), 0);
    assert_int_equal(status.code, 410);
    assert_string_equal(status.reason, "Expired");
    assert_true(kube_status_expired(&status));
    assert_true(kube_status_too_new(&status));
    assert_string_equal(status.causes[0].field, "f");
    assert_true(status.retry_after == 2 * CLOCK_SECOND);
    kube_status_fini(&status);
    for (size_t i = 0; i < message.len; i++) {
        struct str cut = {buf_bytes(&message), i};

        if (kube_status_protobuf(&status, cut, &err) == 0)
            kube_status_fini(&status);
    }
    buf_fini(&message);
}

/* Servers before 1.19 give no cause for a version from the future. */
static void
test_A04_too_large_by_message(void **state)
{
    struct kube_response response = response_of(
        504, "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":"
             "\"Timeout: Too large resource version: 9, current: 5\"}");
    struct kube_status status;

    (void)state;
    kube_status_read(&status, &response);
    assert_true(kube_status_too_new(&status));
    assert_false(kube_status_expired(&status));
    assert_int_equal(status.code, 504);
    kube_status_fini(&status);
}

static void
test_bodies_that_are_no_status(void **state)
{
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"", ""},
        {"<html>\n<body>", "<html>"},
        {"\n\r\n bad\x01 gateway\xff\n", " bad gateway"},
        {"{\"kind\":\"Status\"", "{\"kind\":\"Status\""},
        {"[1]", "[1]"},
        {"\"x\"", "\"x\""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct kube_response response = response_of(502, cases[i].body);
        struct kube_status status;

        response.retry_after = CLOCK_SECOND;
        kube_status_read(&status, &response);
        assert_int_equal(status.code, 502);
        assert_string_equal(status.reason, "");
        assert_string_equal(status.message, cases[i].message);
        assert_true(status.retry_after == CLOCK_SECOND);
        kube_status_fini(&status);
    }
}

static void
test_describe(void **state)
{
    struct kube_response response = response_of(409, conflict);
    struct err err;

    (void)state;
    assert_int_equal(kube_describe(&response, NULL, &err), -1);
    assert_string_equal(err.text, "PATCH https://h:6443/api/v1/nodes/n: 409 "
                                  "Conflict: Apply failed with 2 conflicts");
    kube_describe(&response, "apply node n", &err);
    assert_string_equal(err.text, "apply node n: 409 Conflict: Apply failed "
                                  "with 2 conflicts");
    response = response_of(401, "{\"kind\":\"Status\",\"message\":\"a\\nb\"}");
    kube_describe(&response, "list", &err);
    assert_string_equal(err.text, "list: 401 Unauthorized: a b; check the "
                                  "token or client certificate");
    response = response_of(418, "");
    kube_describe(&response, "list", &err);
    assert_string_equal(err.text, "list: 418");
    response = response_of(0, "");
    strcpy(response.err.text, "https://h:6443: connection refused");
    kube_describe(&response, "list", &err);
    assert_string_equal(err.text, "list: https://h:6443: connection refused");
    kube_describe(&response, NULL, &err);
    assert_string_equal(err.text, "PATCH /api/v1/nodes/n: https://h:6443: "
                                  "connection refused");
}

/* Long texts are cut, and not in the middle of a character. */
static void
test_H03_describe_is_bounded(void **state)
{
    struct buf body = {0};
    struct kube_response response;
    struct err err;
    char *text;

    (void)state;
    buf_addz(&body, "{\"kind\":\"Status\",\"message\":\"x");
    for (int i = 0; i < 1000; i++)
        buf_addz(&body, "\xe2\x82\xac");
    buf_addz(&body, "\"}");
    text = buf_take(&body);
    response = response_of(400, text);
    kube_describe(&response, NULL, &err);
    assert_true(strlen(err.text) < 400);
    assert_memory_equal(err.text + strlen(err.text) - 3, "\xe2\x82\xac", 3);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_another_kind),
        cmocka_unit_test(test_many_causes_are_counted),
        cmocka_unit_test(test_A01_protobuf),
        cmocka_unit_test(test_A04_too_large_by_message),
        cmocka_unit_test(test_bodies_that_are_no_status),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_H03_describe_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
