/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_TALLY_H
#define PLACER_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"

struct placer;

/*
 * How far racks and their projections stand, counted for each rack and kept in
 * sum for each inventory and group, so that a rack that changed costs its own
 * slots (mokka-control 6.1).
 */
struct tally_rack {
    char *name;
    size_t inventory; /* SIZE_MAX: none */
    size_t group;     /* SIZE_MAX: none that is declared */
    int64_t bound;
    int64_t gone; /* of the bound: no such Node in the feed */
    int64_t projected, blocked;
    int64_t doubled; /* bound to another slot, too */
    bool own;        /* it stands, and is that inventory's */
    bool wanted;     /* it is to be */
    bool standing;   /* as rendered, and not being deleted */
    bool rival;      /* the name is somebody else's, or the spec was edited */
};

struct tally_group {
    int64_t allocated, projected;
};

struct tally_inventory {
    struct tally_group *groups; /* as many as the plan's */
    int64_t blocked;            /* slots whose Node somebody's keys block */
    int64_t wanted, standing, rivals;
};

struct tally {
    struct map racks; /* struct tally_rack by name */
    struct tally_inventory *inventories;
    size_t inventory_count;
};

/* Forgets all, and takes the inventories and groups of the placer's plan. */
void tally_reset(struct placer *p);

/* Counts that rack anew. NULL if it neither stands nor is to be. */
const struct tally_rack *tally_count(struct placer *p, const char *name);

void tally_fini(struct tally *t);

#endif
