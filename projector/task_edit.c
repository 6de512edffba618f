/* SPDX-License-Identifier: Apache-2.0 */
#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/status.h"
#include "projector/render.h"
#include "projector/task_kind.h"
#include "proto/frame.h"

/*
 * Read, change, write: of finalizers and of statuses.  What is written is the
 * live object with the change, so that nothing of others is lost; who was there
 * in between makes us read again, a few times before the object rests.
 */

static const struct task_place inventory = {.group = API_GROUP,
                                            .resource = API_INVENTORIES};
static const struct task_place inventory_status = {
    .group = API_GROUP, .resource = API_INVENTORIES "/status"};
static const struct task_place rack = {.group = API_GROUP,
                                       .resource = API_RACKS};
static const struct task_place rack_status = {.group = API_GROUP,
                                              .resource = API_RACKS "/status"};

/* A status is written without the spec, which the API server takes from the
 * object that it has. */
static const char *const unread_of_status[] = {"metadata.managedFields", "spec",
                                               NULL};

static bool
is_status(const struct task *t)
{
    return t->facts.type == MSG_STATUS_WRITE;
}

static bool
is_rack(const struct task *t)
{
    return is_status(t) && t->intent.status.action == ACTION_RACK_STATUS;
}

static const struct task_place *
read_place(const struct task *t)
{
    return is_rack(t) ? &rack : &inventory;
}

static const struct task_place *
write_place(const struct task *t)
{
    if (!is_status(t))
        return &inventory;
    return is_rack(t) ? &rack_status : &inventory_status;
}

static int
render_part(const struct task *t, struct buf *out, const json_t *live,
            struct err *err)
{
    json_t *part = json_copy((json_t *)live);
    int differs;

    json_object_del(part, "spec");
    differs = render_status(out, part, &t->intent.status.status, t->wall, err);
    json_decref(part);
    return differs;
}

static int
render(const struct task *t, struct buf *out, const json_t *live,
       struct err *err)
{
    if (is_status(t))
        return render_part(t, out, live, err);
    return render_finalizer(out, live, &t->intent.finalizer, err);
}

static enum task_move read_live(struct task *t);

static enum task_move
written(struct task *t, const struct kube_response *response)
{
    if (task_accepted(response))
        return task_done(t, response);
    if (response->status != 409)
        return task_refused(t, response);
    if (++t->conflicts < TASK_CONFLICTS) {
        enum task_move move = read_live(t);

        t->request.delay = TASK_CONFLICT_DELAY;
        return move;
    }
    return task_retry(t, response);
}

static enum task_move
write_changed(struct task *t, const json_t *live)
{
    struct str version =
        str_of(kube_json_text(live, "metadata.resourceVersion"));
    struct buf body = {0};
    struct err err;
    int differs = render(t, &body, live, &err);
    enum task_move move = TASK_END;

    if (differs < 0) {
        task_fail(t, err.text);
    } else if (differs == 0) {
        task_end(t, OUTCOME_DONE, version, "");
        t->facts.unchanged = true;
    } else {
        move = task_send(t, "PUT", write_place(t), written);
        t->request.accept = TASK_METADATA_JSON "," TASK_JSON;
        t->request.body = body;
        body = (struct buf){0};
    }
    buf_fini(&body);
    return move;
}

/* A finalizer cannot be added any more once deletion began. */
static bool
comes_too_late(const struct task *t, const json_t *live)
{
    return !is_status(t) && t->intent.finalizer.present &&
           kube_json_at(live, "metadata.deletionTimestamp") != NULL;
}

static enum task_move
change(struct task *t, const json_t *live)
{
    if (!task_is_target(t, live))
        return TASK_END;
    if (comes_too_late(t, live))
        return task_end(
            t, OUTCOME_STALE,
            str_of(kube_json_text(live, "metadata.resourceVersion")),
            "it is being deleted");
    return write_changed(t, live);
}

static enum task_move
was_read(struct task *t, const struct kube_response *response)
{
    return task_go_on(t, response, change);
}

static enum task_move
read_live(struct task *t)
{
    return task_send(t, "GET", read_place(t), was_read);
}

/* An inventory's finalizer goes when no rack of it is left (task_drain.c). */
enum task_move
task_edit(struct task *t)
{
    if (is_status(t))
        t->unread = unread_of_status;
    return read_live(t);
}
