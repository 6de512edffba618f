/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/placer.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/log.h"
#include "common/mem.h"
#include "placer/decide.h"
#include "placer/pending.h"
#include "placer/status.h"
#include "proto/frame.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* To a map of names, which owns them. */
static void
add_name(struct map *names, const char *name)
{
    char *copy;

    if (map_get(names, name) != NULL)
        return;
    copy = mem_strdup(name);
    map_put(names, copy, copy);
}

static void
forget_name(struct map *names, struct str name)
{
    char *key;

    if (names->count == 0)
        return;
    key = mem_dup(name.s, name.n);
    free(map_remove(names, key));
    free(key);
}

static void
forget_names(struct map *names)
{
    size_t pos = 0;
    char *name;

    while ((name = map_next(names, &pos)) != NULL)
        free(name);
    map_fini(names);
}

void
placer_touch(struct placer *p, const char *rack)
{
    if (!p->rebuild)
        add_name(&p->dirty, rack);
}

void
placer_hold(struct placer *p, const char *rack)
{
    add_name(&p->held, rack);
}

void
placer_know(struct placer *p, struct str node)
{
    add_name(&p->known, node.s);
}

void
placer_starve(struct placer *p, enum action action)
{
    p->starved |= 1u << action;
}

void
placer_park(struct placer *p, const char *rack)
{
    add_name(&p->parked, rack);
}

struct projection
placer_projection(const struct placer *p, const struct object_rack *rack,
                  const struct object_slot *slot, struct arena *arena)
{
    return project_wanted(rack, slot, !p->no_clique, arena);
}

void
placer_projecting(const struct placer *p, struct projecting *x,
                  const struct object_rack *rack)
{
    projecting_begin(x, rack, !p->no_clique);
}

static void
touched(void *arg, const char *rack)
{
    placer_touch(arg, rack);
}

/* Takes over the name. */
static void
enqueue(struct placer *p, char *name)
{
    if (map_get(&p->queue, name) != NULL)
        free(name);
    else
        map_put(&p->queue, name, name);
}

const char *
placer_next(struct placer *p)
{
    size_t pos = 0;
    char *name;

    if (p->queue.count == 0) {
        while ((name = map_next(&p->dirty, &pos)) != NULL)
            enqueue(p, name);
        map_fini(&p->dirty);
        pos = 0;
    }
    return map_next(&p->queue, &pos);
}

void
placer_looked(struct placer *p, const char *rack)
{
    free(map_remove(&p->queue, rack));
}

/* Before its ledger the projector takes nothing, and has nothing of ours. */
static void
say(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct placer *p = arg;

    if (p->linked)
        p->send(p->arg, type, id, body);
}

void
placer_init(struct placer *p,
            void (*send)(void *arg, uint16_t type, uint32_t id,
                         struct str body),
            void *arg)
{
    *p = (struct placer){.rebuild = true, .send = send, .arg = arg};
    p->wishes.send = say;
    p->wishes.arg = p;
    p->alloc.touched = touched;
    p->alloc.arg = p;
}

void
placer_stray(struct placer *p, const char *node)
{
    add_name(&p->strays, node);
}

void
placer_vary(struct placer *p, int64_t variant)
{
    p->no_clique = (variant & PLACER_NO_CLIQUE) != 0;
}

int64_t
placer_variant(const struct placer *p)
{
    return p->no_clique ? PLACER_NO_CLIQUE : 0;
}

/* ---- what is derived from the model ------------------------------------ */

/* A declaration changes: what is derived borrows from it, and goes first. */
static void
drop_derived(struct placer *p)
{
    p->rebuild = true;
    alloc_fini(&p->alloc);
    forget_names(&p->dirty);
    forget_names(&p->held);
    forget_names(&p->queue);
    forget_names(&p->parked);
}

static struct place_node
place_node_of(const struct world_node *n)
{
    return (struct place_node){
        .name = n->o.meta.name,
        .uid = n->o.meta.uid,
        .created = n->o.meta.created,
        .terminating = n->o.meta.deleting,
        .labels = n->o.meta.labels,
    };
}

