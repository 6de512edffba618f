/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_ADMIT_H
#define PLACER_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "placer/capacity.h"
#include "proto/object.h"

/*
 * Which inventories may use the cluster's envelope (mokka-api 8.2, 8.3): a pure
 * function of all of them together.
 */
enum admit_decision {
    ADMIT_ACCEPTED,
    ADMIT_PENDING, /* admitted, but may not grow yet: write nothing */
    ADMIT_REJECTED,
    ADMIT_ASIDE, /* not a question: without uid, deleting, or invalid by itself
                  * (or larger than the envelope by itself) */
    ADMIT_COUNT
};

const char *admit_name(enum admit_decision decision);

struct admit_inventory {
    struct object_ref ref;
    int64_t created;
    bool deleting;
    int64_t declared; /* groups in the spec, valid or not */
    bool valid;       /* passes 6.1, the count sum, the resolved capacity 6.3 */
    bool resolved;    /* at least one group resolved and rendered */
    struct capacity desired;  /* sum of the resolved groups */
    struct capacity existing; /* all its racks that count as owned (7.4) */
    struct capacity kept;     /* those of them in groups now unresolved */
};

struct admit_verdict {
    enum admit_decision decision;
    bool budgeted; /* inside the group budget, whatever the decision: its
                    * selectors count for routing and status */
};

/*
 * Writes a verdict for each inventory, at the same index.  total is the
 * capacity of all racks that count as owned, also of inventories that are no
 * more.  The order of the array does not matter.  n log n.
 */
void admit(const struct admit_inventory *inventories, size_t count,
           struct capacity total, struct admit_verdict *verdicts);

/* The order of admission: creation, name, uid. <0, 0, >0. */
int admit_cmp(const struct admit_inventory *a, const struct admit_inventory *b);

/* Why an inventory was rejected, for its status: names it, both limits and the
 * rule. */
void admit_explain(const struct admit_inventory *v, struct err *why);

#endif
