/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/task.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/owned.h"
#include "common/kube/path.h"
#include "common/kube/prune.h"
#include "common/kube/status.h"
#include "common/mem.h"
#include "projector/render.h"
#include "projector/task_kind.h"
#include "proto/frame.h"

static const char *const unread[] = {OWNED_UNREAD, NULL};

struct task *
task_new(const struct order *order, bool kept)
{
    struct task *t = mem_zalloc(sizeof(*t));

    order_read(&t->intent, order, &t->arena);
    t->kept = kept;
    t->unread = unread;
    t->facts.type = order->type;
    t->facts.intent = &t->intent;
    return t;
}

static void
clear_request(struct task *t)
{
    free(t->request.path);
    buf_fini(&t->request.body);
    t->request = (struct task_request){0};
}

void
task_free(struct task *t)
{
    if (t == NULL)
        return;
    clear_request(t);
    arena_fini(&t->arena);
    free(t);
}

enum task_move
task_begin(struct task *t)
{
    static const struct {
        uint16_t type;
        enum task_move (*first)(struct task *t);
    } kinds[] = {
        {MSG_RACK_WRITE, task_rack_write}, {MSG_RACK_DELETE, task_retire},
        {MSG_RACK_LOOK, task_rack_look},   {MSG_NODE_APPLY, task_node_apply},
        {MSG_FINALIZER, task_edit},        {MSG_STATUS_WRITE, task_edit},
    };

    if (t->facts.type == MSG_FINALIZER && !t->intent.finalizer.present)
        return task_drain(t);
    for (size_t i = 0; i < nitems(kinds); i++)
        if (kinds[i].type == t->facts.type)
            return kinds[i].first(t);
    fatal("no task for %s", message_name(t->facts.type));
}

enum task_move
task_answered(struct task *t, const struct kube_response *response,
              int64_t wall)
{
    t->wall = wall;
    return t->then(t, response);
}

const struct task_request *
task_request(const struct task *t)
{
    return &t->request;
}

const struct answer *
task_answer(const struct task *t)
{
    return &t->answer;
}

const struct task_facts *
task_facts(const struct task *t)
{
    return &t->facts;
}

/* The path of the target there, without a query; "/" parts the resource from
 * its subresource. -1 and err. */
static int
add_path(struct buf *out, const struct task *t, const struct task_place *place,
         struct err *err)
{
    size_t n = strcspn(place->resource, "/");
    char *resource = mem_dup(place->resource, n);
    const char *rest = place->resource + n;
    struct kube_path path = {
        .group = place->group,
        .version = place->group == NULL ? "v1" : API_VERSION,
        .resource = resource,
        .name = place->collection     ? NULL
                : place->name == NULL ? t->intent.target.name.s
                                      : place->name,
        .subresource = *rest == '\0' ? NULL : rest + 1,
    };
    int result = kube_path_add(out, &path, err);

    free(resource);
    return result;
}

enum task_move
task_send(struct task *t, const char *method, const struct task_place *place,
          task_step *then)
{
    struct buf path = {0};
    struct err err;

    clear_request(t);
    if (add_path(&path, t, place, &err) != 0) {
        buf_fini(&path);
        return task_end(t, OUTCOME_INVALID, STR(""), err.text);
    }
    if (place->managed)
        kube_path_query(&path, "fieldManager", FIELD_MANAGER);
    if (place->unforced)
        kube_path_query(&path, "force", "false");
    t->request.method = method;
    t->request.accept = TASK_JSON;
    t->request.resource = place->resource;
    t->request.path = buf_take(&path);
    t->request.mutates = strcmp(method, "GET") != 0;
    t->then = then;
    return TASK_SEND;
}

void
task_query(struct task *t, const char *key, const char *value)
{
    struct buf path = {0};

    buf_addz(&path, t->request.path);
    kube_path_query(&path, key, value);
    free(t->request.path);
    t->request.path = buf_take(&path);
}

