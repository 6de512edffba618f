/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole placer in random histories: people change declarations, Nodes and
 * racks, processes die and come back, frames and answers are late.  Every write
 * is judged at the moment the server makes it; in the end, when all has come to
 * rest, the estate must be what the definitions say, and nothing be left to do.
 *
 * A failure prints the history and the seed that gives it again as the first
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit/estate_check.h"

enum {
    NODES = 8,
    INVENTORIES = 3,
    PROFILES = 2,
    STEPS = 150,
};

static int
below(struct estate *e, int n)
{
    return seeded_below(&e->chance, n);
}

static bool
one_in(struct estate *e, int n)
{
    return below(e, n) == 0;
}

/* ---- what a write must be ------------------------------------------------ */

/* The Node that a slot gives up must not carry what the slot put there. */
static void
judge_released(struct estate *e, const struct object *rack,
               const struct object_slot *slot)
{
    const struct object *n = api_get(e, KIND_NODE, slot->node.name.s);

    if (slot->node.name.n > 0 && n != NULL && same_ref(ref_of(n), slot->node) &&
        names_rack(n->node.annotation, rack))
        estate_fail(e, "slot %d of %s is cleared, and %s carries it",
                    (int)slot->index, rack->meta.name.s, n->meta.name.s);
}

/* A slot of which only the index is sent is kept as it stands. */
static bool
still_binds(json_t *nodes, const struct object_slot *slot)
{
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        json_t *ref = json_object_get(node, "nodeRef");

        if (json_integer_value(json_object_get(node, "index")) == slot->index)
            return json_object_size(node) == 1 ||
                   (ref != NULL &&
                    str_eq(json_str(ref, "uid"), slot->node.uid));
    }
    return false;
}

/* A Node that a write binds is bound nowhere else. */
static void
judge_bound(struct estate *e, const char *rack, json_t *nodes)
{
    const struct object *other;
    json_t *node;
    size_t pos = 0;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        json_t *ref = json_object_get(node, "nodeRef");

        for (pos = 0; ref != NULL &&
                      (other = map_next(&e->objects[KIND_RACK], &pos)) != NULL;)
            for (size_t j = 0; j < other->rack.slot_count; j++)
                if (strcmp(other->meta.name.s, rack) != 0 &&
                    str_eq(other->rack.slots[j].node.uid, json_str(ref, "uid")))
                    estate_fail(e, "%s is bound by %s and %s",
                                json_str(ref, "name").s, rack,
                                other->meta.name.s);
    }
}

static void
judge_write(struct estate *e, const struct order *o)
{
    const struct object *old = api_get(e, KIND_RACK, o->target.name.s);
    json_t *spec = json_text(o->rack.spec.s);
    json_t *nodes = json_object_get(spec, "nodes");
    const struct object_owner *owner = &o->rack.owners.items[0];
    const struct object *v = api_get(e, KIND_INVENTORY, owner->name.s);

    if (old != NULL ? str_eq(old->meta.version, o->target.version)
                    : o->target.uid.n == 0)
        judge_bound(e, o->target.name.s, nodes);
    /* A request may outlive whoever made it, and its inventory. */
    if (old == NULL && o->target.uid.n == 0 &&
        (v == NULL ? e->strict
                   : str_eq(v->meta.uid, owner->uid) &&
                         !has_finalizer(v, FINALIZER_INVENTORY)))
        estate_fail(e, "rack %s comes before its inventory's finalizer",
                    o->target.name.s);
    for (size_t i = 0; old != NULL && i < old->rack.slot_count; i++)
        if (str_eq(old->meta.version, o->target.version) &&
            !still_binds(nodes, &old->rack.slots[i]))
            judge_released(e, old, &old->rack.slots[i]);
    json_decref(spec);
}

static void
judge_delete(struct estate *e, const struct order *o)
{
    const struct object *old = api_get(e, KIND_RACK, o->target.name.s);

    for (size_t i = 0; old != NULL && i < old->rack.slot_count; i++)
        if (str_eq(old->meta.version, o->target.version))
            judge_released(e, old, &old->rack.slots[i]);
}

