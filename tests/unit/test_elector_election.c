/* SPDX-License-Identifier: Apache-2.0 */
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

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/elector/election.h"

/*
 * A candidate, driven by words:
 *
 *     wake contend stop                        events
 *     ours other free absent conflict failed   answers (other, other's renewal
 *                                              and so on carry a record)
 *     see-other see-free see-absent see-ours   what a watch shows
 *     sight blind                              a watch shows all, or does not
 *     +N                                       N tenths of a second go by
 *
 * Each word happens a tenth of a second after the one before.  What comes out
 * is written as text, times in seconds.
 */
struct candidate {
    struct election *election;
    int64_t now;
    double chance;
    struct lease_record sent; /* with the last create or update */
    struct election_actions actions;
};

static const struct election_config config = {
    .identity = "we",
    .lease_duration = 15 * CLOCK_SECOND,
    .renew_deadline = 10 * CLOCK_SECOND,
    .retry_period = 2 * CLOCK_SECOND,
};

#define START (100 * CLOCK_SECOND)
#define TENTH (CLOCK_SECOND / 10)

/* Our wall clock is a thousand seconds ahead of our other clock. */
#define WALL (1000 * CLOCK_SECOND)

static struct candidate
candidate_with(uint64_t term, int64_t deadline)
{
    return (struct candidate){
        .election = election_new(&config, term, deadline),
        .now = START,
        .chance = 0.5,
        .sent = {.holder = "we",
                 .duration = 15,
                 .acquired = 5,
                 .renewed = WALL + 95 * CLOCK_SECOND,
                 .transitions = 2},
    };
}

static struct election_moment
moment_of(const struct candidate *c)
{
    return (struct election_moment){c->now, c->now + WALL, c->chance};
}

static void
note_sent(struct candidate *c)
{
    for (size_t i = 0; i < c->actions.count; i++)
        if (c->actions.items[i].verb == ELECTION_CREATE ||
            c->actions.items[i].verb == ELECTION_UPDATE)
            c->sent = c->actions.items[i].record;
}

static void
answer(struct candidate *c, enum election_outcome outcome,
       const struct lease_record *record)
{
    struct election_moment m = moment_of(c);
    struct election_answer a = {.outcome = outcome};

    if (record != NULL)
        a.record = *record;
    election_answer(c->election, &m, &a, &c->actions);
}

static const struct lease_record other = {
    .holder = "other",
    .duration = 15,
    .acquired = 7,
    .renewed = 8,
    .transitions = 4,
};
static const struct lease_record nobody = {
    .holder = "",
    .duration = 1,
    .acquired = 7,
    .renewed = 8,
    .transitions = 4,
};

static void
say(struct candidate *c, const char *word)
{
    struct election_moment m;

    if (word[0] == '+') {
        c->now += atoi(word + 1) * TENTH;
        return;
    }
    c->now += TENTH;
    m = moment_of(c);
    if (strcmp(word, "wake") == 0)
        election_wake(c->election, &m, &c->actions);
    else if (strcmp(word, "contend") == 0)
        election_contend(c->election, &m, &c->actions);
    else if (strcmp(word, "stop") == 0)
        election_stop(c->election, &m, &c->actions);
    else if (strcmp(word, "see-other") == 0)
        election_seen(c->election, &m, &other, &c->actions);
    else if (strcmp(word, "see-free") == 0)
        election_seen(c->election, &m, &nobody, &c->actions);
    else if (strcmp(word, "see-absent") == 0)
        election_seen(c->election, &m, NULL, &c->actions);
    else if (strcmp(word, "see-ours") == 0)
        election_seen(c->election, &m, &c->sent, &c->actions);
    else if (strcmp(word, "sight") == 0 || strcmp(word, "blind") == 0)
        election_sight(c->election, &m, word[0] == 's', &c->actions);
    else if (strcmp(word, "ours") == 0) /* as we sent it */
        answer(c, ELECTION_RECORD, &c->sent);
    else if (strcmp(word, "other") == 0)
        answer(c, ELECTION_RECORD, &other);
    else if (strcmp(word, "free") == 0)
        answer(c, ELECTION_RECORD, &nobody);
    else if (strcmp(word, "absent") == 0)
        answer(c, ELECTION_ABSENT, NULL);
    else if (strcmp(word, "conflict") == 0)
        answer(c, ELECTION_CONFLICT, NULL);
    else if (strcmp(word, "failed") == 0)
        answer(c, ELECTION_FAILED, NULL);
    else
        fail_msg("no word %s", word);
    note_sent(c);
}

static void
say_all(struct candidate *c, const char *words)
{
    char *copy = mem_strdup(words);

    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        say(c, word);
    free(copy);
}

static void
put_record(struct buf *out, const struct lease_record *r)
{
    buf_printf(out, "(%s %" PRId64 "s", r->holder, r->duration);
    if (r->acquired > WALL)
        buf_printf(out, " since %.1f", (double)(r->acquired - WALL) / 1e9);
    else
        buf_printf(out, " since #%" PRId64, r->acquired);
    buf_printf(out, " at %.1f x%" PRId64 ")", (double)(r->renewed - WALL) / 1e9,
               r->transitions);
}

