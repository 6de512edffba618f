/* SPDX-License-Identifier: Apache-2.0 */
/* What is put on Nodes and taken off them (mokka-control 4). */
#include <stdlib.h>

#include "common/api.h"
#include "common/log.h"
#include "common/mem.h"
#include "placer/decide.h"
#include "placer/decide_work.h"
#include "placer/pending.h"
#include "proto/frame.h"

/* ---- what people are told ---------------------------------------------- */

/* What people were told of a Node. */
struct told {
    char *node, *text;
};

static void
told_free(struct told *t)
{
    if (t == NULL)
        return;
    free(t->node);
    free(t->text);
    free(t);
}

void
decide_forget(struct placer *p, const char *node)
{
    told_free(map_remove(&p->told, node));
}

void
decide_fini(struct placer *p)
{
    struct told *t;
    size_t pos = 0;

    while ((t = map_next(&p->told, &pos)) != NULL)
        told_free(t);
    map_fini(&p->told);
}

/* Remembers what is told of a Node, taking text over; false: that was told
 * last. */
static bool
is_told_anew(struct placer *p, const char *node, char *text)
{
    const struct told *old = map_get(&p->told, node);
    struct told *t;

    if (old != NULL && strcmp(old->text, text) == 0) {
        free(text);
        return false;
    }
    decide_forget(p, node);
    t = mem_zalloc(sizeof(*t));
    t->node = mem_strdup(node);
    t->text = text;
    map_put(&p->told, t->node, t);
    return true;
}

/* Each key that is in the way, and whose it is; once for each change of it. */
static void
tell_conflict(struct placer *p, const struct world_node *n,
              const struct object_rack *rack, const char *what, int keys)
{
    struct buf names = {0};
    struct buf owners = {0};
    char *fields, *managers;

    projected_keys_names(&names, keys);
    projected_keys_rivals(&owners, keys, n->o.rivals);
    fields = buf_take(&names);
    managers = buf_take(&owners);
    if (is_told_anew(p, n->o.meta.name.s,
                     mem_printf("%s %s %s %s %s", n->o.meta.uid.s,
                                rack->meta.uid.s, what, fields, managers)))
        log_warn(what, F_STR("node", n->o.meta.name.s),
                 F_STR("rack", rack->meta.name.s), F_STR("fields", fields),
                 F_STR("managers", managers));
    free(fields);
    free(managers);
}

/* May something that was asked of a Node still change it, or has, unseen? */
static bool
is_stirring(const struct placer *p, const struct world_node *n)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, n->o.meta.name);

    return w.state == WISH_OPEN || w.state == WISH_LOST ||
           version_cmp(n->o.meta.version, str_of(w.version)) < 0;
}

/* The same, and somebody will tell what came of it, or the feed. */
static bool
is_on_its_way(const struct placer *p, const struct world_node *n)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, n->o.meta.name);

    return is_stirring(p, n) && w.state != WISH_LOST;
}

/* While the same is under way a newer version of the Node is no news: it may be
 * the echo of it. */
static void
want_node(struct placer *p, const struct intent_node *i)
{
    struct intent_node plain = *i;
    struct buf body = {0};
    struct buf essence = {0};

    if (plain.target.version.n > 0)
        plain.target.version = STR("any");
    intent_node_pack(&body, i);
    intent_node_pack(&essence, &plain);
    if (!wish_want_essence(&p->wishes, ACTION_NODE, i->target.name,
                           i->target.version, MSG_NODE_APPLY, buf_str(&body),
                           buf_str(&essence)))
        placer_starve(p, ACTION_NODE);
    buf_fini(&body);
    buf_fini(&essence);
}

static void
want_apply(struct placer *p, const struct world_node *n,
           const struct projection *wanted)
{
    want_node(p, &(struct intent_node){
                     .target = decide_target(&n->o.meta),
                     .clique = str_of(wanted->clique),
                     .annotation = wanted->annotation,
                 });
}

