/* SPDX-License-Identifier: Apache-2.0 */
#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/owned.h"
#include "common/kube/status.h"
#include "projector/render.h"
#include "projector/task_kind.h"

static const struct task_place racks = {.group = API_GROUP,
                                        .resource = API_RACKS,
                                        .collection = true,
                                        .managed = true};
static const struct task_place rack = {
    .group = API_GROUP, .resource = API_RACKS, .managed = true};
static const struct task_place plain_rack = {.group = API_GROUP,
                                             .resource = API_RACKS};

static const struct object_owner *
wanted_controller(const struct task *t)
{
    const struct owners *owners = &t->intent.rack.owners;

    for (size_t i = 0; i < owners->count; i++)
        if (owners->items[i].controller == 1)
            return &owners->items[i];
    return NULL;
}

/* The controller reference of an object, or NULL. */
static const json_t *
controller_of(const json_t *object)
{
    json_t *list = kube_json_at(object, "metadata.ownerReferences");
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_true(json_object_get(item, "controller")))
            return item;
    }
    return NULL;
}

static bool
is_ours(const struct object_owner *wanted, const json_t *standing)
{
    return wanted != NULL && standing != NULL &&
           str_is(wanted->api_version,
                  kube_json_text(standing, "apiVersion")) &&
           str_is(wanted->kind, kube_json_text(standing, "kind")) &&
           str_is(wanted->name, kube_json_text(standing, "name")) &&
           str_is(wanted->uid, kube_json_text(standing, "uid"));
}

static const char *
version_of(const json_t *object)
{
    return kube_json_text(object, "metadata.resourceVersion");
}

static enum task_move
end_with(struct task *t, enum outcome outcome, const json_t *object,
         const char *text)
{
    task_end(t, outcome, str_of(version_of(object)), text);
    t->answer.uid =
        arena_str(&t->arena, str_of(kube_json_text(object, "metadata.uid")));
    return TASK_END;
}

static enum task_move
taken(struct task *t, const json_t *object)
{
    const json_t *controller = controller_of(object);
    struct err err;

    if (controller == NULL)
        err_set(&err, "the name is taken by a rack without a controller");
    else
        err_set(&err, "the name is taken by a rack of %s %s (%s)",
                kube_json_text(controller, "kind"),
                kube_json_text(controller, "name"),
                kube_json_text(controller, "uid"));
    return end_with(t, OUTCOME_CONFLICT, object, err.text);
}

/* The spec is ours alone, or the server keeps no account of it (mokka-api
 * 7.3). */
static bool
spec_is_ours(const json_t *object)
{
    const json_t *list = kube_json_at(object, "metadata.managedFields");

    return json_array_size(list) == 0 || owned_spec(list);
}

/* What the name has is just what was to be written: an earlier try of ours
 * whose answer was lost. */
static bool
stands(const struct task *t, const json_t *object)
{
    struct buf body = {0};
    bool same = render_rack_anew(&body, object, &t->intent.rack, NULL) == 0 &&
                kube_json_at(object, "metadata.deletionTimestamp") == NULL;

    buf_fini(&body);
    return same;
}

/* The name is taken: by a rack of ours that the author has not seen yet, or by
 * somebody else's. */
static enum task_move
judge_standing(struct task *t, const json_t *object)
{
    if (!is_ours(wanted_controller(t), controller_of(object)))
        return taken(t, object);
    if (!spec_is_ours(object) || !stands(t, object))
        return end_with(t, OUTCOME_STALE, object, "it exists already");
    t->facts.created = true;
    return end_with(t, OUTCOME_DONE, object, "");
}

static enum task_move
looked(struct task *t, const struct kube_response *response)
{
    json_t *object;
    enum task_move move;
    struct err err;

    if (kube_not_found(response))
        return task_fail(t, "it existed, and was gone when looked at");
    if (!task_accepted(response))
        return task_refused(t, response);
    object = task_object(t, response, &err);
    move = object == NULL ? task_fail(t, err.text) : judge_standing(t, object);
    json_decref(object);
    return move;
}

static bool
exists_already(const struct kube_response *response)
{
    struct kube_status status;
    bool yes;

    if (response->status != 409)
        return false;
    kube_status_read(&status, response);
    yes = strcmp(status.reason, "AlreadyExists") == 0;
    kube_status_fini(&status);
    return yes;
}

