/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rack's metadata (mokka-api 7.4).
 *
 *   labels        inventory name (if a label can hold it; else the label goes),
 *                 group id, rack index
 *   annotation    inventory UID
 *   finalizer     ours, at the end if it was missing
 *   owner         if no reference is the controller's, the inventory's, at the
 *                 end; a controller reference that is there is never changed
 *
 * Whatever else is there stays.
 */
#include "placer/rack.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/api.h"
#include "placer/label.h"

/* What a key is to become; a value without text is to go. */
struct wish {
    struct str key, value;
    bool absent;
};

static size_t
find(struct pairs now, struct str key, bool *found)
{
    const struct str *value = pairs_get(now, key);
    size_t i = 0;

    *found = value != NULL;
    while (i < now.count && str_cmp(pairs_at(now, i)->key, key) < 0)
        i++;
    return i;
}

/* Does the wish hold already? */
static bool
granted(struct pairs now, const struct wish *wish)
{
    const struct str *value = pairs_get(now, wish->key);

    if (wish->absent)
        return value == NULL;
    return value != NULL && str_eq(*value, wish->value);
}

static struct pairs
grant(struct pairs now, const struct wish *wish, struct arena *arena)
{
    struct pair *items = arena_alloc(arena, (now.count + 1) * sizeof(*items));
    bool found;
    size_t at = find(now, wish->key, &found);
    size_t rest = at + found;
    size_t count = at;

    for (size_t i = 0; i < at; i++)
        items[i] = *pairs_at(now, i);
    if (!wish->absent)
        items[count++] = (struct pair){wish->key, wish->value};
    for (size_t i = rest; i < now.count; i++)
        items[count++] = *pairs_at(now, i);
    return (struct pairs){items, count, NULL};
}

/* Makes *pairs what all wishes want; true if it was not. */
static bool
merge_pairs(struct pairs *pairs, const struct wish *wishes, size_t count,
            struct arena *arena)
{
    bool changed = false;

    for (size_t i = 0; i < count; i++) {
        if (granted(*pairs, &wishes[i]))
            continue;
        *pairs = grant(*pairs, &wishes[i], arena);
        changed = true;
    }
    return changed;
}

static bool
merge_finalizers(struct strs *finalizers, struct arena *arena)
{
    struct str *items;

    for (size_t i = 0; i < finalizers->count; i++)
        if (str_is(finalizers->items[i], FINALIZER_RACK))
            return false;
    items = arena_alloc(arena, (finalizers->count + 1) * sizeof(*items));
    for (size_t i = 0; i < finalizers->count; i++)
        items[i] = finalizers->items[i];
    items[finalizers->count] = STR(FINALIZER_RACK);
    *finalizers = (struct strs){items, finalizers->count + 1};
    return true;
}

static bool
merge_owners(struct owners *owners, struct object_ref inventory,
             struct arena *arena)
{
    struct object_owner *items;

    if (rack_controller(*owners) != NULL)
        return false;
    items = arena_alloc(arena, (owners->count + 1) * sizeof(*items));
    for (size_t i = 0; i < owners->count; i++)
        items[i] = owners->items[i];
    items[owners->count] = (struct object_owner){
        .api_version = STR(API_GROUP_VERSION),
        .kind = STR(API_INVENTORY),
        .name = inventory.name,
        .uid = inventory.uid,
        .controller = 1,
        .block = 0,
    };
    *owners = (struct owners){items, owners->count + 1};
    return true;
}

bool
rack_metadata(struct rack_metadata *wanted, const struct rack_metadata *now,
              const struct rack_input *in, struct arena *arena)
{
    const struct wish annotation = {STR(ANNOTATION_INVENTORY_UID),
                                    in->inventory.uid, false};
    const bool no_label = !label_value(in->inventory.name);
    struct wish labels[] = {
        {STR(LABEL_INVENTORY), in->inventory.name, no_label},
        {STR(LABEL_GROUP), in->group, false},
        {STR(LABEL_INDEX), {NULL, 0}, false},
    };
    char index[24];
    bool changed;

    snprintf(index, sizeof(index), "%" PRId64, in->index);
    labels[2].value = arena_str(arena, str_of(index));
    *wanted = *now;
    changed = merge_pairs(&wanted->labels, labels, 3, arena);
    changed |= merge_pairs(&wanted->annotations, &annotation, 1, arena);
    changed |= merge_finalizers(&wanted->finalizers, arena);
    changed |= merge_owners(&wanted->owners, in->inventory, arena);
    return changed;
}

const struct object_owner *
rack_controller(struct owners owners)
{
    for (size_t i = 0; i < owners.count; i++)
        if (owners.items[i].controller == 1)
            return &owners.items[i];
    return NULL;
}

struct object_ref
rack_holder(struct owners owners)
{
    const struct object_owner *owner = rack_controller(owners);

    if (owner == NULL || !str_is(owner->api_version, API_GROUP_VERSION) ||
        !str_is(owner->kind, API_INVENTORY))
        return (struct object_ref){STR(""), STR("")};
    return (struct object_ref){owner->name, owner->uid};
}

bool
rack_controlled(struct owners owners, struct object_ref inventory)
{
    struct object_ref holder = rack_holder(owners);

    return holder.name.n > 0 && str_eq(holder.name, inventory.name) &&
           str_eq(holder.uid, inventory.uid);
}

bool
rack_owned(const struct object_rack *rack)
{
    return rack_controlled(rack->owners, rack->inventory);
}

const struct object_slot *
rack_slot(const struct object_rack *rack, int64_t index)
{
    if (index >= 0 && index < (int64_t)rack->slot_count &&
        rack->slots[index].index == index)
        return &rack->slots[index];
    for (size_t i = 0; i < rack->slot_count; i++)
        if (rack->slots[i].index == index)
            return &rack->slots[i];
    return NULL;
}
