/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H

/*
 * The one error idiom: a function that can fail returns 0 or -1 (or NULL) and
 * says why in the struct err given last.  Nothing is allocated, so an error can
 * be reported when memory is short.  Who handles an error logs it, once; who
 * passes it on may put a prefix before it.
 */
struct err {
    char text[512]; /* one line, no newline at the end; cut when too long */
};

/*
 * Writes the formatted text to err (which may be NULL) and returns -1, so that
 * a failing function can end with "return err_set(err, ...)".
 */
int err_set(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* As err_set, followed by ": " and what errno means. */
int err_errno(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts the formatted text and ": " before the text in err; returns -1. */
int err_prefix(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
