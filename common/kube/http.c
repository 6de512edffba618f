/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/http.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/kube/auth.h"
#include "common/kube/config.h"
#include "common/kube/loop.h"
#include "common/kube/transfer.h"
#include "common/mem.h"

/* Answers of refusal in a row after which connections are made anew: another
 * server may stand behind the same address. Not more often than so. */
#define REFUSALS 3
#define RENEWAL (30 * CLOCK_SECOND)

enum call_state {
    CALL_QUEUED,  /* to be started from the loop */
    CALL_RUNNING, /* libcurl has it */
    CALL_DROPPED, /* cancelled while libcurl ran; swept after */
    CALL_DONE,    /* its done is running */
};

struct kube_call {
    LIST_ENTRY(kube_call) all;
    STAILQ_ENTRY(kube_call) queue; /* while CALL_QUEUED */
    struct kube_client *client;
    enum call_state state;
    struct event *timer; /* the nearer of both time limits */
    int64_t began;
    struct kube_request request;
    struct kube_transfer *transfer;
};

struct kube_client {
    struct event_base *base;
    const struct kube_config *config;
    struct kube_auth *auth;
    struct kube_loop *loop;
    LIST_HEAD(, kube_call) calls;
    STAILQ_HEAD(, kube_call) queue;
    bool dropped;          /* some call is CALL_DROPPED */
    int refusals;          /* in a row */
    int64_t renewed_at;    /* older connections are not used any more */
};
