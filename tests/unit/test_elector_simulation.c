/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates, one Lease and everything that can go wrong between them, in one
 * thread and with an invented time: slow and lost requests, lost answers,
 * servers that refuse, watches that lag, break and fall silent, stopped, killed
 * and restarted processes, clocks that disagree and run at different speeds,
 * other hands on the Lease.  There must
 * never be two that hold a term at one moment; and once all is well, one must.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/elector/election.h"
#include "tests/unit/seeded.h"

#define CANDIDATES 3
#define REQUESTS 64
#define RUNS 300
#define TROUBLE (900 * CLOCK_SECOND) /* of simulated time */
#define PEACE (90 * CLOCK_SECOND)
#define TIMEOUT (5 * CLOCK_SECOND)

struct record {
    char holder[16];
    struct lease_record record; /* holder points to the above */
};

/* A request on its way; it goes its way even if nobody waits for it. */
struct request {
    bool used;
    int from;
    unsigned serial;
    enum election_verb verb;
    struct record record;
    uint64_t version; /* that the update goes by */
    int64_t applied_at;
    int64_t answered_at;
};

/* A candidate's watch of the Lease. Times are true ones. */
struct watch {
    bool follows, open;
    int64_t at; /* when it opens, or shows; INT64_MAX: neither */
    struct record shown;
    bool exists;
    uint64_t version; /* of what was shown last */
};

struct candidate {
    struct election *election;
    struct watch watch;
    char identity[16];
    unsigned births;
    int64_t skew;  /* of its clock */
    double speed;  /* of its clock */
    int64_t wall;  /* what its wall clock is off */
    uint64_t term; /* its lease page */
    int64_t deadline;
    uint64_t version; /* of the Lease as it knows it */
    unsigned serial;  /* of the request it waits for; 0: none */
    int64_t times_out_at;
    int64_t wakes_at; /* true times */
    int64_t stopped_until;
    /* The answer, once it is there. */
    bool answered;
    struct election_answer answer;
    struct record answer_record;
    uint64_t answer_version;
    bool stopping, finished;
};

struct world {
    int run;
    struct seeded chance;
    int64_t now; /* true time */
    bool trouble;
    bool exists;
    struct record lease;
    uint64_t version;
    int64_t refuses_until;
    struct candidate candidates[CANDIDATES];
    struct request requests[REQUESTS];
    unsigned serial, terms;
};

static int64_t
between(struct world *w, int64_t low, int64_t high)
{
    return low +
           (int64_t)(seeded_next(&w->chance) % (uint64_t)(high - low + 1));
}

static bool
chance(struct world *w, int percent)
{
    return seeded_below(&w->chance, 100) < percent;
}

static int64_t
local(const struct candidate *c, int64_t now)
{
    return c->skew + (int64_t)((double)now * c->speed);
}

static int64_t
true_time(const struct candidate *c, int64_t at)
{
    return at == INT64_MAX ? INT64_MAX
                           : (int64_t)((double)(at - c->skew) / c->speed) + 1;
}

static bool
leads(const struct world *w, const struct candidate *c)
{
    return c->deadline != 0 && local(c, w->now) < c->deadline;
}

static void
check_one_leader(const struct world *w)
{
    int leaders = 0;

    for (int i = 0; i < CANDIDATES; i++)
        leaders += leads(w, &w->candidates[i]);
    if (leaders > 1)
        fail_msg("run %d: %d leaders at %.3f s", w->run, leaders,
                 (double)w->now / 1e9);
}

static void
copy_record(struct record *to, const struct lease_record *from)
{
    snprintf(to->holder, sizeof(to->holder), "%s", from->holder);
    to->record = *from;
    to->record.holder = to->holder;
}

