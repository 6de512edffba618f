/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/protobuf.h"

#include <string.h>

#define VARINT_MAX 10 /* bytes */

int
pb_varint(struct str bytes, uint64_t *value, size_t *used)
{
    uint64_t result = 0;

    for (size_t i = 0; i < bytes.n && i < VARINT_MAX; i++) {
        uint8_t byte = (uint8_t)bytes.s[i];

        if (i == VARINT_MAX - 1 && byte > 1)
            return -1;
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        *value = result;
        *used = i + 1;
        return 1;
    }
    return bytes.n < VARINT_MAX ? 0 : -1;
}

static void
skip(struct str *rest, size_t n)
{
    rest->s += n;
    rest->n -= n;
}

/* Takes a varint from rest; it must be complete. */
static int
take_varint(struct str *rest, uint64_t *value, struct err *err)
{
    size_t used;

    if (pb_varint(*rest, value, &used) != 1)
        return err_set(err, "protobuf: a number is cut off or too long");
    skip(rest, used);
    return 0;
}

/* Takes n bytes from rest. */
static int
take_bytes(struct str *rest, uint64_t n, struct str *bytes, struct err *err)
{
    if (n > rest->n)
        return err_set(err, "protobuf: a field is longer than its message");
    *bytes = (struct str){rest->s, (size_t)n};
    skip(rest, (size_t)n);
    return 0;
}

int
pb_next(struct pb_reader *reader, struct pb_field *field, struct err *err)
{
    struct str *rest = &reader->rest;
    uint64_t tag, n = 0;

    if (rest->n == 0)
        return 0;
    if (take_varint(rest, &tag, err) < 0)
        return -1;
    if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return err_set(err, "protobuf: a field has no number that can be");
    *field = (struct pb_field){(uint32_t)(tag >> 3), (enum pb_type)(tag & 7), 0,
                               STR("")};
    switch (field->type) {
    case PB_VARINT:
        return take_varint(rest, &field->value, err) < 0 ? -1 : 1;
    case PB_FIXED64:
        n = 8;
        break;
    case PB_FIXED32:
        n = 4;
        break;
    case PB_BYTES:
        if (take_varint(rest, &n, err) < 0)
            return -1;
        break;
    default:
        return err_set(err, "protobuf: field %u has an unknown wire type",
                       field->number);
    }
    return take_bytes(rest, n, &field->bytes, err) < 0 ? -1 : 1;
}

/* The value of a continuation byte's place: 0x80 to 0xbf, unless the first
 * byte narrows it (overlong forms, surrogates, beyond U+10FFFF). */
static bool
is_second(uint8_t first, uint8_t second)
{
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    return second >= low && second <= high;
}

static size_t
sequence_length(uint8_t first)
{
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

bool
pb_is_text(struct str bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.s;
    const uint8_t *end = at + bytes.n;

    while (at < end) {
        size_t n = *at < 0x80 ? 1 : sequence_length(*at);

        if (*at == 0 || n == 0 || n > (size_t)(end - at))
            return false;
        if (n > 1 && !is_second(at[0], at[1]))
            return false;
        for (size_t i = 2; i < n; i++)
            if ((at[i] & 0xc0) != 0x80)
                return false;
        at += n;
    }
    return true;
}
