/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_read.h"

#include <string.h>

struct reader {
    const char *at, *end;
    const char *wrong; /* what was found to be wrong, or NULL */
    struct arena *arena;
    void *out;
    int depth;
};

static bool read_value(struct reader *r, const struct json_member *m);

/* Always false, so that a reading function can end with it. The first one
 * counts. */
static bool
fail(struct reader *r, const char *wrong)
{
    if (r->wrong == NULL)
        r->wrong = wrong;
    return false;
}

static char
peek(const struct reader *r)
{
    return r->at == r->end ? '\0' : *r->at;
}

static void
blanks(struct reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' ||
           peek(r) == '\r')
        r->at++;
}

/* Takes that character, if it is next. */
static bool
take(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool
word(struct reader *r, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
        return fail(r, "not a value");
    r->at += n;
    return true;
}

static bool
hex4(struct reader *r, uint32_t *code)
{
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";

    *code = 0;
    for (int i = 0; i < 4; i++) {
        const char *digit = peek(r) == '\0' ? NULL : strchr(hex, *r->at);

        if (digit == NULL)
            return fail(r, "not four hex digits after \\u");
        *code = *code << 4 | ((uint32_t)(digit - hex) & 15);
        r->at++;
    }
    return true;
}

static char *
utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xe0 | code >> 12);
        } else {
            *to++ = (char)(0xf0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 63));
        }
        *to++ = (char)(0x80 | (code >> 6 & 63));
    }
    *to++ = (char)(0x80 | (code & 63));
    return to;
}

/* After "\u": a character, or two escapes that make one. Half a pair stands for
 * U+FFFD. */