/* The number of an inventory in the plan; its count if it is not there. */
static size_t
number_of(const struct placer *p, const struct object_ref *inventory)
{
    const struct plan_inventory *v = plan_inventory(&p->plan, inventory);

    return v == NULL ? p->plan.inventory_count
                     : (size_t)(v - p->plan.inventories);
}

/* The bound slots of a rack that an inventory of the plan owns; or owned, if
 * the rack is being deleted, for it is cleaned all the same. */
static void
bind_standing(struct placer *p, const struct object_rack *r)
{
    struct place_binding *bindings;
    struct place_binding b = {
        .inventory = r->inventory,
        .group = r->group,
        .rack = r->index,
        .stray = !plan_canonical(&p->plan, r),
    };
    size_t inventory = number_of(p, &r->inventory);
    size_t count = 0;

    if (!rack_owned(r) ||
        (inventory == p->plan.inventory_count && !r->meta.deleting)) {
        placer_touch(p, r->meta.name.s);
        return;
    }
    bindings = mem_zalloc(r->slot_count * sizeof(*bindings));
    for (size_t i = 0; i < r->slot_count; i++) {
        if (r->slots[i].node.name.n == 0)
            continue;
        b.slot = r->slots[i].index;
        b.node = r->slots[i].node;
        bindings[count++] = b;
    }
    alloc_rack_put(&p->alloc, r->meta.name.s, inventory, bindings, count);
    free(bindings);
}

static bool
has_binding(const struct pending *a, const struct object_slot *slot)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->bindings[i].slot == slot->index &&
            str_eq(a->bindings[i].node.uid, slot->node.uid))
            return true;
    return false;
}

/* All that may be bound in a rack with a write pending: what stood when it was
 * said, what it binds, and what another leader has bound since. */
static void
bind_pending(struct placer *p, const struct pending *a,
             const struct object_rack *r)
{
    bool stray = r == NULL ? plan_rack(&p->plan, a->rack) == NULL
                           : !plan_canonical(&p->plan, r);
    size_t standing = r == NULL ? 0 : r->slot_count;
    struct place_binding *all =
        mem_zalloc((a->count + standing) * sizeof(*all));
    size_t count = 0;

    for (; count < a->count; count++) {
        all[count] = a->bindings[count];
        all[count].stray = stray;
    }
    for (size_t i = 0; i < standing; i++) {
        if (r->slots[i].node.name.n == 0 || has_binding(a, &r->slots[i]))
            continue;
        all[count] = (struct place_binding){
            .inventory = r->inventory,
            .group = r->group,
            .rack = r->index,
            .stray = stray,
            .slot = r->slots[i].index,
            .node = r->slots[i].node,
        };
        count++;
    }
    alloc_rack_put(&p->alloc, a->rack, number_of(p, &a->inventory), all, count);
    free(all);
}

/* What counts as bound in a rack. */
static void
bind(struct placer *p, const char *name)
{
    const struct pending *a = pending_of(p, name);
    const struct world_rack *r = world_rack(&p->world, name);

    if (a != NULL)
        bind_pending(p, a, r == NULL ? NULL : &r->o);
    else if (r != NULL)
        bind_standing(p, &r->o);
    else
        placer_touch(p, name);
}

void
placer_rebind(struct placer *p, const char *rack)
{
    if (p->rebuild)
        return;
    alloc_rack_take(&p->alloc, rack);
    bind(p, rack);
}

/* The groups that take no part: their Nodes count as requested (mokka-control
 * 6.1). */
static void
watch_groups(struct placer *p, size_t number)
{
    const struct plan_inventory *v = &p->plan.inventories[number];

    for (size_t i = 0; v->verdict.budgeted && i < v->group_count; i++) {
        const struct plan_group *g = &v->groups[i];
        const struct alloc_watch watch = {
            .selector = &g->spec->selector,
            .number = number,
        };

        if (!plan_allocates(g) && g->spec->sound)
            alloc_watch(&p->alloc, &watch);
    }
}