/* A projection comes after its binding. */
static void
judge_apply(struct estate *e, const struct order *o)
{
    const struct object *n = api_get(e, KIND_NODE, o->target.name.s);
    const struct object *rack;
    size_t pos = 0;

    if (o->node.release || n == NULL || !str_eq(n->meta.uid, o->target.uid))
        return;
    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        for (size_t i = 0; i < rack->rack.slot_count; i++) {
            const struct object_slot *slot = &rack->rack.slots[i];

            if (same_ref(slot->node, ref_of(n)) &&
                names_rack(o->node.annotation, rack))
                return;
        }
    estate_fail(e, "%s gets a projection that no slot binds: %s",
                n->meta.name.s, o->node.annotation.s);
}

static void
judge(struct estate *e, const struct order *o)
{
    if (o->type == MSG_RACK_WRITE)
        judge_write(e, o);
    else if (o->type == MSG_RACK_DELETE)
        judge_delete(e, o);
    else if (o->type == MSG_NODE_APPLY)
        judge_apply(e, o);
}

/* ---- what people do ------------------------------------------------------ */

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3",
                                              "n4", "n5", "n6", "n7"};
static const char *const inventory_names[INVENTORIES] = {"i0", "i1", "i2"};
static const char *const profile_names[PROFILES] = {"p0", "p1"};
static const char *const pools[] = {"a", "b", "c", NULL};

/* A random object of that kind, or NULL. */
static struct object *
any_object(struct estate *e, enum object_kind kind)
{
    const struct map *all = &e->objects[kind];
    size_t pos = 0;
    struct object *o = NULL;

    if (all->count == 0)
        return NULL;
    for (int i = below(e, (int)all->count); i >= 0; i--)
        o = map_next(all, &pos);
    return o;
}

static void
do_create_node(struct estate *e)
{
    const char *name = node_names[below(e, NODES)];

    if (api_get(e, KIND_NODE, name) != NULL)
        return;
    estate_note(e, "create %s", name);
    put_node(e, name, pools[below(e, 4)]);
}

static void
do_label_node(struct estate *e)
{
    const struct object *n = any_object(e, KIND_NODE);
    const char *pool = pools[below(e, 4)];

    if (n == NULL)
        return;
    estate_note(e, "%s to pool %s", n->meta.name.s, pool);
    edit_label(e, KIND_NODE, n->meta.name.s, "pool", pool);
}

/* Not while somebody else holds a key: that this is over, no event would tell.
 */
static void
do_toggle_node(struct estate *e)
{
    const struct object *n = any_object(e, KIND_NODE);

    if (n == NULL || n->node.foreign != 0)
        return;
    estate_note(e, "%s %s eligible", n->meta.name.s,
                is_labelled(n) ? "is not" : "is");
    edit_label(e, KIND_NODE, n->meta.name.s, LABEL_ELIGIBLE,
               is_labelled(n) ? NULL : LABEL_TRUE);
}

static void
do_end_node(struct estate *e)
{
    struct object *n = any_object(e, KIND_NODE);

    if (n == NULL)
        return;
    if (one_in(e, 3) && !n->meta.deleting) {
        estate_note(e, "%s is terminating", n->meta.name.s);
        n = api_edit(n);
        n->meta.deleting = true;
        api_store(e, n);
    } else {
        const char *name = node_names[n->meta.name.s[1] - '0'];

        estate_note(e, "delete %s", name);
        api_erase(e, KIND_NODE, name);
        if (one_in(e, 2))
            put_node(e, name, pools[below(e, 4)]);
    }
}

/* Somebody sets one of our keys, to our value or another, or lets it go. */
static void
do_rival_on_node(struct estate *e)
{
    static const int64_t keys[] = {KEY_ASSIGNED, KEY_CLIQUE, KEY_ANNOTATION};
    struct object *n = any_object(e, KIND_NODE);
    int64_t key = keys[below(e, 3)];
    int64_t held;

    if (n == NULL || !is_labelled(n))
        return;
    n = api_edit(n);
    held = n->node.foreign;
    if (held != 0) {
        n->node.foreign = 0;
        drop_unowned(n, held);
    } else {
        n->node.foreign = key;
        if (key == KEY_ANNOTATION && n->node.annotation.n == 0)
            n->node.annotation = STR("{}");
        else if (key == KEY_ASSIGNED && (one_in(e, 2) || !(n->node.ours & key)))
            set_label(n, LABEL_ASSIGNED, "false");
        else if (key == KEY_CLIQUE && (one_in(e, 2) || !(n->node.ours & key)))
            set_label(n, LABEL_CLIQUE, "mine");
        if (key == KEY_ASSIGNED &&
            strcmp(label_of(n, LABEL_ASSIGNED), LABEL_TRUE) != 0)
            n->node.ours &= ~key;
        if (key == KEY_CLIQUE && strcmp(label_of(n, LABEL_CLIQUE), "mine") == 0)
            n->node.ours &= ~key;
    }
    estate_note(e, "keys %d of %s are somebody else's", (int)n->node.foreign,
                n->meta.name.s);
    api_store(e, n);
}

