/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

static void
assert_parsed(const char *text, int64_t seconds, int64_t ns)
{
    int64_t got;
    struct err err = {""};

    if (clock_parse(str_of(text), &got, &err) != 0)
        fail_msg("%s", err.text);
    if (got != seconds * CLOCK_SECOND + ns)
        fail_msg("%s gave %lld", text, (long long)got);
}

static void
test_G07_rfc_3339_in_all_its_forms(void **state)
{
    (void)state;
    assert_parsed("1970-01-01T00:00:00Z", 0, 0);
    assert_parsed("2026-01-02T03:04:05Z", 1767323045, 0);
    assert_parsed("2026-01-02t03:04:05z", 1767323045, 0);
    assert_parsed("2026-01-02T03:04:05.678Z", 1767323045, 678000000);
    assert_parsed("2026-01-02T03:04:05.000001Z", 1767323045, 1000);
    assert_parsed("2026-01-02T03:04:05.123456789Z", 1767323045, 123456789);
    assert_parsed("2026-01-02T03:04:05.1234567899999Z", 1767323045, 123456789);
    assert_parsed("2026-01-02T05:34:05.5+02:30", 1767323045, 500000000);
    assert_parsed("2026-01-01T15:04:05-12:00", 1767323045, 0);
    assert_parsed("2024-02-29T00:00:00Z", 1709164800, 0);
    assert_parsed("1969-12-31T23:59:59.5Z", -1, 500000000);
    assert_parsed("1900-03-01T00:00:00Z", -2203891200, 0);
}

static void
test_G07_what_is_no_time(void **state)
{
    static const char *const texts[] = {
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04Z",
        "2026-1-2T03:04:05Z",
        "26-01-02T03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-32T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "2100-02-29T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-01-02T24:04:05Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T03:04:05+2:00",
        "2026-01-02T03:04:05+02",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+00:60",
        "2026-01-02T03:04:05Zx",
        " 2026-01-02T03:04:05Z",
        "-026-01-02T03:04:05Z",
        "0000-01-02T03:04:05Z",
        "0001-01-01T00:00:00Z", /* true, but beyond 64 bits of nanoseconds */
        "9999-12-31T23:59:59Z",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        struct err err = {""};
        int64_t ns;

        if (clock_parse(str_of(texts[i]), &ns, &err) == 0)
            fail_msg("\"%s\" was taken", texts[i]);
        assert_non_null(strstr(err.text, texts[i]));
    }
}

static void
test_the_text_need_not_end_where_the_time_does(void **state)
{
    static const char text[] = "2026-01-02T03:04:05Z and more";
    int64_t ns;

    (void)state;
    assert_int_equal(clock_parse((struct str){text, 20}, &ns, NULL), 0);
    for (size_t n = 0; n < 20; n++)
        assert_int_equal(clock_parse((struct str){text, n}, &ns, NULL), -1);
    /* A NUL is no character of a time. */
    assert_int_equal(
        clock_parse((struct str){"2026-01-02\00003:04:05Z", 20}, &ns, NULL),
        -1);
}

static void
assert_formatted(int64_t ns, enum clock_form form, const char *wanted)
{
    char text[CLOCK_TEXT];

    clock_format(ns, form, text);
    assert_string_equal(text, wanted);
}

static void
test_D01_forms_have_exactly_their_digits(void **state)
{
    int64_t ns = 1767323045 * CLOCK_SECOND;

    (void)state;
    assert_formatted(ns, CLOCK_SECONDS, "2026-01-02T03:04:05Z");
    assert_formatted(ns, CLOCK_MILLIS, "2026-01-02T03:04:05.000Z");
    assert_formatted(ns, CLOCK_MICROS, "2026-01-02T03:04:05.000000Z");
    ns += 1999999;
    assert_formatted(ns, CLOCK_SECONDS, "2026-01-02T03:04:05Z");
    assert_formatted(ns, CLOCK_MILLIS, "2026-01-02T03:04:05.001Z");
    assert_formatted(ns, CLOCK_MICROS, "2026-01-02T03:04:05.001999Z");
}

static void
test_times_before_1970(void **state)
{
    (void)state;
    assert_formatted(-1, CLOCK_MICROS, "1969-12-31T23:59:59.999999Z");
    assert_formatted(-CLOCK_SECOND, CLOCK_SECONDS, "1969-12-31T23:59:59Z");
    assert_formatted(INT64_MIN + 1, CLOCK_MILLIS, "1677-09-21T00:12:43.145Z");
    assert_formatted(INT64_MAX, CLOCK_MILLIS, "2262-04-11T23:47:16.854Z");
}

static void
test_what_is_written_can_be_read(void **state)
{
    char text[CLOCK_TEXT];
    int64_t ns;

    (void)state;
    for (int64_t t = -5000000000000000000; t < 9000000000000000000;
         t += 123456789012345678) {
        clock_format(t - t % 1000, CLOCK_MICROS, text);
        assert_int_equal(clock_parse(str_of(text), &ns, NULL), 0);
        assert_true(ns == t - t % 1000);
    }
}

static void
test_the_clocks_go_on(void **state)
{
    int64_t before = clock_now();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now();

        assert_true(now >= before);
        before = now;
    }
    assert_true(clock_wall() > 1767323045 * CLOCK_SECOND);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G07_rfc_3339_in_all_its_forms),
        cmocka_unit_test(test_G07_what_is_no_time),
        cmocka_unit_test(test_the_text_need_not_end_where_the_time_does),
        cmocka_unit_test(test_D01_forms_have_exactly_their_digits),
        cmocka_unit_test(test_times_before_1970),
        cmocka_unit_test(test_what_is_written_can_be_read),
        cmocka_unit_test(test_the_clocks_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
