/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_STR_H
#define COMMON_STR_H

#include <stdbool.h>
#include <string.h>

/*
 * A borrowed piece of text: n bytes at s, not NUL-terminated, no NUL inside.
 * It lives as long as what it was taken from (a frame, a parsed document).
 */
struct str {
    const char *s;
    size_t n;
};

/* A literal as a struct str. */
#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})

static inline struct str
str_of(const char *text)
{
    return (struct str){text == NULL ? "" : text,
                        text == NULL ? 0 : strlen(text)};
}

static inline bool
str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

static inline bool
str_is(struct str a, const char *text)
{
    return str_eq(a, str_of(text));
}

/* The text without its first n bytes, which it has. */
static inline struct str
str_after(struct str text, size_t n)
{
    return (struct str){text.s + n, text.n - n};
}

/* Byte order, the shorter prefix first: <0, 0, >0. */
static inline int
str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n == 0 ? 0 : memcmp(a.s, b.s, n);

    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

#endif
