/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_PROCESS_H
#define SUPERVISOR_PROCESS_H

#include "supervisor/plane.h"

/*
 * The life of each worker: what child.c decides is done here.
 */

/* Whether every worker's executable is there. -1 and err. */
int process_check_programs(struct err *err);

/* The first starts are due at once. */
void process_start_all(struct supervisor *sup);

/* It waits before its work at its next start, and the watchdog leaves it alone;
 * or no longer. */
void process_hold(struct process *p, bool hold);

/* The watchdog's beat: who is silent for too long is aborted. */
void process_beat(struct supervisor *sup);

/* Something happened to it. */
void process_step(struct process *p, enum child_event event);

/* A process that is nobody's, or one of the workers', has ended with that
 * status of waitpid, and had so many bytes of memory at most. */
void process_reaped(struct supervisor *sup, pid_t pid, int status,
                    int64_t peak);

/* Nobody outlives the supervisor; whoever is left is ended and reaped. */
void process_end_all(struct supervisor *sup);

#endif