/* A release of what the annotation given names. n is the Node, or NULL if the
 * feed does not show it: the projector looks at it then. */
struct releasing {
    struct object_ref node;
    const struct world_node *n;
    const char *clique;
    struct str annotation;
    bool keep, stray;
};

static void
want_release(struct placer *p, const struct releasing *r)
{
    struct arena arena = {0};
    struct intent_node i = {
        .target = {r->node.name, r->node.uid, STR("")},
        .clique = str_of(r->clique),
        .annotation = r->annotation,
        .release = true,
        .keep = r->keep,
        .stray = r->stray,
    };

    if (r->n != NULL)
        i.target.version = r->n->o.meta.version;
    if (r->keep || r->stray) /* it is what the Node says */
        i.annotation = object_node_annotation(&r->n->o, &arena);
    want_node(p, &i);
    arena_fini(&arena);
}

static bool
binds(const struct object_rack *rack, struct str uid)
{
    for (size_t i = 0; i < rack->slot_count; i++)
        if (str_eq(rack->slots[i].node.uid, uid))
            return true;
    return false;
}

/* Its annotation is ours alone and names a rack that the feed does not show, or
 * one that does not bind it, for somebody took it off: a left-over, unless the
 * projector finds a rack that does (4.1 step 6, 7). */
static bool
is_stray(const struct placer *p, const struct world_node *n)
{
    const struct world_rack *r;
    struct arena arena = {0};
    struct object_ref rack;
    bool stray = false;

    if (project_named_rack(&n->o, &arena, &rack)) {
        r = world_rack(&p->world, rack.name.s);
        stray = r == NULL || !str_eq(r->o.meta.uid, rack.uid) ||
                (!binds(&r->o, n->o.meta.uid) &&
                 pending_of(p, rack.name.s) == NULL);
    }
    arena_fini(&arena);
    return stray;
}

/* Has it cleaned; false if that was refused, for the rack is there. */
static bool
release_stray(struct placer *p, const struct world_node *n, const char *clique)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, n->o.meta.name);

    if (w.state == WISH_REFUSED &&
        version_cmp(n->o.meta.version, str_of(w.basis)) <= 0)
        return false;
    want_release(p, &(struct releasing){
                        .node = world_ref(KIND_NODE, n),
                        .n = n,
                        .clique = clique,
                        .stray = true,
                    });
    return true;
}

/* Something is in the way of a projection. */
static void
decide_conflict(struct placer *p, const struct object_rack *rack,
                const struct world_node *n, const struct projection *wanted,
                int keys)
{
    bool stray = keys == KEY_ANNOTATION && is_stray(p, n);

    /* What is on its way cannot be called back: its end is awaited. */
    if (is_on_its_way(p, n) || (stray && release_stray(p, n, wanted->clique)))
        return;
    tell_conflict(p, n, rack, "metadata conflict blocks projection", keys);
    if (!stray)
        wish_drop(&p->wishes, ACTION_NODE, n->o.meta.name);
}

/* A durable binding that stays: its projection stands, or is applied. */
void
decide_projection(struct placer *p, const struct object_rack *rack,
                  const struct object_slot *slot, struct projecting *x)
{
    const struct world_node *n = world_node_exact(&p->world, &slot->node);
    const struct projection *wanted;
    int keys;

    if (n == NULL)
        return;
    wanted = projecting_slot(x, slot);
    switch (project_compare(&n->o, wanted, &keys)) {
    case PROJECT_STANDS:
        decide_forget(p, n->o.meta.name.s);
        wish_drop(&p->wishes, ACTION_NODE, n->o.meta.name);
        break;
    case PROJECT_CONFLICT:
        decide_conflict(p, rack, n, wanted, keys);
        break;
    case PROJECT_MISSING:
        decide_forget(p, n->o.meta.name.s);
        want_apply(p, n, wanted);
        break;
    }
}

/* A Node that the feed does not show is clean when the projector has said so.
 * Instances of one name take turns. */