static void
load_groups(struct placer *p)
{
    struct place_group groups[MAX_GROUPS];
    size_t inventory_of[MAX_GROUPS];
    size_t count = 0;

    for (size_t i = 0; i < p->plan.inventory_count; i++) {
        const struct plan_inventory *v = &p->plan.inventories[i];

        for (size_t j = 0; j < v->group_count; j++) {
            const struct plan_group *g = &v->groups[j];

            if (!plan_allocates(g) || count == MAX_GROUPS)
                continue;
            inventory_of[count] = i;
            groups[count++] = (struct place_group){
                .inventory = plan_ref(v),
                .id = g->spec->id,
                .selector = &g->spec->selector,
                .racks = g->spec->count,
                .nodes_per_rack = g->profile->nodes_per_rack,
            };
        }
    }
    alloc_reset(&p->alloc, groups, inventory_of, count,
                p->plan.inventory_count);
    for (size_t i = 0; i < p->plan.inventory_count; i++)
        watch_groups(p, i);
}

static void
rebuild(struct placer *p)
{
    const struct map *racks = &p->world.kinds[KIND_RACK];
    const struct map *nodes = &p->world.kinds[KIND_NODE];
    struct plan old = p->plan;
    const struct pending *a;
    const struct plan_rack *wanted;
    const struct world_node *n;
    const struct world_rack *r;
    size_t pos = 0;

    plan_make(&p->plan, &old, &p->world, &p->barred);
    p->rebuild = p->recharged = false;
    load_groups(p);
    tally_reset(p);
    for (pos = 0; (a = map_next(&p->pending, &pos)) != NULL;)
        bind(p, a->rack);
    for (pos = 0; (r = map_next(racks, &pos)) != NULL;)
        if (pending_of(p, r->o.meta.name.s) == NULL)
            bind(p, r->o.meta.name.s);
    /* After the racks, so that those that are bound never wait. */
    for (pos = 0; (n = map_next(nodes, &pos)) != NULL;) {
        struct place_node node = place_node_of(n);

        alloc_node_put(&p->alloc, &node);
    }
    for (pos = 0; (wanted = map_next(&p->plan.racks, &pos)) != NULL;)
        placer_touch(p, wanted->name);
}

/* Of all that something happened to, what is settled is forgotten; that may
 * touch others. */
static void
settle_dirty(struct placer *p)
{
    while (p->dirty.count > 0) {
        struct map dirty = p->dirty;
        size_t pos = 0;
        char *name;

        p->dirty = (struct map){0};
        while ((name = map_next(&dirty, &pos)) != NULL) {
            pending_settle(p, name);
            enqueue(p, name);
        }
        map_fini(&dirty);
    }
}

void
placer_fini(struct placer *p)
{
    drop_derived(p);
    pending_fini(p);
    forget_names(&p->strays);
    forget_names(&p->left);
    forget_names(&p->cleaned);
    forget_names(&p->known);
    decide_fini(p);
    plan_unbar(&p->barred);
    free(p->racks_as_of);
    tally_fini(&p->tally);
    plan_fini(&p->plan);
    wish_fini(&p->wishes);
    news_fini(&p->news);
    world_fini(&p->world);
}

static void
say_plan(struct placer *p, uint64_t term)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, (int64_t)term);
    p->wishes.send(p->wishes.arg, MSG_PLAN_BEGIN, 0, buf_str(&body));
    buf_fini(&body);
}

void
placer_left(struct placer *p, const char *node)
{
    if (wish_look(&p->wishes, ACTION_NODE, str_of(node)).state != WISH_NONE)
        add_name(&p->left, node);
}

/* Of Nodes that no rack binds any more nothing is wanted. */
static void
settle_left(struct placer *p)
{
    size_t pos = 0;
    const char *name;

    while ((name = map_next(&p->left, &pos)) != NULL)
        if (alloc_named(&p->alloc, name) == NULL)
            wish_drop(&p->wishes, ACTION_NODE, str_of(name));
    forget_names(&p->left);
}

