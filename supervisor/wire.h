/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_WIRE_H
#define SUPERVISOR_WIRE_H

#include "supervisor/plane.h"

/*
 * What the supervisor sends to workers: at their start, everything that they
 * need; later, what concerns several.
 */

/* CONFIG, grants, links, START, and what it must know that starts in the
 * middle of things. */
void wire_worker(struct process *p);

/* What a worker that stops was granted is given to nobody any more; a listener
 * that stayed open here would keep clients waiting. */
void wire_close_grants(const struct process *p);

/* Whether it can be sent messages of its work. */
bool wire_up(const struct process *p);

/* Whether a message of that type is for it. */
bool wire_hears(const struct process *p, uint16_t type);

/* Sends a message to every wired worker that may get it. */
void wire_broadcast(struct supervisor *sup, uint16_t type, struct str body);

/* The body of TERM_BEGAN. */
void wire_pack_term(struct buf *out, uint64_t term);

/* Whether the topology grants it to that worker. */
bool wire_grants(enum role role, enum resource resource);

/* Whether the topology links the two; and that worker to any. */
bool wire_linked(enum role role, int64_t peer);
bool wire_has_links(enum role role);

#endif
