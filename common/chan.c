/* SPDX-License-Identifier: Apache-2.0 */
#include "common/chan.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "proto/unpack.h"

#define ROOM (256u << 10)
/* Memory for frames to send goes back once it is empty, if it is more. */
#define KEPT (64u << 10)
#define READ_SIZE (64u << 10)
#define READS_PER_TURN 16
#define MAX_DESCRIPTORS 8

/* A descriptor on its way out, due with the byte at offset of the stream. */
struct outgoing {
    uint64_t offset;
    int fd;
};

struct chan {
    enum role self, peer;
    const struct chan_ops *ops;
    void *arg;
    struct event *readable, *writable;
    int fd;
    struct buf in, out;
    uint64_t sent;             /* bytes of the stream already out */
    struct chan_counts counts; /* but the bytes that are out */
    struct outgoing outgoing[MAX_DESCRIPTORS];
    size_t noutgoing;
    int incoming[MAX_DESCRIPTORS];
    size_t nincoming;
    chan_seen_fn *seen; /* or NULL */
    void *seen_arg;
    bool was_full; /* somebody was told that there is no room */
    bool busy;     /* inside a callback */
    bool freed;    /* chan_free came inside that callback */
};

static void
destroy(struct chan *chan)
{
    event_free(chan->readable);
    event_free(chan->writable);
    close(chan->fd);
    for (size_t i = 0; i < chan->noutgoing; i++)
        close(chan->outgoing[i].fd);
    for (size_t i = 0; i < chan->nincoming; i++)
        close(chan->incoming[i]);
    buf_fini(&chan->in);
    buf_fini(&chan->out);
    free(chan);
}

void
chan_free(struct chan *chan)
{
    if (chan == NULL)
        return;
    if (chan->busy) {
        chan->freed = true;
        event_del(chan->readable);
        event_del(chan->writable);
        return;
    }
    destroy(chan);
}

/* Callbacks run between these two; leave says whether the chan is still there.
 * A callback may free it, and may cause another callback. */
static bool
enter(struct chan *chan)
{
    bool outermost = !chan->busy;

    chan->busy = true;
    return outermost;
}

static bool
leave(struct chan *chan, bool outermost)
{
    if (!outermost)
        return !chan->freed;
    chan->busy = false;
    if (!chan->freed)
        return true;
    destroy(chan);
    return false;
}

static void
end(struct chan *chan, const char *reason)
{
    bool outermost = enter(chan);

    event_del(chan->readable);
    event_del(chan->writable);
    chan->ops->closed(chan->arg, chan, reason);
    leave(chan, outermost);
}

/* Takes the descriptors out of a received control message. */
static void
take_descriptors(struct chan *chan, struct msghdr *msg)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
         c = CMSG_NXTHDR(msg, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        int fds[MAX_DESCRIPTORS];

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        if (count > MAX_DESCRIPTORS)
            count = MAX_DESCRIPTORS;
        memcpy(fds, CMSG_DATA(c), count * sizeof(int));
        for (size_t i = 0; i < count; i++) {
            if (chan->nincoming < MAX_DESCRIPTORS)
                chan->incoming[chan->nincoming++] = fds[i];
            else
                close(fds[i]);
        }
    }
}

static ssize_t
receive(struct chan *chan)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec iov = {buf_room(&chan->in, READ_SIZE), READ_SIZE};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t n = recvmsg(chan->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

    if (n > 0) {
        buf_grew(&chan->in, (size_t)n);
        chan->counts.received_bytes += (uint64_t)n;
        take_descriptors(chan, &msg);
    }
    return n;
}

/* The descriptor that a flagged frame claims: the oldest one received. */
static int
claim(struct chan *chan, const struct frame *frame, struct message *message,
      struct err *err)
{
    message->fd = -1;
    if ((frame->flags & FRAME_DESCRIPTOR) == 0)
        return 0;
    if (chan->nincoming == 0)
        return err_set(err, "%s came without its descriptor",
                       message_name(frame->type));
    message->fd = chan->incoming[0];
    chan->nincoming--;
    memmove(chan->incoming, chan->incoming + 1, chan->nincoming * sizeof(int));
    return 0;
}

static int
deliver(struct chan *chan, const struct frame *frame, struct err *err)
{
    struct message message = {
        .type = frame->type,
        .id = frame->id,
        .bytes = {frame->body, frame->length},
        .fd = -1,
    };
    struct unpacked *u = unpack_body(message.bytes, err);
    int rc;

    if (chan->seen != NULL)
        chan->seen(chan->seen_arg, chan, false, frame->type, frame->id,
                   message.bytes);
    if (u == NULL)
        return err_prefix(err, "%s", message_name(frame->type));
    chan->counts.received++;
    message.body = unpacked_root(u);
    rc = claim(chan, frame, &message, err);
    if (rc == 0)
        rc = chan->ops->message(chan->arg, chan, &message, err);
    if (rc != 0)
        err_prefix(err, "%s", message_name(frame->type));
    if (message.fd >= 0)
        close(message.fd);
    unpacked_free(u);
    return rc;
}

/* Descriptors that no frame claimed have nothing to wait for. */
static void
drop_unclaimed(struct chan *chan)
{
    if (chan->in.len > 0)
        return;
    while (chan->nincoming > 0)
        close(chan->incoming[--chan->nincoming]);
}

