/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/watch.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"

/* Back-off: the first wait, the longest, and the longest where people are
 * likely to be mending what is wrong. */
#define FIRST_WAIT (800 * CLOCK_MS)
#define LONGEST_WAIT (30 * CLOCK_SECOND)
#define MENDING_WAIT (4 * CLOCK_SECOND)

/* A watch open for so long ends a series of failures. */
#define HEALTHY (120 * CLOCK_SECOND)

/* One that ends sooner than this without an event counts as a failure. */
#define SHORT CLOCK_SECOND

/* A header that does not come within this time never will. */
#define OPENING_LIMIT (30 * CLOCK_SECOND)

/* A list that brings nothing for so long is given up; so soon at first if
 * somebody waits for it. */
#define LIST_SILENCE (60 * CLOCK_SECOND)
#define HURRIED_SILENCE (10 * CLOCK_SECOND)

/* A streaming list that brings nothing for so long, or is not complete after so
 * long, never will be. */
#define FILLING_SILENCE (10 * CLOCK_SECOND)
#define FILLING_LIMIT (120 * CLOCK_SECOND)

/* Streaming lists that break off in a row before pages are tried instead. */
#define BREAKS 2

/* Up to so long before a watch that ended well is opened again. */
#define REOPEN_JITTER (500 * CLOCK_MS)

/* Who answers only so long after a watch was cut may have been restored from a
 * backup meanwhile: nobody does that faster.  Another server behind the same
 * address, or one that only restarts behind a busy proxy, is there before. */
#define LOST (5 * CLOCK_SECOND)

/* Watches ask to be ended after 5 to 10 minutes. */
#define WATCH_SECONDS 300

struct watch {
    enum watch_state state;
    char *version;   /* newest seen */
    char *snapshot;  /* of the list under way, from its first page */
    char *more;      /* its next page */
    bool whole;      /* the next list is to be in one piece */
    int64_t silence; /* of the server that lists are given up after */
    bool paged;      /* lists come in pages: streaming ones are not offered */
    unsigned breaks; /* streaming lists that broke off in a row */
    unsigned failures;
    bool open;         /* a watch is, since: */
    int64_t opened_at; /* clock_now() */
    int64_t lost_at;   /* since when nobody answers; 0: somebody did */
    bool tried;        /* to open it again since then, in vain */
    bool heard;        /* something came on it */
    bool expired;      /* a version did, and nothing came since */
};

struct step {
    struct watch *w;
    const struct watch_event *event;
    struct watch_todo todo;
};

typedef void transition(struct step *s);

static void
set_text(char **text, struct str value)
{
    free(*text);
    *text = value.n == 0 ? NULL : mem_dup(value.s, value.n);
}

static void
forget(char **text)
{
    set_text(text, STR(""));
}

static void
forget_all(struct watch *w)
{
    forget(&w->version);
    forget(&w->snapshot);
    forget(&w->more);
    w->whole = false;
}

/* A part of at most: 0 up to (not including) all of it. */
static int64_t
random_part(const struct step *s, int64_t all)
{
    return (int64_t)((double)all * s->event->dice / 4294967296.0);
}

static void
wait_then(struct step *s, enum watch_state next, int64_t wait)
{
    s->w->state = next;
    s->todo.actions |= WATCH_DO_WAIT;
    s->todo.wait = wait;
}

static void
close_watch(struct step *s)
{
    struct watch *w = s->w;

    if (w->open && s->event->now - w->opened_at >= HEALTHY) {
        w->failures = 0;
        w->expired = false;
    }
    w->open = false;
    s->todo.actions |= WATCH_DO_CANCEL;
}

/* The next wait of a series: twice the one before up to longest, and of that
 * the upper half at random.  What the server asks for is the least. */
