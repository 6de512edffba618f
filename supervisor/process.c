/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "supervisor/heard.h"
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
    /* The end of its process follows, or is brought about. */
    process_step(p, CHILD_CUT);
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

static void
do_spawn(struct process *p)
{
    struct err err;
    int fd;

    p->generation++;
    p->pid = spawn_worker(p->row->name, &fd, &err);
    if (p->pid < 0) {
        p->pid = p->dead = 0;
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
do_announce(struct process *p)
{
    log_info("worker running", F_INT("pid", p->pid),
             F_INT("milliseconds", (clock_now() - p->child.started) / CLOCK_MS),
             F_STR("worker", p->row->name), F_INT("generation", p->generation));
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
    health_died(&p->sup->health, p->row->role, clock_now());
    supervisor_review(p->sup);
}

static void
do_give_up(struct process *p)
{
    say_died(p, -1);
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
    [CHILD_WIRE] = wire_worker,   [CHILD_ANNOUNCE] = do_announce,
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

void
process_step(struct process *p, enum child_event event)
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
    process_step(p, p->child.state == CHILD_DOWN ? CHILD_DUE : CHILD_LATE);
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
    process_step(p, CHILD_EXIT);
}

void
process_start_all(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
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
void
process_end_all(struct supervisor *sup)
{
    for (size_t i = 0; i < PROCESSES; i++) {
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

int
process_check_programs(struct err *err)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (spawn_check(workers[i].name, err) != 0)
            return -1;
    return 0;
}

void
process_reaped(struct supervisor *sup, pid_t pid, int status)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (sup->processes[i].pid == pid)
            on_exit_of(&sup->processes[i], status);
}
