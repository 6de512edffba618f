/* SPDX-License-Identifier: Apache-2.0 */
/* A rack that is to be: its slots, and the write that makes it so. */
#include <stdlib.h>

#include "common/api.h"
#include "common/log.h"
#include "common/mem.h"
#include "placer/decide_work.h"
#include "placer/pending.h"
#include "proto/frame.h"

bool
decide_is_busy(const struct placer *p, struct str rack)
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

/* What stands is written anew, not only its bindings. */
static void
tell_rendering(const struct plan_rack *rack, const struct world_rack *have,
               const struct slots *s)
{
    const struct profile *profile = rack->group->profile;

    if (have == NULL || is_rendered(have, rack, s))
        return;
    log_info("rack re-rendered", F_STR("rack", rack->name),
             F_STR("inventory", plan_ref(rack->group->inventory).name.s),
             F_STR("rackGroup", rack->group->spec->id.s),
             F_INT("rackIndex", rack->index),
             F_STR("profileRevision", profile->revision),
             F_STR("reason", str_is(have->o.revision, profile->revision)
                                 ? "RackChanged"
                                 : "ProfileChanged"));
}

static void
tell_write(const struct placer *p, const struct plan_rack *rack,
           const struct rack_input *in, const struct world_rack *have,
           const struct slots *s)
{
    tell_rendering(rack, have, s);
    tell_bindings(in, rack->name, have, s->nodes);
    if (have != NULL)
        tell_releases(p, have, s->nodes, s->room);
}

/* Says it, and takes it for standing from now on. */
static void
send_rack(struct placer *p, const struct plan_rack *rack,
          const struct rack_input *in, const struct world_rack *have,
          const struct intent_rack *i, const struct slots *s)
{
    struct buf body = {0};

    intent_rack_pack(&body, i);
    if (!decide_want(p, ACTION_RACK, &i->target, MSG_RACK_WRITE, &body) ||
        wish_look(&p->wishes, ACTION_RACK, i->target.name).state != WISH_OPEN)
        return;
    if (!p->shadow)
        tell_write(p, rack, in, have, s);
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
        i.target = decide_target(&have->o.meta);
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
        send_rack(p, rack, &in, have, &i, s);
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
        decide_clean(p, &have->o, slot) || slot->index < 0 ||
        slot->index >= s->room)
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
        decide_leave_slot(p, slot);
}

static void
take_slots(struct placer *p, const struct plan_rack *rack,
           const struct world_rack *have, struct slots *s)
{
    const struct alloc_rack *bound = alloc_rack(&p->alloc, rack->name);
    const struct pending *a = pending_of(p, rack->name);

    for (size_t i = 0; bound != NULL && i < bound->count; i++) {
        const struct alloc_binding *b = &bound->bindings[i];
        bool leaving = a != NULL && i < a->count && a->leaving[i];

        if (b->released)
            release_slot(p, have, b, leaving, s);
        else
            keep_slot(p, rack, have, b, leaving, s);
    }
}

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

void
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
        !decide_is_busy(p, str_of(rack->name)) &&
        !decide_waits_to_grow(p, rack, have))
        write_rack(p, rack, have, &s);
    else if (have != NULL)
        decide_drop_settled(p, ACTION_RACK, &have->o.meta);
    slots_fini(&s);
}
