/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The projector: carries out what the placer wants written.  It decides nothing
 * about the product; what is kept here is which requests are under way, what
 * they came to, and when they may be made.
 */
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/kube/access.h"
#include "common/kube/config.h"
#include "common/kube/http.h"
#include "common/kube/reach.h"
#include "common/kube/stats.h"
#include "common/lease_page.h"
#include "common/mem.h"
#include "common/worker.h"
#include "projector/dump.h"
#include "projector/event_news.h"
#include "projector/event_sender.h"
#include "projector/intent.h"
#include "projector/shadow.h"
#include "projector/write.h"
#include "proto/frame.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* How often the supervisor hears how we are while work goes on. */
#define REPORT_EVERY CLOCK_SECOND

struct projector {
    struct worker *worker;
    struct kube_config config;
    struct kube_client *client;
    struct intents *intents;
    struct writer *writer;
    struct shadow *shadow; /* NULL: what is wanted is written */
    struct event_sender *events;
    struct lease_page *page;
    struct event *report;
    int64_t ended[ACTION_COUNT][OUTCOME_COUNT]; /* intents */
    struct chan *placer;                        /* NULL: there is none */
    bool opened; /* the placer has been told what was written */
    bool stopping;
    struct kube_access *access;
    struct err missing; /* what we are not allowed; empty: nothing */
};

/* What is to be said of us: trouble, then what is not allowed, then, in shadow,
 * what would be written.  Returns whether all is well. */
static bool
explain(struct projector *p, const char *trouble, int64_t now,
        struct err *reason)
{
    bool ok = trouble[0] == '\0';

    err_set(reason, "%s", ok ? p->missing.text : trouble);
    if (p->shadow == NULL || !ok)
        return ok;
    shadow_tell(p->shadow, now);
    return p->missing.text[0] == '\0' && shadow_in_sync(p->shadow, now, reason);
}

static void
report(struct projector *p, int64_t now)
{
    struct intents_counts counts = intents_counts(p->intents);
    struct writer_state state;
    struct err reason;
    bool ok;

    writer_state(p->writer, &state);
    ok = explain(p, state.trouble, now, &reason);
    worker_report(
        p->worker, ok, reason.text,
        (const struct worker_fact[]){
            {"in_flight", (int64_t)counts.in_flight},
            {"queued", (int64_t)counts.queued},
            {"written", (int64_t)counts.written},
            {"requests", state.requests},
            {"window", state.window},
            {"retries", (int64_t)state.retries},
            {"rack_writes", (int64_t)state.writes[ACTION_RACK]},
            {"node_writes", (int64_t)state.writes[ACTION_NODE]},
            {"finalizer_writes",
             (int64_t)state.writes[ACTION_INVENTORY_FINALIZER]},
            {"inventory_status_writes",
             (int64_t)state.writes[ACTION_INVENTORY_STATUS]},
            {"rack_status_writes", (int64_t)state.writes[ACTION_RACK_STATUS]},
            {0}});
}

static void
measure_shadow(const struct shadow *shadow, struct metrics *m)
{
    int64_t counts[ACTION_COUNT];

    shadow_count(shadow, clock_now(), counts);
    for (unsigned i = 0; i < ACTION_COUNT; i++)
        metrics_set(m, METRIC_SHADOW_WRITES, i, 0, counts[i]);
}

static void
measure(void *state, struct metrics *m)
{
    const struct projector *p = state;
    struct intents_counts counts = intents_counts(p->intents);
    struct writer_state writer;

    writer_state(p->writer, &writer);
    metrics_set(m, METRIC_INTENTS_QUEUED, 0, 0, (int64_t)counts.queued);
    metrics_set(m, METRIC_INTENTS_IN_FLIGHT, 0, 0, (int64_t)counts.in_flight);
    metrics_set(m, METRIC_INTENTS_RETRIED, 0, 0, (int64_t)writer.retries);
    metrics_set(m, METRIC_CONTESTED, 0, 0,
                (int64_t)intents_contested(p->intents, clock_now()));
    metrics_set(m, METRIC_WINDOW, 0, 0, writer.window);
    metrics_set(m, METRIC_WINDOW_USED, 0, 0, writer.requests);
    if (p->shadow != NULL)
        measure_shadow(p->shadow, m);
    for (unsigned i = 0; i < ACTION_COUNT; i++) {
        metrics_set(m, METRIC_WRITES, i, 0, (int64_t)writer.writes[i]);
        for (unsigned j = 0; j < OUTCOME_COUNT; j++)
            metrics_set(m, METRIC_INTENTS_DONE, i, j, p->ended[i][j]);
    }
    event_sender_measure(p->events, m);
    kube_stats_measure(kube_client_stats(p->client), m);
}

