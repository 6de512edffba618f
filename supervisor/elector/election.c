/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/elector/election.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

/* A candidate pauses for one to 2.2 retry periods, so that candidates do not
 * come in step. */
#define JITTER 1.2

/* Candidates that see a Lease become free come within so long of each other. */
#define SPREAD (100 * CLOCK_MS)

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
    bool told;        /* its begin was said by this process */

    enum flight flight;
    int64_t sent_at;    /* when the request under way was sent */
    int64_t tried_at;   /* when the present try began with its first request */
    bool read_again;    /* this try has met a conflict already */
    int64_t next_at;    /* when the next try is due */
    int64_t give_up_at; /* while RELEASING */
    bool doubt; /* a write of ours, or of our predecessor's, may have been done
                   since the Lease was read */

    bool follows; /* a watch was asked for */
    bool sees;    /* and shows every change */
    bool stirred; /* it showed one while a request was under way */

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
    e->doubt = deadline != 0;
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

bool
election_sees(const struct election *e)
{
    return e->sees;
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
follow(struct election *e, bool yes, struct election_actions *out)
{
    if (e->follows == yes)
        return;
    e->follows = yes;
    e->sees = false;
    e->stirred = false;
    add(out, yes ? ELECTION_FOLLOW : ELECTION_UNFOLLOW);
}

static void
begin_term(struct election *e, bool goes_on, struct election_actions *out)
{
    struct election_action *action = add(out, ELECTION_BEGAN);

    follow(e, false, out);
    e->told = true;
    e->view = ELECTION_LEADER;
    action->term = e->term;
    action->goes_on = goes_on;
}

static void
end_term(struct election *e, const char *reason, struct election_actions *out)
{
    struct election_action *action;

    if (e->deadline == 0)
        return;
    e->deadline = 0;
    e->told = false;
    e->view = e->phase == CONTENDING ? ELECTION_WAITING : ELECTION_STOPPED;
    publish(e, out);
    action = add(out, ELECTION_ENDED);
    action->term = e->term;
    action->reason = reason;
}

static void
request(struct election *e, const struct election_moment *m, enum flight flight,
        const struct lease_record *record, struct election_actions *out)
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

/* When the record no longer keeps us from taking the Lease; 0: it does not. */
static int64_t
expiry(const struct election *e)
{
    int64_t seconds = e->observed.duration;
    int64_t duration = seconds < 1 || seconds > LONGEST
                           ? e->config.lease_duration
                           : seconds * CLOCK_SECOND;

    if (!e->known || e->observed.holder[0] == '\0' || is_ours(e))
        return 0;
    return e->changed_at + duration;
}

static bool
same_record(const struct lease_record *a, const struct lease_record *b)
{
    return strcmp(a->holder, b->holder) == 0 && a->duration == b->duration &&
           a->acquired == b->acquired && a->renewed == b->renewed &&
           a->transitions == b->transitions;
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
    if (e->view == ELECTION_WAITING && e->known &&
        e->observed.holder[0] != '\0' && !is_ours(e))
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

/* Tries: each is a read, a write, or a read and a write. */

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

/* A leader writes at once, of the version it knows; all others read first. */
static void
try(struct election *e, const struct election_moment *m,
    struct election_actions *out)
{
    e->tried_at = m->now;
    e->read_again = false;
    e->stirred = false;
    if (e->phase == RELEASING && is_ours(e) && !e->doubt)
        give_back(e, m, out);
    else if (e->phase == CONTENDING && is_ours(e) && e->deadline != 0)
        take(e, m, out);
    else
        request(e, m, READING, NULL, out);
}

/* When the next try is due after one that told nothing: counted from the begin
 * of this one, so that it keeps the beat, but for a candidate from now and with
 * jitter.  A server that asks for time is given a little. */
static void
rest(struct election *e, const struct election_moment *m, int64_t asked)
{
    int64_t period = e->config.retry_period;
    int64_t next = e->tried_at + period;

    if (asked > period)
        asked = period;
    if (e->phase == CONTENDING && e->deadline == 0)
        next = m->now + period + (int64_t)(m->chance * JITTER * (double)period);
    if (next < m->now + asked)
        next = m->now + asked;
    e->next_at = next;
}

/* When a candidate looks again that knows how the Lease is: when it becomes
 * free, which a watch would tell; without one, at the next poll at the latest.
 */
static void
look_again(struct election *e, const struct election_moment *m)
{
    int64_t free_at = expiry(e);

    rest(e, m, 0);
    if (free_at < m->now || e->stirred)
        free_at = m->now;
    free_at += (int64_t)(m->chance * SPREAD);
    if (e->sees || free_at < e->next_at)
        e->next_at = free_at;
    e->stirred = false;
}

/* The Lease was read and is another's. */
static void
stay(struct election *e, const struct election_moment *m,
     struct election_actions *out)
{
    follow(e, true, out);
    look_again(e, m);
}

static void
lose(struct election *e, struct election_actions *out)
{
    if (!e->known)
        snprintf(e->reason, sizeof(e->reason), "the Lease was deleted");
    else if (e->observed.holder[0] == '\0')
        snprintf(e->reason, sizeof(e->reason), "the Lease was taken from us");
    else
        snprintf(e->reason, sizeof(e->reason), "the Lease is held by %s",
                 e->observed.holder);
    end_term(e, e->reason, out);
    stand_by(e);
}

/* The Lease was read, or there is none. */
static void
decide(struct election *e, const struct election_moment *m,
       struct election_actions *out)
{
    bool ours = is_ours(e);

    if (!ours)
        lose(e, out);
    if (e->phase == RELEASING && ours)
        give_back(e, m, out);
    else if (e->phase == RELEASING)
        finish(e, NULL, out);
    else if (m->now >= expiry(e))
        take(e, m, out);
    else
        stay(e, m, out);
}

/* A write succeeded: the Lease is ours since before it was sent. */
static void
hold(struct election *e, const struct election_moment *m,
     struct election_actions *out)
{
    int64_t deadline = e->sent_at + e->config.renew_deadline;
    bool goes_on = e->deadline != 0;

    e->next_at = e->tried_at + e->config.retry_period;
    if (deadline <= m->now)
        return; /* too late to be of use; try again */
    if (!goes_on)
        e->term++;
    e->deadline = deadline;
    publish(e, out);
    if (!e->told)
        begin_term(e, goes_on, out);
}

/* What an answer means for the request that it answers. */

static void
done(struct election *e, const struct election_moment *m, enum flight flight,
     struct election_actions *out)
{
    if (flight == READING)
        decide(e, m, out);
    else if (flight == GIVING_BACK)
        finish(e, NULL, out);
    else if (e->phase == RELEASING || !is_ours(e))
        decide(e, m, out); /* stopped meanwhile, or changed on its way in */
    else
        hold(e, m, out);
}

static void
answered(struct election *e, const struct election_moment *m,
         const struct election_answer *answer, struct election_actions *out)
{
    enum flight flight = e->flight;

    e->flight = NOTHING;
    if (answer->outcome == ELECTION_RECORD) {
        e->doubt = false;
        observe(e, m, &answer->record, out);
        done(e, m, flight, out);
    } else if (answer->outcome == ELECTION_ABSENT && flight != CREATING) {
        e->doubt = false;
        e->known = false;
        decide(e, m, out);
    } else if (answer->outcome == ELECTION_CONFLICT && !e->read_again) {
        e->read_again = true;
        request(e, m, READING, NULL, out);
    } else {
        e->doubt = e->doubt || flight != READING;
        rest(e, m, answer->retry_after);
    }
}

/* Events. */

static void
begin_step(struct election *e, const struct election_moment *m,
           struct election_actions *out)
{
    out->count = 0;
    if (e->deadline != 0 && m->now >= e->deadline)
        end_term(e, "it could not be renewed in time", out);
}

static void
end_step(const struct election *e, struct election_actions *out)
{
    bool trying = e->phase == CONTENDING || e->phase == RELEASING;
    int64_t at = NEVER;

    if (e->deadline != 0)
        at = e->deadline;
    if (trying && e->flight == NOTHING && e->next_at < at)
        at = e->next_at;
    if (e->phase == RELEASING && e->give_up_at < at)
        at = e->give_up_at;
    add(out, ELECTION_WAIT)->time = at;
}

void
election_wake(struct election *e, const struct election_moment *m,
              struct election_actions *out)
{
    bool trying = e->phase == CONTENDING || e->phase == RELEASING;

    begin_step(e, m, out);
    if (e->phase == RELEASING && m->now >= e->give_up_at)
        finish(e, "no answer in time; the Lease is left to expire", out);
    else if (trying && e->flight == NOTHING && m->now >= e->next_at)
        try(e, m, out);
    end_step(e, out);
}

void
election_contend(struct election *e, const struct election_moment *m,
                 struct election_actions *out)
{
    begin_step(e, m, out);
    if (e->phase == IDLE) {
        e->phase = CONTENDING;
        if (e->view == ELECTION_STOPPED)
            e->view = ELECTION_WAITING;
        try(e, m, out);
    }
    end_step(e, out);
}

void
election_answer(struct election *e, const struct election_moment *m,
                const struct election_answer *answer,
                struct election_actions *out)
{
    begin_step(e, m, out);
    if (e->flight != NOTHING)
        answered(e, m, answer, out);
    end_step(e, out);
}

/* What a watch says counts for a candidate only. One that waits for an answer
 * looks once more after it: which of the two is older is not known. */
static bool
is_watching(struct election *e)
{
    if (!e->follows || e->phase != CONTENDING || e->deadline != 0)
        return false;
    e->stirred = e->flight != NOTHING;
    return e->flight == NOTHING;
}

void
election_seen(struct election *e, const struct election_moment *m,
              const struct lease_record *record, struct election_actions *out)
{
    begin_step(e, m, out);
    if (is_watching(e)) {
        if (record != NULL)
            observe(e, m, record, out);
        else
            e->known = false;
        stand_by(e);
        look_again(e, m);
    }
    end_step(e, out);
}

void
election_sight(struct election *e, const struct election_moment *m, bool sees,
               struct election_actions *out)
{
    begin_step(e, m, out);
    if (e->follows)
        e->sees = sees;
    if (e->flight == NOTHING && is_watching(e))
        look_again(e, m);
    end_step(e, out);
}

static void
release(struct election *e, const struct election_moment *m,
        struct election_actions *out)
{
    end_term(e, "stopping", out);
    follow(e, false, out);
    e->view = ELECTION_STOPPED;
    e->phase = RELEASING;
    e->give_up_at = m->now + e->config.renew_deadline;
    if (e->flight == READING) {
        add(out, ELECTION_CANCEL);
        e->flight = NOTHING;
    }
    if (e->flight != NOTHING)
        return; /* its answer tells what there is to give back */
    if (is_ours(e) || e->doubt)
        try(e, m, out);
    else
        finish(e, NULL, out);
}

void
election_stop(struct election *e, const struct election_moment *m,
              struct election_actions *out)
{
    begin_step(e, m, out);
    if (e->phase == IDLE || e->phase == CONTENDING)
        release(e, m, out);
    end_step(e, out);
}
