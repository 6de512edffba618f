/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/child.h"

#include "common/mem.h"

#define FIRST_DELAY INT64_C(100000000)
#define LAST_DELAY INT64_C(10000000000)

const char *
child_state_name(enum child_state state)
{
    static const char *const names[CHILD_STATES] = {
        [CHILD_DOWN] = "down",       [CHILD_STARTING] = "starting",
        [CHILD_HELD] = "held",       [CHILD_WIRING] = "wiring",
        [CHILD_RUNNING] = "running", [CHILD_STOPPING] = "stopping",
        [CHILD_KILLED] = "killed",   [CHILD_ENDED] = "ended",
    };

    return names[state];
}

static enum child_action
nothing(struct child *child, int64_t now)
{
    (void)child;
    (void)now;
    return CHILD_NOTHING;
}

static enum child_action
spawn(struct child *child, int64_t now)
{
    child->started = now;
    child->limit = now + CHILD_START_LIMIT;
    return CHILD_SPAWN;
}

static enum child_action
wire(struct child *child, int64_t now)
{
    child->limit = now + CHILD_START_LIMIT;
    return CHILD_WIRE;
}

static enum child_action
greet(struct child *child, int64_t now)
{
    if (!child->hold)
        return wire(child, now);
    child->state = CHILD_HELD;
    child->limit = 0;
    return CHILD_NOTHING;
}

static enum child_action
announce(struct child *child, int64_t now)
{
    child->limit = 0;
    child->ready = now;
    child->unready = 0;
    return CHILD_ANNOUNCE;
}

static enum child_action
tell(struct child *child, int64_t now)
{
    child->limit = now + child->patience;
    return CHILD_TELL;
}

static enum child_action
kill_it(struct child *child, int64_t now)
{
    (void)now;
    child->limit = 0;
    return CHILD_KILL;
}

/* Its own exit status tells more than our signal. */
static enum child_action
leave(struct child *child, int64_t now)
{
    child->limit = now + CHILD_LEAVE_LIMIT;
    return CHILD_NOTHING;
}

static enum child_action
abort_it(struct child *child, int64_t now)
{
    child->limit = now + CHILD_CORE_LIMIT;
    return CHILD_ABORT;
}

static enum child_action
again(struct child *child, int64_t now)
{
    child->wanted = true;
    return kill_it(child, now);
}

static int64_t
delay(unsigned deaths)
{
    int64_t ns = FIRST_DELAY;

    if (deaths <= 1)
        return 0;
    while (--deaths > 1 && ns < LAST_DELAY)
        ns *= 2;
    return ns < LAST_DELAY ? ns : LAST_DELAY;
}

static enum child_action
start_again(struct child *child, int64_t now)
{
    child->wanted = false;
    child->due = now;
    return CHILD_RESTART;
}

/* It died, or was killed: the next start, or the end of trying. */
static enum child_action
died(struct child *child, int64_t now)
{
    bool was_ready = child->ready != 0;

    if (was_ready && now - child->ready >= CHILD_HEALTHY)
        child->deaths = 0;
    child->ready = 0;
    child->limit = 0;
    if (child->wanted)
        return start_again(child, now);
    child->deaths++;
    child->unready = was_ready ? 0 : child->unready + 1;
    if (child->unready >= CHILD_UNREADY_DEATHS) {
        child->state = CHILD_ENDED;
        return CHILD_GIVE_UP;
    }
    child->due = child->started + delay(child->deaths);
    if (child->due < now)
        child->due = now;
    return CHILD_RESTART;
}

static enum child_action
finish(struct child *child, int64_t now)
{
    (void)now;
    child->limit = 0;
    child->ready = 0;
    return CHILD_FINISH;
}

/* A zeroed cell keeps the state and does nothing: events that come late, after
 * their subject is over, are harmless. */
static const struct cell {
    enum child_action (*run)(struct child *, int64_t);
    enum child_state next;
} table[CHILD_STATES][CHILD_EVENTS] = {
    [CHILD_DOWN] =
        {
            [CHILD_DUE] = {spawn, CHILD_STARTING},
            [CHILD_AGAIN] = {spawn, CHILD_STARTING},
            [CHILD_STOP] = {finish, CHILD_ENDED},
        },
    [CHILD_STARTING] =
        {
            [CHILD_HELLO] = {greet, CHILD_WIRING},
            [CHILD_LEFT] = {leave, CHILD_KILLED},
            [CHILD_CUT] = {kill_it, CHILD_KILLED},
            [CHILD_LATE] = {kill_it, CHILD_KILLED},
            [CHILD_AGAIN] = {again, CHILD_KILLED},
            [CHILD_STOP] = {kill_it, CHILD_STOPPING},
            [CHILD_EXIT] = {died, CHILD_DOWN},
        },
    [CHILD_HELD] =
        {
            [CHILD_GO] = {wire, CHILD_WIRING},
            [CHILD_LEFT] = {leave, CHILD_KILLED},
            [CHILD_CUT] = {kill_it, CHILD_KILLED},
            [CHILD_AGAIN] = {again, CHILD_KILLED},
            [CHILD_STOP] = {kill_it, CHILD_STOPPING},
            [CHILD_EXIT] = {died, CHILD_DOWN},
        },
    [CHILD_WIRING] =
        {
            [CHILD_AGAIN] = {again, CHILD_KILLED},
            [CHILD_READY] = {announce, CHILD_RUNNING},
            [CHILD_LEFT] = {leave, CHILD_KILLED},
            [CHILD_CUT] = {kill_it, CHILD_KILLED},
            [CHILD_LATE] = {kill_it, CHILD_KILLED},
            [CHILD_STOP] = {tell, CHILD_STOPPING},
            [CHILD_EXIT] = {died, CHILD_DOWN},
        },
    [CHILD_RUNNING] =
        {
            [CHILD_SILENT] = {abort_it, CHILD_KILLED},
            [CHILD_AGAIN] = {again, CHILD_KILLED},
            [CHILD_LEFT] = {leave, CHILD_KILLED},
            [CHILD_CUT] = {kill_it, CHILD_KILLED},
            [CHILD_STOP] = {tell, CHILD_STOPPING},
            [CHILD_EXIT] = {died, CHILD_DOWN},
        },
    [CHILD_STOPPING] =
        {
            [CHILD_LATE] = {kill_it, CHILD_STOPPING},
            [CHILD_EXIT] = {finish, CHILD_ENDED},
        },
    [CHILD_KILLED] =
        {
            [CHILD_CUT] = {kill_it, CHILD_KILLED},
            [CHILD_LATE] = {kill_it, CHILD_KILLED},
            [CHILD_STOP] = {nothing, CHILD_STOPPING},
            [CHILD_EXIT] = {died, CHILD_DOWN},
        },
};

enum child_action
child_step(struct child *child, enum child_event event, int64_t now)
{
    const struct cell *cell = &table[child->state][event];

    if (cell->run == NULL)
        return CHILD_NOTHING;
    child->state = cell->next;
    return cell->run(child, now);
}
