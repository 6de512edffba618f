/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/supervisor.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/clock.h"
#include "common/lease_page.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/metrics.h"
#include "common/uuid.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/child.h"
#include "supervisor/health.h"
#include "supervisor/listener.h"
#include "supervisor/measure.h"
#include "supervisor/options.h"
#include "supervisor/recording.h"
#include "supervisor/spawn.h"

#define SIGNALS 3
#define SAME_ORDER CLOCK_SECOND

static const struct worker_row {
    enum role role;
    const char *name;
    unsigned stop;
    const char *patience;
} workers[] = {
#define WORKER(role, name, stop, patience) {ROLE_##role, name, stop, patience},
#include "supervisor/topology.def"
};

static const struct {
    enum role a, b;
} links[] = {
#define LINK(a, b) {ROLE_##a, ROLE_##b},
#include "supervisor/topology.def"
};

static const struct {
    enum role role;
    enum resource resource;
} grants[] = {
#define GRANT(role, resource) {ROLE_##role, RESOURCE_##resource},
#include "supervisor/topology.def"
};

struct supervisor;

/* One worker: its row, its life, and what hangs on the present process. */
struct process {
    struct supervisor *sup;
    const struct worker_row *row;
    struct child child;
    struct event *timer; /* for child.due or child.limit */
    struct chan *control;
    pid_t pid;           /* 0: none */
    pid_t dead;          /* the last one that ended */
    char cause[64];      /* how it ended */
    unsigned untold;     /* deaths that the projector has not been told of */
    bool back_untold;    /* likewise, that it is back after one */
    bool given_up;       /* its last death was one too many */
    uint64_t generation; /* of the last start */
    int64_t started;     /* wall time of that */
};

struct supervisor {
    const struct options *options;
    struct event_base *base;
    struct event *signals[SIGNALS];
    struct event *grace; /* readiness changes when a grace has run out */
    struct process processes[nitems(workers)];
    struct health health;
    struct buf readiness; /* body of the last READINESS */
    char *identity;
    int64_t started; /* wall time */
    int resources[RESOURCE_COUNT];
    struct lease_page *page;
    uint64_t term; /* the running term; 0: none */
    bool contending;
    unsigned turn; /* of the stop; 0: not stopping */
    int64_t stop_began;
    bool was_ready;
    int status;
    struct err *err;
};

static void step(struct process *p, enum child_event event);

static struct process *
process_of(struct supervisor *sup, enum role role)
{
    for (size_t i = 0; i < nitems(workers); i++)
        if (workers[i].role == role)
            return &sup->processes[i];
    fatal("no worker %d", (int)role);
}

static bool
is_wired(const struct process *p)
{
    return p->control != NULL &&
           (p->child.state == CHILD_WIRING || p->child.state == CHILD_RUNNING);
}

static bool
hears(const struct process *p, uint16_t type)
{
    return (message_receivers(type) & 1u << p->row->role) != 0;
}

/* Sends a message to every wired worker that may get it. */
static void
broadcast(struct supervisor *sup, uint16_t type, struct str body)
{
    for (size_t i = 0; i < nitems(workers); i++) {
        const struct process *p = &sup->processes[i];

        if (is_wired(p) && hears(p, type))
            chan_send(p->control, type, 0, body);
    }
}

/* The body of TERM_BEGAN. */
static void
pack_term(struct buf *out, uint64_t term)
{
    pack_array(out, 1);
    pack_int(out, (int64_t)term);
}

/* To whoever reads; the others get the newest once they do (on_room). */
static void
tell_readiness(struct supervisor *sup)
{
    for (size_t i = 0; i < nitems(workers); i++) {
        const struct process *p = &sup->processes[i];

        if (is_wired(p) && hears(p, MSG_READINESS) && chan_room(p->control))
            chan_send(p->control, MSG_READINESS, 0, buf_str(&sup->readiness));
    }
}

/* The next review by time alone: when a grace runs out. */
static void
arm_grace(struct supervisor *sup, int64_t now)
{
    int64_t due = health_due(&sup->health, now);
    struct timeval tv = {.tv_sec = (due - now) / CLOCK_SECOND + 1};

    if (due == 0)
        event_del(sup->grace);
    else
        event_add(sup->grace, &tv);
}