enum task_move
task_end(struct task *t, enum outcome outcome, struct str version,
         const char *text)
{
    t->answer = (struct answer){
        .verdict = VERDICT_ENDED,
        .outcome = outcome,
        .uid = t->intent.target.uid,
        .version = arena_str(&t->arena, version),
        .reason = arena_str(&t->arena, str_of(text)),
    };
    return TASK_END;
}

enum task_move
task_fail(struct task *t, const char *text)
{
    t->answer = (struct answer){
        .verdict = VERDICT_FAILED,
        .reason = arena_str(&t->arena, str_of(text)),
    };
    return TASK_END;
}

/* No answer, too many requests, or whoever stands before the server tells. */
static bool
is_servers(int status)
{
    return status == 0 || status == 429 || status == 502 || status == 503 ||
           status == 504;
}

/* Ours to be mended by whoever gives rights; admission says no in other
 * words. */
static bool
is_denied(const struct kube_response *response, const char *text)
{
    return response->status == 403 && strstr(text, " cannot ") != NULL;
}

enum task_move
task_retry(struct task *t, const struct kube_response *response)
{
    struct err err;

    kube_describe(response, NULL, &err);
    task_fail(t, err.text);
    t->answer.retry_after = response->retry_after;
    t->answer.denied = is_denied(response, err.text);
    t->answer.server = is_servers(response->status);
    t->answer.lost = response->status == 0;
    return TASK_END;
}

enum task_move
task_refused(struct task *t, const struct kube_response *response)
{
    static const struct {
        int status;
        enum outcome outcome;
    } final[] = {
        {400, OUTCOME_INVALID}, {404, OUTCOME_GONE},    {409, OUTCOME_STALE},
        {413, OUTCOME_INVALID}, {422, OUTCOME_INVALID},
    };
    struct err err;

    kube_describe(response, NULL, &err);
    for (size_t i = 0; i < nitems(final); i++)
        if (final[i].status == response->status &&
            (response->status != 404 || kube_not_found(response)))
            return task_end(t, final[i].outcome, STR(""), err.text);
    return task_retry(t, response);
}

json_t *
task_object(const struct task *t, const struct kube_response *response,
            struct err *err)
{
    json_t *object = kube_json_parse_pruned(response->body, t->unread, err);

    if (object == NULL)
        err_prefix(err, "%s %s answered %d", response->method, response->url,
                   response->status);
    return object;
}

enum task_move
task_go_on(struct task *t, const struct kube_response *response,
           enum task_move (*move)(struct task *t, const json_t *live))
{
    enum task_move next;
    json_t *live;
    struct err err;

    if (!task_accepted(response))
        return task_refused(t, response);
    live = task_object(t, response, &err);
    next = live == NULL ? task_fail(t, err.text) : move(t, live);
    json_decref(live);
    return next;
}

bool
task_is_target(struct task *t, const json_t *live)
{
    if (str_is(t->intent.target.uid, kube_json_text(live, "metadata.uid")))
        return true;
    task_end(t, OUTCOME_GONE, STR(""), "another object has the name now");
    return false;
}

bool
task_is_unmoved(struct task *t, const json_t *live)
{
    struct str version =
        str_of(kube_json_text(live, "metadata.resourceVersion"));

    if (!task_is_target(t, live))
        return false;
    if (str_eq(t->intent.target.version, version))
        return true;
    task_end(t, OUTCOME_STALE, version, "it has changed");
    return false;
}

enum task_move
task_done(struct task *t, const struct kube_response *response)
{
    const char *uid = "";
    const char *version = "";
    struct err err = {0};
    json_t *object = task_object(t, response, &err);
    enum task_move move;

    if (object == NULL ||
        kube_json_str(object, "metadata.uid", &uid, &err) != 1 ||
        kube_json_str(object, "metadata.resourceVersion", &version, &err) !=
            1) {
        if (err.text[0] == '\0')
            err_set(&err, "%s %s: the answer names no uid or resourceVersion",
                    response->method, response->url);
        move = task_fail(t, err.text);
    } else {
        move = task_end(t, OUTCOME_DONE, str_of(version), "");
        t->answer.uid = arena_str(&t->arena, str_of(uid));
    }
    json_decref(object);
    return move;
}