static int64_t
back_off(struct step *s, int64_t longest)
{
    int64_t base = FIRST_WAIT << s->w->failures;
    int64_t wait;

    if (base < longest)
        s->w->failures++;
    else
        base = longest;
    wait = base / 2 + random_part(s, base / 2);
    if (s->event->retry_after > 0 && s->event->retry_after > wait)
        wait = s->event->retry_after + random_part(s, CLOCK_SECOND);
    return wait;
}

static void
fail(struct step *s, enum watch_state next)
{
    bool mending =
        s->event->type == WATCH_DENIED || s->event->type == WATCH_MISSING;

    close_watch(s);
    if (s->w->silence < LIST_SILENCE / 2)
        s->w->silence *= 2;
    else
        s->w->silence = LIST_SILENCE;
    wait_then(s, next, back_off(s, mending ? MENDING_WAIT : LONGEST_WAIT));
}

static void
ask_page(struct step *s)
{
    struct watch *w = s->w;

    if (w->more == NULL)
        s->todo.actions |= WATCH_DO_BEGIN;
    s->todo.actions |= WATCH_DO_LIST;
    w->state = WATCH_LISTING;
}

static void
ask_watch(struct step *s, enum watch_action how, enum watch_state next)
{
    int64_t limit = OPENING_LIMIT;

    if (how == WATCH_DO_STREAM && s->w->silence < limit)
        limit = s->w->silence;
    s->todo.actions |= how;
    s->todo.seconds = WATCH_SECONDS + s->event->dice % (WATCH_SECONDS + 1);
    wait_then(s, next, limit);
}

static void
ask_list(struct step *s)
{
    const struct watch *w = s->w;

    if (w->paged || w->whole || w->more != NULL) {
        ask_page(s);
        return;
    }
    s->todo.actions |= WATCH_DO_BEGIN;
    ask_watch(s, WATCH_DO_STREAM, WATCH_ASKING);
}

static void
on_stop(struct step *s)
{
    struct watch *w = s->w;

    close_watch(s);
    forget_all(w);
    w->lost_at = 0;
    w->expired = false;
    w->failures = 0;
    w->state = WATCH_IDLE;
}

/* The version of a paged list is that of its first page. */
static void
note_snapshot(struct step *s)
{
    if (s->w->more == NULL)
        set_text(&s->w->snapshot, s->event->version);
}

static void
on_page(struct step *s)
{
    note_snapshot(s);
    set_text(&s->w->more, s->event->more);
    ask_page(s);
}

static void
on_listed(struct step *s)
{
    struct watch *w = s->w;

    note_snapshot(s);
    free(w->version);
    w->version = w->snapshot;
    w->snapshot = NULL;
    forget(&w->more);
    w->whole = false;
    w->silence = LIST_SILENCE;
    w->lost_at = 0;
    s->todo.actions |= WATCH_DO_END;
    ask_watch(s, WATCH_DO_WATCH, WATCH_OPENING);
}

static void
on_opened(struct step *s)
{
    s->w->state = WATCH_WATCHING;
    s->w->open = true;
    s->w->opened_at = s->event->now;
    s->w->lost_at = 0;
    s->w->heard = false;
}

/* --- streaming lists --- */

/* As long as objects come it may become complete, within reason. */
static void
wait_filling(struct step *s)
{
    int64_t left = s->w->opened_at + FILLING_LIMIT - s->event->now;

    if (left > FILLING_SILENCE)
        left = FILLING_SILENCE;
    wait_then(s, WATCH_FILLING, left > 0 ? left : 0);
}

static void
on_filling(struct step *s)
{
    on_opened(s);
    wait_filling(s);
}

/* Objects of the list have versions in no order: none is where it stands. */
static void
on_part(struct step *s)
{
    s->w->heard = true;
    wait_filling(s);
}

/* The server is well, it only does not offer this: pages, at once. */
static void
use_pages(struct step *s)
{
    s->w->paged = true;
    close_watch(s);
    ask_page(s);
}

