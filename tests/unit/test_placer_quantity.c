/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/quantity.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/* What it becomes, or "" if it does not parse; the caller frees it. */
static char *
canonical(const char *text)
{
    struct buf out = {0};
    struct err err = {""};
    int failed = quantity_canonical(&out, str_of(text), &err);

    assert_int_equal(failed != 0, err.text[0] != '\0');
    if (failed != 0)
        assert_int_equal(out.len, 0);
    return buf_take(&out);
}

static void
assert_canonical(const char *text, const char *wanted)
{
    char *got = canonical(text);

    if (strcmp(got, wanted) != 0)
        fail_msg("%s becomes %s, not %s", text, got, wanted);
    free(got);
}

static void
test_quantity_vector(void **state)
{
    const json_t *rows = json_object_get(*state, "output");
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        assert_canonical(json_str(row, "in").s, json_str(row, "out").s);
    assert_int_equal(i, 39);
}

struct row {
    const char *in, *out;
};

static void
assert_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_canonical(rows[i].in, rows[i].out);
}

/* Each bound of the rule for texts that stay as they are, from both sides. All
 * confirmed by the Kubernetes library. */
static void
test_4_4_1_verbatim(void **state)
{
    static const struct row rows[] = {
        {"123456789012345678", "123456789012345678"},
        {"1234567890123456789", "1234567890123456789"},
        {"100000000000000001000", "100000000000000001k"},
        {"1.500", "1.500"},
        {"1.000", "1"},
        {"1.50", "1500m"},
        {"12.345678901", "12.345678901"},
        {"12.345678901m", "12345679n"},
        {"0.001", "1m"},
        {"1.123456789", "1.123456789"},
        {"1.1234567891", "1123456790n"},
        {"1001k", "1001k"},
        {"1e6", "1e6"},
        {"1000e3", "1e6"},
        {"+1E+3", "+1E+3"},
        {"-1e-3", "-1e-3"},
        {"99Ti", "99Ti"},
        {"800Mi", "800Mi"},
        {"1600Mi", "1600Mi"},
        {"+12345678901Ki", "+12345678901Ki"},
        {"+123456789013Ki", "123456789013Ki"},
        {"123456789012Ki", "123456789012Ki"},
        {"007Ki", "007Ki"},
        {"7.Gi", "7.Gi"},
        {"8192Ki", "8Mi"},
        {"7Ei", "7Ei"},
        {"9Ei", "9223372036854775807"},
        {"-9Ei", "-9223372036854775807"},
    };

    (void)state;
    assert_rows(rows, nitems(rows));
}

static void
test_4_4_2_emit(void **state)
{
    static const struct row rows[] = {
        {"1E", "1E"},
        {"1000P", "1E"},
        {"1000E", "1"}, /* sic: beyond the suffixes the power is lost */
        {"1e40", "10e39"},
        {"1e-40", "1e-9"},
        {"-1e-40", "-1e-9"},
        {"1.5Ki", "1536"},
        {"0.5Ki", "512"},
        {"1023Ki", "1023Ki"},
        {"1024Ki", "1Mi"},
        {"0.0001Ki", "102400u"},
        {"0.9999999999", "1"},
        {"999.9999999999", "1k"},
        {"-0.1n", "-1n"},
        {"-0", "0"},
        {"+0.0", "0"},
        {"0e9", "0"},
        {"0.000Ei", "0"},
        {"120e2", "12e3"},
        {"9223372036854775807", "9223372036854775807"},
        {"18446744073709551616", "18446744073709551616"},
    };

    (void)state;
    assert_rows(rows, nitems(rows));
}

/* Just this text; other zeros have forms of their own. */
static void
test_4_4_0_zero(void **state)
{
    (void)state;
    assert_canonical("0", "0");
    assert_canonical(" 0 ", "0");
    assert_canonical("00", "0");
    assert_canonical("0Ki", "0");
    assert_canonical("0.0", "0");
}

static void
test_4_4_blanks(void **state)
{
    (void)state;
    assert_canonical(" 1Gi\t", "1Gi");
    assert_canonical("\n1000\r\n", "1k");
}

static void
test_4_4_does_not_parse(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "x",
        "1x",
        "1 Gi",
        "1K",
        "1ki",
        "1KI",
        "1e",
        "1e1.5",
        "1e+",
        "1e-",
        "1e99999999999",
        "--1",
        "+-1",
        "1.2.3",
        "1,5",
        "0x10",
        "1e2147483648",
        "1Eii",
        ".",
        "+",
        "Gi",
        "1_0",
        "1e1e1",
        "1e-2147483649",
        "\xc2\xb5",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++)
        assert_canonical(texts[i], "");
    assert_canonical("1e2147483647", "10e2147483646");
    assert_canonical("1e-2147483648", "1e-9");
}

/* As long as it likes. */
static void
test_4_4_long(void **state)
{
    struct buf text = {0};
    char *got;

    (void)state;
    for (int i = 0; i < 100000; i++)
        buf_addc(&text, (char)('0' + i % 10));
    buf_addz(&text, ".5Ki");
    buf_addc(&text, '\0');
    got = canonical(buf_bytes(&text));
    assert_string_equal(got, "9223372036854775807");
    free(got);
    buf_clear(&text);
    buf_addz(&text, "0.");
    for (int i = 0; i < 100000; i++)
        buf_addc(&text, '0');
    buf_addz(&text, "1");
    buf_addc(&text, '\0');
    assert_canonical(buf_bytes(&text), "1n");
    buf_fini(&text);
}

