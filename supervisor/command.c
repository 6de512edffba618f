/* SPDX-License-Identifier: Apache-2.0 */
/* What can be commanded at the control socket; control.c has the rest. */
#include <string.h>

#include "common/build.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/client.h"
#include "supervisor/process.h"
#include "supervisor/status.h"
#include "supervisor/wire.h"

#define ARGUMENTS 5

struct call {
    struct process *worker; /* named by the first argument */
    struct str arguments[ARGUMENTS];
    size_t count;
    int *fd; /* that came along, or -1; whoever takes it sets -1 */
};

static void
run_status(struct client *c, const struct call *call)
{
    struct buf text = {0};

    (void)call;
    status_write(&text, c->control->sup);
    client_reply(c, true, buf_str(&text));
    buf_fini(&text);
}

/* Arguments: the worker, then the question and its arguments. */
static void
run_ask(struct client *c, const struct call *call)
{
    struct process *p = call->worker;
    struct buf body = {0};

    if (p->control == NULL || p->child.state != CHILD_RUNNING) {
        client_fail(c, "%s cannot be asked: it is %s", p->row->name,
                    child_state_name(p->child.state));
        return;
    }
    c->doing = CLIENT_ASKING;
    c->worker = p;
    c->more_due = false;
    c->question = ++c->control->questions;
    pack_array(&body, 2);
    pack_str(&body, call->arguments[1]);
    pack_array(&body, call->count - 2);
    for (size_t i = 2; i < call->count; i++)
        pack_str(&body, call->arguments[i]);
    chan_send(p->control, MSG_ASK, c->question, buf_str(&body));
    buf_fini(&body);
}

static void
run_hold(struct client *c, const struct call *call)
{
    log_info("worker held", F_STR("worker", call->worker->row->name),
             F_INT("generation", call->worker->generation));
    process_hold(call->worker, true);
    client_reply(c, true, STR(""));
}

static void
run_continue(struct client *c, const struct call *call)
{
    struct process *p = call->worker;

    if (!p->held) {
        client_fail(c, "%s is not held", p->row->name);
        return;
    }
    log_info("worker let go", F_STR("worker", p->row->name),
             F_INT("generation", p->generation));
    process_hold(p, false);
    client_reply(c, true, STR(""));
}

static bool
refuse_in_stop(struct client *c)
{
    if (c->control->sup->health.stopping)
        client_fail(c, "the control plane is stopping");
    return c->control->sup->health.stopping;
}

static void
run_restart(struct client *c, const struct call *call)
{
    struct process *p = call->worker;

    if (refuse_in_stop(c))
        return;
    log_info("worker restart asked for", F_STR("worker", p->row->name),
             F_INT("generation", p->generation));
    process_step(p, CHILD_AGAIN);
    client_reply(c, true, STR(""));
}

/* Its present process ends, and the next one is run by whoever asks. */
static void
run_lend(struct client *c, const struct call *call)
{
    struct process *p = call->worker;

    if (refuse_in_stop(c))
        return;
    if (p->lent) {
        client_fail(c, "%s is lent already, to process %d", p->row->name,
                    (int)p->pid);
        return;
    }
    c->doing = CLIENT_LENT;
    c->worker = p;
    process_step(p, CHILD_AGAIN);
}

/* What is in the way of a recording of p; false if nothing is. */
static bool
refuse_recording(struct client *c, const struct process *p)
{
    if (!wire_grants(p->row->role, RESOURCE_RECORDING))
        client_fail(c,
                    "%s cannot be recorded, only what the placer takes can be "
                    "run again: mokkactl tap shows messages, mokkactl dump "
                    "what it holds",
                    p->row->name);
    else if (p->sup->resources[RESOURCE_RECORDING] > 0)
        client_fail(c,
                    "%s is recorded already, by control-plane --record or "
                    "another mokkactl record: end that first",
                    p->row->name);
    else if (p->lent)
        client_fail(c, "%s is lent to process %d: end that first", p->row->name,
                    (int)p->pid);
    else
        return refuse_in_stop(c);
    return true;
}

/* Before the file is opened, and emptied. */
static void
run_may_record(struct client *c, const struct call *call)
{
    if (!refuse_recording(c, call->worker))
        client_reply(c, true, STR(""));
}

