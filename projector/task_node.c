/* SPDX-License-Identifier: Apache-2.0 */
#include "common/api.h"
#include "common/assignment.h"
#include "common/clock.h"
#include "common/kube/json.h"
#include "common/kube/meta.h"
#include "common/kube/status.h"
#include "common/mem.h"
#include "projector/node_view.h"
#include "projector/render.h"
#include "projector/task_kind.h"

/*
 * Server-side apply on a Node (mokka-control 4.1 and 4.4).  The uid in the body
 * keeps it off a Node that took the name since; it is never forced.  The answer
 * is looked at: whether every key is ours, and nobody else's too; or, of a
 * release, whether nothing is left.
 */
#define CONFLICTS 5
#define CONFLICT_DELAY (5 * CLOCK_MS)

static const struct task_place node = {.resource = "nodes"};
static const struct task_place applied_node = {
    .resource = "nodes", .managed = true, .unforced = true};

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

/* Notes which keys are in conflict and with whom; returns one line of it. */
static const char *
note_conflict(struct task *t, struct buf *fields, struct buf *rivals,
              const char *what)
{
    struct err text;

    t->facts.fields = take(t, fields);
    t->facts.rivals = take(t, rivals);
    err_set(&text, "%s: %s", what,
            t->facts.rivals.n > 0 ? t->facts.rivals.s : t->facts.fields.s);
    return arena_str(&t->arena, str_of(text.text)).s;
}

static const char *
note_keys(struct task *t, const struct node_view *v, int keys, const char *what)
{
    struct buf owners = {0};
    struct buf fields = {0};
    struct buf rivals = {0};
    const char *text;

    owned_keys_rivals(&owners, &v->owned);
    projected_keys_names(&fields, keys);
    projected_keys_rivals(&rivals, keys, buf_str(&owners));
    text = note_conflict(t, &fields, &rivals, what);
    buf_fini(&owners);
    return text;
}

/* Others keep something on a Node.  Where the feed shows it, its next event
 * tells when to look again; where it does not, we look again ourselves. */
static enum task_move
kept(struct task *t, const struct node_view *v, int keys)
{
    const char *text = note_keys(t, v, keys, "kept on the Node");

    if (t->intent.target.version.n > 0)
        return task_end(t, OUTCOME_KEPT, v->meta.resource_version, text);
    task_fail(t, text);
    t->answer.kept = true;
    return TASK_END;
}

static enum task_move
judge_release(struct task *t, const struct node_view *v)
{
    int left = node_view_kept(v, &t->intent.node);

    if (left != 0)
        return kept(t, v, left);
    return task_end(t, OUTCOME_DONE, v->meta.resource_version, "");
}

static enum task_move
judge_apply(struct task *t, const struct node_view *v)
{
    int wanted = node_view_keys(&t->intent.node);
    int foreign = v->owned.foreign & wanted;
    int lost = wanted & ~(v->right & v->owned.ours);
    struct str version = v->meta.resource_version;

    if (foreign != 0)
        return task_end(t, OUTCOME_CONFLICT, version,
                        note_keys(t, v, foreign, "also owned"));
    if (lost != 0)
        return task_end(t, OUTCOME_CONFLICT, version,
                        note_keys(t, v, lost, "changed on the way"));
    return task_end(t, OUTCOME_DONE, version, "");
}

/* -1 and err if the answer is no Node, in protobuf, of the target's name. */
static int
read_node(struct node_view *v, const struct task *t,
          const struct kube_response *response, struct err *err)
{
    if (strncmp(response->content_type, KUBE_PROTOBUF, strlen(KUBE_PROTOBUF)) !=
        0)
        return err_set(err, "%s %s answered in %s", response->method,
                       response->url, response->content_type);
    if (node_view_read(v, response->body, &t->intent.node, err) != 0)
        return -1;
    if (str_eq(v->meta.name, t->intent.target.name))
        return 0;
    node_view_fini(v);
    return err_set(err, "%s %s answered about another Node, %.*s",
                   response->method, response->url, (int)v->meta.name.n,
                   v->meta.name.s);
}

