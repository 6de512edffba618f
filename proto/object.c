/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/object.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "proto/fields.h"
#include "proto/pack.h"

const char *
object_kind_name(enum object_kind kind)
{
    static const char *const names[KIND_COUNT] = {
        [KIND_PROFILE] = API_PROFILE,
        [KIND_INVENTORY] = API_INVENTORY,
        [KIND_RACK] = API_RACK,
        [KIND_NODE] = "Node",
    };

    return (unsigned)kind < KIND_COUNT ? names[kind] : "unknown";
}

const struct str *
pairs_get(struct pairs pairs, struct str key)
{
    size_t low = 0;
    size_t high = pairs.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct pair *pair = pairs_at(pairs, middle);
        int order = str_cmp(pair->key, key);

        if (order == 0)
            return &pair->value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int
by_key(const void *a, const void *b)
{
    return str_cmp(((const struct pair *)a)->key,
                   ((const struct pair *)b)->key);
}

void
pairs_sort(struct pair *items, size_t count)
{
    if (count > 1)
        qsort(items, count, sizeof(*items), by_key);
}

static void
put_meta(struct buf *out, const struct object_meta *m)
{
    pack_array(out, 7);
    pack_str(out, m->name);
    pack_str(out, m->uid);
    pack_str(out, m->version);
    pack_int(out, m->generation);
    pack_int(out, m->created);
    pack_bool(out, m->deleting);
    fields_put_pairs(out, m->labels);
}

static void
get_meta(struct unpack *outer, struct object_meta *m, struct arena *arena)
{
    struct unpack u = unpack_fields(unpack_array(outer));

    m->name = fields_get_str(&u, arena);
    m->uid = fields_get_str(&u, arena);
    m->version = fields_get_str(&u, arena);
    m->generation = unpack_int(&u);
    m->created = unpack_int(&u);
    m->deleting = unpack_bool(&u);
    m->labels = fields_get_pairs(&u, arena);
    if (unpack_end(&u, NULL) != 0 || m->name.n == 0 || m->uid.n == 0)
        outer->bad = true;
}

static void
put_status(struct buf *out, const struct object_status *status)
{
    pack_array(out, 2);
    pack_str(out, status->fields);
    fields_put_conditions(out, status->conditions);
}

static void
get_status(struct unpack *outer, struct object_status *status,
           struct arena *arena)
{
    struct unpack u = unpack_fields(unpack_array(outer));

    status->fields = fields_get_str(&u, arena);
    status->conditions = fields_get_conditions(&u, arena);
    if (unpack_end(&u, NULL) != 0)
        outer->bad = true;
}

static void
put_ref(struct buf *out, const struct object_ref *ref)
{
    pack_str(out, ref->name);
    pack_str(out, ref->uid);
}

static void
get_ref(struct unpack *u, struct object_ref *ref, struct arena *arena)
{
    ref->name = fields_get_str(u, arena);
    ref->uid = fields_get_str(u, arena);
}

void
object_profile_pack(struct buf *out, const struct object_profile *o,
                    struct str spec)
{
    pack_array(out, 2);
    put_meta(out, &o->meta);
    buf_adds(out, spec);
}

int
object_profile_unpack(struct object_profile *o, const struct value *body,
                      struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_meta(&u, &o->meta, arena);
    o->spec = unpack_map(&u);
    return unpack_end(&u, err);
}

void
object_inventory_pack(struct buf *out, const struct object_inventory *o,
                      struct str spec)
{
    pack_array(out, 4);
    put_meta(out, &o->meta);
    fields_put_strs(out, o->finalizers);
    buf_adds(out, spec);
    put_status(out, &o->status);
}

int
object_inventory_unpack(struct object_inventory *o, const struct value *body,
                        struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_meta(&u, &o->meta, arena);
    o->finalizers = fields_get_strs(&u, arena);
    o->spec = unpack_map(&u);
    get_status(&u, &o->status, arena);
    return unpack_end(&u, err);
}

static void
put_slots(struct buf *out, const struct object_rack *o)
{
    pack_array(out, o->slot_count);
    for (size_t i = 0; i < o->slot_count; i++) {
        pack_array(out, 4);
        pack_int(out, o->slots[i].index);
        pack_int(out, o->slots[i].gpus);
        put_ref(out, &o->slots[i].node);
    }
}

static void
get_slots(struct unpack *outer, struct object_rack *o, struct arena *arena)
{
    const struct value *list = unpack_array(outer);
    size_t count = list == NULL ? 0 : value_count(list);
    struct object_slot *slots = arena_alloc(arena, count * sizeof(*slots));

    for (size_t i = 0; i < count; i++) {
        struct unpack u = unpack_fields(value_at(list, i));

        slots[i].index = unpack_int(&u);
        slots[i].gpus = unpack_int(&u);
        get_ref(&u, &slots[i].node, arena);
        /* Its GPUs are added up with those of all others. */
        if (unpack_end(&u, NULL) != 0 || slots[i].gpus < 0 ||
            slots[i].gpus > INT32_MAX)
            outer->bad = true;
    }
    o->slots = slots;
    o->slot_count = count;
}

void
object_rack_pack(struct buf *out, const struct object_rack *o)
{
    pack_array(out, 19);
    put_meta(out, &o->meta);
    fields_put_pairs(out, o->annotations);
    fields_put_strs(out, o->finalizers);
    fields_put_owners(out, o->owners);
    put_ref(out, &o->inventory);
    put_ref(out, &o->profile);
    pack_int(out, o->profile_generation);
    pack_str(out, o->revision);
    pack_str(out, o->group);
    pack_int(out, o->index);
    pack_str(out, o->fabric);
    pack_int(out, o->clique);
    put_slots(out, o);
    pack_bool(out, o->managed);
    pack_bool(out, o->spec_ours);
    pack_str(out, o->digest);
    put_status(out, &o->status);
}

int
object_rack_unpack(struct object_rack *o, const struct value *body,
                   struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_meta(&u, &o->meta, arena);
    o->annotations = fields_get_pairs(&u, arena);
    o->finalizers = fields_get_strs(&u, arena);
    o->owners = fields_get_owners(&u, arena);
    get_ref(&u, &o->inventory, arena);
    get_ref(&u, &o->profile, arena);
    o->profile_generation = unpack_int(&u);
    o->revision = fields_get_str(&u, arena);
    o->group = fields_get_str(&u, arena);
    o->index = unpack_int(&u);
    o->fabric = fields_get_str(&u, arena);
    o->clique = unpack_int(&u);
    get_slots(&u, o, arena);
    o->managed = unpack_bool(&u);
    o->spec_ours = unpack_bool(&u);
    o->digest = fields_get_str(&u, arena);
    get_status(&u, &o->status, arena);
    return unpack_end(&u, err);
}

bool
object_node_says(const struct object_node *o, struct str annotation)
{
    size_t head = o->shared.n;

    return annotation.n == head + o->annotation.n &&
           str_eq((struct str){annotation.s, head}, o->shared) &&
           str_eq(str_after(annotation, head), o->annotation);
}

bool
object_node_says_nothing(const struct object_node *o)
{
    return o->shared.n + o->annotation.n == 0;
}

struct str
object_node_annotation(const struct object_node *o, struct arena *arena)
{
    char *whole;

    if (o->shared.n == 0)
        return o->annotation;
    whole = arena_alloc(arena, o->shared.n + o->annotation.n + 1);
    memcpy(whole, o->shared.s, o->shared.n);
    memcpy(whole + o->shared.n, o->annotation.s, o->annotation.n);
    return (struct str){whole, o->shared.n + o->annotation.n};
}

void
object_node_pack(struct buf *out, const struct object_node *o)
{
    pack_array(out, 5);
    put_meta(out, &o->meta);
    pack_joined(out, o->shared, o->annotation);
    pack_int(out, o->ours);
    pack_int(out, o->foreign);
    pack_str(out, o->rivals);
}

int
object_node_unpack(struct object_node *o, const struct value *body,
                   struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_meta(&u, &o->meta, arena);
    o->annotation = fields_get_str(&u, arena);
    o->shared = STR("");
    o->ours = unpack_int(&u);
    o->foreign = unpack_int(&u);
    o->rivals = fields_get_str(&u, arena);
    return unpack_end(&u, err);
}

static const char *const key_names[KEY_COUNT] = {LABEL_ASSIGNED, LABEL_CLIQUE,
                                                 ANNOTATION_ASSIGNMENT};

void
projected_keys_names(struct buf *out, int keys)
{
    bool first = true;

    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if ((keys & (1 << i)) == 0)
            continue;
        buf_addz(out, first ? "" : ",");
        buf_addz(out, key_names[i]);
        first = false;
    }
}

/* Takes the part before the next ";" off the text. */
static struct str
cut_part(struct str *text)
{
    const char *end = text->n == 0 ? NULL : memchr(text->s, ';', text->n);
    struct str part = *text;

    if (end == NULL) {
        text->n = 0;
        return part;
    }
    part.n = (size_t)(end - text->s);
    *text = (struct str){end + 1, text->n - part.n - 1};
    return part;
}

bool
condition_same_words(struct str standing, struct str wanted)
{
    return str_eq(cut_part(&standing), cut_part(&wanted));
}

struct str
projected_key_managers(struct str rivals, int key)
{
    struct str managers = STR("");

    for (unsigned i = 0; i < KEY_COUNT && key >> i != 0; i++)
        managers = cut_part(&rivals);
    return managers;
}

void
projected_keys_rivals(struct buf *out, int keys, struct str rivals)
{
    bool first = true;

    for (unsigned i = 0; i < KEY_COUNT; i++) {
        struct str managers = cut_part(&rivals);

        if ((keys & (1 << i)) == 0 || managers.n == 0)
            continue;
        buf_printf(out, "%s%s by %.*s", first ? "" : "; ", key_names[i],
                   (int)managers.n, managers.s);
        first = false;
    }
}
