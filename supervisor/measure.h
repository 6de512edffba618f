/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_MEASURE_H
#define SUPERVISOR_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/role.h"

struct metrics;

/* What the supervisor knows of one process, itself included. */
struct measured {
    enum role role;
    pid_t pid;           /* 0: there is none */
    uint64_t generation; /* of the last start */
    int64_t started;     /* wall time of that, nanoseconds */
    bool up;             /* it has got ready */
};

/* Sets what is known, and what /proc tells of a process that is there. */
void measure_process(struct metrics *m, const struct measured *p);

#endif
