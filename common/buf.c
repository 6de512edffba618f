/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

void
buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

void
buf_clear(struct buf *buf)
{
    buf->start = buf->len = 0;
}

char *
buf_bytes(const struct buf *buf)
{
    return buf->data + buf->start;
}

char *
buf_room(struct buf *buf, size_t n)
{
    size_t need = buf->len + n;
    size_t cap = buf->cap == 0 ? 256 : buf->cap;

    if (buf->start > 0 && buf->start + need > buf->cap) {
        memmove(buf->data, buf->data + buf->start, buf->len);
        buf->start = 0;
    }
    if (buf->start + need > buf->cap) {
        while (cap < need)
            cap *= 2;
        buf->data = mem_resize(buf->data, cap, 1);
        buf->cap = cap;
    }
    return buf->data + buf->start + buf->len;
}

void
buf_grew(struct buf *buf, size_t n)
{
    buf->len += n;
}

void
buf_add(struct buf *buf, const void *data, size_t n)
{
    if (n == 0)
        return;
    memcpy(buf_room(buf, n), data, n);
    buf->len += n;
}

void
buf_addz(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void
buf_adds(struct buf *buf, struct str text)
{
    buf_add(buf, text.s, text.n);
}

void
buf_addc(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void
buf_addi(struct buf *buf, int64_t number)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        *--at = '-';
    buf_add(buf, at, (size_t)(digits + sizeof(digits) - at));
}

void
buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list ap;
    va_list again;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        fatal("format %s", fmt);
    vsnprintf(buf_room(buf, (size_t)n + 1), (size_t)n + 1, fmt, again);
    va_end(again);
    buf->len += (size_t)n;
}

void
buf_drop(struct buf *buf, size_t n)
{
    buf->start += n;
    buf->len -= n;
    if (buf->len == 0)
        buf->start = 0;
}

struct str
buf_str(const struct buf *buf)
{
    return (struct str){buf->data == NULL ? "" : buf_bytes(buf), buf->len};
}

char *
buf_take(struct buf *buf)
{
    char *text = mem_dup(buf->data == NULL ? "" : buf_bytes(buf), buf->len);

    buf_fini(buf);
    return text;
}
