/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_EVENT_H
#define PROJECTOR_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/metrics.h"
#include "common/str.h"

/*
 * Kubernetes Events to be sent: what happened is counted here, and turned into
 * requests one at a time, without I/O and with the times passed in.
 *
 *  - What happens again (same object, type, reason, message and action) is one
 *    Event with a count: created once, then patched.
 *  - Each object has a budget of 25 requests at once and one more for every
 *    five minutes.  What comes beyond it is counted and sent when there is
 *    budget again.
 *  - A request that got no answer, 401, 429 or 5xx is made again after 10 s or
 *    as long as Retry-After says, up to twelve times; nothing else is sent
 *    meanwhile.  After any other refusal it is given up: no work ever fails
 *    because an Event does.
 *  - So many kinds of event are kept at most; the oldest gives way.
 *
 * They are core/v1 Events with firstTimestamp, lastTimestamp and count: kubectl
 * of any version, and what else shows Events, sorts and counts by these.
 */
#define EVENTS_MAX 256
#define EVENTS_BURST 25
#define EVENTS_REFILL INT64_C(300000000000)
#define EVENTS_PAUSE INT64_C(10000000000)
#define EVENTS_TRIES 12

struct events;

/* Borrowed texts of whoever tells. */
struct event_object {
    const char *api_version, *kind;
    const char *namespace; /* "": cluster-scoped; its Events are in "default" */
    const char *name, *uid;
};

struct event_note {
    struct event_object object;
    bool warning;        /* else the type is Normal */
    const char *reason;  /* CamelCase */
    const char *message; /* for people; the same for the same cause */
    const char *action;
    int64_t count; /* how often it happened */
};

/* instance: who reports, the name of the Pod or of the host; copied. */
struct events *events_new(const char *instance);
void events_free(struct events *e); /* NULL is fine */

/* It happened. */
void events_note(struct events *e, const struct event_note *note, int64_t now,
                 int64_t wall);

struct event_request {
    const char *method, *content_type;
    char *path;
    char *body;
};

/* The next request that may be sent, now under way; NULL: none. It lives until
 * events_answered. */
const struct event_request *events_next(struct events *e, int64_t now);

/* What it came to; status 0: no answer. Returns the fate of what it told of, or
 * EVENT_FATES if it is to be made again. */
enum event_fate events_answered(struct events *e, int status,
                                int64_t retry_after, int64_t now);

bool events_in_flight(const struct events *e);

/* When events_next should be asked again; INT64_MAX: not before something
 * else happens. */
int64_t events_due(const struct events *e, int64_t now);

/* How many had which fate so far. */
const int64_t *events_fates(const struct events *e);

#endif
