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

static void
assert_page(struct page *page, const char *method, const char *path, int status,
            const char *body)
{
    struct buf out = {0};
    struct page_head head;
    char *text;

    assert_int_equal(page_answer(page, method, path, 1, &out, &head), status);
    text = buf_take(&out);
    assert_string_equal(text, body);
    free(text);
    assert_string_equal(head.type, "application/json");
    if (status == 405)
        assert_string_equal(head.allow, "GET");
    else
        assert_null(head.allow);
}

static int
take(struct page *page, const struct buf *body, struct err *err)
{
    struct unpacked *u = unpack_body(buf_str(body), err);
    int rc;

    assert_non_null(u);
    rc = page_readiness(page, unpacked_root(u), err);
    unpacked_free(u);
    return rc;
}

static void
put_component(struct buf *body, const char *name, bool ok, const char *reason)
{
    pack_text(body, name);
    pack_array(body, 2);
    pack_bool(body, ok);
    pack_text(body, reason);
}

static void
test_G05_unready_until_told_otherwise(void **state)
{
    struct page *page = page_new("the-lease");

    (void)state;
    assert_page(page, "GET", "/healthz", 200, "{\"ok\":true}\n");
    assert_page(page, "GET", "/readyz", 503,
                "{\"ok\":false,\"reason\":\"starting\"}\n");
    page_free(page);
}

static void
test_G05_readiness_with_its_components(void **state)
{
    struct page *page = page_new("the-lease");
    struct buf body = {0};

    (void)state;
    pack_array(&body, 3);
    pack_bool(&body, false);
    pack_text(&body, "informer: waits for <Node>");
    pack_map(&body, 2);
    put_component(&body, "informer", false, "a \"b\"\n");
    put_component(&body, "placer", true, "held by <x>; standing by");
    assert_int_equal(take(page, &body, NULL), 0);
    assert_page(page, "GET", "/readyz", 503,
                "{\"ok\":false,\"reason\":\"informer: waits for "
                "\\u003cNode\\u003e\",\"components\":{"
                "\"informer\":{\"ok\":false,\"reason\":\"a \\\"b\\\"\\n\"},"
                "\"placer\":{\"ok\":true,\"reason\":\"held by \\u003cx\\u003e; "
                "standing by\"}}}\n");
    assert_page(page, "GET", "/healthz", 200, "{\"ok\":true}\n");
    buf_fini(&body);
    page_free(page);
}

static void
test_G05_ready_has_no_reason(void **state)
{
    struct page *page = page_new("the-lease");
    struct buf body = {0};

    (void)state;
    pack_array(&body, 3);
    pack_bool(&body, true);
    pack_text(&body, "");
    pack_map(&body, 0);
    assert_int_equal(take(page, &body, NULL), 0);
    assert_page(page, "GET", "/readyz", 200, "{\"ok\":true}\n");
    buf_fini(&body);
    page_free(page);
}

static void
test_a_readiness_that_is_none_changes_nothing(void **state)
{
    struct page *page = page_new("the-lease");
    struct buf body = {0};
    struct err err = {""};

    (void)state;
    pack_array(&body, 3);
    pack_bool(&body, true);
    pack_text(&body, "");
    pack_map(&body, 1);
    pack_text(&body, "informer");
    pack_bool(&body, true);
    assert_int_equal(take(page, &body, &err), -1);
    assert_non_null(strstr(err.text, "component 0"));
    buf_clear(&body);
    pack_array(&body, 1);
    pack_bool(&body, true);
    assert_int_equal(take(page, &body, &err), -1);
    buf_clear(&body);
    pack_nil(&body);
    assert_int_equal(take(page, &body, &err), -1);
    assert_page(page, "GET", "/readyz", 503,
                "{\"ok\":false,\"reason\":\"starting\"}\n");
    buf_fini(&body);
    page_free(page);
}

static void
test_G05_other_methods_are_405_and_other_paths_404(void **state)
{
    static const char *const methods[] = {"POST",  "HEAD",  "PUT", "DELETE",
                                          "PATCH", "TRACE", "",    "get"};
    static const char *const paths[] = {"",        "/",         "/readyz/",
                                        "/READYZ", "//healthz", "/healthzz",
                                        "*",       "/metrics/x"};
    struct page *page = page_new("the-lease");

    (void)state;
    for (size_t i = 0; i < nitems(methods); i++) {
        assert_page(page, methods[i], "/healthz", 405,
                    "{\"ok\":false,\"reason\":\"method not allowed\"}\n");
        assert_page(page, methods[i], "/readyz", 405,
                    "{\"ok\":false,\"reason\":\"method not allowed\"}\n");
        assert_page(page, methods[i], "/metrics", 405,
                    "{\"ok\":false,\"reason\":\"method not allowed\"}\n");
    }
    for (size_t i = 0; i < nitems(paths); i++) {
        assert_page(page, "GET", paths[i], 404,
                    "{\"ok\":false,\"reason\":\"not found\"}\n");
        assert_page(page, "POST", paths[i], 404,
                    "{\"ok\":false,\"reason\":\"not found\"}\n");
    }
    page_free(page);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G05_unready_until_told_otherwise),
        cmocka_unit_test(test_G05_readiness_with_its_components),
        cmocka_unit_test(test_G05_ready_has_no_reason),
        cmocka_unit_test(test_a_readiness_that_is_none_changes_nothing),
        cmocka_unit_test(test_G05_other_methods_are_405_and_other_paths_404),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
