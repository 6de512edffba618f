/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "placer/label.h"

/* n times c, then a tail. */
static char *
repeat(char c, int n, const char *tail)
{
    char *text = mem_zalloc((size_t)n + strlen(tail) + 1);

    memset(text, c, (size_t)n);
    strcpy(text + n, tail);
    return text;
}

static void
assert_length(bool (*valid)(struct str), const char *before, int n, bool wanted)
{
    char *rest = repeat('a', n, "");
    char *text = mem_printf("%s%s", before, rest);

    assert_int_equal(valid(str_of(text)), wanted);
    free(text);
    free(rest);
}

static void
test_6_1_dns_label(void **state)
{
    static const char *const good[] = {"a", "0", "a-b", "a--b", "0a9", "z9z"};
    static const char *const bad[] = {"",    "-a", "a-",       "A",  "a.b",
                                      "a_b", "a ", "\xc3\xa4", "a\n"};

    (void)state;
    for (size_t i = 0; i < nitems(good); i++)
        assert_true(label_dns(str_of(good[i])));
    for (size_t i = 0; i < nitems(bad); i++)
        assert_false(label_dns(str_of(bad[i])));
    assert_length(label_dns, "", 63, true);
    assert_length(label_dns, "", 64, false);
}

static void
test_6_2_key(void **state)
{
    static const char *const good[] = {"a",    "A",     "9",        "a_b.c-D",
                                       "x/y",  "a.b/c", "a-b.c9/Z", "x--y/a",
                                       "a..b", "0/1",   "Z",        "z.9/AZ"};
    static const char *const bad[] = {
        "",      "-a",    "a-",    "_a",   "a.",       "/a",     "a/",   "/",
        "a//b",  "a/b/c", "A/b",   "-a/b", "a-/b",     "a..b/c", ".a/b", "a./b",
        "a_b/c", "a b",   "a/b c", "a\n",  "\xc3\xa4", "a/-b",
    };

    (void)state;
    for (size_t i = 0; i < nitems(good); i++)
        if (!label_key(str_of(good[i])))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < nitems(bad); i++)
        if (label_key(str_of(bad[i])))
            fail_msg("%s", bad[i]);
    assert_length(label_key, "", 63, true);
    assert_length(label_key, "", 64, false);
    assert_length(label_key, "x/", 63, true);
    assert_length(label_key, "x/", 64, false);
}

static void
test_6_2_key_prefix_length(void **state)
{
    char *longest = repeat('p', 253, "/n");
    char *longer = repeat('p', 254, "/n");

    (void)state;
    assert_true(label_key(str_of(longest)));
    assert_false(label_key(str_of(longer)));
    free(longest);
    free(longer);
}

static void
test_6_2_value(void **state)
{
    static const char *const good[] = {"", "a", "A.b_c-9", "0"};
    static const char *const bad[] = {"-",   ".a",  "a_", "a b",
                                      "a/b", "a\n", " ",  "\xc3\xa4"};

    (void)state;
    for (size_t i = 0; i < nitems(good); i++)
        assert_true(label_value(str_of(good[i])));
    for (size_t i = 0; i < nitems(bad); i++)
        assert_false(label_value(str_of(bad[i])));
    assert_length(label_value, "", 63, true);
    assert_length(label_value, "", 64, false);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_6_1_dns_label),
        cmocka_unit_test(test_6_2_key),
        cmocka_unit_test(test_6_2_key_prefix_length),
        cmocka_unit_test(test_6_2_value),
    };

    return cmocka_run_group_tests_name("placer label", tests, NULL, NULL);
}
