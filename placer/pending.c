/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/pending.h"

#include <stdlib.h>

#include "common/mem.h"
#include "proto/frame.h"

/* An entry of the ledger. */
struct noted {
    char *key; /* action, name */
    enum action action;
    char *name, *version;
};

/* ---- what a rack may bind ---------------------------------------------- */

static void
pending_free(struct pending *a)
{
    if (a == NULL)
        return;
    free(a->rack);
    arena_fini(&a->arena);
    free(a);
}

const struct pending *
pending_of(const struct placer *p, const char *rack)
{
    return map_get(&p->pending, rack);
}

static void
forget(struct placer *p, const char *rack)
{
    struct pending *a = map_remove(&p->pending, rack);

    if (a == NULL)
        return;
    placer_rebind(p, a->rack);
    for (size_t i = 0; i < a->count; i++)
        placer_left(p, a->bindings[i].node.name.s);
    pending_free(a);
}

static bool
writes(const struct pending_write *w, int64_t slot, struct object_ref node)
{
    return slot >= 0 && slot < (int64_t)w->count &&
           str_eq(w->nodes[slot].uid, node.uid);
}

static void
may_bind(struct pending *a, const struct place_binding *where, int64_t slot,
         struct object_ref node, bool leaving)
{
    struct place_binding b = *where;

    if (node.name.n == 0)
        return;
    b.slot = slot;
    b.node.name = arena_str(&a->arena, node.name);
    b.node.uid = arena_str(&a->arena, node.uid);
    a->leaving[a->count] = leaving;
    a->bindings[a->count++] = b;
}

/* What stands, then what the write adds to it. */
static void
fill(struct pending *a, const struct place_binding *where,
     const struct pending_write *w)
{
    const struct object_rack *have = w->have == NULL ? NULL : &w->have->o;
    size_t standing = have == NULL ? 0 : have->slot_count;

    a->bindings =
        arena_alloc(&a->arena, (standing + w->count) * sizeof(*a->bindings));
    a->leaving =
        arena_alloc(&a->arena, (standing + w->count) * sizeof(*a->leaving));
    for (size_t i = 0; i < standing; i++)
        may_bind(a, where, have->slots[i].index, have->slots[i].node,
                 !writes(w, have->slots[i].index, have->slots[i].node));
    for (size_t i = 0; i < w->count; i++) {
        const struct object_slot *slot =
            have == NULL ? NULL : rack_slot(have, (int64_t)i);

        if (slot == NULL || !str_eq(slot->node.uid, w->nodes[i].uid))
            may_bind(a, where, (int64_t)i, w->nodes[i], false);
    }
}

void
pending_begin(struct placer *p, const struct pending_write *w)
{
    struct pending *a = mem_zalloc(sizeof(*a));
    struct place_binding where = w->where;
    struct pending *old;

    a->rack = mem_strdup(w->rack);
    where.group = arena_str(&a->arena, where.group);
    where.inventory.name = arena_str(&a->arena, where.inventory.name);
    where.inventory.uid = arena_str(&a->arena, where.inventory.uid);
    a->inventory = where.inventory;
    fill(a, &where, w);
    /* What alloc has of the rack borrows from what goes. */
    alloc_rack_take(&p->alloc, w->rack);
    old = map_put(&p->pending, a->rack, a);
    placer_rebind(p, a->rack);
    pending_free(old);
}

/* ---- how a write stands ------------------------------------------------ */

/* Does the feed show what came of an answered write?  have is the rack, or
 * NULL; what was refused without a version can be told only by a later one. */
static bool
is_shown(const struct placer *p, const struct wish *w,
         const struct world_rack *have)
{
    if (have == NULL)
        return version_cmp(str_of(p->racks_as_of), str_of(w->version)) >= 0;
    if (w->state == WISH_REFUSED && w->outcome == OUTCOME_INVALID)
        return true;
    if (w->state == WISH_REFUSED && w->version[0] == '\0')
        return version_cmp(have->o.meta.version, str_of(w->basis)) > 0;
    return version_cmp(have->o.meta.version, str_of(w->version)) >= 0;
}

enum pending_state
pending_look(const struct placer *p, const char *rack)
{
    const struct wish w = wish_look(&p->wishes, ACTION_RACK, str_of(rack));

    switch (w.state) {
    case WISH_OPEN:
        return PENDING_WAIT;
    case WISH_LOST:
        /* A conflicted write goes on from a later version: what the feed shows
         * does not tell whether it will. */
        return PENDING_ASK;
    case WISH_DONE:
    case WISH_REFUSED:
        return is_shown(p, &w, world_rack(&p->world, rack)) ? PENDING_NONE
                                                            : PENDING_WAIT;
    case WISH_NONE:
        break;
    }
    return PENDING_NONE;
}

