/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elector: takes, renews and gives back the Lease, and says through the lease
 * page until when this replica may write.  It does nothing else, so that a
 * renewal never waits behind other work.
 *
 * In shadow it knows no API server: it begins a term that no page shows, so
 * that there is a plan, and nobody may write by it.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kube/access.h"
#include "common/kube/config.h"
#include "common/kube/reach.h"
#include "common/kube/stats.h"
#include "common/lease_page.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/sandbox/sandbox.h"
#include "common/worker.h"
#include "proto/pack.h"
#include "supervisor/elector/election.h"
#include "supervisor/elector/follow.h"
#include "supervisor/elector/wire.h"
#include "supervisor/health.h"

/* A request that takes longer is ended and tried again: in a term there must
 * be time for that before the renew deadline. */
#define LONGEST_REQUEST (5 * CLOCK_SECOND)

/* A shadow has no election; so this is its term. */
#define SHADOW_TERM 1

_Static_assert((int)VIEW_LEADER == (int)ELECTION_LEADER,
               "the fact \"view\" is the state of the election");

struct elector {
    struct worker *worker;
    bool shadow; /* there is no election */
    struct kube_config kube;
    struct election_config config;
    char *lease; /* namespace/name, for people */
    struct lease_page *page;
    struct wire *wire;
    struct follow *follow;
    struct election *election;
    struct event *timer;
    bool contending;
    struct err trouble; /* why the last request failed; "" if it did not */
    struct kube_right rights[2];
    struct kube_access *access;
    struct err missing; /* what we are not allowed; "" if nothing */
    struct err blind;   /* why the Lease cannot be watched; "" if it can */
};

static struct election_moment
moment(void)
{
    uint64_t bits = 0;

    if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
        fatal("no random bytes");
    return (struct election_moment){
        .now = clock_now(),
        .wall = clock_wall(),
        .chance = (double)(bits >> 11) / (double)(UINT64_C(1) << 53),
    };
}

/* What is told to the supervisor. */

static void
explain_view(const struct elector *el, enum election_view view,
             struct err *reason)
{
    const struct lease_record *record = election_record(el->election);

    switch (view) {
    case ELECTION_STOPPED:
        err_set(reason, el->contending
                            ? "stopping"
                            : "waits for the first complete snapshot");
        break;
    case ELECTION_WAITING:
        err_set(reason, "contends for Lease %s", el->lease);
        break;
    case ELECTION_STANDBY:
        if (record == NULL || record->holder[0] == '\0')
            err_set(reason, "Lease %s is free; standing by", el->lease);
        else
            err_set(reason, "Lease %s is held by %s; standing by", el->lease,
                    record->holder);
        break;
    case ELECTION_LEADER:
        break;
    }
}

/* What is not allowed stands first: it is the cause of most other trouble, and
 * names what to grant. */
static void
explain(const struct elector *el, enum election_view view, struct err *reason)
{
    if (el->trouble.text[0] != '\0' && view != ELECTION_STOPPED)
        *reason = el->trouble;
    else
        explain_view(el, view, reason);
    if (el->missing.text[0] != '\0' && reason->text[0] != '\0')
        err_prefix(reason, "%s", el->missing.text);
    else if (el->missing.text[0] != '\0')
        *reason = el->missing;
}

static void
report(const struct elector *el)
{
    enum election_view view = election_view(el->election);
    const struct lease_record *record = election_record(el->election);
    struct worker_fact facts[] = {
        {"view", view},
        {"term", (int64_t)election_term(el->election)},
        {"transitions", record == NULL ? 0 : record->transitions},
        {"watching", election_sees(el->election)},
        {NULL, 0},
    };
    struct err reason = {""};

    explain(el, view, &reason);
    worker_report(el->worker,
                  view == ELECTION_STANDBY || view == ELECTION_LEADER,
                  reason.text, facts);
}

static void
tell(const struct elector *el, uint16_t type, uint64_t term, const char *reason)
{
    struct chan *control = worker_control(el->worker);
    struct buf body = {0};

    if (control == NULL)
        return;
    pack_array(&body, reason == NULL ? 1 : 2);
    pack_int(&body, (int64_t)term);
    if (reason != NULL)
        pack_text(&body, reason);
    chan_send(control, type, 0, buf_str(&body));
    buf_fini(&body);
}

