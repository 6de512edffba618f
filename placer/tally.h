/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_TALLY_H
#define PLACER_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "placer/few.h"

struct object_rack;
struct object_slot;
struct placer;

/*
 * How far racks and their projections stand, counted for each rack and kept in
 * sum for each inventory and group, so that a rack that changed costs its own
 * slots (mokka-control 6.1).
 */

/* What keeps an inventory from being programmed, and, for messages, which racks
 * do. */
enum tally_cause {
    TALLY_RIVAL,    /* the name is somebody else's, or the spec was edited */
    TALLY_PENDING,  /* it is to be, and does not stand as declared */
    TALLY_BLOCKED,  /* somebody's keys block some Node of it */
    TALLY_WAITING,  /* some Node does not carry its assignment yet */
    TALLY_LEFTOVER, /* it stands, and is not to be */
    TALLY_CAUSES
};

struct tally_item {
    struct few_item item; /* first; named as the rack */
    const struct tally_rack *rack;
};

struct tally_rack {
    char *name;
    size_t inventory; /* SIZE_MAX: none */
    size_t group;     /* SIZE_MAX: none that is declared */
    int64_t bound;
    int64_t broken; /* slots bound to no uid, or with the index of another */
    int64_t gone;   /* of the bound: no such Node in the feed */
    int64_t projected, blocked;
    int64_t doubled; /* bound to another slot, too */
    bool own;        /* it stands, and is that inventory's */
    bool wanted;     /* it is to be */
    bool standing;   /* as rendered, and not being deleted */
    bool causes[TALLY_CAUSES];
    struct tally_item items[TALLY_CAUSES];
};

struct tally_group {
    int64_t allocated, projected;
};

/* Whether growth of an inventory waits (8.4), as found in this pass. */
enum tally_awaits { TALLY_UNKNOWN, TALLY_AWAITS, TALLY_FREE };

struct tally_inventory {
    enum tally_awaits awaits;
    struct tally_group *groups; /* as many as the plan's */
    int64_t blocked;            /* slots whose Node somebody's keys block */
    int64_t wanted, standing;
    struct few racks[TALLY_CAUSES]; /* struct tally_item */
    uint64_t silent; /* status.c: what its status, which stands, was made of */
};

struct tally {
    struct map racks; /* struct tally_rack by name */
    struct tally_inventory *inventories;
    size_t inventory_count;
    bool complete;     /* every rack was counted since tally_reset */
    uint64_t rendered; /* statuses of inventories put in words so far, for tests
                        * and figures */
};

/* Forgets all, and takes the inventories and groups of the placer's plan. */
void tally_reset(struct placer *p);

/* Counts that rack anew. NULL if it neither stands nor is to be. */
const struct tally_rack *tally_count(struct placer *p, const char *name);

/* Counts the racks that were not looked at yet since tally_reset, because
 * wishes were held back: sums of a part would be wrong. */
void tally_complete(struct placer *p);

/* Has an earlier slot of the rack the index of this one? */
bool tally_repeated(const struct object_rack *rack,
                    const struct object_slot *slot);

void tally_fini(struct tally *t);

#endif