/* Its next process records from its start on, and so all there is. */
static void
run_record(struct client *c, const struct call *call)
{
    struct process *p = call->worker;

    if (refuse_recording(c, p))
        return;
    if (*call->fd < 0) {
        client_fail(c, "no file came with the command");
        return;
    }
    p->sup->resources[RESOURCE_RECORDING] = *call->fd;
    *call->fd = -1;
    c->recorded = p;
    c->doing = CLIENT_WAITING;
    c->worker = p;
    log_info("recording", F_INT("pid", c->pid), F_STR("worker", p->row->name),
             F_INT("generation", p->generation));
    process_step(p, CHILD_AGAIN);
}

static void
run_tap(struct client *c, const struct call *call)
{
    enum role peer;
    char name[32];

    snprintf(name, sizeof(name), "%.*s", (int)call->arguments[1].n,
             call->arguments[1].s);
    if (!role_find(name, &peer) ||
        !wire_linked(call->worker->row->role, peer)) {
        client_fail(c, "there is no link %s:%s", call->worker->row->name, name);
        return;
    }
    c->doing = CLIENT_TAPPING;
    c->worker = call->worker;
    c->peer = peer;
    c->lost = 0;
    client_set_tap(c->worker, peer, true);
}

/* Those with a worker have its name as their first argument. */
static const struct {
    const char *name;
    bool worker;
    size_t least, most; /* arguments */
    void (*run)(struct client *c, const struct call *call);
} commands[] = {
    {"status", false, 0, 0, run_status},
    {"ask", true, 2, ARGUMENTS, run_ask},
    {"hold", true, 1, 1, run_hold},
    {"continue", true, 1, 1, run_continue},
    {"restart", true, 1, 1, run_restart},
    {"lend", true, 1, 1, run_lend},
    {"tap", true, 2, 2, run_tap},
    {"may-record", true, 1, 1, run_may_record},
    {"record", true, 1, 1, run_record},
};

static struct process *
find_worker(struct supervisor *sup, struct str name)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (str_is(name, sup->processes[i].row->name))
            return &sup->processes[i];
    return NULL;
}

static void
name_workers(struct client *c, struct str name)
{
    char list[256] = "";
    size_t n = 0;

    for (size_t i = 0; i < PROCESSES; i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
                              i > 0 ? ", " : "",
                              c->control->sup->processes[i].row->name);
    client_fail(c, "there is no worker \"%.*s\"; there are %s",
                (int)(name.n < 64 ? name.n : 64), name.s, list);
}

static void
dispatch(struct client *c, struct str name, struct call *call)
{
    for (size_t i = 0; i < nitems(commands); i++) {
        if (!str_is(name, commands[i].name) ||
            call->count < commands[i].least || call->count > commands[i].most)
            continue;
        if (commands[i].worker) {
            call->worker = find_worker(c->control->sup, call->arguments[0]);
            if (call->worker == NULL) {
                name_workers(c, call->arguments[0]);
                return;
            }
        }
        commands[i].run(c, call);
        return;
    }
    client_fail(c,
                "this build (%s) does not know the command \"%.*s\" with %zu "
                "arguments",
                build_id, (int)(name.n < 64 ? name.n : 64), name.s,
                call->count);
}

int
command_run(struct client *c, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t protocol = unpack_int(&u);
    struct str name = unpack_str(&u);
    const struct value *list = unpack_array(&u);
    struct call call = {.fd = &m->fd};

    if (unpack_end(&u, err) != 0)
        return -1;
    call.count = value_count(list);
    if (call.count > ARGUMENTS)
        return err_set(err, "%zu arguments", call.count);
    for (size_t i = 0; i < call.count; i++)
        if (!value_str(value_at(list, i), &call.arguments[i]))
            return err_set(err, "argument %zu is no text", i);
    if (protocol != PROTOCOL_VERSION)
        client_fail(c,
                    "this is build %s, protocol %d; mokkactl speaks "
                    "protocol %d: use the mokkactl of the same build",
                    build_id, PROTOCOL_VERSION, (int)protocol);
    else
        dispatch(c, name, &call);
    return 0;
}
