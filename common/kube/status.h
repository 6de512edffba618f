/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_STATUS_H
#define COMMON_KUBE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

struct json_t;
struct kube_response;

/*
 * What the API server says about a request that it did not carry out: the
 * Status object in the body of an answer that is not 2xx, and in the ERROR
 * event of a watch.
 */

#define KUBE_CAUSES 32 /* further causes are counted, not kept */

struct kube_cause {
    char *type;    /* "FieldManagerConflict"; "" if none was given */
    char *message; /* conflict with "kubectl" using v1 */
    char *field;   /* .metadata.labels.nvidia.com/gpu.clique */
};

struct kube_status {
    int code;      /* 0: none was given */
    char *reason;  /* "Conflict"; never NULL once filled */
    char *message; /* never NULL once filled */
    struct kube_cause causes[KUBE_CAUSES];
    size_t n_causes; /* kept ones */
    size_t total_causes;
    int64_t retry_after; /* nanoseconds, at most an hour; 0: none named */
};

/* Fills status from a parsed Status. Fields that are missing or of another
 * type are left empty. -1 and err if object is no Status; status is then
 * empty. */
int kube_status_json(struct kube_status *status, const struct json_t *object,
                     struct err *err);

/* Fills status from the message Status of a protobuf watch (wire bytes without
 * magic and envelope). -1 and err if it is malformed; status is then empty. */
int kube_status_protobuf(struct kube_status *status, struct str wire,
                         struct err *err);

/*
 * Fills status from an answer that is not 2xx, whatever its body: where that
 * is no Status (a proxy's page), code is the HTTP status and message the first
 * printable line.  The larger of the two Retry-After stands.  Never fails.
 */
void kube_status_read(struct kube_status *status,
                      const struct kube_response *response);

/* The API server itself says that there is no such object: not a proxy before
 * it, nor a server that does not know the resource. */
bool kube_not_found(const struct kube_response *response);

/* Frees what status holds; an empty (zeroed) one is fine. */
void kube_status_fini(struct kube_status *status);

/* Some cause has this type. */
bool kube_status_has(const struct kube_status *status, const char *type);

/* The resourceVersion or the continue token asked for is too old: list anew. */
bool kube_status_expired(const struct kube_status *status);

/* The resourceVersion asked for is newer than what this server has: drop it
 * (servers before 1.19 say so in the message only). */
bool kube_status_too_new(const struct kube_status *status);

/*
 * Writes one line about an answer that is not what was wanted to err and
 * returns -1, so that it can end a function:
 *
 *     GET https://host:6443/apis/...: 403 Forbidden: racks is forbidden: ...
 *     list racks: https://host:6443: connection refused: nothing listens ...
 *
 * what says what was tried; NULL: method and URL (without its query).  Without
 * an answer the text ends with response->err, which names the server.
 */
int kube_describe(const struct kube_response *response, const char *what,
                  struct err *err);

#endif
