/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLACER_H
#define PLACER_PLACER_H

#include "placer/alloc.h"
#include "placer/news.h"
#include "placer/plan.h"
#include "placer/project.h"
#include "placer/tally.h"
#include "placer/wish.h"
#include "placer/world.h"
#include "proto/moment.h"

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
    struct news news;
    struct map pending; /* struct pending by rack name (pending.h) */
    struct map noted;   /* of the projector's ledger, not settled yet */
    char *racks_as_of;  /* up to which version the feed shows racks, or NULL */
    struct map dirty;   /* names of racks that something happened to */
    struct map held;    /* of racks that wait to grow */
    struct map queue;   /* of racks to look at, in order */
    struct map parked;  /* of racks with wishes held back, see decide.c */
    struct map barred;  /* struct plan_bar by group (plan.h) */
    struct map told;    /* by Node: the conflict last warned of */
    struct map left;    /* names of Nodes that a rack binds no more */
    struct map strays;  /* names of Nodes that no rack binds any more */
    struct map cleaned; /* uids of Nodes outside the feed, found clean */
    struct map known;   /* uids of Nodes whose records are known to be newer
                           than what nobody here knows of (decide_node.c) */
    uint64_t term;      /* 0: not leading */
    uint64_t planned;   /* the term that the projector's link was opened in */
    uint64_t led;       /* the last term in which a plan was made */
    uint64_t ledger;    /* the projector's, by number; 0: none was said yet */
    uint64_t born;      /* the first that was said: what was written since is
                           known here, or to the ledger */
    struct moment current; /* the racks of the model are known to be newer */
    uint64_t examined;     /* racks looked at so far, for tests and figures */
    bool synced;           /* the feed's snapshot is complete */
    bool syncing;          /* between SYNC_BEGIN and SYNC_END */
    bool feeding;          /* in the middle of a sync or batch of the feed */
    bool rebuild;          /* everything derived is to be made anew */
    bool recharged;        /* capacity that stands has changed */
    unsigned starved;      /* a bit for each action of which wishes were held
                            * back in this pass: too many were open */
    bool linked;           /* the projector is there and has said its ledger */
    bool no_clique;        /* label nvidia.com/gpu.clique is somebody else's */
    bool shadow; /* what it says is not written: the log claims nothing */
    void (*send)(void *arg, uint16_t type, uint32_t id, struct str body);
    void *arg;
};

/* Where intents go; to be called once, before anything else. */
void placer_init(struct placer *p,
                 void (*send)(void *arg, uint16_t type, uint32_t id,
                              struct str body),
                 void *arg);
void placer_fini(struct placer *p);

/* What the options say that change what it says, a bit each: to be set before
 * anything else; a recording keeps it. */
enum { PLACER_NO_CLIQUE = 1 };
void placer_vary(struct placer *p, int64_t variant);
int64_t placer_variant(const struct placer *p);

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

/* The moment which the racks must be newer than before anything is written: the
 * informer is to be asked to refresh them.  Its term is 0: nothing is to be
 * asked. */
struct moment placer_asks(const struct placer *p);

/* Are the racks of the model newer than the term, and than all that was written
 * in it by who is not there any more? */
bool placer_is_current(const struct placer *p);

/* The rack of that name is to be looked at. */
void placer_touch(struct placer *p, const char *rack);

/* It waits, to grow say: the next pass looks at it (decide_held). */
void placer_hold(struct placer *p, const char *rack);

/* For decide: the next rack to look at, or NULL; it stays in the queue until
 * placer_looked takes it out.  Racks that were touched meanwhile come last. */
const char *placer_next(struct placer *p);
void placer_looked(struct placer *p, const char *rack);

/* The record of the Node of that uid is newer than all that nobody here knows
 * of; until no rack binds it any more. */
void placer_know(struct placer *p, struct str node);

/* A wish of that action had to be held back. */
void placer_starve(struct placer *p, enum action action);

/* It is looked at again when there is room for what was held back of it. */
void placer_park(struct placer *p, const char *rack);

/* What a slot puts on its Node, as project_wanted, by the options. */
struct projection placer_projection(const struct placer *p,
                                    const struct object_rack *rack,
                                    const struct object_slot *slot,
                                    struct arena *arena);

/* The same for one slot after the other, to be ended with projecting_end. */
void placer_projecting(const struct placer *p, struct projecting *x,
                       const struct object_rack *rack);

/* No rack binds a Node of that name any more: it may carry what one put there,
 * and decide looks. */
void placer_stray(struct placer *p, const char *node);

/* What may be bound in that rack has changed. */
void placer_rebind(struct placer *p, const char *rack);

/* A Node of that name may be bound by no rack any more. */
void placer_left(struct placer *p, const char *node);

#endif
