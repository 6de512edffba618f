/* SPDX-License-Identifier: Apache-2.0 */
#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/status.h"
#include "projector/render.h"
#include "projector/task_kind.h"

/*
 * A rack that is to go (mokka-control 5.6): one PUT clears its slots and takes
 * our finalizer off, then comes the DELETE.  The decision rests on the version
 * that its author saw, so a rack that has changed since is left alone.
 */
static const struct task_place rack = {
    .group = API_GROUP, .resource = API_RACKS, .managed = true};
static const struct task_place plain_rack = {.group = API_GROUP,
                                             .resource = API_RACKS};

/* A version after the given one: that of the deletion itself is not told, but
 * it came after the version that was deleted. */
static struct str
later(struct arena *arena, struct str version)
{
    struct buf text = {0};
    struct str copy;
    size_t i;

    buf_addc(&text, '0');
    buf_adds(&text, version);
    for (i = text.len - 1; i > 0 && text.data[i] == '9'; i--)
        text.data[i] = '0';
    text.data[i]++;
    copy = buf_str(&text);
    if (copy.s[0] == '0') {
        copy.s++;
        copy.n--;
    }
    copy = arena_str(arena, copy);
    buf_fini(&text);
    return copy;
}

/* Gone by now, whether by this DELETE or because our finalizer was the last
 * that held it. */
static enum task_move
end_gone(struct task *t)
{
    return task_end(t, OUTCOME_DONE, later(&t->arena, t->intent.target.version),
                    "");
}

static enum task_move
deleted(struct task *t, const struct kube_response *response)
{
    json_t *object = NULL;
    struct str version;
    struct err err;

    if (kube_not_found(response))
        return end_gone(t);
    if (!task_accepted(response))
        return task_refused(t, response);
    /* A Status if it is gone, the object if a finalizer keeps it. */
    object = task_object(t, response, &err);
    version = str_of(kube_json_text(object, "metadata.resourceVersion"));
    if (version.n == 0)
        end_gone(t);
    else
        task_end(t, OUTCOME_DONE, version, "");
    json_decref(object);
    return TASK_END;
}

static enum task_move
send_delete(struct task *t)
{
    if (task_send(t, "DELETE", &plain_rack, deleted) == TASK_END)
        return TASK_END;
    render_delete(&t->request.body, &t->intent.target);
    return TASK_SEND;
}

static enum task_move
stripped(struct task *t, const struct kube_response *response)
{
    const char *version;
    json_t *object;
    struct err err;

    if (kube_not_found(response))
        return end_gone(t);
    if (!task_accepted(response))
        return task_refused(t, response);
    object = task_object(t, response, &err);
    if (object == NULL)
        return task_fail(t, err.text);
    version = kube_json_text(object, "metadata.resourceVersion");
    t->intent.target.version = arena_str(&t->arena, str_of(version));
    json_decref(object);
    return send_delete(t);
}

static enum task_move
judge(struct task *t, const json_t *live)
{
    struct buf body = {0};
    enum task_move move;
    struct err err;
    int differs;

    if (!task_is_unmoved(t, live))
        return TASK_END;
    differs = render_retired(&body, live, &err);
    if (differs < 0)
        return task_fail(t, err.text);
    if (differs == 0)
        return send_delete(t);
    move = task_send(t, "PUT", &rack, stripped);
    t->request.accept = TASK_METADATA_JSON "," TASK_JSON;
    buf_fini(&t->request.body);
    t->request.body = body;
    return move;
}

static enum task_move
was_read(struct task *t, const struct kube_response *response)
{
    return task_go_on(t, response, judge);
}

enum task_move
task_retire(struct task *t)
{
    return task_send(t, "GET", &plain_rack, was_read);
}
