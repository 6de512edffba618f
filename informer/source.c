/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/source.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/http.h"
#include "common/log.h"
#include "common/mem.h"
#include "informer/answer.h"
#include "informer/intake.h"
#include "informer/page.h"
#include "informer/stream.h"

/* A watch that outlives the time it asked for by so much is cut. */
#define WATCH_SILENCE (30 * CLOCK_SECOND)

struct source {
    struct kube_client *client;
    const struct resource_row *r;
    struct store *store;
    void (*changed)(void *arg);
    void *arg;

    struct watch *watch;
    struct event *timer;
    struct kube_call *call;
    struct page *page;     /* while a list is under way */
    struct stream *stream; /* while a watch is */
    bool refreshing;       /* since source_refresh no list was complete */
    bool garbled;          /* the answer cannot be understood; so says line */

    struct intake intake;
    struct source_counts counts;
    struct err line;   /* what it waits for */
    struct err logged; /* what was logged of that last */
    struct err why;    /* the last streaming list came to nothing */
};

static void step(struct source *s, struct watch_event event);

/* --- what it waits for --- */

static void
set_waiting(struct source *s, const struct err *line)
{
    s->line = *line;
    if (strcmp(s->line.text, s->logged.text) == 0)
        return;
    s->logged = s->line;
    log_warn("waiting for a resource", F_STR("resource", s->r->plural),
             F_STR("reason", s->line.text));
}

static void
set_well(struct source *s)
{
    s->line.text[0] = '\0';
    if (s->logged.text[0] == '\0')
        return;
    s->logged.text[0] = '\0';
    log_info("resource is back", F_STR("resource", s->r->plural));
}

/* No trouble: a version expires now and then. */
static void
log_expired(const struct source *s, const struct err *line)
{
    log_info("version expired, listing again", F_STR("resource", s->r->plural),
             F_STR("reason", line->text));
}

/* No trouble either: pages do as well. */
static void
log_pages(const struct source *s)
{
    log_info("no streaming list is offered, listing in pages",
             F_STR("resource", s->r->plural), F_STR("reason", s->why.text));
}

/* --- the answers --- */

static void
on_listed_object(void *arg, const struct wire_object *object)
{
    struct source *s = arg;

    intake_put(&s->intake, object);
}

static void
on_bad_object(void *arg, const struct err *err)
{
    struct source *s = arg;

    intake_bad(&s->intake, err);
}

/* The answer is of the type that we asked for: else it is none of ours. */
static int
check_type(struct source *s, const struct kube_response *response,
           struct err *err)
{
    const char *want = resource_content_type(s->r);

    if (strncmp(response->content_type, want, strlen(want)) == 0)
        return 0;
    s->garbled = true;
    return err_set(err, "%s: the answer is %s instead of %s", s->r->plural,
                   response->content_type[0] == '\0' ? "of no type"
                                                     : response->content_type,
                   want);
}

static int
on_list_head(void *arg, const struct kube_response *response, struct err *err)
{
    return check_type(arg, response, err);
}

static int
on_list_data(void *arg, struct str bytes, struct err *err)
{
    struct source *s = arg;

    if (page_feed(s->page, bytes, err) == 0)
        return 0;
    s->garbled = true;
    return err_prefix(err, "%s", s->r->plural);
}

static int
on_watch_head(void *arg, const struct kube_response *response, struct err *err)
{
    struct source *s = arg;

    if (check_type(s, response, err) != 0)
        return -1;
    s->counts.watches++;
    step(s, (struct watch_event){.type = WATCH_OPENED});
    if (watch_state(s->watch) == WATCH_WATCHING)
        set_well(s);
    return 0;
}

static bool
is_streaming_list(const struct source *s)
{
    enum watch_state state = watch_state(s->watch);

    return state == WATCH_ASKING || state == WATCH_FILLING;
}

/* Says what stands in the way, in the way that fits what follows from it. */
static void
tell_trouble(struct source *s, enum watch_event_type type,
             const struct err *line)
{
    bool streaming = is_streaming_list(s);

    if (streaming)
        s->why = *line;
    if (type == WATCH_EXPIRED)
        log_expired(s, line);
    else if (type != WATCH_GARBLED || !streaming)
        set_waiting(s, line);
}

/* What became of a request that ended without what it was to bring. */
static void
fail(struct source *s, const char *verb, const struct kube_response *response)
{
    struct watch_event event = {.type = WATCH_CUT};
    struct kube_status status = {0};
    struct err line;

    if (response->status != 0) {
        kube_status_read(&status, response);
        event.type = answer_meaning(&status);
        event.retry_after = status.retry_after;
    } else if (s->garbled) {
        event.type = WATCH_GARBLED;
    }
    answer_explain(s->r, verb, response, &line);
    kube_status_fini(&status);
    tell_trouble(s, event.type, &line);
    step(s, event);
}