/* Somebody takes a label of ours off. */
static void
do_damage_node(struct estate *e)
{
    struct object *n = any_object(e, KIND_NODE);

    if (n == NULL || (n->node.ours & KEY_ASSIGNED) == 0 || n->node.foreign != 0)
        return;
    estate_note(e, "label off %s", n->meta.name.s);
    n = api_edit(n);
    n->node.ours &= ~KEY_ASSIGNED;
    set_label(n, LABEL_ASSIGNED, NULL);
    api_store(e, n);
}

static void
do_put_profile(struct estate *e)
{
    const char *name = profile_names[below(e, PROFILES)];
    const struct object *p = api_get(e, KIND_PROFILE, name);
    struct declared_profile d = {1 + below(e, 3), 1, one_in(e, 10)};

    if (p != NULL && one_in(e, 4)) {
        estate_note(e, "delete profile %s", name);
        api_delete(e, KIND_PROFILE, name);
        return;
    }
    estate_note(e, "profile %s: %d%s", name, (int)d.nodes,
                d.broken ? ", broken" : "");
    put_profile(e, name, d);
}

static void
do_put_inventory(struct estate *e)
{
    const char *name = inventory_names[below(e, INVENTORIES)];
    const struct object *v = api_get(e, KIND_INVENTORY, name);
    struct declared_group groups[2] = {{.id = "a"}, {.id = "b"}};
    size_t count = 1 + (size_t)below(e, 2);

    if (v != NULL && v->meta.deleting)
        return;
    for (size_t i = 0; i < count; i++) {
        snprintf(groups[i].profile, sizeof(groups[i].profile), "p%d",
                 one_in(e, 4));
        groups[i].count = 1 + below(e, 2);
        groups[i].selector =
            one_in(e, 12) ? SELECTOR_FORBIDDEN : below(e, SELECTOR_FORBIDDEN);
        estate_note(e, "inventory %s %s: %d of %s, selector %d", name,
                    groups[i].id, (int)groups[i].count, groups[i].profile,
                    groups[i].selector);
    }
    put_inventory(e, name, groups, count);
}

static void
do_delete_inventory(struct estate *e)
{
    const struct object *v = any_object(e, KIND_INVENTORY);

    if (v == NULL || v->meta.deleting)
        return;
    estate_note(e, "delete inventory %s", v->meta.name.s);
    api_delete(e, KIND_INVENTORY, v->meta.name.s);
}

static void
do_delete_rack(struct estate *e)
{
    const struct object *rack = any_object(e, KIND_RACK);

    if (rack == NULL)
        return;
    estate_note(e, "delete rack %s", rack->meta.name.s);
    api_delete(e, KIND_RACK, rack->meta.name.s);
}

/* Metadata: theirs, ours, or a finalizer that holds it. */
static void
do_edit_rack(struct estate *e)
{
    struct object *rack = any_object(e, KIND_RACK);
    int what = below(e, 4);

    if (rack == NULL)
        return;
    estate_note(e, "edit rack %s (%d)", rack->meta.name.s, what);
    rack = api_edit(rack);
    if (what == 0)
        set_label(rack, "note", one_in(e, 2) ? "x" : NULL);
    else if (what == 1)
        set_label(rack, LABEL_GROUP, "x");
    else if (what == 2)
        rack->rack.status.fields = STR("{}");
    else if (!rack->meta.deleting || has_finalizer(rack, FINALIZER_OTHER))
        set_finalizer(rack, FINALIZER_OTHER,
                      !has_finalizer(rack, FINALIZER_OTHER));
    api_settle(e, rack);
}

