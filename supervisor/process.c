/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/trace.h"
#include "supervisor/control.h"
#include "supervisor/crash_report.h"
#include "supervisor/heard.h"
#include "supervisor/life.h"
#include "supervisor/memory.h"
#include "supervisor/spawn.h"
#include "supervisor/wire.h"

static const struct worker_row workers[] = {
#define WORKER(role, name, stop, patience) {ROLE_##role, name, stop, patience},
#include "supervisor/topology.def"
};

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
    /* Of one that is lent, this is all that we see of its end. */
    process_step(p, reason == NULL && !p->lent ? CHILD_LEFT : CHILD_CUT);
}

static void
on_room(void *arg, struct chan *chan)
{
    struct process *p = arg;

    if (wire_up(p) && wire_hears(p, MSG_READINESS))
        chan_send(chan, MSG_READINESS, 0, buf_str(&p->sup->readiness));
}

static int
on_message(void *arg, struct chan *chan, struct message *m, struct err *err)
{
    (void)chan;
    return heard(arg, m, err);
}

static const struct chan_ops control_ops = {on_message, on_room, on_closed};

/* Memory for the trace of the next process; it can work without. */
static void
renew_trace(struct process *p)
{
    struct err err;

    trace_unmap(p->trace);
    p->trace = NULL;
    p->trace_fd = trace_create(&err);
    if (p->trace_fd >= 0)
        p->trace = trace_map(p->trace_fd, false, &err);
    if (p->trace == NULL)
        log_warn("worker runs without a trace", F_STR("error", err.text),
                 F_STR("worker", p->row->name),
                 F_INT("generation", p->generation));
}

static void
close_trace(struct process *p)
{
    if (p->trace_fd >= 0)
        close(p->trace_fd);
    p->trace_fd = -1;
}

/* Somebody who asked for it runs the worker, instead of a child of ours. */
static pid_t
lend(struct process *p, int *control, struct err *err)
{
    int ends[2];
    pid_t pid;

    if (spawn_pair(ends, err) != 0)
        return -1;
    pid = control_lend(p, ends[1], err);
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    *control = ends[0];
    return pid;
}

static void
do_spawn(struct process *p)
{
    struct err err;
    int fd;

    p->generation++;
    p->started = clock_wall();
    p->watchdog = (struct watchdog){0};
    p->sandboxed = false;
    p->killed = NULL;
    renew_trace(p);
    p->lent = control_borrows(p);
    p->pid =
        p->lent ? lend(p, &fd, &err) : spawn_worker(p->row->name, &fd, &err);
    if (p->pid < 0) {
        p->pid = p->dead = 0;
        p->lent = false;
        close_trace(p);
        snprintf(p->cause, sizeof(p->cause), "not started");
        log_error("worker cannot be started", F_STR("error", err.text),
                  F_STR("worker", p->row->name),
                  F_INT("generation", p->generation));
        process_step(p, CHILD_EXIT);
        return;
    }
    p->control = chan_new(p->sup->base, fd, ROLE_SUPERVISOR, p->row->role,
                          &control_ops, p);
}

static void
do_wire(struct process *p)
{
    wire_worker(p);
    close_trace(p);
    life_tell(p->sup);
}

static void
do_announce(struct process *p)
{
    log_info("worker running", F_INT("pid", p->pid),
             F_INT("milliseconds", (clock_now() - p->child.started) / CLOCK_MS),
             F_STR("worker", p->row->name), F_INT("generation", p->generation));
    supervisor_started(p->sup);
    control_worker_runs(p);
    life_back(p);
}

static void
do_tell(struct process *p)
{
    if (p->control != NULL)
        chan_send(p->control, MSG_STOP, 0, STR(""));
}

static const char by_kernel[] = "the kernel, for memory";

/* Who ended it; "": nobody did, or its trace knows better. */
static const char *
killer_of(struct process *p, int signal_number)
{
    int64_t kills = signal_number == SIGKILL ? memory_kills("") : 0;
    bool by_memory = kills > p->sup->kills;

    if (by_memory)
        p->sup->kills++;
    if (p->killed != NULL &&
        (signal_number == SIGKILL || signal_number == SIGABRT))
        return p->killed;
    if (by_memory)
        return by_kernel;
    return signal_number == SIGKILL
               ? "not us: somebody's kill -9, or the kernel (its log says)"
               : "";
}

static void
report_death(struct process *p, int signal_number, int64_t peak)
{
    if (p->sup->health.stopping || p->child.wanted)
        return;
    crash_report(&(struct crash){
        .worker = p->row->name,
        .generation = p->generation,
        .pid = p->dead,
        .cause = p->cause,
        .killer = killer_of(p, signal_number),
        .peak = peak,
        .limit = memory_share(p->sup->memory, p->row->role),
        .trace = p->trace,
    });
}

/* What hangs on the process that was: how it ended is known. */
static void
forget_process(struct process *p, int signal_number, int64_t peak)
{
    p->dead = p->pid;
    p->pid = 0;
    p->lent = false;
    p->died = clock_wall();
    /* What it sent before it died still counts, and is read first; then comes
     * the end of its link, unless it left that to another process. */
    if (p->control != NULL)
        chan_drain(p->control);
    chan_free(p->control);
    p->control = NULL;
    close_trace(p);
    control_worker_died(p);
    report_death(p, signal_number, peak);
    process_step(p, CHILD_EXIT);
}

/* Without its link a process that was lent ends by itself. */
static void
take_back(struct process *p)
{
    chan_free(p->control);
    p->control = NULL;
    snprintf(p->cause, sizeof(p->cause), "lent to process %d, which is over",
             (int)p->pid);
    forget_process(p, 0, 0);
}

