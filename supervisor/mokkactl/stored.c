/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/stored.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/compact.h"

static const char *const part_names[PARTS] = {
    [PART_METADATA] = "metadata",
    [PART_SPEC] = "spec",
    [PART_STATUS] = "status",
};

const char *
part_name(enum part part)
{
    return part_names[part];
}

struct stored *
stored_new(const struct schema *schema, unsigned shelf, const char *name,
           const char *uid)
{
    struct stored *o = mem_zalloc(sizeof(*o));

    o->schema = schema;
    o->shelf = shelf;
    o->name = mem_strdup(name);
    o->uid = mem_strdup(uid);
    return o;
}

void
stored_forget_rack(struct stored *o)
{
    if (o->rack == NULL)
        return;
    arena_fini(&o->rack->arena);
    free(o->rack);
    o->rack = NULL;
}

void
stored_free(struct stored *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < PARTS; i++) {
        free(o->now[i]);
        free(o->before[i]);
    }
    stored_forget_rack(o);
    free(o->name);
    free(o->uid);
    free(o);
}

static bool
same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

void
stored_set(struct stored *o, enum part part, char *text)
{
    if (same(o->now[part], text)) {
        free(text);
        return;
    }
    if (o->moved[part] || o->file == NULL || o->brief)
        free(o->now[part]);
    else
        o->before[part] = o->now[part];
    o->moved[part] = true;
    o->now[part] = text;
}

void
stored_set_tree(struct stored *o, enum part part, const json_t *tree)
{
    struct buf text = {0};

    if (tree != NULL)
        compact(&text, tree);
    stored_set(o, part, tree == NULL ? NULL : buf_take(&text));
}

void
stored_settle(struct stored *o)
{
    for (size_t i = 0; i < PARTS; i++) {
        free(o->before[i]);
        o->before[i] = NULL;
        o->moved[i] = false;
    }
}

static json_t *
parse(const char *text)
{
    json_t *tree;

    if (text == NULL)
        return NULL;
    tree = json_loads(text, JSON_DECODE_ANY, NULL);
    if (tree == NULL)
        fatal("a stored part is no JSON");
    return tree;
}

json_t *
stored_tree(const struct stored *o, enum part part)
{
    return parse(o->now[part]);
}

json_t *
stored_tree_before(const struct stored *o, enum part part)
{
    if (o->file == NULL)
        return NULL;
    return parse(o->moved[part] ? o->before[part] : o->now[part]);
}

json_t *
stored_object(const struct stored *o, bool bare)
{
    json_t *object = json_object();

    json_object_set_new(object, "apiVersion",
                        json_string(o->schema->api_version));
    json_object_set_new(object, "kind", json_string(o->schema->kind));
    for (enum part part = 0; part < PARTS; part++)
        if (o->now[part] != NULL && (part != PART_SPEC || !bare))
            json_object_set_new(object, part_names[part], stored_tree(o, part));
    return object;
}

bool
stored_differs(const struct stored *o)
{
    if (o->file == NULL)
        return !o->gone;
    return o->gone || o->moved[PART_METADATA] || o->moved[PART_SPEC] ||
           o->moved[PART_STATUS];
}

static struct object_ref
copy_ref(struct arena *arena, const struct object_ref *ref)
{
    return (struct object_ref){arena_str(arena, ref->name),
                               arena_str(arena, ref->uid)};
}

static const struct object_slot *
copy_slots(struct arena *arena, const struct object_rack *record)
{
    struct object_slot *slots =
        arena_alloc(arena, record->slot_count * sizeof(*slots));

    for (size_t i = 0; i < record->slot_count; i++) {
        slots[i] = record->slots[i];
        slots[i].node = copy_ref(arena, &record->slots[i].node);
    }
    return slots;
}

void
stored_keep_rack(struct stored *o, const struct object_rack *record)
{
    struct arena *arena;

    stored_forget_rack(o);
    o->rack = mem_zalloc(sizeof(*o->rack));
    arena = &o->rack->arena;
    o->rack->o = (struct object_rack){
        .inventory = copy_ref(arena, &record->inventory),
        .profile = copy_ref(arena, &record->profile),
        .profile_generation = record->profile_generation,
        .revision = arena_str(arena, record->revision),
        .group = arena_str(arena, record->group),
        .index = record->index,
        .fabric = arena_str(arena, record->fabric),
        .clique = record->clique,
        .slots = copy_slots(arena, record),
        .slot_count = record->slot_count,
        .digest = arena_str(arena, record->digest),
    };
}

void
stored_graft_rack(const struct stored *o, struct object_rack *record)
{
    struct object_rack whole = o->rack->o;

    whole.meta = record->meta;
    whole.annotations = record->annotations;
    whole.finalizers = record->finalizers;
    whole.owners = record->owners;
    whole.managed = record->managed;
    whole.spec_ours = record->spec_ours;
    whole.status = record->status;
    *record = whole;
}
