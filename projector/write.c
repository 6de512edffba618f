/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/write.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/kube/http.h"
#include "common/lease_page.h"
#include "common/log.h"
#include "common/mem.h"
#include "projector/line.h"
#include "projector/say.h"
#include "projector/shadow.h"
#include "projector/task.h"
#include "projector/window.h"

/* How often the lease page is looked at while intents wait for it. */
#define LEASE_POLL (200 * CLOCK_MS)
/* Who has waited so often for others to go first waits for a person. */
#define PATIENCE 8
/* After so many refusals in a row the server counts as away. */
#define AWAY 4
#define NEVER INT64_MAX

/* An intent on its way: either it waits to send its next request, or that has
 * been sent; or, in shadow, it waits to be answered without. */
struct job {
    struct line_item item; /* in waiting; must be first */
    LIST_ENTRY(job) entry;
    struct writer *w;
    struct intent_slot *slot;
    struct task *task;
    struct kube_call *call;
    int64_t sent_at;
    bool kept;            /* in shadow: its request is not sent */
    struct answer answer; /* then */
};

struct writer {
    struct writer_setup setup;
    struct kube_client *client;
    struct event *wake;
    struct window window;
    LIST_HEAD(, job) jobs;
    struct line waiting; /* those of them that have a request to send */
    unsigned requests;
    const struct lease_page *page;
    uint64_t term; /* of the plan that is carried out; 0: none */
    bool stopping;
    uint64_t writes[ACTION_COUNT];
    uint64_t retries;
    bool said_away; /* and no answer came since */
    struct err trouble[ACTION_COUNT];
};

/* The lease page alone decides at the moment of a request; what was decided in
 * another term than the present one is not sent. */
static bool
in_term(const struct writer *w)
{
    uint64_t term = 0;
    int64_t deadline = 0;

    if (w->stopping || w->term == 0 || w->page == NULL || w->client == NULL)
        return false;
    if (w->setup.shadow != NULL)
        return true;
    lease_page_read(w->page, &term, &deadline);
    return term == w->term && clock_now() < deadline;
}

static const char *
verb_of(const char *method)
{
    static const struct {
        const char *method, *verb;
    } verbs[] = {{"GET", "get"},
                 {"POST", "create"},
                 {"PUT", "update"},
                 {"PATCH", "patch"},
                 {"DELETE", "delete"}};

    for (size_t i = 0; i < nitems(verbs); i++)
        if (strcmp(verbs[i].method, method) == 0)
            return verbs[i].verb;
    return method;
}

/* What the API server does not allow stays in trouble until it does; then
 * nobody rests for it any longer. True if it was known. */
static bool
note_trouble(struct writer *w, const struct job *job, struct answer *answer)
{
    struct err *trouble = &w->trouble[intent_slot_order(job->slot)->action];
    const struct task_request *request = task_request(job->task);
    bool known = trouble->text[0] != '\0';

    if (answer->denied) {
        err_set(trouble,
                "not allowed to %s %s; give the control plane's ClusterRole "
                "this verb on this resource: %.*s",
                verb_of(request->method), request->resource,
                (int)answer->reason.n, answer->reason.s);
        answer->reason = str_of(trouble->text);
        return known;
    }
    if (known && answer->verdict == VERDICT_ENDED) {
        trouble->text[0] = '\0';
        intents_hurry(w->setup.intents, clock_now());
    }
    return false;
}

static void
free_job(struct job *job)
{
    LIST_REMOVE(job, entry);
    kube_cancel(job->call);
    task_free(job->task);
    free(job);
}

/* While the server is away, one line says it for all.  One answer that got lost
 * is made up for at once: whatever is tried again finds out what came of it.
 * What others keep, contest, or keep waiting for, is told once. */
static bool
is_old_news(const struct writer *w, const struct job *job,
            const struct answer *answer)
{
    unsigned failures = intent_slot_failures(job->slot);

    return (answer->server && w->said_away) ||
           (answer->lost && failures == 0) ||
           (answer->kept && intent_slot_kept(job->slot)) ||
           (answer->verdict == VERDICT_ENDED &&
            answer->outcome == OUTCOME_CONFLICT &&
            intent_slot_contested(job->slot)) ||
           (task_facts(job->task)->waiting && failures != PATIENCE);
}

/* The same was carried out again and again, so somebody changes it each time;
 * told once. */
static bool
is_contested(const struct job *job, const struct answer *answer)
{
    const struct task_facts *facts = task_facts(job->task);
    unsigned repeats = intent_slot_repeats(job->slot);

    if (answer->verdict != VERDICT_ENDED || answer->outcome != OUTCOME_DONE ||
        facts->unchanged || repeats < INTENTS_CONTESTED)
        return false;
    if (repeats == INTENTS_CONTESTED)
        say_contested(facts, repeats + 1);
    return true;
}

