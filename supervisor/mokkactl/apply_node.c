/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "projector/node_view.h"
#include "supervisor/mokkactl/apply_kind.h"
#include "supervisor/mokkactl/managed.h"
#include "supervisor/mokkactl/node_wire.h"

/* A Node's metadata, and the three keys in it as the projector reads them. */
struct view {
    json_t *metadata;
    struct buf wire;
    struct node_view n;
};

static void
view_fini(struct view *v)
{
    node_view_fini(&v->n);
    buf_fini(&v->wire);
}

/* metadata is borrowed. */
static int
view_init(struct view *v, const struct work *w, const struct stored *o,
          json_t *metadata, struct err *err)
{
    *v = (struct view){.metadata = metadata};
    if (node_wire(&v->wire, &v->n.meta, metadata, o->ours, err) != 0) {
        buf_fini(&v->wire);
        return -1;
    }
    node_view_compare(&v->n, &w->intent.node);
    return 0;
}

static void
conflict(struct work *w, const struct view *v, enum outcome outcome, int keys,
         const char *what)
{
    struct buf owners = {0};
    struct buf text = {0};
    char *reason;

    owned_keys_rivals(&owners, &v->n.owned);
    buf_printf(&text, "%s: ", what);
    if ((v->n.owned.foreign & keys) != 0)
        projected_keys_rivals(&text, keys, buf_str(&owners));
    else
        projected_keys_names(&text, keys);
    reason = buf_take(&text);
    apply_end(w, outcome, reason);
    free(reason);
    buf_fini(&owners);
}

/* What stands after the write: the projector looks at it, too. */
static void
judge(struct work *w, const struct stored *o, json_t *metadata)
{
    const struct intent_node *i = &w->intent.node;
    int wanted = node_view_keys(i);
    struct view v;
    struct err err;
    int kept;

    if (view_init(&v, w, o, metadata, &err) != 0) {
        apply_end(w, OUTCOME_INVALID, err.text);
        return;
    }
    kept = node_view_kept(&v.n, i);
    if (i->release && kept != 0)
        conflict(w, &v, OUTCOME_KEPT, kept, "kept on the Node");
    else if (!i->release && (v.n.owned.foreign & wanted) != 0)
        conflict(w, &v, OUTCOME_CONFLICT, v.n.owned.foreign & wanted,
                 "also owned");
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
    int wanted = node_view_keys(i);
    int wrong = wanted & ~v->n.right;
    int owned = wrong & v->n.owned.foreign & v->n.present;

    if (owned != 0) {
        conflict(w, v, OUTCOME_CONFLICT, owned, "owned");
        return;
    }
    if (wrong == 0 && (wanted & ~v->n.owned.ours) == 0) {
        apply_unchanged(w, o);
        judge(w, o, v->metadata);
        return;
    }
    managed_claim(v->metadata, managed_set(v->metadata, i));
    write(w, o, v->metadata);
}

/* Which keys a release takes; none: there is nothing to do or to be done. */
static int
released_keys(const struct work *w, const struct view *v)
{
    const struct intent_node *i = &w->intent.node;
    bool keep = i->keep;

    if (i->target.version.n == 0) { /* decided by a look at the Node */
        enum cleanup cleanup = node_view_cleanup(&v->n, i);

        if (cleanup == CLEANUP_NONE || cleanup == CLEANUP_BLOCKED)
            return 0;
        keep = cleanup == CLEANUP_LABELS;
    }
    return v->n.owned.ours & (keep ? ~KEY_ANNOTATION : KEY_ALL);
}

/* It was only to be looked at, and nothing of the binding is there; what others
 * have there is theirs. */
static bool
is_found_clean(const struct work *w, const struct view *v)
{
    const struct intent_node *i = &w->intent.node;

    return i->target.version.n == 0 &&
           node_view_cleanup(&v->n, i) == CLEANUP_NONE;
}

static void
release(struct work *w, struct stored *o, const struct view *v)
{
    int keys = released_keys(w, v);

    if (is_found_clean(w, v)) {
        apply_unchanged(w, o);
        return;
    }
    if (keys == 0) {
        apply_unchanged(w, o);
        judge(w, o, v->metadata);
        return;
    }
    managed_clear(v->metadata, keys & ~v->n.owned.foreign);
    managed_claim(v->metadata, v->n.owned.ours & ~keys);
    o->ours = v->n.owned.ours & ~keys;
    write(w, o, v->metadata);
}

static void
change(struct work *w, struct stored *o, json_t *metadata)
{
    struct view v;
    struct err err;

    if (view_init(&v, w, o, metadata, &err) != 0) {
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