static void
put_action(struct buf *out, const struct election_action *a)
{
    static const char *const names[] = {
        [ELECTION_PUBLISH] = "publish",   [ELECTION_BEGAN] = "began",
        [ELECTION_ENDED] = "ended",       [ELECTION_OBSERVED] = "observed",
        [ELECTION_GET] = "get",           [ELECTION_CREATE] = "create",
        [ELECTION_UPDATE] = "update",     [ELECTION_CANCEL] = "cancel",
        [ELECTION_FINISHED] = "finished", [ELECTION_WAIT] = "wait",
        [ELECTION_FOLLOW] = "follow",     [ELECTION_UNFOLLOW] = "unfollow",
    };

    buf_addz(out, names[a->verb]);
    if (a->verb == ELECTION_CREATE || a->verb == ELECTION_UPDATE)
        put_record(out, &a->record);
    if (a->verb == ELECTION_OBSERVED)
        buf_printf(out, " %s", a->record.holder);
    if (a->verb == ELECTION_PUBLISH || a->verb == ELECTION_BEGAN ||
        a->verb == ELECTION_ENDED)
        buf_printf(out, " %" PRIu64, a->term);
    if (a->verb == ELECTION_PUBLISH)
        buf_printf(out, " %.1f", (double)a->time / 1e9);
    if (a->goes_on)
        buf_addz(out, " again");
    if (a->reason != NULL)
        buf_printf(out, " \"%s\"", a->reason);
    if (a->verb == ELECTION_WAIT && a->time == INT64_MAX)
        buf_addz(out, " ever");
    else if (a->verb == ELECTION_WAIT)
        buf_printf(out, " %.1f", (double)a->time / 1e9);
}

static char *
text_of(const struct election_actions *actions)
{
    struct buf out = {0};

    for (size_t i = 0; i < actions->count; i++) {
        buf_addz(&out, i == 0 ? "" : ", ");
        put_action(&out, &actions->items[i]);
    }
    return buf_take(&out);
}

/* The words are said; then the actions of the last one are as wanted. */
static void
expect(struct candidate *c, const char *words, const char *wanted)
{
    char *got;

    say_all(c, words);
    got = text_of(&c->actions);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s\n  gave   %s\n  wanted %s", words, got, wanted);
    free(got);
}

/* Every state, reached by the shortest way, with every event. */

enum event {
    WAKE,
    DUE,
    CONTEND,
    STOP,
    OURS,
    OTHER,
    FREE,
    ABSENT,
    CONFLICT,
    FAILED,
    FAILED_LATE,
    SEE_OTHER,
    SEE_FREE,
    SEE_ABSENT,
    SEE_OURS,
    SIGHT,
    BLIND,
    N_EVENTS
};

static const char *const events[N_EVENTS] = {
    [WAKE] = "wake",
    [DUE] = "+600 wake",
    [CONTEND] = "contend",
    [STOP] = "stop",
    [OURS] = "ours",
    [OTHER] = "other",
    [FREE] = "free",
    [ABSENT] = "absent",
    [CONFLICT] = "conflict",
    [FAILED] = "failed",
    [FAILED_LATE] = "+600 failed",
    [SEE_OTHER] = "see-other",
    [SEE_FREE] = "see-free",
    [SEE_ABSENT] = "see-absent",
    [SEE_OURS] = "see-ours",
    [SIGHT] = "sight",
    [BLIND] = "blind",
};

#define LATE "\"it could not be renewed in time\""
#define GIVEN_UP "\"no answer in time; the Lease is left to expire\""

struct state {
    const char *name;
    uint64_t term; /* of the page at the start */
    int64_t deadline;
    const char *way;
    const char *quiet; /* what every event gives that has no text of its own */
    const char *wanted[N_EVENTS];
};