static void
tell_plan(const struct placer *p)
{
    log_debug(
        "allocation planned", F_INT("inventories", p->plan.inventory_count),
        F_INT("groups", p->alloc.group_count), F_INT("intents", p->wishes.open),
        F_INT("pendingNodes", alloc_all_pending(&p->alloc)),
        F_INT("conflictedNodes", alloc_all_conflicts(&p->alloc)));
}

/* One pass: say what differs between wanted and standing. */
static void
plan(struct placer *p)
{
    if (!p->rebuild && p->recharged && plan_readmit(&p->plan))
        drop_derived(p);
    p->recharged = false;
    if (p->rebuild) {
        drop_derived(p);
        rebuild(p);
    }
    decide_held(p);
    settle_dirty(p);
    settle_left(p);
    decide(p);
    status_inventories(p);
    p->led = p->term;
    tell_plan(p);
}

/* A new link, or a new term, is opened with a plan in brackets. */
static void
work(struct placer *p)
{
    bool began = p->planned != p->term;

    /* In the middle of a batch: its end follows. */
    if (p->feeding || !p->synced || p->term == 0 || !p->linked)
        return;
    if (began)
        say_plan(p, p->term);
    p->starved = 0;
    p->wishes.missed = false;
    p->wishes.wary = !placer_is_current(p);
    if (pending_ledger(p))
        plan(p);
    if (began)
        p->wishes.send(p->wishes.arg, MSG_PLAN_END, 0, STR(""));
    p->planned = p->term;
}

/* ---- frames of the feed ------------------------------------------------ */

/* A declaration is the same if its spec, instance and deletion are; the racks
 * of an inventory also wait for its finalizer. */
static bool
same_declaration(const struct placer *p, enum object_kind kind,
                 const char *name, const void *record)
{
    const struct world_profile *p1 = record;
    const struct world_profile *p0 = world_profile(&p->world, name);
    const struct world_inventory *v1 = record;
    const struct world_inventory *v0 = world_inventory(&p->world, name);

    if (kind == KIND_PROFILE)
        return p0 != NULL && p0->spec.generation == p1->spec.generation &&
               strcmp(p0->spec.uid, p1->spec.uid) == 0;
    return v0 != NULL && v0->o.meta.generation == v1->o.meta.generation &&
           v0->o.meta.deleting == v1->o.meta.deleting &&
           v0->o.meta.created == v1->o.meta.created &&
           world_has_finalizer(v0) == world_has_finalizer(v1) &&
           str_eq(v0->o.meta.uid, v1->o.meta.uid);
}

static void
put_declaration(struct placer *p, enum object_kind kind, const char *name,
                void *record)
{
    if (!same_declaration(p, kind, name, record))
        drop_derived(p);
    world_put(&p->world, kind, name, record);
}

static bool
is_projected(struct str key)
{
    return str_is(key, LABEL_ASSIGNED) || str_is(key, LABEL_CLIQUE);
}

/* Labels but the two that we project (C05: their echo moves nothing). */
static bool
same_labels(struct pairs a, struct pairs b)
{
    size_t i = 0;
    size_t j = 0;

    for (;;) {
        while (i < a.count && is_projected(pairs_at(a, i)->key))
            i++;
        while (j < b.count && is_projected(pairs_at(b, j)->key))
            j++;
        if (i == a.count || j == b.count)
            return i == a.count && j == b.count;
        if (!pair_eq(pairs_at(a, i), pairs_at(b, j)))
            return false;
        i++;
        j++;
    }
}

static bool
same_node(const struct object_meta *a, const struct object_meta *b)
{
    return str_eq(a->uid, b->uid) && a->created == b->created &&
           a->deleting == b->deleting && same_labels(a->labels, b->labels);
}

static struct object_ref
node_ref(const struct world_node *n)
{
    return (struct object_ref){n->o.meta.name, n->o.meta.uid};
}

