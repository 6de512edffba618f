/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_STATUS_WORK_H
#define PLACER_STATUS_WORK_H

#include "placer/placer.h"

/* Inside of status: what its files share. */

/* What the status of one inventory says in numbers (mokka-control 6.1). */
struct usage {
    int64_t requested, allocated, available, pending;
};

struct numbers {
    const struct plan_inventory *inventory;
    size_t number; /* of it in the plan */
    const struct tally_inventory *tally;
    struct usage *groups; /* as many as the inventory has */
    struct usage sum;
    struct capacity capacity;
    int64_t projected; /* of the allocated slots */
    int64_t conflicts; /* Nodes in conflict that it is named in */
    int64_t twins;     /* Nodes left out since another has their uid */
};

/* Fills *n for inventory i of the plan, to be given back. */
void status_numbers(struct numbers *n, const struct placer *p, size_t i);
void status_numbers_fini(struct numbers *n);

/*
 * Texts of conditions: what is wrong, how much of it, who is at fault, and what
 * to do, for whoever reads kubectl describe.  They name FEW_TOLD culprits at
 * most and count the others, and depend on nothing but the model, so that the
 * same state gives the same text.  Each is appended.
 *
 * The first clause, up to the semicolon, of a condition that is True has no
 * numbers: by it a text is known as ours.
 */
#define STATUS_TEXT_MAX 2000 /* bytes; what is longer is cut */

/* ResolvedRefs False. */
void status_say_issues(struct buf *out, const struct numbers *n);
/* Programmed False, by its reasons, and True. */
void status_say_unresolved(struct buf *out, const struct numbers *n);
void status_say_rivals(struct buf *out, const struct placer *p,
                       const struct numbers *n);
void status_say_pending(struct buf *out, const struct placer *p,
                        const struct numbers *n);
void status_say_blocked(struct buf *out, const struct placer *p,
                        const struct numbers *n);
void status_say_unprojected(struct buf *out, const struct placer *p,
                            const struct numbers *n);
void status_say_programmed(struct buf *out, const struct placer *p,
                           const struct numbers *n);
/* RequestsSatisfied False, by its reasons, and True. */
void status_say_conflicts(struct buf *out, const struct placer *p,
                          const struct numbers *n);
void status_say_waiting(struct buf *out, const struct placer *p,
                        const struct numbers *n);
void status_say_satisfied(struct buf *out, const struct numbers *n);

/* Pieces of texts: "1 Node", "2 Nodes"; " and 2 more" of a list of that total;
 * a text of so many bytes at most, cut between characters. */
void status_add_count(struct buf *out, int64_t n, const char *what);
void status_add_more(struct buf *out, size_t told, int64_t total);
void status_add_cut(struct buf *out, struct str text, size_t width);

/* What is wrong with slots of a rack. */
enum status_slot_fault {
    STATUS_DOUBLED, /* its Node is bound elsewhere, too */
    STATUS_BROKEN,  /* no uid, or the index of another slot */
    STATUS_GONE,    /* no such Node in the feed */
    STATUS_BLOCKED, /* somebody's keys are in the way */
    STATUS_WAITING, /* the Node does not carry its assignment */
};

/* Appends the slots with that fault, FEW_TOLD at most of which *told are told
 * already; returns how many there are. */
int64_t status_add_slots(struct buf *out, const struct placer *p,
                         const struct world_rack *r,
                         enum status_slot_fault fault, size_t *told);

/* Of a rack that is to go: says so, and which rack has its place, after a
 * semicolon. */
void status_say_leftover(struct buf *out, const struct placer *p,
                         const struct object_rack *rack);

/* The rack that is to be at the coordinate that a rack which is not to be
 * names, or NULL. */
const struct plan_rack *status_rightful(const struct placer *p,
                                        const struct object_rack *rack);

/* The binding of a Node that follows last (NULL: the first) by rack and slot.
 */
const struct alloc_binding *
status_next_binding(const struct alloc_node *n,
                    const struct alloc_binding *last);

#endif
