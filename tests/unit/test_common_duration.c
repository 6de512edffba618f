/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

#define MINUTE (60 * CLOCK_SECOND)
#define HOUR (60 * MINUTE)

static void
test_durations_as_go_reads_them(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+0", 0},
        {"0s", 0},
        {"5s", 5 * CLOCK_SECOND},
        {"30s", 30 * CLOCK_SECOND},
        {"1478s", 1478 * CLOCK_SECOND},
        {"-5s", -5 * CLOCK_SECOND},
        {"+5s", 5 * CLOCK_SECOND},
        {"5.0s", 5 * CLOCK_SECOND},
        {"5.6s", 5600 * CLOCK_MS},
        {"5.s", 5 * CLOCK_SECOND},
        {".5s", 500 * CLOCK_MS},
        {"1.0s", CLOCK_SECOND},
        {"1.00s", CLOCK_SECOND},
        {"1.004s", 1004 * CLOCK_MS},
        {"1.0040s", 1004 * CLOCK_MS},
        {"100.00100s", 100001 * CLOCK_MS},
        {"10ns", 10},
        {"11us", 11000},
        {"12\302\265s", 12000},
        {"12\316\274s", 12000},
        {"13ms", 13 * CLOCK_MS},
        {"14s", 14 * CLOCK_SECOND},
        {"15m", 15 * MINUTE},
        {"16h", 16 * HOUR},
        {"3h30m", 3 * HOUR + 30 * MINUTE},
        {"10.5s4m", 4 * MINUTE + 10500 * CLOCK_MS},
        {"-2m3.4s", -(2 * MINUTE + 3400 * CLOCK_MS)},
        {"1h2m3s4ms5us6ns",
         HOUR + 2 * MINUTE + 3 * CLOCK_SECOND + 4 * CLOCK_MS + 5 * 1000 + 6},
        {"39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14425 * CLOCK_MS},
        {"52763797000ns", 52763797000},
        {"0.3333333333333333333h", 20 * MINUTE},
        {"9007199254740993ns", 9007199254740993},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036854775.807us", INT64_MAX},
        {"9223372036s854ms775us807ns", INT64_MAX},
        {"0.100000000000000000000h", 6 * MINUTE},
        {"0.830103483285477580700h", 49 * MINUTE + 48372539827},
        {"0.00000000000000000000000000001h", 0},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct err err = {""};
        int64_t ns = 1;

        if (duration_parse(cases[i].text, &ns, &err) != 0)
            fail_msg("%s", err.text);
        if (ns != cases[i].ns)
            fail_msg("%s gave %lld", cases[i].text, (long long)ns);
    }
}

/* Each number of tenths, hundredths and thousandths is exact. */
static void
test_decimal_fractions_lose_nothing(void **state)
{
    char text[32];
    int64_t ns;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof(text), "%d.%03ds", i / 1000, i % 1000);
        assert_int_equal(duration_parse(text, &ns, NULL), 0);
        if (ns != i * CLOCK_MS)
            fail_msg("%s gave %lld", text, (long long)ns);
    }
}

static void
test_what_is_no_duration(void **state)
{
    static const char *const texts[] = {
        "",
        "3",
        "-",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "3000000h",
        "15 s",
        " 15s",
        "15s ",
        "1e3s",
        "--5s",
        "+-5s",
        "1.2.3s",
        "5S",
        "00",
        "0x1s",
        "1m5",
        "\302\265s",
        "1\265s",
        "9223372036854775808ns",
        "9223372036854775.808us",
        "9223372036854ms775us808ns",
        "99999999999999999999s",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        struct err err = {""};
        int64_t ns;

        if (duration_parse(texts[i], &ns, &err) == 0)
            fail_msg("\"%s\" was taken", texts[i]);
        assert_non_null(strstr(err.text, texts[i]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations_as_go_reads_them),
        cmocka_unit_test(test_decimal_fractions_lose_nothing),
        cmocka_unit_test(test_what_is_no_duration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