/* Readiness and what hangs on it: told to whoever hears it when it changed. */
static void
review(struct supervisor *sup)
{
    int64_t now = clock_now();
    struct buf body = {0};
    struct err reason = {""};
    uint64_t term;
    bool news, ready;

    lease_page_read(sup->page, &term, &sup->health.deadline);
    ready = health_ready(&sup->health, now, &reason);
    if (ready != sup->was_ready) {
        if (ready)
            log_info("ready");
        else
            log_info("not ready", F_STR("reason", reason.text));
        sup->was_ready = ready;
    }
    if (!sup->contending && health_synchronised(&sup->health, now)) {
        sup->contending = true;
        broadcast(sup, MSG_CONTEND, STR(""));
    }
    health_pack(&body, &sup->health, now);
    news = !str_eq(buf_str(&body), buf_str(&sup->readiness));
    buf_fini(&sup->readiness);
    sup->readiness = body;
    if (news)
        tell_readiness(sup);
    arm_grace(sup, now);
}

static void begin_stop(struct supervisor *sup);

static int
on_hello(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t protocol = unpack_int(&u);
    struct str build = unpack_str(&u);
    struct str name = unpack_str(&u);

    unpack_int(&u); /* its own idea of its pid; a namespace may differ */
    if (unpack_end(&u, err) != 0)
        return -1;
    if (protocol != PROTOCOL_VERSION || !str_is(build, MOKKA_BUILD_ID) ||
        !str_is(name, p->row->name)) {
        err_set(p->sup->err,
                "%s is \"%.*s\" of build %.*s, protocol %d; this is build %s, "
                "protocol %d: install all programs of one build together",
                p->row->name, (int)name.n, name.s, (int)build.n, build.s,
                (int)protocol, MOKKA_BUILD_ID, PROTOCOL_VERSION);
        p->sup->status = 1;
        begin_stop(p->sup);
        return 0;
    }
    step(p, CHILD_HELLO);
    return 0;
}

static int
on_ready(struct process *p, struct message *m, struct err *err)
{
    (void)m;
    (void)err;
    step(p, CHILD_READY);
    return 0;
}

static int
on_state(struct process *p, struct message *m, struct err *err)
{
    if (health_report(&p->sup->health, p->row->role, m->body, err) != 0)
        return -1;
    /* Once for all the reports that are there. */
    event_active(p->sup->grace, EV_TIMEOUT, 0);
    return 0;
}

static int
on_bye(struct process *p, struct message *m, struct err *err)
{
    (void)p;
    (void)m;
    (void)err;
    return 0; /* the end of the process is what counts */
}

static int
on_failed(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    struct str reason = unpack_str(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    if (p->sup->status == 0)
        err_set(p->sup->err, "%s: %.*s", p->row->name, (int)reason.n, reason.s);
    p->sup->status = 1;
    begin_stop(p->sup);
    return 0;
}

static bool
are_linked(enum role role, int64_t peer)
{
    for (size_t i = 0; i < nitems(links); i++)
        if ((links[i].a == role && links[i].b == peer) ||
            (links[i].b == role && links[i].a == peer))
            return true;
    return false;
}

/* The peer broke the protocol: a fresh start is what mends that, and its
 * back-off keeps it from happening at full speed. */
static int
on_link_broken(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t role = unpack_int(&u);
    int64_t generation = unpack_int(&u);
    struct str reason = unpack_str(&u);
    struct process *peer;
    char *text;

    if (unpack_end(&u, err) != 0)
        return -1;
    if (!are_linked(p->row->role, role))
        return err_set(err, "there is no link to %d", (int)role);
    peer = process_of(p->sup, (enum role)role);
    if (generation != (int64_t)peer->generation)
        return 0; /* that one is gone */
    text = mem_dup(reason.s, reason.n);
    log_error("worker broke the protocol", F_STR("error", text),
              F_STR("toldBy", p->row->name), F_STR("worker", peer->row->name),
              F_INT("generation", peer->generation));
    free(text);
    step(peer, CHILD_CUT);
    return 0;
}

static int
on_term_began(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);
    struct buf body = {0};

    if (unpack_end(&u, err) != 0)
        return -1;
    p->sup->term = (uint64_t)term;
    pack_term(&body, p->sup->term);
    broadcast(p->sup, MSG_TERM_BEGAN, buf_str(&body));
    buf_fini(&body);
    return 0;
}

