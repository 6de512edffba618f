/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer - keeps a cache of the watched objects and feeds it to the placer.
 *
 * It is the only process that lists and watches, and it writes nothing.  One
 * source for each row of resources.def fills the store; the feed sends from
 * there what its reader does not have yet.  A reader that comes back is synced
 * from the store, and the API server notices nothing.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/access.h"
#include "common/kube/config.h"
#include "common/kube/http.h"
#include "common/kube/reach.h"
#include "common/kube/stats.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/worker.h"
#include "informer/dump.h"
#include "informer/feed.h"
#include "informer/source.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* Facts are reported at most so often; what matters is reported at once. */
#define REPORT_PERIOD CLOCK_SECOND

struct informer {
    struct worker *worker; /* NULL until all below is there */
    struct kube_config config;
    struct kube_client *client;
    struct kube_right rights[KIND_COUNT];
    struct kube_access *access;
    struct err missing; /* what we are not allowed; empty: nothing */
    struct store *store;
    struct source *sources[KIND_COUNT];
    struct feed *feed;
    struct chan *reader;      /* or NULL */
    unsigned wanted;          /* kinds that the reader subscribed to last */
    struct moment current;    /* the last that the racks are newer than */
    struct moment refreshing; /* for which they are listed; term 0: none */
    bool started;             /* START came */
    bool told_back;           /* that the cluster went back in time */
    int64_t behind;      /* since when the feed has waited; 0: it does not */
    int64_t dropped;     /* changes that were none for any reader */
    struct event *turn;  /* runs once after all of what is due now */
    struct event *facts; /* a report is due */
    bool ok;             /* as reported last */
    char *reason;        /* likewise */
};

/* --- report --- */

static bool
is_wanted(const struct informer *in, unsigned kind)
{
    return (in->wanted & 1u << kind) != 0;
}

/* Adds what a resource waits for, unless another waits for the same. */
static void
add_reason(const struct informer *in, unsigned kind, struct buf *line)
{
    const char *reason = source_reason(in->sources[kind]);
    struct err listing;

    if (reason[0] == '\0' && !store_complete(in->store, kind)) {
        err_set(&listing, "%s: listing", resource_of(kind)->plural);
        reason = listing.text;
    } else if (reason[0] == '\0' && kind == KIND_RACK &&
               in->refreshing.term != 0) {
        err_set(&listing,
                "%s: listing anew, before the first write of the term",
                resource_of(kind)->plural);
        reason = listing.text;
    }
    if (reason[0] == '\0')
        return;
    if (line->len > 0 &&
        memmem(buf_bytes(line), line->len, reason, strlen(reason)) != NULL)
        return;
    buf_printf(line, "%s%s", line->len > 0 ? "; " : "", reason);
}

/* Whether everything wanted is there, and what is waited for.  A cache that was
 * complete once counts as synchronised (mokka-control 2.5), also while its
 * watch fails; that is said beside it. */
static bool
judge(const struct informer *in, char **reason)
{
    bool ok = in->wanted != 0;
    struct buf line = {0};

    if (!ok)
        buf_addz(&line, "no placer has subscribed yet");
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        if (!is_wanted(in, kind))
            continue;
        ok = ok && store_complete(in->store, kind);
        add_reason(in, kind, &line);
    }
    if (in->missing.text[0] != '\0')
        buf_printf(&line, "%s%s", line.len > 0 ? "; " : "", in->missing.text);
    *reason = buf_take(&line);
    return ok;
}

static struct source_counts
sum_counts(const struct informer *in)
{
    struct source_counts sum = {0};

    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        struct source_counts c = source_counts(in->sources[kind]);

        sum.lists += c.lists;
        sum.watches += c.watches;
        sum.events += c.events;
        sum.bad += c.bad;
    }
    return sum;
}

static void
report(struct informer *in)
{
    struct source_counts sum = sum_counts(in);
    struct worker_fact facts[] = {
        {"profiles", (int64_t)store_count(in->store, KIND_PROFILE)},
        {"inventories", (int64_t)store_count(in->store, KIND_INVENTORY)},
        {"racks", (int64_t)store_count(in->store, KIND_RACK)},
        {"nodes", (int64_t)store_count(in->store, KIND_NODE)},
        {"unsent", (int64_t)feed_pending(in->feed)},
        {"dropped", in->dropped},
        {"lists", sum.lists},
        {"watches", sum.watches},
        {"events", sum.events},
        {"bad", sum.bad},
        {NULL, 0},
    };

    worker_report(in->worker, in->ok, in->reason, facts);
}

static void
on_facts(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    report(arg);
}