/* The end of an intent: to the table, and to its author. */
static void
end(struct job *job, const struct answer *answer)
{
    struct writer *w = job->w;
    struct reply reply;

    if (intents_finish(w->setup.intents, job->slot, answer, clock_now(),
                       &reply))
        w->setup.reply(w->setup.arg, &reply);
    free_job(job);
}

/* It needs no request, or none will do: that is no news of the shadow's. */
static void
forget_kept(const struct job *job, const struct answer *answer)
{
    const struct order *order = intent_slot_order(job->slot);

    if (job->w->setup.shadow != NULL && answer->verdict == VERDICT_ENDED)
        shadow_drop(job->w->setup.shadow, order->action, order->target.name,
                    clock_now());
}

static void
finish(struct job *job, const struct answer *given)
{
    struct writer *w = job->w;
    struct answer answer = *given;
    bool known = note_trouble(w, job, &answer);

    answer.pretended = w->setup.shadow != NULL;
    known |= is_old_news(w, job, &answer);
    w->said_away |= answer.server && !known;
    if (answer.verdict == VERDICT_FAILED)
        w->retries++;
    known |= is_contested(job, &answer);
    say_answer(task_facts(job->task), &answer, known);
    forget_kept(job, &answer);
    end(job, &answer);
}

static void
move_on(struct job *job, enum task_move move)
{
    const struct task_request *request = task_request(job->task);

    if (move == TASK_END)
        finish(job, task_answer(job->task));
    else
        line_join(&job->w->waiting, &job->item, clock_now() + request->delay);
}

static void pump(struct writer *w);

static void
note_answer(struct writer *w, const struct window_answer *answer)
{
    bool was_away = window_refusals(&w->window) >= AWAY;
    int64_t now = clock_now();

    window_answered(&w->window, answer, now);
    if (window_refusals(&w->window) > 0)
        return;
    w->said_away = false;
    if (was_away)
        intents_hurry(w->setup.intents, now);
}

static void
on_done(void *arg, const struct kube_response *response)
{
    struct job *job = arg;
    struct writer *w = job->w;
    struct window_answer answer = {
        .status = response->status,
        .sent_at = job->sent_at,
        .retry_after = response->retry_after,
        .in_flight = w->requests--,
    };

    note_answer(w, &answer);
    job->call = NULL;
    move_on(job, task_answered(job->task, response, clock_wall()));
    pump(w);
}

static void
send_request(struct job *job)
{
    struct writer *w = job->w;
    const struct task_request *request = task_request(job->task);
    struct kube_request http = {
        .method = request->method,
        .path = request->path,
        .accept = request->accept,
        .content_type = request->content_type,
        .body = buf_str(&request->body),
        .timeout =
            request->live ? w->setup.live_timeout : w->setup.write_timeout,
        .done = on_done,
        .arg = job,
    };

    job->sent_at = clock_now();
    w->requests++;
    window_sent(&w->window, job->sent_at);
    if (request->mutates)
        w->writes[intent_slot_order(job->slot)->action]++;
    job->call = kube_send(w->client, &http);
}

/* In shadow: what would be sent is not. */
static void
keep_back(struct job *job)
{
    int64_t now = clock_now();
    int64_t pause = shadow_keep(
        job->w->setup.shadow, intent_slot_order(job->slot), now, &job->answer);

    job->kept = true;
    line_join(&job->w->waiting, &job->item, now + pause);
}

static void
go_on(struct job *job)
{
    if (job->kept)
        end(job, &job->answer);
    else if (job->w->setup.shadow != NULL && task_request(job->task)->mutates)
        keep_back(job);
    else
        send_request(job);
}

/* A job whose next request is due, or NULL. */
static struct job *
next_waiting(struct writer *w, int64_t now)
{
    struct line_item *item = line_first(&w->waiting);

    if (item == NULL || item->at > now)
        return NULL;
    line_leave(&w->waiting, item);
    return (struct job *)item;
}

static struct job *
next_new(struct writer *w, int64_t now)
{
    struct intent_slot *slot = intents_next(w->setup.intents, now);
    struct job *job;

    if (slot == NULL)
        return NULL;
    job = mem_zalloc(sizeof(*job));
    job->w = w;
    job->slot = slot;
    job->task = task_new(intent_slot_order(slot), intent_slot_kept(slot));
    LIST_INSERT_HEAD(&w->jobs, job, entry);
    return job;
}

