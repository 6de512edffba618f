/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/decide.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/log.h"
#include "common/mem.h"
#include "placer/pending.h"
#include "placer/project.h"
#include "placer/status.h"
#include "proto/frame.h"

/* Says a wish; remembers if it had to be held back. */
static bool
want(struct placer *p, enum action action, const struct target *target,
     uint16_t type, struct buf *body)
{
    bool said = wish_want(&p->wishes, action, target->name, target->version,
                          type, buf_str(body));

    if (!said)
        p->starved = true;
    buf_fini(body);
    return said;
}

/* Nothing is decided of that object now: what was carried out and stands, or
 * was refused of an older version, is no wish any more. */
static void
drop_settled(struct placer *p, enum action action, const struct object_meta *m)
{
    struct wish w = wish_look(&p->wishes, action, m->name);

    if (w.state == WISH_DONE ? version_cmp(m->version, str_of(w.version)) >= 0
                             : w.state == WISH_REFUSED &&
                                   version_cmp(m->version, str_of(w.basis)) > 0)
        wish_drop(&p->wishes, action, m->name);
}

static struct target
target_of(const struct object_meta *m)
{
    return (struct target){m->name, m->uid, m->version};
}

/* ---- inventories ------------------------------------------------------- */

static void
want_finalizer(struct placer *p, const struct world_inventory *v, bool present)
{
    struct intent_finalizer i = {
        .target = target_of(&v->o.meta),
        .finalizer = STR(FINALIZER_INVENTORY),
        .present = present,
    };
    struct buf body = {0};

    intent_finalizer_pack(&body, &i);
    want(p, ACTION_INVENTORY_FINALIZER, &i.target, MSG_FINALIZER, &body);
}

/* Is there a rack of it, or may there be one? */
static bool
has_racks(const struct placer *p, const struct plan_inventory *v)
{
    const struct object_ref own = plan_ref(v);
    const struct pending *a;
    size_t pos = 0;

    if (v->racks > 0)
        return true;
    while ((a = map_next(&p->pending, &pos)) != NULL)
        if (str_eq(a->inventory.name, own.name) &&
            str_eq(a->inventory.uid, own.uid))
            return true;
    return false;
}

/* The finalizer comes before the first rack and goes after the last one. */
static void
decide_inventory(struct placer *p, const struct plan_inventory *v)
{
    bool deleting = v->world->o.meta.deleting;
    bool has = world_has_finalizer(v->world);

    if (!deleting && !has && v->accepted &&
        v->verdict.decision == ADMIT_ACCEPTED)
        want_finalizer(p, v->world, true);
    else if (deleting && has && !has_racks(p, v))
        want_finalizer(p, v->world, false);
    else
        wish_drop(&p->wishes, ACTION_INVENTORY_FINALIZER,
                  v->world->o.meta.name);
}

/* ---- Nodes ------------------------------------------------------------- */

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
        p->starved = true;
    buf_fini(&body);
    buf_fini(&essence);
}