static void
put_node(struct placer *p, enum object_kind kind, const char *name,
         void *record)
{
    const struct world_node *old = world_node(&p->world, name);
    const struct world_node *news = record;
    bool same = old != NULL && same_node(&old->o.meta, &news->o.meta);
    /* Its texts stay where they are, whichever record they end up in. */
    struct place_node node = place_node_of(news);

    forget_name(&p->cleaned, node.uid);
    if (p->rebuild) {
        world_put(&p->world, kind, name, record);
        return;
    }
    if (same)
        alloc_node_renew(&p->alloc, &node);
    else if (old != NULL)
        alloc_node_take(&p->alloc, node_ref(old));
    world_put(&p->world, kind, name, record);
    if (!same && !alloc_node_put(&p->alloc, &node))
        log_warn("two Nodes have one uid, the later is ignored",
                 F_STR("node", node.name.s), F_STR("uid", node.uid.s));
}

/* Does a rack (NULL: it does not) bind a Node of that name?  Most likely where
 * it did before. */
static bool
names(const struct object_rack *r, struct str node, size_t before)
{
    if (r != NULL && before < r->slot_count &&
        str_eq(r->slots[before].node.name, node))
        return true;
    for (size_t i = 0; r != NULL && i < r->slot_count; i++)
        if (str_eq(r->slots[i].node.name, node))
            return true;
    return false;
}

/* A rack becomes another, or nothing (NULL): notes the Nodes that it does not
 * bind any more. */
static void
leave_nodes(struct placer *p, const struct object_rack *old,
            const struct object_rack *news)
{
    for (size_t i = 0; i < old->slot_count; i++) {
        const struct object_ref *node = &old->slots[i].node;

        if (node->name.n == 0 || names(news, node->name, i))
            continue;
        placer_left(p, node->name.s);
        placer_stray(p, node->name.s);
        forget_name(&p->cleaned, node->uid);
        forget_name(&p->known, node->uid);
    }
}

static void
put_rack(struct placer *p, enum object_kind kind, const char *name,
         void *record)
{
    const struct world_rack *old = world_rack(&p->world, name);
    const struct world_rack *news = record;
    const struct world_rack *r = old != NULL ? old : news;

    if (!p->rebuild)
        alloc_rack_take(&p->alloc, name);
    if (old != NULL)
        leave_nodes(p, &old->o, &news->o);
    if (!p->rebuild && old != NULL)
        plan_charge(&p->plan, &old->o, false);
    world_put(&p->world, kind, name, record);
    if (p->rebuild)
        return;
    plan_charge(&p->plan, &r->o, true);
    p->recharged = true;
    bind(p, r->o.meta.name.s);
}

static const struct {
    uint16_t type;
    enum object_kind kind;
    void (*put)(struct placer *p, enum object_kind kind, const char *name,
                void *record);
} takers[] = {
    {MSG_PROFILE, KIND_PROFILE, put_declaration},
    {MSG_INVENTORY, KIND_INVENTORY, put_declaration},
    {MSG_RACK, KIND_RACK, put_rack},
    {MSG_NODE, KIND_NODE, put_node},
};

static int
on_object(struct placer *p, uint16_t type, uint32_t id,
          const struct value *body, struct err *err)
{
    (void)id;
    p->feeding = true;
    for (size_t i = 0; i < nitems(takers); i++) {
        const char *name;
        void *record;

        if (takers[i].type != type)
            continue;
        record = world_read(&p->world, takers[i].kind, body, &name, err);
        if (record == NULL)
            return -1;
        takers[i].put(p, takers[i].kind, name, record);
        return 0;
    }
    return err_set(err, "no object");
}

static void
remove_rack(struct placer *p, const char *name)
{
    const struct world_rack *r = world_rack(&p->world, name);

    if (r != NULL)
        leave_nodes(p, &r->o, NULL);
    if (!p->rebuild && r != NULL) {
        alloc_rack_take(&p->alloc, name);
        plan_charge(&p->plan, &r->o, false);
        p->recharged = true;
    }
    world_remove(&p->world, KIND_RACK, name);
    if (!p->rebuild) {
        bind(p, name);
        /* Texts speak of what is counted, and it may be long until it is
         * looked at. */
        tally_count(p, name);
    }
    wish_drop(&p->wishes, ACTION_RACK_STATUS, str_of(name));
    pending_gone(p, name);
    placer_touch(p, name);
}

