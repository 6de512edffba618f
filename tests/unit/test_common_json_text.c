/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_text.h"
#include "common/mem.h"

static void
assert_string(const char *bytes, size_t n, const char *wanted)
{
    struct buf out = {0};
    char *text;

    json_text_string(&out, (struct str){bytes, n});
    text = buf_take(&out);
    assert_string_equal(text, wanted);
    free(text);
}

#define ASSERT_STRING(literal, wanted)                                         \
    assert_string(literal, sizeof(literal) - 1, wanted)

static void
test_plain_text_stands_for_itself(void **state)
{
    (void)state;
    ASSERT_STRING("", "\"\"");
    ASSERT_STRING("abc XYZ 019 ~!@#$%^*()_+-=[]{}|;:',./?`",
                  "\"abc XYZ 019 ~!@#$%^*()_+-=[]{}|;:',./?`\"");
    ASSERT_STRING("\x7f", "\"\x7f\"");
    ASSERT_STRING("ä€\xf0\x9f\x98\x80", "\"ä€\xf0\x9f\x98\x80\"");
}

static void
test_go_escapes_quotes_controls_and_html(void **state)
{
    (void)state;
    ASSERT_STRING("\"\\/", "\"\\\"\\\\/\"");
    ASSERT_STRING("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    ASSERT_STRING("<a&b>", "\"\\u003ca\\u0026b\\u003e\"");
    ASSERT_STRING("\0\1\v\x1f", "\"\\u0000\\u0001\\u000b\\u001f\"");
}

static void
test_every_other_control_character_is_hex(void **state)
{
    char wanted[16];

    (void)state;
    for (int c = 0; c < 0x20; c++) {
        char byte = (char)c;

        if (strchr("\b\f\n\r\t", c) != NULL && c != 0)
            continue;
        snprintf(wanted, sizeof(wanted), "\"\\u%04x\"", c);
        assert_string(&byte, 1, wanted);
    }
}

static void
test_line_separators_are_escaped_and_their_neighbours_not(void **state)
{
    (void)state;
    ASSERT_STRING("\xe2\x80\xa8", "\"\\u2028\"");
    ASSERT_STRING("\xe2\x80\xa9", "\"\\u2029\"");
    ASSERT_STRING("\xe2\x80\xa7", "\"\xe2\x80\xa7\"");
    ASSERT_STRING("\xe2\x80\xaa", "\"\xe2\x80\xaa\"");
    ASSERT_STRING("\xe2\x81\xa8", "\"\xe2\x81\xa8\"");
}

static void
test_each_byte_that_is_no_utf8_is_replaced(void **state)
{
    static const struct {
        const char *bytes;
        int replaced; /* how many, when nothing else is there */
    } cases[] = {
        {"\x80", 1},
        {"\xbf\xbf", 2},
        {"\xc0\xaf", 2}, /* overlong */
        {"\xc1\xbf", 2},
        {"\xe0\x9f\xbf", 3},
        {"\xf0\x8f\xbf\xbf", 4},
        {"\xed\xa0\x80", 3}, /* a surrogate */
        {"\xed\xbf\xbf", 3},
        {"\xf4\x90\x80\x80", 4}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", 4},
        {"\xff", 1},
        {"\xc3", 1}, /* cut */
        {"\xe2\x82", 2},
        {"\xf0\x9f\x98", 3},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct buf wanted = {0};
        char *text;

        buf_addc(&wanted, '"');
        for (int j = 0; j < cases[i].replaced; j++)
            buf_addz(&wanted, "\\ufffd");
        buf_addc(&wanted, '"');
        text = buf_take(&wanted);
        assert_string(cases[i].bytes, strlen(cases[i].bytes), text);
        free(text);
    }
    ASSERT_STRING("a\xe2\x82z", "\"a\\ufffd\\ufffdz\"");
}

static void
test_the_bounds_of_utf8_pass(void **state)
{
    (void)state;
    ASSERT_STRING("\xc2\x80\xdf\xbf", "\"\xc2\x80\xdf\xbf\"");
    ASSERT_STRING("\xe0\xa0\x80\xef\xbf\xbf", "\"\xe0\xa0\x80\xef\xbf\xbf\"");
    ASSERT_STRING("\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\"");
    ASSERT_STRING("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                  "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_text_stands_for_itself),
        cmocka_unit_test(test_go_escapes_quotes_controls_and_html),
        cmocka_unit_test(test_every_other_control_character_is_hex),
        cmocka_unit_test(
            test_line_separators_are_escaped_and_their_neighbours_not),
        cmocka_unit_test(test_each_byte_that_is_no_utf8_is_replaced),
        cmocka_unit_test(test_the_bounds_of_utf8_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