/* Sends one request, or ends one intent; false if there is nothing to do now.
 * Those under way come first. */
static bool
step(struct writer *w)
{
    int64_t now = clock_now();
    struct job *job = next_waiting(w, now);

    if (job == NULL) {
        job = next_new(w, now);
        if (job == NULL)
            return false;
        if (task_begin(job->task) == TASK_END) {
            finish(job, task_answer(job->task));
            return true;
        }
    }
    go_on(job);
    return true;
}

/* Out of term nothing can go on, and nobody shall wait for it. */
static void
break_off(struct writer *w)
{
    const struct answer held = {.verdict = VERDICT_HELD};
    struct line_item *item;

    while ((item = line_first(&w->waiting)) != NULL) {
        line_leave(&w->waiting, item);
        finish((struct job *)item, &held);
    }
}

/* When there may be something to do if nothing else happens. */
static int64_t
next_time(const struct writer *w, bool may, int64_t now)
{
    const struct line_item *item = line_first(&w->waiting);
    int64_t due = intents_due(w->setup.intents);
    int64_t open = may ? window_opens(&w->window, now) : now + LEASE_POLL;

    if (item != NULL && item->at < due)
        due = item->at;
    if (due == NEVER || w->stopping || w->term == 0 ||
        (may && w->requests >= window_limit(&w->window)))
        return NEVER;
    return due > open ? due : open;
}

static void
arm(struct writer *w, bool may)
{
    int64_t now = clock_now();
    int64_t at = next_time(w, may, now);
    int64_t wait = at > now ? at - now : 0;
    struct timeval tv = {.tv_sec = wait / CLOCK_SECOND,
                         .tv_usec = (wait % CLOCK_SECOND + 999) / 1000};

    if (tv.tv_usec == 1000000) {
        tv.tv_sec++;
        tv.tv_usec = 0;
    }
    if (at == NEVER)
        event_del(w->wake);
    else
        event_add(w->wake, &tv);
}

/* What nobody wants any more is no trouble. */
static void
forget_trouble(struct writer *w)
{
    struct intents_counts counts = intents_counts(w->setup.intents);

    if (counts.in_flight == 0 && counts.queued == 0)
        memset(w->trouble, 0, sizeof(w->trouble));
}

static void
pump(struct writer *w)
{
    bool may;

    while ((may = in_term(w)) &&
           window_open(&w->window, w->requests, clock_now()))
        if (!step(w))
            break;
    if (!may)
        break_off(w);
    forget_trouble(w);
    arm(w, may);
    w->setup.turned(w->setup.arg);
}

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pump(arg);
}

struct writer *
writer_new(const struct writer_setup *setup)
{
    struct writer *w = mem_zalloc(sizeof(*w));

    w->setup = *setup;
    window_init(&w->window, (uint64_t)clock_wall(), clock_now());
    w->wake = event_new(setup->base, -1, 0, on_wake, w);
    if (w->wake == NULL)
        fatal("no timer");
    return w;
}

void
writer_free(struct writer *w)
{
    struct job *job, *next;

    if (w == NULL)
        return;
    for (job = LIST_FIRST(&w->jobs); job != NULL; job = next) {
        next = LIST_NEXT(job, entry);
        free_job(job);
    }
    event_free(w->wake);
    line_fini(&w->waiting);
    free(w);
}

int
writer_rate(struct writer *w, const char *qps, const char *burst,
            struct err *err)
{
    return window_rate(&w->window, qps, burst, err);
}

void
writer_client(struct writer *w, struct kube_client *client)
{
    w->client = client;
    writer_wake(w);
}

void
writer_lease(struct writer *w, const struct lease_page *page)
{
    w->page = page;
    writer_wake(w);
}

void
writer_plan(struct writer *w, uint64_t term)
{
    w->term = term;
    writer_wake(w);
}

void
writer_term_ended(struct writer *w, uint64_t term)
{
    if (term < w->term)
        return;
    w->term = 0;
    writer_wake(w);
}

void
writer_wake(struct writer *w)
{
    event_active(w->wake, 0, 0);
}

void
writer_stop(struct writer *w)
{
    w->stopping = true;
    writer_wake(w);
}

void
writer_state(const struct writer *w, struct writer_state *state)
{
    *state = (struct writer_state){
        .requests = w->requests,
        .window = window_limit(&w->window),
        .retries = w->retries,
        .trouble = "",
    };
    memcpy(state->writes, w->writes, sizeof(state->writes));
    for (unsigned i = 0; i < ACTION_COUNT; i++)
        if (w->trouble[i].text[0] != '\0')
            state->trouble = w->trouble[i].text;
}