static void
on_filled(struct step *s)
{
    struct watch *w = s->w;

    set_text(&w->version, s->event->version);
    w->heard = true;
    w->expired = false;
    w->silence = LIST_SILENCE;
    w->breaks = 0;
    w->state = WATCH_WATCHING;
    s->todo.actions |= WATCH_DO_END;
}

/* Once is an accident. */
static void
on_filling_broken(struct step *s)
{
    struct watch *w = s->w;

    w->breaks++;
    if (w->breaks >= BREAKS)
        w->paged = true;
    fail(s, WATCH_TO_LIST);
}

/* --- the watch --- */

static void
on_news(struct step *s)
{
    s->w->heard = true;
    s->w->expired = false;
    if (s->event->version.n > 0)
        set_text(&s->w->version, s->event->version);
}

static void
on_ended(struct step *s)
{
    const struct watch *w = s->w;

    if (!w->heard && s->event->now - w->opened_at < SHORT) {
        fail(s, WATCH_TO_WATCH);
        return;
    }
    close_watch(s);
    wait_then(s, WATCH_TO_WATCH, random_part(s, REOPEN_JITTER));
}

/* The same request again, later: the page that failed, from its token. */
static void
list_later(struct step *s)
{
    fail(s, WATCH_TO_LIST);
}

static void
watch_later(struct step *s)
{
    if (s->w->state == WATCH_OPENING)
        s->w->tried = true;
    fail(s, WATCH_TO_WATCH);
}

static void
watch_lost(struct step *s)
{
    if (s->w->lost_at == 0) {
        s->w->lost_at = s->event->now;
        s->w->tried = false;
    }
    watch_later(s);
}

static void
list_anew(struct step *s)
{
    forget(&s->w->more);
    fail(s, WATCH_TO_LIST);
}

/* As list_anew, from whatever version the server has. */
static void
list_any(struct step *s)
{
    forget(&s->w->version);
    list_anew(s);
}

/* A version expires now and then, and the server that says so is well: the
 * first time is no failure. */
static void
expire(struct step *s)
{
    struct watch *w = s->w;

    forget(&w->more);
    if (w->expired) {
        fail(s, WATCH_TO_LIST);
        return;
    }
    close_watch(s);
    w->expired = true;
    wait_then(s, WATCH_TO_LIST, random_part(s, REOPEN_JITTER));
}

/* Of the token: the whole list at once.  Of the version: without it. */
static void
on_list_expired(struct step *s)
{
    if (s->w->more != NULL)
        s->w->whole = true;
    else
        forget(&s->w->version);
    expire(s);
}

static void
refresh(struct step *s)
{
    close_watch(s);
    forget_all(s->w);
    s->w->silence = HURRIED_SILENCE;
    ask_list(s);
}

/* The list that is waited for will be such a one. */
static void
refresh_later(struct step *s)
{
    forget_all(s->w);
    s->w->silence = HURRIED_SILENCE;
}

static void
on_timer_list(struct step *s)
{
    ask_list(s);
}

static void
on_timer_watch(struct step *s)
{
    const struct watch *w = s->w;

    if (w->lost_at != 0 && w->tried && s->event->now - w->lost_at >= LOST) {
        ask_list(s);
        return;
    }
    ask_watch(s, WATCH_DO_WATCH, WATCH_OPENING);
}

