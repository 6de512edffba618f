/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_WINDOW_H
#define PROJECTOR_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * How many requests the API server may have of us at a time, without I/O and
 * with the time passed in.
 *
 *  - Between 4 and 64.  It grows by one for each round of answers while they
 *    come about as fast as the fastest of late, and shrinks alike while they
 *    do not: latency is the brake, long before the server refuses.
 *  - A refusal (429, 5xx) or a missing answer halves it, once for all the
 *    requests that were under way then, and nothing is sent for a while: as
 *    long as Retry-After says, or 25 ms, twice as long each further time
 *    without an answer in between, up to 30 s; a part by chance on top, so that
 *    not all clients come back at once.
 *  - With a fixed rate, requests also spend from a bucket of tokens.
 */
struct window {
    /* For the functions below alone. */
    int64_t limit;          /* in thousandths of a request */
    int64_t fast, fast_old; /* lowest latency of this and the last period */
    int64_t period_end;
    int64_t usual;     /* smoothed latency */
    int64_t halved_at; /* requests sent before this are forgiven */
    int64_t paused;    /* until then nothing is sent */
    unsigned refusals; /* since the last answer */
    uint64_t chance;
    double qps, burst; /* qps 0: no fixed rate */
    double tokens;
    int64_t filled_at;
};

/* seed: any number; different ones spread the pauses. */
void window_init(struct window *w, uint64_t seed, int64_t now);

/* Sets the fixed rate from the options' texts; both empty: none, one empty: it
 * takes its usual value (50 a second, 100 at once). -1 and err. */
int window_rate(struct window *w, const char *qps, const char *burst,
                struct err *err);

/* A request may be sent while in_flight others have no answer. */
bool window_open(const struct window *w, unsigned in_flight, int64_t now);

/* When time alone opens it again; now if it is not time that it waits for. */
int64_t window_opens(const struct window *w, int64_t now);

/* A request was sent. */
void window_sent(struct window *w, int64_t now);

/* It was answered (status 0: it was not) and its place is free; in_flight
 * counts it still. retry_after 0: none was named. */
struct window_answer {
    int status;
    int64_t sent_at, retry_after;
    unsigned in_flight;
};
void window_answered(struct window *w, const struct window_answer *a,
                     int64_t now);

/* How often in a row the server refused or kept silent. */
unsigned window_refusals(const struct window *w);

/* Requests allowed at a time. */
unsigned window_limit(const struct window *w);

#endif
