/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/kube/json.h"
#include "common/mem.h"

static json_t *
parse(const char *text)
{
    struct err err;
    json_t *root = kube_json_parse(str_of(text), &err);

    if (root == NULL)
        fail_msg("%s", err.text);
    return root;
}

static void
test_values(void **state)
{
    json_t *root = parse("{\"a\":{\"s\":\"text\",\"i\":-7,\"b\":true,"
                         "\"l\":[1],\"o\":{},\"n\":null}}");
    const char *text = NULL;
    json_t *value = NULL;
    int64_t number = 0;
    bool flag = false;
    struct err err;

    (void)state;
    assert_int_equal(kube_json_str(root, "a.s", &text, &err), 1);
    assert_string_equal(text, "text");
    assert_int_equal(kube_json_int(root, "a.i", -7, 7, &number, &err), 1);
    assert_int_equal(number, -7);
    assert_int_equal(kube_json_bool(root, "a.b", &flag, &err), 1);
    assert_true(flag);
    assert_int_equal(kube_json_array(root, "a.l", &value, &err), 1);
    assert_int_equal(json_array_size(value), 1);
    assert_int_equal(kube_json_object(root, "a.o", &value, &err), 1);
    assert_int_equal(json_object_size(value), 0);
    assert_int_equal(kube_json_object(root, "", &value, &err), 1);
    assert_ptr_equal(value, root);
    assert_string_equal(kube_json_text(root, "a.s"), "text");
    assert_string_equal(kube_json_text(root, "a.i"), "");
    assert_string_equal(kube_json_text(root, "b.c"), "");
    assert_true(json_is_null(kube_json_at(root, "a.n")));
    assert_null(kube_json_at(root, "a.s.t"));
    json_decref(root);
}

/* Missing, null, and below something missing or null are all "not there". */
static void
test_not_there(void **state)
{
    static const char *const paths[] = {"x", "a.x", "a.x.y", "a.n", "a.n.y"};
    json_t *root = parse("{\"a\":{\"n\":null}}");
    const char *text = "kept";
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(paths); i++)
        assert_int_equal(kube_json_str(root, paths[i], &text, &err), 0);
    assert_int_equal(kube_json_str(NULL, "a", &text, &err), 0);
    assert_string_equal(text, "kept");
    json_decref(root);
}

static void
assert_str_refused(const char *document, const char *path, const char *wanted)
{
    json_t *root = parse(document);
    const char *text;
    struct err err;

    assert_int_equal(kube_json_str(root, path, &text, &err), -1);
    assert_string_equal(err.text, wanted);
    json_decref(root);
}

static void
test_wrong_types_name_the_path(void **state)
{
    json_t *root = parse("{\"a\":{\"i\":7,\"r\":7.0}}");
    int64_t number;
    json_t *value;
    struct err err;
    bool flag;

    (void)state;
    assert_str_refused("{\"a\":{\"b\":1}}", "a.b",
                       "a.b must be a string, but is a number");
    assert_str_refused("{\"a\":[]}", "a.b",
                       "a must be an object, but is a list");
    assert_str_refused("{\"a\":{\"b\":\"\"}}", "a.b.c",
                       "a.b must be an object, but is a string");
    assert_str_refused("[]", "a", "document must be an object, but is a list");
    assert_str_refused("[]", "", "document must be a string, but is a list");
    assert_int_equal(kube_json_int(root, "a.r", 0, 9, &number, &err), -1);
    assert_string_equal(err.text, "a.r must be a whole number, but is a number "
                                  "with a fraction");
    assert_int_equal(kube_json_int(root, "a.i", 0, 6, &number, &err), -1);
    assert_string_equal(err.text, "a.i must be from 0 to 6, but is 7");
    assert_int_equal(kube_json_bool(root, "a.i", &flag, &err), -1);
    assert_int_equal(kube_json_array(root, "a", &value, &err), -1);
    assert_int_equal(kube_json_object(root, "a.i", &value, &err), -1);
    json_decref(root);
}

static void
test_H02_H03_what_is_no_json(void **state)
{
    static const char *const cases[] = {
        "",
        "{",
        "{\"a\":1,}",
        "{} {}",
        "{\"a\":9223372036854775808}",
        "{\"a\":1e400}",
        "\"\\ud800\"",
        "\"\xff\"",
        "\xef\xbb\xbf{}",
        "\"\\u0000\"",
        "nul",
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        if (kube_json_parse(str_of(cases[i]), &err) != NULL)
            fail_msg("accepted: %s", cases[i]);
        assert_non_null(strstr(err.text, "line"));
        assert_null(strchr(err.text, '\n'));
    }
}

/* The API server's own way with duplicates is not ours to judge. */
static void
test_last_of_equal_keys(void **state)
{
    json_t *root = parse("{\"a\":\"1\",\"a\":\"2\"}");

    (void)state;
    assert_string_equal(kube_json_text(root, "a"), "2");
    json_decref(root);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_wrong_types_name_the_path),
        cmocka_unit_test(test_H02_H03_what_is_no_json),
        cmocka_unit_test(test_last_of_equal_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
