/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/supervisor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/lease_page.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/uuid.h"
#include "supervisor/control.h"
#include "supervisor/listener.h"
#include "supervisor/memory.h"
#include "supervisor/process.h"
#include "supervisor/recording.h"
#include "supervisor/wire.h"

#define SAME_ORDER CLOCK_SECOND

struct process *
process_of(struct supervisor *sup, enum role role)
{
    if (role <= ROLE_SUPERVISOR || role >= ROLE_COUNT)
        fatal("no worker %d", (int)role);
    return &sup->processes[role - 1];
}

/* To whoever reads; the others get the newest once they do (on_room). */
static void
tell_readiness(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &sup->processes[i];

        if (wire_up(p) && wire_hears(p, MSG_READINESS) && chan_room(p->control))
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
void
supervisor_review(struct supervisor *sup)
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
        wire_broadcast(sup, MSG_CONTEND, STR(""));
    }
    health_pack(&body, &sup->health, now);
    news = !str_eq(buf_str(&body), buf_str(&sup->readiness));
    buf_fini(&sup->readiness);
    sup->readiness = body;
    if (news)
        tell_readiness(sup);
    arm_grace(sup, now);
}

/* What the start said is held back for a moment: where it fails, as with a
 * kubeconfig that cannot be used, one line alone says so. */
void
supervisor_started(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &sup->processes[i];

        if (p->child.state != CHILD_RUNNING && !p->held)
            return;
    }
    log_let_go();
}

/* The stop goes by turns: the next one begins once everyone of those before has
 * ended. */
void
supervisor_next_turn(struct supervisor *sup)
{
    unsigned turn = 0;

    for (size_t i = 0; i < PROCESSES; i++)
        if (sup->processes[i].child.state != CHILD_ENDED &&
            (turn == 0 || sup->processes[i].row->stop < turn))
            turn = sup->processes[i].row->stop;
    if (turn == 0)
        event_base_loopexit(sup->base, NULL);
    if (turn <= sup->turn)
        return;
    sup->turn = turn;
    for (size_t i = 0; i < PROCESSES; i++) {
        if (sup->processes[i].row->stop != turn)
            continue;
        process_step(&sup->processes[i], CHILD_STOP);
        wire_close_grants(&sup->processes[i]);
    }
}

/* Before anybody contends for the Lease there is nothing to hand over. */
static void
end_at_once(struct supervisor *sup)
{
    log_drop();
    sup->health.stopping = true;
    event_base_loopbreak(sup->base);
}

void
supervisor_stop(struct supervisor *sup)
{
    if (sup->health.stopping)
        return;
    if (sup->status != 0 && !sup->contending) {
        end_at_once(sup);
        return;
    }
    log_let_go();
    log_info("stopping");
    sup->health.stopping = true;
    sup->stop_began = clock_now();
    supervisor_review(sup);
    supervisor_next_turn(sup);
}

static void
on_stop_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct supervisor *sup = arg;

    (void)what;
    log_info("signal received", F_STR("signal", strsignal(signal_number)));
    if (!sup->health.stopping) {
        supervisor_stop(sup);
        return;
    }
    /* One order may come as two signals: to the process, and to its group. */
    if (clock_now() - sup->stop_began < SAME_ORDER)
        return;
    /* Asked twice: at once, and the Lease is left to expire. */
    log_warn("stopping at once");
    event_base_loopbreak(sup->base);
}

/* Signals coalesce, and strangers may be ours to reap (PID 1). */
static void
on_child_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct supervisor *sup = arg;
    struct rusage used;
    pid_t pid;
    int status;

    (void)signal_number;
    (void)what;
    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0)
        process_reaped(sup, pid, status, (int64_t)used.ru_maxrss << 10);
}

static void
on_grace(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    supervisor_review(arg);
}

static void
on_beat(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    log_let_go();
    process_beat(arg);
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
    sup->address = mem_strdup(address);
    log_info("HTTP listening", F_STR("addr", address));
    if (recording[0] != '\0') {
        sup->resources[RESOURCE_RECORDING] = recording_open(recording, err);
        if (sup->resources[RESOURCE_RECORDING] < 0)
            return err_prefix(err, "--record");
        log_info("recording", F_STR("file", recording));
    }
    return 0;
}

/* Whoever starts us with nohup wants us to go on. */
static bool
is_ignored_hangup(int number)
{
    struct sigaction now;

    return number == SIGHUP && sigaction(number, NULL, &now) == 0 &&
           now.sa_handler == SIG_IGN;
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
        {SIGHUP, on_stop_signal},
        {SIGCHLD, on_child_signal},
    };

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SIGNALS; i++) {
        if (is_ignored_hangup(caught[i].number))
            continue;
        sup->signals[i] =
            evsignal_new(sup->base, caught[i].number, caught[i].callback, sup);
        if (sup->signals[i] == NULL || event_add(sup->signals[i], NULL) != 0)
            fatal("no event for signal %d", caught[i].number);
    }
}

/* A second order that comes when all is done must not make an end of its own.
 */
static void
block_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

static void
release(struct supervisor *sup)
{
    block_signals();
    process_end_all(sup);
    for (size_t i = 0; i < SIGNALS; i++)
        if (sup->signals[i] != NULL)
            event_free(sup->signals[i]);
    event_free(sup->grace);
    event_free(sup->beat);
    control_free(sup->control);
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        if (sup->resources[i] > 0)
            close(sup->resources[i]);
    lease_page_unmap(sup->page);
    buf_fini(&sup->readiness);
    free(sup->identity);
    free(sup->address);
    event_base_free(sup->base);
}

int
supervisor_run(const struct options *options, struct err *err)
{
    struct supervisor sup = {
        .options = options, .err = err, .started = clock_wall()};

    if (process_check_programs(err) != 0)
        return 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    log_hold();
    sup.base = event_base_new();
    if (sup.base == NULL)
        fatal("no event loop");
    sup.grace = event_new(sup.base, -1, 0, on_grace, &sup);
    sup.beat = event_new(sup.base, -1, EV_PERSIST, on_beat, &sup);
    if (sup.grace == NULL || sup.beat == NULL)
        fatal("no event for a timer");
    sup.identity = make_identity();
    sup.memory = memory_limit("");
    sup.kills = memory_kills("");
    if (open_resources(&sup, err) != 0) {
        log_drop();
        release(&sup);
        return 1;
    }
    catch_signals(&sup);
    event_add(sup.beat, &(struct timeval){.tv_sec = WATCHDOG_BEAT});
    sup.control = control_new(&sup);
    process_start_all(&sup);
    supervisor_review(&sup);
    event_base_dispatch(sup.base);
    release(&sup);
    return sup.status;
}