static const struct state states[] = {
    {
        .name = "idle",
        .quiet = "wait ever",
        .wanted =
            {
                [CONTEND] = "get, wait ever",
                [STOP] = "finished, wait ever",
            },
    },
    {
        .name = "idle after a term",
        .term = 3,
        .quiet = "wait ever",
        .wanted =
            {
                [CONTEND] = "get, wait ever",
                [STOP] = "finished, wait ever",
            },
    },
    {
        .name = "restarted in a term",
        .term = 3,
        .deadline = START + 5 * CLOCK_SECOND,
        .way = "wake",
        .quiet = "wait 105.0",
        .wanted =
            {
                [DUE] = "publish 3 0.0, ended 3 " LATE ", wait ever",
                [CONTEND] = "get, wait 105.0",
                [STOP] = "publish 3 0.0, ended 3 \"stopping\", get, wait 110.2",
                [FAILED_LATE] = "publish 3 0.0, ended 3 " LATE ", wait ever",
            },
    },
    {
        .name = "restarted, reading",
        .term = 3,
        .deadline = START + 5 * CLOCK_SECOND,
        .way = "contend",
        .quiet = "wait 105.0",
        .wanted =
            {
                [DUE] = "publish 3 0.0, ended 3 " LATE ", wait ever",
                [STOP] = "publish 3 0.0, ended 3 \"stopping\", cancel, get, "
                         "wait 110.2",
                [OURS] = "observed we, update(we 15s since #5 at 100.2 x2), "
                         "wait 105.0",
                [OTHER] = "observed other, publish 3 0.0, ended 3 \"the Lease "
                          "is held by other\", follow, wait 103.4",
                [FREE] =
                    "publish 3 0.0, ended 3 \"the Lease was taken from us\", "
                    "update(we 15s since 100.2 at 100.2 x5), wait ever",
                [ABSENT] = "publish 3 0.0, ended 3 \"the Lease was deleted\", "
                           "create(we 15s since 100.2 at 100.2 x0), wait ever",
                [CONFLICT] = "get, wait 105.0",
                [FAILED] = "wait 102.1",
                [FAILED_LATE] = "publish 3 0.0, ended 3 " LATE ", wait 163.4",
            },
    },
    {
        .name = "reading",
        .way = "contend",
        .quiet = "wait ever",
        .wanted =
            {
                [STOP] = "cancel, finished, wait ever",
                [OURS] = "observed we, update(we 15s since #5 at 100.2 x2), "
                         "wait ever",
                [OTHER] = "observed other, follow, wait 103.4",
                [FREE] = "update(we 15s since 100.2 at 100.2 x5), wait ever",
                [ABSENT] = "create(we 15s since 100.2 at 100.2 x0), wait ever",
                [CONFLICT] = "get, wait ever",
                [FAILED] = "wait 103.4",
                [FAILED_LATE] = "wait 163.4",
            },
    },
    {
        .name = "creating",
        .way = "contend absent",
        .quiet = "wait ever",
        .wanted =
            {
                [STOP] = "wait 110.3",
                [OURS] = "observed we, publish 1 110.2, began 1, wait 102.1",
                [OTHER] = "observed other, follow, wait 103.5",
                [FREE] = "update(we 15s since 100.3 at 100.3 x5), wait ever",
                [ABSENT] = "wait 103.5",
                [CONFLICT] = "get, wait ever",
                [FAILED] = "wait 103.5",
                [FAILED_LATE] = "wait 163.5",
            },
    },
    {
        .name = "taking",
        .way = "contend free",
        .quiet = "wait ever",
        .wanted =
            {
                [STOP] = "wait 110.3",
                [OURS] = "observed we, publish 1 110.2, began 1, wait 102.1",
                [OTHER] = "observed other, follow, wait 103.5",
                [FREE] = "update(we 15s since 100.3 at 100.3 x5), wait ever",
                [ABSENT] = "create(we 15s since 100.3 at 100.3 x0), wait ever",
                [CONFLICT] = "get, wait ever",
                [FAILED] = "wait 103.5",
                [FAILED_LATE] = "wait 163.5",
            },
    },
    {
        .name = "standing by",
        .way = "contend other",
        .quiet = "wait 103.4",
        .wanted =
            {
                [DUE] = "get, wait ever",
                [STOP] = "unfollow, finished, wait ever",
                [SEE_OTHER] = "wait 103.5",
                [SEE_FREE] = "wait 100.3",
                [SEE_ABSENT] = "wait 100.3",
                [SEE_OURS] = "observed we, wait 100.3",
                [SIGHT] = "wait 115.2",
                [BLIND] = "wait 103.5",
            },
    },
    {
        .name = "standing by, watching",
        .way = "contend other sight",
        .quiet = "wait 115.2",
        .wanted =
            {
                [DUE] = "get, wait ever",
                [STOP] = "unfollow, finished, wait ever",
                [SEE_FREE] = "wait 100.5",
                [SEE_ABSENT] = "wait 100.5",
                [SEE_OURS] = "observed we, wait 100.5",
                [BLIND] = "wait 103.6",
            },
    },
    {
        .name = "standing by, watching, reading",
        .way = "contend other sight see-free +1 wake",
        .quiet = "wait ever",
        .wanted =
            {
                [STOP] = "unfollow, cancel, finished, wait ever",
                [OURS] = "observed we, update(we 15s since #5 at 100.7 x2), "
                         "wait ever",
                [OTHER] = "observed other, wait 115.8",
                [FREE] = "update(we 15s since 100.7 at 100.7 x5), wait ever",
                [ABSENT] = "create(we 15s since 100.7 at 100.7 x0), wait ever",
                [CONFLICT] = "get, wait ever",
                [FAILED] = "wait 103.9",
                [FAILED_LATE] = "wait 163.9",
            },
    },
    {
        .name = "standing by, reading",
        .way = "contend other +40 wake",
        .quiet = "wait ever",
        .wanted =
            {
                [STOP] = "unfollow, cancel, finished, wait ever",
                [OURS] = "observed we, update(we 15s since #5 at 104.4 x2), "
                         "wait ever",
                [OTHER] = "wait 107.6",
                [FREE] = "update(we 15s since 104.4 at 104.4 x5), wait ever",
                [ABSENT] = "create(we 15s since 104.4 at 104.4 x0), wait ever",
                [CONFLICT] = "get, wait ever",
                [FAILED] = "wait 107.6",
                [FAILED_LATE] = "wait 167.6",
            },
    },
    {
        .name = "standing by, taking",
        .way = "contend other sight see-free +1 wake free",
        .quiet = "wait ever",
        .wanted =
            {
                [STOP] = "unfollow, wait 110.8",
                [OURS] = "observed we, publish 1 110.7, began 1, unfollow, "
                         "wait 102.6",
                [OTHER] = "observed other, wait 115.8",
                [FREE] = "update(we 15s since 100.8 at 100.8 x5), wait ever",
                [ABSENT] = "create(we 15s since 100.8 at 100.8 x0), wait ever",
                [CONFLICT] = "get, wait ever",
                [FAILED] = "wait 104.0",
                [FAILED_LATE] = "wait 164.0",
            },
    },
    {
        .name = "leading",
        .way = "contend absent ours",
        .quiet = "wait 102.1",
        .wanted =
            {
                [DUE] = "publish 1 0.0, ended 1 " LATE ", get, wait ever",
                [STOP] = "publish 1 0.0, ended 1 \"stopping\", update( 1s "
                         "since 100.4 at 100.4 x0), wait 110.4",
                [FAILED_LATE] = "publish 1 0.0, ended 1 " LATE ", wait 102.1",
            },
    },
    {
        .name = "leading, renewing",
        .way = "contend absent ours +19 wake",
        .quiet = "wait 110.2",
        .wanted =
            {
                [DUE] = "publish 1 0.0, ended 1 " LATE ", wait ever",
                [STOP] = "publish 1 0.0, ended 1 \"stopping\", wait 112.4",
                [OURS] = "publish 1 112.3, wait 104.3",
                [OTHER] = "observed other, publish 1 0.0, ended 1 \"the Lease "
                          "is held by other\", follow, wait 105.6",
                [FREE] =
                    "publish 1 0.0, ended 1 \"the Lease was taken from us\", "
                    "update(we 15s since 102.4 at 102.4 x5), wait ever",
                [ABSENT] = "publish 1 0.0, ended 1 \"the Lease was deleted\", "
                           "create(we 15s since 102.4 at 102.4 x0), wait ever",
                [CONFLICT] = "get, wait 110.2",
                [FAILED] = "wait 104.3",
                [FAILED_LATE] = "publish 1 0.0, ended 1 " LATE ", wait 165.6",
            },
    },
    {
        .name = "leading, reading again",
        .way = "contend absent ours +19 wake conflict",
        .quiet = "wait 110.2",
        .wanted =
            {
                [DUE] = "publish 1 0.0, ended 1 " LATE ", wait ever",
                [STOP] = "publish 1 0.0, ended 1 \"stopping\", cancel, update( "
                         "1s since 102.5 at 102.5 x0), wait 112.5",
                [OURS] = "update(we 15s since 100.2 at 102.5 x0), wait 110.2",
                [OTHER] = "observed other, publish 1 0.0, ended 1 \"the Lease "
                          "is held by other\", follow, wait 105.7",
                [FREE] =
                    "publish 1 0.0, ended 1 \"the Lease was taken from us\", "
                    "update(we 15s since 102.5 at 102.5 x5), wait ever",
                [ABSENT] = "publish 1 0.0, ended 1 \"the Lease was deleted\", "
                           "create(we 15s since 102.5 at 102.5 x0), wait ever",
                [CONFLICT] = "wait 104.3",
                [FAILED] = "wait 104.3",
                [FAILED_LATE] = "publish 1 0.0, ended 1 " LATE ", wait 165.7",
            },
    },
    {
        .name = "leading, renewing again",
        .way = "contend absent ours +19 wake conflict ours",
        .quiet = "wait 110.2",
        .wanted =
            {
                [DUE] = "publish 1 0.0, ended 1 " LATE ", wait ever",
                [STOP] = "publish 1 0.0, ended 1 \"stopping\", wait 112.6",
                [OURS] = "publish 1 112.5, wait 104.3",
                [OTHER] = "observed other, publish 1 0.0, ended 1 \"the Lease "
                          "is held by other\", follow, wait 105.8",
                [FREE] =
                    "publish 1 0.0, ended 1 \"the Lease was taken from us\", "
                    "update(we 15s since 102.6 at 102.6 x5), wait ever",
                [ABSENT] = "publish 1 0.0, ended 1 \"the Lease was deleted\", "
                           "create(we 15s since 102.6 at 102.6 x0), wait ever",
                [CONFLICT] = "wait 104.3",
                [FAILED] = "wait 104.3",
                [FAILED_LATE] = "publish 1 0.0, ended 1 " LATE ", wait 165.8",
            },
    },
    {
        .name = "lost, waiting",
        .way = "contend absent ours +100 wake failed",
        .quiet = "wait 113.7",
        .wanted =
            {
                [DUE] = "get, wait ever",
                [STOP] = "update( 1s since 110.6 at 110.6 x0), wait 120.6",
            },
    },
    {
        .name = "stopped while creating",
        .way = "contend absent stop",
        .quiet = "wait 110.3",
        .wanted =
            {
                [DUE] = "cancel, finished " GIVEN_UP ", wait ever",
                [OURS] = "observed we, update( 1s since 100.4 at 100.4 x0), "
                         "wait 110.3",
                [OTHER] = "observed other, finished, wait ever",
                [FREE] = "finished, wait ever",
                [ABSENT] = "wait 102.1",
                [CONFLICT] = "get, wait 110.3",
                [FAILED] = "wait 102.1",
            },
    },
    {
        .name = "giving back",
        .way = "contend absent ours stop",
        .quiet = "wait 110.4",
        .wanted =
            {
                [DUE] = "cancel, finished " GIVEN_UP ", wait ever",
                [OURS] = "finished, wait ever",
                [OTHER] = "observed other, finished, wait ever",
                [FREE] = "finished, wait ever",
                [ABSENT] = "finished, wait ever",
                [CONFLICT] = "get, wait 110.4",
                [FAILED] = "wait 102.4",
            },
    },
    {
        .name = "giving back, reading",
        .way = "contend absent ours stop conflict",
        .quiet = "wait 110.4",
        .wanted =
            {
                [DUE] = "cancel, finished " GIVEN_UP ", wait ever",
                [OURS] = "finished, wait ever",
                [OTHER] = "observed other, finished, wait ever",
                [FREE] = "finished, wait ever",
                [ABSENT] = "finished, wait ever",
                [CONFLICT] = "wait 102.4",
                [FAILED] = "wait 102.4",
            },
    },
    {
        .name = "giving back, in doubt",
        .way = "contend absent ours stop failed",
        .quiet = "wait 102.4",
        .wanted =
            {
                [DUE] = "finished " GIVEN_UP ", wait ever",
            },
    },
    {
        .name = "finished",
        .way = "contend stop",
        .quiet = "wait ever",
    },
};

