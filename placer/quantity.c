/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities as Kubernetes emits them (mokka-api 4.4).
 *
 * Parse: an optional sign; leading zeros, skipped; digits D, "0" if there are
 * none; optionally a point and digits F; the suffix, whose class is decimal (a
 * power of ten), binary (a power of two) or exponent ("e" or "E" and a signed
 * integer of 32 bits: a power of ten).  At least one digit must be there.
 *
 * Emit, first match:
 *   "0": so.
 *   Unchanged, sign and leading zeros and all.  In decimal and exponent class:
 *     if D and F have at most 18 digits, the power less the digits of F is at
 *     least -9 and a multiple of 3, and the digits neither begin with 0 nor end
 *     with 000.  In binary class: if F is empty, D and the suffix have at most
 *     15 digits as Kubernetes reckons it, the value fits 63 bits, and D is no
 *     multiple of 8.
 *   Else from the value, rounded away from zero to a multiple of 10^-9, and in
 *     binary class limited to 2^63-1: 0 as "0"; in binary class, if it is an
 *     integer of at least 1024, divided by 1024 while it divides; all others by
 *     powers of 1000, with as few digits as these allow.
 */
#include "placer/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/mem.h"

#define SMALLEST (-9)      /* power of ten */
#define VERBATIM_DIGITS 18 /* decimal */
#define VERBATIM_BINARY 15 /* decimal digits of a binary one */
#define BINARY_DIGITS 19   /* of 2^63-1 */

enum class { DECIMAL, BINARY, EXPONENT };

struct suffix {
    const char *text;
    enum class class;
    int64_t power; /* of ten; of two if binary */
};

static const struct suffix suffixes[] = {
    {"n", DECIMAL, -9}, {"u", DECIMAL, -6}, {"m", DECIMAL, -3},
    {"", DECIMAL, 0},   {"k", DECIMAL, 3},  {"M", DECIMAL, 6},
    {"G", DECIMAL, 9},  {"T", DECIMAL, 12}, {"P", DECIMAL, 15},
    {"E", DECIMAL, 18}, {"Ki", BINARY, 10}, {"Mi", BINARY, 20},
    {"Gi", BINARY, 30}, {"Ti", BINARY, 40}, {"Pi", BINARY, 50},
    {"Ei", BINARY, 60},
};

struct parsed {
    bool negative;
    struct str whole, fraction; /* D and F */
    enum class class;
    int64_t power;
};

