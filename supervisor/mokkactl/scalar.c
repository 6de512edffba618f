/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/mem.h"

#define TAG "tag:yaml.org,2002:"

/* Longer scalars are neither names of values nor numbers. */
#define WORD_MAX 400

static bool
is_one_of(struct str text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (str_is(text, *words))
            return true;
    return false;
}

static bool
is_null(struct str text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};

    return is_one_of(text, words);
}

static bool
is_true(struct str text)
{
    static const char *const words[] = {"true", "True", "TRUE", "yes",
                                        "Yes",  "YES",  "y",    "Y",
                                        "on",   "On",   "ON",   NULL};

    return is_one_of(text, words);
}

static bool
is_false(struct str text)
{
    static const char *const words[] = {"false", "False", "FALSE", "no",
                                        "No",    "NO",    "n",     "N",
                                        "off",   "Off",   "OFF",   NULL};

    return is_one_of(text, words);
}

static bool
is_no_number(struct str text)
{
    static const char *const words[] = {
        ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
        "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL};

    return is_one_of(text, words);
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A copy without the underscores, with a NUL. */
static void
copy_digits(char word[WORD_MAX], struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != '_')
            word[n++] = text.s[i];
    word[n] = '\0';
}

/* The base that a number's prefix names; *digits is what follows it. */
static int
base_of(const char *word, const char **digits)
{
    static const struct {
        const char *prefix;
        int base;
    } bases[] = {{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0O", 8},
                 {"0b", 2},  {"0B", 2},  {"0", 8}};

    *digits = word;
    if (word[0] == '0' && word[1] == '\0')
        return 10;
    for (size_t i = 0; i < nitems(bases); i++)
        if (strncmp(word, bases[i].prefix, strlen(bases[i].prefix)) == 0) {
            *digits = word + strlen(bases[i].prefix);
            return bases[i].base;
        }
    return 10;
}

/* A whole number of 64 bits in one of the forms. */
static bool
to_integer(const char *word, int64_t *number)
{
    bool negative = word[0] == '-';
    unsigned long long value;
    const char *digits;
    char *end;
    int base;

    if (word[0] == '-' || word[0] == '+')
        word++;
    base = base_of(word, &digits);
    if (!is_digit(digits[0]) && (base != 16 || !isxdigit((int)digits[0])))
        return false;
    errno = 0;
    value = strtoull(digits, &end, base);
    if (errno != 0 || *end != '\0' || value > (uint64_t)INT64_MAX + negative)
        return false;
    *number = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* Digits, an optional fraction, an optional exponent. */
static bool
is_decimal(const char *word)
{
    size_t whole, fraction = 0;

    word += *word == '-' || *word == '+';
    whole = strspn(word, "0123456789");
    word += whole;
    if (*word == '.') {
        fraction = strspn(++word, "0123456789");
        word += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*word == 'e' || *word == 'E') {
        word++;
        word += *word == '-' || *word == '+';
        if (!is_digit(*word))
            return false;
        word += strspn(word, "0123456789");
    }
    return *word == '\0';
}

/* The number that the text is, or NULL.  One that is whole is an integer,
 * however it is written. */
static json_t *
to_number(struct str text)
{
    char word[WORD_MAX] = "";
    int64_t number;
    double real;

    if (text.n == 0 || text.n >= WORD_MAX ||
        (!is_digit(text.s[0]) && strchr("+-.", text.s[0]) == NULL))
        return NULL;
    copy_digits(word, text);
    if (to_integer(word, &number))
        return json_integer(number);
    if (!is_decimal(word))
        return NULL;
    real = strtod(word, NULL);
    if (!isfinite(real))
        return NULL;
    if (real >= -0x1p53 && real <= 0x1p53 && real == (double)(int64_t)real)
        return json_integer((int64_t)real);
    return json_real(real);
}

static json_t *
to_text(struct str text)
{
    return json_stringn(text.s, text.n);
}

static json_t *
plain_value(struct str text, struct err *err)
{
    json_t *number;

    if (is_null(text))
        return json_null();
    if (is_true(text))
        return json_true();
    if (is_false(text))
        return json_false();
    if (is_no_number(text)) {
        err_set(err, "%.*s is a number that JSON does not have", (int)text.n,
                text.s);
        return NULL;
    }
    number = to_number(text);
    return number != NULL ? number : to_text(text);
}

/* What a tag asks for, and whether a value is that. */
static bool
agrees(struct str tag, const json_t *value)
{
    static const struct {
        const char *tag;
        unsigned types;
    } tags[] = {
        {TAG "null", 1u << JSON_NULL},
        {TAG "bool", 1u << JSON_TRUE | 1u << JSON_FALSE},
        {TAG "int", 1u << JSON_INTEGER},
        {TAG "float", 1u << JSON_INTEGER | 1u << JSON_REAL},
    };

    for (size_t i = 0; i < nitems(tags); i++)
        if (str_is(tag, tags[i].tag))
            return (tags[i].types & 1u << json_typeof(value)) != 0;
    return false;
}

json_t *
scalar_value(struct str text, bool plain, struct str tag, struct err *err)
{
    json_t *value;

    if (memchr(text.s, '\0', text.n) != NULL) {
        err_set(err, "a text with a NUL in it");
        return NULL;
    }
    if (str_is(tag, TAG "str") || str_is(tag, "!"))
        return to_text(text);
    if (tag.n == 0)
        return plain ? plain_value(text, err) : to_text(text);
    value = plain_value(text, err);
    if (value != NULL && !agrees(tag, value)) {
        err_set(err, "the tag %.*s does not fit here, or is none of JSON's",
                (int)tag.n, tag.s);
        json_decref(value);
        return NULL;
    }
    return value;
}

/* Characters that are what they are wherever in a plain scalar they stand. */
static bool
is_tame(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           strchr("-_./+", c) != NULL;
}

/* YAML 1.1 reads 1:30 as ninety, and 2026-01-02 as a date. */
static bool
looks_like_number(struct str text)
{
    return text.n > 0 && (is_digit(text.s[0]) || strchr("+-.", text.s[0]));
}

bool
scalar_is_plain_text(struct str text)
{
    json_t *value;
    bool is_text;

    if (text.n == 0 || text.n >= WORD_MAX || looks_like_number(text))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!is_tame(text.s[i]))
            return false;
    value = plain_value(text, NULL);
    is_text = json_is_string(value);
    json_decref(value);
    return is_text;
}
