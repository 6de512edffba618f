/* SPDX-License-Identifier: Apache-2.0 */
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
err_set(struct err *err, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL)
        return -1;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
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
    return -1;
}
