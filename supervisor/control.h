/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_CONTROL_H
#define SUPERVISOR_CONTROL_H

#include "supervisor/plane.h"

/*
 * The control socket: people (mokkactl) ask and command, one COMMAND at a time
 * on each connection, and get STREAMs and one REPLY (PROTOCOL.md).  Whoever
 * runs as our own user or as root may; nobody else.  What a worker knows is
 * asked there, and nothing that is sent to people is queued without a limit.
 */

/* Listens; logs one line and returns NULL if that cannot be: the control plane
 * works without. */
struct control *control_new(struct supervisor *sup);

/* NULL is fine. */
void control_free(struct control *control);

/* Where it listens; "" if it does not. */
const char *control_where(const struct control *control);

/* A piece of an answer of that worker to question id. */
void control_answer(struct process *p, uint32_t id, bool last, bool ok,
                    struct str text);

/* A frame passed a tapped link between that worker and peer; lost: so many
 * before it could not be told. */
void control_tapped(struct process *p, int64_t peer, int64_t lost,
                    struct str text);

/* A worker's process is gone, or a new one is at work. */
void control_worker_died(struct process *p);
void control_worker_runs(struct process *p);

/* Whether somebody wants to run the next start of this worker; if so, control
 * goes to them. Returns the pid that will run it; -1 and err. */
bool control_borrows(const struct process *p);
pid_t control_lend(struct process *p, int control, struct err *err);

#endif