static void
add_digits(struct buf *out, struct seeded *s, int most)
{
    for (int n = seeded_below(s, most + 1); n > 0; n--)
        buf_addc(out, (char)('0' + seeded_below(s, 10)));
    for (int n = seeded_below(s, 8) - 4; n > 0; n--)
        buf_addc(out, '0');
}

static void
add_quantity(struct buf *out, struct seeded *s)
{
    static const char *const suffixes[] = {
        "n",  "u",  "m",  "",   "k",  "M",  "G",  "T",
        "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2",
    };

    buf_addz(out, (const char *[]){"", "", "-", "+"}[seeded_below(s, 4)]);
    buf_addc(out, (char)('0' + seeded_below(s, 10)));
    add_digits(out, s, 6);
    if (seeded_below(s, 2) == 0) {
        buf_addc(out, '.');
        add_digits(out, s, 12);
    }
    buf_addz(out, suffixes[seeded_below(s, nitems(suffixes))]);
}

/*
 * The amount of a text in units of 10^-9, rounded away from zero: a plain
 * number as the reference, for texts whose amount fits 128 bits.
 */
static __int128
amount(const char *text)
{
    static const char *const decimal = "num kMGTPE";
    static const char *const binary = "KMGTPE";
    const char sign = *text;
    __int128 v = 0;
    int power = 9;
    bool rest = false;

    text += sign == '-' || sign == '+';
    for (; *text >= '0' && *text <= '9'; text++)
        v = v * 10 + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, power--)
            v = v * 10 + (*text - '0');
    if (*text != '\0' && text[1] == 'i')
        for (const char *c = binary; c <= strchr(binary, *text); c++)
            v *= 1024;
    else if (*text != '\0' && text[1] != '\0')
        power += atoi(text + 1);
    else if (*text != '\0')
        power += 3 * (int)(strchr(decimal, *text) - decimal - 3);
    for (; power > 0; power--)
        v *= 10;
    for (; power < 0; power++, v /= 10)
        rest |= v % 10 != 0;
    v += rest;
    return sign == '-' ? -v : v;
}

/* A binary amount that 1024 does not divide comes out without a suffix, and
 * reads as decimal from then on: such a text may change once more. */
static bool
turns_decimal(const char *in, const char *once)
{
    return strchr(in, 'i') != NULL && strchr(once, 'i') == NULL;
}

/* What comes out is a fixed point, and of the same amount.  (Amounts that
 * binary class limits are left out.) */
static void
test_4_4_round_trip(void **state)
{
    struct seeded s = seeded_start("test_4_4_round_trip");

    (void)state;
    for (int i = 0; i < seeded_rounds(20000); i++) {
        struct buf text = {0};
        char *in;
        char *once;
        char *twice;

        add_quantity(&text, &s);
        in = buf_take(&text);
        once = canonical(in);
        if (*once == '\0')
            fail_msg("%s does not parse", in);
        twice = canonical(once);
        if (strcmp(once, twice) != 0 && !turns_decimal(in, once))
            fail_msg("%s, %s, %s", in, once, twice);
        if (strcmp(once + (*once == '-'), "9223372036854775807") != 0 &&
            amount(in) != amount(once))
            fail_msg("%s is not %s", in, once);
        free(in);
        free(once);
        free(twice);
    }
}

/* Any text parses to a fixed point, or not at all. */
static void
test_4_4_any_text(void **state)
{
    static const char letters[] = "0123456789900..+-eEKMGTPikmnu \"";
    struct seeded s = seeded_start("test_4_4_any_text");
    int parsed = 0;

    (void)state;
    for (int i = 0; i < seeded_rounds(50000); i++) {
        struct buf once = {0};
        struct buf twice = {0};
        char text[12];
        struct str in = {text, (size_t)seeded_below(&s, sizeof(text))};
        struct err err;

        for (size_t j = 0; j < in.n; j++)
            text[j] = letters[seeded_below(&s, sizeof(letters) - 1)];
        if (quantity_canonical(&once, in, &err) != 0) {
            assert_int_equal(once.len, 0);
            assert_true(strlen(err.text) > 0);
            continue;
        }
        parsed++;
        assert_int_equal(quantity_canonical(&twice, buf_str(&once), &err), 0);
        if (!str_eq(buf_str(&once), buf_str(&twice)) &&
            memchr(in.s, 'i', in.n) == NULL)
            fail_msg("%.*s", (int)in.n, in.s);
        buf_fini(&once);
        buf_fini(&twice);
    }
    assert_true(parsed > 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_4_4_1_verbatim),
        cmocka_unit_test(test_4_4_2_emit),
        cmocka_unit_test(test_4_4_0_zero),
        cmocka_unit_test(test_4_4_blanks),
        cmocka_unit_test(test_4_4_does_not_parse),
        cmocka_unit_test(test_4_4_long),
        cmocka_unit_test(test_4_4_round_trip),
        cmocka_unit_test(test_4_4_any_text),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "identity.json", "quantityReemit", "test_4_4_",
                test_quantity_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer quantity");
}
