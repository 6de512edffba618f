/* SPDX-License-Identifier: Apache-2.0 */
#include "common/worker.h"

#include <event2/event.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/answer.h"
#include "common/arena.h"
#include "common/build.h"
#include "common/clock.h"
#include "common/crash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/metrics.h"
#include "common/question.h"
#include "common/sandbox/sandbox.h"
#include "common/tap.h"
#include "common/trace.h"
#include "proto/object.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* Reports of facts that change often are so far apart at least. */
#define REPORT_PERIOD CLOCK_SECOND

/* So many bytes more or less, in use or free, are no change. */
#define LITTLE ((size_t)64 << 10)

struct worker {
    const struct worker_ops *ops;
    void *state;
    struct event_base *base;
    struct chan *control;
    struct chan *links[ROLE_COUNT];
    int64_t generations[ROLE_COUNT];     /* of the peers at those links */
    struct chan_counts past[ROLE_COUNT]; /* of the links before those */
    struct arena options_memory;
    struct pair *options;
    size_t option_count;
    uint64_t generation;
    bool configured, started;
    bool over; /* the loop is about to end; nothing is taken any more */
    struct buf reported;  /* body of the last STATE */
    size_t reported_head; /* how much of it is not facts */
    int64_t reported_at;
    struct buf report; /* the body that waits, or empty */
    struct event *report_timer;
    struct trace *trace; /* or NULL */
    struct tap taps[ROLE_COUNT];
    struct answers answers;
    size_t in_use;     /* bytes of memory, at the last ping */
    bool quiet;        /* that was what it had been at the one before */
    size_t given_back; /* bytes that were free when memory last went back */
    int status;
};

struct event_base *
worker_base(const struct worker *w)
{
    return w->base;
}

struct chan *
worker_control(const struct worker *w)
{
    return w->control;
}

uint64_t
worker_generation(const struct worker *w)
{
    return w->generation;
}

const char *
worker_option(const struct worker *w, const char *name)
{
    for (size_t i = 0; i < w->option_count; i++)
        if (str_is(w->options[i].key, name))
            return w->options[i].value.s;
    return "";
}

int64_t
worker_option_duration(const struct worker *w, const char *name)
{
    struct err err;
    int64_t ns;

    /* The supervisor refuses what does not parse before it starts anyone. */
    if (duration_parse(worker_option(w, name), &ns, &err) != 0)
        fatal("option %s: %s", name, err.text);
    return ns;
}

/* The first reason counts: the link may end before the loop does. */
static void
finish(struct worker *w, int status)
{
    if (!w->over)
        w->status = status;
    w->over = true;
    if (w->control != NULL)
        chan_flush(w->control);
    event_base_loopbreak(w->base);
}

void
worker_bye(struct worker *w)
{
    if (w->control != NULL)
        chan_send(w->control, MSG_BYE, 0, STR(""));
    finish(w, 0);
}

void
worker_fail(struct worker *w, const char *text)
{
    struct buf body = {0};

    if (w->control != NULL) {
        pack_array(&body, 1);
        pack_text(&body, text);
        chan_send(w->control, MSG_FAILED, 0, buf_str(&body));
    }
    buf_fini(&body);
    finish(w, 1);
}

/* The body of a STATE; returns how much of it is not facts. */
static size_t
pack_report(struct buf *body, bool ok, const char *reason,
            const struct worker_fact *facts)
{
    size_t count = 0;
    size_t head;

    while (facts != NULL && facts[count].name != NULL)
        count++;
    pack_array(body, 3);
    pack_bool(body, ok);
    pack_text(body, reason);
    head = body->len;
    pack_map(body, count);
    for (size_t i = 0; i < count; i++) {
        pack_text(body, facts[i].name);
        pack_int(body, facts[i].number);
    }
    return head;
}