static void
do_kill(struct process *p)
{
    if (p->lent)
        take_back(p);
    else if (p->pid > 0)
        kill(p->pid, SIGKILL);
}

/* One that is stopped takes the signal once it goes on. */
static void
do_abort(struct process *p)
{
    log_error("worker is silent", F_INT("seconds", WATCHDOG_SILENCE),
              F_INT("pid", p->pid), F_STR("worker", p->row->name),
              F_INT("generation", p->generation));
    kill(p->pid, SIGABRT);
    kill(p->pid, SIGCONT);
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
    life_died(p, false);
    health_died(&p->sup->health, p->row->role, clock_now());
    supervisor_review(p->sup);
}

static void
do_give_up(struct process *p)
{
    say_died(p, -1);
    life_died(p, true);
    if (p->sup->status == 0)
        err_set(p->sup->err,
                "%s died %d times without getting ready; its last lines in the "
                "log say why",
                p->row->name, CHILD_UNREADY_DEATHS);
    p->sup->status = 1;
    supervisor_stop(p->sup);
}

static void
do_finish(struct process *p)
{
    log_debug("worker ended", F_STR("cause", p->cause),
              F_STR("worker", p->row->name),
              F_INT("generation", p->generation));
    supervisor_next_turn(p->sup);
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
    [CHILD_ABORT] = do_abort,     [CHILD_RESTART] = do_restart,
    [CHILD_GIVE_UP] = do_give_up, [CHILD_FINISH] = do_finish,
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

/* Why an event makes us end a process. */
static const char *
our_reason(enum child_event event)
{
    static const char *const reasons[CHILD_EVENTS] = {
        [CHILD_LATE] = "the supervisor: a step took too long",
        [CHILD_CUT] = "the supervisor: its control link ended, or broke a rule",
        [CHILD_SILENT] = "the supervisor: it answered no ping",
    };

    return reasons[event];
}

/* What is not the usual way to its work. */
static void
tell_wait(struct process *p, enum child_state before)
{
    char reason[128] = "";

    if (p->child.state == CHILD_HELD)
        snprintf(reason, sizeof(reason), "held until mokkactl continue %s",
                 p->row->name);
    else if (p->child.state == CHILD_STARTING && p->lent)
        snprintf(reason, sizeof(reason), "run by hand, as process %d",
                 (int)p->pid);
    else if (before != CHILD_HELD || p->child.state != CHILD_WIRING)
        return;
    health_waits(&p->sup->health, p->row->role, reason);
    supervisor_review(p->sup);
}

void
process_step(struct process *p, enum child_event event)
{
    enum child_state before = p->child.state;
    enum child_action action = child_step(&p->child, event, clock_now());

    if (action == CHILD_KILL || action == CHILD_ABORT)
        p->killed = our_reason(event);
    if (p->child.state != before)
        p->since = clock_wall();
    actions[action](p);
    if (p->child.state != before)
        tell_wait(p, before);
    arm(p);
}

static bool
is_excused(const struct process *p)
{
    return p->held || p->lent || (p->pid > 0 && watchdog_traced(p->pid));
}

static bool
is_starting(const struct process *p)
{
    return p->child.state == CHILD_STARTING || p->child.state == CHILD_WIRING;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct process *p = arg;

    (void)fd;
    (void)what;
    if (is_starting(p) && is_excused(p)) {
        p->child.limit = clock_now() + CHILD_START_LIMIT;
        arm(p);
        return;
    }
    process_step(p, p->child.state == CHILD_DOWN ? CHILD_DUE : CHILD_LATE);
}

/* The workers of --wait. */
static bool
is_to_wait(const struct process *p)
{
    const char *list = options_get(p->sup->options, "wait");
    size_t n = strlen(p->row->name);

    for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
        if (strncmp(list, p->row->name, n) == 0 &&
            (list[n] == ',' || list[n] == '\0'))
            return true;
    return false;
}

void
process_hold(struct process *p, bool hold)
{
    p->held = hold;
    p->child.hold = hold;
    if (!hold)
        process_step(p, CHILD_GO);
}

static void
beat(struct process *p)
{
    if (p->child.state != CHILD_RUNNING || p->control == NULL)
        return;
    switch (
        watchdog_beat(&p->watchdog, p->watchdog.missed > 1 && is_excused(p))) {
    case WATCHDOG_PING:
        chan_send(p->control, MSG_PING, 0, STR(""));
        break;
    case WATCHDOG_WAIT:
        break;
    case WATCHDOG_SILENT:
        process_step(p, CHILD_SILENT);
        break;
    }
}

void
process_beat(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++)
        beat(&sup->processes[i]);
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
on_exit_of(struct process *p, int status, int64_t peak)
{
    tell_cause(status, p->cause, sizeof(p->cause));
    forget_process(p, WIFSIGNALED(status) ? WTERMSIG(status) : 0, peak);
}

void
process_start_all(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        struct process *p = &sup->processes[i];

        p->sup = sup;
        p->row = &workers[i];
        p->trace_fd = -1;
        p->since = clock_wall();
        p->held = p->child.hold = is_to_wait(p);
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
void
process_end_all(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        struct process *p = &sup->processes[i];

        if (p->pid > 0 && !p->lent) {
            kill(p->pid, SIGKILL);
            waitpid(p->pid, NULL, 0);
        }
        chan_free(p->control);
        trace_unmap(p->trace);
        if (p->timer != NULL) {
            close_trace(p);
            event_free(p->timer);
        }
    }
}

int
process_check_programs(struct err *err)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (spawn_check(workers[i].name, err) != 0)
            return -1;
    return 0;
}

void
process_reaped(struct supervisor *sup, pid_t pid, int status, int64_t peak)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (sup->processes[i].pid == pid)
            on_exit_of(&sup->processes[i], status, peak);
}
