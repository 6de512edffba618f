/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json_text.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "supervisor/client.h"
#include "supervisor/control_name.h"
#include "supervisor/wire.h"

#define CLIENTS_MAX 16

/* --- what a client is told --- */

void
client_stream(struct client *c, struct str text)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_str(&body, text);
    chan_send(c->chan, MSG_STREAM, 0, buf_str(&body));
    buf_fini(&body);
}

static void
pack_reply(struct buf *body, bool ok, struct str text)
{
    pack_array(body, 2);
    pack_bool(body, ok);
    pack_str(body, text);
}

void
client_reply(struct client *c, bool ok, struct str text)
{
    struct buf body = {0};

    pack_reply(&body, ok, text);
    chan_send(c->chan, MSG_REPLY, 0, buf_str(&body));
    buf_fini(&body);
    c->doing = CLIENT_IDLE;
}

void
client_fail(struct client *c, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    client_reply(c, false, str_of(text));
}

/* --- taps --- */

void
client_set_tap(struct process *worker, enum role peer, bool on)
{
    struct buf body = {0};

    if (worker->control == NULL || worker->child.state != CHILD_RUNNING)
        return;
    pack_array(&body, 2);
    pack_int(&body, peer);
    pack_bool(&body, on);
    chan_send(worker->control, MSG_TAP, 0, buf_str(&body));
    buf_fini(&body);
}

static bool
listens(const struct client *c, const struct process *worker, enum role peer)
{
    return c->doing == CLIENT_TAPPING && c->worker == worker && c->peer == peer;
}

static bool
is_tapped(const struct control *control, const struct process *worker,
          enum role peer)
{
    for (const struct client *c = control->clients; c != NULL; c = c->next)
        if (listens(c, worker, peer))
            return true;
    return false;
}

/* The line is complete only here, where the ends of the link are known. */
static void
tell_tapped(struct client *c, const struct process *p, struct str text)
{
    struct buf line = {0};

    if (!chan_room(c->chan)) {
        c->lost++;
        return;
    }
    buf_printf(&line, "{\"link\":\"%s:%s\",", p->row->name, role_name(c->peer));
    if (c->lost > 0)
        buf_printf(&line, "\"lostBefore\":%" PRId64 ",", c->lost);
    c->lost = 0;
    buf_adds(&line, text);
    buf_addz(&line, "}\n");
    client_stream(c, buf_str(&line));
    buf_fini(&line);
}

void
control_tapped(struct process *p, int64_t peer, int64_t lost, struct str text)
{
    const struct control *control = p->sup->control;
    struct client *c = control == NULL ? NULL : control->clients;

    for (; c != NULL; c = c->next) {
        if (!listens(c, p, (enum role)peer))
            continue;
        c->lost += lost;
        tell_tapped(c, p, text);
    }
}

void
control_worker_runs(struct process *p)
{
    const struct control *control = p->sup->control;

    if (control == NULL)
        return;
    for (struct client *c = control->clients; c != NULL; c = c->next)
        if (c->doing == CLIENT_WAITING && c->worker == p)
            client_reply(c, true, STR(""));
    for (unsigned peer = 1; peer < ROLE_COUNT; peer++)
        if (is_tapped(control, p, (enum role)peer))
            client_set_tap(p, (enum role)peer, true);
}

/* --- questions --- */

static void
ask_more(struct client *c)
{
    c->more_due = !chan_room(c->chan);
    if (!c->more_due && c->worker->control != NULL)
        chan_send(c->worker->control, MSG_GO_ON, c->question, STR(""));
}

void
control_answer(struct process *p, uint32_t id, bool last, bool ok,
               struct str text)
{
    const struct control *control = p->sup->control;
    struct client *c = control == NULL ? NULL : control->clients;

    while (c != NULL &&
           !(c->doing == CLIENT_ASKING && c->worker == p && c->question == id))
        c = c->next;
    if (c == NULL)
        return;
    if (last) {
        client_reply(c, ok, text);
        return;
    }
    client_stream(c, text);
    ask_more(c);
}

/* A link that was lent is over for whoever had it; a tap waits for the next
 * process. */
void
control_worker_died(struct process *p)
{
    const struct control *control = p->sup->control;

    for (struct client *c = control == NULL ? NULL : control->clients;
         c != NULL; c = c->next)
        if (c->doing == CLIENT_ASKING && c->worker == p)
            client_fail(c, "%s died before it had answered: ask again",
                        p->row->name);
}

/* --- lending --- */

static struct client *
borrower(const struct process *p)
{
    const struct control *control = p->sup->control;
    struct client *c = control == NULL ? NULL : control->clients;

    while (c != NULL && !(c->doing == CLIENT_LENT && c->worker == p))
        c = c->next;
    return c;
}

bool
control_borrows(const struct process *p)
{
    return borrower(p) != NULL;
}

pid_t
control_lend(struct process *p, int control, struct err *err)
{
    struct client *c = borrower(p);
    struct buf body = {0};
    int rc;

    c->doing = CLIENT_IDLE;
    pack_reply(&body, true, str_of(p->row->name));
    rc = chan_send_fd(c->chan, MSG_REPLY, buf_str(&body), control, err);
    buf_fini(&body);
    if (rc != 0)
        return -1;
    log_info("worker lent", F_INT("pid", c->pid), F_STR("worker", p->row->name),
             F_INT("generation", p->generation));
    return c->pid;
}

/* --- recording --- */