/* The actions of the election. */

static void
do_publish(struct elector *el, const struct election_action *action)
{
    lease_page_publish(el->page, action->term, action->time);
}

static void
do_began(struct elector *el, const struct election_action *action)
{
    tell(el, MSG_TERM_BEGAN, action->term, NULL);
    log_info(action->goes_on ? "goes on in the running term"
                             : "acquired the lease",
             F_STR("identity", el->config.identity), F_STR("lease", el->lease),
             F_INT("term", action->term));
}

static void
do_ended(struct elector *el, const struct election_action *action)
{
    tell(el, MSG_TERM_ENDED, action->term, action->reason);
    log_info("term ended", F_STR("identity", el->config.identity),
             F_STR("lease", el->lease), F_INT("term", action->term),
             F_STR("reason", action->reason));
}

static void
do_observed(struct elector *el, const struct election_action *action)
{
    if (str_is(str_of(action->record.holder), el->config.identity))
        return; /* that it leads itself is said by itself */
    log_info("observed a leader", F_STR("identity", el->config.identity),
             F_STR("lease", el->lease), F_STR("leader", action->record.holder));
}

static void
do_request(struct elector *el, const struct election_action *action)
{
    wire_send(el->wire, action->verb, &action->record);
}

static void
do_cancel(struct elector *el, const struct election_action *action)
{
    (void)action;
    wire_cancel(el->wire);
}

static void
do_follow(struct elector *el, const struct election_action *action)
{
    (void)action;
    follow_start(el->follow);
}

static void
do_unfollow(struct elector *el, const struct election_action *action)
{
    (void)action;
    follow_stop(el->follow);
}

static void
do_wait(struct elector *el, const struct election_action *action)
{
    int64_t wait = action->time - clock_now();
    struct timeval tv = {0};

    if (action->time == INT64_MAX) {
        event_del(el->timer);
        return;
    }
    if (wait > 0) {
        tv.tv_sec = wait / CLOCK_SECOND;
        tv.tv_usec = wait % CLOCK_SECOND / 1000 + 1;
    }
    event_add(el->timer, &tv);
}

static void
do_finished(struct elector *el, const struct election_action *action)
{
    (void)action;
    log_info("left the election", F_STR("identity", el->config.identity),
             F_STR("lease", el->lease));
    worker_bye(el->worker);
}

static void (*const carry_out[])(struct elector *el,
                                 const struct election_action *action) = {
    [ELECTION_PUBLISH] = do_publish, [ELECTION_BEGAN] = do_began,
    [ELECTION_ENDED] = do_ended,     [ELECTION_OBSERVED] = do_observed,
    [ELECTION_GET] = do_request,     [ELECTION_CREATE] = do_request,
    [ELECTION_UPDATE] = do_request,  [ELECTION_CANCEL] = do_cancel,
    [ELECTION_FOLLOW] = do_follow,   [ELECTION_UNFOLLOW] = do_unfollow,
    [ELECTION_WAIT] = do_wait,       [ELECTION_FINISHED] = do_finished,
};

static void
step(struct elector *el, const struct election_actions *actions)
{
    report(el);
    for (size_t i = 0; i < actions->count; i++)
        carry_out[actions->items[i].verb](el, &actions->items[i]);
}

/* The events. */

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
    struct elector *el = arg;
    struct election_moment m = moment();
    struct election_actions actions;

    (void)fd;
    (void)what;
    election_wake(el->election, &m, &actions);
    step(el, &actions);
}

static bool
asks(const struct election_actions *actions)
{
    for (size_t i = 0; i < actions->count; i++)
        if (carry_out[actions->items[i].verb] == do_request)
            return true;
    return false;
}

/* A failure is logged when it is another than before, not at each try; and it
 * is over when a whole try has succeeded, not when its first request has. */
static void
note_trouble(struct elector *el, const char *trouble)
{
    if (str_is(str_of(el->trouble.text), trouble))
        return;
    if (*trouble != '\0')
        log_warn("lease request failed", F_STR("lease", el->lease),
                 F_STR("error", trouble));
    else
        log_info("lease requests succeed again", F_STR("lease", el->lease));
    err_set(&el->trouble, "%s", trouble);
}

