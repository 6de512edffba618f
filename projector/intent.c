/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/intent.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/sip.h"
#include "projector/again.h"
#include "projector/lane.h"

#define RESTING CLOCK_SECOND /* a rest as long as that is told */

struct intents {
    struct intents_pace pace;
    struct lanes lanes;
    struct again again;
    struct sip seed; /* of the objects in it */
    bool planning;
    struct arena told; /* texts of the last reply */
};

struct intents *
intents_new(const struct intents_pace *pace)
{
    struct intents *t = mem_zalloc(sizeof(*t));

    t->pace = *pace;
    t->seed = sip_seed();
    return t;
}

void
intents_free(struct intents *t)
{
    if (t == NULL)
        return;
    lanes_fini(&t->lanes);
    again_fini(&t->again);
    arena_fini(&t->told);
    free(t);
}

static uint64_t
object_of(const struct intents *t, const struct intent_slot *s)
{
    struct str name = lane_name(s->lane);

    return sip_hash(&t->seed, name.s, name.n) ^ (uint64_t)s->action;
}

static void
forget_written(struct intents *t, struct intent_slot *s)
{
    s->unsure = false;
    if (s->version == NULL)
        return;
    free(s->stands);
    free(s->uid);
    free(s->version);
    s->stands = NULL;
    s->uid = s->version = NULL;
    t->lanes.counts.written--;
}

static void
remember_written(struct intents *t, struct intent_slot *s,
                 const struct answer *a, struct order *order)
{
    forget_written(t, s);
    s->stands = order;
    s->uid = mem_dup(a->uid.s, a->uid.n);
    s->version = mem_dup(a->version.s, a->version.n);
    t->lanes.counts.written++;
}

/* The reply to the author of intent id, in texts of our own. */
static bool
tell(struct intents *t, struct reply *reply, uint32_t id,
     const struct intent_slot *s, const struct answer *a)
{
    arena_fini(&t->told);
    reply->id = id;
    reply->resting = false;
    reply->result = (struct result){
        .action = s->action,
        .outcome = a->outcome,
        .name = arena_str(&t->told, lane_name(s->lane)),
        .uid = arena_str(&t->told, a->uid),
        .version = arena_str(&t->told, a->version),
        .reason = arena_str(&t->told, a->reason),
    };
    return true;
}

/* What the order wants stands already, in a version that its author has not
 * seen, or has seen before our answer: the feed may be faster. */
static bool
stands_already(const struct intent_slot *s, const struct order *order)
{
    const struct order *stands = s->stands;

    return stands != NULL && order_same(stands, order) &&
           (str_eq(order->target.uid, stands->target.uid) ||
            str_is(order->target.uid, s->uid)) &&
           version_cmp(order->target.version, str_of(s->version)) <= 0;
}

static bool
is_status(enum action action)
{
    return action == ACTION_INVENTORY_STATUS || action == ACTION_RACK_STATUS;
}

/* A status waits for quiet, anything else is due at once. */
static void
set_due(const struct intents *t, struct intent_slot *s, bool first, int64_t now)
{
    if (!is_status(s->action)) {
        s->due = now;
        return;
    }
    if (first)
        s->latest = now + t->pace.progress;
    if (first || s->due > now)
        s->due = now + t->pace.debounce;
    if (s->due > s->latest)
        s->due = s->latest;
}

/* The author is to hear, once, that what is wanted rests for its object's sake
 * and not the server's. */
static bool
tell_resting(struct intents *t, struct reply *reply, struct intent_slot *s,
             struct order *order, int64_t rest)
{
    if (order->rests || rest < RESTING)
        return false;
    order->rests = true;
    tell(t, reply, order->id, s, &(struct answer){0});
    reply->resting = true;
    return true;
}

/* What was carried out already, and does not stand for others' sake, waits; and
 * so does what comes while the object rests. */
static bool
rest(struct intents *t, struct intent_slot *s, struct order *order, int64_t now,
     struct reply *reply)
{
    struct again_look look =
        order->essence == 0
            ? (struct again_look){0}
            : again_look(&t->again, object_of(t, s), order->essence, now);
    int64_t until = look.due;

