/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_MEMORY_H
#define SUPERVISOR_MEMORY_H

#include <stdint.h>

#include "proto/role.h"

/*
 * Shares of the container's memory.  Past the container's limit the kernel ends
 * all of its processes at once; with a limit of its own for each worker, one
 * that grows ends alone.
 */

/* The lowest memory limit of the control groups of this process, in bytes; 0:
 * there is none.  root is "" (tests have another). */
int64_t memory_limit(const char *root);

/* How many processes of the control group the kernel has killed for memory so
 * far; 0, too, where that cannot be read. */
int64_t memory_kills(const char *root);

/* What a worker may have of that limit: a base that every process has, and its
 * percents (SANDBOX of topology.def) of the rest.  All of them and the
 * supervisor stay below the limit.  0: no limit, or too little to be shared. */
int64_t memory_share(int64_t limit, enum role role);

#endif