static void
on_answer(void *arg, const struct election_answer *answer, const char *trouble)
{
    struct elector *el = arg;
    struct election_moment m = moment();
    struct election_actions actions;

    election_answer(el->election, &m, answer, &actions);
    if (trouble != NULL)
        note_trouble(el, trouble);
    else if (!asks(&actions))
        note_trouble(el, "");
    step(el, &actions);
}

static void
on_seen(void *arg, const struct lease_record *record)
{
    struct elector *el = arg;
    struct election_moment m = moment();
    struct election_actions actions;

    election_seen(el->election, &m, record, &actions);
    step(el, &actions);
}

/* As with requests: what is the same as before is not said again. */
static void
note_blind(struct elector *el, bool sees, const char *trouble)
{
    if (sees == (el->blind.text[0] == '\0') || (!sees && trouble[0] == '\0'))
        return;
    if (sees)
        log_info("the lease is watched again", F_STR("lease", el->lease));
    else
        log_warn("the lease cannot be watched; it is polled",
                 F_STR("lease", el->lease), F_STR("error", trouble));
    err_set(&el->blind, "%s", trouble);
}

static void
on_sight(void *arg, bool sees, const char *trouble)
{
    struct elector *el = arg;
    struct election_moment m = moment();
    struct election_actions actions;

    note_blind(el, sees, trouble);
    election_sight(el->election, &m, sees, &actions);
    step(el, &actions);
}

static int
on_contend(void *state, struct chan *from, struct message *message,
           struct err *err)
{
    struct elector *el = state;
    struct election_moment m = moment();
    struct election_actions actions;

    (void)from;
    (void)message;
    if (el->shadow) {
        tell(el, MSG_TERM_BEGAN, SHADOW_TERM, NULL);
        return 0;
    }
    if (el->election == NULL)
        return err_set(err, "it came before START");
    if (!el->contending)
        log_info("joining the election", F_STR("identity", el->config.identity),
                 F_STR("lease", el->lease));
    el->contending = true;
    election_contend(el->election, &m, &actions);
    step(el, &actions);
    return 0;
}

/* What is allowed: a standby learns here what it would lack as leader. */

static void
on_access(void *arg, const char *missing)
{
    struct elector *el = arg;

    err_set(&el->missing, "%s", missing);
    report(el);
}

static int
ask_access(struct elector *el, struct err *err)
{
    const struct worker *w = el->worker;

    /* A role cannot name the object that is to be created. */
    el->rights[0] = (struct kube_right){
        .verbs = "get update",
        .group = "coordination.k8s.io",
        .resource = "leases",
        .namespace = worker_option(w, "leader-election-namespace"),
        .name = worker_option(w, "leader-election-name"),
    };
    el->rights[1] = el->rights[0];
    el->rights[1].verbs = "create";
    el->rights[1].name = NULL;
    el->access = kube_access_new(worker_base(w), &el->kube, el->rights,
                                 nitems(el->rights), on_access, el, err);
    return el->access == NULL ? -1 : 0;
}

static void
measure(void *state, struct metrics *m)
{
    const struct elector *el = state;
    const struct lease_record *record;

    if (el->election == NULL)
        return;
    record = election_record(el->election);
    metrics_set(m, METRIC_LEADER, 0, 0,
                election_view(el->election) == ELECTION_LEADER);
    metrics_set(m, METRIC_LEASE_TRANSITIONS, 0, 0,
                record == NULL ? 0 : record->transitions);
    kube_stats_measure(wire_stats(el->wire), m);
}

/* The life of the worker. */

