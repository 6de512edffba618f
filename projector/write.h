/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_WRITE_H
#define PROJECTOR_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "projector/intent.h"

struct event_base;
struct kube_client;
struct lease_page;
struct shadow;

/*
 * The door to the API server: takes intents that are due from the table, sends
 * their requests as far as window, term and lease page allow, and puts the
 * answers back.  Everything it calls back comes from the event loop, never from
 * inside one of these functions.
 */
struct writer;

struct writer_setup {
    struct event_base *base;
    struct intents *intents;
    /* Not NULL: what would be written is told here and not sent (shadow.h), and
     * the lease page does not count. */
    struct shadow *shadow;
    int64_t write_timeout; /* the hard end of a mutating request */
    int64_t live_timeout;  /* the same of a live read of a Node */
    /* An intent got its result. */
    void (*reply)(void *arg, const struct reply *reply);
    /* Work was done; nothing may be in flight (intents_settled). */
    void (*turned)(void *arg);
    void *arg;
};

/* What setup points to must outlive it. */
struct writer *writer_new(const struct writer_setup *setup);

/* Ends what is under way, answered or not; to be called before the client and
 * the table go. NULL is fine. */
void writer_free(struct writer *w);

/* Sets the fixed rate from the options' texts, as window_rate. -1 and err. */
int writer_rate(struct writer *w, const char *qps, const char *burst,
                struct err *err);

/* Without both nothing is sent. They stay the caller's. */
void writer_client(struct writer *w, struct kube_client *client);
void writer_lease(struct writer *w, const struct lease_page *page);

/* A plan of that term begins: what it holds is sent while the lease page shows
 * this very term. 0: of no term, nothing is sent. */
void writer_plan(struct writer *w, uint64_t term);

/* That term is over, and with it those before. */
void writer_term_ended(struct writer *w, uint64_t term);

/* The table changed. */
void writer_wake(struct writer *w);

/* Nothing more is sent; what is under way is awaited. */
void writer_stop(struct writer *w);

struct writer_state {
    unsigned requests;             /* without an answer */
    unsigned window;               /* allowed at a time */
    uint64_t writes[ACTION_COUNT]; /* mutating requests sent */
    uint64_t retries;    /* attempts that failed and will be made again */
    const char *trouble; /* what the API server does not allow us, or "" */
};
void writer_state(const struct writer *w, struct writer_state *state);

#endif
