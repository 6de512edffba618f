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

/*
 * Requests to the API server: HTTP/1.1 over TLS on a pool of kept connections,
 * driven by the event loop (libcurl's multi interface).  No call blocks and no
 * callback comes from inside the function that started the call.
 */
struct kube_client;

/* A request under way; a cookie for kube_cancel. */
struct kube_call;

struct kube_response {
    int status;              /* HTTP status; 0: no complete answer came */
    struct str body;         /* collected body; valid during the callback */
    const char *content_type; /* "" if none */
    int64_t retry_after;     /* nanoseconds; 0 if the server named none */
    struct err err;          /* with status 0: what went wrong, and where */
};

struct kube_request {
    const char *method;       /* "GET", "POST", ... */
    const char *path;         /* absolute, with query, already escaped */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json */
    struct str body;          /* copied; n 0: none */
    int64_t timeout;          /* whole request, nanoseconds; 0: no limit */
    int64_t idle_timeout;     /* ended when silent for so long; 0: no limit */
    size_t max_body;          /* cap of the collected body; 0: 8 MiB */
    /*
     * If set, the bytes of a 2xx answer go here as they come instead of being
     * collected (any other status is collected as usual).  -1 ends the call
     * with the text in err.
     */
    int (*data)(void *arg, struct str bytes, struct err *err);
    /* Called once, at the end, unless the call was cancelled. */
    void (*done)(void *arg, const struct kube_response *response);
    void *arg;
};

/*
 * A client for the server and identity in config, which must outlive it.
 * user_agent is sent with each request (mokka-control 1).  NULL and err if the
 * credentials cannot be used.
 */
struct kube_client *kube_client_new(struct event_base *base,
                                    const struct kube_config *config,
                                    struct err *err);

/* Ends every call without its callback and frees the client; NULL is fine. */
void kube_client_free(struct kube_client *client);

/* Starts a request. All of req is copied but arg. Never NULL: what fails at
 * once is reported through done, from the loop. */
struct kube_call *kube_send(struct kube_client *client,
                            const struct kube_request *req);

/* Ends the call; done will not be called. */
void kube_cancel(struct kube_call *call);

#endif