static bool
is_target(const struct task *t, const struct node_view *v)
{
    return str_eq(v->meta.uid, t->intent.target.uid);
}

static enum task_move
judge(struct task *t, const struct kube_response *response)
{
    bool release = t->intent.node.release;
    struct node_view v;
    struct err err;
    enum task_move move;

    if (read_node(&v, t, response, &err) != 0)
        return task_fail(t, err.text);
    if (is_target(t, &v))
        move = release ? judge_release(t, &v) : judge_apply(t, &v);
    else if (release) /* 4.4 step 8 */
        move = gone(t);
    else /* 4.1 step 10 */
        move = task_fail(t, "the answer is about another instance");
    node_view_fini(&v);
    return move;
}

/* What a live read after an unexplained conflict shows. */
static enum task_move
looked(struct task *t, const struct kube_response *response)
{
    struct node_view v;
    struct err err;
    bool there;

    if (!task_accepted(response))
        return task_refused(t, response);
    if (read_node(&v, t, response, &err) != 0)
        return task_fail(t, err.text);
    there = is_target(t, &v);
    node_view_fini(&v);
    return there ? task_fail(t, "other writers were faster") : gone(t);
}

/* conflict with "NAME" using v1 */
static struct str
manager_in(const char *message)
{
    const char *open = strchr(message, '"');
    const char *close = open == NULL ? NULL : strchr(open + 1, '"');

    if (close == NULL)
        return STR("somebody");
    return (struct str){open + 1, (size_t)(close - open - 1)};
}

/* .metadata.labels.nvidia.com/gpu.clique */
static const char *
key_in(const char *field)
{
    static const char *const prefixes[] = {".metadata.labels.",
                                           ".metadata.annotations."};

    for (size_t i = 0; i < nitems(prefixes); i++)
        if (strncmp(field, prefixes[i], strlen(prefixes[i])) == 0)
            return field + strlen(prefixes[i]);
    return field;
}

/* Each cause is one key and one manager. */
static const char *
note_causes(struct task *t, const struct kube_status *status)
{
    struct buf fields = {0};
    struct buf rivals = {0};

    for (size_t i = 0; i < status->n_causes; i++) {
        const struct kube_cause *cause = &status->causes[i];
        struct str manager = manager_in(cause->message);
        const char *key = key_in(cause->field);

        if (strcmp(cause->type, "FieldManagerConflict") != 0)
            continue;
        buf_printf(&fields, "%s%s", fields.len > 0 ? "," : "", key);
        buf_printf(&rivals, "%s%s by %.*s", rivals.len > 0 ? "; " : "", key,
                   (int)manager.n, manager.s);
    }
    return note_conflict(t, &fields, &rivals, "owned");
}

static enum task_move send_apply(struct task *t);

/* Somebody owns what we do not know of yet: the feed is about to tell, or he is
 * about to let go. */
static enum task_move
conflicted(struct task *t, const struct kube_status *status)
{
    const char *text = note_causes(t, status);

    if (t->intent.node.release)
        return task_fail(t, text);
    if (++t->conflicts == CONFLICTS)
        return task_end(t, OUTCOME_CONFLICT, STR(""), text);
    t->facts.fields = t->facts.rivals = STR("");
    if (send_apply(t) == TASK_END)
        return TASK_END;
    t->request.delay = CONFLICT_DELAY << (t->conflicts - 1);
    return TASK_SEND;
}

