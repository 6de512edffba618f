/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_TASK_KIND_H
#define PROJECTOR_TASK_KIND_H

#include <jansson.h>

#include "common/arena.h"
#include "common/clock.h"
#include "common/kube/http.h"
#include "projector/task.h"

/*
 * For the files that know how one kind of intent is carried out.  Each has a
 * first move and a function for each answer it may have to wait for; a move
 * prepares a request and names the function that gets its answer, or ends the
 * task.
 */
typedef enum task_move task_step(struct task *t,
                                 const struct kube_response *response);

struct task {
    struct arena arena; /* every text of the task */
    union intent intent;
    task_step *then;           /* gets the answer */
    const char *const *unread; /* of objects in answers (common/kube/prune.h) */
    int64_t wall;
    bool kept;          /* an earlier attempt found keys that others keep */
    unsigned conflicts; /* tries that lost against another writer */
    struct task_request request;
    struct answer answer;
    struct task_facts facts;
};

/* First moves. */
enum task_move task_rack_write(struct task *t);
enum task_move task_rack_look(struct task *t);
enum task_move task_retire(struct task *t); /* RACK_DELETE */
enum task_move task_node_apply(struct task *t);
enum task_move task_edit(struct task *t); /* finalizers, statuses */

/* A finalizer that is to go: racks must be gone first. */
enum task_move task_drain(struct task *t);

/* Another writer was there first: so often a task reads and writes again, so
 * far apart, before its object rests. */
#define TASK_CONFLICTS 5
#define TASK_CONFLICT_DELAY (10 * CLOCK_MS)

/* Accept texts: metadata is all that is wanted of most answers. */
#define TASK_METADATA_JSON                                                     \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define TASK_JSON "application/json"

/* Where a request goes. */
struct task_place {
    const char *group;    /* NULL: the core group */
    const char *resource; /* with "/status" where that is meant */
    const char *name;     /* NULL: the target's */
    bool collection;      /* not one object */
    bool managed;         /* name our field manager */
    bool unforced;        /* say that it is not to be forced */
};

/* Makes t->request a new one, body empty; the caller sets what is special about
 * it and returns the move. TASK_END if the target's name makes no path. */
enum task_move task_send(struct task *t, const char *method,
                         const struct task_place *place, task_step *then);

/* Adds key=value to the query of t->request. */
void task_query(struct task *t, const char *key, const char *value);

/* Ends the task; text is the reason, "" if there is nothing to say. */
enum task_move task_end(struct task *t, enum outcome outcome,
                        struct str version, const char *text);

/* To be tried again. */
enum task_move task_fail(struct task *t, const char *text);

/* The same after an answer that is a refusal, or none. */
enum task_move task_retry(struct task *t, const struct kube_response *response);

/* What the answer means where nothing special is known: a failure for what may
 * pass, else an outcome by the HTTP status. */
enum task_move task_refused(struct task *t,
                            const struct kube_response *response);

static inline bool
task_accepted(const struct kube_response *response)
{
    return response->status >= 200 && response->status < 300;
}

/* Ends the task with OUTCOME_DONE and the version in the answer, an object (or
 * the metadata of one) in JSON. */
enum task_move task_done(struct task *t, const struct kube_response *response);

/* Goes on with the object in an answer, which lives for the call; without one
 * as task_refused and task_fail. */
enum task_move task_go_on(struct task *t, const struct kube_response *response,
                          enum task_move (*move)(struct task *t,
                                                 const json_t *live));

/* Is it the object that the target names; is it also what its author saw?
 * false: the task has ended, GONE or STALE. */
bool task_is_target(struct task *t, const json_t *live);
bool task_is_unmoved(struct task *t, const json_t *live);

/* The object in an answer, but for what is unread, to be freed with
 * json_decref. NULL and err. */
json_t *task_object(const struct task *t, const struct kube_response *response,
                    struct err *err);

#endif