/* Soon, and not more often than that. */
static void
report_soon(struct projector *p)
{
    const struct timeval wait = {.tv_sec = REPORT_EVERY / CLOCK_SECOND};

    if (!event_pending(p->report, EV_TIMEOUT, NULL))
        event_add(p->report, &wait);
}

static void
on_report(evutil_socket_t fd, short what, void *arg)
{
    struct projector *p = arg;
    int64_t now = clock_now();

    (void)fd;
    (void)what;
    report(p, now);
    if (p->shadow != NULL && shadow_is_restless(p->shadow, now))
        report_soon(p);
}

static void
tell_written(void *arg, enum action action, const struct target *target)
{
    struct buf body = {0};

    written_pack(&body, action, target);
    chan_send(arg, MSG_WRITTEN, 0, buf_str(&body));
    buf_fini(&body);
}

/* A new placer hears what was written for the old one, once nothing of that is
 * under way any more, and that this is all since our start. */
static void
open_link(struct projector *p)
{
    struct buf body = {0};

    if (p->placer == NULL || p->opened || !intents_settled(p->intents))
        return;
    p->opened = true;
    intents_each_written(p->intents, tell_written, p->placer);
    pack_array(&body, 1);
    pack_int(&body, (int64_t)worker_generation(p->worker));
    chan_send(p->placer, MSG_WRITTEN_END, 0, buf_str(&body));
    buf_fini(&body);
}

static void
on_reply(void *arg, const struct reply *reply)
{
    struct projector *p = arg;
    struct buf body = {0};

    if (!reply->resting && p->shadow == NULL)
        p->ended[reply->result.action][reply->result.outcome]++;
    if (p->placer == NULL)
        return;
    if (reply->resting)
        intent_withdraw_pack(&body, reply->result.action, reply->result.name);
    else
        result_pack(&body, &reply->result);
    chan_send(p->placer, reply->resting ? MSG_RESTING : MSG_RESULT, reply->id,
              buf_str(&body));
    buf_fini(&body);
}

static void
end_if_settled(struct projector *p)
{
    if (p->stopping && intents_settled(p->intents) &&
        !event_sender_busy(p->events))
        worker_bye(p->worker);
}

static void
on_turned(void *arg)
{
    struct projector *p = arg;

    open_link(p);
    report_soon(p);
    end_if_settled(p);
}

static void
on_event_turned(void *arg)
{
    end_if_settled(arg);
}

static int
may_want(const struct projector *p, struct err *err)
{
    if (p->opened)
        return 0;
    return err_set(err, "an intent before WRITTEN_END");
}

static int
on_intent(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct projector *p = state;
    struct reply reply;
    struct order *order;

    (void)from;
    if (may_want(p, err) != 0)
        return -1;
    order = order_new(m->type, m->id, m->body, err);
    if (order == NULL)
        return -1;
    if (intents_accept(p->intents, order, clock_now(), &reply))
        on_reply(p, &reply);
    writer_wake(p->writer);
    return 0;
}

static int
on_withdraw(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct projector *p = state;
    struct arena arena = {0};
    enum action action;
    struct str name;
    int result = may_want(p, err);

    (void)from;
    if (result == 0)
        result = intent_withdraw_unpack(&action, &name, m->body, &arena, err);
    if (result == 0)
        intents_withdraw(p->intents, action, name, clock_now());
    if (result == 0 && p->shadow != NULL)
        shadow_drop(p->shadow, action, name, clock_now());
    arena_fini(&arena);
    report_soon(p);
    return result;
}

/* News for the cluster's users. */

static int
on_event(void *state, struct chan *from, struct message *m, struct err *err)
{
    const struct projector *p = state;

    (void)from;
    if (may_want(p, err) != 0)
        return -1;
    return event_news_object(p->events, m->body, err);
}

/* The own Pod; its name is empty if it is not known. */
static struct event_object
own_pod(const struct projector *p)
{
    const char *namespace = worker_option(p->worker, "pod-namespace");

    if (namespace[0] == '\0')
    namespace = worker_option(p->worker, "leader-election-namespace");
    return (struct event_object){
        .api_version = "v1",
        .kind = "Pod",
        .namespace = namespace,
        .name = worker_option(p->worker, "pod-name"),
        .uid = worker_option(p->worker, "pod-uid"),
    };
}

static int
on_worker_died(void *state, struct chan *from, struct message *m,
               struct err *err)
{
    const struct projector *p = state;
    struct event_object pod = own_pod(p);

    (void)from;
    return event_news_died(p->events, &pod, m->body, err);
}