static void
check_cell(const struct state *state, enum event event)
{
    struct candidate c = candidate_with(state->term, state->deadline);
    const char *wanted = state->wanted[event];
    char *got;

    if (wanted == NULL)
        wanted = state->quiet;
    say_all(&c, state->way == NULL ? "" : state->way);
    say_all(&c, events[event]);
    got = text_of(&c.actions);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s, %s\n  gave   %s\n  wanted %s", state->name, events[event],
                 got, wanted);
    free(got);
    election_free(c.election);
}

static void
test_every_state_with_every_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < nitems(states); i++)
        for (unsigned event = 0; event < N_EVENTS; event++)
            check_cell(&states[i], (enum event)event);
}

/* The rules one by one. */

static void
test_D02_a_record_is_judged_by_our_clock_alone(void **state)
{
    struct candidate c = candidate_with(0, 0);
    struct lease_record stale = other;

    (void)state;
    /* Its times are an hour old, or ahead: it holds for 15 s from now. */
    stale.renewed = START + WALL - 3600 * CLOCK_SECOND;
    say_all(&c, "contend");
    answer(&c, ELECTION_RECORD, &stale);
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    say_all(&c, "+147 wake");
    answer(&c, ELECTION_RECORD, &stale);
    expect(&c, "", "wait 115.2");
    say_all(&c, "+31 wake");
    answer(&c, ELECTION_RECORD, &stale);
    expect(&c, "", "update(we 15s since 118.1 at 118.1 x5), wait ever");
    election_free(c.election);
}

