/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/intent.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/map.h"
#include "common/mem.h"
#include "projector/line.h"

#define BACKOFF_FIRST (5 * CLOCK_MS)
#define BACKOFF_MOST (1000 * CLOCK_SECOND)
#define BACKOFF_MOST_SERVER (30 * CLOCK_SECOND)
/* So long after its last rest an object's failures are remembered. */
#define MEMORY (60 * CLOCK_SECOND)
#define NEVER INT64_MAX

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
    uint64_t turn;  /* which order of a lane came first */

    struct order *stands; /* carried out, and nothing was sent since */
    char *uid, *version;  /* what the last one carried out gave, or NULL */
};

/* An object. */
struct lane {
    struct line_item item; /* in the line unless busy; must be first */
    char *key;
    struct intent_slot *slots[LANE_SLOTS];
    bool busy;
    unsigned failures;
    int64_t rest; /* until then nothing is sent for it */
};

struct intents {
    struct intents_pace pace;
    struct map lanes;
    struct line line;
    uint64_t turns;
    bool planning;
    struct intents_counts counts;
    struct arena told; /* texts of the last reply */
};

/* Which lane an action belongs to, and its place there. */
static const struct seat {
    char kind;
    unsigned place;
    bool paced;
} seats[ACTION_COUNT] = {
    [ACTION_RACK] = {'r', 0, false},
    [ACTION_RACK_STATUS] = {'r', 1, true},
    [ACTION_NODE] = {'n', 0, false},
    [ACTION_INVENTORY_FINALIZER] = {'i', 0, false},
    [ACTION_INVENTORY_STATUS] = {'i', 1, true},
};

struct intents *
intents_new(const struct intents_pace *pace)
{
    struct intents *t = mem_zalloc(sizeof(*t));

    t->pace = *pace;
    return t;
}

static void
free_slot(struct intent_slot *s)
{
    if (s == NULL)
        return;
    free(s->order);
    free(s->next);
    free(s->stands);
    free(s->uid);
    free(s->version);
    free(s);
}

static void
free_lane(struct lane *lane)
{
    for (unsigned i = 0; i < LANE_SLOTS; i++)
        free_slot(lane->slots[i]);
    free(lane->key);
    free(lane);
}

void
intents_free(struct intents *t)
{
    struct lane *lane;
    size_t pos = 0;

    if (t == NULL)
        return;
    while ((lane = map_next(&t->lanes, &pos)) != NULL)
        free_lane(lane);
    map_fini(&t->lanes);
    line_fini(&t->line);
    arena_fini(&t->told);
    free(t);
}

static char *
lane_key(enum action action, struct str name)
{
    return mem_printf("%c%.*s", seats[action].kind, (int)name.n, name.s);
}

static struct lane *
find_lane(struct intents *t, enum action action, struct str name, bool make)
{
    char *key = lane_key(action, name);
    struct lane *lane = map_get(&t->lanes, key);

    if (lane != NULL || !make) {
        free(key);
        return lane;
    }
    lane = mem_zalloc(sizeof(*lane));
    lane->key = key;
    map_put(&t->lanes, key, lane);
    return lane;
}

static struct str
lane_name(const struct lane *lane)
{
    return str_of(lane->key + 1);
}

static struct intent_slot *
find_slot(struct intents *t, enum action action, struct str name, bool make)
{
    struct lane *lane = find_lane(t, action, name, make);
    struct intent_slot **s;

    if (lane == NULL)
        return NULL;
    s = &lane->slots[seats[action].place];
    if (*s == NULL && make) {
        *s = mem_zalloc(sizeof(**s));
        (*s)->lane = lane;
        (*s)->action = action;
    }
    return *s;
}

static bool
is_pending(const struct intent_slot *s)
{
    return s != NULL && s->order != NULL && !s->in_flight;
}

/* Everything that changes whether a slot is pending goes through here. The
 * order that was there is the caller's. */
static struct order *
set_order(struct intents *t, struct intent_slot *s, struct order *order,
          bool in_flight)
{
    struct order *old = s->order;

    t->counts.queued -= is_pending(s);
    t->counts.in_flight -= s->in_flight;
    s->order = order;
    s->in_flight = in_flight;
    t->counts.queued += is_pending(s);
    t->counts.in_flight += s->in_flight;
    return old;
}

static void
forget_written(struct intents *t, struct intent_slot *s)
{
    if (s->version == NULL)
        return;
    free(s->stands);
    free(s->uid);
    free(s->version);
    s->stands = NULL;
    s->uid = s->version = NULL;
    t->counts.written--;
}

