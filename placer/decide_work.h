/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_DECIDE_WORK_H
#define PLACER_DECIDE_WORK_H

#include "placer/placer.h"

/* Inside of decide: what its files share. */

/* Says a wish, whose body it takes over; remembers if it had to be held back,
 * and is false then. */
bool decide_want(struct placer *p, enum action action,
                 const struct target *target, uint16_t type, struct buf *body);

/* Nothing is decided of that object now: what was carried out and stands, or
 * was refused of an older version, is no wish any more. */
void decide_drop_settled(struct placer *p, enum action action,
                         const struct object_meta *m);

struct target decide_target(const struct object_meta *m);

/* ---- decide_node.c ------------------------------------------------------ */

/* A durable binding that stays: its projection stands, or is applied.  x is of
 * the rack. */
void decide_projection(struct placer *p, const struct object_rack *rack,
                       const struct object_slot *slot, struct projecting *x);

/* A binding that is given up: true once nothing of it is on its Node, nor will
 * be.  decide_clean also sees to it that it becomes so. */
bool decide_is_clean(const struct placer *p, const struct object_rack *rack,
                     const struct object_slot *slot);
bool decide_clean(struct placer *p, const struct object_rack *rack,
                  const struct object_slot *slot);

/* The projection of a slot is not looked at now. */
void decide_leave_slot(struct placer *p, const struct object_slot *slot);

/* Nodes whose rack is gone, finalizer or not. One that is bound anew is its
 * rack's to clean.  Which clique it had nobody can say any more. */
void decide_strays(struct placer *p);

/* ---- decide_rack.c ------------------------------------------------------ */

/* Waiting Nodes that get a slot now, rack by rack: a run of them is one rack's.
 */
struct assigning {
    struct alloc_group *group;
    size_t next;  /* of the waiting Nodes */
    size_t count; /* that get a slot */
    int64_t at;   /* the coordinate of the next */
};

/* A rack that is to be: what is on its Nodes, and, unless something is in the
 * way, the write that makes it so.  assigning, unless NULL, gives it Nodes that
 * wait, and is moved on behind them. */
void decide_rack(struct placer *p, const struct plan_rack *rack,
                 struct assigning *assigning);

/* A write of that rack is under way. */
bool decide_is_busy(const struct placer *p, struct str rack);

/* ---- decide_other.c ----------------------------------------------------- */

/* A rack that is not (or not any more) one of those that are to be. */
void decide_other(struct placer *p, const char *name);

/* Capacity is released before it is claimed (mokka-api 8.4): whether the rack
 * has to wait for that; it is looked at again when the last cleanup is done. */
bool decide_waits_to_grow(struct placer *p, const struct plan_rack *rack,
                          const struct world_rack *have);

#endif