static void
finish_page(struct source *s)
{
    struct watch_event event = {.type = WATCH_LISTED};
    struct page_end end;
    struct err err;

    if (page_finish(s->page, &end, &err) != 0) {
        event.type = WATCH_GARBLED;
        err_prefix(&err, "%s", s->r->plural);
        set_waiting(s, &err);
    } else {
        if (end.more.n > 0)
            event.type = WATCH_PAGE;
        event.version = end.version;
        event.more = end.more;
    }
    step(s, event);
}

static bool
is_good(const struct kube_response *response)
{
    return response->status >= 200 && response->status < 300;
}

static void
on_list_done(void *arg, const struct kube_response *response)
{
    struct source *s = arg;

    s->call = NULL;
    if (is_good(response))
        finish_page(s);
    else
        fail(s, "list", response);
}

/* An ERROR event: the watch is over, though the answer may go on. */
static struct watch_event
read_error(struct source *s, const struct kube_status *status)
{
    struct watch_event event = {.type = answer_meaning(status),
                                .retry_after = status->retry_after};
    struct err line;

    answer_explain_event(s->r, status, &line);
    tell_trouble(s, event.type, &line);
    return event;
}

static void
take_event(struct source *s, const struct stream_event *event)
{
    if (event->type == KUBE_BOOKMARK) {
        step(s, (struct watch_event){
                    .type = event->initial_end ? WATCH_FILLED : WATCH_BOOKMARK,
                    .version = event->version});
        return;
    }
    s->counts.events++;
    if (event->type == KUBE_DELETED)
        intake_remove(&s->intake, &event->object);
    else
        intake_put(&s->intake, &event->object);
    step(s,
         (struct watch_event){.type = WATCH_CHANGE, .version = event->version});
}

/* The end of a streaming list says where that stands, or it is of no use. */
static bool
is_usable(const struct stream_event *event, struct err *err)
{
    if (!event->initial_end || event->version.n > 0)
        return true;
    err_set(err, "the end of the list has no resourceVersion");
    return false;
}

static struct watch_event
garbled(struct source *s, struct err *err)
{
    err_prefix(err, "%s", s->r->plural);
    tell_trouble(s, WATCH_GARBLED, err);
    return (struct watch_event){.type = WATCH_GARBLED};
}

/* Takes every whole event.  Returns the one that ends the watch, or one that
 * does nothing. */
static struct watch_event
drain(struct source *s)
{
    struct stream_event event;
    enum stream_found found;
    struct err err;

    while ((found = stream_next(s->stream, &event, &err)) != STREAM_MORE) {
        if (found == STREAM_BROKEN ||
            (found == STREAM_EVENT && !is_usable(&event, &err)))
            return garbled(s, &err);
        if (found == STREAM_BAD)
            intake_bad(&s->intake, &err);
        else if (event.type == KUBE_ERROR)
            return read_error(s, event.status);
        else
            take_event(s, &event);
    }
    return (struct watch_event){.type = WATCH_EVENTS};
}

static int
on_watch_data(void *arg, struct str bytes, struct err *err)
{
    struct source *s = arg;
    struct watch_event event;

    (void)err;
    stream_feed(s->stream, bytes);
    event = drain(s);
    if (event.type != WATCH_EVENTS)
        step(s, event); /* cancels the call, and frees the stream */
    else
        s->changed(s->arg);
    return 0;
}

static void
on_watch_done(void *arg, const struct kube_response *response)
{
    struct source *s = arg;
    struct err line;

    s->call = NULL;
    if (!is_good(response)) {
        fail(s, "watch", response);
    } else if (stream_is_inside(s->stream)) {
        err_set(&line, "%s: the watch broke off in the middle of an event",
                s->r->plural);
        tell_trouble(s, WATCH_CUT, &line);
        step(s, (struct watch_event){.type = WATCH_CUT});
    } else {
        if (is_streaming_list(s)) {
            err_set(&line, "%s: the streaming list broke off", s->r->plural);
            tell_trouble(s, WATCH_ENDED, &line);
        }
        step(s, (struct watch_event){.type = WATCH_ENDED});
    }
}

/* --- what the watch says is to be done --- */

static void
end_request(struct source *s)
{
    kube_cancel(s->call);
    s->call = NULL;
    page_free(s->page);
    s->page = NULL;
    stream_free(s->stream);
    s->stream = NULL;
    s->garbled = false;
}

static void
ask_list(struct source *s, const struct watch_todo *todo)
{
    struct page_calls calls = {on_listed_object, on_bad_object, s};
    char *path = resource_list_path(s->r, todo);
    struct kube_request request = {
        .method = "GET",
        .path = path,
        .accept = resource_list_accept(s->r),
        .idle_timeout = todo->silence,
        .head = on_list_head,
        .data = on_list_data,
        .done = on_list_done,
        .arg = s,
    };

    log_debug("list", F_STR("resource", s->r->plural), F_STR("path", path));
    end_request(s);
    s->page = page_new(s->r->encoding, &calls);
    s->call = kube_send(s->client, &request);
    free(path);
}