static void
want_apply(struct placer *p, const struct world_node *n,
           const struct projection *wanted)
{
    want_node(p, &(struct intent_node){
                     .target = target_of(&n->o.meta),
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
    if (r->keep) /* it stays as it is */
        i.annotation = r->n->o.annotation;
    want_node(p, &i);
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
                        .node = {n->o.meta.name, n->o.meta.uid},
                        .n = n,
                        .clique = clique,
                        .annotation = n->o.annotation,
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
static void
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

/* Nothing of the binding is on a Node that the feed shows, nor will be. */
static bool
is_clean_seen(const struct placer *p, const struct world_node *n,
              enum cleanup cleanup, const struct projection *binding)
{
    return cleanup == CLEANUP_NONE && !is_stirring(p, n) &&
           !is_kept(p, n, binding);
}

/* True if so; else it is seen to. */
static bool
clean_seen(struct placer *p, const struct object_rack *rack,
           const struct world_node *n, const struct projection *binding)
{
    enum cleanup cleanup = project_cleanup(&n->o, rack, binding);
    bool is = is_clean_seen(p, n, cleanup, binding);
    int keys;

    if (is)
        wish_drop(&p->wishes, ACTION_NODE, n->o.meta.name);
    else if (is_stirring(p, n) || cleanup == CLEANUP_ALL ||
             cleanup == CLEANUP_LABELS)
        want_release(p, &(struct releasing){
                            .node = {n->o.meta.name, n->o.meta.uid},
                            .n = n,
                            .clique = binding->clique,
                            .annotation = binding->annotation,
                            /* Once the labels went our annotation stays. */
                            .keep = cleanup == CLEANUP_LABELS ||
                                    (cleanup == CLEANUP_BLOCKED &&
                                     (n->o.ours & KEY_ANNOTATION) != 0),
                        });
    else if (cleanup == CLEANUP_BLOCKED &&
             project_compare(&n->o, binding, &keys) != PROJECT_STANDS)
        tell_conflict(p, n, rack, "metadata conflict blocks cleanup", keys);
    return is;
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
static bool
is_clean(const struct placer *p, const struct object_rack *rack,
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

/* The same; and sees to it that it becomes so. */
static bool
clean(struct placer *p, const struct object_rack *rack,
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

/* ---- racks ------------------------------------------------------------- */

static bool
is_busy(const struct placer *p, struct str rack)
{
    return pending_look(p, rack.s) != PENDING_NONE;
}

/* The bindings that a write takes off a rack. */
static void
tell_releases(const struct placer *p, const struct world_rack *have,
              const struct object_ref *nodes, int64_t room)
{
    const char *name = have->o.meta.name.s;
    const struct alloc_rack *bound = alloc_rack(&p->alloc, name);

    for (size_t i = 0; bound != NULL && i < bound->count; i++) {
        const struct place_binding *b = &bound->bindings[i].in;
        const struct object_slot *slot = rack_slot(&have->o, b->slot);

        if (!bound->bindings[i].released || slot == NULL ||
            !str_eq(slot->node.uid, b->node.uid) ||
            (b->slot >= 0 && b->slot < room && nodes[b->slot].name.n > 0))
            continue;
        log_info("node released", F_STR("rack", name),
                 F_INT("nodeIndex", b->slot), F_STR("node", b->node.name.s),
                 F_STR("nodeUID", b->node.uid.s),
                 F_STR("reason", release_name(bound->bindings[i].reason)));
    }
}

static void
tell_bindings(const struct rack_input *in, const char *name,
              const struct world_rack *have, const struct object_ref *nodes)
{
    for (int64_t i = 0; i < in->profile->nodes_per_rack; i++) {
        const struct object_slot *slot =
            have == NULL ? NULL : rack_slot(&have->o, i);

        if (nodes[i].name.n == 0 ||
            (slot != NULL && str_eq(slot->node.uid, nodes[i].uid)))
            continue;
        log_info("node assigned", F_STR("rack", name),
                 F_STR("inventory", in->inventory.name.s),
                 F_STR("rackGroup", in->group.s), F_INT("rackIndex", in->index),
                 F_INT("nodeIndex", i), F_STR("node", nodes[i].name.s),
                 F_STR("nodeUID", nodes[i].uid.s));
    }
}

/* The slots of one rack as they are to be written: bindings that stay, those
 * that are new, and those that are given up but not clean yet.  Of the latter,
 * those that the rendering has no more are kept as they stand (7.5). */
struct slots {
    struct object_ref *nodes; /* by slot, kept ones included */
    int64_t room;             /* for so many of them */
    int64_t *kept;            /* rising */
    size_t kept_count;
    struct projecting projecting; /* of the rack that stands */
};

static void
slots_init(const struct placer *p, struct slots *s,
           const struct plan_rack *rack, const struct world_rack *have)
{
    size_t count = have == NULL ? 0 : have->o.slot_count;

    *s = (struct slots){.room = rack->group->profile->nodes_per_rack};
    for (size_t i = 0; i < count; i++)
        if (have->o.slots[i].index >= s->room &&
            have->o.slots[i].index < MAX_NODES_PER_RACK)
            s->room = have->o.slots[i].index + 1;
    s->nodes = mem_zalloc((size_t)s->room * sizeof(*s->nodes));
    if (have != NULL)
        placer_projecting(p, &s->projecting, &have->o);
}

static void
slots_fini(struct slots *s)
{
    free(s->nodes);
    free(s->kept);
    projecting_end(&s->projecting);
}

static void
keep_old(struct slots *s, const struct plan_rack *rack)
{
    int64_t per_rack = rack->group->profile->nodes_per_rack;

    if (s->room == per_rack)
        return;
    s->kept = mem_zalloc((size_t)s->room * sizeof(*s->kept));
    for (int64_t i = per_rack; i < s->room; i++)
        if (s->nodes[i].name.n > 0)
            s->kept[s->kept_count++] = i;
}

/* Whether what stands was rendered as it would be now.  The digest tells, but
 * not of a rack with slots of an older rendering. */
static bool
is_rendered(const struct world_rack *have, const struct plan_rack *rack,
            const struct slots *s)
{
    const struct profile *profile = rack->group->profile;

    if (s->kept_count == 0)
        return str_is(have->o.digest, plan_digest(rack));
    return str_is(have->o.profile.name, profile->name) &&
           str_is(have->o.profile.uid, profile->uid) &&
           have->o.profile_generation == profile->generation &&
           str_is(have->o.revision, profile->revision);
}

/* Whether the standing rack is just what is wanted. */
static bool
rack_stands(const struct world_rack *have, const struct plan_rack *rack,
            const struct slots *s)
{
    int64_t per_rack = rack->group->profile->nodes_per_rack;

    if (!is_rendered(have, rack, s))
        return false;
    for (int64_t i = 0; i < s->room; i++) {
        const struct object_slot *slot = rack_slot(&have->o, i);

        if (i >= per_rack && s->nodes[i].name.n == 0)
            continue;
        if (slot == NULL || !str_eq(slot->node.name, s->nodes[i].name) ||
            !str_eq(slot->node.uid, s->nodes[i].uid))
            return false;
    }
    return have->o.slot_count == (size_t)per_rack + s->kept_count;
}

/* Says it, and takes it for standing from now on. */
static void
send_rack(struct placer *p, const struct rack_input *in,
          const struct world_rack *have, const struct intent_rack *i,
          const struct slots *s)
{
    struct buf body = {0};

    intent_rack_pack(&body, i);
    if (!want(p, ACTION_RACK, &i->target, MSG_RACK_WRITE, &body) ||
        wish_look(&p->wishes, ACTION_RACK, i->target.name).state != WISH_OPEN)
        return;
    tell_bindings(in, i->target.name.s, have, s->nodes);
    if (have != NULL)
        tell_releases(p, have, s->nodes, s->room);
    pending_begin(p, &(struct pending_write){
                         .rack = i->target.name.s,
                         .where = {.inventory = in->inventory,
                                   .group = in->group,
                                   .rack = in->index},
                         .nodes = s->nodes,
                         .count = (size_t)s->room,
                         .have = have,
                     });
}

static void
write_rack(struct placer *p, const struct plan_rack *rack,
           const struct world_rack *have, const struct slots *s)
{
    struct rack_input in = {
        .inventory = plan_ref(rack->group->inventory),
        .group = rack->group->spec->id,
        .index = rack->index,
        .count = rack->group->spec->count,
        .profile = rack->group->profile,
    };
    const struct rack_bindings bindings = {s->nodes, s->kept, s->kept_count};
    struct intent_rack i = {.target.name = str_of(rack->name)};
    struct rack_metadata now = {0};
    struct rack_metadata wanted;
    struct arena arena = {0};
    struct rack_facts facts;
    struct buf spec = {0};
    struct err err;
    bool moved;

    if (have != NULL) {
        i.target = target_of(&have->o.meta);
        i.generation = have->o.meta.generation;
        now = (struct rack_metadata){have->o.meta.labels, have->o.annotations,
                                     have->o.finalizers, have->o.owners};
    }
    moved = rack_metadata(&wanted, &now, &in, &arena);
    if (have != NULL && !moved && rack_stands(have, rack, s)) {
        wish_drop(&p->wishes, ACTION_RACK, i.target.name);
    } else if (rack_render(&facts, &spec, &in, &bindings, &err) != 0) {
        log_error("reconciliation failed", F_STR("error", err.text),
                  F_STR("key", rack->name));
    } else {
        i.labels = wanted.labels;
        i.annotations = wanted.annotations;
        i.finalizers = wanted.finalizers;
        i.owners = wanted.owners;
        i.spec = buf_str(&spec);
        send_rack(p, &in, have, &i, s);
    }
    buf_fini(&spec);
    arena_fini(&arena);
}

static void
release_slot(struct placer *p, const struct world_rack *have,
             const struct alloc_binding *b, bool leaving, struct slots *s)
{
    const struct object_slot *slot =
        have == NULL ? NULL : rack_slot(&have->o, b->in.slot);

    if (slot == NULL || slot->node.name.n == 0 || leaving ||
        clean(p, &have->o, slot) || slot->index < 0 || slot->index >= s->room)
        return;
    s->nodes[slot->index] = slot->node;
}

static bool
is_projectable(const struct world_rack *have, const struct plan_rack *rack)
{
    return have != NULL && !have->o.meta.deleting && rack_owned(&have->o) &&
           (have->o.spec_ours || !have->o.managed) &&
           str_is(have->o.digest, plan_digest(rack));
}

/* Its projection is not looked at. */
static void
leave_slot(struct placer *p, const struct object_slot *slot)
{
    const struct world_node *named = world_node(&p->world, slot->node.name.s);
    const struct world_node *n = world_node_exact(&p->world, &slot->node);

    if (n != NULL)
        drop_settled(p, ACTION_NODE, &n->o.meta);
    else if (named != NULL)
        drop_replaced(p, named);
}

/* A binding that stays; its projection is looked at once it is durable, and
 * unless a write on its way takes it off. */
static void
keep_slot(struct placer *p, const struct plan_rack *rack,
          const struct world_rack *have, const struct alloc_binding *b,
          bool leaving, struct slots *s)
{
    const struct object_slot *slot =
        have == NULL ? NULL : rack_slot(&have->o, b->in.slot);
    bool durable = slot != NULL && str_eq(slot->node.uid, b->in.node.uid);
    bool once = b->node->binding_count == 1;

    s->nodes[b->in.slot] = b->in.node;
    if (durable && once && !leaving && is_projectable(have, rack))
        decide_projection(p, &have->o, slot, &s->projecting);
    else if (durable && !have->o.meta.deleting)
        leave_slot(p, slot);
}

static void
take_slots(struct placer *p, const struct plan_rack *rack,
           const struct world_rack *have, struct slots *s)
{
    const struct alloc_rack *bound = alloc_rack(&p->alloc, rack->name);
    const struct pending *a = pending_of(p, rack->name);

    for (size_t i = 0; bound != NULL && i < bound->count; i++) {
        const struct alloc_binding *b = &bound->bindings[i];

        if (b->released)
            release_slot(p, have, b, a != NULL && a->leaving[i], s);
        else
            keep_slot(p, rack, have, b, a != NULL && a->leaving[i], s);
    }
}

/* Waiting Nodes that get a slot now, rack by rack: a run of them is one rack's.
 */
struct assigning {
    struct alloc_group *group;
    size_t next;  /* of the waiting Nodes */
    size_t count; /* that get a slot */
    int64_t at;   /* the coordinate of the next */
};

/* The run of those that the rack gets. */
static void
assign_slots(const struct plan_rack *rack, struct assigning *assigning,
             struct slots *s)
{
    int64_t per_rack = rack->group->profile->nodes_per_rack;

    for (; assigning->next < assigning->count && assigning->at >= 0 &&
           assigning->at / per_rack == rack->index;
         assigning->next++) {
        const struct alloc_node *n =
            waiting_at(&assigning->group->waiting, assigning->next);

        s->nodes[assigning->at % per_rack] =
            (struct object_ref){n->in.name, n->in.uid};
        assigning->at = alloc_free_from(assigning->group, assigning->at + 1);
    }
}

/* A slot of no index that could be written, or one that is there twice. */
static bool
has_odd_slots(const struct object_rack *rack)
{
    int64_t last = -1;

    for (size_t i = 0; i < rack->slot_count; i++) {
        int64_t index = rack->slots[i].index;

        if (index < 0 || index >= MAX_NODES_PER_RACK)
            return true;
        for (size_t j = 0; index <= last && j < i; j++)
            if (rack->slots[j].index == index)
                return true;
        last = index > last ? index : last;
    }
    return false;
}

/* Not one that is being retired, is somebody else's, or was edited by somebody
 * else, nor before its inventory has our finalizer. */
static bool
is_writable(const struct plan_inventory *v, const struct world_rack *have)
{
    return world_has_finalizer(v->world) &&
           (have == NULL || (!have->o.meta.deleting &&
                             rack_controlled(have->o.owners, plan_ref(v)) &&
                             (!have->o.managed || have->o.spec_ours) &&
                             !has_odd_slots(&have->o)));
}

/* ---- retirement (mokka-api 7.6) ---------------------------------------- */

static bool
is_unresolved(const struct plan_inventory *v, struct str group)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (str_eq(v->groups[i].spec->id, group))
            return v->groups[i].profile == NULL;
    return false;
}

/* Whether an owned rack is to go, and why. */
static bool
is_retired(const struct placer *p, const struct world_rack *r,
           const struct plan_inventory *v, enum release *why)
{
    const struct inventory_group *g;

    if (v->world->o.meta.deleting) {
        *why = RELEASE_INVENTORY_DELETING;
        return true;
    }
    if (v->verdict.decision == ADMIT_REJECTED) {
        *why = RELEASE_CAPACITY_REJECTED;
        return true;
    }
    if (v->verdict.decision != ADMIT_ACCEPTED)
        return false;
    *why = RELEASE_RACK_DELETING;
    if (r->o.meta.deleting)
        return true;
    if (is_unresolved(v, r->o.group))
        return false;
    g = inventory_group(&v->world->spec, r->o.group);
    *why = g != NULL && r->o.index >= g->count ? RELEASE_CAPACITY_SHRINK
                                               : RELEASE_GROUP_REMOVED;
    return !placer_canonical(p, &r->o);
}

/* ---- growth (mokka-api 8.4) -------------------------------------------- */

/* Neither is it to be, nor is it to go: what its bindings were given up for is
 * not acted upon (9.6). */
static bool
is_left(const struct placer *p, const struct world_rack *r)
{
    const struct plan_inventory *v = plan_inventory(&p->plan, &r->o.inventory);
    enum release why;

    return plan_rack(&p->plan, r->o.meta.name.s) == NULL &&
           (v == NULL || !is_retired(p, r, v, &why));
}

/* Is a cleanup of that rack awaited that frees capacity? */
static bool
is_draining(const struct placer *p, const struct alloc_rack *bound)
{
    const struct world_rack *r = world_rack(&p->world, bound->name);

    if (r == NULL || (bound->freeing == 0 && !r->o.meta.deleting) ||
        is_left(p, r))
        return false;
    for (size_t i = 0; i < bound->count; i++) {
        const struct alloc_binding *b = &bound->bindings[i];
        const struct object_slot *slot = rack_slot(&r->o, b->in.slot);
        bool frees =
            r->o.meta.deleting || (b->released && release_frees(b->reason));

        if (frees && slot != NULL && str_eq(slot->node.uid, b->in.node.uid) &&
            !is_clean(p, &r->o, slot))
            return true;
    }
    return false;
}

/* Whether some rack of an inventory (its number) drains. */
static bool
is_any_draining(const struct placer *p, size_t inventory)
{
    bool leaving = p->plan.inventories[inventory].leaving > 0;
    const struct alloc_rack *bound;
    size_t pos = 0;

    if (p->alloc.freeing[inventory] == 0 && !leaving)
        return false;
    while ((bound = map_next(&p->alloc.racks, &pos)) != NULL)
        if (bound->inventory == inventory && (bound->freeing > 0 || leaving) &&
            is_draining(p, bound))
            return true;
    return false;
}

/* The same, asked once in a pass: nothing that a pass does ends a cleanup, and
 * it begins one only where the answer is yes already. */
static bool
is_awaiting(struct placer *p, size_t inventory)
{
    enum tally_awaits *known = &p->tally.inventories[inventory].awaits;

    if (*known == TALLY_UNKNOWN)
        *known = is_any_draining(p, inventory) ? TALLY_AWAITS : TALLY_FREE;
    return *known == TALLY_AWAITS;
}

static bool
grows(const struct plan_rack *rack, const struct world_rack *have)
{
    const struct profile *profile = rack->group->profile;
    int64_t gpus = 0;

    if (have == NULL)
        return true;
    for (size_t i = 0; i < have->o.slot_count; i++)
        gpus += have->o.slots[i].gpus;
    return profile->nodes_per_rack > (int64_t)have->o.slot_count ||
           profile->nodes_per_rack * profile->gpus > gpus;
}

/* Capacity is released before it is claimed: whether the rack has to wait for
 * that; it is looked at again when the last cleanup is done. */
static bool
waits_to_grow(struct placer *p, const struct plan_rack *rack,
              const struct world_rack *have)
{
    size_t inventory = (size_t)(rack->group->inventory - p->plan.inventories);

    if (!grows(rack, have) || !is_awaiting(p, inventory))
        return false;
    placer_hold(p, rack->name);
    return true;
}

void
decide_held(struct placer *p)
{
    struct map held = p->held;
    size_t pos = 0;
    char *name;

    for (size_t i = 0; i < p->tally.inventory_count; i++)
        p->tally.inventories[i].awaits = TALLY_UNKNOWN;
    p->held = (struct map){0};
    while ((name = map_next(&held, &pos)) != NULL) {
        const struct plan_rack *rack = plan_rack(&p->plan, name);

        if (rack != NULL && is_awaiting(p, (size_t)(rack->group->inventory -
                                                    p->plan.inventories)))
            placer_hold(p, name);
        else
            placer_touch(p, name);
        free(name);
    }
    map_fini(&held);
}

/* Deletion has begun and nothing of ours holds it: others' finalizers do. */
static bool
is_out_of_our_hands(const struct object_rack *rack)
{
    for (size_t i = 0; i < rack->finalizers.count; i++)
        if (str_is(rack->finalizers.items[i], FINALIZER_RACK))
            return false;
    for (size_t i = 0; i < rack->slot_count; i++)
        if (rack->slots[i].node.name.n > 0)
            return false;
    return rack->meta.deleting;
}

static void
retire(struct placer *p, const struct world_rack *r, enum release why)
{
    struct target target = target_of(&r->o.meta);
    struct buf body = {0};
    bool all = true;

    if (is_busy(p, target.name))
        return;
    for (size_t i = 0; i < r->o.slot_count; i++)
        if (r->o.slots[i].node.name.n > 0)
            all = clean(p, &r->o, &r->o.slots[i]) && all;
    if (!all)
        return;
    if (is_out_of_our_hands(&r->o)) {
        wish_drop(&p->wishes, ACTION_RACK, target.name);
        return;
    }
    intent_delete_pack(&body, &target);
    if (!want(p, ACTION_RACK, &target, MSG_RACK_DELETE, &body) ||
        wish_look(&p->wishes, ACTION_RACK, target.name).state != WISH_OPEN)
        return;
    log_debug("rack retired", F_STR("rack", target.name.s),
              F_STR("reason", release_name(why)));
    pending_begin(p, &(struct pending_write){
                         .rack = target.name.s,
                         .where = {.inventory = r->o.inventory,
                                   .group = r->o.group,
                                   .rack = r->o.index},
                         .have = r,
                     });
}

/* A rack that is left as it is. */
static void
leave_rack(struct placer *p, const struct world_rack *r)
{
    drop_settled(p, ACTION_RACK, &r->o.meta);
    for (size_t i = 0; i < r->o.slot_count; i++)
        if (r->o.slots[i].node.name.n > 0)
            leave_slot(p, &r->o.slots[i]);
}

/* A rack that is not (or not any more) one of those that are to be.  One whose
 * inventory is gone goes when somebody deletes it. */
static void
decide_other(struct placer *p, const char *name)
{
    const struct world_rack *r = world_rack(&p->world, name);
    const struct plan_inventory *v;
    enum release why;

    p->examined++;
    if (r == NULL)
        pending_recall(p, name);
    if (r == NULL || !rack_owned(&r->o))
        return;
    v = plan_inventory(&p->plan, &r->o.inventory);
    if (v == NULL && r->o.meta.deleting)
        retire(p, r, RELEASE_RACK_DELETING);
    else if (v != NULL && is_retired(p, r, v, &why))
        retire(p, r, why);
    else
        leave_rack(p, r);
}

/* ---- a rack that is to be ----------------------------------------------- */

static void
decide_rack(struct placer *p, const struct plan_rack *rack,
            struct assigning *assigning)
{
    const struct world_rack *have = world_rack(&p->world, rack->name);
    struct slots s;

    p->examined++;
    slots_init(p, &s, rack, have);
    take_slots(p, rack, have, &s);
    if (assigning != NULL)
        assign_slots(rack, assigning, &s);
    keep_old(&s, rack);
    if (is_writable(rack->group->inventory, have) &&
        !is_busy(p, str_of(rack->name)) && !waits_to_grow(p, rack, have))
        write_rack(p, rack, have, &s);
    else if (have != NULL)
        drop_settled(p, ACTION_RACK, &have->o.meta);
    slots_fini(&s);
}

/* ---- one pass ---------------------------------------------------------- */

/* Looks at one rack; false: wishes had to be held back, it stays dirty. */
static bool
decide_one(struct placer *p, const char *name, struct assigning *assigning)
{
    const struct plan_rack *rack = plan_rack(&p->plan, name);
    const struct world_rack *have = world_rack(&p->world, name);
    bool misnamed =
        have != NULL && rack_owned(&have->o) && !placer_canonical(p, &have->o);

    pending_ask(p, name);
    if (rack != NULL && !misnamed)
        decide_rack(p, rack, assigning);
    if (rack == NULL || misnamed || (have != NULL && have->o.meta.deleting))
        decide_other(p, name);
    status_rack(p, name);
    return !p->starved;
}

/* The object name of the rack that holds a coordinate. */
static void
name_rack(const struct alloc_group *g, int64_t at, char name[IDENTITY_NAME_MAX])
{
    identity_rack_name(g->in.inventory.name, g->in.inventory.uid, g->in.id,
                       (uint32_t)(at / g->in.nodes_per_rack), name);
}

/* Gives slots to the Nodes that wait for a group.  What is written counts as
 * standing at once and leaves the waiting ones, so each turn looks at the state
 * that is left; a rack that cannot be written now is passed by. */
static void
assign(struct placer *p, struct alloc_group *g)
{
    const struct plan_inventory *v = &p->plan.inventories[g->inventory];
    int64_t from = 0;
    size_t skipped = 0;

    if (!world_has_finalizer(v->world))
        return;
    while (!p->starved && g->waiting.count > skipped) {
        struct assigning a = {.group = g, .next = skipped};
        size_t before = g->waiting.count;
        char name[IDENTITY_NAME_MAX];

        a.at = alloc_free_from(g, from);
        if (a.at < 0)
            return;
        a.count = g->waiting.count;
        from = (a.at / g->in.nodes_per_rack + 1) * g->in.nodes_per_rack;
        name_rack(g, a.at, name);
        decide_one(p, name, &a);
        if (g->waiting.count == before)
            skipped = a.next;
    }
}

/* A rack for which wishes had to be held back stays the next. */
static void
look_at_touched(struct placer *p)
{
    const char *name;

    while (!p->starved && (name = placer_next(p)) != NULL)
        if (decide_one(p, name, NULL))
            placer_looked(p, name);
}

/* Nodes whose rack is gone, finalizer or not. One that is bound anew is its
 * rack's to clean.  Which clique it had nobody can say any more. */
static void
clean_strays(struct placer *p)
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

void
decide(struct placer *p)
{
    for (size_t i = 0; i < p->plan.inventory_count; i++)
        decide_inventory(p, &p->plan.inventories[i]);
    for (size_t i = 0; i < p->alloc.group_count; i++)
        assign(p, &p->alloc.groups[i]);
    look_at_touched(p);
    clean_strays(p);
}
