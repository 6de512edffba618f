/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/meta.h"

#include <string.h>

#include "common/clock.h"
#include "common/kube/protobuf.h"
#include "common/mem.h"

#define ALL_YEARS (INT64_MAX / CLOCK_SECOND - 1) /* seconds in nanoseconds */

/* Field numbers of ObjectMeta. */
enum {
    META_NAME = 1,
    META_NAMESPACE = 3,
    META_UID = 5,
    META_VERSION = 6,
    META_GENERATION = 7,
    META_CREATED = 8,
    META_DELETED = 9,
    META_LABELS = 11,
    META_ANNOTATIONS = 12,
    META_FINALIZERS = 14,
    META_MANAGED = 17,
};

/* A field of a message that is text: its number, and where it goes. */
struct text_field {
    uint32_t number;
    size_t offset;
};

static const struct text_field meta_texts[] = {
    {META_NAME, offsetof(struct kube_meta, name)},
    {META_NAMESPACE, offsetof(struct kube_meta, namespace)},
    {META_UID, offsetof(struct kube_meta, uid)},
    {META_VERSION, offsetof(struct kube_meta, resource_version)},
};

static const struct text_field managed_texts[] = {
    {1, offsetof(struct kube_managed, manager)},
    {2, offsetof(struct kube_managed, operation)},
    {3, offsetof(struct kube_managed, api_version)},
    {6, offsetof(struct kube_managed, fields_type)},
    {8, offsetof(struct kube_managed, subresource)},
};

struct entry {
    struct str key, value;
};

static const struct text_field entry_texts[] = {
    {1, offsetof(struct entry, key)},
    {2, offsetof(struct entry, value)},
};

static const struct text_field type_texts[] = {
    {1, offsetof(struct kube_envelope, api_version)},
    {2, offsetof(struct kube_envelope, kind)},
};

static int
check_text(struct str bytes, struct err *err)
{
    if (pb_is_text(bytes))
        return 0;
    return err_set(err, "a text is not UTF-8");
}

/* Puts a field into the struct at into, if it is one of the n texts. */
static int
put_text(void *into, const struct text_field *texts, size_t n,
         const struct pb_field *field, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!pb_is_bytes(field, texts[i].number))
            continue;
        memcpy((char *)into + texts[i].offset, &field->bytes,
               sizeof(field->bytes));
        return check_text(field->bytes, err);
    }
    return 0;
}

/* Reads a message of which only texts matter. */
static int
read_texts(void *into, const struct text_field *texts, size_t n,
           struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0)
        if (put_text(into, texts, n, &field, err) < 0)
            return -1;
    return more;
}

static int
read_entry(struct entry *entry, struct str wire, struct err *err)
{
    *entry = (struct entry){STR(""), STR("")};
    return read_texts(entry, entry_texts, nitems(entry_texts), wire, err);
}

/* FieldsV1: 1 raw. */
static int
read_fields(struct str *fields, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0)
        if (pb_is_bytes(&field, 1))
            *fields = field.bytes;
    return more;
}

static int
read_managed(struct kube_managed *managed, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    *managed = (struct kube_managed){STR(""), STR(""), STR(""),
                                     STR(""), STR(""), STR("")};
    while ((more = pb_next(&reader, &field, err)) > 0) {
        if (put_text(managed, managed_texts, nitems(managed_texts), &field,
                     err) < 0)
            return -1;
        if (pb_is_bytes(&field, 7) &&
            read_fields(&managed->fields, field.bytes, err) < 0)
            return -1;
    }
    return more;
}

/* A Time: 1 seconds, 2 nanoseconds; an empty message is no time. */
static int
read_time(int64_t *ns, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    int64_t seconds = 0, rest = 0;
    struct pb_field field;
    int more;

    *ns = KUBE_NO_TIME;
    if (wire.n == 0)
        return 0;
    while ((more = pb_next(&reader, &field, err)) > 0) {
        if (pb_is_varint(&field, 1))
            seconds = (int64_t)field.value;
        if (pb_is_varint(&field, 2))
            rest = (int32_t)field.value;
    }
    if (more < 0)
        return -1;
    if (seconds < -ALL_YEARS || seconds > ALL_YEARS)
        return err_set(err, "a time is out of range");
    *ns = seconds * CLOCK_SECOND + rest % CLOCK_SECOND;
    return 0;
}

static int
read_meta_field(struct kube_meta *meta, const struct pb_field *field,
                struct err *err)
{
    struct kube_managed managed;
    struct entry entry;