/* A magnitude: digits times a power of ten; no digits is zero. */
struct number {
    char *digits; /* 0 to 9, not '0' to '9' */
    size_t n;
    int64_t power;
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str
trim(struct str text)
{
    static const char blanks[] = " \t\n\v\f\r";

    while (text.n > 0 && strchr(blanks, text.s[text.n - 1]) != NULL)
        text.n--;
    while (text.n > 0 && strchr(blanks, *text.s) != NULL) {
        text.s++;
        text.n--;
    }
    return text;
}

/* Cuts the digits off the front of *rest. */
static struct str
cut_digits(struct str *rest)
{
    struct str digits = {rest->s, 0};

    while (digits.n < rest->n && is_digit(rest->s[digits.n]))
        digits.n++;
    rest->s += digits.n;
    rest->n -= digits.n;
    return digits;
}

static bool
cut_char(struct str *rest, char c)
{
    if (rest->n == 0 || *rest->s != c)
        return false;
    rest->s++;
    rest->n--;
    return true;
}

/* "e" or "E", a sign or none, digits that fit 32 bits. */
static bool
parse_exponent(struct str rest, int64_t *power)
{
    bool negative;
    int64_t n = 0;

    if (!cut_char(&rest, 'e') && !cut_char(&rest, 'E'))
        return false;
    negative = cut_char(&rest, '-');
    if (!negative)
        cut_char(&rest, '+');
    if (rest.n == 0)
        return false;
    for (size_t i = 0; i < rest.n; i++) {
        if (!is_digit(rest.s[i]))
            return false;
        n = n * 10 + (rest.s[i] - '0');
        if (n > (int64_t)INT32_MAX + negative)
            return false;
    }
    *power = negative ? -n : n;
    return true;
}

static bool
parse_suffix(struct parsed *q, struct str rest)
{
    for (size_t i = 0; i < nitems(suffixes); i++) {
        if (!str_is(rest, suffixes[i].text))
            continue;
        q->class = suffixes[i].class;
        q->power = suffixes[i].power;
        return true;
    }
    q->class = EXPONENT;
    return parse_exponent(rest, &q->power);
}

static bool
parse(struct parsed *q, struct str text)
{
    struct str rest = text;
    size_t digits;

    *q = (struct parsed){.negative = cut_char(&rest, '-')};
    if (!q->negative)
        cut_char(&rest, '+');
    q->whole = cut_digits(&rest);
    digits = q->whole.n;
    while (cut_char(&q->whole, '0'))
        ;
    if (q->whole.n == 0)
        q->whole = STR("0");
    if (cut_char(&rest, '.')) {
        q->fraction = cut_digits(&rest);
        digits += q->fraction.n;
    }
    return digits > 0 && parse_suffix(q, rest);
}

/* Digit i of D and F together, counted from their end. */
static char
digit_from_end(const struct parsed *q, size_t i)
{
    if (i < q->fraction.n)
        return q->fraction.s[q->fraction.n - 1 - i];
    return q->whole.s[q->whole.n - 1 - (i - q->fraction.n)];
}

/* Do D and F together end with 000? */
static bool
thousands(const struct parsed *q)
{
    if (q->whole.n + q->fraction.n < 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (digit_from_end(q, i) != '0')
            return false;
    return true;
}

static bool
verbatim_decimal(const struct parsed *q)
{
    size_t n = q->whole.n + q->fraction.n;
    int64_t power;

    if (n > VERBATIM_DIGITS || q->whole.s[0] == '0')
        return false;
    power = q->power - (int64_t)q->fraction.n;
    return power >= SMALLEST && power % 3 == 0 && !thousands(q);
}

static bool
verbatim_binary(const struct parsed *q)
{
    int64_t room = VERBATIM_BINARY - 3 * q->power / 10 - 1;
    int64_t n = 0;

    if (q->fraction.n > 0 || (int64_t)q->whole.n > room)
        return false;
    for (size_t i = 0; i < q->whole.n; i++)
        n = n * 10 + (q->whole.s[i] - '0');
    return n % 8 != 0 && n <= INT64_MAX >> q->power;
}

/* Takes zeros from both ends. */
static void
normalise(struct number *v)
{
    size_t zeros = 0;

    while (zeros < v->n && v->digits[zeros] == 0)
        zeros++;
    v->digits += zeros;
    v->n -= zeros;
    while (v->n > 0 && v->digits[v->n - 1] == 0) {
        v->n--;
        v->power++;
    }
    if (v->n == 0)
        v->power = 0;
}

/* Makes digits (with room for 20 more in front) the number times 2^shift. */
static void
load(struct number *v, char *digits, const struct parsed *q, int64_t shift)
{
    size_t room = 20;
    uint64_t carry = 0;

    v->digits = digits;
    v->n = room + q->whole.n + q->fraction.n;
    v->power = -(int64_t)q->fraction.n;
    for (size_t i = 0; i < q->whole.n; i++)
        digits[room + i] = (char)(q->whole.s[i] - '0');
    for (size_t i = 0; i < q->fraction.n; i++)
        digits[room + q->whole.n + i] = (char)(q->fraction.s[i] - '0');
    for (size_t i = v->n; i-- > 0;) {
        carry += (uint64_t)digits[i] << shift; /* shift is at most 60 */
        digits[i] = (char)(carry % 10);
        carry /= 10;
    }
    normalise(v);
}

/* Rounds away from zero to a multiple of 10^-9. */
static void
round_up(struct number *v)
{
    size_t drop;
    size_t i;

    if (v->n == 0 || v->power >= SMALLEST)
        return;
    drop = (uint64_t)(SMALLEST - v->power) < v->n
               ? (size_t)(SMALLEST - v->power)
               : v->n;
    v->power = SMALLEST;
    v->n -= drop;
    /* What is dropped ends with a digit that is not 0: one more. load left
     * room for it in front. */
    for (i = v->n; i > 0 && v->digits[i - 1] == 9; i--)
        v->digits[i - 1] = 0;
    if (i == 0) {
        v->digits--;
        v->n++;
        v->digits[0] = 1;
    } else {
        v->digits[i - 1]++;
    }
    normalise(v);
}

/* The integer part; false if it has more digits than 2^63-1. */
static bool
integer(const struct number *v, uint64_t *n)
{
    int64_t digits = (int64_t)v->n + v->power;

    *n = 0;
    if (digits > BINARY_DIGITS)
        return false;
    for (int64_t i = 0; i < digits; i++)
        *n = *n * 10 + (i < (int64_t)v->n ? (uint64_t)v->digits[i] : 0);
    return true;
}

static void
emit_binary(struct buf *out, uint64_t n)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t k = 0;

    while (n % 1024 == 0) {
        n /= 1024;
        k++;
    }
    buf_printf(out, "%" PRIu64 "%s", n, units[k]);
}

static const char *
decimal_suffix(int64_t power)
{
    for (size_t i = 0; i < nitems(suffixes); i++)
        if (suffixes[i].class == DECIMAL && suffixes[i].power == power)
            return suffixes[i].text;
    return ""; /* beyond E: as Kubernetes does, which loses the power */
}

static void
emit_decimal(struct buf *out, const struct number *v, enum class class)
{
    int64_t power = v->power;

    for (size_t i = 0; i < v->n; i++)
        buf_addc(out, (char)('0' + v->digits[i]));
    for (; power % 3 != 0; power--)
        buf_addc(out, '0');
    if (class != EXPONENT)
        buf_addz(out, decimal_suffix(power));
    else if (power != 0)
        buf_printf(out, "e%" PRId64, power);
}

static void
emit(struct buf *out, const struct parsed *q, const struct number *v)
{
    uint64_t n;
    bool fits;

    if (v->n == 0) {
        buf_addc(out, '0');
        return;
    }
    if (q->negative)
        buf_addc(out, '-');
    fits = integer(v, &n);
    if (q->class == BINARY && (!fits || n >= INT64_MAX))
        emit_binary(out, INT64_MAX);
    else if (q->class == BINARY && v->power >= 0 && n >= 1024)
        emit_binary(out, n);
    else
        emit_decimal(out, v, q->class);
}

int
quantity_canonical(struct buf *out, struct str text, struct err *err)
{
    struct number v;
    struct parsed q;
    char *digits;

    text = trim(text);
    if (!parse(&q, text))
        return err_set(err, "not a quantity: %.*s",
                       text.n > 64 ? 64 : (int)text.n, text.s);
    if (q.class == BINARY ? verbatim_binary(&q) : verbatim_decimal(&q)) {
        buf_adds(out, text);
        return 0;
    }
    digits = mem_zalloc(20 + q.whole.n + q.fraction.n);
    load(&v, digits, &q, q.class == BINARY ? q.power : 0);
    if (q.class != BINARY)
        v.power += v.n == 0 ? 0 : q.power;
    round_up(&v);
    emit(out, &q, &v);
    free(digits);
    return 0;
}