/* Takes over the body; what waited is out of date with it. */
static void
send_report(struct worker *w, struct buf *body, size_t head)
{
    event_del(w->report_timer);
    buf_fini(&w->report);
    if (!str_eq(buf_str(&w->reported), buf_str(body))) {
        chan_send(w->control, MSG_STATE, 0, buf_str(body));
        w->reported_at = clock_now();
    }
    buf_fini(&w->reported);
    w->reported = *body;
    w->reported_head = head;
}

static void
on_report(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;
    struct buf body = w->report;

    (void)fd;
    (void)what;
    w->report = (struct buf){0};
    if (w->control == NULL)
        buf_fini(&body);
    else
        send_report(w, &body, w->reported_head);
}

void
worker_report(struct worker *w, bool ok, const char *reason,
              const struct worker_fact *facts)
{
    struct buf body = {0};
    size_t head;

    if (w->control == NULL)
        return;
    head = pack_report(&body, ok, reason, facts);
    send_report(w, &body, head);
}

void
worker_report_soon(struct worker *w, bool ok, const char *reason,
                   const struct worker_fact *facts)
{
    int64_t wait = w->reported_at + REPORT_PERIOD - clock_now();
    struct timeval tv = {wait / CLOCK_SECOND, wait % CLOCK_SECOND / 1000 + 1};
    struct buf body = {0};
    struct str said;
    size_t head;

    if (w->control == NULL)
        return;
    head = pack_report(&body, ok, reason, facts);
    said = buf_str(&w->reported);
    if (wait <= 0 || w->reported_head != head ||
        memcmp(said.s, buf_bytes(&body), head) != 0) {
        send_report(w, &body, head);
        return;
    }
    buf_fini(&w->report);
    w->report = body;
    if (!event_pending(w->report_timer, EV_TIMEOUT, NULL))
        event_add(w->report_timer, &tv);
}

static void
say_sandboxed(struct worker *w, const char *lacking)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_text(&body, lacking);
    chan_send(w->control, MSG_SANDBOXED, 0, buf_str(&body));
    buf_fini(&body);
}

/* Before anything comes from others than the supervisor. */
static void
confine(struct worker *w)
{
    bool required = strcmp(worker_option(w, "require-sandbox"), "true") == 0;
    struct sandbox *box = sandbox_new(w->ops->role);
    struct err lacking;

    if (w->ops->reach != NULL)
        w->ops->reach(w->state, box);
    sandbox_memory(box, atoll(worker_option(w, "memory")));
    sandbox_enter(box, &lacking);
    sandbox_free(box);
    say_sandboxed(w, lacking.text);
    if (required && lacking.text[0] != '\0') {
        err_prefix(&lacking, "--require-sandbox");
        worker_fail(w, lacking.text);
    }
}

static int
on_config(struct worker *w, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    enum log_level level = LOG_INFO;
    enum log_format format = LOG_JSON;
    const struct value *map;

    w->generation = (uint64_t)unpack_int(&u);
    map = unpack_map(&u);
    if (unpack_end(&u, err) != 0)
        return -1;
    w->option_count = value_count(map);
    w->options =
        arena_alloc(&w->options_memory, w->option_count * sizeof(*w->options));
    for (size_t i = 0; i < w->option_count; i++) {
        struct str value = STR("");

        value_str(value_at(map, i), &value);
        w->options[i].key = arena_str(&w->options_memory, value_key(map, i));
        w->options[i].value = arena_str(&w->options_memory, value);
    }
    log_level_parse(worker_option(w, "log-level"), &level);
    log_format_parse(worker_option(w, "log-format"), &format);
    log_setup(role_name(w->ops->role), w->generation, level, format);
    w->configured = true;
    if (w->ops->configure != NULL && w->ops->configure(w->state, w, err) != 0)
        worker_fail(w, err->text);
    else
        confine(w);
    return 0;
}

/* Every frame of a link, and those of the control link but questions, answers
 * and pings, which would drown them. */
static void
on_seen(void *arg, const struct chan *chan, bool out, uint16_t type,
        uint32_t id, struct str body)
{
    struct worker *w = arg;
    enum role peer = chan_peer(chan);

    if (type == MSG_PING || type == MSG_PONG || type == MSG_ANSWER ||
        type == MSG_GO_ON || type == MSG_TAPPED)
        return;
    trace_note(w->trace, peer, out, type, id, body);
    if (chan != w->control && w->control != NULL)
        tap_frame(&w->taps[peer], w->control, peer, out, type, id, body);
}

