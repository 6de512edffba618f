/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/kube/meta.h"
#include "common/kube/protobuf.h"
#include "common/mem.h"

#define KIND "PartialObjectMetadata"
#define INITIAL_END "k8s.io/initial-events-end"

bool
kube_event_type_parse(struct str text, enum kube_event_type *type)
{
    static const char *const names[] = {
        [KUBE_ADDED] = "ADDED",     [KUBE_MODIFIED] = "MODIFIED",
        [KUBE_DELETED] = "DELETED", [KUBE_BOOKMARK] = "BOOKMARK",
        [KUBE_ERROR] = "ERROR",
    };

    for (size_t i = 0; i < nitems(names); i++) {
        if (!str_is(text, names[i]))
            continue;
        *type = (enum kube_event_type)i;
        return true;
    }
    return false;
}

/* What envelope says it is; only metadata will do. */
static int
decode_as_meta(struct kube_meta *meta, const struct kube_envelope *envelope,
               struct err *err)
{
    if (!str_is(envelope->kind, KIND))
        return err_set(err, "an object of kind \"%.*s\" instead of %s",
                       (int)envelope->kind.n, envelope->kind.s, KIND);
    return kube_meta_decode(meta, envelope->raw, err);
}

int
kube_meta_answer(struct kube_meta *meta, struct str body, struct err *err)
{
    struct kube_envelope envelope;

    if (kube_envelope_decode(&envelope, body, err) < 0)
        return -1;
    return decode_as_meta(meta, &envelope, err);
}

/* The object of an event, whose type is known. */
static int
decode_object(struct kube_event *event, struct str bytes, struct err *err)
{
    struct kube_envelope envelope;
    struct str value;

    if (kube_envelope_decode(&envelope, bytes, err) < 0)
        return -1;
    if (event->type == KUBE_ERROR) {
        event->status = envelope.raw;
        return 0;
    }
    if (decode_as_meta(&event->meta, &envelope, err) < 0)
        return -1;
    if (event->type == KUBE_BOOKMARK) {
        event->initial_end =
            kube_meta_annotation_at(&event->meta, INITIAL_END, &value) &&
            str_is(value, "true");
        return 0;
    }
    if (event->meta.name.n == 0 || event->meta.uid.n == 0)
        return err_set(err, "an object without name or uid");
    return 0;
}

/* RawExtension: 1 raw. */
static int
read_raw(struct str *raw, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0)
        if (pb_is_bytes(&field, 1))
            *raw = field.bytes;
    return more;
}

/* WatchEvent: 1 type, 2 object. */
static int
read_event(struct str *type, struct str *object, struct str frame,
           struct err *err)
{
    struct pb_reader reader = pb_reader(frame);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0) {
        if (pb_is_bytes(&field, 1))
            *type = field.bytes;
        if (pb_is_bytes(&field, 2) && read_raw(object, field.bytes, err) < 0)
            return -1;
    }
    return more;
}

int
kube_event_decode(struct kube_event *event, struct str frame, struct err *err)
{
    struct str type = STR(""), object = STR("");

    *event = (struct kube_event){.status = STR("")};
    kube_meta_decode(&event->meta, STR(""), NULL); /* an empty one */
    if (read_event(&type, &object, frame, err) < 0)
        return err_prefix(err, "watch");
    if (!kube_event_type_parse(type, &event->type))
        return err_set(err, "watch: an event of unknown type \"%.*s\"",
                       pb_is_text(type) && type.n < 32 ? (int)type.n : 0,
                       type.s);
    return decode_object(event, object, err) < 0 ? 1 : 0;
}

int
kube_frame_next(struct str bytes, size_t limit, struct str *frame, size_t *used,
                struct err *err)
{
    const unsigned char *head = (const unsigned char *)bytes.s;
    size_t n;

    if (bytes.n < 4)
        return 0;
    n = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 |
        head[3];
    if (n > limit)
        return err_set(err, "watch: an event of %zu bytes; %zu are accepted", n,
                       limit);
    if (bytes.n - 4 < n)
        return 0;
    *frame = (struct str){bytes.s + 4, n};
    *used = 4 + n;
    return 1;
}
