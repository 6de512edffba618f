/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_TRANSFER_H
#define COMMON_KUBE_TRANSFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/kube/http.h"

struct kube_auth;
struct kube_target;

/*
 * One request and its answer as libcurl sees them: options, headers and the
 * callbacks that collect.  For http.c, which knows when it starts and ends.
 */
struct kube_transfer {
    const char *server;          /* borrowed; for messages */
    struct kube_request request; /* texts are copies */
    char *url;
    CURL *easy; /* once prepared */
    struct curl_slist *headers, *connect_to;
    struct buf answer;  /* collected */
    int64_t headed_at;  /* when the header came, on clock_now's clock; 0 */
    bool closed;        /* cancelled: no callback any more */
    int64_t heard_at;   /* last bytes, on clock_now's clock */
    int64_t expires_at; /* nothing is sent from then on; 0: no limit */
    struct err err;     /* why we end it ourselves; empty: we do not */
    char detail[CURL_ERROR_SIZE];
};

/* Copies req; server and target are borrowed for as long as it lives. */
struct kube_transfer *kube_transfer_new(const struct kube_request *req,
                                        const char *server,
                                        const struct kube_target *target);

void kube_transfer_free(struct kube_transfer *transfer);

/* Makes the handle, with the identity of this moment; connections older than
 * lifetime seconds are not to be used. -1 with transfer->err set. */
int kube_transfer_prepare(struct kube_transfer *transfer,
                          const struct kube_auth *auth,
                          const struct kube_target *target, long lifetime);

/* Fills response from how it ended; views live as long as the transfer. */
void kube_transfer_response(struct kube_transfer *transfer, CURLcode code,
                            struct kube_response *response);

#endif
