/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELECTOR_ELECTION_H
#define ELECTOR_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/elector/lease.h"

/*
 * One candidate's side of the election, as a state machine without I/O: times,
 * records and chance are passed in, what is to be done comes out.
 *
 * The rules, each with its reason:
 *  - A record is judged by when we saw it change last, on our own clock, and
 *    never by the times in it: clocks of machines differ.
 *  - It holds for the duration that its holder wrote, not for ours.  Nonsense
 *    in that field (none, below 1, above an hour) counts as our own.
 *  - Our own term holds until the moment before the last successful renewal was
 *    sent, plus the renew deadline.  Then it ends, whatever is under way.
 *  - A conflict is information: read again, and if the holder is another, the
 *    term is over.  So is it when the Lease has been deleted.
 *  - acquireTime and leaseTransitions change when the holder changes, only.
 *  - An elector that starts inside a running term (the lease page shows one)
 *    goes on with it: same term, and no change of the Lease but a renewal.
 *  - A release is an update like others: of the version read last, after the
 *    term has ended.
 *  - A candidate reads before it writes.  While a watch shows it the Lease, it
 *    reads when that is released or expires, at once but for a little jitter;
 *    else one to 2.2 retry periods after the last time, or when it expires.
 *  - A leader goes by the answers to its own requests alone: what a watch says
 *    may be old.
 * There is never more than one request under way.
 */
struct election;

struct election_config {
    const char *identity; /* what holderIdentity says while we lead */
    int64_t lease_duration, renew_deadline, retry_period; /* nanoseconds */
};

/* The moment of an event. */
struct election_moment {
    int64_t now;   /* clock_now */
    int64_t wall;  /* for the times written in the record */
    double chance; /* from 0 to below 1, random */
};

/* How a replica sees the election (mokka-control 2.5); the numbers are what the
 * supervisor gets as fact "view". */
enum election_view {
    ELECTION_STOPPED,
    ELECTION_WAITING,
    ELECTION_STANDBY,
    ELECTION_LEADER
};

enum election_verb {
    ELECTION_PUBLISH,  /* term and time (its deadline, 0: over) to the page */
    ELECTION_BEGAN,    /* the term began; goes_on: after our own restart */
    ELECTION_ENDED,    /* the term is over, for this reason */
    ELECTION_OBSERVED, /* the holder is another than before (holder) */
    ELECTION_GET,      /* requests, to be answered by election_answer */
    ELECTION_CREATE,   /* with record */
    ELECTION_UPDATE,   /* with record, of the version that was read last */
    ELECTION_CANCEL,   /* end the request under way, no answer is expected */
    ELECTION_FOLLOW,   /* watch the Lease: election_seen, election_sight */
    ELECTION_UNFOLLOW, /* no longer */
    ELECTION_WAIT,     /* election_wake is due at time (INT64_MAX: never), and
                          no longer when the last one said */
    ELECTION_FINISHED, /* after a stop: all is done (reason: or given up) */
};

/* Texts live until the next event. */
struct election_action {
    enum election_verb verb;
    uint64_t term;
    int64_t time;
    const char *reason;
    bool goes_on;
    struct lease_record record;
};

/* To be carried out in this order. */
struct election_actions {
    struct election_action items[12];
    size_t count;
};

enum election_outcome {
    ELECTION_RECORD,   /* it is done, and the Lease is now as in record */
    ELECTION_ABSENT,   /* there is no Lease of that name */
    ELECTION_CONFLICT, /* somebody else wrote in between */
    ELECTION_FAILED,   /* anything else; whether it was done is not known */
};

struct election_answer {
    enum election_outcome outcome;
    struct lease_record record;
    int64_t retry_after; /* nanoseconds; 0: none named */
};

/* config is copied. term and deadline are what the lease page shows. */
struct election *election_new(const struct election_config *config,
                              uint64_t term, int64_t deadline);
void election_free(struct election *e);

/* The events.  Each clears *out and fills it. */

/* Time has come; also to be called once at the start. */
void election_wake(struct election *e, const struct election_moment *m,
                   struct election_actions *out);

/* The caches are complete: contend.  Does nothing the second time. */
void election_contend(struct election *e, const struct election_moment *m,
                      struct election_actions *out);

/* The request under way was answered. */
void election_answer(struct election *e, const struct election_moment *m,
                     const struct election_answer *answer,
                     struct election_actions *out);

/* A watch shows the Lease as it is in record, or that there is none (NULL). */
void election_seen(struct election *e, const struct election_moment *m,
                   const struct lease_record *record,
                   struct election_actions *out);

/* From now on the watch shows every change, or it does no longer.  The first is
 * said after the present state was shown. */
void election_sight(struct election *e, const struct election_moment *m,
                    bool sees, struct election_actions *out);

/* End the term, give the Lease back, contend no more. */
void election_stop(struct election *e, const struct election_moment *m,
                   struct election_actions *out);

enum election_view election_view(const struct election *e);

/* The running term; 0: none. */
uint64_t election_term(const struct election *e);

/* A watch shows every change of the Lease. */
bool election_sees(const struct election *e);

/* The record as it was seen last; NULL if none was. */
const struct lease_record *election_record(const struct election *e);

#endif
