/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/placer_work.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/log.h"
#include "common/mem.h"
#include "placer/decide.h"
#include "placer/names.h"
#include "placer/pending.h"
#include "proto/frame.h"
#include "proto/unpack.h"

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
        placer_drop_derived(p);
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

static void
put_node(struct placer *p, enum object_kind kind, const char *name,
         void *record)
{
    const struct world_node *old = world_node(&p->world, name);
    const struct world_node *news = record;
    bool same = old != NULL && same_node(&old->o.meta, &news->o.meta);
    /* Its texts stay where they are, whichever record they end up in. */
    struct place_node node = placer_node_of(news);

    names_forget(&p->cleaned, node.uid);
    if (p->rebuild) {
        world_put(&p->world, kind, name, record);
        return;
    }
    if (same)
        alloc_node_renew(&p->alloc, &node);
    else if (old != NULL)
        alloc_node_take(&p->alloc, world_ref(KIND_NODE, old));
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
        names_forget(&p->cleaned, node->uid);
        names_forget(&p->known, node->uid);
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
    placer_bind(p, r->o.meta.name.s);
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

int
placer_on_object(struct placer *p, uint16_t type, uint32_t id,
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
        placer_bind(p, name);
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
        names_forget(&p->known, n->o.meta.uid);
    if (!p->rebuild && n != NULL)
        alloc_node_take(&p->alloc, world_ref(KIND_NODE, n));
    decide_forget(p, name);
    world_remove(&p->world, KIND_NODE, name);
}

static void
remove_declaration(struct placer *p, const char *name, enum object_kind kind)
{
    placer_drop_derived(p);
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
        names_forget(&p->cleaned, uid);
    if (record != NULL && str_eq(world_ref(kind, record).uid, uid))
        remove_object(p, kind, name);
}

int
placer_on_gone(struct placer *p, uint16_t type, uint32_t id,
               const struct value *body, struct err *err)
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

int
placer_on_as_of(struct placer *p, uint16_t type, uint32_t id,
                const struct value *body, struct err *err)
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
int
placer_on_current(struct placer *p, uint16_t type, uint32_t id,
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
        placer_work(p);
    return 0;
}

int
placer_on_sync_begin(struct placer *p, uint16_t type, uint32_t id,
                     const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    if (p->syncing)
        return err_set(err, "a sync is open already");
    p->syncing = p->feeding = true;
    placer_drop_derived(p);
    free(p->racks_as_of);
    p->racks_as_of = NULL;
    world_unsee(&p->world);
    return 0;
}

int
placer_on_sync_end(struct placer *p, uint16_t type, uint32_t id,
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
    placer_work(p);
    return 0;
}

int
placer_on_batch_end(struct placer *p, uint16_t type, uint32_t id,
                    const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    (void)err;
    p->feeding = p->syncing;
    placer_work(p);
    return 0;
}
