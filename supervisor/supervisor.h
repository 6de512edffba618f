/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include "common/err.h"

struct options;

/*
 * The supervisor: keeps every worker of the topology running, wires them,
 * passes the term of leadership on, says whether the whole is ready, and stops
 * them in their turns.  It parses nothing that comes from outside the pod.
 *
 * Runs until SIGTERM, SIGINT or a failure that no restart can help; returns
 * the exit status, with the reason in err if it is not 0.
 */
int supervisor_run(const struct options *options, struct err *err);

#endif
