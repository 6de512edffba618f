/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

struct event_base;

/*
 * An HTTP server on a socket that listens already, for small answers to
 * strangers.  Its limits: 8 KiB of request line and headers, 1 KiB of body, 5 s
 * from the connection, or from its last answer, to a complete request, 5 s for
 * the client to read on, and 128 connections: the oldest gives way to a new
 * one.
 */
struct http;

struct http_answer {
    struct buf body;
    const char *type;  /* Content-Type */
    const char *allow; /* the header Allow, or NULL */
};

struct http_ops {
    /* Fills the answer and returns the status. method is "" if it is none of
     * the usual ones. 0: not now; asked again by http_retry, which must come
     * within a few seconds. */
    int (*answer)(void *arg, const char *method, const char *path,
                  struct http_answer *out);
    /* http_stop is done. */
    void (*stopped)(void *arg);
};

/* Takes over fd in any case. NULL and err. */
struct http *http_new(struct event_base *base, int fd,
                      const struct http_ops *ops, void *arg, struct err *err);

/* Ends everything at once; NULL is fine. Not to be called from answer. */
void http_free(struct http *http);

/* Asks again for each request that was not answered. Not to be called from
 * answer. */
void http_retry(struct http *http);

/* Stops accepting and closes idle connections at once; requests that have begun
 * are answered within patience (nanoseconds), then stopped is called, from the
 * loop.  Does nothing the second time. */
void http_stop(struct http *http, int64_t patience);

#endif
