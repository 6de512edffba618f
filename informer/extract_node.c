/* SPDX-License-Identifier: Apache-2.0 */
#include "common/api.h"
#include "common/clock.h"
#include "common/kube/meta.h"
#include "common/kube/owned.h"
#include "common/mem.h"
#include "informer/extract.h"

static void
read_ownership(struct object_node *node, const struct kube_meta *meta,
               struct arena *arena)
{
    struct owned_keys o;
    struct buf rivals = {0};

    owned_keys_read(&o, meta);
    owned_keys_rivals(&rivals, &o);
    node->ours = o.ours;
    node->foreign = o.foreign;
    node->rivals = arena_str(arena, buf_str(&rivals));
    buf_fini(&rivals);
    owned_keys_fini(&o);
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
    return (struct pairs){items, without_twins(items, count), NULL};
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