static bool
clean_unseen(struct placer *p, const struct object_slot *slot,
             const struct projection *binding)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, slot->node.name);

    if (map_get(&p->cleaned, slot->node.uid.s) != NULL)
        return true;
    if (w.state != WISH_OPEN || w.basis[0] != '\0')
        want_release(p, &(struct releasing){
                            .node = slot->node,
                            .clique = binding->clique,
                            .annotation = binding->annotation,
                        });
    return false;
}

/* Labels that others kept when the binding was released are waited for. */
static bool
is_kept(const struct placer *p, const struct world_node *n,
        const struct projection *binding)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, n->o.meta.name);

    return w.state == WISH_REFUSED && w.outcome == OUTCOME_KEPT &&
           project_labels(&n->o, binding) != 0;
}

/* What an earlier leader put on a Node, or a placer and a projector that died,
 * may be on it before the feed shows it.  Is the record newer than that?  An
 * answer to what was asked of the Node tells, once the feed has reached it;
 * from then on all that changes it is ours, and known. */
static bool
is_known(const struct placer *p, const struct world_node *n)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, n->o.meta.name);

    return map_get(&p->known, n->o.meta.uid.s) != NULL ||
           (w.version[0] != '\0' && !is_stirring(p, n));
}

/* Is the projector asked to look at a Node?  That changes nothing that is not
 * to be changed. */
static bool
is_looked_at(const struct placer *p, const struct world_node *n)
{
    struct wish w = wish_look(&p->wishes, ACTION_NODE, n->o.meta.name);

    return (w.state == WISH_OPEN || w.state == WISH_LOST) && w.type != 0 &&
           w.basis[0] == '\0';
}

/* Nothing of the binding is on a Node as the feed shows it. */
static bool
looks_clean(const struct placer *p, const struct world_node *n,
            enum cleanup cleanup, const struct projection *binding)
{
    return cleanup == CLEANUP_NONE && !is_kept(p, n, binding) &&
           (!is_stirring(p, n) || is_looked_at(p, n));
}

/* The same, and nothing will be. */
static bool
is_clean_seen(const struct placer *p, const struct world_node *n,
              enum cleanup cleanup, const struct projection *binding)
{
    return looks_clean(p, n, cleanup, binding) && !is_stirring(p, n) &&
           is_known(p, n);
}

/* True if so; else it is seen to. */
static bool
clean_seen(struct placer *p, const struct object_rack *rack,
           const struct world_node *n, const struct projection *binding)
{
    enum cleanup cleanup = project_cleanup(&n->o, rack, binding);
    struct releasing r = {
        .node = world_ref(KIND_NODE, n),
        .n = n,
        .clique = binding->clique,
        .annotation = binding->annotation,
        /* Once the labels went our annotation stays. */
        .keep =
            cleanup == CLEANUP_LABELS ||
            (cleanup == CLEANUP_BLOCKED && (n->o.ours & KEY_ANNOTATION) != 0),
    };
    int keys;

    if (is_clean_seen(p, n, cleanup, binding)) {
        placer_know(p, n->o.meta.uid);
        wish_drop(&p->wishes, ACTION_NODE, n->o.meta.name);
        return true;
    }
    if (looks_clean(p, n, cleanup, binding))
        r.n = NULL; /* the projector looks */
    if (r.n == NULL || is_stirring(p, n) || cleanup == CLEANUP_ALL ||
        cleanup == CLEANUP_LABELS)
        want_release(p, &r);
    else if (cleanup == CLEANUP_BLOCKED &&
             project_compare(&n->o, binding, &keys) != PROJECT_STANDS)
        tell_conflict(p, n, rack, "metadata conflict blocks cleanup", keys);
    return false;
}

/* Another instance has the name; unless that one is bound, a wish is about the
 * one before. */
static void
drop_replaced(struct placer *p, const struct world_node *n)
{
    const struct alloc_node *a = alloc_node(&p->alloc, n->o.meta.uid.s);

    if (a == NULL || a->bindings == NULL)
        wish_drop(&p->wishes, ACTION_NODE, n->o.meta.name);
}

