/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/meta.h"
#include "common/kube/status.h"
#include "common/mem.h"
#include "projector/ownership.h"
#include "projector/render.h"
#include "projector/task_kind.h"

/*
 * Server-side apply on a Node.  The uid in the body keeps it off a Node that
 * took the name since; it is never forced.  The answer is looked at: whether
 * every key is ours, and nobody else's too.
 */
static const struct task_place node = {.resource = "nodes"};

static enum task_move
gone(struct task *t)
{
    return task_end(t, OUTCOME_GONE, STR(""),
                    "no Node of that name and uid any more");
}

static struct str
take(struct task *t, struct buf *text)
{
    struct str copy = arena_str(&t->arena, buf_str(text));

    buf_fini(text);
    return copy;
}

/* Ends with a conflict over the keys named, given by facts. */
static enum task_move
conflict(struct task *t, struct str version, const char *what)
{
    struct err text;

    err_set(&text, "%s %s%s%s", t->facts.fields.s, what,
            t->facts.rivals.n > 0 ? " by " : "", t->facts.rivals.s);
    return task_end(t, OUTCOME_CONFLICT, version, text.text);
}

static enum task_move
conflict_over(struct task *t, const struct ownership *o, int keys,
              struct str version, const char *what)
{
    struct buf names = {0};

    ownership_names(&names, keys);
    t->facts.fields = take(t, &names);
    t->facts.rivals = arena_str(&t->arena, buf_str(&o->rivals));
    return conflict(t, version, what);
}

static enum task_move
judge_release(struct task *t, const struct ownership *o, struct str version)
{
    if (o->present != 0)
        return conflict_over(t, o, o->present, version, "kept on the Node");
    return task_end(t, OUTCOME_DONE, version, "");
}

static enum task_move
judge_apply(struct task *t, const struct ownership *o, struct str version)
{
    const struct intent_node *i = &t->intent.node;
    int wanted = i->clique.n > 0 ? KEY_ALL : KEY_ALL & ~KEY_CLIQUE;
    int right = (o->assigned ? KEY_ASSIGNED : 0) |
                (str_eq(o->clique, i->clique) ? KEY_CLIQUE : 0) |
                (str_eq(o->annotation, i->annotation) ? KEY_ANNOTATION : 0);

    if ((o->foreign & wanted) != 0)
        return conflict_over(t, o, o->foreign & wanted, version, "also owned");
    if ((wanted & ~(right & o->ours)) != 0)
        return conflict_over(t, o, wanted & ~(right & o->ours), version,
                             "changed on the way");
    return task_end(t, OUTCOME_DONE, version, "");
}

/* -1 and err if the answer is no metadata in protobuf. */
static int
read_answer(struct kube_meta *meta, const struct kube_response *response,
            struct err *err)
{
    if (strncmp(response->content_type, KUBE_PROTOBUF, strlen(KUBE_PROTOBUF)) !=
        0)
        return err_set(err, "%s %s answered in %s", response->method,
                       response->url, response->content_type);
    return kube_meta_answer(meta, response->body, err);
}

static bool
is_target(const struct task *t, const struct kube_meta *meta)
{
    return str_eq(meta->name, t->intent.target.name) &&
           str_eq(meta->uid, t->intent.target.uid);
}

static enum task_move
judge(struct task *t, const struct kube_response *response)
{
    struct kube_meta meta = {0};
    struct ownership o;
    struct err err;
    enum task_move move;

    if (read_answer(&meta, response, &err) != 0)
        return task_fail(t, err.text);
    if (!is_target(t, &meta))
        return gone(t);
    if (ownership_read(&o, &meta, &err) != 0)
        return task_fail(t, err.text);
    move = t->intent.node.release ? judge_release(t, &o, meta.resource_version)
                                  : judge_apply(t, &o, meta.resource_version);
    ownership_fini(&o);
    return move;
}

/* What a live read after an unexplained conflict shows. */
static enum task_move
looked(struct task *t, const struct kube_response *response)
{
    struct kube_meta meta = {0};
    struct err err;

    if (!task_accepted(response))
        return task_refused(t, response);
    if (read_answer(&meta, response, &err) != 0)
        return task_fail(t, err.text);
    if (!is_target(t, &meta))
        return gone(t);
    return task_fail(t, "other writers were faster");
}

/* conflict with "NAME" using v1 */
static struct str
manager_in(const char *message)
{
    const char *open = strchr(message, '"');
    const char *close = open == NULL ? NULL : strchr(open + 1, '"');

    if (close == NULL)
        return STR("");
    return (struct str){open + 1, (size_t)(close - open - 1)};
}

/* .metadata.labels.nvidia.com/gpu.clique */
static struct str
key_in(const char *field)
{
    static const char *const prefixes[] = {".metadata.labels.",
                                           ".metadata.annotations."};

    for (size_t i = 0; i < nitems(prefixes); i++)
        if (strncmp(field, prefixes[i], strlen(prefixes[i])) == 0)
            return str_of(field + strlen(prefixes[i]));
    return str_of(field);
}

static enum task_move
conflict_told(struct task *t, const struct kube_status *status)
{
    struct buf fields = {0};
    struct buf rivals = {0};

    for (size_t i = 0; i < status->n_causes; i++) {
        const struct kube_cause *cause = &status->causes[i];

        if (strcmp(cause->type, "FieldManagerConflict") != 0)
            continue;
        ownership_add_name(&fields, key_in(cause->field));
        if (manager_in(cause->message).n > 0)
            ownership_add_name(&rivals, manager_in(cause->message));
    }
    t->facts.fields = take(t, &fields);
    t->facts.rivals = take(t, &rivals);
    return conflict(t, STR(""), "owned");
}

/* 409: fields of somebody else, or no such Node, or too much traffic on it. */
static enum task_move
explain_conflict(struct task *t, const struct kube_status *status)
{
    if (kube_status_has(status, "FieldManagerConflict"))
        return conflict_told(t, status);
    if (task_send(t, "GET", &node, looked) == TASK_END)
        return TASK_END;
    t->request.accept = KUBE_META_ACCEPT;
    t->request.live = true;
    return TASK_SEND;
}

static bool
blames_uid(const struct kube_status *status)
{
    for (size_t i = 0; i < status->n_causes; i++)
        if (strcmp(status->causes[i].field, "metadata.uid") == 0)
            return true;
    return false;
}

static enum task_move
applied(struct task *t, const struct kube_response *response)
{
    struct kube_status status;
    enum task_move move;

    if (task_accepted(response))
        return judge(t, response);
    kube_status_read(&status, response);
    if (response->status == 409)
        move = explain_conflict(t, &status);
    else if (response->status == 422 && blames_uid(&status))
        move = gone(t);
    else
        move = task_refused(t, response);
    kube_status_fini(&status);
    return move;
}

enum task_move
task_node_apply(struct task *t)
{
    static const struct task_place applied_node = {
        .resource = "nodes", .managed = true, .unforced = true};

    if (task_send(t, "PATCH", &applied_node, applied) == TASK_END)
        return TASK_END;
    t->request.accept = KUBE_META_ACCEPT;
    t->request.content_type = "application/apply-patch+yaml";
    render_node(&t->request.body, &t->intent.node);
    return TASK_SEND;
}