static bool
unicode(struct reader *r, char **to)
{
    const char *back;
    uint32_t code;
    uint32_t low;

    if (!hex4(r, &code))
        return false;
    if (code == 0)
        return fail(r, "a NUL in a text");
    if (code >= 0xd800 && code < 0xdc00 && r->end - r->at >= 2 &&
        r->at[0] == '\\' && r->at[1] == 'u') {
        back = r->at;
        r->at += 2;
        if (!hex4(r, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        else
            r->at = back;
    }
    if (code >= 0xd800 && code < 0xe000)
        code = 0xfffd;
    *to = utf8(*to, code);
    return true;
}

static bool
escape(struct reader *r, char **to)
{
    static const char from[] = "\"\\/bfnrt";
    static const char into[] = "\"\\/\b\f\n\r\t";
    const char *which;

    if (take(r, 'u'))
        return unicode(r, to);
    which = peek(r) == '\0' ? NULL : strchr(from, *r->at);
    if (which == NULL)
        return fail(r, "an unknown escape");
    *(*to)++ = into[which - from];
    r->at++;
    return true;
}

/* No text is longer than what stands for it. */
static bool
read_text(struct reader *r, struct str *text)
{
    const char *quote;
    char *copy;
    char *to;

    if (!take(r, '"'))
        return fail(r, "not a text");
    quote = r->at;
    while (quote < r->end && *quote != '"')
        quote += *quote == '\\' ? 2 : 1;
    if (quote >= r->end)
        return fail(r, "a text without end");
    copy = to = arena_alloc(r->arena, (size_t)(quote - r->at) + 1);
    while (!take(r, '"')) {
        if ((unsigned char)*r->at < 0x20)
            return fail(r, "a control character in a text");
        if (take(r, '\\')) {
            if (!escape(r, &to))
                return false;
        } else {
            *to++ = *r->at++;
        }
    }
    *text = (struct str){copy, (size_t)(to - copy)};
    return true;
}

static bool
digits(struct reader *r)
{
    if (peek(r) < '0' || peek(r) > '9')
        return fail(r, "not a digit");
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
    return true;
}

static bool
skip_number(struct reader *r)
{
    take(r, '-');
    if (!take(r, '0') && !digits(r))
        return false;
    if (take(r, '.') && !digits(r))
        return false;
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+'))
            take(r, '-');
        return digits(r);
    }
    return true;
}

static bool
read_number(struct reader *r, int64_t *number)
{
    const char *start = r->at;
    int64_t n = 0;

    if (!skip_number(r))
        return false;
    for (const char *c = start; c < r->at; c++) {
        if (*c == '-')
            continue;
        if (*c < '0' || *c > '9')
            return fail(r, "not an integer");
        if (__builtin_mul_overflow(n, INT64_C(10), &n) ||
            __builtin_sub_overflow(n, (int64_t)(*c - '0'), &n))
            return fail(r, "an integer out of range");
    }
    if (*start != '-' && n == INT64_MIN)
        return fail(r, "an integer out of range");
    *number = *start == '-' ? n : -n;
    return true;
}

static const struct json_member *
find(const struct json_member *members, struct str name)
{
    for (const struct json_member *m = members; m && m->name != NULL; m++)
        if (str_is(name, m->name))
            return m;
    return NULL;
}

/* After '{', by the table, or by none. */
static bool
read_members(struct reader *r, const struct json_member *members)
{
    struct str name;

    blanks(r);
    if (take(r, '}'))
        return true;
    do {
        blanks(r);
        if (!read_text(r, &name))
            return false;
        blanks(r);
        if (!take(r, ':'))
            return fail(r, "no ':' after a name");
        if (!read_value(r, find(members, name)))
            return false;
        blanks(r);
    } while (take(r, ','));
    return take(r, '}') || fail(r, "no ',' or '}' after a member");
}

/* After '['. */
static bool
skip_items(struct reader *r)
{
    blanks(r);
    if (take(r, ']'))
        return true;
    do {
        if (!read_value(r, NULL))
            return false;
        blanks(r);
    } while (take(r, ','));
    return take(r, ']') || fail(r, "no ',' or ']' after an item");
}

static bool
skip_value(struct reader *r)
{
    struct str text;

    switch (peek(r)) {
    case '{':
        r->at++;
        return read_members(r, NULL);
    case '[':
        r->at++;
        return skip_items(r);
    case '"':
        return read_text(r, &text);
    case 't':
        return word(r, "true");
    case 'f':
        return word(r, "false");
    default:
        return skip_number(r);
    }
}

static bool
read_known(struct reader *r, const struct json_member *m)
{
    char *place = (char *)r->out + m->offset;

    switch (m->form) {
    case JSON_FORM_TEXT:
        return read_text(r, (struct str *)(void *)place);
    case JSON_FORM_NUMBER:
        return read_number(r, (int64_t *)(void *)place);
    default:
        return take(r, '{') ? read_members(r, m->members)
                            : fail(r, "not an object");
    }
}

/* A value; m is its place, or NULL if nobody wants it. */
static bool
read_value(struct reader *r, const struct json_member *m)
{
    bool ok;

    blanks(r);
    if (peek(r) == 'n')
        return word(r, "null");
    if (r->depth == JSON_READ_DEPTH)
        return fail(r, "nested too deep");
    r->depth++;
    ok = m == NULL ? skip_value(r) : read_known(r, m);
    r->depth--;
    return ok;
}

int
json_read(void *out, const struct json_member *members, struct str text,
          struct arena *arena, struct err *err)
{
    struct reader r = {text.s, text.s + text.n, NULL, arena, out, 0};
    const struct json_member root = {"", JSON_FORM_OBJECT, 0, members};

    if (text.n > JSON_READ_BYTES)
        return err_set(err, "%zu bytes, the limit is %d", text.n,
                       JSON_READ_BYTES);
    blanks(&r);
    if (peek(&r) != '{')
        fail(&r, "not an object");
    else if (read_value(&r, &root))
        blanks(&r);
    if (r.wrong == NULL && r.at != r.end)
        fail(&r, "something after the value");
    if (r.wrong != NULL)
        return err_set(err, "byte %td: %s", r.at - text.s, r.wrong);
    return 0;
}