static void
test_D02_a_renewed_record_holds_anew(void **state)
{
    struct candidate c = candidate_with(0, 0);
    struct lease_record record = other;

    (void)state;
    say_all(&c, "contend other +120 wake");
    record.renewed++;
    answer(&c, ELECTION_RECORD, &record);
    say_all(&c, "+140 wake");
    answer(&c, ELECTION_RECORD, &record);
    expect(&c, "", "wait 127.3");
    election_free(c.election);
}

/* Asks at that many tenths after the record was seen whether it is free. */
static bool
is_taken_after(int64_t duration, int tenths)
{
    struct candidate c = candidate_with(0, 0);
    struct lease_record record = other;
    char wait[32];
    bool taken;

    record.duration = duration;
    snprintf(wait, sizeof(wait), "+%d wake", tenths - 1);
    say_all(&c, "contend");
    answer(&c, ELECTION_RECORD, &record);
    say_all(&c, wait);
    answer(&c, ELECTION_RECORD, &record);
    taken = c.actions.items[0].verb == ELECTION_UPDATE;
    election_free(c.election);
    return taken;
}

static void
test_D03_a_record_holds_for_its_holders_duration(void **state)
{
    (void)state;
    assert_false(is_taken_after(40, 399));
    assert_true(is_taken_after(40, 400));
    assert_false(is_taken_after(4, 39));
    assert_true(is_taken_after(4, 40));
    assert_false(is_taken_after(3600, 35999));
    assert_true(is_taken_after(3600, 36000));
}

static void
test_D03_a_nonsense_duration_counts_as_ours(void **state)
{
    static const int64_t nonsense[] = {0, -1, INT32_MIN, 3601, INT32_MAX};

    (void)state;
    for (size_t i = 0; i < nitems(nonsense); i++) {
        assert_false(is_taken_after(nonsense[i], 149));
        assert_true(is_taken_after(nonsense[i], 150));
    }
}

static void
test_D04_the_deadline_counts_from_before_the_sending(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent +30");
    expect(&c, "ours", "observed we, publish 1 110.2, began 1, wait 102.1");
    expect(&c, "wake", "update(we 15s since 100.2 at 103.4 x0), wait 110.2");
    expect(&c, "+40 ours", "publish 1 113.4, wait 105.4");
    election_free(c.election);
}

static void
test_D04_the_deadline_ends_the_term_whatever_is_under_way(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake");
    expect(&c, "+79 wake", "wait 110.2");
    expect(&c, "wake", "publish 1 0.0, ended 1 " LATE ", wait ever");
    assert_int_equal(election_view(c.election), ELECTION_WAITING);
    assert_int_equal(election_term(c.election), 0);
    election_free(c.election);
}

/* The answer comes when the term is over: the Lease is ours still, but what
 * follows is another term, and only for what is left of it. */
static void
test_a_late_success_begins_a_new_term(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake +82 wake");
    expect(&c, "ours", "publish 2 112.1, began 2, wait 104.1");
    election_free(c.election);
}

static void
test_a_success_later_than_its_own_deadline_is_no_term(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent +99");
    expect(&c, "ours", "observed we, wait 102.1");
    assert_int_equal(election_view(c.election), ELECTION_WAITING);
    expect(&c, "wake", "get, wait ever");
    election_free(c.election);
}

static void
test_D06_a_conflict_is_read_and_not_overwritten(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake");
    expect(&c, "conflict", "get, wait 110.2");
    expect(&c, "other",
           "observed other, publish 1 0.0, ended 1 \"the Lease is held by "
           "other\", follow, wait 105.5");
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    /* Its holder has its full time from now. */
    expect(&c, "+31 wake other", "wait 108.8");
    expect(&c, "+32 wake other", "wait 112.2");
    expect(&c, "+32 wake other", "wait 115.6");
    expect(&c, "+32 wake other", "wait 117.3");
    expect(&c, "+32 wake other",
           "update(we 15s since 119.2 at 119.2 x5), wait ever");
    election_free(c.election);
}