/* Somebody else writes the spec: the rack is not ours alone any more. */
static void
do_take_rack(struct estate *e)
{
    struct object *rack = any_object(e, KIND_RACK);

    if (rack == NULL || !one_in(e, 4))
        return;
    estate_note(e, "somebody writes rack %s", rack->meta.name.s);
    rack = api_edit(rack);
    rack->rack.spec_ours = false;
    rack->rack.digest = STR("edited");
    rack->meta.generation++;
    api_store(e, rack);
}

/* Somebody who may write as us moves a rack to another coordinate. */
static void
do_move_rack(struct estate *e)
{
    struct object *rack = any_object(e, KIND_RACK);
    struct buf spec = {0};
    const char *at;

    if (rack == NULL || !one_in(e, 3) || rack->spec.n < 10)
        return;
    estate_note(e, "rack %s is moved", rack->meta.name.s);
    rack = api_edit(rack);
    at = strstr(rack->spec.s, "\"rackIndex\":") + strlen("\"rackIndex\":");
    buf_add(&spec, rack->spec.s, (size_t)(at - rack->spec.s));
    buf_printf(&spec, "%d", below(e, 3));
    buf_addz(&spec, strchr(at, ','));
    rack->spec = arena_str(&rack->arena, buf_str(&spec));
    buf_fini(&spec);
    read_spec(rack);
    rack->meta.generation++;
    api_store(e, rack);
}

static bool
is_bound(struct estate *e, struct str uid)
{
    const struct object *rack;
    size_t pos = 0;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        for (size_t i = 0; i < rack->rack.slot_count; i++)
            if (str_eq(rack->rack.slots[i].node.uid, uid))
                return true;
    return false;
}

/* The end of a term is that of its requests, too. */
static bool
is_another_leading(const struct estate *e)
{
    const struct slot *s;
    size_t pos = 0;

    while ((s = map_next(&e->projector.slots, &pos)) != NULL)
        if (s->in_flight && s->stage == STAGE_SENT)
            return false;
    return e->term == 0;
}

/* Another replica leads: it binds a Node to the first free slot. */
static void
do_bind_elsewhere(struct estate *e)
{
    struct object *rack = any_object(e, KIND_RACK);
    const struct object *n = any_object(e, KIND_NODE);
    const struct object_slot *free_slot = NULL;
    struct buf spec = {0};
    char before[32];
    const char *at;

    if (!is_another_leading(e) || rack == NULL || n == NULL ||
        rack->meta.deleting || is_bound(e, n->meta.uid))
        return;
    for (size_t i = 0; i < rack->rack.slot_count && free_slot == NULL; i++)
        if (rack->rack.slots[i].node.name.n == 0)
            free_slot = &rack->rack.slots[i];
    if (free_slot == NULL || rack->rack.spec_ours != rack->rack.managed)
        return;
    estate_note(e, "another leader binds %s in %s", n->meta.name.s,
                rack->meta.name.s);
    rack = api_edit(rack);
    snprintf(before, sizeof(before),
             "{\"index\":%d,\"gpus\":", (int)free_slot->index);
    at = strstr(rack->spec.s, before);
    if (at != NULL) {
        at = strchr(at, ',');
        buf_add(&spec, rack->spec.s, (size_t)(at - rack->spec.s));
        buf_printf(&spec, ",\"nodeRef\":{\"name\":\"%s\",\"uid\":\"%s\"}%s",
                   n->meta.name.s, n->meta.uid.s, at);
        rack->spec = arena_str(&rack->arena, buf_str(&spec));
        read_spec(rack);
    }
    rack->meta.generation++;
    api_store(e, rack);
    buf_fini(&spec);
}

/* A rack of nobody under a name that is to be ours. */
static void
do_squat(struct estate *e)
{
    const struct object *v = any_object(e, KIND_INVENTORY);
    char name[IDENTITY_NAME_MAX];
    struct object *rack;

    if (v == NULL || !one_in(e, 4))
        return;
    identity_rack_name(v->meta.name, v->meta.uid, str_of(v->groups[0].id),
                       (uint32_t)below(e, 2), name);
    if (api_get(e, KIND_RACK, name) != NULL)
        return;
    estate_note(e, "somebody creates rack %s", name);
    rack = api_new(e, KIND_RACK, name);
    rack->rack.managed = true;
    rack->rack.digest = STR("squatter");
    api_store(e, rack);
}

