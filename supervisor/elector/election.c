/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/elector/election.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

/* A candidate pauses for one to 2.2 retry periods, so that candidates do not
 * come in step. */
#define JITTER 1.2

/* What a record may claim as its duration. */
#define LONGEST INT64_C(3600) /* seconds */

#define NEVER INT64_MAX

enum phase {
    IDLE,       /* not asked to contend yet */
    CONTENDING, /* follows the Lease, with or without a term */
    RELEASING,  /* stopped; the Lease may still be ours */
    FINISHED
};

enum flight { NOTHING, READING, CREATING, UPDATING, GIVING_BACK };

struct election {
    struct election_config config;
    char *identity;

    enum phase phase;
    enum election_view view;
    uint64_t term;    /* the last one */
    int64_t deadline; /* of its end; 0: it is over */

    enum flight flight;
    int64_t sent_at;  /* when the request under way was sent */
    int64_t tried_at; /* when the present try began with its first request */
    bool read_again;  /* this try has met a conflict already */
    int64_t next_at;  /* when the next try is due */
    int64_t give_up_at; /* while RELEASING */

    bool known; /* observed is filled */
    struct lease_record observed;
    char *holder; /* memory of observed.holder */
    int64_t changed_at;

    char reason[256]; /* memory of texts in actions */
};

struct election *
election_new(const struct election_config *config, uint64_t term,
             int64_t deadline)
{
    struct election *e = mem_zalloc(sizeof(*e));

    e->config = *config;
    e->config.identity = e->identity = mem_strdup(config->identity);
    e->term = term;
    e->deadline = deadline;
    e->view = deadline != 0 ? ELECTION_LEADER : ELECTION_STOPPED;
    e->next_at = NEVER;
    return e;
}

void
election_free(struct election *e)
{
    if (e == NULL)
        return;
    free(e->identity);
    free(e->holder);
    free(e);
}

enum election_view
election_view(const struct election *e)
{
    return e->view;
}

uint64_t
election_term(const struct election *e)
{
    return e->deadline != 0 ? e->term : 0;
}

const struct lease_record *
election_record(const struct election *e)
{
    return e->known ? &e->observed : NULL;
}

/* Actions. */

static struct election_action *
add(struct election_actions *out, enum election_verb verb)
{
    struct election_action *action;

    if (out->count == nitems(out->items))
        fatal("an election step of more than %zu actions", out->count);
    action = &out->items[out->count++];
    *action = (struct election_action){.verb = verb};
    return action;
}

static void
publish(const struct election *e, struct election_actions *out)
{
    struct election_action *action = add(out, ELECTION_PUBLISH);

    action->term = e->term;
    action->time = e->deadline;
}

static void
end_term(struct election *e, const char *reason, struct election_actions *out)
{
    struct election_action *action;

    if (e->deadline == 0)
        return;
    e->deadline = 0;
    e->view = ELECTION_WAITING;
    publish(e, out);
    action = add(out, ELECTION_ENDED);
    action->term = e->term;
    action->reason = reason;
}

static void
request(struct election *e, const struct election_moment *m,
        enum flight flight, const struct lease_record *record,
        struct election_actions *out)
{
    static const enum election_verb verbs[] = {
        [READING] = ELECTION_GET,
        [CREATING] = ELECTION_CREATE,
        [UPDATING] = ELECTION_UPDATE,
        [GIVING_BACK] = ELECTION_UPDATE,
    };
    struct election_action *action = add(out, verbs[flight]);

    if (record != NULL)
        action->record = *record;
    e->flight = flight;
    e->sent_at = m->now;
}

static void
finish(struct election *e, const char *reason, struct election_actions *out)
{
    if (e->flight != NOTHING)
        add(out, ELECTION_CANCEL);
    e->flight = NOTHING;
    e->phase = FINISHED;
    add(out, ELECTION_FINISHED)->reason = reason;
}

/* The record. */

static bool
is_ours(const struct election *e)
{
    return e->known && strcmp(e->observed.holder, e->identity) == 0;
}

static bool
is_free(const struct election *e, int64_t now)
{
    int64_t seconds = e->observed.duration;
    int64_t duration = seconds < 1 || seconds > LONGEST
                           ? e->config.lease_duration
                           : seconds * CLOCK_SECOND;

    return e->observed.holder[0] == '\0' || now - e->changed_at >= duration;
}

static bool
same_record(const struct lease_record *a, const struct lease_record *b)
{
    return strcmp(a->holder, b->holder) == 0 && a->duration == b->duration &&
           a->acquired == b->acquired && a->renewed == b->renewed &&
           a->transitions == b->transitions;
}

static void
forget(struct election *e)
{
    e->known = false;
}

