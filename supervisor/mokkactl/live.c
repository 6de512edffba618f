/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/live.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/control_name.h"

struct live {
    struct event_base *base;
    struct chan *chan; /* NULL: the connection is over */
    live_piece_fn *piece;
    void *arg;
    struct live_reply *reply;
    bool done;
    struct err why; /* the connection is over */
};

/* --- where it is --- */

#define ACCEPTING 0x10000 /* of the flags in /proc/net/unix: it listens */

/* The name in a line of /proc/net/unix, if it is that of a control socket. */
static const char *
name_in(char *line)
{
    unsigned flags;
    char *at = strstr(line, " " CONTROL_NAME_PREFIX);

    if (at == NULL || sscanf(line, "%*s %*s %*s %x", &flags) != 1 ||
        (flags & ACCEPTING) == 0)
        return NULL;
    at[strcspn(at, "\n")] = '\0';
    return at + 1;
}

/* Those that there are, with blanks between; to be freed. */
static char *
list_all(size_t *count)
{
    FILE *file = fopen("/proc/net/unix", "re");
    struct buf all = {0};
    char line[512];

    *count = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *name = name_in(line);

        if (name != NULL)
            buf_printf(&all, "%s%s", (*count)++ == 0 ? "" : " ", name);
    }
    if (file != NULL)
        fclose(file);
    return buf_take(&all);
}

/* The one that there is. */
static char *
search(struct err *err)
{
    size_t count;
    char *names = list_all(&count);

    if (count == 1)
        return names;
    if (count == 0)
        err_set(err, "no control plane listens here: run mokkactl in its pod "
                     "(kubectl exec), or name its --control-socket with "
                     "--socket");
    else
        err_set(err,
                "several control planes listen here, choose one with "
                "--socket: %s",
                names);
    free(names);
    return NULL;
}

/* What was told; NULL: nothing. */
static const char *
told(const char *where)
{
    const char *environment = getenv("MOKKA_CP_CONTROL_SOCKET");

    if (where != NULL)
        return where;
    return environment != NULL && *environment != '\0' ? environment : NULL;
}

bool
live_is_there(const char *where)
{
    size_t count;

    if (told(where) != NULL)
        return true;
    free(list_all(&count));
    return count > 0;
}

static char *
find_where(const char *where, struct err *err)
{
    where = told(where);
    return where != NULL ? mem_strdup(where) : search(err);
}

static int
connect_to(const char *where, struct err *err)
{
    struct control_name name;
    int fd;

    if (control_name_read(&name, where, err) != 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_errno(err, "no socket");
    if (connect(fd, (const struct sockaddr *)&name.address, name.length) == 0)
        return fd;
    err_errno(err, "no control plane answers at %s", where);
    close(fd);
    return -1;
}

/* --- talking --- */

static int
on_stream(struct live *live, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    struct str text = unpack_str(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    if (live->piece == NULL)
        buf_adds(&live->reply->text, text);
    else if (!live->piece(live->arg, text))
        live->done = live->reply->ok = true;
    return 0;
}

static int
on_reply(struct live *live, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    bool ok = unpack_bool(&u);
    struct str text = unpack_str(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    live->done = true;
    live->reply->ok = ok;
    live->reply->fd = m->fd;
    m->fd = -1;
    if (!ok)
        buf_clear(&live->reply->text);
    if (ok && live->piece != NULL && text.n > 0)
        live->piece(live->arg, text);
    else
        buf_adds(&live->reply->text, text);
    return 0;
}

static int
on_message(void *arg, struct chan *chan, struct message *m, struct err *err)
{
    struct live *live = arg;
    int rc = 0;

    (void)chan;
    if (!live->done)
        rc = m->type == MSG_STREAM ? on_stream(live, m, err)
                                   : on_reply(live, m, err);
    if (live->done)
        event_base_loopbreak(live->base);
    return rc;
}

static void
on_closed(void *arg, struct chan *chan, const char *reason)
{
    struct live *live = arg;

    err_set(&live->why, "%s",
            reason != NULL ? reason
                           : "the control plane closed the connection (it "
                             "ended, this user may "
                             "not command it, or too many are connected)");
    live->chan = NULL;
    chan_free(chan);
    event_base_loopbreak(live->base);
}

static const struct chan_ops ops = {on_message, NULL, on_closed};

struct live *
live_open(const char *where, struct err *err)
{
    char *found = find_where(where, err);
    int fd = found == NULL ? -1 : connect_to(found, err);
    struct live *live;

    free(found);
    if (fd < 0)
        return NULL;
    live = mem_zalloc(sizeof(*live));
    live->base = event_base_new();
    if (live->base == NULL)
        fatal("no event loop");
    live->chan =
        chan_new(live->base, fd, ROLE_USER, ROLE_SUPERVISOR, &ops, live);
    return live;
}

void
live_close(struct live *live)
{
    if (live == NULL)
        return;
    chan_free(live->chan);
    event_base_free(live->base);
    free(live);
}

/* fd: to go with it, or -1. */
static int
send_command(struct live *live, const char *name, const char *const *arguments,
             size_t count, int fd, struct err *err)
{
    struct buf body = {0};
    int rc = 0;

    pack_array(&body, 3);
    pack_int(&body, PROTOCOL_VERSION);
    pack_text(&body, name);
    pack_array(&body, count);
    for (size_t i = 0; i < count; i++)
        pack_text(&body, arguments[i]);
    if (fd < 0)
        chan_send(live->chan, MSG_COMMAND, 0, buf_str(&body));
    else
        rc = chan_send_fd(live->chan, MSG_COMMAND, buf_str(&body), fd, err);
    buf_fini(&body);
    return rc;
}

static int
converse(struct live *live, const char *name, const char *const *arguments,
         size_t count, int fd, struct live_reply *reply, struct err *err)
{
    *reply = (struct live_reply){.fd = -1};
    live->reply = reply;
    live->done = false;
    if (live->chan != NULL) {
        if (send_command(live, name, arguments, count, fd, err) != 0)
            return -1;
        event_base_dispatch(live->base);
    }
    if (live->done)
        return 0;
    live_reply_fini(reply);
    return err_set(err, "%s", live->why.text);
}

int
live_command(struct live *live, const char *name, const char *const *arguments,
             size_t count, live_piece_fn *piece, void *arg,
             struct live_reply *reply, struct err *err)
{
    live->piece = piece;
    live->arg = arg;
    return converse(live, name, arguments, count, -1, reply, err);
}

int
live_command_fd(struct live *live, const char *name,
                const char *const *arguments, size_t count, int fd,
                struct live_reply *reply, struct err *err)
{
    live->piece = NULL;
    return converse(live, name, arguments, count, fd, reply, err);
}

void
live_reply_fini(struct live_reply *reply)
{
    if (reply->fd >= 0)
        close(reply->fd);
    reply->fd = -1;
    buf_fini(&reply->text);
}
