/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/kube/json.h"
#include "common/mem.h"

/* ---- racks ------------------------------------------------------------- */

static int
by_index(const void *a, const void *b)
{
    const struct view_slot *x = a;
    const struct view_slot *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

static struct view_slot *
slot_at(struct view_rack *r, int64_t index)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->slots[i].index == index)
            return &r->slots[i];
    return NULL;
}

static struct object_ref
ref_of(const json_t *slot)
{
    return (struct object_ref){str_of(kube_json_text(slot, "nodeRef.name")),
                               str_of(kube_json_text(slot, "nodeRef.uid"))};
}

static struct object_ref
copy_ref(struct arena *arena, struct object_ref ref)
{
    return (struct object_ref){arena_str(arena, ref.name),
                               arena_str(arena, ref.uid)};
}

/* Which Nodes the slots had, by the spec that was given. */
static void
take_before(struct view_rack *r, const json_t *spec)
{
    const json_t *nodes = json_object_get(spec, "nodes");
    json_t *item;
    size_t i;

    json_array_foreach(nodes, i, item)
    {
        int64_t index = json_integer_value(json_object_get(item, "index"));
        bool here = i < r->count && r->slots[i].index == index;
        struct view_slot *slot = here ? &r->slots[i] : slot_at(r, index);

        if (slot == NULL) {
            slot = &r->slots[r->count++];
            slot->index = index;
            slot->now = (struct object_ref){STR(""), STR("")};
        }
        slot->before = copy_ref(&r->o->rack->arena, ref_of(item));
    }
}

static void
take_slots(struct view_rack *r)
{
    const struct object_rack *rack = &r->o->rack->o;
    bool moved = r->o->file != NULL && r->o->moved[PART_SPEC];
    json_t *spec = moved ? stored_tree_before(r->o, PART_SPEC) : NULL;
    size_t more = json_array_size(json_object_get(spec, "nodes"));
    const struct object_ref none = {STR(""), STR("")};

    r->slots = mem_zalloc((rack->slot_count + more) * sizeof(*r->slots));
    for (size_t i = 0; i < rack->slot_count; i++) {
        struct object_ref now = rack->slots[i].node;

        r->slots[r->count++] = (struct view_slot){
            .index = rack->slots[i].index,
            .now = r->o->gone ? none : now,
            .before = moved || r->o->file == NULL ? none : now,
        };
    }
    take_before(r, spec);
    if (r->count > 1)
        qsort(r->slots, r->count, sizeof(*r->slots), by_index);
    json_decref(spec);
}

static bool
is_blocked(const struct story *story, const struct view_rack *r,
           const struct view_slot *slot)
{
    const struct story_conflict *c =
        story->conflicts.count == 0
            ? NULL
            : map_get(&story->conflicts, slot->now.name.s);

    return c != NULL && c->kind == STORY_METADATA &&
           strcmp(c->rack, r->o->name) == 0;
}

static char
mark_of(const struct story *story, const struct view_rack *r,
        const struct view_slot *slot)
{
    if (slot->now.name.n == 0)
        return slot->before.name.n > 0 ? MARK_RELEASED : MARK_FREE;
    if (is_blocked(story, r, slot))
        return MARK_BLOCKED;
    return str_eq(slot->now.uid, slot->before.uid) ? MARK_BOUND : MARK_NEW;
}

static void
count_slot(struct view *v, const struct view_slot *slot)
{
    bool moved = !str_eq(slot->now.uid, slot->before.uid);

    v->bound += moved && slot->now.name.n > 0;
    v->released += moved && slot->before.name.n > 0;
}

static void
take_rack(struct view *v, const struct story *story, const struct stored *o)
{
    struct view_rack *r = &v->racks[v->rack_count++];

    r->o = o;
    take_slots(r);
    for (size_t i = 0; i < r->count; i++) {
        r->slots[i].mark = mark_of(story, r, &r->slots[i]);
        count_slot(v, &r->slots[i]);
    }
}

/* ---- inventories ------------------------------------------------------- */

static int64_t
number(const json_t *object, const char *path)
{
    return json_integer_value(kube_json_at(object, path));
}

/* What the status says of a group, or NULL. */
static const json_t *
status_of(const json_t *status, const char *id)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(status, "rackGroups"), i, item)
    {
        if (strcmp(kube_json_text(item, "id"), id) == 0)
            return item;
    }
    return NULL;
}

static void
take_group(struct view_group *g, const json_t *spec, const json_t *status)
{
    g->id = kube_json_text(spec, "id");
    g->profile = kube_json_text(spec, "profileRef.name");
    g->declared = number(spec, "count");
    status = status_of(status, g->id);
    if (status == NULL)
        return;
    g->requested = number(status, "usage.requestedNodes");
    g->pending = number(status, "usage.pendingNodes");
}

static void
take_inventory(struct view *v, const struct stored *o)
{
    struct view_inventory *i = &v->inventories[v->inventory_count++];
    const json_t *groups;

    i->o = o;
    i->spec = stored_tree(o, PART_SPEC);
    i->status = stored_tree(o, PART_STATUS);
    groups = json_object_get(i->spec, "rackGroups");
    i->group_count = json_array_size(groups);
    i->groups = mem_zalloc(i->group_count * sizeof(*i->groups));
    for (size_t j = 0; j < i->group_count; j++)
        take_group(&i->groups[j], json_array_get(groups, j), i->status);
}

