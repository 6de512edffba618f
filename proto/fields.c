/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/fields.h"

#include "proto/pack.h"

/* The item's own reader; its faults become the outer reader's. */
static void
close_item(struct unpack *outer, const struct unpack *item)
{
    if (unpack_end(item, NULL) != 0)
        outer->bad = true;
}

static size_t
open_list(const struct value *list)
{
    return list == NULL ? 0 : value_count(list);
}

struct str
fields_get_str(struct unpack *u, struct arena *arena)
{
    return arena_str(arena, unpack_str(u));
}

void
fields_put_pairs(struct buf *out, struct pairs pairs)
{
    pack_map(out, pairs.count);
    for (size_t i = 0; i < pairs.count; i++) {
        pack_str(out, pairs_at(pairs, i)->key);
        pack_str(out, pairs_at(pairs, i)->value);
    }
}

struct pairs
fields_get_pairs(struct unpack *u, struct arena *arena)
{
    const struct value *map = unpack_map(u);
    size_t count = open_list(map);
    struct pair *items = arena_alloc(arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++) {
        struct str value = STR("");

        if (!value_str(value_at(map, i), &value))
            u->bad = true;
        items[i].key = arena_str(arena, value_key(map, i));
        items[i].value = arena_str(arena, value);
        if (i > 0 && str_cmp(items[i - 1].key, items[i].key) >= 0)
            u->bad = true;
    }
    return (struct pairs){items, count, NULL};
}

void
fields_put_strs(struct buf *out, struct strs strs)
{
    pack_array(out, strs.count);
    for (size_t i = 0; i < strs.count; i++)
        pack_str(out, strs.items[i]);
}

struct strs
fields_get_strs(struct unpack *u, struct arena *arena)
{
    const struct value *list = unpack_array(u);
    size_t count = open_list(list);
    struct str *items = arena_alloc(arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++) {
        struct str text = STR("");

        if (!value_str(value_at(list, i), &text))
            u->bad = true;
        items[i] = arena_str(arena, text);
    }
    return (struct strs){items, count};
}

void
fields_put_owners(struct buf *out, struct owners owners)
{
    pack_array(out, owners.count);
    for (size_t i = 0; i < owners.count; i++) {
        const struct object_owner *o = &owners.items[i];

        pack_array(out, 6);
        pack_str(out, o->api_version);
        pack_str(out, o->kind);
        pack_str(out, o->name);
        pack_str(out, o->uid);
        pack_int(out, o->controller);
        pack_int(out, o->block);
    }
}

struct owners
fields_get_owners(struct unpack *u, struct arena *arena)
{
    const struct value *list = unpack_array(u);
    size_t count = open_list(list);
    struct object_owner *items = arena_alloc(arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++) {
        struct unpack item = unpack_fields(value_at(list, i));

        items[i].api_version = fields_get_str(&item, arena);
        items[i].kind = fields_get_str(&item, arena);
        items[i].name = fields_get_str(&item, arena);
        items[i].uid = fields_get_str(&item, arena);
        items[i].controller = (int)unpack_int(&item);
        items[i].block = (int)unpack_int(&item);
        close_item(u, &item);
    }
    return (struct owners){items, count};
}

void
fields_put_conditions(struct buf *out, struct conditions conditions)
{
    pack_array(out, conditions.count);
    for (size_t i = 0; i < conditions.count; i++) {
        const struct condition *c = &conditions.items[i];

        pack_array(out, 5);
        pack_str(out, c->type);
        pack_str(out, c->status);
        pack_str(out, c->reason);
        pack_str(out, c->message);
        pack_int(out, c->observed);
    }
}

struct conditions
fields_get_conditions(struct unpack *u, struct arena *arena)
{
    const struct value *list = unpack_array(u);
    size_t count = open_list(list);
    struct condition *items = arena_alloc(arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++) {
        struct unpack item = unpack_fields(value_at(list, i));

        items[i].type = fields_get_str(&item, arena);
        items[i].status = fields_get_str(&item, arena);
        items[i].reason = fields_get_str(&item, arena);
        items[i].message = fields_get_str(&item, arena);
        items[i].observed = unpack_int(&item);
        close_item(u, &item);
    }
    return (struct conditions){items, count};
}