static int
on_term_ended(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);
    struct str reason = unpack_str(&u);
    struct buf body = {0};

    if (unpack_end(&u, err) != 0)
        return -1;
    p->sup->term = 0;
    pack_array(&body, 2);
    pack_int(&body, term);
    pack_str(&body, reason);
    broadcast(p->sup, MSG_TERM_ENDED, buf_str(&body));
    buf_fini(&body);
    return 0;
}

/* What the supervisor itself knows. */
static void
measure(const struct supervisor *sup, struct metrics *m)
{
    metrics_set(m, METRIC_BUILD_INFO, 0, 0, 1);
    metrics_set(m, METRIC_READY, 0, 0, sup->was_ready);
    measure_process(m, &(struct measured){.role = ROLE_SUPERVISOR,
                                          .pid = getpid(),
                                          .generation = 1,
                                          .started = sup->started,
                                          .up = true});
    for (size_t i = 0; i < nitems(workers); i++) {
        const struct process *p = &sup->processes[i];

        measure_process(m, &(struct measured){
                               .role = p->row->role,
                               .pid = p->pid,
                               .generation = p->generation,
                               .started = p->started,
                               .up = p->child.state == CHILD_RUNNING,
                           });
    }
}

/* One that does not read must not pile up questions. */
static bool
is_asked(const struct process *p)
{
    return p->child.state == CHILD_RUNNING && p->control != NULL &&
           chan_room(p->control);
}

static void
ask_metrics(const struct supervisor *sup, struct chan *web)
{
    struct buf list = {0};
    struct buf body = {0};
    size_t count = 0;

    for (size_t i = 0; i < nitems(workers); i++) {
        const struct process *p = &sup->processes[i];

        if (!is_asked(p))
            continue;
        chan_send(p->control, MSG_MEASURE, 0, STR(""));
        pack_int(&list, p->row->role);
        count++;
    }
    pack_array(&body, 1);
    pack_array(&body, count);
    buf_adds(&body, buf_str(&list));
    chan_send(web, MSG_MEASURING, 0, buf_str(&body));
    buf_fini(&list);
    buf_fini(&body);
}

static int
on_measure(struct process *p, struct message *m, struct err *err)
{
    struct metrics *metrics;
    struct buf body = {0};

    (void)m;
    (void)err;
    if (!chan_room(p->control))
        return 0;
    metrics = metrics_new();
    measure(p->sup, metrics);
    metrics_pack(&body, metrics, ROLE_SUPERVISOR);
    chan_send(p->control, MSG_METRICS, 0, buf_str(&body));
    ask_metrics(p->sup, p->control);
    buf_fini(&body);
    metrics_free(metrics);
    return 0;
}

/* To whoever shows them, if that one reads. */
static void
pass_metrics(const struct supervisor *sup, const struct metrics *metrics,
             enum role from)
{
    struct buf body = {0};

    metrics_pack(&body, metrics, from);
    for (size_t i = 0; i < nitems(workers); i++) {
        const struct process *p = &sup->processes[i];

        if (is_wired(p) && hears(p, MSG_METRICS) && chan_room(p->control))
            chan_send(p->control, MSG_METRICS, 0, buf_str(&body));
    }
    buf_fini(&body);
}

static int
on_metrics(struct process *p, struct message *m, struct err *err)
{
    struct metrics *metrics = metrics_new();
    enum role from;
    int rc = metrics_unpack(metrics, &from, m->body, err);

    if (rc == 0 && from != p->row->role)
        rc = err_set(err, "they are those of %s", role_name(from));
    if (rc == 0)
        pass_metrics(p->sup, metrics, from);
    metrics_free(metrics);
    return rc;
}

static const struct {
    uint16_t type;
    int (*handle)(struct process *p, struct message *m, struct err *err);
} handlers[] = {
    {MSG_HELLO, on_hello},
    {MSG_READY, on_ready},
    {MSG_STATE, on_state},
    {MSG_BYE, on_bye},
    {MSG_LINK_BROKEN, on_link_broken},
    {MSG_FAILED, on_failed},
    {MSG_TERM_BEGAN, on_term_began},
    {MSG_TERM_ENDED, on_term_ended},
    {MSG_MEASURE, on_measure},
    {MSG_METRICS, on_metrics},
};

