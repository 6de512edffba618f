/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLACER_H
#define PLACER_PLACER_H

#include "placer/plan.h"
#include "placer/wish.h"
#include "placer/world.h"

/*
 * The placer as a function from frames to frames: the feed and the results come
 * in, intents go out, and nothing else has any influence.  main.c connects it
 * to the links; tests and replay connect it to recordings.
 */
struct placer {
    struct world world;
    struct plan plan;
    struct wishes wishes;
    struct map assumed;    /* struct plan_assumed by rack name */
    struct map unseen;     /* struct placer_unseen by rack name */
    struct map duplicates; /* by Node uid: conflicts of doubly bound Nodes */
    uint64_t term;         /* 0: not leading */
    uint64_t planned;      /* the term in which a plan was made and said */
    bool synced;           /* the feed's snapshot is complete */
    bool syncing;          /* between SYNC_BEGIN and SYNC_END */
    bool feeding;          /* in the middle of a sync or batch of the feed */
    bool stale;            /* the model changed since the plan was made */
    bool starved;          /* wishes were held back: too many were open */
    bool linked;           /* the projector is there and has said its ledger */
};

/* A write of a predecessor that the feed must show before a plan is made. */
struct placer_unseen {
    char *name, *uid, *version;
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

/* The informer's link is new (its sync follows), or gone. The model stands. */
void placer_feed_lost(struct placer *p);

/* The projector's link is new (its ledger follows), or gone. */
void placer_projector_lost(struct placer *p);

void placer_term_began(struct placer *p, uint64_t term);
void placer_term_ended(struct placer *p);

#endif