/* A binding is named without its profile, which may change meanwhile. */
static struct projection
binding_of(const struct placer *p, const struct object_rack *rack,
           const struct object_slot *slot, struct arena *arena)
{
    struct object_rack bare = *rack;

    bare.profile = (struct object_ref){STR(""), STR("")};
    bare.revision = STR("");
    return placer_projection(p, &bare, slot, arena);
}

/* A binding that is given up: true once nothing of it is on its Node, nor will
 * be. */
bool
decide_is_clean(const struct placer *p, const struct object_rack *rack,
                const struct object_slot *slot)
{
    const struct world_node *n = world_node_exact(&p->world, &slot->node);
    struct arena arena = {0};
    struct projection binding;
    bool is;

    if (world_node(&p->world, slot->node.name.s) == NULL)
        return map_get(&p->cleaned, slot->node.uid.s) != NULL;
    if (n == NULL)
        return true; /* another instance has the name: ours is gone */
    binding = binding_of(p, rack, slot, &arena);
    is = is_clean_seen(p, n, project_cleanup(&n->o, rack, &binding), &binding);
    arena_fini(&arena);
    return is;
}

int
decide_in_the_way(const struct placer *p, const struct object_rack *rack,
                  const struct object_slot *slot)
{
    const struct world_node *n = world_node_exact(&p->world, &slot->node);
    struct arena arena = {0};
    struct projection binding;
    int keys = 0;

    if (n == NULL)
        return 0;
    binding = binding_of(p, rack, slot, &arena);
    if (is_kept(p, n, &binding))
        keys = project_labels(&n->o, &binding);
    else if (project_cleanup(&n->o, rack, &binding) == CLEANUP_BLOCKED)
        project_compare(&n->o, &binding, &keys);
    arena_fini(&arena);
    return keys;
}

/* As decide_is_clean, and sees to it that it becomes so. */
bool
decide_clean(struct placer *p, const struct object_rack *rack,
             const struct object_slot *slot)
{
    const struct world_node *named = world_node(&p->world, slot->node.name.s);
    const struct world_node *n = world_node_exact(&p->world, &slot->node);
    struct arena arena = {0};
    struct projection binding;
    bool is;

    if (named != NULL && n == NULL) {
        drop_replaced(p, named);
        return true; /* another instance has the name: ours is gone */
    }
    binding = binding_of(p, rack, slot, &arena);
    is = n == NULL ? clean_unseen(p, slot, &binding)
                   : clean_seen(p, rack, n, &binding);
    arena_fini(&arena);
    return is;
}

/* Its projection is not looked at. */
void
decide_leave_slot(struct placer *p, const struct object_slot *slot)
{
    const struct world_node *named = world_node(&p->world, slot->node.name.s);
    const struct world_node *n = world_node_exact(&p->world, &slot->node);

    if (n != NULL) {
        /* It may be bound elsewhere, too, and given up there. */
        if (is_known(p, n))
            placer_know(p, n->o.meta.uid);
        decide_drop_settled(p, ACTION_NODE, &n->o.meta);
    } else if (named != NULL) {
        drop_replaced(p, named);
    }
}

/* Nodes whose rack is gone, finalizer or not. One that is bound anew is its
 * rack's to clean.  Which clique it had nobody can say any more. */
void
decide_strays(struct placer *p)
{
    struct map strays = p->strays;
    size_t pos = 0;
    char *name;

    p->strays = (struct map){0};
    while ((name = map_next(&strays, &pos)) != NULL) {
        const struct world_node *n = world_node(&p->world, name);

        if (n != NULL && alloc_named(&p->alloc, name) == NULL) {
            if (!is_stray(p, n))
                wish_drop(&p->wishes, ACTION_NODE, str_of(name));
            else if (is_on_its_way(p, n) ||
                     release_stray(p, n, p->no_clique ? "" : "unknown"))
                placer_stray(p, name);
        }
        free(name);
    }
    map_fini(&strays);
}