    order->repeats = look.times;
    if (look.due > s->due)
        s->due = look.due;
    if (s->lane->at_fault && s->lane->rest > until)
        until = s->lane->rest;
    return tell_resting(t, reply, s, order, until - now);
}

/* Gives the order to a slot with nothing in flight. True: reply it is. */
static bool
want(struct intents *t, struct intent_slot *s, struct order *order, int64_t now,
     struct reply *reply)
{
    bool told;

    if (stands_already(s, order)) {
        struct answer a = {.outcome = OUTCOME_DONE,
                           .uid = str_of(s->uid),
                           .version = str_of(s->version)};

        told = tell(t, reply, order->id, s, &a);
        free(order);
        order = NULL;
    } else {
        told = rest(t, s, order, now, reply);
        if (s->order == NULL)
            s->turn = t->lanes.turns++;
    }
    free(lanes_set(&t->lanes, s, order, false));
    return told;
}

bool
intents_accept(struct intents *t, struct order *order, int64_t now,
               struct reply *reply)
{
    struct intent_slot *s =
        lanes_slot(&t->lanes, order->action, order->target.name, true);
    bool first = s->in_flight ? s->next == NULL : s->order == NULL;
    bool told = false;

    s->named = true;
    s->emptied = false;
    set_due(t, s, first, now);
    if (s->in_flight) {
        free(s->next);
        s->next = order;
    } else {
        told = want(t, s, order, now, reply);
    }
    lanes_settle(&t->lanes, s->lane, now);
    return told;
}

/* Empties a slot, or has it emptied once answered. */
static void
empty(struct intents *t, struct intent_slot *s)
{
    free(s->next);
    s->next = NULL;
    if (s->in_flight) {
        s->emptied = true;
        return;
    }
    free(lanes_set(&t->lanes, s, NULL, false));
    forget_written(t, s);
}

void
intents_withdraw(struct intents *t, enum action action, struct str name,
                 int64_t now)
{
    struct intent_slot *s = lanes_slot(&t->lanes, action, name, false);

    if (s == NULL)
        return;
    empty(t, s);
    lanes_settle(&t->lanes, s->lane, now);
}

/* Calls visit for every slot; it may end with the lane being freed. */
static void
each_slot(struct intents *t, int64_t now,
          void (*visit)(struct intents *t, struct intent_slot *s))
{
    struct lane *lane;
    size_t pos = 0;

    while ((lane = lanes_walk(&t->lanes, &pos)) != NULL) {
        for (unsigned i = 0; i < LANE_SLOTS; i++)
            if (lane->slots[i] != NULL)
                visit(t, lane->slots[i]);
        lanes_settle(&t->lanes, lane, now);
    }
}

static void
unname(struct intents *t, struct intent_slot *s)
{
    (void)t;
    s->named = false;
}

int
intents_plan_begin(struct intents *t, int64_t now, struct err *err)
{
    if (t->planning)
        return err_set(err, "a plan begins within a plan");
    t->planning = true;
    each_slot(t, now, unname);
    return 0;
}

/* Nobody waits for its order any more. What was carried out, or may have been,
 * stays known. */
static void
orphan(struct intents *t, struct intent_slot *s)
{
    free(s->next);
    s->next = NULL;
    if (s->in_flight)
        s->orphan = true;
    else
        free(lanes_set(&t->lanes, s, NULL, false));
}

static void
sweep(struct intents *t, struct intent_slot *s)
{
    if (!s->named)
        orphan(t, s);
}

int
intents_plan_end(struct intents *t, int64_t now, struct err *err)
{
    if (!t->planning)
        return err_set(err, "a plan ends that did not begin");
    t->planning = false;
    each_slot(t, now, sweep);
    return 0;
}

void
intents_orphan(struct intents *t, int64_t now)
{
    t->planning = false;
    each_slot(t, now, orphan);
}

bool
intents_settled(const struct intents *t)
{
    return t->lanes.counts.in_flight == 0;
}

void
intents_each_written(const struct intents *t,
                     void (*visit)(void *arg, enum action action,
                                   const struct target *target),
                     void *arg)
{
    const struct lane *lane;
    size_t pos = 0;

    while ((lane = lanes_walk(&t->lanes, &pos)) != NULL)
        for (unsigned i = 0; i < LANE_SLOTS; i++) {
            const struct intent_slot *s = lane->slots[i];

            if (s != NULL && (s->unsure || s->version != NULL))
                visit(arg, s->action,
                      &(struct target){lane_name(lane),
                                       str_of(s->unsure ? "" : s->uid),
                                       str_of(s->unsure ? "" : s->version)});
        }
}

