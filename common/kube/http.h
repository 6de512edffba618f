/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_HTTP_H
#define COMMON_KUBE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

struct event_base;
struct kube_config;
struct kube_stats;

/*
 * Requests to the API server: HTTP/1.1 over TLS on a pool of kept connections,
 * driven by the event loop (libcurl's multi interface).  No call blocks and no
 * callback comes from inside the function that started the call.
 *
 * A server that is not there is noticed within 5 s, one that falls silent in
 * the middle of a connection (a half-open one) within about 30 s, even when
 * the call has no time limit.  A connection is kept for at most 5 minutes for
 * new requests, and left at once when the credentials changed or the server
 * refused (429, 5xx) three times in a row.  Compression is not asked for; an
 * answer that is compressed all the same is handed on as it was before that.
 * Redirects are not followed, and neither a proxy nor anything else is taken
 * from the environment.
 *
 * A request that found its kept connection closed before any byte of an answer
 * came is sent again on a new one, whatever its method.
 *
 * The process must ignore SIGPIPE.
 */
struct kube_client;

/* No server makes us wait longer than so, in seconds. */
#define KUBE_RETRY_AFTER_MAX 3600

/* A request under way; a cookie for kube_cancel. */
struct kube_call;

struct kube_response {
    int status;               /* HTTP status; 0: no complete answer came */
    struct str body;          /* collected body; valid during the callback */
    const char *content_type; /* "" if none */
    int64_t retry_after;      /* nanoseconds, at most an hour; 0: none named */
    struct err err;           /* with status 0: what went wrong, and where */
    bool sent;          /* with status 0: the server may have acted on it */
    const char *method; /* of the request; valid during the callback */
    const char *url;    /* with query; valid during the callback */
};

struct kube_request {
    const char *method;       /* "GET", "POST", ... */
    const char *path;         /* absolute, with query, already escaped */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json */
    struct str body;          /* copied; n 0: none */
    int64_t timeout;          /* whole request, nanoseconds; 0: no limit.
                                 Nothing is sent once it is over, also not by a
                                 process that was stopped meanwhile */
    int64_t idle_timeout;     /* ended when silent for so long; 0: no limit.
                                 Silence counts from kube_send on */
    size_t max_body;          /* cap of the collected body; 0: 8 MiB */
    /*
     * If set, called once when the header of a 2xx answer has come (a watch is
     * open; nothing of the body is there yet): response has status, url and
     * content_type.  -1 ends the call with the text in err.  May do what data
     * may do.
     */
    int (*head)(void *arg, const struct kube_response *response,
                struct err *err);
    /*
     * If set, the bytes of a 2xx answer go here as they come instead of being
     * collected (any other status is collected as usual).  -1 ends the call
     * with the text in err.  It may call kube_send and kube_cancel, also for
     * its own call, but not kube_client_free.
     */
    int (*data)(void *arg, struct str bytes, struct err *err);
    /* Called once, at the end, unless the call was cancelled. It may call
     * kube_send and kube_cancel, but not kube_client_free. */
    void (*done)(void *arg, const struct kube_response *response);
    void *arg;
};

/*
 * A client for the server and identity in config; base and config must outlive
 * it.  Token, CA and client certificate files are read now, and again at most
 * 60 s after the last time once a request is sent; when that fails the last
 * good content stays in use (one line in the log).  NULL and err, naming the
 * file and the remedy, if the credentials cannot be used.
 */
struct kube_client *kube_client_new(struct event_base *base,
                                    const struct kube_config *config,
                                    struct err *err);

/* Ends every call without its callback and frees the client; NULL is fine. Not
 * to be called from a callback of this client. */
void kube_client_free(struct kube_client *client);

/* What it has counted so far (stats.h): every call that ended, those cancelled
 * apart. */
const struct kube_stats *kube_client_stats(const struct kube_client *client);

/* Starts a request. All of req is copied but arg. Never NULL: what fails at
 * once is reported through done, from the loop. */
struct kube_call *kube_send(struct kube_client *client,
                            const struct kube_request *req);

/* Ends the call; none of its callbacks will be called any more. NULL is fine.
 * Within the call's own done it does nothing; after that the call is gone and
 * must not be given. */
void kube_cancel(struct kube_call *call);

#endif
