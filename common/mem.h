/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_MEM_H
#define COMMON_MEM_H

#include <stddef.h>

/*
 * Allocation that cannot fail: a process that is out of memory ends with one
 * line on stderr and its supervisor starts it again from what the others hold.
 * That keeps every caller free of a path that no test could reach.
 */

/* n bytes, zeroed. Free with free(). */
void *mem_zalloc(size_t n) __attribute__((malloc, returns_nonnull));

/* ptr grown or shrunk to hold count items of size bytes; checked product. */
void *mem_resize(void *ptr, size_t count, size_t size);

/* A copy of the n bytes at data with a NUL after them. */
char *mem_dup(const char *data, size_t n) __attribute__((returns_nonnull));

/* A copy of the text s; NULL gives NULL. */
char *mem_strdup(const char *s);

/* A new text, formatted. */
char *mem_printf(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), returns_nonnull));

/* Ends the process at once: one line on stderr, then abort(). For our own bugs
 * and for exhausted memory only; bad input never comes here. */
void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#define nitems(array) (sizeof(array) / sizeof((array)[0]))

#endif
