/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_CAPACITY_H
#define PLACER_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/* Arithmetic of capacities (mokka-api 8.1): signed 64-bit, checked. */
struct capacity {
    int64_t racks, nodes, gpus;
};

/* count racks of nodes_per_rack Nodes of gpus GPUs. -1 and err, which names
 * the group, on a negative operand or an overflow; *c is then zero. */
int capacity_group(struct capacity *c, struct str group, int64_t count,
                   int64_t nodes_per_rack, int64_t gpus, struct err *err);

/* Adds more to *sum. -1 and err on a negative operand or an overflow; *sum is
 * then as it was. */
int capacity_add(struct capacity *sum, struct capacity more, struct err *err);

/* Takes away; no checks: for what was added before. */
void capacity_sub(struct capacity *sum, struct capacity less);

/* 0 if the control plane supports it; else -1 and err, which names the member,
 * its value and the limit. NULL err: the answer only. */
int capacity_check(struct capacity c, struct err *err);

/* Does a exceed b in any member? */
bool capacity_exceeds(struct capacity a, struct capacity b);

#endif