static struct view_group *
group_of(struct view *v, const struct object_rack *rack)
{
    for (size_t i = 0; i < v->inventory_count; i++) {
        const struct view_inventory *inventory = &v->inventories[i];

        if (!str_is(rack->inventory.uid, inventory->o->uid))
            continue;
        for (size_t j = 0; j < inventory->group_count; j++)
            if (str_is(rack->group, inventory->groups[j].id))
                return &inventory->groups[j];
    }
    return NULL;
}

static void
count_in(struct view_group *g, const struct view_rack *r)
{
    g->standing += !r->o->gone;
    for (size_t i = 0; i < r->count; i++) {
        const struct view_slot *slot = &r->slots[i];
        bool moved = !str_eq(slot->now.uid, slot->before.uid);

        g->slots += !r->o->gone;
        g->bound += slot->now.name.n > 0;
        g->fresh += moved && slot->now.name.n > 0;
        g->released += moved && slot->before.name.n > 0;
        g->blocked += slot->mark == MARK_BLOCKED;
    }
}

/* Gives each rack to the group that it names: first counted, then filled. */
static void
deal_racks(struct view *v)
{
    for (size_t i = 0; i < v->rack_count; i++) {
        struct view_group *g = group_of(v, &v->racks[i].o->rack->o);

        v->racks[i].group = g;
        if (g == NULL)
            continue;
        g->rack_count++;
        count_in(g, &v->racks[i]);
    }
    for (size_t i = 0; i < v->rack_count; i++) {
        struct view_group *g = group_of(v, &v->racks[i].o->rack->o);

        if (g == NULL)
            continue;
        if (g->racks == NULL) {
            g->racks = mem_zalloc(g->rack_count * sizeof(struct view_rack *));
            g->rack_count = 0;
        }
        g->racks[g->rack_count++] = &v->racks[i];
    }
}

/* ---- all of it --------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
    const struct stored *x = *(struct stored *const *)a;
    const struct stored *y = *(struct stored *const *)b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : y->gone - x->gone;
}

struct stored **
view_sorted(const struct cluster *c, unsigned shelf, size_t *count)
{
    struct stored **list = NULL;
    struct stored *o;
    size_t pos = 0, n = 0;

    while (cluster_next(c, shelf, &pos) != NULL)
        n++;
    list = mem_zalloc((n + 1) * sizeof(struct stored *));
    pos = n = 0;
    while ((o = cluster_next(c, shelf, &pos)) != NULL)
        list[n++] = o;
    if (n > 1)
        qsort(list, n, sizeof(struct stored *), by_name);
    *count = n;
    return list;
}

static int
by_coordinate(const void *a, const void *b)
{
    const struct stored *x = ((const struct view_rack *)a)->o;
    const struct stored *y = ((const struct view_rack *)b)->o;
    const struct object_rack *i = &x->rack->o;
    const struct object_rack *j = &y->rack->o;
    int order = str_cmp(i->inventory.name, j->inventory.name);

    if (order == 0)
        order = str_cmp(i->group, j->group);
    if (order == 0)
        order = (i->index > j->index) - (i->index < j->index);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : y->gone - x->gone;
}

static void
count_objects(struct view *v, const struct cluster *c)
{
    const struct stored *o;

    for (unsigned shelf = 0; shelf < SHELF_COUNT; shelf++) {
        size_t pos = 0;

        while ((o = cluster_next(c, shelf, &pos)) != NULL) {
            bool differs = stored_differs(o);

            v->created += differs && o->file == NULL;
            v->deleted += differs && o->file != NULL && o->gone;
            v->updated += differs && o->file != NULL && !o->gone;
            v->nodes += shelf == KIND_NODE;
        }
    }
    v->eligible = store_count(cluster_store(c), KIND_NODE);
}

void
view_init(struct view *v, const struct cluster *c, const struct story *story)
{
    struct stored **list;
    size_t count;

    *v = (struct view){0};
    list = view_sorted(c, KIND_INVENTORY, &count);
    v->inventories = mem_zalloc(count * sizeof(*v->inventories));
    for (size_t i = 0; i < count; i++)
        if (!list[i]->gone)
            take_inventory(v, list[i]);
    free(list);
    list = view_sorted(c, KIND_RACK, &count);
    v->racks = mem_zalloc(count * sizeof(*v->racks));
    for (size_t i = 0; i < count; i++)
        if (!list[i]->gone || list[i]->file != NULL)
            take_rack(v, story, list[i]);
    free(list);
    if (v->rack_count > 1)
        qsort(v->racks, v->rack_count, sizeof(*v->racks), by_coordinate);
    deal_racks(v);
    count_objects(v, c);
}

void
view_fini(struct view *v)
{
    for (size_t i = 0; i < v->inventory_count; i++) {
        struct view_inventory *inventory = &v->inventories[i];

        for (size_t j = 0; j < inventory->group_count; j++)
            free(inventory->groups[j].racks);
        free(inventory->groups);
        json_decref(inventory->spec);
        json_decref(inventory->status);
    }
    for (size_t i = 0; i < v->rack_count; i++)
        free(v->racks[i].slots);
    free(v->inventories);
    free(v->racks);
    *v = (struct view){0};
}