static enum task_move
send_look(struct task *t, task_step *then)
{
    if (task_send(t, "GET", &node, then) == TASK_END)
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

/* 409: fields of somebody else, or no such Node, or too much traffic on it.
 * 422 with the uid for its cause: another has the name.  Any other refusal may
 * pass, whatever its code: admission can say no with each (4.1 step 9). */
static enum task_move
refused(struct task *t, const struct kube_response *response)
{
    struct kube_status status;
    enum task_move move;

    kube_status_read(&status, response);
    if (kube_status_has(&status, "FieldManagerConflict"))
        move = conflicted(t, &status);
    else if (response->status == 409)
        move = send_look(t, looked);
    else if (kube_not_found(response) ||
             (response->status == 422 && blames_uid(&status)))
        move = gone(t);
    else
        move = task_retry(t, response);
    kube_status_fini(&status);
    return move;
}

static enum task_move
applied(struct task *t, const struct kube_response *response)
{
    return task_accepted(response) ? judge(t, response) : refused(t, response);
}

static enum task_move
send_apply(struct task *t)
{
    if (task_send(t, "PATCH", &applied_node, applied) == TASK_END)
        return TASK_END;
    t->request.accept = KUBE_META_ACCEPT;
    t->request.content_type = "application/apply-patch+yaml";
    render_node(&t->request.body, &t->intent.node);
    return TASK_SEND;
}

/* Nothing is to be done.  Labels that others kept when the annotation went are
 * not forgotten. */
static enum task_move
found_clean(struct task *t, const struct node_view *v)
{
    int left = t->kept ? node_view_kept(v, &t->intent.node) : 0;

    if (left != 0)
        return kept(t, v, left);
    t->facts.unchanged = true;
    return task_end(t, OUTCOME_DONE, v->meta.resource_version, "");
}

static enum task_move
clean(struct task *t, const struct node_view *v)
{
    struct intent_node *i = &t->intent.node;

    switch (node_view_cleanup(v, i)) {
    case CLEANUP_ALL:
        i->keep = false;
        return send_apply(t);
    case CLEANUP_LABELS:
        i->keep = true;
        i->annotation = arena_str(&t->arena, v->annotation);
        return send_apply(t);
    case CLEANUP_BLOCKED:
        return kept(t, v, node_view_kept(v, i));
    default:
        return found_clean(t, v);
    }
}

/* A Node that the feed does not show (4.4 step 2). */
static enum task_move
found(struct task *t, const struct kube_response *response)
{
    struct node_view v;
    struct err err;
    enum task_move move;

    if (!task_accepted(response))
        return task_refused(t, response);
    if (read_node(&v, t, response, &err) != 0)
        return task_fail(t, err.text);
    move = is_target(t, &v) ? clean(t, &v) : gone(t);
    node_view_fini(&v);
    return move;
}

/* Is it the rack that an annotation names, and does it bind the Node? */
static bool
binds(const struct task *t, const struct kube_response *response,
      const struct assignment *a)
{
    json_t *rack = task_object(t, response, NULL);
    json_t *slots = json_object_get(json_object_get(rack, "spec"), "nodes");
    bool found = false;
    json_t *slot;
    size_t i;

    if (str_is(a->rack.uid, kube_json_text(rack, "metadata.uid")))
        json_array_foreach(slots, i, slot) found |=
            str_is(a->node_uid, kube_json_text(slot, "nodeRef.uid"));
    json_decref(rack);
    return found;
}

/* Whether a rack holds what an annotation says (4.1 step 6). */
static enum task_move
rack_looked(struct task *t, const struct kube_response *response)
{
    struct assignment a = {0};

    if (!task_accepted(response) && !kube_not_found(response))
        return task_refused(t, response);
    assignment_decode(&a, t->intent.node.annotation, &t->arena, NULL);
    if (task_accepted(response) && binds(t, response, &a))
        return task_end(t, OUTCOME_CONFLICT, STR(""),
                        "its annotation names a rack that binds it");
    return send_apply(t);
}

static enum task_move
send_rack_look(struct task *t)
{
    struct task_place rack = {.group = API_GROUP, .resource = API_RACKS};
    struct assignment a;

    if (assignment_decode(&a, t->intent.node.annotation, &t->arena, NULL) !=
            0 ||
        a.rack.name.n == 0)
        return task_end(t, OUTCOME_INVALID, STR(""),
                        "the annotation names no rack");
    rack.name = a.rack.name.s;
    return task_send(t, "GET", &rack, rack_looked);
}

enum task_move
task_node_apply(struct task *t)
{
    const struct intent_node *i = &t->intent.node;

    if (i->release && i->stray)
        return send_rack_look(t);
    if (i->release && i->target.version.n == 0)
        return send_look(t, found);
    return send_apply(t);
}