static int
on_worker_back(void *state, struct chan *from, struct message *m,
               struct err *err)
{
    const struct projector *p = state;
    struct event_object pod = own_pod(p);

    (void)from;
    return event_news_back(p->events, &pod, m->body, err);
}

static int
on_plan_begin(void *state, struct chan *from, struct message *m,
              struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);
    struct projector *p = state;

    (void)from;
    if (unpack_end(&u, err) != 0 || may_want(p, err) != 0)
        return -1;
    writer_plan(p->writer, (uint64_t)term);
    return intents_plan_begin(p->intents, clock_now(), err);
}

static int
on_plan_end(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct projector *p = state;

    (void)from;
    (void)m;
    if (p->shadow != NULL)
        shadow_planned(p->shadow, true, clock_now());
    report_soon(p);
    return intents_plan_end(p->intents, clock_now(), err);
}

static int
on_term_began(void *state, struct chan *from, struct message *m,
              struct err *err)
{
    struct projector *p = state;
    struct unpack u = unpack_fields(m->body);

    (void)from;
    unpack_int(&u);
    if (unpack_end(&u, err) != 0)
        return -1;
    /* The plan names the term; this only says that the page is worth a look. */
    writer_wake(p->writer);
    return 0;
}

static int
on_term_ended(void *state, struct chan *from, struct message *m,
              struct err *err)
{
    struct projector *p = state;
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);

    (void)from;
    unpack_str(&u); /* why; the elector has logged it */
    if (unpack_end(&u, err) != 0)
        return -1;
    writer_term_ended(p->writer, (uint64_t)term);
    return 0;
}

/* What the requests of write.c need. */
static const struct kube_right rights[] = {
    {"get patch", "", "nodes", NULL, NULL, NULL},
    {"get update", API_GROUP, API_INVENTORIES, NULL, NULL, NULL},
    {"update", API_GROUP, API_INVENTORIES, "status", NULL, NULL},
    {"get list create update delete", API_GROUP, API_RACKS, NULL, NULL, NULL},
    {"update", API_GROUP, API_RACKS, "status", NULL, NULL},
};

/* In shadow. */
static const struct kube_right reading[] = {
    {"get", "", "nodes", NULL, NULL, NULL},
    {"get", API_GROUP, API_INVENTORIES, NULL, NULL, NULL},
    {"get list", API_GROUP, API_RACKS, NULL, NULL, NULL},
};

static void
on_access(void *arg, const char *missing)
{
    struct projector *p = arg;

    err_set(&p->missing, "%s", missing);
    report_soon(p);
}

static void
make_writer(struct projector *p)
{
    struct worker *w = p->worker;
    struct intents_pace pace = {
        .debounce = worker_option_duration(w, "status-debounce"),
        .progress = worker_option_duration(w, "status-progress-interval"),
    };
    struct writer_setup setup = {
        .base = worker_base(w),
        .write_timeout =
            worker_option_duration(w, "leader-election-lease-duration") -
            worker_option_duration(w, "leader-election-renew-deadline"),
        .live_timeout = worker_option_duration(w, "live-node-get-timeout"),
        .reply = on_reply,
        .turned = on_turned,
        .arg = p,
    };

    if (pace.progress == 0)
        pace.progress =
            pace.debounce > CLOCK_SECOND ? pace.debounce : CLOCK_SECOND;
    setup.intents = p->intents = intents_new(&pace);
    if (strcmp(worker_option(w, "shadow"), "true") == 0)
        setup.shadow = p->shadow = shadow_new();
    p->writer = writer_new(&setup);
}

/* Who reports: the Pod, or whatever machine this is. */
static void
make_event_sender(struct projector *p)
{
    char host[256] = "";
    const char *name = worker_option(p->worker, "pod-name");

    if (name[0] == '\0') {
        gethostname(host, sizeof(host) - 1);
        name = host;
    }
    p->events =
        event_sender_new(worker_base(p->worker), name, on_event_turned, p);
}

/* What cannot fail comes first: if the rest does, frames that are on their way
 * still find it. */
static int
configure(void *state, struct worker *w, struct err *err)
{
    struct projector *p = state;

    p->worker = w;
    make_writer(p);
    make_event_sender(p);
    p->report = event_new(worker_base(w), -1, 0, on_report, p);
    if (p->report == NULL)
        fatal("no timer");
    if (writer_rate(p->writer, worker_option(w, "kube-api-qps"),
                    worker_option(w, "kube-api-burst"), err) != 0 ||
        kube_config_load(&p->config, worker_option(w, "kubeconfig"), err) != 0)
        return -1;
    p->client = kube_client_new(worker_base(w), &p->config, err);
    if (p->client == NULL)
        return -1;
    writer_client(p->writer, p->client);
    if (p->shadow == NULL)
        event_sender_client(p->events, p->client);
    return 0;
}

