/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/lane.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"

#define BACKOFF_FIRST (5 * CLOCK_MS)
#define BACKOFF_MOST (1000 * CLOCK_SECOND)
#define BACKOFF_MOST_SERVER (30 * CLOCK_SECOND)
/* So long after its last rest an object's failures are remembered. */
#define MEMORY (60 * CLOCK_SECOND)
#define NEVER INT64_MAX
/* After so many turns one of those behind has one: mostly its rack's Nodes are
 * done by then. */
#define TURNS_AHEAD 999

/* Which lane an action belongs to, and its place there. */
static const struct seat {
    char kind;
    unsigned place;
} seats[ACTION_COUNT] = {
    [ACTION_RACK] = {'r', 0},
    [ACTION_RACK_STATUS] = {'r', 1},
    [ACTION_NODE] = {'n', 0},
    [ACTION_INVENTORY_FINALIZER] = {'i', 0},
    [ACTION_INVENTORY_STATUS] = {'i', 1},
};

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
lanes_fini(struct lanes *lanes)
{
    struct lane *lane;
    size_t pos = 0;

    while ((lane = lanes_walk(lanes, &pos)) != NULL)
        free_lane(lane);
    map_fini(&lanes->by_key);
    line_fini(&lanes->line);
    line_fini(&lanes->behind);
}

struct lane *
lanes_walk(const struct lanes *lanes, size_t *pos)
{
    return map_next(&lanes->by_key, pos);
}

static char *
lane_key(enum action action, struct str name)
{
    return mem_printf("%c%.*s", seats[action].kind, (int)name.n, name.s);
}

static struct lane *
find_lane(struct lanes *lanes, enum action action, struct str name, bool make)
{
    char *key = lane_key(action, name);
    struct lane *lane = map_get(&lanes->by_key, key);

    if (lane != NULL || !make) {
        free(key);
        return lane;
    }
    lane = mem_zalloc(sizeof(*lane));
    lane->key = key;
    map_put(&lanes->by_key, key, lane);
    return lane;
}

struct str
lane_name(const struct lane *lane)
{
    return str_of(lane->key + 1);
}

struct intent_slot *
lanes_slot(struct lanes *lanes, enum action action, struct str name, bool make)
{
    struct lane *lane = find_lane(lanes, action, name, make);
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

struct order *
lanes_set(struct lanes *lanes, struct intent_slot *s, struct order *order,
          bool in_flight)
{
    struct order *old = s->order;

    lanes->counts.queued -= is_pending(s);
    lanes->counts.in_flight -= s->in_flight;
    s->order = order;
    s->in_flight = in_flight;
    lanes->counts.queued += is_pending(s);
    lanes->counts.in_flight += s->in_flight;
    return old;
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

        if (s != NULL && s->order == NULL && s->version == NULL && !s->unsure) {
            free_slot(s);
            lane->slots[i] = NULL;
        }
        any = any || lane->slots[i] != NULL;
    }
    return any;
}

/* When the lane is to be looked at again; NEVER: not before it changes. */
static int64_t
look_at(const struct lane *lane, bool used, int64_t now)
{
    int64_t due = lane_due(lane);

    if (lane->busy || (used && due == NEVER))
        return NEVER;
    if (due == NEVER)
        return lane->rest + MEMORY;
    return due < now ? now : due;
}

static struct line *
line_for(struct lanes *lanes, const struct lane *lane)
{
    bool behind = false;

    for (unsigned i = 0; i < LANE_SLOTS; i++)
        if (is_pending(lane->slots[i])) {
            if (!lane->slots[i]->order->passing)
                return &lanes->line;
            behind = true;
        }
    return behind ? &lanes->behind : &lanes->line;
}

static void
leave(struct lane *lane)
{
    if (lane->line != NULL)
        line_leave(lane->line, &lane->item);
}

/* One that waits where it should keeps its turn. */
static void
join(struct lanes *lanes, struct lane *lane, int64_t at, bool keep)
{
    struct line *line = line_for(lanes, lane);

    if (line == lane->line && keep)
        return;
    leave(lane);
    lane->line = line;
    line_join(line, &lane->item, at);
}

void
lanes_settle(struct lanes *lanes, struct lane *lane, int64_t now)
{
    bool used = drop_empty_slots(lane);
    int64_t at = look_at(lane, used, now);
    bool waits = lane->item.place != 0 && lane->item.at <= now;

    if (!used && (lane->failures == 0 || at <= now)) {
        leave(lane);
        map_remove(&lanes->by_key, lane->key);
        free_lane(lane);
    } else if (at == NEVER) {
        leave(lane);
    } else {
        join(lanes, lane, at, used && waits);
    }
}

int64_t
lanes_due(const struct lanes *lanes)
{
    const struct line_item *first = line_first(&lanes->line);
    const struct line_item *behind = line_first(&lanes->behind);
    int64_t at = first == NULL ? NEVER : first->at;

    return behind == NULL || behind->at > at ? at : behind->at;
}

/* Takes whose turn it is out of its line; NULL if nobody's. */
static struct lane *
take_turn(struct lanes *lanes, int64_t now)
{
    struct line_item *item = line_first(&lanes->line);
    struct line_item *behind = line_first(&lanes->behind);
    bool due = item != NULL && item->at <= now;

    if (behind != NULL && behind->at <= now &&
        (!due || lanes->ahead++ == TURNS_AHEAD)) {
        lanes->ahead = 0;
        item = behind;
    } else if (!due) {
        return NULL;
    }
    leave((struct lane *)item);
    return (struct lane *)item;
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
lanes_next(struct lanes *lanes, int64_t now)
{
    struct lane *lane;

    while ((lane = take_turn(lanes, now)) != NULL) {
        struct intent_slot *s = pick(lane, now);

        if (s == NULL) {
            lanes_settle(lanes, lane, now);
            continue;
        }
        lane->busy = true;
        lanes_set(lanes, s, s->order, true);
        return s;
    }
    return NULL;
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

/* Refused: whoever wants it may see no reason not to want it again. */
static bool
may_come_again(enum outcome outcome)
{
    return outcome == OUTCOME_STALE || outcome == OUTCOME_INVALID ||
           outcome == OUTCOME_CONFLICT;
}

bool
lane_is_at_fault(const struct answer *a)
{
    return !a->server && !a->denied;
}

void
lane_count(struct lane *lane, const struct answer *a, int64_t now)
{
    if (a->verdict == VERDICT_ENDED)
        lane->contested = a->outcome == OUTCOME_CONFLICT;
    if (a->verdict == VERDICT_FAILED ||
        (a->verdict == VERDICT_ENDED && may_come_again(a->outcome))) {
        count_failure(lane, a, now);
        lane->at_fault = lane_is_at_fault(a);
    } else if (a->verdict == VERDICT_ENDED) {
        lane->failures = 0;
        lane->rest = 0;
    }
}