static void
act(struct estate *e)
{
    static void (*const acts[])(struct estate * e) = {
        do_create_node,   do_create_node,   do_create_node,
        do_label_node,    do_label_node,    do_toggle_node,
        do_toggle_node,   do_end_node,      do_end_node,
        do_rival_on_node, do_damage_node,   do_put_profile,
        do_put_profile,   do_put_profile,   do_put_inventory,
        do_put_inventory, do_put_inventory, do_delete_inventory,
        do_delete_rack,   do_edit_rack,     do_edit_rack,
        do_take_rack,     do_squat,         do_move_rack,
    };

    acts[below(e, nitems(acts))](e);
}

/* ---- what goes wrong ----------------------------------------------------- */

static void
fail_placer(struct estate *e)
{
    estate_note(e, "the placer dies");
    estate_restart_placer(e);
}

static void
fail_projector(struct estate *e)
{
    if (!e->projector.up)
        return;
    estate_note(e, "the projector dies");
    estate_kill_projector(e, true);
}

static void
start_projector(struct estate *e)
{
    if (e->projector.up)
        return;
    estate_note(e, "the projector is back");
    estate_start_projector(e);
}

/* Nobody is left who knows what was written. */
static void
fail_both(struct estate *e)
{
    bool first = one_in(e, 2);

    if (first)
        fail_placer(e);
    fail_projector(e);
    if (!first)
        fail_placer(e);
    if (one_in(e, 2))
        start_projector(e);
}

static void
fail_informer(struct estate *e)
{
    estate_note(e, "the informer dies");
    estate_restart_informer(e);
}

static void
change_term(struct estate *e)
{
    estate_note(e, "term %s", e->term == 0 ? "begins" : "ends");
    if (e->term != 0) {
        estate_end_term(e);
        return;
    }
    for (int i = below(e, 4); i > 0; i--)
        do_bind_elsewhere(e);
    estate_begin_term(e);
}

static void
disturb(struct estate *e)
{
    switch (below(e, 8)) {
    case 0:
        fail_placer(e);
        break;
    case 7:
        fail_both(e);
        break;
    case 1:
        fail_informer(e);
        break;
    case 2:
    case 4:
        fail_projector(e);
        break;
    case 3:
        change_term(e);
        break;
    default:
        start_projector(e);
        if (e->term == 0)
            change_term(e);
        break;
    }
}

/* ---- what goes on -------------------------------------------------------- */

static struct slot *
any_slot(struct estate *e)
{
    const struct map *slots = &e->projector.slots;
    struct slot *s = NULL;
    size_t pos = 0;

    if (slots->count == 0)
        return NULL;
    for (int i = below(e, (int)slots->count); i >= 0; i--)
        s = map_next(slots, &pos);
    return s;
}

/* A request is sent, carried out, answered; or fails before or after it was
 * carried out, and is tried again. */
static void
request(struct estate *e, bool faults)
{
    struct slot *s = any_slot(e);

    if (s == NULL)
        return;
    if (may_send(e, s))
        send_order(s);
    else if (s->in_flight && faults && one_in(e, 8))
        finish(e, s, true);
    else if (s->in_flight && s->stage != STAGE_ANSWERED)
        execute(e, s);
    else if (s->in_flight)
        finish(e, s, false);
}

static void
hear_any(struct estate *e, bool faults)
{
    enum object_kind kind = (enum object_kind)below(e, KIND_COUNT);

    (void)faults;
    if (kind != e->slow || one_in(e, 20))
        informer_hear(e, kind);
}

static void
tell_next(struct estate *e, bool faults)
{
    (void)faults;
    informer_tell(e);
}

static void
feed_placer(struct estate *e, bool faults)
{
    (void)faults;
    placer_hear(e, &e->feed);
}

static void
answer_placer(struct estate *e, bool faults)
{
    (void)faults;
    placer_hear(e, &e->results);
}

static void
pass_intent(struct estate *e, bool faults)
{
    (void)faults;
    projector_hear(e);
}

static void (*const moves[])(struct estate *e, bool faults) = {
    hear_any, tell_next, feed_placer, answer_placer, pass_intent, request};

/* How often each of them goes on: some are slow in one history, others in
 * another. */
struct pace {
    int weights[nitems(moves)];
    int sum;
};

static struct pace
any_pace(struct estate *e)
{
    struct pace pace = {.sum = 0};

    for (size_t i = 0; i < nitems(moves); i++)
        pace.sum += pace.weights[i] = 1 << below(e, 5);
    return pace;
}

