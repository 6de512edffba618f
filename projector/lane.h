/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_LANE_H
#define PROJECTOR_LANE_H

#include "common/map.h"
#include "projector/intent.h"
#include "projector/line.h"

/*
 * The objects behind the table of intents, for intent.c alone: each is a lane
 * that holds its slots, is busy while one of them is in flight, rests after
 * failures, and otherwise waits in line for its turn.  What the slots mean to
 * their author is intent.c's.
 */

/* Actions on one object share a lane. */
#define LANE_SLOTS 2

struct intent_slot {
    struct lane *lane;
    enum action action;
    struct order *order; /* without an answer yet, or NULL */
    struct order *next;  /* came while order was in flight */
    bool in_flight;
    bool orphan;    /* in flight for an author who is gone */
    bool emptied;   /* in flight and withdrawn */
    bool named;     /* by the plan under way */
    int64_t due;    /* of order when not in flight */
    int64_t latest; /* bound of due, of a status */
    bool unsure;    /* had no answer, and was not carried out since */
    uint64_t turn;  /* which order of a lane came first */

    struct order *stands; /* carried out, and nothing was sent since */
    char *uid, *version;  /* what the last one carried out gave, or NULL */
};

struct lane {
    struct line_item item; /* in the line unless busy; must be first */
    struct line *line;     /* the one that it joined last */
    char *key;
    struct intent_slot *slots[LANE_SLOTS];
    bool busy;
    bool contested; /* what was last wanted of it ended in a conflict */
    unsigned failures;
    int64_t rest;  /* until then nothing is sent for it */
    bool at_fault; /* and that for the object's sake */
};

struct lanes {
    struct map by_key;
    struct line line;
    struct line behind; /* lanes with nothing but a passing status to write */
    unsigned ahead;     /* turns of the line while one behind was due */
    uint64_t turns;
    struct intents_counts counts; /* written is kept by intent.c */
};

void lanes_fini(struct lanes *lanes);

/* The slot for an action on the object of that name; if there is none, a new
 * one (to be followed by lanes_settle), or NULL unless make is set. */
struct intent_slot *lanes_slot(struct lanes *lanes, enum action action,
                               struct str name, bool make);

/* Walks the lanes as map_next does; lanes_settle is allowed on the way. */
struct lane *lanes_walk(const struct lanes *lanes, size_t *pos);

/* The object's name. */
struct str lane_name(const struct lane *lane);

/* Gives the slot that order; returns the one it had, now the caller's. Whether
 * an order waits or is in flight changes here only. */
struct order *lanes_set(struct lanes *lanes, struct intent_slot *s,
                        struct order *order, bool in_flight);

/* Puts the lane where it belongs after any change; frees what is empty of it,
 * slots and lane. */
void lanes_settle(struct lanes *lanes, struct lane *lane, int64_t now);

/* When the next turn is; INT64_MAX if nothing waits. */
int64_t lanes_due(const struct lanes *lanes);

/* The next slot that is due, now in flight and its lane busy; NULL: none is. */
struct intent_slot *lanes_next(struct lanes *lanes, int64_t now);

/* Whether that answer is for the object's sake, and not for the server's or
 * that of all. */
bool lane_is_at_fault(const struct answer *a);

/* Lets the lane rest, or forgets its failures, as that answer demands. */
void lane_count(struct lane *lane, const struct answer *a, int64_t now);

#endif