static void
send_request(struct world *w, int from, const struct election_action *a)
{
    struct candidate *c = &w->candidates[from];
    bool lost = w->trouble && chance(w, 4);
    bool answer_lost = w->trouble && chance(w, 4);
    int64_t slow =
        w->trouble && chance(w, 10) ? 9 * CLOCK_SECOND : CLOCK_SECOND / 20;

    assert_int_equal(c->serial, 0);
    c->serial = ++w->serial;
    c->answered = false;
    c->times_out_at = w->now + TIMEOUT;
    for (int i = 0; i < REQUESTS && !lost; i++) {
        struct request *r = &w->requests[i];

        if (r->used)
            continue;
        *r = (struct request){
            .used = true,
            .from = from,
            .serial = c->serial,
            .verb = a->verb,
        };
        if (a->verb != ELECTION_GET)
            copy_record(&r->record, &a->record);
        r->version = c->version;
        r->applied_at = w->now + between(w, 1, slow);
        r->answered_at =
            answer_lost ? INT64_MAX : r->applied_at + between(w, 1, slow);
        return;
    }
}

static void
carry_out(struct world *w, int who, const struct election_actions *actions)
{
    struct candidate *c = &w->candidates[who];

    for (size_t i = 0; i < actions->count; i++) {
        const struct election_action *a = &actions->items[i];

        if (a->verb == ELECTION_PUBLISH) {
            c->term = a->term;
            c->deadline = a->time;
            check_one_leader(w);
        } else if (a->verb == ELECTION_BEGAN) {
            w->terms++;
            assert_int_equal(a->term, c->term);
        } else if (a->verb == ELECTION_ENDED) {
            assert_int_equal(c->deadline, 0);
        } else if (a->verb == ELECTION_CANCEL) {
            c->serial = 0;
        } else if (a->verb == ELECTION_WAIT) {
            c->wakes_at = true_time(c, a->time);
        } else if (a->verb == ELECTION_FINISHED) {
            c->finished = true;
        } else if (a->verb == ELECTION_FOLLOW || a->verb == ELECTION_UNFOLLOW) {
            c->watch = (struct watch){
                .follows = a->verb == ELECTION_FOLLOW,
                .at = w->now + between(w, 1, CLOCK_SECOND),
            };
        } else if (a->verb != ELECTION_OBSERVED) {
            send_request(w, who, a);
        }
    }
}

static struct election_moment
moment_of(struct world *w, const struct candidate *c)
{
    return (struct election_moment){
        .now = local(c, w->now),
        .wall = w->now + c->wall,
        .chance = (double)(seeded_next(&w->chance) >> 11) /
                  (double)(UINT64_C(1) << 53),
    };
}

/* A process starts: the whole candidate, or only the elector in it. */
static void
start(struct world *w, int who, bool anew)
{
    static const struct election_config config = {
        .lease_duration = 15 * CLOCK_SECOND,
        .renew_deadline = 10 * CLOCK_SECOND,
        .retry_period = 2 * CLOCK_SECOND,
    };
    struct candidate *c = &w->candidates[who];
    struct election_config own = config;
    struct election_actions actions;
    struct election_moment m;

    if (anew) {
        snprintf(c->identity, sizeof(c->identity), "c%d-%u", who, ++c->births);
        c->term = 0;
        c->deadline = 0;
    }
    own.identity = c->identity;
    election_free(c->election);
    c->election = election_new(&own, c->term, c->deadline);
    c->serial = 0;
    c->version = 0;
    c->watch = (struct watch){0};
    c->stopping = c->finished = false;
    m = moment_of(w, c);
    election_wake(c->election, &m, &actions);
    carry_out(w, who, &actions);
    election_contend(c->election, &m, &actions);
    carry_out(w, who, &actions);
}

/* What a watch will show is taken now and shown later: it may be old then. A
 * silent one shows nothing until somebody loses patience. */
static void
stir(struct world *w, struct watch *watch)
{
    int64_t lag = w->trouble && chance(w, 20) ? 3 * CLOCK_SECOND : CLOCK_MS;

    if (!watch->open || watch->at != INT64_MAX || watch->version == w->version)
        return;
    if (w->trouble && chance(w, 10))
        lag = 20 * CLOCK_SECOND;
    copy_record(&watch->shown, &w->lease.record);
    watch->exists = w->exists;
    watch->version = w->version;
    watch->at = w->now + between(w, 1, lag);
}

