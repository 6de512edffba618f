/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/base64.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The value of a character, -1 if it has none. */
static int
value_of(char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(alphabet, c);

    return at == NULL ? -1 : (int)(at - alphabet);
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Appends the bytes of a group of 4 characters, `padding` of them '='. */
static void
put_group(uint32_t bits, int padding, struct buf *out)
{
    for (int i = 0; i < 3 - padding; i++)
        buf_addc(out, (char)(bits >> (16 - 8 * i) & 0xff));
}

int
base64_decode(struct str text, struct buf *out, struct err *err)
{
    uint32_t bits = 0;
    int have = 0, padding = 0;
    bool ended = false; /* only white space may follow a padded group */

    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        int value = c == '=' ? 0 : value_of(c);

        if (is_space(c))
            continue;
        padding += c == '=';
        if (value < 0 || ended || padding > 2 || (padding > 0 && have < 2) ||
            (padding > 0 && c != '='))
            return err_set(err, "byte %zu is not base64", i + 1);
        bits = bits << 6 | (uint32_t)value;
        if (++have < 4)
            continue;
        put_group(bits, padding, out);
        have = 0;
        ended = padding > 0;
    }
    if (have > 0)
        return err_set(err, "base64 ends in the middle of a group");
    return 0;
}