static void
test_D06_a_conflict_that_left_us_the_holder_changes_nothing(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake conflict");
    expect(&c, "ours", "update(we 15s since 100.2 at 102.3 x0), wait 110.2");
    expect(&c, "ours", "publish 1 112.3, wait 104.1");
    election_free(c.election);
}

static void
test_D06_conflicts_without_end_are_no_hot_loop(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake");
    expect(&c, "conflict ours conflict", "wait 104.1");
    say_all(&c, "+600");
    election_free(c.election);
    c = candidate_with(0, 0);
    expect(&c, "contend free conflict free conflict", "wait 103.7");
    election_free(c.election);
}

static void
test_D07_a_release_comes_after_the_end_of_the_term(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend free ours");
    expect(&c, "stop",
           "publish 1 0.0, ended 1 \"stopping\", update( 1s since 100.4 at "
           "100.4 x5), wait 110.4");
    assert_int_equal(election_view(c.election), ELECTION_STOPPED);
    expect(&c, "ours", "finished, wait ever");
    election_free(c.election);
}

static void
test_D07_a_release_never_unseats_another(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours stop conflict");
    expect(&c, "other", "observed other, finished, wait ever");
    election_free(c.election);
}

static void
test_D07_a_release_goes_by_the_renewal_under_way(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake");
    expect(&c, "stop", "publish 1 0.0, ended 1 \"stopping\", wait 112.2");
    expect(&c, "ours", "update( 1s since 102.3 at 102.3 x0), wait 112.2");
    election_free(c.election);
}

static void
test_D07_a_release_without_an_answer_is_looked_after(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours stop");
    expect(&c, "failed", "wait 102.4");
    expect(&c, "+20 wake", "get, wait 110.4");
    expect(&c, "free", "finished, wait ever");
    election_free(c.election);
}

static void
test_L09_what_was_won_after_the_stop_is_given_back(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend free stop");
    expect(&c, "ours",
           "observed we, update( 1s since 100.4 at 100.4 x5), wait 110.3");
    expect(&c, "ours", "finished, wait ever");
    election_free(c.election);
}

static void
test_a_restart_goes_on_in_the_same_term(void **state)
{
    struct candidate c = candidate_with(7, START + 6 * CLOCK_SECOND);

    (void)state;
    say_all(&c, "wake");
    assert_int_equal(election_view(c.election), ELECTION_LEADER);
    assert_int_equal(election_term(c.election), 7);
    expect(&c, "contend", "get, wait 106.0");
    expect(&c, "ours",
           "observed we, update(we 15s since #5 at 100.3 x2), wait 106.0");
    expect(&c, "ours", "publish 7 110.3, began 7 again, wait 102.2");
    election_free(c.election);
}

static void
test_a_restart_after_the_deadline_says_that_the_term_is_over(void **state)
{
    struct candidate c = candidate_with(7, START - CLOCK_SECOND);

    (void)state;
    expect(&c, "wake", "publish 7 0.0, ended 7 " LATE ", wait ever");
    assert_int_equal(election_view(c.election), ELECTION_STOPPED);
    say_all(&c, "contend ours");
    expect(&c, "ours", "publish 8 110.3, began 8, wait 102.2");
    election_free(c.election);
}

static void
test_a_restart_finds_another_holder(void **state)
{
    struct candidate c = candidate_with(7, START + 6 * CLOCK_SECOND);

    (void)state;
    say_all(&c, "contend");
    expect(&c, "other",
           "observed other, publish 7 0.0, ended 7 \"the Lease is held by "
           "other\", follow, wait 103.4");
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    election_free(c.election);
}

static void
test_no_request_before_contend(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    expect(&c, "wake +600 wake +600 wake", "wait ever");
    election_free(c.election);
    c = candidate_with(3, START + 6 * CLOCK_SECOND);
    expect(&c, "wake", "wait 106.0");
    election_free(c.election);
}

static void
test_transitions_and_acquire_time_change_with_the_holder_only(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    expect(&c, "contend other +150 wake other",
           "update(we 15s since 115.4 at 115.4 x5), wait ever");
    say_all(&c, "ours +20");
    expect(&c, "wake", "update(we 15s since 115.4 at 117.6 x5), wait 125.4");
    election_free(c.election);
}

static void
test_a_candidate_waits_one_to_2_2_retry_periods(void **state)
{
    static const struct {
        double chance;
        const char *wanted;
    } cases[] = {
        {0, "observed other, follow, wait 102.2"},
        {0.5, "observed other, follow, wait 103.4"},
        {0.999999, "observed other, follow, wait 104.6"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct candidate c = candidate_with(0, 0);

        c.chance = cases[i].chance;
        expect(&c, "contend other", cases[i].wanted);
        election_free(c.election);
    }
}

static void
test_2_6_a_release_that_is_seen_is_looked_at_at_once(void **state)
{
    static const struct {
        double chance;
        const char *wanted;
    } cases[] = {{0, "wait 105.5"}, {0.999999, "wait 105.6"}};

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct candidate c = candidate_with(0, 0);

        say_all(&c, "contend other sight");
        c.chance = cases[i].chance;
        expect(&c, "+51 see-free", cases[i].wanted);
        expect(&c, "wake", "get, wait ever");
        expect(&c, "free", "update(we 15s since 105.7 at 105.7 x5), wait ever");
        election_free(c.election);
    }
}