static void
proceed(struct estate *e, const struct pace *pace, bool faults)
{
    int at = below(e, pace->sum);
    size_t i = 0;

    while (at >= pace->weights[i])
        at -= pace->weights[i++];
    moves[i](e, faults);
}

/* Nobody else stands in the way any more, or some still do. */
static void
make_peace(struct estate *e, bool all)
{
    for (int i = 0; i < NODES; i++) {
        struct object *n = api_get(e, KIND_NODE, node_names[i]);
        int64_t held = n == NULL ? 0 : n->node.foreign;

        if (held == 0 || (!all && one_in(e, 2)))
            continue;
        n = api_edit(n);
        n->node.foreign = 0;
        drop_unowned(n, held);
        api_store(e, n);
    }
}

/* Nobody holds racks any more. */
static void
let_go(struct estate *e)
{
    struct object *rack;
    size_t pos = 0;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL) {
        if (!has_finalizer(rack, FINALIZER_OTHER))
            continue;
        rack = api_edit(rack);
        set_finalizer(rack, FINALIZER_OTHER, false);
        api_settle(e, rack);
        pos = 0;
    }
}

/* A binding that is given up and cannot be, as long as somebody holds a key. */
static bool
is_release_stuck(struct estate *e)
{
    struct lists l;
    bool stuck = false;

    lists_init(&l, e);
    for (size_t i = 0; i < l.in.binding_count; i++) {
        const struct place_binding *b = &l.bindings[i];
        const struct object *n = api_get(e, KIND_NODE, b->node.name.s);
        const struct object *rack =
            rack_at(e, b->inventory, b->group.s, b->rack);
        bool given_up = rack != NULL && rack->meta.deleting;

        for (size_t j = 0; j < l.plan.released_count; j++)
            given_up |= l.plan.released[j].binding == b;
        stuck |= given_up && n != NULL && n->node.foreign != 0;
    }
    lists_fini(&l);
    return stuck;
}

/* What the cluster does to racks whose inventory is gone. */
static void
collect_garbage(struct estate *e)
{
    struct object *rack;
    size_t pos = 0;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        if (controller_of(rack) != NULL && owner_of(e, rack) == NULL &&
            !rack->meta.deleting) {
            estate_note(e, "rack %s is garbage", rack->meta.name.s);
            api_delete(e, KIND_RACK, rack->meta.name.s);
            pos = 0;
        }
}

static void
end(struct estate *e)
{
    start_projector(e);
    if (e->term == 0)
        change_term(e);
    estate_note(e, "all comes to rest");
    estate_calm(e);
    collect_garbage(e);
    make_peace(e, false);
    if (one_in(e, 2))
        let_go(e);
    estate_calm(e);
    if (is_release_stuck(e)) {
        make_peace(e, true);
        estate_calm(e);
    }
    check_end(e);
}

static void
run(uint64_t state, bool faults)
{
    static struct estate e;
    struct pace pace;
    int steps;

    estate_init(&e, state);
    e.judge = judge;
    e.strict = !faults;
    steps = below(&e, STEPS);
    pace = any_pace(&e);
    e.slow = (enum object_kind)below(&e, KIND_COUNT + 1);
    for (int i = 0; i < 6; i++)
        do_create_node(&e);
    put_profile(&e, "p0", (struct declared_profile){1 + below(&e, 3), 1, 0});
    do_put_inventory(&e);
    if (one_in(&e, 2))
        estate_calm(&e);
    for (int i = 0; i < steps; i++) {
        if (one_in(&e, 6))
            act(&e);
        else if (faults && one_in(&e, 12))
            disturb(&e);
        for (int j = below(&e, 12); j >= 0; j--)
            proceed(&e, &pace, faults);
    }
    end(&e);
    estate_fini(&e);
}

/* History number i of a seed is number 0 of the seed plus i. */
static void
run_all(const char *what, int histories, bool faults)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t inverse = UINT64_C(0xf1de83e19937733d);
    struct seeded first = seeded_start(what);

    for (int i = 0; i < histories; i++) {
        uint64_t state = first.state + (uint64_t)i * step;

        printf("\r%s: TEST_SEED=%" PRIu64 " gives this one ", what,
               (state - 1) * inverse);
        run(state, faults);
    }
    printf("\n%d histories\n", histories);
}

