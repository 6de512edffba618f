/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "proto/intent.h"
#include <cmocka.h>

static void
assert_order(const char *a, const char *b, int wanted)
{
    int got = version_cmp(str_of(a), str_of(b));

    if ((got > 0) - (got < 0) != wanted)
        fail_msg("\"%s\" and \"%s\": %d", a, b, got);
    got = version_cmp(str_of(b), str_of(a));
    assert_int_equal((got > 0) - (got < 0), -wanted);
}

static void
test_versions_are_numbers_and_not_texts(void **state)
{
    (void)state;
    assert_order("1", "1", 0);
    assert_order("9", "10", -1);
    assert_order("99", "100", -1);
    assert_order("101", "100", 1);
    assert_order("5", "40", -1);
}

static void
test_versions_may_be_longer_than_any_integer(void **state)
{
    (void)state;
    assert_order("18446744073709551615", "18446744073709551616", -1);
    assert_order("99999999999999999999999999999998",
                 "99999999999999999999999999999999", -1);
    assert_order("100000000000000000000000000000000",
                 "99999999999999999999999999999999", 1);
}

static void
test_leading_zeros_do_not_count(void **state)
{
    (void)state;
    assert_order("007", "7", 0);
    assert_order("0008", "7", 1);
    assert_order("0", "", 0);
    assert_order("000", "1", -1);
}

static void
test_what_is_no_number_is_oldest(void **state)
{
    static const char *const texts[] = {"",   "x",  "1x", "-5",
                                        "+5", " 5", "5 ", "1.0"};

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        assert_order(texts[i], "1", -1);
        assert_order(texts[i], "", 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_are_numbers_and_not_texts),
        cmocka_unit_test(test_versions_may_be_longer_than_any_integer),
        cmocka_unit_test(test_leading_zeros_do_not_count),
        cmocka_unit_test(test_what_is_no_number_is_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