static void
break_off(struct world *w, int who)
{
    struct candidate *c = &w->candidates[who];
    struct election_moment m = moment_of(w, c);
    struct election_actions actions;

    c->watch.open = false;
    c->watch.at = w->now + between(w, 1, 5 * CLOCK_SECOND);
    election_sight(c->election, &m, false, &actions);
    carry_out(w, who, &actions);
}

static void
show(struct world *w, int who)
{
    struct candidate *c = &w->candidates[who];
    struct election_moment m = moment_of(w, c);
    struct watch *watch = &c->watch;
    struct election_actions actions;
    bool opens = !watch->open;

    if (opens) { /* with the state of now */
        watch->open = true;
        watch->at = INT64_MAX;
        watch->version = w->version - 1;
        stir(w, watch);
    }
    watch->at = INT64_MAX;
    election_seen(c->election, &m, watch->exists ? &watch->shown.record : NULL,
                  &actions);
    carry_out(w, who, &actions);
    if (!opens)
        return;
    election_sight(c->election, &m, true, &actions);
    carry_out(w, who, &actions);
}

/* The server takes a request in. */
static void
apply(struct world *w, struct request *r)
{
    struct candidate *c = &w->candidates[r->from];
    struct election_answer answer = {.outcome = ELECTION_RECORD};
    bool waited = c->serial == r->serial;

    r->applied_at = INT64_MAX;
    if (w->now < w->refuses_until)
        answer.outcome = ELECTION_FAILED;
    else if (r->verb == ELECTION_CREATE && w->exists)
        answer.outcome = ELECTION_CONFLICT;
    else if (r->verb != ELECTION_CREATE && !w->exists)
        answer.outcome = ELECTION_ABSENT;
    else if (r->verb == ELECTION_UPDATE && r->version != w->version)
        answer.outcome = ELECTION_CONFLICT;
    else if (r->verb != ELECTION_GET) {
        copy_record(&w->lease, &r->record.record);
        w->exists = true;
        w->version++;
    }
    r->used = r->answered_at != INT64_MAX && waited;
    if (!waited)
        return;
    copy_record(&c->answer_record, &w->lease.record);
    answer.record = c->answer_record.record;
    c->answer = answer;
    c->answer_version = w->version;
}

static void
deliver(struct world *w, int who)
{
    struct candidate *c = &w->candidates[who];
    struct election_moment m = moment_of(w, c);
    struct election_actions actions;
    struct election_answer failure = {.outcome = ELECTION_FAILED};

    c->serial = 0;
    if (!c->answered) {
        election_answer(c->election, &m, &failure, &actions);
    } else {
        if (c->answer.outcome == ELECTION_RECORD)
            c->version = c->answer_version;
        election_answer(c->election, &m, &c->answer, &actions);
    }
    carry_out(w, who, &actions);
}

/* What can happen to a process, or to the Lease. */
static void
disturb(struct world *w)
{
    int who = (int)between(w, 0, CANDIDATES - 1);
    struct candidate *c = &w->candidates[who];
    struct election_actions actions;
    struct election_moment m = moment_of(w, c);

    switch (between(w, 0, 7)) {
    case 0:
        start(w, who, true);
        break;
    case 1:
    case 2:
        if (!c->stopping)
            start(w, who, false);
        break;
    case 3:
        c->stopped_until = w->now + between(w, 0, 30 * CLOCK_SECOND);
        break;
    case 4:
        c->stopping = true;
        election_stop(c->election, &m, &actions);
        carry_out(w, who, &actions);
        break;
    case 5: /* somebody sets a label */
        w->version++;
        break;
    case 6:
        w->refuses_until = w->now + between(w, 0, 20 * CLOCK_SECOND);
        break;
    case 7: /* somebody sets the clock */
        c->wall = between(w, -1000000, 1000000) * CLOCK_SECOND;
        break;
    }
}

