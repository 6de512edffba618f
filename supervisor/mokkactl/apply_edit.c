/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "projector/render.h"
#include "proto/frame.h"
#include "supervisor/mokkactl/apply_kind.h"
#include "supervisor/mokkactl/defaults.h"

/* The time that a status bears which changes now. */
static int64_t
plan_time(void)
{
    int64_t ns = 0;

    clock_parse(STR(DEFAULT_TIME), &ns, NULL);
    return ns;
}

static bool
is_status(const struct work *w)
{
    return w->type == MSG_STATUS_WRITE;
}

static unsigned
shelf_of(const struct work *w)
{
    return is_status(w) && w->intent.status.action == ACTION_RACK_STATUS
               ? KIND_RACK
               : KIND_INVENTORY;
}

/* Returns as the render functions do. */
static int
render(const struct work *w, struct buf *out, const json_t *live,
       struct err *err)
{
    if (is_status(w))
        return render_status(out, live, &w->intent.status.status, plan_time(),
                             err);
    return render_finalizer(out, live, &w->intent.finalizer, err);
}

/* A finalizer cannot be added any more once deletion began. */
static bool
comes_too_late(const struct work *w, const json_t *live)
{
    return !is_status(w) && w->intent.finalizer.present &&
           kube_json_at(live, "metadata.deletionTimestamp") != NULL;
}

/* Stores the one part that the rendered object brings. */
static void
store(struct work *w, struct stored *o, const json_t *live, struct str text)
{
    json_t *changed = kube_json_parse(text, NULL);
    json_t *metadata = json_object_get(live, "metadata");

    if (changed == NULL)
        fatal("a rendered object is no JSON");
    if (is_status(w)) {
        stored_set_tree(o, PART_STATUS, json_object_get(changed, "status"));
    } else {
        json_t *list = kube_json_at(changed, "metadata.finalizers");

        if (json_array_size(list) > 0)
            json_object_set(metadata, "finalizers", list);
        else
            json_object_del(metadata, "finalizers");
    }
    apply_commit(w, o, metadata, NULL);
    json_decref(changed);
}

static void
edit(struct work *w, struct stored *o, const json_t *live)
{
    struct buf out = {0};
    struct err err;
    int differs;

    if (comes_too_late(w, live)) {
        apply_end(w, OUTCOME_STALE, "it is being deleted");
        return;
    }
    differs = render(w, &out, live, &err);
    if (differs < 0)
        apply_end(w, OUTCOME_INVALID, err.text);
    else if (differs == 0)
        apply_unchanged(w, o);
    else
        store(w, o, live, buf_str(&out));
    buf_fini(&out);
}

void
apply_edit(struct work *w)
{
    struct stored *o = apply_target(w, shelf_of(w));
    json_t *live;

    if (o == NULL)
        return;
    live = stored_object(o, true);
    edit(w, o, live);
    json_decref(live);
}