static void
test_2_6_who_watches_reads_no_more_than_once_in_a_duration(void **state)
{
    struct candidate c = candidate_with(0, 0);
    struct lease_record record = other;
    struct election_moment m;

    (void)state;
    say_all(&c, "contend other sight");
    for (int i = 0; i < 50; i++) { /* renewals, two seconds apart */
        c.now += 2 * CLOCK_SECOND;
        m = moment_of(&c);
        record.renewed++;
        election_seen(c.election, &m, &record, &c.actions);
        assert_int_equal(c.actions.count, 1);
        election_wake(c.election, &m, &c.actions);
        assert_int_equal(c.actions.count, 1);
    }
    /* None comes any more: it is read at its expiry, and taken if it stands. */
    expect(&c, "+148 wake", "wait 215.3");
    expect(&c, "+1 wake", "get, wait ever");
    answer(&c, ELECTION_RECORD, &record);
    expect(&c, "", "update(we 15s since 215.4 at 215.4 x5), wait ever");
    election_free(c.election);
}

static void
test_2_6_without_a_watch_an_expiry_is_not_slept_through(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    c.chance = 0.999999;
    /* Read 14 s after it changed, the next poll would be at 118.8. */
    expect(&c, "contend other +138 wake other", "wait 115.3");
    election_free(c.election);
}

static void
test_2_6_what_is_seen_during_a_read_is_read_again(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    /* The release comes by the watch while an older answer is on its way. */
    say_all(&c, "contend other sight see-absent +1 wake");
    expect(&c, "see-free", "wait ever");
    expect(&c, "other", "observed other, wait 100.8");
    expect(&c, "+1 wake", "get, wait ever");
    expect(&c, "other", "wait 115.8"); /* once */
    election_free(c.election);
}

static void
test_L10_a_leader_goes_by_its_own_answers_alone(void **state)
{
    static const char *const shown[] = {"see-other", "see-free", "see-absent"};

    (void)state;
    for (size_t i = 0; i < nitems(shown); i++) {
        struct candidate c = candidate_with(0, 0);

        say_all(&c, "contend other sight see-free +1 wake free ours");
        expect(&c, shown[i], "wait 102.6");
        assert_int_equal(election_view(c.election), ELECTION_LEADER);
        expect(&c, "+18 wake",
               "update(we 15s since 100.7 at 102.8 x5), wait 110.7");
        election_free(c.election);
    }
}

/* Sleep of a machine: its clock goes on, its processes do not. */
static void
test_a_leader_that_slept_past_its_deadline_ends_its_term_first(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours");
    expect(&c, "+36000 wake",
           "publish 1 0.0, ended 1 " LATE ", get, wait ever");
    expect(&c, "other", "observed other, follow, wait 3703.7");
    election_free(c.election);
}

static void
test_a_standby_that_slept_reads_before_it_takes(void **state)
{
    struct candidate c = candidate_with(0, 0);
    struct lease_record record = other;

    (void)state;
    say_all(&c, "contend other sight");
    expect(&c, "+36000 wake", "get, wait ever");
    record.renewed++; /* its holder has been awake */
    answer(&c, ELECTION_RECORD, &record);
    expect(&c, "", "wait 3715.4");
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    election_free(c.election);
}

/* The server takes 9 s for a renewal; the request is ended before that. */
static void
test_a_slow_renewal_costs_no_term_and_slow_ones_cost_one(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +18 wake +48 failed");
    expect(&c, "wake", "update(we 15s since 100.2 at 107.2 x0), wait 110.2");
    expect(&c, "conflict", "get, wait 110.2"); /* it was done, late */
    expect(&c, "ours", "update(we 15s since 100.2 at 107.4 x0), wait 110.2");
    expect(&c, "ours", "publish 1 117.4, wait 109.2");
    say_all(&c, "+18 wake +48 failed wake");
    expect(&c, "+30 wake", "publish 1 0.0, ended 1 " LATE ", wait ever");
    election_free(c.election);
}

static void
test_a_failing_leader_keeps_the_beat(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend absent ours +17 wake");
    expect(&c, "failed", "wait 104.1");
    expect(&c, "+18 wake",
           "update(we 15s since 100.2 at 104.1 x0), wait 110.2");
    /* One that took longer than the period is followed at once. */
    expect(&c, "+49 failed", "wait 109.1");
    expect(&c, "wake", "update(we 15s since 100.2 at 109.2 x0), wait 110.2");
    expect(&c, "ours", "publish 1 119.2, wait 111.2");
    election_free(c.election);
}

static int64_t
rest_after(struct candidate *c, const char *words, int64_t asked)
{
    struct election_answer a = {ELECTION_FAILED, {0}, asked};
    struct election_moment m;

    say_all(c, words);
    m = moment_of(c);
    election_answer(c->election, &m, &a, &c->actions);
    election_free(c->election);
    return c->actions.items[c->actions.count - 1].time - c->now;
}

