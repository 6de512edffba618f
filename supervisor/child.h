/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_CHILD_H
#define SUPERVISOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The life of one worker as the supervisor sees it: a table from state and
 * event to the next state and what to do.  No I/O and no clock in here; times
 * are clock_now() values that the caller passes.
 *
 *   down      no process; a start is due at some time
 *   starting  forked, HELLO not seen
 *   held      HELLO was good; it gets nothing until it is let go
 *   wiring    HELLO was good; configuration, grants, links and START are out
 *   running   READY came
 *   stopping  told to stop, or being killed on the way to the end
 *   killed    its process must end before it can be started again; one that
 *             is about to end, or was aborted so that it leaves a core, has a
 *             while for that
 *   ended     no process, and none to come
 */
enum child_state {
    CHILD_DOWN,
    CHILD_STARTING,
    CHILD_HELD,
    CHILD_WIRING,
    CHILD_RUNNING,
    CHILD_STOPPING,
    CHILD_KILLED,
    CHILD_ENDED,
    CHILD_STATES
};

enum child_event {
    CHILD_DUE,    /* the time for a start has come */
    CHILD_HELLO,  /* a HELLO that fits */
    CHILD_READY,  /* READY came */
    CHILD_LEFT,   /* it closed its control link: it is about to end */
    CHILD_CUT,    /* a rule was broken on the control link */
    CHILD_LATE,   /* a step took longer than its limit */
    CHILD_GO,     /* it is held no longer */
    CHILD_SILENT, /* it answers no ping */
    CHILD_AGAIN,  /* people want a fresh start of it */
    CHILD_STOP,   /* the whole is stopping, and it is this one's turn */
    CHILD_EXIT,   /* the process is gone */
    CHILD_EVENTS
};

enum child_action {
    CHILD_NOTHING,
    CHILD_SPAWN,    /* fork and exec it */
    CHILD_WIRE,     /* CONFIG, grants, links, START */
    CHILD_ANNOUNCE, /* it is there: log, state */
    CHILD_TELL,     /* send STOP */
    CHILD_KILL,     /* SIGKILL */
    CHILD_ABORT,    /* SIGABRT, whether or not it is stopped */
    CHILD_RESTART,  /* it died: say so, a start is due at child->due */
    CHILD_GIVE_UP,  /* it cannot live: end the whole, with the reason */
    CHILD_FINISH,   /* it ended as it was told */
};

struct child {
    enum child_state state;
    int64_t patience; /* how long a stop may take; set by the owner */
    int64_t due;      /* in CHILD_DOWN: when to start */
    int64_t limit;    /* when CHILD_LATE is due; 0: no limit runs */
    int64_t started;  /* the last start */
    int64_t ready;    /* since when it is ready; 0 if not */
    unsigned deaths;  /* in a row, without a minute of health between */
    unsigned unready; /* deaths in a row without READY */
    bool hold;        /* its next start waits in CHILD_HELD; the owner's */
    bool wanted;      /* the next death is no failure: people asked for it */
};

/* Limits, in nanoseconds. */
#define CHILD_START_LIMIT INT64_C(10000000000)
#define CHILD_STOP_LIMIT INT64_C(1000000000) /* a stop with nothing to do */
#define CHILD_LEAVE_LIMIT                                                      \
    INT64_C(1000000000) /* from its link's end to its own */
#define CHILD_CORE_LIMIT INT64_C(5000000000) /* to write a core */
#define CHILD_HEALTHY INT64_C(60000000000)
#define CHILD_UNREADY_DEATHS 10

/*
 * Takes the event at time now; returns what to do.  A restart is at once after
 * a first death; while deaths repeat, the start before and the next are at
 * least 0.1 s apart, doubling to 10 s; a minute of health forgets them.  After
 * ten deaths in a row without READY it is given up.  A fresh start that people
 * asked for counts as no death.
 */
enum child_action child_step(struct child *child, enum child_event event,
                             int64_t now);

/* "down", "starting", ... */
const char *child_state_name(enum child_state state);

#endif