static int
open_clients(struct elector *el, struct err *err)
{
    static const struct follow_ops ops = {on_seen, on_sight};
    struct event_base *base = worker_base(el->worker);
    struct wire_config wire = {
        .namespace = worker_option(el->worker, "leader-election-namespace"),
        .name = worker_option(el->worker, "leader-election-name"),
        .timeout = el->config.renew_deadline / 2,
    };
    struct follow_config follow = {
        .namespace = wire.namespace,
        .name = wire.name,
        .silence = el->config.lease_duration,
    };

    el->lease = mem_printf("%s/%s", wire.namespace, wire.name);
    if (wire.timeout > LONGEST_REQUEST)
        wire.timeout = LONGEST_REQUEST;
    follow.timeout = wire.timeout;
    el->wire = wire_new(base, &el->kube, &wire, on_answer, el, err);
    if (el->wire == NULL)
        return -1;
    el->follow = follow_new(base, &el->kube, &follow, &ops, el, err);
    return el->follow == NULL ? -1 : 0;
}

static int
configure(void *state, struct worker *w, struct err *err)
{
    struct elector *el = state;

    el->worker = w;
    el->shadow = strcmp(worker_option(w, "shadow"), "true") == 0;
    if (el->shadow)
        return 0;
    el->config = (struct election_config){
        .identity = worker_option(w, "identity"),
        .lease_duration =
            worker_option_duration(w, "leader-election-lease-duration"),
        .renew_deadline =
            worker_option_duration(w, "leader-election-renew-deadline"),
        .retry_period =
            worker_option_duration(w, "leader-election-retry-period"),
    };
    if (el->config.identity[0] == '\0')
        return err_set(err, "the supervisor gave no identity");
    if (kube_config_load(&el->kube, worker_option(w, "kubeconfig"), err) != 0)
        return -1;
    return open_clients(el, err);
}

static void
reach(void *state, struct sandbox *box)
{
    const struct elector *el = state;

    if (el->shadow)
        sandbox_stay(box);
    else
        kube_reach(&el->kube, box);
}

static int
granted(void *state, enum resource resource, int fd, struct err *err)
{
    struct elector *el = state;

    if (el->shadow) { /* the page stays as it is */
        close(fd);
        return 0;
    }
    if (resource == RESOURCE_LEASE_PAGE && el->page == NULL)
        el->page = lease_page_map(fd, true, err);
    else
        err_set(err, "resource %d was not asked for", (int)resource);
    close(fd);
    return resource == RESOURCE_LEASE_PAGE && el->page != NULL ? 0 : -1;
}

static void
report_shadow(const struct elector *el)
{
    worker_report(el->worker, true, "in shadow, takes no Lease",
                  (const struct worker_fact[]){{"view", VIEW_SHADOW}, {0}});
    log_info("in shadow: nothing is written, the Lease is left alone");
}

static int
start(void *state, struct err *err)
{
    struct elector *el = state;
    int64_t deadline;
    uint64_t term;

    if (el->shadow) {
        report_shadow(el);
        return 0;
    }
    if (el->page == NULL)
        return err_set(err, "no lease page was granted");
    el->timer = evtimer_new(worker_base(el->worker), on_time, el);
    if (el->timer == NULL)
        fatal("no timer");
    lease_page_read(el->page, &term, &deadline);
    el->election = election_new(&el->config, term, deadline);
    on_time(-1, 0, el);
    return ask_access(el, err);
}

static void
stop(void *state)
{
    struct elector *el = state;
    struct election_moment m = moment();
    struct election_actions actions;

    if (el->election == NULL) {
        worker_bye(el->worker);
        return;
    }
    el->contending = true;
    election_stop(el->election, &m, &actions);
    step(el, &actions);
}

static void
fini(void *state)
{
    struct elector *el = state;

    wire_free(el->wire);
    kube_access_free(el->access);
    follow_free(el->follow);
    kube_config_fini(&el->kube);
    if (el->timer != NULL)
        event_free(el->timer);
    election_free(el->election);
    lease_page_unmap(el->page);
    free(el->lease);
}

int
main(int argc, char **argv)
{
    static const struct worker_handler handlers[] = {
        {MSG_CONTEND, on_contend},
    };
    static const struct worker_ops ops = {
        .role = ROLE_ELECTOR,
        .handlers = handlers,
        .handler_count = nitems(handlers),
        .configure = configure,
        .reach = reach,
        .granted = granted,
        .start = start,
        .measure = measure,
        .stop = stop,
        .fini = fini,
    };
    struct elector el = {0};

    return worker_main(argc, argv, &ops, &el);
}