static enum task_move
posted(struct task *t, const struct kube_response *response)
{
    struct err err;

    if (task_accepted(response)) {
        t->facts.created = true;
        return task_done(t, response);
    }
    if (exists_already(response))
        return task_send(t, "GET", &plain_rack, looked);
    /* Nothing there to be outdated or gone: the resource itself is. */
    if (response->status == 404 || response->status == 409) {
        kube_describe(response, NULL, &err);
        return task_fail(t, err.text);
    }
    return task_refused(t, response);
}

static enum task_move put(struct task *t, const struct kube_response *response);

/* The write again, from the object as it is now. */
static enum task_move
put_anew(struct task *t, const json_t *live)
{
    struct buf body = {0};
    enum task_move move = TASK_END;
    struct err err;
    int differs = render_rack_anew(&body, live, &t->intent.rack, &err);

    if (differs < 0) {
        task_fail(t, err.text);
    } else if (differs == 0) {
        end_with(t, OUTCOME_DONE, live, "");
        t->facts.unchanged = true;
    } else {
        move = task_send(t, "PUT", &rack, put);
        t->request.accept = TASK_METADATA_JSON "," TASK_JSON;
        t->request.body = body;
        body = (struct buf){0};
    }
    buf_fini(&body);
    return move;
}

/* Somebody wrote the rack since its author saw it (mokka-control 5.3): the
 * write goes on from there unless what it was decided from has changed, too. */
static enum task_move
judge_moved(struct task *t, const json_t *live)
{
    int64_t generation = 0;

    kube_json_int(live, "metadata.generation", 0, INT64_MAX, &generation, NULL);
    if (!task_is_target(t, live))
        return TASK_END;
    if (!is_ours(wanted_controller(t), controller_of(live)))
        return taken(t, live);
    if (!spec_is_ours(live))
        return end_with(t, OUTCOME_CONFLICT, live,
                        "its spec was edited by somebody else");
    if (generation != t->intent.rack.generation && !stands(t, live))
        return end_with(t, OUTCOME_STALE, live, "its spec has changed");
    if (kube_json_at(live, "metadata.deletionTimestamp") != NULL)
        return end_with(t, OUTCOME_STALE, live, "it is being deleted");
    return put_anew(t, live);
}

static enum task_move
moved(struct task *t, const struct kube_response *response)
{
    return task_go_on(t, response, judge_moved);
}

static enum task_move
put(struct task *t, const struct kube_response *response)
{
    if (task_accepted(response))
        return task_done(t, response);
    if (response->status != 409)
        return task_refused(t, response);
    if (++t->conflicts == TASK_CONFLICTS)
        return task_retry(t, response);
    if (task_send(t, "GET", &plain_rack, moved) == TASK_END)
        return TASK_END;
    t->request.delay = TASK_CONFLICT_DELAY;
    return TASK_SEND;
}

static enum task_move
send_rack(struct task *t)
{
    bool create = t->intent.target.uid.n == 0;

    if (task_send(t, create ? "POST" : "PUT", create ? &racks : &rack,
                  create ? posted : put) == TASK_END)
        return TASK_END;
    t->request.accept = TASK_METADATA_JSON "," TASK_JSON;
    render_rack(&t->request.body, &t->intent.rack);
    return TASK_SEND;
}

/* Puts the slots that stay as they are into the spec. */
static enum task_move
merge(struct task *t, const json_t *live)
{
    struct buf spec = {0};
    struct err err;
    int merged;

    if (!task_is_unmoved(t, live))
        return TASK_END;
    merged = render_kept(&spec, t->intent.rack.spec, live, &err);
    if (merged > 0)
        t->intent.rack.spec = arena_str(&t->arena, buf_str(&spec));
    buf_fini(&spec);
    return merged < 0 ? task_end(t, OUTCOME_INVALID, STR(""), err.text)
                      : send_rack(t);
}

static enum task_move
was_read(struct task *t, const struct kube_response *response)
{
    return task_go_on(t, response, merge);
}

enum task_move
task_rack_write(struct task *t)
{
    if (t->intent.target.uid.n > 0 && render_keeps(t->intent.rack.spec))
        return task_send(t, "GET", &plain_rack, was_read);
    return send_rack(t);
}

static enum task_move
seen(struct task *t, const struct kube_response *response)
{
    t->facts.unchanged = true;
    return task_accepted(response) ? task_done(t, response)
                                   : task_refused(t, response);
}

enum task_move
task_rack_look(struct task *t)
{
    if (task_send(t, "GET", &plain_rack, seen) == TASK_END)
        return TASK_END;
    t->request.accept = TASK_METADATA_JSON "," TASK_JSON;
    return TASK_SEND;
}
