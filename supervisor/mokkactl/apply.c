/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/apply.h"

#include <stdlib.h>

#include "common/kube/json.h"
#include "common/mem.h"
#include "proto/frame.h"
#include "supervisor/mokkactl/apply_kind.h"

static const struct {
    uint16_t type;
    void (*apply)(struct work *w);
} kinds[] = {
    {MSG_RACK_WRITE, apply_rack_write}, {MSG_RACK_DELETE, apply_rack_delete},
    {MSG_NODE_APPLY, apply_node},       {MSG_FINALIZER, apply_edit},
    {MSG_STATUS_WRITE, apply_edit},
};

struct result
apply(struct cluster *c, const struct order *order, struct arena *arena)
{
    struct work w = {.c = c, .arena = arena, .type = order->type};

    order_read(&w.intent, order, arena);
    w.result = (struct result){
        .action = order->action,
        .name = w.intent.target.name,
        .uid = w.intent.target.uid,
        .version = STR(""),
        .reason = STR(""),
    };
    for (size_t i = 0; i < nitems(kinds); i++)
        if (kinds[i].type == order->type)
            kinds[i].apply(&w);
    return w.result;
}

void
apply_end(struct work *w, enum outcome outcome, const char *reason)
{
    w->result.outcome = outcome;
    w->result.reason = arena_str(w->arena, str_of(reason));
}

struct stored *
apply_target(struct work *w, unsigned shelf)
{
    struct str name = arena_str(w->arena, w->intent.target.name);
    struct stored *o = cluster_get(w->c, shelf, name.s);

    if (o != NULL && str_is(w->intent.target.uid, o->uid))
        return o;
    apply_end(w, OUTCOME_GONE, "no object of that name and uid any more");
    return NULL;
}

static void
done(struct work *w, const struct stored *o, const json_t *metadata)
{
    w->result.uid = arena_str(w->arena, str_of(o->uid));
    w->result.version = arena_str(
        w->arena, str_of(kube_json_text(metadata, "resourceVersion")));
    apply_end(w, OUTCOME_DONE, "");
}

bool
apply_commit(struct work *w, struct stored *o, json_t *metadata, json_t *spec)
{
    struct err err;

    if (cluster_commit(w->c, o, metadata, spec, &err) != 0) {
        apply_end(w, OUTCOME_INVALID, err.text);
        return false;
    }
    done(w, o, metadata);
    return true;
}

void
apply_unchanged(struct work *w, const struct stored *o)
{
    json_t *metadata = stored_tree(o, PART_METADATA);

    done(w, o, metadata);
    json_decref(metadata);
}
