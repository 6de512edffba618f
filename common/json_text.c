/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_text.h"

#include <stdbool.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at s (at most n bytes), 0 if it is not one.
 * Overlong forms, surrogates and values beyond U+10FFFF are not UTF-8. */
static size_t
sequence(const unsigned char *s, size_t n)
{
    size_t len = s[0] < 0x80   ? 1
                 : s[0] < 0xc2 ? 0
                 : s[0] < 0xe0 ? 2
                 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf5 ? 4
                               : 0;

    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

/* The escape of an ASCII character, or NULL where it stands for itself. */
static const char *
escape(unsigned char c, char hex[8])
{
    static const char digits[] = "0123456789abcdef";
    static const char *const named[128] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
    };

    if (named[c] != NULL)
        return named[c];
    if (c >= 0x20 && c != '<' && c != '>' && c != '&')
        return NULL;
    hex[0] = '\\';
    hex[1] = 'u';
    hex[2] = hex[3] = '0';
    hex[4] = digits[c >> 4];
    hex[5] = digits[c & 15];
    hex[6] = '\0';
    return hex;
}

static bool
is_line_separator(const unsigned char *s, size_t len)
{
    return len == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] & 0xfe) == 0xa8;
}

/* How many bytes from the start stand for themselves: most texts do, whole. */
static size_t
plain(const unsigned char *s, size_t n)
{
    size_t i = 0;

    while (i < n && s[i] >= 0x20 && s[i] < 0x80 && s[i] != '"' &&
           s[i] != '\\' && s[i] != '<' && s[i] != '>' && s[i] != '&')
        i++;
    return i;
}

void
json_text_string(struct buf *out, struct str text)
{
    const unsigned char *s = (const unsigned char *)text.s;
    char hex[8];

    buf_addc(out, '"');
    for (size_t i = 0, len; i < text.n; i += len == 0 ? 1 : len) {
        const char *escaped = NULL;

        len = plain(s + i, text.n - i);
        if (len > 0) {
            buf_add(out, s + i, len);
            continue;
        }
        len = sequence(s + i, text.n - i);
        if (len == 0)
            escaped = "\\ufffd";
        else if (len == 1)
            escaped = escape(s[i], hex);
        else if (is_line_separator(s + i, len))
            escaped = s[i + 2] == 0xa8 ? "\\u2028" : "\\u2029";
        if (escaped != NULL)
            buf_addz(out, escaped);
        else
            buf_add(out, s + i, len);
    }
    buf_addc(out, '"');
}