/* What was answered of it does not tell how it is once it is not shown. */
static void
remove_node(struct placer *p, const char *name)
{
    const struct world_node *n = world_node(&p->world, name);
    struct wish w = wish_look(&p->wishes, ACTION_NODE, str_of(name));

    if (w.state == WISH_DONE || w.state == WISH_REFUSED)
        wish_drop(&p->wishes, ACTION_NODE, str_of(name));
    if (n != NULL)
        forget_name(&p->known, n->o.meta.uid);
    if (!p->rebuild && n != NULL)
        alloc_node_take(&p->alloc, node_ref(n));
    decide_forget(p, name);
    world_remove(&p->world, KIND_NODE, name);
}

static void
remove_declaration(struct placer *p, const char *name, enum object_kind kind)
{
    drop_derived(p);
    world_remove(&p->world, kind, name);
    if (kind != KIND_INVENTORY)
        return;
    wish_drop(&p->wishes, ACTION_INVENTORY_STATUS, str_of(name));
    wish_drop(&p->wishes, ACTION_INVENTORY_FINALIZER, str_of(name));
    news_forget(&p->news, name);
}

static void
remove_object(struct placer *p, enum object_kind kind, const char *name)
{
    if (kind == KIND_RACK)
        remove_rack(p, name);
    else if (kind == KIND_NODE)
        remove_node(p, name);
    else
        remove_declaration(p, name, kind);
}

/* Removes the object if it is there under that uid; a rack that never was is
 * looked at. */
static void
remove_exact(struct placer *p, enum object_kind kind, const char *name,
             struct str uid)
{
    const void *record = map_get(&p->world.kinds[kind], name);

    if (record == NULL && kind == KIND_RACK)
        placer_touch(p, name);
    if (kind == KIND_NODE)
        forget_name(&p->cleaned, uid);
    if (record != NULL && str_eq(world_ref(kind, record).uid, uid))
        remove_object(p, kind, name);
}

static int
on_gone(struct placer *p, uint16_t type, uint32_t id, const struct value *body,
        struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t kind = unpack_int(&u);
    struct str name = unpack_str(&u);
    struct str uid = unpack_str(&u);
    char *key;

    (void)type;
    (void)id;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (kind < 0 || kind >= KIND_COUNT)
        return err_set(err, "kind %d", (int)kind);
    p->feeding = true;
    key = mem_dup(name.s, name.n);
    remove_exact(p, (enum object_kind)kind, key, uid);
    free(key);
    return 0;
}

/* What a sync did not name is gone. */
static void
sweep(struct placer *p)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;
        void *record;

        while ((record = map_next(&p->world.kinds[kind], &pos)) != NULL) {
            char *name;

            if (world_seen((enum object_kind)kind, record))
                continue;
            name = mem_strdup(world_ref((enum object_kind)kind, record).name.s);
            remove_object(p, (enum object_kind)kind, name);
            free(name);
        }
    }
}

static int
on_as_of(struct placer *p, uint16_t type, uint32_t id, const struct value *body,
         struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t kind = unpack_int(&u);
    struct str version = unpack_str(&u);

    (void)type;
    (void)id;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (kind != KIND_RACK)
        return 0;
    free(p->racks_as_of);
    p->racks_as_of = mem_dup(version.s, version.n);
    return 0;
}

/* An answer to an earlier term's question is none to this one's. */
static int
on_current(struct placer *p, uint16_t type, uint32_t id,
           const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    struct moment moment = unpack_moment(&u);

    (void)type;
    (void)id;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (moment.term == 0 || !moment_is_sound(moment))
        return err_set(err, "there is no such term");
    p->current = moment;
    if (p->wishes.missed)
        work(p);
    return 0;
}