static void
remember_written(struct intents *t, struct intent_slot *s,
                 const struct answer *a, struct order *order)
{
    forget_written(t, s);
    s->stands = order;
    s->uid = mem_dup(a->uid.s, a->uid.n);
    s->version = mem_dup(a->version.s, a->version.n);
    t->counts.written++;
}

/* When the lane's next order is due; NEVER if it has none. */
static int64_t
lane_due(const struct lane *lane)
{
    int64_t due = NEVER;

    for (unsigned i = 0; i < LANE_SLOTS; i++)
        if (is_pending(lane->slots[i]) && lane->slots[i]->due < due)
            due = lane->slots[i]->due;
    return due == NEVER || due > lane->rest ? due : lane->rest;
}

static bool
drop_empty_slots(struct lane *lane)
{
    bool any = false;

    for (unsigned i = 0; i < LANE_SLOTS; i++) {
        struct intent_slot *s = lane->slots[i];

        if (s != NULL && s->order == NULL && s->version == NULL) {
            free_slot(s);
            lane->slots[i] = NULL;
        }
        any = any || lane->slots[i] != NULL;
    }
    return any;
}

/* Puts the lane where it belongs after any change; may free it. */
static void
settle_lane(struct intents *t, struct lane *lane, int64_t now)
{
    bool used = drop_empty_slots(lane);
    int64_t due = lane_due(lane);

    if (lane->busy) {
        line_leave(&t->line, &lane->item);
    } else if (due != NEVER) {
        due = due < now ? now : due;
        /* One that waits for its turn keeps it. */
        if (lane->item.place == 0 || lane->item.at > now)
            line_join(&t->line, &lane->item, due);
    } else if (!used && (lane->failures == 0 || lane->rest + MEMORY <= now)) {
        line_leave(&t->line, &lane->item);
        map_remove(&t->lanes, lane->key);
        free_lane(lane);
    } else if (!used) {
        line_join(&t->line, &lane->item, lane->rest + MEMORY);
    } else {
        line_leave(&t->line, &lane->item);
    }
}

