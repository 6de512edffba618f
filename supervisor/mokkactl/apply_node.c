/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "projector/ownership.h"
#include "supervisor/mokkactl/apply_kind.h"
#include "supervisor/mokkactl/managed.h"
#include "supervisor/mokkactl/node_wire.h"

/* A Node's metadata, and the three keys in it as the projector reads them. */
struct view {
    json_t *metadata;
    struct buf wire;
    struct kube_meta meta;
    struct ownership o;
};

static void
view_fini(struct view *v)
{
    ownership_fini(&v->o);
    buf_fini(&v->wire);
}

/* metadata is borrowed. */
static int
view_init(struct view *v, const struct stored *o, json_t *metadata,
          struct err *err)
{
    *v = (struct view){.metadata = metadata};
    if (node_wire(&v->wire, &v->meta, metadata, o->ours, err) == 0 &&
        ownership_read(&v->o, &v->meta, err) == 0)
        return 0;
    buf_fini(&v->wire);
    return -1;
}

/* The keys that the intent wants, and those that say what it wants. */
static int
wanted_keys(const struct intent_node *i)
{
    return i->clique.n > 0 ? KEY_ALL : KEY_ALL & ~KEY_CLIQUE;
}

static int
right_keys(const struct view *v, const struct intent_node *i)
{
    return (v->o.assigned ? KEY_ASSIGNED : 0) |
           (str_eq(v->o.clique, i->clique) ? KEY_CLIQUE : 0) |
           (str_eq(v->o.annotation, i->annotation) ? KEY_ANNOTATION : 0);
}

static void
conflict(struct work *w, const struct view *v, int keys, const char *what)
{
    struct buf text = {0};
    char *reason;

    ownership_names(&text, keys);
    buf_printf(&text, " %s%s%.*s", what, v->o.rivals.len > 0 ? " by " : "",
               (int)v->o.rivals.len, buf_str(&v->o.rivals).s);
    reason = buf_take(&text);
    apply_end(w, OUTCOME_CONFLICT, reason);
    free(reason);
}

/* What stands after the write: the projector looks at it, too. */
static void
judge(struct work *w, const struct stored *o, json_t *metadata)
{
    const struct intent_node *i = &w->intent.node;
    int wanted = wanted_keys(i);
    struct view v;
    struct err err;

    if (view_init(&v, o, metadata, &err) != 0) {
        apply_end(w, OUTCOME_INVALID, err.text);
        return;
    }
    if (i->release && v.o.present != 0)
        conflict(w, &v, v.o.present, "kept on the Node");
    else if (!i->release && (v.o.foreign & wanted) != 0)
        conflict(w, &v, v.o.foreign & wanted, "also owned");
    view_fini(&v);
}

static void
write(struct work *w, struct stored *o, json_t *metadata)
{
    if (apply_commit(w, o, metadata, NULL))
        judge(w, o, metadata);
}

static void
project(struct work *w, struct stored *o, const struct view *v)
{
    const struct intent_node *i = &w->intent.node;
    int wanted = wanted_keys(i);
    int wrong = wanted & ~right_keys(v, i);

    if ((wrong & v->o.foreign & v->o.present) != 0) {
        conflict(w, v, wrong & v->o.foreign & v->o.present, "owned");
        return;
    }
    if (wrong == 0 && (wanted & ~v->o.ours) == 0) {
        apply_unchanged(w, o);
        judge(w, o, v->metadata);
        return;
    }
    managed_claim(v->metadata, managed_set(v->metadata, i));
    write(w, o, v->metadata);
}

static void
release(struct work *w, struct stored *o, const struct view *v)
{
    if (v->o.ours == 0) {
        apply_unchanged(w, o);
        judge(w, o, v->metadata);
        return;
    }
    managed_clear(v->metadata, v->o.ours & ~v->o.foreign);
    managed_claim(v->metadata, 0);
    o->ours = 0;
    write(w, o, v->metadata);
}

static void
change(struct work *w, struct stored *o, json_t *metadata)
{
    struct view v;
    struct err err;

    if (view_init(&v, o, metadata, &err) != 0) {
        apply_end(w, OUTCOME_INVALID, err.text);
        return;
    }
    if (w->intent.node.release)
        release(w, o, &v);
    else
        project(w, o, &v);
    view_fini(&v);
}

/* A Node that nobody is known to own anything of: nothing can be in the way,
 * and nothing needs to be looked at afterwards. */
static void
project_freely(struct work *w, struct stored *o, json_t *metadata)
{
    o->ours = managed_set(metadata, &w->intent.node);
    apply_commit(w, o, metadata, NULL);
}

void
apply_node(struct work *w)
{
    struct stored *o = apply_target(w, KIND_NODE);
    json_t *metadata;

    if (o == NULL)
        return;
    metadata = stored_tree(o, PART_METADATA);
    if (o->managed || w->intent.node.release)
        change(w, o, metadata);
    else
        project_freely(w, o, metadata);
    json_decref(metadata);
}
