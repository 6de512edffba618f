/* SPDX-License-Identifier: Apache-2.0 */
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A text that was cut does not end inside a UTF-8 sequence: such a message
 * would be refused, or changed, by whoever reads it. */
static void
end_whole(struct err *err)
{
    size_t n = strlen(err->text);
    size_t start = n;

    if (n < sizeof(err->text) - 1)
        return;
    while (start > 0 && ((unsigned char)err->text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0 && (unsigned char)err->text[start - 1] >= 0xc0)
        err->text[start - 1] = '\0';
}

int
err_set(struct err *err, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL)
        return -1;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    end_whole(err);
    return -1;
}

int
err_errno(struct err *err, const char *fmt, ...)
{
    int saved = errno;
    size_t used;
    va_list ap;

    if (err == NULL)
        return -1;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s",
             strerror(saved));
    return -1;
}

int
err_prefix(struct err *err, const char *fmt, ...)
{
    struct err old;
    size_t used;
    va_list ap;

    if (err == NULL)
        return -1;
    old = *err;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", old.text);
    end_whole(err);
    return -1;
}