/* The reply to the author of intent id, in texts of our own. */
static bool
tell(struct intents *t, struct reply *reply, uint32_t id,
     const struct intent_slot *s, const struct answer *a)
{
    arena_fini(&t->told);
    reply->id = id;
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

/* What the order wants stands already, later than its author saw. */
static bool
stands_already(const struct intent_slot *s, const struct order *order)
{
    const struct order *stands = s->stands;

    return stands != NULL && order_same(stands, order) &&
           (str_eq(order->target.uid, stands->target.uid) ||
            str_is(order->target.uid, s->uid)) &&
           version_cmp(order->target.version, str_of(s->version)) < 0;
}

/* A status waits for quiet, anything else is due at once. */
static void
set_due(const struct intents *t, struct intent_slot *s, bool first, int64_t now)
{
    if (!seats[s->action].paced) {
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

/* Gives the order to a slot with nothing in flight. True: reply it is. */
static bool
want(struct intents *t, struct intent_slot *s, struct order *order,
     struct reply *reply)
{
    bool done = stands_already(s, order);

    if (done) {
        struct answer a = {.outcome = OUTCOME_DONE,
                           .uid = str_of(s->uid),
                           .version = str_of(s->version)};

        tell(t, reply, order->id, s, &a);
        free(order);
        order = NULL;
    } else if (s->order == NULL) {
        s->turn = t->turns++;
    }
    free(set_order(t, s, order, false));
    return done;
}

bool
intents_accept(struct intents *t, struct order *order, int64_t now,
               struct reply *reply)
{
    struct intent_slot *s =
        find_slot(t, order->action, order->target.name, true);
    bool first = s->in_flight ? s->next == NULL : s->order == NULL;
    bool done = false;

    s->named = true;
    s->emptied = false;
    set_due(t, s, first, now);
    if (s->in_flight) {
        free(s->next);
        s->next = order;
    } else {
        done = want(t, s, order, reply);
    }
    settle_lane(t, s->lane, now);
    return done;
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
    free(set_order(t, s, NULL, false));
    forget_written(t, s);
}

void
intents_withdraw(struct intents *t, enum action action, struct str name,
                 int64_t now)
{
    struct intent_slot *s = find_slot(t, action, name, false);

    if (s == NULL)
        return;
    empty(t, s);
    settle_lane(t, s->lane, now);
}

/* Calls visit for every slot; it may end with the lane being freed. */
static void
each_slot(struct intents *t, int64_t now,
          void (*visit)(struct intents *t, struct intent_slot *s))
{
    struct lane *lane;
    size_t pos = 0;

    while ((lane = map_next(&t->lanes, &pos)) != NULL) {
        for (unsigned i = 0; i < LANE_SLOTS; i++)
            if (lane->slots[i] != NULL)
                visit(t, lane->slots[i]);
        settle_lane(t, lane, now);
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

static void
sweep(struct intents *t, struct intent_slot *s)
{
    if (!s->named)
        empty(t, s);
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

static void
orphan(struct intents *t, struct intent_slot *s)
{
    free(s->next);
    s->next = NULL;
    if (s->in_flight)
        s->orphan = true;
    else
        free(set_order(t, s, NULL, false));
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
    return t->counts.in_flight == 0;
}

void
intents_each_written(const struct intents *t,
                     void (*visit)(void *arg, enum action action,
                                   const struct target *target),
                     void *arg)
{
    const struct lane *lane;
    size_t pos = 0;

    while ((lane = map_next(&t->lanes, &pos)) != NULL)
        for (unsigned i = 0; i < LANE_SLOTS; i++) {
            const struct intent_slot *s = lane->slots[i];

            if (s != NULL && s->version != NULL)
                visit(arg, s->action,
                      &(struct target){lane_name(lane), str_of(s->uid),
                                       str_of(s->version)});
        }
}

/* The lane's first order that is due, or NULL. */
static struct intent_slot *
pick(const struct lane *lane, int64_t now)
{
    struct intent_slot *first = NULL;

    if (lane->rest > now)
        return NULL;
    for (unsigned i = 0; i < LANE_SLOTS; i++) {
        struct intent_slot *s = lane->slots[i];

        if (is_pending(s) && s->due <= now &&
            (first == NULL || s->turn < first->turn))
            first = s;
    }
    return first;
}

struct intent_slot *
intents_next(struct intents *t, int64_t now)
{
    struct line_item *item;

    while ((item = line_first(&t->line)) != NULL && item->at <= now) {
        struct lane *lane = (struct lane *)item;
        struct intent_slot *s = pick(lane, now);

        line_leave(&t->line, item);
        if (s == NULL) {
            settle_lane(t, lane, now);
            continue;
        }
        lane->busy = true;
        set_order(t, s, s->order, true);
        /* Until it is answered nobody knows what stands. */
        free(s->stands);
        s->stands = NULL;
        return s;
    }
    return NULL;
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

static void
count_failure(struct lane *lane, const struct answer *a, int64_t now)
{
    int64_t rest = a->server ? BACKOFF_MOST_SERVER : BACKOFF_MOST;

    if (lane->failures < 32 && BACKOFF_FIRST << lane->failures < rest)
        rest = BACKOFF_FIRST << lane->failures;
    lane->failures++;
    lane->rest = now + (rest < a->retry_after ? a->retry_after : rest);
}

static void
count(struct lane *lane, const struct answer *a, int64_t now)
{
    if (a->verdict == VERDICT_FAILED ||
        (a->verdict == VERDICT_ENDED && a->outcome == OUTCOME_STALE)) {
        count_failure(lane, a, now);
    } else if (a->verdict == VERDICT_ENDED) {
        lane->failures = 0;
        lane->rest = 0;
    }
}

/* The order in flight comes out of it: wanted again, carried out or over. */
static void
land(struct intents *t, struct intent_slot *s, const struct answer *a,
     bool again, int64_t now)
{
    struct order *order = set_order(t, s, NULL, false);

    if (again) {
        s->due = now;
        set_order(t, s, order, false);
    } else if (a->verdict == VERDICT_ENDED && a->outcome == OUTCOME_DONE) {
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

    if (replied)
        tell(t, reply, s->order->id, s, a);
    lane->busy = false;
    count(lane, a, now);
    land(t, s, a, current && !replied, now);
    if (next != NULL) {
        s->next = NULL;
        replied = want(t, s, next, reply);
    }
    settle_lane(t, lane, now);
    return replied;
}

void
intents_hurry(struct intents *t, int64_t now)
{
    struct lane *lane;
    size_t pos = 0;

    while ((lane = map_next(&t->lanes, &pos)) != NULL) {
        if (lane->rest > now)
            lane->rest = now;
        settle_lane(t, lane, now);
    }
}

int64_t
intents_due(const struct intents *t)
{
    const struct line_item *first = line_first(&t->line);

    return first == NULL ? NEVER : first->at;
}

struct intents_counts
intents_counts(const struct intents *t)
{
    return t->counts;
}
