/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PENDING_H
#define PLACER_PENDING_H

#include "placer/placer.h"

/*
 * Writes of racks whose outcome the feed does not show yet.
 *
 * From the moment that a write is said, its rack counts as binding all that
 * stood before and all that was sent, and nothing else is asked of it, until
 * this is settled:
 *
 *  - What came of the write is told by its RESULT.  If none will come (the
 *    projector died, the term ended) RACK_LOOK asks: a live read, made after
 *    whatever had been sent has landed or never will.
 *  - Either tells a version.  Once the feed shows the rack at that version or
 *    later, or AS_OF says that it is gone by then, it shows what came of the
 *    write, and from then on the feed alone counts.  A write that was refused
 *    without a version is settled when the feed shows the rack later than it
 *    was written from.
 *
 * So a Node is never bound in a second place while a first one may still come
 * to light.  A placer that starts does not know what its predecessor sent; the
 * projector names those racks (WRITTEN), and no plan is made before they are
 * settled in the same way.  Of what a dead projector had sent for a placer that
 * died, too, racks tell that were listed since (placer_is_current).
 */
enum pending_state {
    PENDING_NONE, /* the feed shows how the rack is */
    PENDING_WAIT, /* a result or the feed will tell */
    PENDING_ASK,  /* nobody will tell unasked */
};

/* What a rack may bind while a write is pending; texts live in the arena. */
struct pending {
    char *rack; /* object name */
    struct object_ref inventory;
    struct arena arena;
    struct place_binding *bindings;
    bool *leaving; /* of each: the write takes it off */
    size_t count;
};

/* A write of a rack: nodes is an array indexed by slot. */
struct pending_write {
    const char *rack;
    struct place_binding where; /* what all bindings of the rack share */
    const struct object_ref *nodes;
    size_t count;
    const struct world_rack *have; /* that it is made from, or NULL */
};

/* It was said just now. */
void pending_begin(struct placer *p, const struct pending_write *w);

/* What the rack may bind, or NULL if it is what the feed shows. */
const struct pending *pending_of(const struct placer *p, const char *rack);

enum pending_state pending_look(const struct placer *p, const char *rack);

/* Asks what came of a write, if nobody will tell unasked. */
void pending_ask(struct placer *p, const char *rack);

/* A rack that was to be created and is wanted no more: the look takes the place
 * of the write, if that is not on its way yet. */
void pending_recall(struct placer *p, const char *rack);

/* Forgets what is settled. */
void pending_settle(struct placer *p, const char *rack);

/* The rack is gone from the feed: nothing that was made from it can come. */
void pending_gone(struct placer *p, const char *rack);

/* An entry of the projector's ledger; the texts are copied. */
void pending_note(struct placer *p, enum action action,
                  const struct target *target);

/* The ledger is complete: its entries count as wishes. */
void pending_noted(struct placer *p);

/* Settles what it names, asking where needed; true once all of it is. */
bool pending_ledger(struct placer *p);

void pending_fini(struct placer *p);

#endif
