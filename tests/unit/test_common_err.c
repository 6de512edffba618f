/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"

static void
test_set_formats_and_returns_failure(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err_set(&err, "%s is %d", "x", 7), -1);
    assert_string_equal(err.text, "x is 7");
}

static void
test_errno_is_explained_after_the_text(void **state)
{
    struct err err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(err_errno(&err, "open %s", "/x"), -1);
    assert_string_equal(err.text, "open /x: No such file or directory");
}

static void
test_prefixes_pile_up_from_inside_out(void **state)
{
    struct err err;

    (void)state;
    err_set(&err, "inner");
    assert_int_equal(err_prefix(&err, "middle %d", 2), -1);
    assert_int_equal(err_prefix(&err, "outer"), -1);
    assert_string_equal(err.text, "outer: middle 2: inner");
}

static void
test_nobody_need_listen(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, "x"), -1);
    assert_int_equal(err_errno(NULL, "x"), -1);
    assert_int_equal(err_prefix(NULL, "x"), -1);
}

static void
test_a_long_text_is_cut_at_its_end(void **state)
{
    char longest[2000];
    struct err err;

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    err_set(&err, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    err_prefix(&err, "head");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "head: xxx", 9);
    err_prefix(&err, "%s", longest);
    errno = ENOENT;
    err_errno(&err, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void
test_cut_text_ends_with_a_whole_character(void **state)
{
    struct err err;
    char longer[2000];

    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        size_t n;

        memset(longer, 'x', shift);
        for (n = shift; n + 3 < sizeof(longer); n += 3)
            memcpy(longer + n, "\342\202\254", 3);
        longer[n] = '\0';
        err_set(&err, "%s", longer);
        assert_int_equal((strlen(err.text) - shift) % 3, 0);
        err_prefix(&err, "y");
        assert_int_equal((strlen(err.text) - shift) % 3, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_text_ends_with_a_whole_character),
        cmocka_unit_test(test_set_formats_and_returns_failure),
        cmocka_unit_test(test_errno_is_explained_after_the_text),
        cmocka_unit_test(test_prefixes_pile_up_from_inside_out),
        cmocka_unit_test(test_nobody_need_listen),
        cmocka_unit_test(test_a_long_text_is_cut_at_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