static transition *const table[WATCH_STATES][WATCH_EVENTS] = {
    [WATCH_IDLE] =
        {
            [WATCH_START] = ask_list,
        },
    [WATCH_LISTING] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh,
            [WATCH_PAGE] = on_page,
            [WATCH_LISTED] = on_listed,
            [WATCH_EXPIRED] = on_list_expired,
            [WATCH_TOO_NEW] = list_any,
            [WATCH_DENIED] = list_later,
            [WATCH_MISSING] = list_anew,
            [WATCH_BUSY] = list_later,
            [WATCH_CUT] = list_later,
            [WATCH_GARBLED] = list_any,
        },
    [WATCH_OPENING] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh,
            [WATCH_OPENED] = on_opened,
            [WATCH_ENDED] = watch_later,
            [WATCH_EXPIRED] = expire,
            [WATCH_TOO_NEW] = list_any,
            [WATCH_DENIED] = watch_later,
            [WATCH_MISSING] = list_anew,
            [WATCH_BUSY] = watch_later,
            [WATCH_CUT] = watch_lost,
            [WATCH_GARBLED] = list_anew,
            [WATCH_TIMER] = watch_later,
        },
    [WATCH_WATCHING] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh,
            [WATCH_CHANGE] = on_news,
            [WATCH_BOOKMARK] = on_news,
            [WATCH_FILLED] = on_news,
            [WATCH_ENDED] = on_ended,
            [WATCH_EXPIRED] = expire,
            [WATCH_TOO_NEW] = list_any,
            [WATCH_DENIED] = watch_later,
            [WATCH_MISSING] = list_anew,
            [WATCH_BUSY] = watch_later,
            [WATCH_CUT] = watch_lost,
            [WATCH_GARBLED] = list_anew,
        },
    [WATCH_ASKING] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh,
            [WATCH_OPENED] = on_filling,
            [WATCH_ENDED] = list_later,
            [WATCH_EXPIRED] = on_list_expired,
            [WATCH_TOO_NEW] = list_any,
            [WATCH_DENIED] = list_later,
            [WATCH_MISSING] = list_later,
            [WATCH_BUSY] = list_later,
            [WATCH_CUT] = list_later,
            [WATCH_GARBLED] = use_pages,
            [WATCH_TIMER] = list_later,
        },
    [WATCH_FILLING] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh,
            [WATCH_CHANGE] = on_part,
            [WATCH_BOOKMARK] = on_part,
            [WATCH_FILLED] = on_filled,
            [WATCH_ENDED] = on_filling_broken,
            [WATCH_EXPIRED] = on_list_expired,
            [WATCH_TOO_NEW] = list_any,
            [WATCH_DENIED] = list_later,
            [WATCH_MISSING] = list_later,
            [WATCH_BUSY] = list_later,
            [WATCH_CUT] = on_filling_broken,
            [WATCH_GARBLED] = use_pages,
            [WATCH_TIMER] = use_pages,
        },
    [WATCH_TO_LIST] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh_later,
            [WATCH_TIMER] = on_timer_list,
        },
    [WATCH_TO_WATCH] =
        {
            [WATCH_STOP] = on_stop,
            [WATCH_REFRESH] = refresh,
            [WATCH_TIMER] = on_timer_watch,
        },
};

struct watch *
watch_new(void)
{
    struct watch *w = mem_zalloc(sizeof(*w));

    w->silence = LIST_SILENCE;
    return w;
}

void
watch_free(struct watch *w)
{
    if (w == NULL)
        return;
    free(w->version);
    free(w->snapshot);
    free(w->more);
    free(w);
}

struct watch_todo
watch_step(struct watch *w, const struct watch_event *event)
{
    struct step s = {.w = w, .event = event};
    transition *const t = table[w->state][event->type];

    if (t != NULL)
        t(&s);
    s.todo.version = w->version;
    s.todo.more = w->more;
    s.todo.whole = w->whole;
    s.todo.silence = w->silence;
    return s.todo;
}

enum watch_state
watch_state(const struct watch *w)
{
    return w->state;
}

bool
watch_is_paged(const struct watch *w)
{
    return w->paged;
}

const char *
watch_version(const struct watch *w)
{
    return w->version;
}

const char *
watch_state_name(enum watch_state state)
{
    static const char *const names[WATCH_STATES] = {
        [WATCH_IDLE] = "idle",       [WATCH_LISTING] = "listing",
        [WATCH_OPENING] = "opening", [WATCH_WATCHING] = "watching",
        [WATCH_ASKING] = "asking",   [WATCH_FILLING] = "filling",
        [WATCH_TO_LIST] = "to list", [WATCH_TO_WATCH] = "to watch",
    };

    return names[state];
}
