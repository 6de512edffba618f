/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLACER_H
#define PLACER_PLACER_H

#include "placer/alloc.h"
#include "placer/plan.h"
#include "placer/tally.h"
#include "placer/wish.h"
#include "placer/world.h"

/*
 * The placer as a function from frames to frames: the feed and the results come
 * in, intents go out, and nothing else has any influence.  main.c connects it
 * to the links; tests and replay connect it to recordings.
 *
 * Frames change the model and note which racks they touch; at the end of a
 * batch only those are looked at.  A change of a declaration (an inventory, a
 * profile, a verdict of admission) has everything derived made anew.
 */
struct placer {
    struct world world;
    struct plan plan;
    struct alloc alloc;
    struct tally tally;
    struct wishes wishes;
    struct map assumed; /* struct placer_assumed by rack name */
    struct map unseen;  /* struct placer_unseen by rack name */
    char *racks_as_of;  /* up to which version the feed shows racks, or NULL */
    char *racks_told;   /* the newest that a result told of since a write was
                         * lost, or NULL */
    bool lost;          /* what came of some write may never be told */
    struct map dirty;   /* names of racks that something happened to */
    struct map queue;   /* of racks to look at, in order */
    struct map left;    /* names of Nodes that a rack binds no more */
    struct map cleaned; /* uids of Nodes outside the feed, found clean */
    uint64_t term;      /* 0: not leading */
    uint64_t planned;   /* the term in which a plan was made and said */
    uint64_t examined;  /* racks looked at so far, for tests and figures */
    bool synced;        /* the feed's snapshot is complete */
    bool syncing;       /* between SYNC_BEGIN and SYNC_END */
    bool feeding;       /* in the middle of a sync or batch of the feed */
    bool rebuild;       /* everything derived is to be made anew */
    bool recharged;     /* capacity that stands has changed */
    bool starved;       /* wishes were held back: too many were open */
    bool linked;        /* the projector is there and has said its ledger */
    void (*send)(void *arg, uint16_t type, uint32_t id, struct str body);
    void *arg;
};

/*
 * What may be bound in a rack that was written and not seen since: what stood
 * before, and what was sent. All of it counts as bound, until the feed shows
 * the rack in a later version than the one that the write was made from; a
 * write changes that very version or nothing, so by then it has come or never
 * will, even if its answer was lost.
 */
struct placer_assumed {
    char *rack;  /* object name */
    char *basis; /* version; "" if there was no such rack */
    struct object_ref inventory;
    struct arena arena;
    struct place_binding *bindings;
    bool *leaving; /* of each: a write on its way takes it off */
    size_t count;
};

/* A write of a predecessor that the feed must show before a plan is made. */
struct placer_unseen {
    char *name, *version;
};

/* Where intents go; to be called once, before anything else. */
void placer_init(struct placer *p,
                 void (*send)(void *arg, uint16_t type, uint32_t id,
                              struct str body),
                 void *arg);
void placer_fini(struct placer *p);

/* A frame of the feed or of the projector. -1 and err if it breaks the
 * protocol. */
int placer_frame(struct placer *p, uint16_t type, uint32_t id,
                 const struct value *body, struct err *err);

/* The informer's link is gone. The model stands; a sync will follow. */
void placer_feed_lost(struct placer *p);

/* The projector's link is gone. Its successor's ledger will follow. */
void placer_projector_lost(struct placer *p);

void placer_term_began(struct placer *p, uint64_t term);
void placer_term_ended(struct placer *p);

/* The rack of that name is to be looked at. */
void placer_touch(struct placer *p, const char *rack);

/* For decide.c: the next rack to look at, or NULL; it stays in the queue until
 * placer_looked takes it out.  Racks that were touched meanwhile come last. */
const char *placer_next(struct placer *p);
void placer_looked(struct placer *p, const char *rack);

/* For decide.c: takes over what may be bound in a rack from now on, in place of
 * what was assumed before. */
void placer_assume(struct placer *p, struct placer_assumed *assumed);

/* What may be bound in that rack, or NULL if it is just what the feed shows. */
const struct placer_assumed *placer_assumed(const struct placer *p,
                                            const char *rack);

#endif
