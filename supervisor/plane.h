/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_PLANE_H
#define SUPERVISOR_PLANE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/chan.h"
#include "proto/role.h"
#include "supervisor/child.h"
#include "supervisor/health.h"
#include "supervisor/options.h"
#include "supervisor/watchdog.h"

/*
 * What the supervisor knows: itself and one struct process for each worker.
 * Its parts: supervisor.c (the whole: readiness, stop, signals), process.c
 * (each worker's life), wire.c (what a worker is given), heard.c (what workers
 * say), control.c (the people at the control socket).
 */
#define SIGNALS 4
#define PROCESSES (ROLE_COUNT - 1)

struct worker_row {
    enum role role;
    const char *name;
    unsigned stop;
    const char *patience;
};

struct supervisor;
struct control;

/* One worker: its row, its life, and what hangs on the present process. */
struct process {
    struct supervisor *sup;
    const struct worker_row *row;
    struct child child;
    struct event *timer; /* for child.due or child.limit */
    struct chan *control;
    pid_t pid;           /* 0: none */
    pid_t dead;          /* the last one that ended */
    char cause[64];      /* how it ended */
    const char *killed;  /* why we end the present process; NULL: we do not */
    unsigned untold;     /* deaths that nobody has been told of */
    bool back_untold;    /* likewise, that it is back after one */
    bool given_up;       /* its last death was one too many */
    uint64_t generation; /* of the last start */
    int64_t started;     /* clock_wall() of that */
    int64_t since;       /* clock_wall() of the last change of its state */
    int64_t died;        /* clock_wall() of the last end; 0: none */
    struct watchdog watchdog;
    struct trace *trace; /* of the present or last process, or NULL */
    int trace_fd;        /* of it, while it is to be granted; else -1 */
    bool sandboxed;      /* the present process said how */
    struct err lacking;  /* what of it is not in force, likewise */
    bool held; /* people keep it from starting, or from the watchdog */
    bool lent; /* the present process is no child of ours */
};

struct supervisor {
    const struct options *options;
    struct event_base *base;
    struct event *signals[SIGNALS];
    struct event *grace;     /* readiness changes when a grace has run out */
    struct event *beat;      /* of the watchdog */
    struct control *control; /* NULL: there is no control socket */
    struct process processes[PROCESSES]; /* in the order of the topology */
    struct health health;
    struct buf readiness; /* body of the last READINESS */
    char *identity;
    char *address;   /* of the HTTP listener, with its real port */
    int64_t started; /* clock_wall() */
    int64_t memory;  /* limit of the container; 0: none */
    int64_t kills;   /* by the kernel, for memory, that are accounted for */
    int resources[RESOURCE_COUNT];
    struct lease_page *page;
    uint64_t term; /* the running term; 0: none */
    bool contending;
    unsigned turn; /* of the stop; 0: not stopping */
    int64_t stop_began;
    bool was_ready;
    int status;
    struct err *err;
};

/* supervisor.c */

struct process *process_of(struct supervisor *sup, enum role role);

/* Readiness and what hangs on it: told to whoever hears it when it changed. */
void supervisor_review(struct supervisor *sup);

/* A worker runs: once all of them do, the start has not failed. */
void supervisor_started(struct supervisor *sup);

/* Begins the stop, unless it has begun. With a status, and before anybody
 * contends for the Lease, it is an end at once. */
void supervisor_stop(struct supervisor *sup);

/* A worker has ended for good: the next turn of the stop, if it was the last of
 * its own. */
void supervisor_next_turn(struct supervisor *sup);

#endif