static int
on_message(void *arg, struct chan *chan, struct message *m, struct err *err)
{
    struct process *p = arg;

    (void)chan;
    for (size_t i = 0; i < nitems(handlers); i++)
        if (handlers[i].type == m->type)
            return handlers[i].handle(p, m, err);
    return err_set(err, "no handler for it in the supervisor");
}

static void
on_closed(void *arg, struct chan *chan, const char *reason)
{
    struct process *p = arg;

    if (reason != NULL)
        log_error("control link ended", F_STR("error", reason),
                  F_STR("worker", p->row->name),
                  F_INT("generation", p->generation));
    p->control = NULL;
    chan_free(chan);
    /* The end of its process follows, or is brought about. */
    step(p, CHILD_CUT);
}

static void
on_room(void *arg, struct chan *chan)
{
    struct process *p = arg;

    if (is_wired(p) && hears(p, MSG_READINESS))
        chan_send(chan, MSG_READINESS, 0, buf_str(&p->sup->readiness));
}

static const struct chan_ops control_ops = {on_message, on_room, on_closed};

static void
do_spawn(struct process *p)
{
    struct err err;
    int fd;

    p->generation++;
    p->started = clock_wall();
    p->pid = spawn_worker(p->row->name, &fd, &err);
    if (p->pid < 0) {
        p->pid = p->dead = 0;
        snprintf(p->cause, sizeof(p->cause), "not started");
        log_error("worker cannot be started", F_STR("error", err.text),
                  F_STR("worker", p->row->name),
                  F_INT("generation", p->generation));
        step(p, CHILD_EXIT);
        return;
    }
    p->control = chan_new(p->sup->base, fd, ROLE_SUPERVISOR, p->row->role,
                          &control_ops, p);
}

static void
send_config(struct process *p)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, (int64_t)p->generation);
    options_pack(&body, p->sup->options, p->sup->identity);
    chan_send(p->control, MSG_CONFIG, 0, buf_str(&body));
    buf_fini(&body);
}

/* A worker that cannot be given its descriptors cannot work: it is started
 * anew, later. */
static void
send_fd(struct process *p, uint16_t type, struct str body, int fd)
{
    struct err err;

    if (chan_send_fd(p->control, type, body, fd, &err) == 0)
        return;
    log_error("worker cannot be wired", F_STR("error", err.text),
              F_STR("worker", p->row->name),
              F_INT("generation", p->generation));
    step(p, CHILD_CUT);
}

/* What this run does not have is granted to nobody. */
static void
send_grants(struct process *p)
{
    for (size_t i = 0; i < nitems(grants); i++) {
        struct buf body = {0};

        if (grants[i].role != p->row->role ||
            p->sup->resources[grants[i].resource] <= 0)
            continue;
        pack_array(&body, 1);
        pack_int(&body, grants[i].resource);
        send_fd(p, MSG_GRANTED, buf_str(&body),
                p->sup->resources[grants[i].resource]);
        buf_fini(&body);
    }
}

static void
send_link(struct process *to, const struct process *peer, int fd)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, peer->row->role);
    pack_int(&body, (int64_t)peer->generation);
    send_fd(to, MSG_LINKED, buf_str(&body), fd);
    buf_fini(&body);
}

static void
link_two(struct process *a, struct process *b)
{
    struct err err;
    int ends[2];

    if (spawn_pair(ends, &err) != 0) {
        log_error("workers cannot be linked", F_STR("error", err.text),
                  F_STR("peer", b->row->name), F_STR("worker", a->row->name),
                  F_INT("generation", a->generation));
        return;
    }
    send_link(a, b, ends[0]);
    send_link(b, a, ends[1]);
    close(ends[0]);
    close(ends[1]);
}

/* Every link whose other end can take it; the others follow when that starts.
 */
static void
send_links(struct process *p)
{
    for (size_t i = 0; i < nitems(links); i++) {
        struct process *a = process_of(p->sup, links[i].a);
        struct process *b = process_of(p->sup, links[i].b);

        if ((a == p || b == p) && is_wired(a) && is_wired(b))
            link_two(a, b);
    }
}

/* Tells of deaths and recoveries, for Events about the Pod.  While nobody can
 * hear it the deaths of a worker are summed up. */
