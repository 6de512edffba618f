/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_WATCH_H
#define INFORMER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/str.h"

/*
 * The life of list and watch of one resource, without any I/O: a table of
 * states and events.  Each step says what is to be done now.
 *
 * The rules it keeps:
 *   - A list is asked for as a stream: a watch that begins with every object
 *     there is, says by a bookmark that these are all, and then goes on as a
 *     watch.  Where the server does not offer that (it refuses, never says
 *     that these are all, or twice breaks off before it does), lists come in
 *     pages from then on, each followed by a watch from where it stood.
 *   - Nothing counts as complete before that bookmark, or the last page.
 *   - A watch that ends, however it ends, is opened again from the newest
 *     version seen.  A list is made anew only when the server says that this
 *     version is too old (410) or unknown to it, that the resource is gone
 *     (404), or something that cannot be understood; or when it was cut and
 *     could not be opened again within five seconds: who answers then may have
 *     been restored to an older state, where a watch from a version that is yet
 *     to come brings nothing, and says nothing.
 *   - A new list asks for a state not older than the newest version seen, so
 *     that a lagging server cannot lead back in time; only a server that
 *     refuses that version is asked without.  WATCH_REFRESH asks without, too:
 *     no version is named then, which stands for the newest, and what was under
 *     way before does not count.
 *   - A continue token that expired leads to one list in a single piece; the
 *     token that the refusal offers is not used, since its pages would not
 *     belong to one version.
 *   - A list that is asked for by WATCH_REFRESH is waited for: the server may
 *     be silent for 10 s before it is asked again, then for twice as long each
 *     time, up to the 60 s of other lists (30 s for the header of a stream).
 *   - Failures wait, longer each time, with jitter; a watch open for two
 *     minutes ends the series.  What people are likely to be mending right
 *     now (access, missing CRDs) is tried every few seconds.
 *   - Watches end themselves after a random time, so that clients of one
 *     server do not come back together.
 */
struct watch;

enum watch_state {
    WATCH_IDLE,     /* nobody wants it */
    WATCH_LISTING,  /* a page was asked for */
    WATCH_OPENING,  /* a watch was asked for, its header has not come */
    WATCH_WATCHING, /* events may come */
    WATCH_ASKING,   /* a streaming list was asked for, no header yet */
    WATCH_FILLING,  /* its objects come */
    WATCH_TO_LIST,  /* waiting; then a list, or its next page */
    WATCH_TO_WATCH, /* waiting; then a watch */
    WATCH_STATES
};

enum watch_event_type {
    WATCH_START,    /* somebody wants it */
    WATCH_STOP,     /* nobody does any more */
    WATCH_REFRESH,  /* what is there now is to be listed, from now on */
    WATCH_PAGE,     /* a page is complete, more follow: version, more */
    WATCH_LISTED,   /* the last page is complete: version */
    WATCH_OPENED,   /* the header of the watch has come */
    WATCH_CHANGE,   /* an object came: version */
    WATCH_BOOKMARK, /* version */
    WATCH_FILLED,   /* the bookmark that ends the list of a stream: version,
                       never empty */
    WATCH_ENDED,    /* the server ended the watch, between two events */
    WATCH_EXPIRED,  /* 410, as answer or in the watch */
    WATCH_TOO_NEW,  /* the server does not know that version yet */
    WATCH_DENIED,   /* 401, 403 */
    WATCH_MISSING,  /* 404 */
    WATCH_BUSY,     /* 429, 5xx: retry_after */
    WATCH_CUT,      /* no answer, or one that broke off */
    WATCH_GARBLED,  /* an answer that cannot be understood */
    WATCH_TIMER,    /* the time given by the last WATCH_DO_WAIT is over */
    WATCH_EVENTS
};

struct watch_event {
    enum watch_event_type type;
    struct str version;
    struct str more;     /* the continue token */
    int64_t retry_after; /* nanoseconds, 0: none named */
    int64_t now;         /* clock_now() */
    uint32_t dice;       /* a random number */
};

/* What to do, in this order; nothing else is. */
enum watch_action {
    WATCH_DO_CANCEL = 1, /* end the request under way, if there is one */
    WATCH_DO_END = 2,    /* the snapshot is complete: drop what was not in it */
    WATCH_DO_BEGIN = 4,  /* a snapshot begins */
    WATCH_DO_LIST = 8,   /* ask for a page: version, more, whole */
    WATCH_DO_WATCH = 16, /* open a watch: version, seconds */
    WATCH_DO_STREAM = 32, /* open one that begins with a list: the same */
    WATCH_DO_WAIT = 64,   /* set the timer to wait from now, instead of what it
                             was set to */
};

/* Texts live until the next step. */
struct watch_todo {
    unsigned actions;
    const char *version; /* of the list: not older than that; NULL: any */
    const char *more;    /* the continue token; NULL: the first page */
    bool whole;          /* without a limit to the page */
    int64_t seconds;     /* timeoutSeconds of the watch */
    int64_t silence; /* nanoseconds until a list that brings nothing is given
                        up */
    int64_t wait;    /* nanoseconds */
};

struct watch *watch_new(void);

/* NULL is fine. */
void watch_free(struct watch *w);

/* An event that cannot happen in the present state does nothing. */
struct watch_todo watch_step(struct watch *w, const struct watch_event *event);

enum watch_state watch_state(const struct watch *w);

/* Whether lists come in pages, since the server offers nothing else. */
bool watch_is_paged(const struct watch *w);

/* The newest version seen; NULL: none. */
const char *watch_version(const struct watch *w);

/* For logs. */
const char *watch_state_name(enum watch_state state);

#endif