static void
want_look(struct placer *p, const char *rack)
{
    const struct world_rack *have = world_rack(&p->world, rack);
    struct target target = {.name = str_of(rack)};
    struct buf body = {0};

    if (have != NULL)
        target = (struct target){str_of(rack), have->o.meta.uid,
                                 have->o.meta.version};
    intent_delete_pack(&body, &target);
    if (!wish_want(&p->wishes, ACTION_RACK, target.name, target.version,
                   MSG_RACK_LOOK, buf_str(&body)))
        placer_starve(p, ACTION_RACK);
    buf_fini(&body);
}

void
pending_ask(struct placer *p, const char *rack)
{
    if (pending_look(p, rack) == PENDING_ASK)
        want_look(p, rack);
}

void
pending_recall(struct placer *p, const char *rack)
{
    const struct wish w = wish_look(&p->wishes, ACTION_RACK, str_of(rack));

    if (w.state == WISH_OPEN && w.type == MSG_RACK_WRITE)
        want_look(p, rack);
}

void
pending_settle(struct placer *p, const char *rack)
{
    if (pending_look(p, rack) != PENDING_NONE)
        return;
    wish_drop(&p->wishes, ACTION_RACK, str_of(rack));
    forget(p, rack);
}

void
pending_gone(struct placer *p, const char *rack)
{
    const struct wish w = wish_look(&p->wishes, ACTION_RACK, str_of(rack));

    if (w.basis[0] == '\0')
        return;
    wish_drop(&p->wishes, ACTION_RACK, str_of(rack));
    forget(p, rack);
}

/* ---- the ledger of the projector --------------------------------------- */

static void
noted_free(struct noted *n)
{
    if (n == NULL)
        return;
    free(n->key);
    free(n->name);
    free(n->version);
    free(n);
}

void
pending_note(struct placer *p, enum action action, const struct target *target)
{
    struct noted *n = mem_zalloc(sizeof(*n));

    n->action = action;
    n->name = mem_dup(target->name.s, target->name.n);
    n->version = mem_dup(target->version.s, target->version.n);
    n->key = mem_printf("%d %s", (int)action, n->name);
    noted_free(map_put(&p->noted, n->key, n));
}

void
pending_noted(struct placer *p)
{
    const struct noted *n;
    size_t pos = 0;

    while ((n = map_next(&p->noted, &pos)) != NULL)
        wish_written(&p->wishes, n->action, str_of(n->name),
                     str_of(n->version));
}

/* Whether the feed shows what came of it; what is written to other objects than
 * racks can be seen on them. */
static bool
is_settled(struct placer *p, const struct noted *n)
{
    static const enum object_kind kinds[ACTION_COUNT] = {
        [ACTION_RACK] = KIND_RACK,
        [ACTION_NODE] = KIND_NODE,
        [ACTION_INVENTORY_FINALIZER] = KIND_INVENTORY,
        [ACTION_INVENTORY_STATUS] = KIND_INVENTORY,
        [ACTION_RACK_STATUS] = KIND_RACK,
    };

    if (n->action == ACTION_RACK) {
        pending_ask(p, n->name);
        pending_settle(p, n->name);
        return pending_look(p, n->name) == PENDING_NONE;
    }
    if (n->action == ACTION_NODE)
        placer_left(p, n->name);
    else if (map_get(&p->world.kinds[kinds[n->action]], n->name) == NULL)
        wish_drop(&p->wishes, n->action, str_of(n->name));
    return true;
}

bool
pending_ledger(struct placer *p)
{
    struct noted *n;
    size_t pos = 0;

    while ((n = map_next(&p->noted, &pos)) != NULL) {
        if (!is_settled(p, n))
            continue;
        map_remove(&p->noted, n->key);
        noted_free(n);
    }
    return p->noted.count == 0;
}

void
pending_fini(struct placer *p)
{
    struct pending *a;
    struct noted *n;
    size_t pos = 0;

    while ((a = map_next(&p->pending, &pos)) != NULL)
        pending_free(a);
    map_fini(&p->pending);
    for (pos = 0; (n = map_next(&p->noted, &pos)) != NULL;)
        noted_free(n);
    map_fini(&p->noted);
}
