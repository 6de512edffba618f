/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_TASK_H
#define PROJECTOR_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "projector/intent.h"

struct kube_response;

/*
 * One intent on its way: the requests that carry it out, one after another, and
 * what their answers mean.  A task makes requests and is given the answers; it
 * sends nothing itself.
 */
struct task;

enum task_move {
    TASK_SEND, /* task_request is to be sent */
    TASK_END   /* task_answer says how it ended */
};

struct task_request {
    const char *method;
    const char *accept;
    const char *content_type; /* NULL: JSON */
    const char *resource;     /* "sgpuracks/status", for people */
    char *path;               /* with query */
    struct buf body;
    bool mutates; /* may be sent in a term only */
    bool live;    /* a live read of a Node, which has a time limit of its own */
    int64_t delay; /* to be sent so long from now */
};

/* The order is copied. kept: as the answer to an earlier attempt said. */
struct task *task_new(const struct order *order, bool kept);
void task_free(struct task *task);

/* The first move. */
enum task_move task_begin(struct task *task);

/* The next move, after the answer (of any kind) to task_request. wall is the
 * time that a write from now on bears, nanoseconds since 1970. */
enum task_move task_answered(struct task *task,
                             const struct kube_response *response,
                             int64_t wall);

/* Both live until the next move. */
const struct task_request *task_request(const struct task *task);
const struct answer *task_answer(const struct task *task);

/* What else is known, for logs and reports. */
struct task_facts {
    uint16_t type; /* of the order */
    const union intent *intent;
    bool created;      /* the object is new */
    bool unchanged;    /* it stood already, nothing was written */
    bool waiting;      /* for others to go first; no failure of anybody's */
    struct str fields; /* keys in conflict, comma-joined */
    struct str rivals; /* whose they are: "KEY by MANAGER,...; KEY by ..." */
};
const struct task_facts *task_facts(const struct task *task);

#endif