static int
take_trace(struct worker *w, int fd, struct err *err)
{
    if (fd < 0 || w->trace != NULL)
        return err_set(err, "a trace without its descriptor, or twice");
    w->trace = trace_map(fd, true, err);
    if (w->trace == NULL)
        return -1;
    crash_watch(w->trace);
    chan_watch(w->control, on_seen, w);
    return 0;
}

static int
on_granted(struct worker *w, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t resource = unpack_int(&u);
    int fd = m->fd;

    if (unpack_end(&u, err) != 0)
        return -1;
    if (resource == RESOURCE_TRACE)
        return take_trace(w, fd, err);
    if (fd < 0 || w->ops->granted == NULL)
        return err_set(err, "resource %d was not asked for", (int)resource);
    m->fd = -1;
    if (w->ops->granted(w->state, (enum resource)resource, fd, err) != 0)
        worker_fail(w, err->text);
    return 0;
}

static int on_message(void *arg, struct chan *chan, struct message *m,
                      struct err *err);
static void on_room(void *arg, struct chan *chan);
static void on_closed(void *arg, struct chan *chan, const char *reason);

static const struct chan_ops link_ops = {on_message, on_room, on_closed};

static void
add_counts(struct chan_counts *sum, const struct chan *chan)
{
    struct chan_counts c = chan_counts(chan);

    sum->sent += c.sent;
    sum->received += c.received;
    sum->sent_bytes += c.sent_bytes;
    sum->received_bytes += c.received_bytes;
}

static void
drop_link(struct worker *w, enum role peer)
{
    struct chan *old = w->links[peer];

    if (old == NULL)
        return;
    w->links[peer] = NULL;
    add_counts(&w->past[peer], old);
    chan_free(old);
    if (w->ops->unlinked != NULL)
        w->ops->unlinked(w->state, peer);
}