void
intents_each(const struct intents *t,
             void (*visit)(void *arg, const struct intent_view *view),
             void *arg)
{
    const struct lane *lane;
    size_t pos = 0;

    while ((lane = lanes_walk(&t->lanes, &pos)) != NULL)
        for (unsigned i = 0; i < LANE_SLOTS; i++) {
            const struct intent_slot *s = lane->slots[i];

            if (s != NULL)
                visit(arg, &(struct intent_view){
                               .name = lane_name(lane).s,
                               .action = s->action,
                               .order = s->order,
                               .in_flight = s->in_flight,
                               .version = s->version,
                               .failures = lane->failures,
                               .due = s->due,
                           });
        }
}

struct intent_slot *
intents_next(struct intents *t, int64_t now)
{
    struct intent_slot *s = lanes_next(&t->lanes, now);

    /* Until it is answered nobody knows what stands. */
    if (s != NULL) {
        free(s->stands);
        s->stands = NULL;
    }
    return s;
}

const struct order *
intent_slot_order(const struct intent_slot *slot)
{
    return slot->order;
}

unsigned
intent_slot_failures(const struct intent_slot *slot)
{
    return slot->lane->failures;
}

unsigned
intent_slot_repeats(const struct intent_slot *slot)
{
    return slot->order->repeats;
}

bool
intent_slot_contested(const struct intent_slot *slot)
{
    return slot->lane->contested;
}

bool
intent_slot_kept(const struct intent_slot *slot)
{
    return slot->order->kept;
}

/* The order in flight comes out of it: wanted again, carried out or over. */
static void
land(struct intents *t, struct intent_slot *s, const struct answer *a,
     bool again, int64_t now)
{
    struct order *order = lanes_set(&t->lanes, s, NULL, false);

    /* A later refusal does not tell: it may be due to this very try. */
    if (a->verdict != VERDICT_ENDED && !a->pretended)
        s->unsure = true;
    if (again) {
        s->due = now;
        order->kept |= a->kept;
        lanes_set(&t->lanes, s, order, false);
    } else if (a->verdict == VERDICT_ENDED && a->outcome == OUTCOME_DONE &&
               !a->pretended) {
        if (order->essence != 0)
            again_done(&t->again, object_of(t, s), order->essence, now);
        remember_written(t, s, a, order);
    } else {
        free(order);
    }
    if (s->emptied)
        forget_written(t, s);
    s->orphan = s->emptied = false;
}

bool
intents_finish(struct intents *t, struct intent_slot *s, const struct answer *a,
               int64_t now, struct reply *reply)
{
    struct lane *lane = s->lane;
    struct order *next = s->next;
    bool current = next == NULL && !s->orphan && !s->emptied;
    bool replied = current && a->verdict == VERDICT_ENDED;
    bool told;

    if (replied)
        tell(t, reply, s->order->id, s, a);
    lane->busy = false;
    lane_count(lane, a, now);
    told = replied ||
           (current && a->verdict == VERDICT_FAILED && lane_is_at_fault(a) &&
            tell_resting(t, reply, s, s->order, lane->rest - now));
    land(t, s, a, current && !replied, now);
    if (next != NULL) {
        s->next = NULL;
        told = want(t, s, next, now, reply);
    }
    lanes_settle(&t->lanes, lane, now);
    return told;
}

void
intents_hurry(struct intents *t, int64_t now)
{
    struct lane *lane;
    size_t pos = 0;

    while ((lane = lanes_walk(&t->lanes, &pos)) != NULL) {
        if (lane->rest > now)
            lane->rest = now;
        lanes_settle(&t->lanes, lane, now);
    }
}

int64_t
intents_due(const struct intents *t)
{
    return lanes_due(&t->lanes);
}

struct intents_counts
intents_counts(const struct intents *t)
{
    return t->lanes.counts;
}

size_t
intents_contested(const struct intents *t, int64_t now)
{
    return again_count(&t->again, INTENTS_CONTESTED, now);
}