/* Reports now if it matters, else a little later. */
static void
report_change(struct informer *in)
{
    struct timeval period = {REPORT_PERIOD / CLOCK_SECOND, 0};
    char *reason;
    bool ok = judge(in, &reason);
    bool news =
        ok != in->ok || in->reason == NULL || strcmp(reason, in->reason) != 0;

    free(in->reason);
    in->reason = reason;
    in->ok = ok;
    if (news) {
        report(in);
    } else if (!evtimer_pending(in->facts, NULL)) {
        evtimer_add(in->facts, &period);
    }
}

static void
measure_kind(const struct informer *in, unsigned kind, struct metrics *m)
{
    struct source_counts c = source_counts(in->sources[kind]);

    metrics_set(m, METRIC_CACHE_OBJECTS, kind, 0,
                (int64_t)store_count(in->store, kind));
    metrics_set(m, METRIC_CACHE_SYNCED, kind, 0,
                store_complete(in->store, kind));
    metrics_set(m, METRIC_CACHE_LISTS, kind, 0, c.lists);
    metrics_set(m, METRIC_CACHE_WATCHES, kind, 0, c.watches);
    metrics_set(m, METRIC_CACHE_EVENTS, kind, 0, c.events);
    metrics_set(m, METRIC_CACHE_SKIPPED, kind, 0, c.bad);
}

static void
measure(void *state, struct metrics *m)
{
    const struct informer *in = state;

    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        measure_kind(in, kind, m);
    metrics_set(m, METRIC_CACHE_UNCHANGED, 0, 0, in->dropped);
    metrics_set(m, METRIC_FEED_PENDING, 0, 0, (int64_t)feed_pending(in->feed));
    metrics_set(m, METRIC_FEED_LAG, 0, 0,
                in->behind == 0 ? 0 : clock_now() - in->behind);
    kube_stats_measure(kube_client_stats(in->client), m);
}

/* --- from the sources to the reader --- */

/* Something came in; look at it once all that is there has been taken. */
static void
on_changed(void *arg)
{
    struct informer *in = arg;

    event_active(in->turn, EV_TIMEOUT, 0);
}

static void
pump(struct informer *in)
{
    feed_pump(in->feed);
    if (feed_pending(in->feed) == 0)
        in->behind = 0;
    else if (in->behind == 0)
        in->behind = clock_now();
}

static void
end_refresh(struct informer *in)
{
    if (in->refreshing.term == 0 ||
        source_is_refreshing(in->sources[KIND_RACK]))
        return;
    in->current = in->refreshing;
    in->refreshing.term = 0;
    feed_current(in->feed, in->current);
}

/* Whether the cluster went back in time: then nothing goes to the reader any
 * more, and the supervisor starts all anew that know the cluster. */
static bool
tell_back(struct informer *in)
{
    const char *why = store_went_back(in->store);
    struct buf body = {0};

    if (why[0] == '\0')
        return false;
    if (!in->told_back) {
        pack_array(&body, 1);
        pack_text(&body, why);
        chan_send(worker_control(in->worker), MSG_WENT_BACK, 0, buf_str(&body));
        buf_fini(&body);
        in->told_back = true;
    }
    return true;
}

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
    struct informer *in = arg;

    (void)fd;
    (void)what;
    if (tell_back(in))
        return;
    end_refresh(in);
    pump(in);
    report_change(in);
}

static void
on_touched(void *arg, const struct store_touch *touch)
{
    struct informer *in = arg;

    if (touch->change == STORE_VERSION && !resource_of(touch->kind)->echo) {
        in->dropped++;
        return;
    }
    feed_mark(in->feed, touch);
    on_changed(in);
}

/* What is known of a cluster that went back in time is for nobody. */
static bool
link_room(void *arg)
{
    const struct informer *in = arg;

    return in->reader != NULL && chan_room(in->reader) &&
           store_went_back(in->store)[0] == '\0';
}

static void
link_send(void *arg, uint16_t type, struct str body)
{
    const struct informer *in = arg;

    chan_send(in->reader, type, 0, body);
}

/* --- what we are allowed --- */

static void
on_access(void *arg, const char *missing)
{
    struct informer *in = arg;

    err_set(&in->missing, "%s", missing);
    on_changed(in);
}

/* Lists in pages need the one, all else the other. */
static int
ask_access(struct informer *in, struct err *err)
{
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        in->rights[kind] = (struct kube_right){
            .verbs = "list watch",
            .group = resource_of(kind)->group,
            .resource = resource_of(kind)->plural,
        };
    in->access = kube_access_new(worker_base(in->worker), &in->config,
                                 in->rights, KIND_COUNT, on_access, in, err);
    return in->access == NULL ? -1 : 0;
}

/* --- messages and links --- */

/* Watches what is wanted, and nothing else. */
static void
follow(struct informer *in)
{
    if (!in->started || in->worker == NULL)
        return;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        if (is_wanted(in, kind))
            source_start(in->sources[kind]);
        else
            source_stop(in->sources[kind]);
    }
    on_changed(in);
}