/* It ends with whoever asked for it, in a file that is complete. */
static void
end_recording(struct client *c)
{
    int *recording = &c->control->sup->resources[RESOURCE_RECORDING];
    struct process *p = c->recorded;
    struct buf body = {0};

    if (*recording > 0)
        close(*recording);
    *recording = -1;
    log_info("recording ends", F_STR("worker", p->row->name),
             F_INT("generation", p->generation));
    if (!wire_up(p)) /* it has no file of ours, and gets none */
        return;
    pack_array(&body, 2);
    pack_text(&body, "end-recording");
    pack_array(&body, 0);
    chan_send(p->control, MSG_ASK, 0, buf_str(&body)); /* for nobody */
    buf_fini(&body);
}

/* --- connections --- */

static void
drop(struct client *c)
{
    struct control *control = c->control;
    struct client **at = &control->clients;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    control->count--;
    if (c->doing == CLIENT_ASKING && c->worker->control != NULL)
        chan_send(c->worker->control, MSG_FORGET, c->question, STR(""));
    if (c->doing == CLIENT_TAPPING && !is_tapped(control, c->worker, c->peer))
        client_set_tap(c->worker, c->peer, false);
    if (c->recorded != NULL)
        end_recording(c);
    chan_free(c->chan);
    free(c);
}

static int
on_message(void *arg, struct chan *chan, struct message *m, struct err *err)
{
    struct client *c = arg;

    (void)chan;
    if (c->doing != CLIENT_IDLE)
        return err_set(err, "a command before the last one has ended");
    return command_run(c, m, err);
}

static void
on_room(void *arg, struct chan *chan)
{
    struct client *c = arg;

    (void)chan;
    if (c->doing == CLIENT_ASKING && c->more_due)
        ask_more(c);
}

static void
on_closed(void *arg, struct chan *chan, const char *reason)
{
    (void)chan;
    if (reason != NULL)
        log_warn("control connection ended", F_STR("error", reason));
    drop(arg);
}

static const struct chan_ops client_ops = {on_message, on_room, on_closed};

static bool
may_command(int fd, pid_t *pid)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    *pid = peer.pid;
    if (peer.uid == geteuid() || peer.uid == 0)
        return true;
    log_warn("control connection refused", F_INT("uid", peer.uid),
             F_INT("pid", peer.pid));
    return false;
}

static void
on_acceptable(evutil_socket_t listener, short what, void *arg)
{
    struct control *control = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *c;
    pid_t pid;

    (void)what;
    if (fd < 0)
        return;
    if (!may_command(fd, &pid) || control->count == CLIENTS_MAX) {
        close(fd);
        return;
    }
    c = mem_zalloc(sizeof(*c));
    c->control = control;
    c->pid = pid;
    c->chan = chan_new(control->sup->base, fd, ROLE_SUPERVISOR, ROLE_USER,
                       &client_ops, c);
    c->next = control->clients;
    control->clients = c;
    control->count++;
}

/* --- the socket --- */

/* A file that nobody listens on any more is of a predecessor that was
 * killed. */
static void
clear_stale(const struct control_name *name)
{
    const struct sockaddr *address = (const struct sockaddr *)&name->address;
    const char *path = name->address.sun_path;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    if (fd < 0)
        return;
    if (*path != '\0' && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(fd, address, name->length) != 0 && errno == ECONNREFUSED)
        unlink(path);
    close(fd);
}

static int
listen_on(const struct control_name *name, const char *where, struct err *err)
{
    const struct sockaddr *address = (const struct sockaddr *)&name->address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);

    if (fd < 0)
        err_errno(err, "no socket");
    else if (bind(fd, address, name->length) != 0 ||
             listen(fd, CLIENTS_MAX) != 0)
        err_errno(err, "%s", where);
    else
        err->text[0] = '\0';
    umask(mask);
    if (err->text[0] == '\0')
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static char *
usual_name(const struct options *options)
{
    if (options_given(options, "control-socket"))
        return mem_strdup(options_get(options, "control-socket"));
    return control_name_of_lease(
        options_get(options, "leader-election-namespace"),
        options_get(options, "leader-election-name"));
}

struct control *
control_new(struct supervisor *sup)
{
    struct control *control = mem_zalloc(sizeof(*control));
    struct control_name name;
    struct err err;

    control->sup = sup;
    control->fd = -1;
    control->where = usual_name(sup->options);
    if (control_name_read(&name, control->where, &err) == 0) {
        clear_stale(&name);
        control->fd = listen_on(&name, control->where, &err);
    }
    if (control->fd < 0) {
        log_warn("no control socket, mokkactl cannot reach this control plane; "
                 "give it another with --control-socket PATH",
                 F_STR("error", err.text));
        control_free(control);
        return NULL;
    }
    control->acceptable = event_new(
        sup->base, control->fd, EV_READ | EV_PERSIST, on_acceptable, control);
    if (control->acceptable == NULL ||
        event_add(control->acceptable, NULL) != 0)
        fatal("no event for the control socket");
    log_info("control socket", F_STR("addr", control->where));
    return control;
}

void
control_free(struct control *control)
{
    if (control == NULL)
        return;
    while (control->clients != NULL) {
        chan_flush(control->clients->chan);
        drop(control->clients);
    }
    if (control->acceptable != NULL)
        event_free(control->acceptable);
    if (control->fd >= 0) {
        close(control->fd);
        if (control->where[0] != '@')
            unlink(control->where);
    }
    free(control->where);
    free(control);
}

const char *
control_where(const struct control *control)
{
    return control == NULL ? "" : control->where;
}
