/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One write, so that the line stays whole among those of other processes. */
void
fatal(const char *fmt, ...)
{
    static const char head[] = "fatal: ";
    char line[512];
    size_t used = sizeof(head) - 1;
    va_list ap;

    memcpy(line, head, used);
    va_start(ap, fmt);
    vsnprintf(line + used, sizeof(line) - used - 1, fmt, ap);
    va_end(ap);
    used = strlen(line);
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        line[0] = '\0'; /* nobody reads it; abort says enough */
    abort();
}

void *
mem_zalloc(size_t n)
{
    void *ptr = calloc(1, n == 0 ? 1 : n);

    if (ptr == NULL)
        fatal("out of memory (%zu bytes)", n);
    return ptr;
}

void *
mem_resize(void *ptr, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        fatal("allocation of %zu x %zu bytes", count, size);
    ptr = realloc(ptr, bytes == 0 ? 1 : bytes);
    if (ptr == NULL)
        fatal("out of memory (%zu bytes)", bytes);
    return ptr;
}

char *
mem_dup(const char *data, size_t n)
{
    char *copy = mem_zalloc(n + 1);

    if (n > 0)
        memcpy(copy, data, n);
    return copy;
}

char *
mem_strdup(const char *s)
{
    return s == NULL ? NULL : mem_dup(s, strlen(s));
}

char *
mem_printf(const char *fmt, ...)
{
    char *text;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        fatal("out of memory (formatted text)");
    return text;
}