static int
on_sync_begin(struct placer *p, uint16_t type, uint32_t id,
              const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    if (p->syncing)
        return err_set(err, "a sync is open already");
    p->syncing = p->feeding = true;
    drop_derived(p);
    free(p->racks_as_of);
    p->racks_as_of = NULL;
    world_unsee(&p->world);
    return 0;
}

static int
on_sync_end(struct placer *p, uint16_t type, uint32_t id,
            const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    if (!p->syncing)
        return err_set(err, "no sync is open");
    p->syncing = p->feeding = false;
    p->synced = true;
    sweep(p);
    work(p);
    return 0;
}

static int
on_batch_end(struct placer *p, uint16_t type, uint32_t id,
             const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    (void)err;
    p->feeding = p->syncing;
    work(p);
    return 0;
}

static int
on_written(struct placer *p, uint16_t type, uint32_t id,
           const struct value *body, struct err *err)
{
    struct arena arena = {0};
    enum action action;
    struct target t;
    int rc = written_unpack(&action, &t, body, &arena, err);

    (void)type;
    (void)id;
    if (rc == 0)
        pending_note(p, action, &t);
    arena_fini(&arena);
    return rc;
}

static int
on_written_end(struct placer *p, uint16_t type, uint32_t id,
               const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t ledger = unpack_int(&u);

    (void)type;
    (void)id;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (ledger <= 0)
        return err_set(err, "there is no such ledger");
    p->ledger = (uint64_t)ledger;
    if (p->born == 0)
        p->born = p->ledger;
    p->linked = true;
    p->planned = 0;
    pending_noted(p);
    work(p);
    return 0;
}

/* Is it worth asking again for something that was held back? */
static bool
has_room(const struct placer *p)
{
    for (unsigned i = 0; i < ACTION_COUNT; i++)
        if ((p->starved & 1u << i) != 0 &&
            wish_has_room(&p->wishes, (enum action)i))
            return true;
    return decide_may_unpark(p);
}

/* Whether a result lets something go on that no later frame of the feed would:
 * the echo of a write brings its own. */
static bool
matters(const struct placer *p, const struct result *r)
{
    const struct world_node *node = world_node(&p->world, r->name.s);
    const struct world_rack *rack = world_rack(&p->world, r->name.s);
    const struct world_inventory *v = world_inventory(&p->world, r->name.s);

    if (r->outcome != OUTCOME_DONE || has_room(p))
        return true;
    switch (r->action) {
    case ACTION_RACK:
        return version_cmp(rack == NULL ? str_of(p->racks_as_of)
                                        : rack->o.meta.version,
                           r->version) >= 0;
    case ACTION_NODE:
        return node == NULL ||
               version_cmp(node->o.meta.version, r->version) >= 0;
    case ACTION_INVENTORY_FINALIZER:
        return v != NULL && version_cmp(v->o.meta.version, r->version) >= 0;
    default:
        return false;
    }
}

/* Nothing of ours is on a Node that the feed does not show. */
static void
note_clean(struct placer *p, const struct result *r)
{
    const struct object_ref node = {r->name, r->uid};
    struct wish w = wish_look(&p->wishes, ACTION_NODE, r->name);

    if (w.basis[0] != '\0' || r->uid.n == 0 ||
        world_node_exact(&p->world, &node) != NULL ||
        (r->outcome != OUTCOME_DONE && r->outcome != OUTCOME_GONE))
        return;
    add_name(&p->cleaned, r->uid.s);
    wish_drop(&p->wishes, ACTION_NODE, r->name);
}

/* The API server does not take a rack: its group waits for another profile. */
static void
bar_group(struct placer *p, const struct result *r)
{
    struct wish w = wish_look(&p->wishes, ACTION_RACK, r->name);
    const struct plan_rack *rack;

    if (r->outcome != OUTCOME_INVALID || w.type != MSG_RACK_WRITE || p->rebuild)
        return;
    rack = plan_rack(&p->plan, r->name.s);
    if (rack == NULL)
        return;
    plan_bar(&p->barred, rack->group, r->reason);
    drop_derived(p);
}