static int
read_kinds(const struct value *list, unsigned *kinds, struct err *err)
{
    *kinds = 0;
    for (size_t i = 0; i < value_count(list); i++) {
        int64_t kind = -1;

        if (!value_int(value_at(list, i), &kind) || kind < 0 ||
            kind >= KIND_COUNT)
            return err_set(err, "kind %zu of the list is none", i);
        *kinds |= 1u << kind;
    }
    return *kinds == 0 ? err_set(err, "no kind") : 0;
}

static int
on_subscribe(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct informer *in = state;
    struct unpack u = unpack_fields(m->body);
    const struct value *list = unpack_array(&u);
    struct moment moment = unpack_moment(&u);
    unsigned kinds;

    if (unpack_end(&u, err) != 0 || read_kinds(list, &kinds, err) != 0)
        return -1;
    if (!moment_is_sound(moment))
        return err_set(err, "there is no such term");
    in->reader = from;
    in->wanted = kinds;
    if (moment.term != 0)
        in->current = moment;
    log_debug("subscribed", F_STR("reader", role_name(chan_peer(from))));
    follow(in);
    feed_open(in->feed, kinds);
    return 0;
}

static int
on_refresh(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct informer *in = state;
    struct unpack u = unpack_fields(m->body);
    struct moment moment = unpack_moment(&u);

    (void)from;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (moment.term == 0 || !moment_is_sound(moment) ||
        !is_wanted(in, KIND_RACK))
        return err_set(err, "nothing to refresh");
    if (moment_covers(in->current, moment)) {
        feed_current(in->feed, moment);
    } else if (!moment_covers(in->refreshing, moment)) {
        in->refreshing = moment;
        source_refresh(in->sources[KIND_RACK]);
        on_changed(in);
    }
    return 0;
}

/* What it wanted stays watched: a reader that died is soon back. */
static void
on_unlinked(void *state, enum role peer)
{
    struct informer *in = state;

    if (peer != ROLE_PLACER)
        return;
    feed_close(in->feed);
    in->behind = 0;
    in->reader = NULL;
}

static void
on_room(void *state, enum role peer)
{
    struct informer *in = state;

    if (peer == ROLE_PLACER)
        pump(in);
}

/* --- life --- */

static int
configure(void *state, struct worker *w, struct err *err)
{
    struct informer *in = state;
    struct event_base *base = worker_base(w);
    struct feed_link link = {link_room, link_send, in};

    if (kube_config_load(&in->config, worker_option(w, "kubeconfig"), err) != 0)
        return -1;
    in->client = kube_client_new(base, &in->config, err);
    if (in->client == NULL) {
        kube_config_fini(&in->config);
        return -1;
    }
    in->store = store_new(on_touched, in);
    in->feed = feed_new(in->store, &link);
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        in->sources[kind] = source_new(base, in->client, resource_of(kind),
                                       in->store, on_changed, in);
    in->turn = event_new(base, -1, 0, on_turn, in);
    in->facts = evtimer_new(base, on_facts, in);
    if (in->turn == NULL || in->facts == NULL)
        fatal("no events for the informer");
    in->worker = w;
    return 0;
}

static void
reach(void *state, struct sandbox *box)
{
    const struct informer *in = state;

    kube_reach(&in->config, box);
}

static int
start(void *state, struct err *err)
{
    struct informer *in = state;

    in->started = true;
    follow(in);
    return ask_access(in, err);
}

static void
fini(void *state)
{
    struct informer *in = state;

    if (in->worker == NULL)
        return;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        source_free(in->sources[kind]);
    kube_client_free(in->client);
    kube_access_free(in->access);
    kube_config_fini(&in->config);
    feed_free(in->feed);
    store_free(in->store);
    free(in->reason);
    event_free(in->turn);
    event_free(in->facts);
}

static int
on_dump(void *state, const struct str *arguments, struct buf *out,
        struct err *err)
{
    const struct informer *in = state;

    (void)arguments;
    (void)err;
    dump_store(out, in->store);
    return 0;
}

static const struct worker_question questions[] = {
    {"dump", 0, on_dump},
};

static const struct worker_handler handlers[] = {
    {MSG_SUBSCRIBE, on_subscribe},
    {MSG_REFRESH, on_refresh},
};

static const struct worker_ops ops = {
    .role = ROLE_INFORMER,
    .handlers = handlers,
    .handler_count = nitems(handlers),
    .questions = questions,
    .question_count = nitems(questions),
    .configure = configure,
    .reach = reach,
    .start = start,
    .unlinked = on_unlinked,
    .room = on_room,
    .measure = measure,
    .fini = fini,
};

int
main(int argc, char **argv)
{
    static struct informer informer;

    return worker_main(argc, argv, &ops, &informer);
}