/* Delivers every whole frame. -1: the peer broke a rule. */
static int
deliver_all(struct chan *chan, struct err *err)
{
    struct frame frame;
    int found;

    while (!chan->freed && (found = frame_find(&frame, &chan->in, chan->peer,
                                               chan->self, err)) != 0) {
        if (found < 0 || deliver(chan, &frame, err) != 0)
            return -1;
        buf_drop(&chan->in, FRAME_HEADER + frame.length);
    }
    drop_unclaimed(chan);
    return 0;
}

/* One read and what it brought. false: nothing more is to be had now. */
static bool
read_once(struct chan *chan)
{
    ssize_t n = receive(chan);
    struct err err;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end(chan, n == 0 || errno == ECONNRESET ? NULL : strerror(errno));
        return false;
    }
    if (deliver_all(chan, &err) != 0 && !chan->freed) {
        end(chan, err.text);
        return false;
    }
    return !chan->freed;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct chan *chan = arg;
    bool outermost = enter(chan);

    (void)fd;
    (void)what;
    for (int i = 0; i < READS_PER_TURN && read_once(chan); i++)
        ;
    leave(chan, outermost);
}

void
chan_drain(struct chan *chan)
{
    bool outermost = enter(chan);

    while (read_once(chan))
        ;
    leave(chan, outermost);
}

/* Sends from the front: up to the next descriptor, or that with what follows.
 */
static ssize_t
transmit(struct chan *chan)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {buf_bytes(&chan->out), chan->out.len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    const struct outgoing *o = chan->outgoing;
    bool passing = chan->noutgoing > 0 && o->offset == chan->sent;
    ssize_t n;

    if (passing) {
        struct cmsghdr *c;

        msg.msg_control = &control;
        msg.msg_controllen = sizeof(control);
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &o->fd, sizeof(int));
        iov.iov_len = FRAME_HEADER;
    } else if (chan->noutgoing > 0) {
        iov.iov_len = (size_t)(o->offset - chan->sent);
    }
    n = sendmsg(chan->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0 && passing) {
        close(o->fd);
        chan->noutgoing--;
        memmove(chan->outgoing, chan->outgoing + 1,
                chan->noutgoing * sizeof(*chan->outgoing));
    }
    return n;
}

void
chan_flush(struct chan *chan)
{
    while (chan->out.len > 0) {
        ssize_t n = transmit(chan);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* a link that broke shows on the reading side */
        buf_drop(&chan->out, (size_t)n);
        chan->sent += (uint64_t)n;
    }
    if (chan->out.cap > KEPT)
        buf_fini(&chan->out);
    event_del(chan->writable);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct chan *chan = arg;
    bool outermost;

    (void)fd;
    (void)what;
    chan_flush(chan);
    if (!chan->was_full || !chan_room(chan) || chan->ops->room == NULL)
        return;
    chan->was_full = false;
    outermost = enter(chan);
    chan->ops->room(chan->arg, chan);
    leave(chan, outermost);
}

struct chan *
chan_new(struct event_base *base, int fd, enum role self, enum role peer,
         const struct chan_ops *ops, void *arg)
{
    struct chan *chan = mem_zalloc(sizeof(*chan));

    chan->fd = fd;
    chan->self = self;
    chan->peer = peer;
    chan->ops = ops;
    chan->arg = arg;
    evutil_make_socket_nonblocking(fd);
    evutil_make_socket_closeonexec(fd);
    chan->readable =
        event_new(base, fd, EV_READ | EV_PERSIST, on_readable, chan);
    chan->writable =
        event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, chan);
    if (chan->readable == NULL || chan->writable == NULL ||
        event_add(chan->readable, NULL) != 0)
        fatal("no event for a link");
    return chan;
}

void
chan_watch(struct chan *chan, chan_seen_fn *seen, void *arg)
{
    chan->seen = seen;
    chan->seen_arg = arg;
}

static void
queue(struct chan *chan, uint16_t type, uint16_t flags, uint32_t id,
      struct str body)
{
    /* A message without fields is an empty array. */
    if (body.n == 0)
        body = STR("\220");
    /* The receiver would end the link, for our own mistake, again and again. */
    if (body.n > message_cap(type))
        fatal("%s of %zu bytes is above its cap", message_name(type), body.n);
    if (chan->seen != NULL)
        chan->seen(chan->seen_arg, chan, true, type, id, body);
    frame_add(&chan->out, type, flags, id, body);
    chan->counts.sent++;
    if (!chan->freed)
        event_add(chan->writable, NULL);
}

void
chan_send(struct chan *chan, uint16_t type, uint32_t id, struct str body)
{
    queue(chan, type, 0, id, body);
}

int
chan_send_fd(struct chan *chan, uint16_t type, struct str body, int fd,
             struct err *err)
{
    int copy;

    if (chan->noutgoing == MAX_DESCRIPTORS)
        return err_set(err, "%s does not take its descriptors",
                       role_name(chan->peer));
    copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return err_errno(err, "no descriptor for %s", role_name(chan->peer));
    chan->outgoing[chan->noutgoing++] =
        (struct outgoing){chan->sent + chan->out.len, copy};
    queue(chan, type, FRAME_DESCRIPTOR, 0, body);
    return 0;
}

bool
chan_room(struct chan *chan)
{
    bool room = chan->out.len < ROOM;

    if (!room)
        chan->was_full = true;
    return room;
}

size_t
chan_pending(const struct chan *chan)
{
    return chan->out.len;
}

struct chan_counts
chan_counts(const struct chan *chan)
{
    struct chan_counts counts = chan->counts;

    counts.sent_bytes = chan->sent;
    return counts;
}

enum role
chan_peer(const struct chan *chan)
{
    return chan->peer;
}
