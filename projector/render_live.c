/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/render.h"

#include <inttypes.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "projector/render_json.h"

/* The first slot that is named by its index alone, in text that starts at from:
 * where its braces open and close, or NULL.  No text of a spec looks like this
 * inside quotes, where the quotes of the name would be escaped. */
static const char *
find_kept(const char *from, const char *end, const char **close, int64_t *index)
{
    static const char open[] = "{\"index\":";
    const size_t n = sizeof(open) - 1;

    for (const char *at = from; at + n < end; at++) {
        const char *digit = at + n;

        if (memcmp(at, open, n) != 0)
            continue;
        for (*index = 0; digit < end && *digit >= '0' && *digit <= '9' &&
                         *index < MAX_NODES_PER_RACK;
             digit++)
            *index = *index * 10 + *digit - '0';
        *close = digit;
        if (digit > at + n && digit < end && *digit == '}')
            return at;
    }
    return NULL;
}

bool
render_keeps(struct str spec)
{
    const char *close;
    int64_t index;

    return spec.n > 0 &&
           find_kept(spec.s, spec.s + spec.n, &close, &index) != NULL;
}

static const json_t *
live_slot(const json_t *live, int64_t index)
{
    const json_t *nodes = kube_json_at(live, "spec.nodes");
    json_t *node;
    size_t i;

    json_array_foreach((json_t *)nodes, i, node)
    {
        const json_t *own = json_object_get(node, "index");

        if (json_is_integer(own) && json_integer_value(own) == index)
            return node;
    }
    return NULL;
}

int
render_kept(struct buf *out, struct str spec, const json_t *live,
            struct err *err)
{
    const char *from = spec.s;
    const char *end = spec.s + spec.n;
    const char *at, *close;
    int64_t index;

    if (!render_keeps(spec))
        return 0;
    while ((at = find_kept(from, end, &close, &index)) != NULL) {
        const json_t *slot = live_slot(live, index);

        if (slot == NULL)
            return err_set(err, "the live rack has no node index %" PRId64,
                           index);
        buf_add(out, from, (size_t)(at - from));
        render_dump(out, slot);
        from = close + 1;
    }
    buf_add(out, from, (size_t)(end - from));
    return 1;
}

/* The live list without the finalizer; *there tells whether it was in it. */
static json_t *
finalizers_without(const json_t *live, struct str finalizer, bool *there)
{
    const json_t *list = kube_json_at(live, "metadata.finalizers");
    json_t *copy = json_array();
    json_t *item;
    size_t i;

    *there = false;
    json_array_foreach((json_t *)list, i, item)
    {
        if (render_is(item, finalizer))
            *there = true;
        else
            json_array_append(copy, item);
    }
    return copy;
}

int
render_finalizer(struct buf *out, const json_t *live,
                 const struct intent_finalizer *i, struct err *err)
{
    json_t *copy = render_copy(live, err);
    json_t *list;
    bool there;

    if (copy == NULL)
        return -1;
    list = finalizers_without(live, i->finalizer, &there);
    if (i->present)
        json_array_append_new(list, render_string(i->finalizer));
    json_object_set_new(json_object_get(copy, "metadata"), "finalizers", list);
    if (there != i->present)
        render_dump(out, copy);
    json_decref(copy);
    return there != i->present;
}

/* Gives a copy a spec of its own: what is changed in it is not in the live
 * object then. */
static void
own_spec(json_t *copy)
{
    json_t *spec = json_deep_copy(json_object_get(copy, "spec"));

    if (spec != NULL)
        json_object_set_new(copy, "spec", spec);
}

/* Takes the binding off every slot; true if there was one. */
static bool
clear_slots(json_t *rack)
{
    json_t *nodes = kube_json_at(rack, "spec.nodes");
    bool any = false;
    json_t *slot;
    size_t i;

    json_array_foreach(nodes, i, slot)
    {
        if (json_object_del(slot, "nodeRef") == 0)
            any = true;
    }
    return any;
}

int
render_retired(struct buf *out, const json_t *live, struct err *err)
{
    json_t *copy = render_copy(live, err);
    json_t *list;
    bool there;

    if (copy == NULL)
        return -1;
    list = finalizers_without(live, STR(FINALIZER_RACK), &there);
    json_object_set_new(json_object_get(copy, "metadata"), "finalizers", list);
    own_spec(copy);
    if (clear_slots(copy))
        there = true;
    if (there)
        render_dump(out, copy);
    json_decref(copy);
    return there;
}

/* What a write of ours says of a rack's labels and annotations; all other keys
 * are somebody else's. */
static const char *const our_labels[] = {LABEL_INVENTORY, LABEL_GROUP,
                                         LABEL_INDEX};
static const char *const our_annotations[] = {ANNOTATION_INVENTORY_UID};

/* The live map with our keys as wanted. */
static json_t *
merge_pairs(const json_t *live, struct pairs wanted, const char *const *ours,
            size_t count)
{
    json_t *copy =
        json_is_object(live) ? json_copy((json_t *)live) : json_object();

    for (size_t i = 0; i < count; i++) {
        const struct str *value = pairs_get(wanted, str_of(ours[i]));

        if (value == NULL)
            json_object_del(copy, ours[i]);
        else
            json_object_set_new(copy, ours[i], render_string(*value));
    }
    return copy;
}

static void
set_unless_empty(json_t *metadata, const char *name, json_t *value)
{
    bool empty = json_is_object(value) ? json_object_size(value) == 0
                                       : json_array_size(value) == 0;

    if (empty)
        json_object_del(metadata, name);
    else
        json_object_set(metadata, name, value);
    json_decref(value);
}

static json_t *
merge_finalizers(const json_t *live, struct strs wanted)
{
    bool there;
    json_t *list = finalizers_without(live, STR(FINALIZER_RACK), &there);

    if (there) {
        json_decref(list);
        return json_copy(kube_json_at(live, "metadata.finalizers"));
    }
    for (size_t i = 0; i < wanted.count; i++)
        if (str_is(wanted.items[i], FINALIZER_RACK))
            json_array_append_new(list, json_string(FINALIZER_RACK));
    return list;
}

/* Both are the same but for who wrote them. */
static bool
same_but_managers(const json_t *metadata, const json_t *old)
{
    json_t *plain = json_copy((json_t *)old);
    bool same;

    json_object_del(plain, "managedFields");
    same = json_equal(metadata, plain);
    json_decref(plain);
    return same;
}

int
render_rack_anew(struct buf *out, const json_t *live,
                 const struct intent_rack *i, struct err *err)
{
    json_t *spec = kube_json_parse(i->spec, err);
    json_t *copy = spec == NULL ? NULL : render_copy(live, err);
    const json_t *old = json_object_get(live, "metadata");
    json_t *metadata = json_object_get(copy, "metadata");
    bool same;

    if (copy == NULL) {
        json_decref(spec);
        return -1;
    }
    set_unless_empty(metadata, "labels",
                     merge_pairs(json_object_get(old, "labels"), i->labels,
                                 our_labels, nitems(our_labels)));
    set_unless_empty(metadata, "annotations",
                     merge_pairs(json_object_get(old, "annotations"),
                                 i->annotations, our_annotations,
                                 nitems(our_annotations)));
    set_unless_empty(metadata, "finalizers",
                     merge_finalizers(live, i->finalizers));
    same = json_equal(spec, json_object_get(live, "spec")) &&
           same_but_managers(metadata, old);
    json_object_set_new(copy, "spec", spec);
    if (!same)
        render_dump(out, copy);
    json_decref(copy);
    return !same;
}