static void
tell_life(struct process *p, const struct process *to)
{
    struct buf body = {0};

    if (p->untold > 0) {
        pack_array(&body, 4);
        pack_int(&body, p->row->role);
        pack_int(&body, p->untold);
        pack_text(&body, p->cause);
        pack_bool(&body, p->given_up);
        chan_send(to->control, MSG_WORKER_DIED, 0, buf_str(&body));
    }
    if (p->back_untold) {
        buf_clear(&body);
        pack_array(&body, 1);
        pack_int(&body, p->row->role);
        chan_send(to->control, MSG_WORKER_BACK, 0, buf_str(&body));
    }
    p->untold = 0;
    p->back_untold = false;
    buf_fini(&body);
}

static void
tell_lives(struct supervisor *sup)
{
    for (size_t i = 0; i < nitems(workers); i++) {
        const struct process *to = &sup->processes[i];

        if (!is_wired(to) || !hears(to, MSG_WORKER_DIED) ||
            !chan_room(to->control))
            continue;
        for (size_t j = 0; j < nitems(workers); j++)
            tell_life(&sup->processes[j], to);
    }
}

static void
note_death(struct process *p, bool given_up)
{
    if (p->sup->health.stopping)
        return;
    p->untold++;
    p->back_untold = false;
    p->given_up = given_up;
    tell_lives(p->sup);
}

/* What a worker must know that started in the middle of things. */
static void
send_standing(struct process *p)
{
    const struct supervisor *sup = p->sup;
    struct buf body = {0};

    if (sup->term != 0 && hears(p, MSG_TERM_BEGAN)) {
        pack_term(&body, sup->term);
        chan_send(p->control, MSG_TERM_BEGAN, 0, buf_str(&body));
        buf_fini(&body);
    }
    if (sup->contending && hears(p, MSG_CONTEND))
        chan_send(p->control, MSG_CONTEND, 0, STR(""));
    if (hears(p, MSG_READINESS))
        chan_send(p->control, MSG_READINESS, 0, buf_str(&sup->readiness));
}

static void
do_wire(struct process *p)
{
    send_config(p);
    send_grants(p);
    send_links(p);
    chan_send(p->control, MSG_START, 0, STR(""));
    send_standing(p);
    tell_lives(p->sup);
}

static void
do_announce(struct process *p)
{
    log_info("worker running", F_INT("pid", p->pid),
             F_INT("milliseconds", (clock_now() - p->child.started) / CLOCK_MS),
             F_STR("worker", p->row->name), F_INT("generation", p->generation));
    p->back_untold = p->generation > 1;
    tell_lives(p->sup);
}

static void
do_tell(struct process *p)
{
    if (p->control != NULL)
        chan_send(p->control, MSG_STOP, 0, STR(""));
}

static void
do_kill(struct process *p)
{
    if (p->pid > 0)
        kill(p->pid, SIGKILL);
}

/* wait: milliseconds to the next start; -1: there is none. */
static void
say_died(const struct process *p, int64_t wait)
{
    log_write(p->sup->health.stopping ? LOG_DEBUG : LOG_WARN, "worker died",
              (const struct log_field[]){
                  F_STR("cause", p->cause),
                  F_INT("pid", p->dead),
                  F_INT("nextStartMilliseconds", wait),
                  F_STR("worker", p->row->name),
                  F_INT("generation", p->generation),
                  {0},
              });
}

static void
do_restart(struct process *p)
{
    int64_t wait = (p->child.due - clock_now()) / CLOCK_MS;

    say_died(p, wait > 0 ? wait : 0);
    note_death(p, false);
    health_died(&p->sup->health, p->row->role, clock_now());
    review(p->sup);
}

static void
do_give_up(struct process *p)
{
    say_died(p, -1);
    note_death(p, true);
    if (p->sup->status == 0)
        err_set(p->sup->err,
                "%s died %d times without getting ready; its last lines in the "
                "log say why",
                p->row->name, CHILD_UNREADY_DEATHS);
    p->sup->status = 1;
    begin_stop(p->sup);
}

/* What a worker that stops was granted is given to nobody any more; a listener
 * that stayed open here would keep clients waiting. */
