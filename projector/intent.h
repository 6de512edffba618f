/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_INTENT_H
#define PROJECTOR_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "projector/order.h"

/*
 * What is wanted, what is being sent and what was carried out: one slot for
 * each action on each object, without any I/O and with the time passed in.
 *
 *  - The latest intent for a slot wins. One that is in flight is finished
 *    first; replaced or withdrawn in the meantime, it gets no reply.
 *  - What was carried out stays in its slot, with uid and version, until it is
 *    withdrawn. The same content, wanted by somebody whose target is no newer
 *    than that version, is done already and gets its reply at once.
 *  - An object has at most one request in flight, whatever the actions; objects
 *    take turns, first come first served.  The status of a rack whose Nodes are
 *    being projected comes after all else that waits, but for every thousandth
 *    turn: each of them changes it, so that one written before them is written
 *    again.
 *  - A failure that may pass puts the intent back: the object rests 5 ms, and
 *    twice as long each further time, up to 1000 s (30 s if the trouble is the
 *    server's). What is done or refused for good resets that. An outdated
 *    intent counts as a failure, too: whoever decides on old news again and
 *    again is slowed down.
 *  - What was carried out and is wanted again soon, unchanged, rests likewise
 *    (again.h): somebody else changes it each time.
 *  - What an object itself stands in the way of, so that it rests a second or
 *    more, is told to the author once (reply.resting): that intent is not going
 *    to end soon.
 *  - A status waits until its author was quiet for a while, but not for ever.
 */
struct intents;
struct intent_slot;

struct intents_pace {
    int64_t debounce; /* quiet time before a status is sent, nanoseconds */
    int64_t progress; /* the longest that a status waits for quiet */
};

struct intents *intents_new(const struct intents_pace *pace);

/* NULL is fine. */
void intents_free(struct intents *t);

/* What to tell the author of intent id. The texts of result live until the
 * next call for the table. */
struct reply {
    uint32_t id;
    bool resting; /* it is no result: the intent rests; of result, only action
                   * and name count */
    struct result result;
};

/* Takes over the order. True: it is done already, or rests, and reply says so.
 */
bool intents_accept(struct intents *t, struct order *order, int64_t now,
                    struct reply *reply);

/* Empties a slot. */
void intents_withdraw(struct intents *t, enum action action, struct str name,
                      int64_t now);

/* A plan names all that is wanted: what was not accepted between the two is
 * dropped. -1 and err if they do not come in turn. */
int intents_plan_begin(struct intents *t, int64_t now, struct err *err);
int intents_plan_end(struct intents *t, int64_t now, struct err *err);

/* The author is gone: what is not in flight yet is dropped, what is gets no
 * reply and no second try. What was carried out, or may have been, stays. */
void intents_orphan(struct intents *t, int64_t now);

/* Nothing is in flight: what was carried out is known. */
bool intents_settled(const struct intents *t);

/* Calls visit for all that was carried out and not withdrawn; without a version
 * for what had no answer and was not carried out since. The texts live until
 * the slot changes.
 */
void intents_each_written(const struct intents *t,
                          void (*visit)(void *arg, enum action action,
                                        const struct target *target),
                          void *arg);

/* A slot as others may look at it; what is not there is NULL or 0. */
struct intent_view {
    const char *name;
    enum action action;
    const struct order *order; /* wanted or in flight */
    bool in_flight;
    const char *version; /* of what was carried out */
    unsigned failures;   /* of the object, in a row */
    int64_t due;         /* of what is wanted: clock_now() */
};

/* Calls visit for every slot, in no order. */
void intents_each(const struct intents *t,
                  void (*visit)(void *arg, const struct intent_view *view),
                  void *arg);

/* The next slot whose intent may be sent, now in flight; NULL: none is due. */
struct intent_slot *intents_next(struct intents *t, int64_t now);

/* Of a slot in flight. */
const struct order *intent_slot_order(const struct intent_slot *slot);
unsigned intent_slot_failures(const struct intent_slot *slot);
/* So often in a row the same was carried out before. */
unsigned intent_slot_repeats(const struct intent_slot *slot);
/* What was last wanted of the object ended in a conflict. */
bool intent_slot_contested(const struct intent_slot *slot);
/* Its last attempt ended so (struct answer). */
bool intent_slot_kept(const struct intent_slot *slot);

/* How sending ended. */
enum verdict {
    VERDICT_ENDED,  /* with an outcome */
    VERDICT_FAILED, /* without one; it is to be tried again */
    VERDICT_HELD    /* broken off, nobody's failure */
};

struct answer {
    enum verdict verdict;
    enum outcome outcome;    /* these three of VERDICT_ENDED */
    struct str uid, version; /* of the object as it is now, or empty */
    struct str reason;       /* of either, one line for people */
    bool pretended;          /* nothing was sent that changes anything */
    int64_t retry_after;     /* of VERDICT_FAILED: at least so long */
    bool server;             /* of VERDICT_FAILED: the server is in trouble,
                                whatever the object */
    bool denied;             /* of VERDICT_FAILED: a right is missing,
                                whatever the object */
    bool lost;               /* of VERDICT_FAILED: no answer came at all */
    bool kept;               /* of VERDICT_FAILED: others keep what was to go;
                                the next attempt is told */
};

/* The slot in flight is answered; it must not be used any more. True: reply
 * is to be sent. */
bool intents_finish(struct intents *t, struct intent_slot *slot,
                    const struct answer *answer, int64_t now,
                    struct reply *reply);

/* What stood in the way of many is over: no object rests any longer. */
void intents_hurry(struct intents *t, int64_t now);

/* When intents_next should be asked again; INT64_MAX: not before something
 * else happens. In the past if something is due. */
int64_t intents_due(const struct intents *t);

struct intents_counts {
    size_t in_flight;
    size_t queued;  /* wanted and not in flight */
    size_t written; /* carried out, not withdrawn */
};
struct intents_counts intents_counts(const struct intents *t);

/* So many times in a row the same has to be carried out on an object before
 * others are taken to change it. */
#define INTENTS_CONTESTED 4

/* Objects of which that holds now. */
size_t intents_contested(const struct intents *t, int64_t now);

#endif