static void
reach(void *state, struct sandbox *box)
{
    const struct projector *p = state;

    kube_reach(&p->config, box);
}

static int
granted(void *state, enum resource resource, int fd, struct err *err)
{
    struct projector *p = state;

    if (resource == RESOURCE_LEASE_VIEW && p->page == NULL)
        p->page = lease_page_map(fd, false, err);
    else
        err_set(err, "resource %d is of no use here", (int)resource);
    close(fd);
    return resource == RESOURCE_LEASE_VIEW && p->page != NULL ? 0 : -1;
}

static int
start(void *state, struct err *err)
{
    struct projector *p = state;
    const struct kube_right *needed = p->shadow == NULL ? rights : reading;
    size_t count = p->shadow == NULL ? nitems(rights) : nitems(reading);

    if (p->page == NULL)
        return err_set(err, "no lease page was granted");
    writer_lease(p->writer, p->page);
    report(p, clock_now());
    p->access = kube_access_new(worker_base(p->worker), &p->config, needed,
                                count, on_access, p, err);
    return p->access == NULL ? -1 : 0;
}

static void
linked(void *state, enum role peer, struct chan *chan)
{
    struct projector *p = state;

    if (peer != ROLE_PLACER)
        return;
    p->placer = chan;
    p->opened = false;
    open_link(p);
}

static void
unlinked(void *state, enum role peer)
{
    struct projector *p = state;

    if (peer != ROLE_PLACER)
        return;
    p->placer = NULL;
    p->opened = false;
    intents_orphan(p->intents, clock_now());
    if (p->shadow != NULL) {
        /* What is under way must not come to stand there afterwards. */
        shadow_planned(p->shadow, false, clock_now());
        writer_plan(p->writer, 0);
    }
    writer_wake(p->writer);
}

static void
stop(void *state)
{
    struct projector *p = state;

    p->stopping = true;
    event_sender_stop(p->events);
    writer_stop(p->writer);
}

static void
fini(void *state)
{
    struct projector *p = state;

    writer_free(p->writer);
    shadow_free(p->shadow);
    event_sender_free(p->events);
    intents_free(p->intents);
    kube_client_free(p->client);
    kube_access_free(p->access);
    kube_config_fini(&p->config);
    lease_page_unmap(p->page);
    if (p->report != NULL)
        event_free(p->report);
}

static int
on_dump(void *state, const struct str *arguments, struct buf *out,
        struct err *err)
{
    const struct projector *p = state;

    (void)arguments;
    (void)err;
    dump_intents(out, p->intents, clock_now());
    return 0;
}

static int
on_shadow(void *state, const struct str *arguments, struct buf *out,
          struct err *err)
{
    const struct projector *p = state;

    (void)arguments;
    if (p->shadow == NULL)
        return err_set(err, "this control plane writes what it wants written: "
                            "it was started without --shadow");
    return shadow_list(p->shadow, clock_now(), out, err);
}

static const struct worker_question questions[] = {
    {"dump", 0, on_dump},
    {"shadow", 0, on_shadow},
};

static const struct worker_handler handlers[] = {
    {MSG_PLAN_BEGIN, on_plan_begin},   {MSG_PLAN_END, on_plan_end},
    {MSG_RACK_WRITE, on_intent},       {MSG_RACK_DELETE, on_intent},
    {MSG_RACK_LOOK, on_intent},        {MSG_FINALIZER, on_intent},
    {MSG_NODE_APPLY, on_intent},       {MSG_STATUS_WRITE, on_intent},
    {MSG_WITHDRAW, on_withdraw},       {MSG_TERM_BEGAN, on_term_began},
    {MSG_TERM_ENDED, on_term_ended},   {MSG_EVENT, on_event},
    {MSG_WORKER_DIED, on_worker_died}, {MSG_WORKER_BACK, on_worker_back},
};

static const struct worker_ops ops = {
    .role = ROLE_PROJECTOR,
    .handlers = handlers,
    .handler_count = nitems(handlers),
    .questions = questions,
    .question_count = nitems(questions),
    .configure = configure,
    .reach = reach,
    .granted = granted,
    .start = start,
    .measure = measure,
    .linked = linked,
    .unlinked = unlinked,
    .stop = stop,
    .fini = fini,
};

int
main(int argc, char **argv)
{
    static struct projector projector;

    return worker_main(argc, argv, &ops, &projector);
}
