/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/mem.h"
#include "supervisor/mokkactl/scalar.h"

static void
test_plain_scalars_mean_what_kubectl_makes_of_them(void **state)
{
    static const struct {
        const char *text, *json;
    } rows[] = {
        {"", "null"},
        {"~", "null"},
        {"null", "null"},
        {"NULL", "null"},
        {"nULL", "\"nULL\""},
        {"true", "true"},
        {"yes", "true"},
        {"On", "true"},
        {"y", "true"},
        {"False", "false"},
        {"off", "false"},
        {"N", "false"},
        {"tRue", "\"tRue\""},
        {"0", "0"},
        {"7", "7"},
        {"-7", "-7"},
        {"+7", "7"},
        {"1_000", "1000"},
        {"0x1F", "31"},
        {"-0x10", "-16"},
        {"0o17", "15"},
        {"017", "15"},
        {"08", "8"},
        {"0b101", "5"},
        {"0b2", "\"0b2\""},
        {"0x", "\"0x\""},
        {"4.0", "4"},
        {"1e2", "100"},
        {"1.5", "1.5"},
        {".5", "0.5"},
        {"5.", "5"},
        {".", "\".\""},
        {"-", "\"-\""},
        {"1e", "\"1e\""},
        {"1e400", "\"1e400\""},
        {"10de", "\"10de\""},
        {"1:30", "\"1:30\""},
        {"2026-01-02", "\"2026-01-02\""},
        {"0000:1b:00.0", "\"0000:1b:00.0\""},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "9.2233720368547758e18"},
        {"a b", "\"a b\""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct err err;
        json_t *wanted = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
        json_t *value = scalar_value(str_of(rows[i].text), true, STR(""), &err);

        if (!json_equal(value, wanted))
            fail_msg("%s", rows[i].text);
        json_decref(value);
        json_decref(wanted);
    }
}

static void
test_quotes_make_a_text(void **state)
{
    json_t *value = scalar_value(STR("1"), false, STR(""), NULL);

    (void)state;
    assert_string_equal(json_string_value(value), "1");
    json_decref(value);
}

#define YAML "tag:yaml.org,2002:"

static void
test_tags(void **state)
{
    struct err err;
    json_t *value = scalar_value(STR("1"), true, STR(YAML "str"), &err);

    (void)state;
    assert_true(json_is_string(value));
    json_decref(value);
    value = scalar_value(STR("1"), false, STR(YAML "int"), &err);
    assert_int_equal(json_integer_value(value), 1);
    json_decref(value);
    assert_null(scalar_value(STR("x"), true, STR(YAML "int"), &err));
    assert_null(scalar_value(STR("eA=="), true, STR(YAML "binary"), &err));
    assert_null(scalar_value(STR("1"), true, STR("!mine"), &err));
}

static void
test_what_json_does_not_have(void **state)
{
    struct err err;

    (void)state;
    assert_null(scalar_value(STR(".inf"), true, STR(""), &err));
    assert_null(scalar_value(STR(".NaN"), true, STR(""), &err));
    assert_null(scalar_value(STR("a\0b"), false, STR(""), &err));
}

static void
test_texts_that_need_no_quotes(void **state)
{
    static const char *const plain[] = {"a", "a-b_c.d/e", "Node", "nvl72",
                                        "x+y"};
    static const char *const quoted[] = {
        "",     "yes",  "null",       "1",     "-a",  ".a",  "a b", "a: b",
        "1:30", "#a",   "a#",         "a,b",   "[a]", "{a}", "&a",  "*a",
        "!a",   "|",    ">",          "'a",    "%a",  "@a",  "`a",  "\xc3\xa9",
        "a\nb", "a\tb", "2026-01-02", "0x10z", "~",   "y"};

    (void)state;
    for (size_t i = 0; i < nitems(plain); i++)
        assert_true(scalar_is_plain_text(str_of(plain[i])));
    for (size_t i = 0; i < nitems(quoted); i++)
        if (scalar_is_plain_text(str_of(quoted[i])))
            fail_msg("%s", quoted[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_scalars_mean_what_kubectl_makes_of_them),
        cmocka_unit_test(test_quotes_make_a_text),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_what_json_does_not_have),
        cmocka_unit_test(test_texts_that_need_no_quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
