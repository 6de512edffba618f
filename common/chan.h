/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_CHAN_H
#define COMMON_CHAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/frame.h"

struct event_base;
struct value;

/*
 * One end of a link: frames in, frames out, over a stream socket, driven by
 * the event loop.  Nothing here blocks.  Each inbound frame is checked (route,
 * size, structure) before it is decoded; a peer that breaks a rule loses the
 * link, and nothing else happens.
 *
 * Outbound frames are buffered without a limit of their own: whoever sends in
 * bulk asks chan_room first and goes on when told that there is room, so the
 * queue of what is to be sent stays where the objects are.
 */
struct chan;

struct message {
    uint16_t type;
    uint32_t id;
    struct str bytes;         /* of the body, as they came */
    const struct value *body; /* both die when the handler returns */
    int fd;                   /* of the frame, or -1; the handler may take it
                                 by setting it to -1, else it is closed */
};

struct chan_ops {
    /* A frame came. -1 and err: the peer broke the protocol, end the link. */
    int (*message)(void *arg, struct chan *chan, struct message *message,
                   struct err *err);
    /* There is room again; NULL if nobody waits for it. */
    void (*room)(void *arg, struct chan *chan);
    /* The link is over: reason is NULL when the peer closed it, else what went
     * wrong. The handler frees the chan. */
    void (*closed)(void *arg, struct chan *chan, const char *reason);
};

/* Takes over fd (non-blocking and close-on-exec are set). self and peer decide
 * which messages may come. */
struct chan *chan_new(struct event_base *base, int fd, enum role self,
                      enum role peer, const struct chan_ops *ops, void *arg);

/* Closes; unsent frames are lost. NULL is fine. Safe inside its callbacks. */
void chan_free(struct chan *chan);

/* Sees every frame of the chan, before it is handled or sent. */
typedef void chan_seen_fn(void *arg, const struct chan *chan, bool out,
                          uint16_t type, uint32_t id, struct str body);

/* Calls seen for each frame from now on. */
void chan_watch(struct chan *chan, chan_seen_fn *seen, void *arg);

/* Queues a frame with the given body. */
void chan_send(struct chan *chan, uint16_t type, uint32_t id, struct str body);

/* As chan_send; the descriptor goes with the frame and is duplicated, the
 * caller keeps its own. -1 and err, and nothing is sent, if there are no
 * descriptors left or eight wait already. */
int chan_send_fd(struct chan *chan, uint16_t type, struct str body, int fd,
                 struct err *err);

/* Whether bulk may be sent now: less than 256 KiB wait. After a "no", ops->room
 * is called once there is room again. */
bool chan_room(struct chan *chan);

/* Bytes that wait to be sent. */
size_t chan_pending(const struct chan *chan);

/* What went over it so far. */
struct chan_counts {
    uint64_t sent, received; /* frames; those that wait count as sent */
    uint64_t sent_bytes, received_bytes;
};
struct chan_counts chan_counts(const struct chan *chan);

/* Tries to send what waits, without blocking, for a process about to end. */
void chan_flush(struct chan *chan);

/* Takes in, at once, all that the peer has sent: for a peer that is dead, up to
 * the end of the link (then closed is called, which may free the chan). */
void chan_drain(struct chan *chan);

enum role chan_peer(const struct chan *chan);

#endif
