/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_SPAWN_H
#define SUPERVISOR_SPAWN_H

#include <sys/types.h>

#include "common/err.h"

/*
 * Starts the executable of a worker, by fork and exec, with one end of a new
 * socketpair as its descriptor 3; nothing else is inherited but the standard
 * streams.  It is looked for beside this program (a build tree), then in
 * ../libexec/mokka.  Returns the pid and our end in *control; -1 and err.
 */
pid_t spawn_worker(const char *name, int *control, struct err *err);

/* Whether that executable is there; -1 and err say where it was looked for. */
int spawn_check(const char *name, struct err *err);

/* A connected pair of stream sockets, close-on-exec. */
int spawn_pair(int ends[2], struct err *err);

#endif