/* The racks that a result may let go on. */
static void
touch_result(struct placer *p, const struct result *r)
{
    if (r->action == ACTION_RACK || r->action == ACTION_RACK_STATUS) {
        placer_touch(p, r->name.s);
    } else if (r->action == ACTION_NODE) {
        note_clean(p, r);
        for (const struct alloc_binding *b = alloc_named(&p->alloc, r->name.s);
             b != NULL; b = b->named)
            placer_touch(p, b->rack->name);
    }
}

static int
on_result(struct placer *p, uint16_t type, uint32_t id,
          const struct value *body, struct err *err)
{
    struct arena arena = {0};
    struct result r;
    int rc = result_unpack(&r, body, &arena, err);

    (void)type;
    if (rc == 0 && wish_result(&p->wishes, id, &r)) {
        touch_result(p, &r);
        if (r.action == ACTION_RACK)
            bar_group(p, &r);
        if (r.outcome != OUTCOME_DONE)
            log_debug("intent refused", F_STR("action", action_name(r.action)),
                      F_STR("name", r.name.s),
                      F_STR("outcome", outcome_name(r.outcome)),
                      F_STR("reason", r.reason.s));
        if (matters(p, &r))
            work(p);
    }
    arena_fini(&arena);
    return rc;
}

static int
on_resting(struct placer *p, uint16_t type, uint32_t id,
           const struct value *body, struct err *err)
{
    struct arena arena = {0};
    enum action action;
    struct str name;
    int rc = intent_withdraw_unpack(&action, &name, body, &arena, err);

    (void)type;
    if (rc == 0 && wish_rest(&p->wishes, id, action, name) && has_room(p))
        work(p);
    arena_fini(&arena);
    return rc;
}

static const struct {
    uint16_t type;
    int (*handle)(struct placer *p, uint16_t type, uint32_t id,
                  const struct value *body, struct err *err);
} handlers[] = {
    {MSG_SYNC_BEGIN, on_sync_begin}, {MSG_SYNC_END, on_sync_end},
    {MSG_BATCH_END, on_batch_end},   {MSG_AS_OF, on_as_of},
    {MSG_CURRENT, on_current},       {MSG_PROFILE, on_object},
    {MSG_INVENTORY, on_object},      {MSG_RACK, on_object},
    {MSG_NODE, on_object},           {MSG_GONE, on_gone},
    {MSG_WRITTEN, on_written},       {MSG_WRITTEN_END, on_written_end},
    {MSG_RESULT, on_result},         {MSG_RESTING, on_resting},
};

int
placer_frame(struct placer *p, uint16_t type, uint32_t id,
             const struct value *body, struct err *err)
{
    for (size_t i = 0; i < nitems(handlers); i++)
        if (handlers[i].type == type)
            return handlers[i].handle(p, type, id, body, err);
    return err_set(err, "no message for the placer");
}

void
placer_feed_lost(struct placer *p)
{
    p->syncing = false;
}

/* What came of open wishes must be asked: everything is looked at. */
void
placer_projector_lost(struct placer *p)
{
    p->linked = false;
    p->planned = 0;
    wish_lose(&p->wishes, false);
    drop_derived(p);
}

void
placer_term_began(struct placer *p, uint64_t term)
{
    if (p->term == term)
        return;
    if (p->term != 0)
        placer_term_ended(p);
    p->term = term;
    work(p);
}

bool
placer_is_current(const struct placer *p)
{
    return moment_covers(p->current, (struct moment){p->term, p->born});
}

struct moment
placer_asks(const struct placer *p)
{
    return (struct moment){p->wishes.missed ? p->term : 0, p->ledger};
}

void
placer_term_ended(struct placer *p)
{
    p->wishes.missed = false;
    p->term = 0;
    p->planned = 0;
    wish_lose(&p->wishes, true);
    forget_names(&p->cleaned);
    forget_names(&p->known);
    plan_unbar(&p->barred);
    drop_derived(p);
    say_plan(p, 0);
    say(p, MSG_PLAN_END, 0, STR(""));
}