static void
ask_watch(struct source *s, const struct watch_todo *todo)
{
    char *path = resource_watch_path(s->r, todo);
    struct kube_request request = {
        .method = "GET",
        .path = path,
        .accept = resource_watch_accept(s->r),
        .idle_timeout = todo->seconds * CLOCK_SECOND + WATCH_SILENCE,
        .head = on_watch_head,
        .data = on_watch_data,
        .done = on_watch_done,
        .arg = s,
    };

    log_debug("watch", F_STR("resource", s->r->plural), F_STR("path", path));
    end_request(s);
    s->stream = stream_new(s->r->encoding);
    s->call = kube_send(s->client, &request);
    free(path);
}

static void
set_timer(struct source *s, int64_t wait)
{
    struct timeval tv = {wait / CLOCK_SECOND, wait % CLOCK_SECOND / 1000};

    evtimer_add(s->timer, &tv);
}

static void
end_snapshot(struct source *s)
{
    bool first = !store_complete(s->store, s->r->kind);

    s->refreshing = false;
    intake_end(&s->intake, watch_version(s->watch));
    set_well(s);
    log_info(first ? "resource listed" : "resource listed again",
             F_STR("resource", s->r->plural),
             F_INT("objects", store_count(s->store, s->r->kind)));
}

/* A version counts for the store only once a snapshot is complete: before, the
 * watch's is that of the snapshot that was. */
static void
tell_version(struct source *s)
{
    const char *version = watch_version(s->watch);

    if (version != NULL && store_complete(s->store, s->r->kind))
        store_reached(s->store, s->r->kind, version);
}

/* Texts of the step are borrowed from the request under way, so that ends
 * last. */
static void
step(struct source *s, struct watch_event event)
{
    bool paged = watch_is_paged(s->watch);
    struct watch_todo todo;

    event.now = clock_now();
    evutil_secure_rng_get_bytes(&event.dice, sizeof(event.dice));
    todo = watch_step(s->watch, &event);
    if (watch_is_paged(s->watch) && !paged)
        log_pages(s);
    if ((todo.actions & WATCH_DO_CANCEL) != 0)
        end_request(s);
    if ((todo.actions & WATCH_DO_END) != 0)
        end_snapshot(s);
    tell_version(s);
    if ((todo.actions & WATCH_DO_BEGIN) != 0) {
        s->counts.lists++;
        intake_begin(&s->intake);
    }
    if ((todo.actions & WATCH_DO_LIST) != 0)
        ask_list(s, &todo);
    if ((todo.actions & (WATCH_DO_WATCH | WATCH_DO_STREAM)) != 0)
        ask_watch(s, &todo);
    if ((todo.actions & WATCH_DO_WAIT) != 0)
        set_timer(s, todo.wait);
    s->changed(s->arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct source *s = arg;
    enum watch_state state = watch_state(s->watch);
    struct err line;

    (void)fd;
    (void)what;
    if (state == WATCH_OPENING || state == WATCH_ASKING) {
        err_set(&line, "%s: the watch does not open", s->r->plural);
        set_waiting(s, &line);
    }
    if (state == WATCH_FILLING)
        err_set(&s->why, "the server never says that it is complete");
    step(s, (struct watch_event){.type = WATCH_TIMER});
}

/* --- life --- */

struct source *
source_new(struct event_base *base, struct kube_client *client,
           const struct resource_row *r, struct store *store,
           void (*changed)(void *arg), void *arg)
{
    struct source *s = mem_zalloc(sizeof(*s));

    s->client = client;
    s->r = r;
    s->store = store;
    s->changed = changed;
    s->arg = arg;
    s->intake = (struct intake){.r = r, .store = store};
    s->watch = watch_new();
    s->timer = evtimer_new(base, on_timer, s);
    if (s->timer == NULL)
        fatal("no timer for a resource");
    return s;
}

void
source_free(struct source *s)
{
    if (s == NULL)
        return;
    end_request(s);
    event_free(s->timer);
    watch_free(s->watch);
    free(s);
}

void
source_start(struct source *s)
{
    step(s, (struct watch_event){.type = WATCH_START});
}

void
source_stop(struct source *s)
{
    step(s, (struct watch_event){.type = WATCH_STOP});
    event_del(s->timer);
    store_clear(s->store, s->r->kind);
    set_well(s);
}

void
source_refresh(struct source *s)
{
    s->refreshing = true;
    step(s, (struct watch_event){.type = WATCH_REFRESH});
}

bool
source_is_refreshing(const struct source *s)
{
    return s->refreshing;
}

const char *
source_reason(const struct source *s)
{
    return s->line.text;
}

struct source_counts
source_counts(const struct source *s)
{
    struct source_counts counts = s->counts;

    counts.bad = s->intake.bad;
    return counts;
}