static int64_t
earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When something is due for that candidate; a stopped process is late. */
static int64_t
due(const struct candidate *c)
{
    int64_t at = c->finished ? INT64_MAX : c->wakes_at;

    if (!c->finished && c->watch.follows)
        at = earlier(at, c->watch.at);
    if (c->serial != 0)
        at = earlier(at, c->answered ? 0 : c->times_out_at);
    return at < c->stopped_until ? c->stopped_until : at;
}

static int64_t
next_event(const struct world *w)
{
    int64_t at = INT64_MAX;

    for (int i = 0; i < CANDIDATES; i++)
        at = earlier(at, due(&w->candidates[i]));
    for (int i = 0; i < REQUESTS; i++)
        if (w->requests[i].used)
            at = earlier(at, earlier(w->requests[i].applied_at,
                                     w->requests[i].answered_at));
    return at > w->now ? at : w->now;
}

static void
run_requests(struct world *w)
{
    for (int i = 0; i < REQUESTS; i++) {
        struct request *r = &w->requests[i];
        struct candidate *c = &w->candidates[r->from];

        if (r->used && r->applied_at <= w->now)
            apply(w, r);
        if (r->used && r->answered_at <= w->now) {
            c->answered = c->answered || c->serial == r->serial;
            r->used = false;
        }
    }
}

static void
run_candidate(struct world *w, int who)
{
    struct candidate *c = &w->candidates[who];
    struct election_actions actions;
    struct election_moment m;

    if (due(c) > w->now)
        return;
    if (c->serial != 0 && (c->answered || c->times_out_at <= w->now)) {
        deliver(w, who);
        return;
    }
    if (c->watch.follows && c->watch.at <= w->now) {
        if (c->watch.open && w->trouble && chance(w, 10))
            break_off(w, who);
        else
            show(w, who);
        return;
    }
    m = moment_of(w, c);
    election_wake(c->election, &m, &actions);
    carry_out(w, who, &actions);
}

/* A candidate that has left comes back as a new process. */
static void
revive(struct world *w)
{
    for (int i = 0; i < CANDIDATES; i++)
        if (w->candidates[i].finished)
            start(w, i, true);
}

static void
run_until(struct world *w, int64_t end)
{
    int64_t disturbed_at = w->now;

    while (w->now < end) {
        w->now = earlier(next_event(w), w->trouble ? disturbed_at : end);
        if (w->trouble && w->now >= disturbed_at) {
            disturb(w);
            disturbed_at = w->now + between(w, 0, 12 * CLOCK_SECOND);
        }
        run_requests(w);
        for (int i = 0; i < CANDIDATES; i++)
            stir(w, &w->candidates[i].watch);
        for (int i = 0; i < CANDIDATES; i++)
            run_candidate(w, i);
        check_one_leader(w);
        revive(w);
    }
}

static void
begin(struct world *w, int number, uint64_t seed)
{
    *w = (struct world){.run = number, .chance = {seed}, .version = 1};
    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &w->candidates[i];

        c->skew = between(w, 1, 1000) * CLOCK_SECOND;
        c->speed = 1 + (double)between(w, -100, 100) / 10000;
        c->wall = between(w, -1000000, 1000000) * CLOCK_SECOND;
        start(w, i, true);
    }
}

static unsigned
run(int number, uint64_t seed)
{
    static struct world w;
    int leaders = 0;

    begin(&w, number, seed);
    w.trouble = true;
    run_until(&w, TROUBLE);
    w.trouble = false;
    run_until(&w, TROUBLE + PEACE);
    for (int i = 0; i < CANDIDATES; i++) {
        leaders += leads(&w, &w.candidates[i]);
        election_free(w.candidates[i].election);
    }
    if (leaders != 1)
        fail_msg("run %d: %d leaders in the end", number, leaders);
    return w.terms;
}

static void
test_never_two_leaders_and_one_in_the_end(void **state)
{
    struct seeded first = seeded_start("election");
    int runs = seeded_rounds(RUNS);
    unsigned terms = 0;

    (void)state;
    for (int i = 0; i < runs; i++)
        terms += run(i, seeded_next(&first));
    printf("%u terms in %d runs\n", terms, runs);
    assert_true(terms > (unsigned)runs);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_two_leaders_and_one_in_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
