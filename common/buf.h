/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

/*
 * A growing piece of memory. A zeroed struct buf is an empty one. The bytes in
 * use are data[start .. start+len); buf_drop moves start, so a reader that
 * takes from the front pays no copying for each message.
 */
struct buf {
    char *data;
    size_t start, len, cap;
};

/* Frees the memory; the buf is then empty and may be used again. */
void buf_fini(struct buf *buf);

/* Makes it empty; keeps the memory. */
void buf_clear(struct buf *buf);

/* The first byte in use (not NUL-terminated). */
char *buf_bytes(const struct buf *buf);

/* Room for n more bytes; returns where they go. Count them with buf_grew. */
char *buf_room(struct buf *buf, size_t n);

/* n bytes were written to what buf_room gave. */
void buf_grew(struct buf *buf, size_t n);

void buf_add(struct buf *buf, const void *data, size_t n);
void buf_addz(struct buf *buf, const char *text);
void buf_adds(struct buf *buf, struct str text);
void buf_addc(struct buf *buf, char c);

/* In decimal digits, as printf would, but many times as fast. */
void buf_addi(struct buf *buf, int64_t number);

void buf_printf(struct buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Forgets the first n bytes in use. */
void buf_drop(struct buf *buf, size_t n);

/* What is in the buffer, as a view that dies with the next change. */
struct str buf_str(const struct buf *buf);

/* The content as NUL-terminated memory that the caller owns; buf is empty
 * afterwards. */
char *buf_take(struct buf *buf);

#endif
