/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_WATCHDOG_H
#define SUPERVISOR_WATCHDOG_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Who has to answer pings, and does not.  It is reckoned in beats of the
 * supervisor's own timer, not in time: when the supervisor itself was stopped,
 * or the machine slept, no worker is found silent for it.  A zeroed one is that
 * of a fresh worker.
 */
#define WATCHDOG_BEAT 1     /* seconds from ping to ping */
#define WATCHDOG_SILENCE 15 /* beats without an answer that are too many */

struct watchdog {
    unsigned missed; /* beats since the last answer */
};

enum watchdog_verdict {
    WATCHDOG_PING,  /* it is to be asked */
    WATCHDOG_WAIT,  /* it owes an answer */
    WATCHDOG_SILENT /* it is to be aborted */
};

/* A beat. excused: it need not answer now (a debugger has it, or people hold
 * it). */
enum watchdog_verdict watchdog_beat(struct watchdog *w, bool excused);

/* It answered. */
void watchdog_heard(struct watchdog *w);

/* Whether a debugger holds that process: somebody traces it, or, if the tracer
 * is not visible from here (it sits in an outer pid namespace), it is in a
 * tracing stop. status is the text of /proc/PID/status. */
bool watchdog_traced_by(const char *status);

/* The same of a process; false if there is none. */
bool watchdog_traced(pid_t pid);

#endif
