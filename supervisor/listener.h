/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_LISTENER_H
#define SUPERVISOR_LISTENER_H

#include "common/err.h"

/*
 * The listening socket of probes and metrics.  The supervisor opens it and
 * hands it to each start of web, so that a restart refuses no connection.
 */

/* Whether address is host:port, [v6]:port or :port; -1 and err say what not. */
int listener_check(const char *address, struct err *err);

/* Listens there (port 0: any free one); returns the descriptor and writes the
 * address with its real port to actual (of size bytes). -1 and err. */
int listener_open(const char *address, char *actual, unsigned size,
                  struct err *err);

#endif
