/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_LIVE_H
#define MOKKACTL_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * A conversation with a running control plane, over its control socket.
 */
struct live;

/* Connects to where ("@NAME" or a path); NULL: $MOKKA_CP_CONTROL_SOCKET, else
 * the one control plane that listens on this machine (in this pod). NULL and
 * err, which says what to do. */
struct live *live_open(const char *where, struct err *err);

/* Whether live_open has anything to connect to: it was told where, or one or
 * several listen on this machine. */
bool live_is_there(const char *where);

void live_close(struct live *live);

/* What the last command came to. */
struct live_reply {
    bool ok;
    struct buf text; /* not ok: why */
    int fd;          /* of a lent link; else -1 */
};

/* A piece of an answer; false: that is enough. */
typedef bool live_piece_fn(void *arg, struct str text);

/* Runs a command and waits for its reply, which is the caller's to finish with
 * live_reply_fini. Pieces that come before go to piece (or, if that is NULL,
 * in front of reply->text). -1 and err if the connection is lost. */
int live_command(struct live *live, const char *name,
                 const char *const *arguments, size_t count,
                 live_piece_fn *piece, void *arg, struct live_reply *reply,
                 struct err *err);
void live_reply_fini(struct live_reply *reply);

/* As live_command without pieces; a copy of fd goes with it. */
int live_command_fd(struct live *live, const char *name,
                    const char *const *arguments, size_t count, int fd,
                    struct live_reply *reply, struct err *err);

#endif