static void
close_grants(const struct process *p)
{
    int *resources = p->sup->resources;

    for (size_t i = 0; i < nitems(grants); i++) {
        if (grants[i].role != p->row->role ||
            resources[grants[i].resource] <= 0)
            continue;
        close(resources[grants[i].resource]);
        resources[grants[i].resource] = -1;
    }
}

/* The stop goes by turns: the next one begins once everyone of those before has
 * ended. */
static void
next_turn(struct supervisor *sup)
{
    unsigned turn = 0;

    for (size_t i = 0; i < nitems(workers); i++)
        if (sup->processes[i].child.state != CHILD_ENDED &&
            (turn == 0 || workers[i].stop < turn))
            turn = workers[i].stop;
    if (turn == 0)
        event_base_loopexit(sup->base, NULL);
    if (turn <= sup->turn)
        return;
    sup->turn = turn;
    for (size_t i = 0; i < nitems(workers); i++) {
        if (workers[i].stop != turn)
            continue;
        step(&sup->processes[i], CHILD_STOP);
        close_grants(&sup->processes[i]);
    }
}

static void
do_finish(struct process *p)
{
    log_debug("worker ended", F_STR("cause", p->cause),
              F_STR("worker", p->row->name),
              F_INT("generation", p->generation));
    next_turn(p->sup);
}

static void
do_nothing(struct process *p)
{
    (void)p;
}

static void (*const actions[])(struct process *) = {
    [CHILD_NOTHING] = do_nothing, [CHILD_SPAWN] = do_spawn,
    [CHILD_WIRE] = do_wire,       [CHILD_ANNOUNCE] = do_announce,
    [CHILD_TELL] = do_tell,       [CHILD_KILL] = do_kill,
    [CHILD_RESTART] = do_restart, [CHILD_GIVE_UP] = do_give_up,
    [CHILD_FINISH] = do_finish,
};

/* The timer follows the child: a start that is due, or a limit that runs. */
static void
arm(struct process *p)
{
    int64_t at = p->child.state == CHILD_DOWN ? p->child.due : p->child.limit;
    int64_t wait = at - clock_now();
    struct timeval tv;

    event_del(p->timer);
    if (p->child.state != CHILD_DOWN && p->child.limit == 0)
        return;
    if (wait < 0)
        wait = 0;
    tv.tv_sec = wait / CLOCK_SECOND;
    tv.tv_usec = wait % CLOCK_SECOND / 1000;
    event_add(p->timer, &tv);
}

static void
step(struct process *p, enum child_event event)
{
    enum child_action action = child_step(&p->child, event, clock_now());

    actions[action](p);
    arm(p);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct process *p = arg;

    (void)fd;
    (void)what;
    step(p, p->child.state == CHILD_DOWN ? CHILD_DUE : CHILD_LATE);
}

static void
begin_stop(struct supervisor *sup)
{
    if (sup->health.stopping)
        return;
    log_info("stopping");
    sup->health.stopping = true;
    sup->stop_began = clock_now();
    review(sup);
    next_turn(sup);
}

static void
on_stop_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct supervisor *sup = arg;

    (void)what;
    log_info("signal received", F_STR("signal", strsignal(signal_number)));
    if (!sup->health.stopping) {
        begin_stop(sup);
        return;
    }
    /* One order may come as two signals: to the process, and to its group. */
    if (clock_now() - sup->stop_began < SAME_ORDER)
        return;
    /* Asked twice: at once, and the Lease is left to expire. */
    log_warn("stopping at once");
    event_base_loopbreak(sup->base);
}

static void
tell_cause(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "exit status %d", WEXITSTATUS(status));
}

static void
on_exit_of(struct process *p, int status)
{
    tell_cause(status, p->cause, sizeof(p->cause));
    p->dead = p->pid;
    p->pid = 0;
    /* What it sent before it died still counts, and is read first; then comes
     * the end of its link, unless it left that to another process. */
    if (p->control != NULL)
        chan_drain(p->control);
    chan_free(p->control);
    p->control = NULL;
    step(p, CHILD_EXIT);
}

/* Signals coalesce, and strangers may be ours to reap (PID 1). */
static void
on_child_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct supervisor *sup = arg;
    pid_t pid;
    int status;

    (void)signal_number;
    (void)what;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < nitems(workers); i++)
            if (sup->processes[i].pid == pid)
                on_exit_of(&sup->processes[i], status);
}

static void
on_grace(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    review(arg);
}