    if (pb_is_varint(field, META_GENERATION))
        meta->generation = (int64_t)field->value;
    if (field->type != PB_BYTES)
        return 0;
    switch (field->number) {
    case META_CREATED:
        return read_time(&meta->created, field->bytes, err);
    case META_DELETED:
        return read_time(&meta->deleted, field->bytes, err);
    case META_LABELS:
    case META_ANNOTATIONS:
        return read_entry(&entry, field->bytes, err);
    case META_FINALIZERS:
        return check_text(field->bytes, err);
    case META_MANAGED:
        return read_managed(&managed, field->bytes, err);
    default:
        return put_text(meta, meta_texts, nitems(meta_texts), field, err);
    }
}

static void
meta_clear(struct kube_meta *meta)
{
    *meta = (struct kube_meta){
        .name = STR(""),
        .namespace = STR(""),
        .uid = STR(""),
        .resource_version = STR(""),
        .created = KUBE_NO_TIME,
        .deleted = KUBE_NO_TIME,
        .wire = STR(""),
    };
}

static int
read_meta(struct kube_meta *meta, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0)
        if (read_meta_field(meta, &field, err) < 0)
            return -1;
    if (more == 0)
        meta->wire = wire;
    return more;
}

int
kube_meta_decode(struct kube_meta *meta, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    meta_clear(meta);
    while ((more = pb_next(&reader, &field, err)) > 0)
        if (pb_is_bytes(&field, 1) && read_meta(meta, field.bytes, err) < 0)
            break;
    if (more == 0)
        return 0;
    if (meta->name.n == 0 || !pb_is_text(meta->name))
        return err_prefix(err, "metadata of an object without a name");
    return err_prefix(err, "metadata of \"%.*s\"", (int)meta->name.n,
                      meta->name.s);
}

/* The next field of that number, from where the walk stands. */
static bool
walk_to(const struct kube_meta *meta, struct kube_meta_walk *walk,
        uint32_t number, struct str *bytes)
{
    struct str rest = {meta->wire.s + walk->pos, meta->wire.n - walk->pos};
    struct pb_reader reader = pb_reader(rest);
    struct pb_field field;

    while (pb_next(&reader, &field, NULL) > 0) {
        walk->pos = meta->wire.n - reader.rest.n;
        if (!pb_is_bytes(&field, number))
            continue;
        *bytes = field.bytes;
        return true;
    }
    return false;
}

static bool
walk_entry(const struct kube_meta *meta, struct kube_meta_walk *walk,
           uint32_t number, struct str *key, struct str *value)
{
    struct entry entry;
    struct str bytes;

    if (!walk_to(meta, walk, number, &bytes) ||
        read_entry(&entry, bytes, NULL) < 0)
        return false;
    *key = entry.key;
    *value = entry.value;
    return true;
}

bool
kube_meta_label(const struct kube_meta *meta, struct kube_meta_walk *walk,
                struct str *key, struct str *value)
{
    return walk_entry(meta, walk, META_LABELS, key, value);
}

bool
kube_meta_annotation(const struct kube_meta *meta, struct kube_meta_walk *walk,
                     struct str *key, struct str *value)
{
    return walk_entry(meta, walk, META_ANNOTATIONS, key, value);
}

bool
kube_meta_managed(const struct kube_meta *meta, struct kube_meta_walk *walk,
                  struct kube_managed *managed)
{
    struct str bytes;

    return walk_to(meta, walk, META_MANAGED, &bytes) &&
           read_managed(managed, bytes, NULL) == 0;
}

bool
kube_meta_finalizer(const struct kube_meta *meta, struct kube_meta_walk *walk,
                    struct str *finalizer)
{
    return walk_to(meta, walk, META_FINALIZERS, finalizer);
}

bool
kube_meta_annotation_at(const struct kube_meta *meta, const char *key,
                        struct str *value)
{
    struct kube_meta_walk walk = {0};
    struct str at;

    while (kube_meta_annotation(meta, &walk, &at, value))
        if (str_is(at, key))
            return true;
    return false;
}

int
kube_envelope_decode(struct kube_envelope *envelope, struct str bytes,
                     struct err *err)
{
    static const struct str magic = STR("k8s\0");
    struct str type = STR(""), encoding = STR("");
    struct pb_reader reader;
    struct pb_field field;
    int more;

    *envelope = (struct kube_envelope){STR(""), STR(""), STR("")};
    if (bytes.n < magic.n || memcmp(bytes.s, magic.s, magic.n) != 0)
        return err_set(err, "not an object in Kubernetes' protobuf");
    reader = pb_reader((struct str){bytes.s + magic.n, bytes.n - magic.n});
    while ((more = pb_next(&reader, &field, err)) > 0) {
        if (pb_is_bytes(&field, 1))
            type = field.bytes;
        else if (pb_is_bytes(&field, 2))
            envelope->raw = field.bytes;
        else if (pb_is_bytes(&field, 3))
            encoding = field.bytes;
    }
    if (more < 0)
        return -1;
    if (encoding.n > 0)
        return err_set(err, "an object in an encoding that is not known");
    return read_texts(envelope, type_texts, nitems(type_texts), type, err);
}
