/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "common/str.h"
#include <cmocka.h>

static void
test_equality(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), str_of("ab")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_false(str_eq(STR("ab"), STR("aB")));
    assert_true(str_eq(STR(""), (struct str){NULL, 0}));
    assert_true(str_eq((struct str){NULL, 0}, (struct str){NULL, 0}));
    assert_true(str_is((struct str){"abc", 2}, "ab"));
    assert_true(str_is(str_of(NULL), ""));
}

static void
test_order_is_that_of_bytes(void **state)
{
    static const struct str sorted[] = {
        STR(""),     STR("-"),    STR("A"),        STR("a"),
        STR("aa"),   STR("ab"),   STR("b\x01"),    STR("\x7f"),
        STR("\x80"), STR("\xff"), STR("\xff\x01"),
    };

    (void)state;
    for (size_t i = 0; i < nitems(sorted); i++)
        for (size_t j = 0; j < nitems(sorted); j++) {
            int order = str_cmp(sorted[i], sorted[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    assert_int_equal(str_cmp((struct str){NULL, 0}, STR("")), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equality),
        cmocka_unit_test(test_order_is_that_of_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
