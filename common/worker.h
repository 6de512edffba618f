/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_WORKER_H
#define COMMON_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/chan.h"
#include "common/err.h"

/*
 * The life that all workers share, in one place and one order: take the
 * control link on fd 3, say HELLO, get CONFIG, enter the sandbox, get grants
 * and links, wait for START, say READY, work until STOP (or until the
 * supervisor is gone), say BYE. A worker's main.c is a struct worker_ops, a
 * table of handlers and one call.
 *
 * Answered here, for all: pings, the log level, taps of a link.  Every frame of
 * a link is noted in the trace (common/trace.h), and so is a crash.
 */
struct metrics;
struct sandbox;
struct worker;

/* The descriptor of the control link in every worker. */
#define WORKER_CONTROL_FD 3

struct worker_handler {
    uint16_t type; /* MSG_... */
    /* -1 and err: the sender broke the protocol; its link ends. */
    int (*handle)(void *state, struct chan *from, struct message *message,
                  struct err *err);
};

/* What people may ask it (mokkactl dump, why, ...). */
struct worker_question {
    const char *name;
    size_t arguments; /* that it takes */
    /* Adds the answer to out, lines of text; no secrets. -1 and err: there is
     * none. */
    int (*answer)(void *state, const struct str *arguments, struct buf *out,
                  struct err *err);
};

struct worker_ops {
    enum role role;
    const struct worker_handler *handlers;
    size_t handler_count;
    const struct worker_question *questions;
    size_t question_count;

    /* Each may be NULL, and state is what worker_main was given. */

    /* CONFIG is there (worker_option), nothing else yet. -1 and err end the
     * process with that line. */
    int (*configure)(void *state, struct worker *w, struct err *err);
    /* The sandbox is about to close: grants what is needed later, of what the
     * topology allows (common/sandbox/sandbox.h). */
    void (*reach)(void *state, struct sandbox *box);
    /* A descriptor granted; the callee owns fd. */
    int (*granted)(void *state, enum resource resource, int fd,
                   struct err *err);
    /* START came: every link that exists is up. -1 and err end the process. */
    int (*start)(void *state, struct err *err);
    /* A link to peer is up (before or after start), or gone. */
    void (*linked)(void *state, enum role peer, struct chan *chan);
    void (*unlinked)(void *state, enum role peer);
    /* There is room on that link again (chan_room). */
    void (*room)(void *state, enum role peer);
    /* The metrics are asked for: sets the worker's own; what all workers have
     * is there already. */
    void (*measure)(void *state, struct metrics *metrics);
    /* STOP came: finish what must be finished, then call worker_bye. NULL:
     * nothing to finish. */
    void (*stop)(void *state);
    /* The loop is over, for whatever reason, and the base still there: free
     * what hangs on it.  configure may not have been called. */
    void (*fini)(void *state);
};

/* Runs the worker; returns the exit status of the process. */
int worker_main(int argc, char **argv, const struct worker_ops *ops,
                void *state);

struct event_base *worker_base(const struct worker *w);

/* The value of an option of supervisor/options.def, "" if it is not set. */
const char *worker_option(const struct worker *w, const char *name);

/* The value of a duration option, in nanoseconds. */
int64_t worker_option_duration(const struct worker *w, const char *name);

/* Which start of this worker it is; known once it is configured. */
uint64_t worker_generation(const struct worker *w);

/* The chan to the supervisor, to send a worker's own control messages. */
struct chan *worker_control(const struct worker *w);

struct worker_fact {
    const char *name; /* NULL ends the list */
    int64_t number;
};

/* Tells the supervisor how this worker is: ok or not, what it waits for or
 * lacks (one line that /readyz shows; it may stand beside ok), and its facts.
 * What equals the last report is not sent. */
void worker_report(struct worker *w, bool ok, const char *reason,
                   const struct worker_fact *facts);

/* The same for what changes often: where only facts differ, it is sent no
 * sooner than a second after the last report. */
void worker_report_soon(struct worker *w, bool ok, const char *reason,
                        const struct worker_fact *facts);

/* The work is finished: BYE, then the process ends with status 0. */
void worker_bye(struct worker *w);

/* No restart of this worker can help (a configuration that cannot work): the
 * supervisor is told why and ends the whole with that line; this process ends
 * with status 1. */
void worker_fail(struct worker *w, const char *text);

#endif