static char *
make_identity(void)
{
    char host[256] = "";
    char uuid[UUID_TEXT];

    gethostname(host, sizeof(host) - 1);
    uuid_random(uuid);
    return mem_printf("%s_%s", host, uuid);
}

static int
open_resources(struct supervisor *sup, struct err *err)
{
    char address[300] = "";
    const char *recording = options_get(sup->options, "record");
    int page = lease_page_create(&sup->resources[RESOURCE_LEASE_VIEW], err);
    int listener;

    if (page < 0)
        return -1;
    sup->resources[RESOURCE_LEASE_PAGE] = page;
    sup->page = lease_page_map(sup->resources[RESOURCE_LEASE_VIEW], false, err);
    if (sup->page == NULL)
        return -1;
    listener = listener_open(options_get(sup->options, "listen-addr"), address,
                             sizeof(address), err);
    if (listener < 0)
        return err_prefix(err, "--listen-addr");
    sup->resources[RESOURCE_LISTENER] = listener;
    log_info("HTTP listening", F_STR("addr", address));
    if (recording[0] != '\0') {
        sup->resources[RESOURCE_RECORDING] = recording_open(recording, err);
        if (sup->resources[RESOURCE_RECORDING] < 0)
            return err_prefix(err, "--record");
        log_info("recording", F_STR("file", recording));
    }
    return 0;
}

static void
catch_signals(struct supervisor *sup)
{
    static const struct {
        int number;
        event_callback_fn callback;
    } caught[SIGNALS] = {
        {SIGTERM, on_stop_signal},
        {SIGINT, on_stop_signal},
        {SIGCHLD, on_child_signal},
    };

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SIGNALS; i++) {
        sup->signals[i] =
            evsignal_new(sup->base, caught[i].number, caught[i].callback, sup);
        if (sup->signals[i] == NULL || event_add(sup->signals[i], NULL) != 0)
            fatal("no event for signal %d", caught[i].number);
    }
}

static void
start_all(struct supervisor *sup)
{
    for (size_t i = 0; i < nitems(workers); i++) {
        struct process *p = &sup->processes[i];

        p->sup = sup;
        p->row = &workers[i];
        p->child.patience = CHILD_STOP_LIMIT;
        if (p->row->patience[0] != '\0')
            p->child.patience +=
                options_duration(sup->options, p->row->patience);
        p->timer = event_new(sup->base, -1, 0, on_timer, p);
        if (p->timer == NULL)
            fatal("no event for a timer");
        arm(p);
    }
}

/* Nobody outlives the supervisor; whoever is left is ended and reaped. */
static void
end_all(struct supervisor *sup)
{
    for (size_t i = 0; i < nitems(workers); i++) {
        struct process *p = &sup->processes[i];

        if (p->pid > 0) {
            kill(p->pid, SIGKILL);
            waitpid(p->pid, NULL, 0);
        }
        chan_free(p->control);
        if (p->timer != NULL)
            event_free(p->timer);
    }
}

static void
release(struct supervisor *sup)
{
    end_all(sup);
    for (size_t i = 0; i < SIGNALS; i++)
        if (sup->signals[i] != NULL)
            event_free(sup->signals[i]);
    event_free(sup->grace);
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        if (sup->resources[i] > 0)
            close(sup->resources[i]);
    lease_page_unmap(sup->page);
    buf_fini(&sup->readiness);
    free(sup->identity);
    event_base_free(sup->base);
}

static int
check_programs(struct err *err)
{
    for (size_t i = 0; i < nitems(workers); i++)
        if (spawn_check(workers[i].name, err) != 0)
            return -1;
    return 0;
}

int
supervisor_run(const struct options *options, struct err *err)
{
    struct supervisor sup = {
        .options = options, .err = err, .started = clock_wall()};

    if (check_programs(err) != 0)
        return 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sup.base = event_base_new();
    if (sup.base == NULL)
        fatal("no event loop");
    sup.grace = event_new(sup.base, -1, 0, on_grace, &sup);
    sup.identity = make_identity();
    if (open_resources(&sup, err) != 0) {
        release(&sup);
        return 1;
    }
    catch_signals(&sup);
    start_all(&sup);
    review(&sup);
    event_base_dispatch(sup.base);
    release(&sup);
    return sup.status;
}