static void
test_histories_without_faults(void **state)
{
    (void)state;
    run_all("without faults", seeded_rounds(1000), false);
}

static void
test_histories_with_faults(void **state)
{
    (void)state;
    run_all("with faults", seeded_rounds(1000), true);
}

/* Two racks of one slot, and Nodes n0 and n1 that are not eligible yet. */
static void
two_racks(struct estate *e)
{
    static const struct declared_group group = {
        .id = "a", .profile = "p0", .count = 2, .selector = 0};

    estate_init(e, 1);
    e->judge = judge;
    put_node(e, "n0", NULL);
    put_node(e, "n1", NULL);
    edit_label(e, KIND_NODE, "n0", LABEL_ELIGIBLE, NULL);
    edit_label(e, KIND_NODE, "n1", LABEL_ELIGIBLE, NULL);
    put_profile(e, "p0", (struct declared_profile){1, 1, false});
    put_inventory(e, "i0", &group, 1);
    estate_calm(e);
}

/* All goes on, but what is told of that kind. */
static void
go_on_without(struct estate *e, enum object_kind kind)
{
    bool any = true;

    while (any) {
        any = false;
        for (int k = 0; k < KIND_COUNT; k++)
            while (k != (int)kind && informer_hear(e, (enum object_kind)k))
                any = true;
        while (informer_tell(e) || placer_hear(e, &e->feed) ||
               placer_hear(e, &e->results) || projector_hear(e) ||
               projector_run(e))
            any = true;
    }
}

static void
both_die(struct estate *e)
{
    estate_note(e, "both die");
    estate_kill_projector(e, true);
    estate_restart_placer(e);
    estate_start_projector(e);
}

/* The write of a binding whose makers both die, and whose echo is late: a Node
 * that comes before the bound one would take its slot, and send it to the next
 * rack. */
static void
test_both_die_with_a_binding_unseen(void **state)
{
    static struct estate e;
    const struct object *rack;
    size_t pos = 0;

    (void)state;
    two_racks(&e);
    edit_label(&e, KIND_NODE, "n1", LABEL_ELIGIBLE, LABEL_TRUE);
    go_on_without(&e, KIND_RACK);
    edit_label(&e, KIND_NODE, "n0", LABEL_ELIGIBLE, LABEL_TRUE);
    both_die(&e);
    go_on_without(&e, KIND_RACK);
    estate_calm(&e);
    check_end(&e);
    while ((rack = map_next(&e.objects[KIND_RACK], &pos)) != NULL)
        assert_true(rack->rack.slots[0].node.name.n > 0);
    estate_fini(&e);
}

/* Two racks, whose second Node was given up after it got what the informer does
 * not show yet: it looks clean. */
static void
give_up_a_projection_unseen(struct estate *e)
{
    static const struct declared_group none = {
        .id = "b", .profile = "p0", .count = 1, .selector = 0};

    two_racks(e);
    edit_label(e, KIND_NODE, "n1", LABEL_ELIGIBLE, LABEL_TRUE);
    while (informer_hear(e, KIND_NODE))
        ;
    go_on_without(e, KIND_NODE);
    put_inventory(e, "i0", &none, 1);
}

/* The same of a projection: its Node looks clean when its slot is given up. */
static void
test_both_die_with_a_projection_unseen(void **state)
{
    static struct estate e;

    (void)state;
    give_up_a_projection_unseen(&e);
    both_die(&e);
    go_on_without(&e, KIND_NODE);
    estate_calm(&e);
    check_end(&e);
    estate_fini(&e);
}

/* And of the last projection of another leader. */
static void
test_a_term_begins_with_a_projection_unseen(void **state)
{
    static struct estate e;

    (void)state;
    give_up_a_projection_unseen(&e);
    estate_end_term(&e);
    both_die(&e);
    go_on_without(&e, KIND_NODE);
    estate_begin_term(&e);
    go_on_without(&e, KIND_NODE);
    estate_calm(&e);
    check_end(&e);
    estate_fini(&e);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_die_with_a_binding_unseen),
        cmocka_unit_test(test_both_die_with_a_projection_unseen),
        cmocka_unit_test(test_a_term_begins_with_a_projection_unseen),
        cmocka_unit_test(test_histories_without_faults),
        cmocka_unit_test(test_histories_with_faults),
    };

    log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    return cmocka_run_group_tests_name("placer history", tests, NULL, NULL);
}
