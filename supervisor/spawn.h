/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_SPAWN_H
#define SUPERVISOR_SPAWN_H

#include <limits.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * Starts the executable of a worker, by fork and exec, with one end of a new
 * socketpair as its descriptor 3; nothing else is inherited but the standard
 * streams, and it ends when this process does.  To be called by the main
 * thread.  Returns the pid and our end in *control; -1 and err.
 */
pid_t spawn_worker(const char *name, int *control, struct err *err);

/* Where it is: beside this program (a build tree), or in ../libexec/mokka. -1
 * and err. */
int spawn_locate(const char *name, char path[PATH_MAX], struct err *err);

/* Whether that executable is there; -1 and err say where it was looked for. */
int spawn_check(const char *name, struct err *err);

/* A connected pair of stream sockets, close-on-exec. */
int spawn_pair(int ends[2], struct err *err);

#endif