static int
on_linked(struct worker *w, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t peer = unpack_int(&u);
    int64_t generation = unpack_int(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    if (m->fd < 0 || peer <= ROLE_SUPERVISOR || peer >= ROLE_COUNT)
        return err_set(err, "link to %d without a peer or a descriptor",
                       (int)peer);
    drop_link(w, (enum role)peer);
    w->links[peer] =
        chan_new(w->base, m->fd, w->ops->role, (enum role)peer, &link_ops, w);
    chan_watch(w->links[peer], on_seen, w);
    w->generations[peer] = generation;
    m->fd = -1;
    log_debug("linked", F_STR("peer", role_name((enum role)peer)),
              F_INT("peerGeneration", generation));
    if (w->ops->linked != NULL)
        w->ops->linked(w->state, (enum role)peer, w->links[peer]);
    return 0;
}

static int
on_start(struct worker *w, struct message *m, struct err *err)
{
    (void)m;
    if (!w->configured || w->started)
        return err_set(err, "START out of turn");
    w->started = true;
    if (w->ops->start != NULL && w->ops->start(w->state, err) != 0) {
        worker_fail(w, err->text);
        return 0;
    }
    chan_send(w->control, MSG_READY, 0, STR(""));
    return 0;
}

static int
on_stop(struct worker *w, struct message *m, struct err *err)
{
    (void)m;
    (void)err;
    log_debug("stopping");
    if (w->ops->stop == NULL)
        worker_bye(w);
    else
        w->ops->stop(w->state);
    return 0;
}

/* A link that exists, or existed. */
static void
measure_link(const struct worker *w, enum role peer, const struct chan *chan,
             struct metrics *m)
{
    struct chan_counts counts = w->past[peer];

    if (chan != NULL)
        add_counts(&counts, chan);
    if (chan == NULL && counts.received == 0 && counts.sent == 0)
        return;
    metrics_set(m, METRIC_LINK_SENT, peer, 0, (int64_t)counts.sent);
    metrics_set(m, METRIC_LINK_RECEIVED, peer, 0, (int64_t)counts.received);
    metrics_set(m, METRIC_LINK_SENT_BYTES, peer, 0, (int64_t)counts.sent_bytes);
    metrics_set(m, METRIC_LINK_RECEIVED_BYTES, peer, 0,
                (int64_t)counts.received_bytes);
    metrics_set(m, METRIC_LINK_QUEUED_BYTES, peer, 0,
                chan == NULL ? 0 : (int64_t)chan_pending(chan));
}

static int
on_measure(struct worker *w, struct message *question, struct err *err)
{
    struct metrics *m = metrics_new();
    struct buf body = {0};

    (void)question;
    (void)err;
    measure_link(w, ROLE_SUPERVISOR, w->control, m);
    for (unsigned peer = 0; peer < ROLE_COUNT; peer++)
        if (peer != ROLE_SUPERVISOR)
            measure_link(w, (enum role)peer, w->links[peer], m);
    if (w->ops->measure != NULL)
        w->ops->measure(w->state, m);
    metrics_pack(&body, m, w->ops->role);
    chan_send(w->control, MSG_METRICS, 0, buf_str(&body));
    buf_fini(&body);
    metrics_free(m);
    return 0;
}

static int
on_ask(struct worker *w, struct message *m, struct err *err)
{
    return questions_ask(&w->answers, w->ops, w->state, w->control, m, err);
}

static int
on_more(struct worker *w, struct message *m, struct err *err)
{
    (void)err;
    answers_more(&w->answers, w->control, m->id);
    return 0;
}

static int
on_forget(struct worker *w, struct message *m, struct err *err)
{
    (void)err;
    answers_forget(&w->answers, m->id);
    return 0;
}

static int
on_tap(struct worker *w, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t peer = unpack_int(&u);
    bool on = unpack_bool(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    if (peer <= ROLE_SUPERVISOR || peer >= ROLE_COUNT)
        return err_set(err, "no link to %d", (int)peer);
    w->taps[peer] = (struct tap){.on = on};
    return 0;
}

/* Once a burst is over, what it took goes back to the system: malloc would keep
 * the peak, each process its own.  What is free already went back if it is no
 * more than the last time; a burst that begins and ends between two pings, in
 * memory that went back before, is not seen. */
static void
give_back(struct worker *w)
{
    struct mallinfo2 now = mallinfo2();
    size_t change = now.uordblks > w->in_use ? now.uordblks - w->in_use
                                             : w->in_use - now.uordblks;
    bool quiet = change < LITTLE;

    if (quiet && (!w->quiet || now.fordblks > w->given_back + LITTLE)) {
        malloc_trim(0);
        w->given_back = mallinfo2().fordblks;
    }
    w->in_use = now.uordblks;
    w->quiet = quiet;
}

static int
on_ping(struct worker *w, struct message *m, struct err *err)
{
    (void)m;
    (void)err;
    chan_send(w->control, MSG_PONG, 0, STR(""));
    give_back(w);
    return 0;
}

/* What the runtime itself answers; everything else is the worker's.  CONFIG
 * comes once, and first. */
static int
on_message(void *arg, struct chan *chan, struct message *m, struct err *err)
{
    static const struct {
        uint16_t type;
        int (*handle)(struct worker *, struct message *, struct err *);
    } own[] = {
        {MSG_CONFIG, on_config},   {MSG_GRANTED, on_granted},
        {MSG_LINKED, on_linked},   {MSG_START, on_start},
        {MSG_STOP, on_stop},       {MSG_PING, on_ping},
        {MSG_ASK, on_ask},         {MSG_GO_ON, on_more},
        {MSG_FORGET, on_forget},   {MSG_TAP, on_tap},
        {MSG_MEASURE, on_measure},
    };
    struct worker *w = arg;

    if (w->over)
        return 0;
    if (w->configured == (m->type == MSG_CONFIG))
        return err_set(err, w->configured ? "it came twice"
                                          : "it came before CONFIG");
    for (size_t i = 0; i < nitems(own); i++)
        if (own[i].type == m->type)
            return own[i].handle(w, m, err);
    for (size_t i = 0; i < w->ops->handler_count; i++)
        if (w->ops->handlers[i].type == m->type)
            return w->ops->handlers[i].handle(w->state, chan, m, err);
    return err_set(err, "no handler for it in %s", role_name(w->ops->role));
}

static void
on_room(void *arg, struct chan *chan)
{
    struct worker *w = arg;

    if (w->ops->room != NULL)
        w->ops->room(w->state, chan_peer(chan));
}

/* The supervisor gives the peer a fresh start, and a new link follows. */
static void
say_broken(struct worker *w, enum role peer, const char *reason)
{
    struct buf body = {0};

    if (w->control == NULL)
        return;
    pack_array(&body, 3);
    pack_int(&body, peer);
    pack_int(&body, w->generations[peer]);
    pack_text(&body, reason);
    chan_send(w->control, MSG_LINK_BROKEN, 0, buf_str(&body));
    buf_fini(&body);
}

static void
on_closed(void *arg, struct chan *chan, const char *reason)
{
    struct worker *w = arg;
    enum role peer = chan_peer(chan);

    if (chan == w->control) {
        if (reason != NULL)
            log_error("control link ended", F_STR("error", reason));
        w->control = NULL;
        chan_free(chan);
        finish(w, reason == NULL ? 0 : 1);
        return;
    }
    if (reason != NULL)
        say_broken(w, peer, reason);
    if (w->links[peer] == chan)
        drop_link(w, peer);
    else
        chan_free(chan);
}

static void
say_hello(struct worker *w)
{
    struct buf body = {0};

    pack_array(&body, 4);
    pack_int(&body, PROTOCOL_VERSION);
    pack_text(&body, build_id);
    pack_text(&body, role_name(w->ops->role));
    pack_int(&body, getpid());
    chan_send(w->control, MSG_HELLO, 0, buf_str(&body));
    buf_fini(&body);
}

static int
is_socket(int fd)
{
    int type;
    socklen_t n = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0;
}

static void
prepare_process(const struct worker_ops *ops)
{
    log_setup(role_name(ops->role), 0, LOG_INFO, LOG_JSON);
    prctl(PR_SET_NAME, role_name(ops->role));
    signal(SIGPIPE, SIG_IGN);
    /* Whoever started it may have left some open. */
    close_range(WORKER_CONTROL_FD + 1, ~0u, 0);
    crash_prepare();
    tzset(); /* reads a file, once */
}

int
worker_main(int argc, char **argv, const struct worker_ops *ops, void *state)
{
    struct worker w = {.ops = ops, .state = state};

    if (argc != 1 || !is_socket(WORKER_CONTROL_FD)) {
        fprintf(stderr,
                "%s: this is a worker of control-plane, which starts it; run "
                "control-plane instead (control-plane --help)\n",
                argc > 0 ? argv[0] : role_name(ops->role));
        return 2;
    }
    prepare_process(ops);
    w.base = event_base_new();
    if (w.base == NULL)
        fatal("no event loop");
    w.report_timer = evtimer_new(w.base, on_report, &w);
    if (w.report_timer == NULL)
        fatal("no timer for reports");
    w.control = chan_new(w.base, WORKER_CONTROL_FD, ops->role, ROLE_SUPERVISOR,
                         &link_ops, &w);
    say_hello(&w);
    event_base_dispatch(w.base);
    if (ops->fini != NULL)
        ops->fini(state);
    for (unsigned i = 0; i < ROLE_COUNT; i++)
        chan_free(w.links[i]);
    chan_free(w.control);
    arena_fini(&w.options_memory);
    buf_fini(&w.reported);
    buf_fini(&w.report);
    event_free(w.report_timer);
    answers_fini(&w.answers);
    event_base_free(w.base);
    crash_unwatch();
    trace_unmap(w.trace);
    return w.status;
}