/* Takes in what the Lease says. */
static void
observe(struct election *e, const struct election_moment *m,
        const struct lease_record *record, struct election_actions *out)
{
    bool other = !e->known || strcmp(e->observed.holder, record->holder) != 0;
    char *holder;

    if (e->known && same_record(&e->observed, record))
        return;
    holder = mem_strdup(record->holder);
    free(e->holder);
    e->holder = holder;
    e->observed = *record;
    e->observed.holder = holder;
    e->known = true;
    e->changed_at = m->now;
    if (other && holder[0] != '\0')
        add(out, ELECTION_OBSERVED)->record = e->observed;
}

/* Another holder makes a standby of who waits; it never unmakes a leader, only
 * the end of the term does. */
static void
stand_by(struct election *e)
{
    if (e->view == ELECTION_WAITING && e->observed.holder[0] != '\0' &&
        !is_ours(e))
        e->view = ELECTION_STANDBY;
}

/* Our duration in whole seconds, rounded up: others then wait longer. */
static int64_t
own_duration(const struct election *e)
{
    return (e->config.lease_duration + CLOCK_SECOND - 1) / CLOCK_SECOND;
}

/* The record as it will be once we hold it, taken or renewed. */
static struct lease_record
held_record(const struct election *e, int64_t wall)
{
    struct lease_record record = {
        .holder = e->identity,
        .duration = own_duration(e),
        .acquired = wall,
        .renewed = wall,
    };

    if (e->known)
        record.transitions = e->observed.transitions + 1;
    if (is_ours(e)) {
        record.acquired = e->observed.acquired;
        record.transitions = e->observed.transitions;
    }
    return record;
}

static struct lease_record
released_record(const struct election *e, int64_t wall)
{
    return (struct lease_record){
        .holder = "",
        .duration = 1,
        .acquired = wall,
        .renewed = wall,
        .transitions = e->observed.transitions,
    };
}

/* Tries: each is a read, a write, or both. */

static void
take(struct election *e, const struct election_moment *m,
     struct election_actions *out)
{
    struct lease_record record = held_record(e, m->wall);

    request(e, m, e->known ? UPDATING : CREATING, &record, out);
}

static void
give_back(struct election *e, const struct election_moment *m,
          struct election_actions *out)
{
    struct lease_record record = released_record(e, m->wall);

    request(e, m, GIVING_BACK, &record, out);
}

/* A holder writes at once, of the version it knows; all others read first. */
static void
try(struct election *e, const struct election_moment *m,
    struct election_actions *out)
{
    e->tried_at = m->now;
    e->read_again = false;
    if (e->phase == RELEASING && is_ours(e))
        give_back(e, m, out);
    else if (e->deadline != 0 && is_ours(e))
        take(e, m, out);
    else
        request(e, m, READING, NULL, out);
}

/* The next try, counted from the begin of this one for who holds the Lease,
 * else from now and with jitter. A server that asks for time gets a little. */
static void
pause(struct election *e, const struct election_moment *m, int64_t asked)
{
    int64_t period = e->config.retry_period;
    int64_t next = e->tried_at + period;

    if (asked > period)
        asked = period;
    if (e->phase == CONTENDING && e->deadline == 0)
        next = m->now + period + (int64_t)(m->chance * JITTER * (double)period);
    if (next < m->now + asked)
        next = m->now + asked;
    e->next_at = next < m->now ? m->now : next;
}

/* The Lease was read (or could not be found); now decide. */
static void
decide(struct election *e, const struct election_moment *m,
       struct election_actions *out)
{
    if (!e->known) {
        end_term(e, "the Lease was deleted", out);
        take(e, m, out);
    } else if (is_ours(e)) {
        take(e, m, out);
    } else {
        snprintf(e->reason, sizeof(e->reason), "the Lease is held by \"%s\"",
                 e->observed.holder);
        end_term(e, e->reason, out);
        stand_by(e);
        if (is_free(e, m->now))
            take(e, m, out);
        else
            pause(e, m, 0);
    }
}

/* We hold the Lease since before the request was sent. */
static void
hold(struct election *e, const struct election_moment *m,
     struct election_actions *out)
{
    int64_t deadline = e->sent_at + e->config.renew_deadline;
    bool going_on = e->deadline != 0;

    e->next_at = e->tried_at + e->config.retry_period;
    if (deadline <= m->now) {
        e->next_at = m->now;
        return;
    }
    if (!going_on)
        e->term++;
    e->deadline = deadline;
    publish(e, out);
    if (going_on && e->told)
        return;
    e->view = ELECTION_LEADER;
    add(out, ELECTION_BEGAN)->term = e->term;
}
