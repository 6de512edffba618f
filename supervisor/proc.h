/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_PROC_H
#define SUPERVISOR_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the kernel tells of a process. */

/* The text of /proc/PID/NAME, as much as fits. false if there is no such
 * process. */
bool proc_read(pid_t pid, const char *name, char *text, size_t size);

struct proc_usage {
    int64_t cpu;      /* nanoseconds, in steps of the kernel's clock tick */
    int64_t resident; /* bytes */
};

/* false if there is no such process. */
bool proc_usage(pid_t pid, struct proc_usage *usage);

#endif
