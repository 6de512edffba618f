/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/json.h"
#include "common/kube/prune.h"
#include "common/mem.h"

static const char *const paths[] = {"meta.account.*.fields.*", "spec", NULL};

static void
check(const char *text, const char *wanted)
{
    struct buf out = {0};
    char *got;

    kube_prune(&out, str_of(text), paths);
    got = buf_take(&out);
    assert_string_equal(got, wanted);
    free(got);
}

static void
test_objects_and_lists_at_a_path_are_emptied(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{\"spec\":{\"a\":[1,{}]},\"b\":1}", "{\"spec\":{},\"b\":1}"},
        {"{\"spec\" : [ 1 ] , \"b\":{\"spec\":{\"c\":1}}}",
         "{\"spec\" : [] , \"b\":{\"spec\":{\"c\":1}}}"},
        {"{\"a\":{\"x\":1},\"spec\":{\"y\":2}}",
         "{\"a\":{\"x\":1},\"spec\":{}}"},
        {"{\"meta\":{\"account\":[{\"by\":\"m\",\"fields\":{\"f:s\":{\"k\":{}},"
         "\"f:t\":{}}},{\"fields\":{\"f:u\":{\"v\":{}}}}]}}",
         "{\"meta\":{\"account\":[{\"by\":\"m\",\"fields\":{\"f:s\":{},"
         "\"f:t\":{}}},{\"fields\":{\"f:u\":{}}}]}}"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++)
        check(cases[i].text, cases[i].wanted);
}

static void
test_all_else_stays_to_the_byte(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[{\"spec\":{\"a\":1}}]",
        "{\"spec\":\"{\\\"a\\\":1}\",\"b\":\"spec\"}",
        "{\"a\":[\"spec\",{\"spec\":[1]}],\"c\":\"spec\\\\\"}",
        "{\"meta\":{\"account\":[[{\"fields\":{\"f\":{\"x\":1}}}]]}}",
        "{\"meta\":{\"account\":{\"fields\":{\"f\":{\"x\":1}}}}}",
        "{\"meta.account\":{\"spec\":{\"x\":1}},\"sp\\u0065c\":{\"x\":1}}",
        "[[[[[[[[[[[[{\"spec\":{\"x\":1}}]]]]]]]]]]]]",
        "}}]{\"a\":\"",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++)
        check(texts[i], texts[i]);
}

static void
test_brackets_and_quotes_in_strings_are_none(void **state)
{
    (void)state;
    check("{\"spec\":{\"a\":\"}\\\"}\",\"b\":\"\\\\\"},\"z\":1}",
          "{\"spec\":{},\"z\":1}");
    check("{\"a\":\"\\\"{[\",\"spec\":{\"q\":\"]\"}}",
          "{\"a\":\"\\\"{[\",\"spec\":{}}");
}

/* Cut anywhere, it is no JSON before and none afterwards, and the fault is told
 * by its place in what was given. */
static void
test_what_breaks_off_is_refused(void **state)
{
    static const char text[] =
        "{\"spec\":{\"a\":[\"x\\\"\"]},\"meta\":{\"account\":[{\"fields\":"
        "{\"f\":{\"g\":1}}}]}}";
    struct err err, whole;

    (void)state;
    for (size_t n = 0; n + 1 < sizeof(text); n++) {
        char *cut = mem_dup(text, n); /* its end is the end of the memory */
        struct str s = {cut, n};

        assert_null(kube_json_parse_pruned(s, paths, &err));
        assert_null(kube_json_parse(s, &whole));
        assert_string_equal(err.text, whole.text);
        free(cut);
    }
}

static void
test_what_is_cut_out_is_not_looked_at(void **state)
{
    struct err err;
    json_t *root = kube_json_parse_pruned(
        STR("{\"spec\":{nonsense: \xff},\"b\":7}"), paths, &err);
    int64_t b = 0;

    (void)state;
    assert_non_null(root);
    assert_int_equal(kube_json_int(root, "b", 0, 9, &b, &err), 1);
    assert_int_equal(b, 7);
    json_decref(root);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_and_lists_at_a_path_are_emptied),
        cmocka_unit_test(test_all_else_stays_to_the_byte),
        cmocka_unit_test(test_brackets_and_quotes_in_strings_are_none),
        cmocka_unit_test(test_what_breaks_off_is_refused),
        cmocka_unit_test(test_what_is_cut_out_is_not_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
