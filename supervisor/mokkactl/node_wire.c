/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/node_wire.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/mokkactl/compact.h"
#include "supervisor/mokkactl/managed.h"

static void
add_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_addc(out, (char)(value | 0x80));
    buf_addc(out, (char)value);
}

static void
add_number(struct buf *out, unsigned field, uint64_t value)
{
    add_varint(out, (uint64_t)field << 3);
    add_varint(out, value);
}

static void
add_bytes(struct buf *out, unsigned field, struct str bytes)
{
    add_varint(out, (uint64_t)field << 3 | 2);
    add_varint(out, bytes.n);
    buf_adds(out, bytes);
}

/* A text, if it is there. */
static void
add_text(struct buf *out, unsigned field, const json_t *value)
{
    if (json_is_string(value))
        add_bytes(
            out, field,
            (struct str){json_string_value(value), json_string_length(value)});
}

/* A message as a field; its memory is kept for the next one. */
static void
add_message(struct buf *out, unsigned field, struct buf *message)
{
    add_bytes(out, field, buf_str(message));
    buf_clear(message);
}

static void
add_time(struct buf *out, unsigned field, const json_t *value,
         struct buf *scratch)
{
    struct str text = str_of(json_string_value(value));
    int64_t ns;

    if (text.n == 0 || clock_parse(text, &ns, NULL) != 0)
        return;
    add_number(scratch, 1, (uint64_t)(ns / CLOCK_SECOND));
    add_message(out, field, scratch);
}

static void
add_map(struct buf *out, unsigned field, const json_t *map, struct buf *scratch)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)map, key, value)
    {
        add_bytes(scratch, 1, str_of(key));
        add_text(scratch, 2, value);
        add_message(out, field, scratch);
    }
}

static void
add_finalizers(struct buf *out, const json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        add_text(out, 14, item);
    }
}

static void
add_field_set(struct buf *out, const json_t *fields, struct buf *scratch)
{
    struct buf text = {0};

    if (fields == NULL)
        return;
    compact(&text, fields);
    add_bytes(scratch, 1, buf_str(&text));
    add_message(out, 7, scratch);
    buf_fini(&text);
}

static void
add_managed(struct buf *out, const json_t *list, struct buf *scratch)
{
    static const struct {
        unsigned field;
        const char *name;
    } texts[] = {
        {1, "manager"},    {2, "operation"},   {3, "apiVersion"},
        {6, "fieldsType"}, {8, "subresource"},
    };
    struct buf entry = {0};
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        for (size_t j = 0; j < nitems(texts); j++)
            add_text(&entry, texts[j].field,
                     json_object_get(item, texts[j].name));
        add_field_set(&entry, json_object_get(item, "fieldsV1"), scratch);
        add_message(out, 17, &entry);
    }
    buf_fini(&entry);
}

/* Our entry, for the keys in the set. */
static void
add_ours(struct buf *out, int set, struct buf *scratch)
{
    struct buf entry = {0}, fields = {0};

    add_bytes(&entry, 1, STR(FIELD_MANAGER));
    add_bytes(&entry, 2, STR("Apply"));
    add_bytes(&entry, 3, STR("v1"));
    add_bytes(&entry, 6, STR("FieldsV1"));
    managed_fields(&fields, set);
    add_bytes(scratch, 1, buf_str(&fields));
    add_message(&entry, 7, scratch);
    add_message(out, 17, &entry);
    buf_fini(&entry);
    buf_fini(&fields);
}

int
node_wire(struct buf *wire, struct kube_meta *meta, const json_t *metadata,
          int ours, struct err *err)
{
    const json_t *generation = json_object_get(metadata, "generation");
    struct buf out = {0}, scratch = {0};

    add_text(&out, 1, json_object_get(metadata, "name"));
    add_text(&out, 5, json_object_get(metadata, "uid"));
    add_text(&out, 6, json_object_get(metadata, "resourceVersion"));
    if (json_is_integer(generation))
        add_number(&out, 7, (uint64_t)json_integer_value(generation));
    add_time(&out, 8, json_object_get(metadata, "creationTimestamp"), &scratch);
    add_time(&out, 9, json_object_get(metadata, "deletionTimestamp"), &scratch);
    add_map(&out, 11, json_object_get(metadata, "labels"), &scratch);
    add_map(&out, 12, json_object_get(metadata, "annotations"), &scratch);
    add_finalizers(&out, json_object_get(metadata, "finalizers"));
    add_managed(&out, json_object_get(metadata, "managedFields"), &scratch);
    if (ours != 0)
        add_ours(&out, ours, &scratch);
    add_message(wire, 1, &out);
    buf_fini(&out);
    buf_fini(&scratch);
    return kube_meta_decode(meta, buf_str(wire), err);
}
