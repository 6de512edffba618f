/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_CRASH_REPORT_H
#define SUPERVISOR_CRASH_REPORT_H

#include <stdint.h>
#include <sys/types.h>

#include "common/trace.h"

/* What is known of a death beside what the dead left; "" or 0: nothing. */
struct crash {
    const char *worker;
    uint64_t generation;
    pid_t pid;
    const char *cause;         /* "signal 9 (Killed)" */
    const char *killer;        /* why we killed it, or that the kernel did */
    int64_t peak, limit;       /* memory, in bytes */
    const struct trace *trace; /* or NULL */
};

/*
 * Writes to the log what is known of a worker's death, and nothing that is
 * empty: who ended it, its memory, and what it left in its trace: the signal
 * and the place of its crash, if it noted one (docs/debugging.md says how to
 * get from there to the line of code), and the last frames of its links.
 */
void crash_report(const struct crash *death);

#endif
