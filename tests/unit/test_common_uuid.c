/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/mem.h"
#include "common/uuid.h"

static void
test_the_form_is_that_of_version_4(void **state)
{
    char text[UUID_TEXT];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        uuid_random(text);
        assert_int_equal(strlen(text), 36);
        for (int j = 0; j < 36; j++) {
            if (j == 8 || j == 13 || j == 18 || j == 23)
                assert_int_equal(text[j], '-');
            else
                assert_non_null(strchr("0123456789abcdef", text[j]));
        }
        assert_int_equal(text[14], '4');
        assert_non_null(strchr("89ab", text[19]));
    }
}

static void
test_no_two_are_the_same(void **state)
{
    static char texts[500][UUID_TEXT];

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        uuid_random(texts[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(texts[i], texts[j]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_form_is_that_of_version_4),
        cmocka_unit_test(test_no_two_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
