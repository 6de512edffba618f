/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_CLIENT_H
#define SUPERVISOR_CLIENT_H

#include "supervisor/plane.h"

/* One connection to the control socket, between control.c and command.c. */
struct client {
    struct control *control;
    struct client *next;
    struct chan *chan;
    pid_t pid;
    enum {
        CLIENT_IDLE,    /* no command */
        CLIENT_ASKING,  /* a worker is to answer */
        CLIENT_TAPPING, /* listens to a link until it goes */
        CLIENT_LENT,    /* waits for a worker's link, or has it */
        CLIENT_WAITING, /* until a worker runs again */
    } doing;
    struct process *worker;   /* unless idle */
    uint32_t question;        /* ASKING: its id */
    bool more_due;            /* ASKING: a piece waits for room */
    enum role peer;           /* TAPPING */
    int64_t lost;             /* TAPPING: frames there was no room for */
    struct process *recorded; /* to this client's file; or NULL */
};

struct control {
    struct supervisor *sup;
    struct event *acceptable;
    int fd;
    char *where;
    struct client *clients;
    unsigned count;
    uint32_t questions; /* counts up */
};

/* Ends the command that runs. */
void client_reply(struct client *c, bool ok, struct str text);

/* As client_reply, with a formatted line. */
void client_fail(struct client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Part of an answer. */
void client_stream(struct client *c, struct str text);

/* Tells the worker who listens to which of its links now. */
void client_set_tap(struct process *worker, enum role peer, bool on);

/* A COMMAND came: command.c. -1 and err: it is none. */
int command_run(struct client *c, struct message *m, struct err *err);

#endif