static void
test_retry_after_is_followed_up_to_a_retry_period(void **state)
{
    static const char renewing[] = "contend absent ours +17 wake +18";
    struct candidate c = candidate_with(0, 0);

    (void)state;
    assert_int_equal(rest_after(&c, renewing, 0), 2 * TENTH);
    c = candidate_with(0, 0);
    assert_int_equal(rest_after(&c, renewing, CLOCK_SECOND), CLOCK_SECOND);
    c = candidate_with(0, 0);
    assert_int_equal(rest_after(&c, renewing, 60 * CLOCK_SECOND),
                     2 * CLOCK_SECOND);
}

static void
test_a_deleted_lease_ends_the_term(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend free ours +17 wake");
    expect(&c, "absent",
           "publish 1 0.0, ended 1 \"the Lease was deleted\", create(we 15s "
           "since 102.2 at 102.2 x0), wait ever");
    expect(&c, "ours", "observed we, publish 2 112.2, began 2, wait 104.1");
    election_free(c.election);
}

static void
test_a_write_that_comes_back_with_another_holder_is_no_term(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    expect(&c, "contend absent other", "observed other, follow, wait 103.5");
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    election_free(c.election);
}

static void
test_a_leader_is_never_made_a_standby_but_by_its_terms_end(void **state)
{
    struct candidate c = candidate_with(0, 0);

    (void)state;
    say_all(&c, "contend");
    assert_int_equal(election_view(c.election), ELECTION_WAITING);
    say_all(&c, "other");
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    say_all(&c, "+31 wake free");
    assert_int_equal(election_view(c.election), ELECTION_STANDBY);
    say_all(&c, "ours");
    assert_int_equal(election_view(c.election), ELECTION_LEADER);
    say_all(&c, "+17 wake failed");
    assert_int_equal(election_view(c.election), ELECTION_LEADER);
    say_all(&c, "stop");
    assert_int_equal(election_view(c.election), ELECTION_STOPPED);
    say_all(&c, "ours other wake");
    assert_int_equal(election_view(c.election), ELECTION_STOPPED);
    election_free(c.election);
}

static void
test_a_part_of_a_second_is_rounded_up(void **state)
{
    struct election_config short_config = config;
    struct candidate c = {.now = START};

    (void)state;
    short_config.lease_duration = CLOCK_SECOND + 1;
    c.election = election_new(&short_config, 0, 0);
    expect(&c, "contend absent",
           "create(we 2s since 100.2 at 100.2 x0), wait "
           "ever");
    election_free(c.election);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state_with_every_event),
        cmocka_unit_test(test_D02_a_record_is_judged_by_our_clock_alone),
        cmocka_unit_test(test_D02_a_renewed_record_holds_anew),
        cmocka_unit_test(test_D03_a_record_holds_for_its_holders_duration),
        cmocka_unit_test(test_D03_a_nonsense_duration_counts_as_ours),
        cmocka_unit_test(test_D04_the_deadline_counts_from_before_the_sending),
        cmocka_unit_test(
            test_D04_the_deadline_ends_the_term_whatever_is_under_way),
        cmocka_unit_test(test_a_late_success_begins_a_new_term),
        cmocka_unit_test(test_a_success_later_than_its_own_deadline_is_no_term),
        cmocka_unit_test(test_D06_a_conflict_is_read_and_not_overwritten),
        cmocka_unit_test(
            test_D06_a_conflict_that_left_us_the_holder_changes_nothing),
        cmocka_unit_test(test_D06_conflicts_without_end_are_no_hot_loop),
        cmocka_unit_test(test_D07_a_release_comes_after_the_end_of_the_term),
        cmocka_unit_test(test_D07_a_release_never_unseats_another),
        cmocka_unit_test(test_D07_a_release_goes_by_the_renewal_under_way),
        cmocka_unit_test(test_D07_a_release_without_an_answer_is_looked_after),
        cmocka_unit_test(test_L09_what_was_won_after_the_stop_is_given_back),
        cmocka_unit_test(test_a_restart_goes_on_in_the_same_term),
        cmocka_unit_test(
            test_a_restart_after_the_deadline_says_that_the_term_is_over),
        cmocka_unit_test(test_a_restart_finds_another_holder),
        cmocka_unit_test(test_no_request_before_contend),
        cmocka_unit_test(
            test_transitions_and_acquire_time_change_with_the_holder_only),
        cmocka_unit_test(test_a_candidate_waits_one_to_2_2_retry_periods),
        cmocka_unit_test(test_2_6_a_release_that_is_seen_is_looked_at_at_once),
        cmocka_unit_test(
            test_2_6_who_watches_reads_no_more_than_once_in_a_duration),
        cmocka_unit_test(
            test_2_6_without_a_watch_an_expiry_is_not_slept_through),
        cmocka_unit_test(test_2_6_what_is_seen_during_a_read_is_read_again),
        cmocka_unit_test(test_L10_a_leader_goes_by_its_own_answers_alone),
        cmocka_unit_test(
            test_a_leader_that_slept_past_its_deadline_ends_its_term_first),
        cmocka_unit_test(test_a_standby_that_slept_reads_before_it_takes),
        cmocka_unit_test(
            test_a_slow_renewal_costs_no_term_and_slow_ones_cost_one),
        cmocka_unit_test(test_a_failing_leader_keeps_the_beat),
        cmocka_unit_test(test_retry_after_is_followed_up_to_a_retry_period),
        cmocka_unit_test(test_a_deleted_lease_ends_the_term),
        cmocka_unit_test(
            test_a_write_that_comes_back_with_another_holder_is_no_term),
        cmocka_unit_test(
            test_a_leader_is_never_made_a_standby_but_by_its_terms_end),
        cmocka_unit_test(test_a_part_of_a_second_is_rounded_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
