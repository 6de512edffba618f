/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/kube/json.h"
#include "common/kube/meta.h"
#include "common/mem.h"
#include "informer/extract.h"

/* The keys that are projected onto Nodes, and where FieldsV1 has them. */
static const struct {
    int64_t bit;
    const char *group, *field;
} keys[] = {
    {KEY_ASSIGNED, "f:labels", "f:" LABEL_ASSIGNED},
    {KEY_CLIQUE, "f:labels", "f:" LABEL_CLIQUE},
    {KEY_ANNOTATION, "f:annotations", "f:" ANNOTATION_ASSIGNMENT},
};

/* Managers are listed up to this number. */
#define RIVALS 16

struct ownership {
    int64_t ours, foreign;
    struct str rivals[RIVALS];
    size_t rival_count;
};

static bool
mentions_a_key(struct str fields)
{
    for (size_t i = 0; i < nitems(keys); i++)
        if (memmem(fields.s, fields.n, keys[i].field, strlen(keys[i].field)) !=
            NULL)
            return true;
    return false;
}

/* The bits of the keys that a field set owns. */
static int64_t
owned_keys(struct str fields)
{
    json_t *root = kube_json_parse(fields, NULL);
    const json_t *meta = json_object_get(root, "f:metadata");
    int64_t bits = 0;

    for (size_t i = 0; i < nitems(keys); i++)
        if (json_object_get(json_object_get(meta, keys[i].group),
                            keys[i].field) != NULL)
            bits |= keys[i].bit;
    json_decref(root);
    return bits;
}

static bool
is_our_apply(const struct kube_managed *entry)
{
    return str_is(entry->manager, FIELD_MANAGER) &&
           str_is(entry->operation, "Apply") &&
           str_is(entry->api_version, "v1");
}

static void
add_rival(struct ownership *o, struct str manager)
{
    for (size_t i = 0; i < o->rival_count; i++)
        if (str_eq(o->rivals[i], manager))
            return;
    if (o->rival_count < RIVALS)
        o->rivals[o->rival_count++] = manager;
}

static void
weigh(struct ownership *o, const struct kube_managed *entry)
{
    int64_t bits;

    if (entry->subresource.n > 0 || !str_is(entry->fields_type, "FieldsV1") ||
        !mentions_a_key(entry->fields))
        return;
    bits = owned_keys(entry->fields);
    if (bits == 0)
        return;
    if (is_our_apply(entry)) {
        o->ours |= bits;
        return;
    }
    o->foreign |= bits;
    add_rival(o, entry->manager);
}

static struct str
join(const struct ownership *o, struct arena *arena)
{
    struct buf text = {0};
    struct str joined;

    for (size_t i = 0; i < o->rival_count; i++) {
        if (i > 0)
            buf_addc(&text, ',');
        buf_adds(&text, o->rivals[i]);
    }
    joined = arena_str(arena, buf_str(&text));
    buf_fini(&text);
    return joined;
}

static void
read_ownership(struct object_node *node, const struct kube_meta *meta,
               struct arena *arena)
{
    struct kube_meta_walk walk = {0};
    struct kube_managed entry;
    struct ownership o = {0};

    while (kube_meta_managed(meta, &walk, &entry))
        weigh(&o, &entry);
    node->ours = o.ours;
    node->foreign = o.foreign;
    node->rivals = join(&o, arena);
}

/* Of equal keys the last one stands, as in any map of protobuf. */
static size_t
without_twins(struct pair *items, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && str_eq(items[kept - 1].key, items[i].key))
            kept--;
        items[kept++] = items[i];
    }
    return kept;
}

static struct pairs
read_labels(const struct kube_meta *meta, struct arena *arena)
{
    struct kube_meta_walk walk = {0};
    struct pair *items, pair;
    size_t count = 0;

    while (kube_meta_label(meta, &walk, &pair.key, &pair.value))
        count++;
    items = arena_alloc(arena, count * sizeof(*items));
    walk = (struct kube_meta_walk){0};
    count = 0;
    while (kube_meta_label(meta, &walk, &pair.key, &pair.value))
        items[count++] = pair;
    pairs_sort(items, count);
    return (struct pairs){items, without_twins(items, count)};
}

static int
check_identity(const struct object_meta *m, struct err *err)
{
    if (m->name.n == 0)
        return err_set(err, "metadata.name is missing");
    if (m->uid.n == 0)
        return err_set(err, "metadata.uid is missing");
    if (m->version.n == 0)
        return err_set(err, "metadata.resourceVersion is missing");
    return 0;
}

int
extract_node(struct record *record, const struct wire_object *object,
             struct arena *arena, struct err *err)
{
    const struct kube_meta *meta = object->meta;
    struct object_node *node = &record->node;

    *record = (struct record){.kind = KIND_NODE};
    node->meta = (struct object_meta){
        .name = meta->name,
        .uid = meta->uid,
        .version = meta->resource_version,
        .generation = meta->generation,
        .created =
            meta->created == KUBE_NO_TIME ? 0 : meta->created / CLOCK_SECOND,
        .deleting = meta->deleted != KUBE_NO_TIME,
        .labels = read_labels(meta, arena),
    };
    if (!kube_meta_annotation_at(meta, ANNOTATION_ASSIGNMENT,
                                 &node->annotation))
        node->annotation = STR("");
    read_ownership(node, meta, arena);
    return check_identity(&node->meta, err);
}
