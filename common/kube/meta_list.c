/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/meta_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/kube/protobuf.h"
#include "common/mem.h"

#define KIND "PartialObjectMetadataList"
#define SMALL_MAX ((size_t)64 << 10) /* any field but an item */

/*
 * The bytes are those of an envelope (magic, then fields), of which one field
 * is the list, of which one repeated field is the items.  The list is never
 * there as a whole, so its fields are read from within the envelope's.
 */
enum state { IN_MAGIC, IN_ENVELOPE, IN_LIST };

struct kube_meta_list {
    struct kube_meta_list_calls calls;
    enum state state;
    struct buf pending; /* came, but is not read yet */
    uint64_t left;      /* IN_LIST: bytes until its end */
    uint64_t skipping;  /* of them, those of an item that is passed over */
    bool is_list;       /* the envelope names the kind of a list */
    bool had_list;
    char *resource_version, *more;
    int64_t remaining;
};

/* The start of a field: what it is, and how many bytes it has. */
struct head {
    uint32_t number;
    unsigned type;
    size_t n; /* of the head itself */
    uint64_t payload;
};

struct kube_meta_list *
kube_meta_list_new(const struct kube_meta_list_calls *calls)
{
    struct kube_meta_list *list = mem_zalloc(sizeof(*list));

    list->calls = *calls;
    return list;
}

void
kube_meta_list_free(struct kube_meta_list *list)
{
    if (list == NULL)
        return;
    buf_fini(&list->pending);
    free(list->resource_version);
    free(list->more);
    free(list);
}

/* Reads the head of the field at bytes: 1, 0 if more is needed, -1. The value
 * of a number counts as payload. */
static int
read_head(struct str bytes, struct head *head, struct err *err)
{
    uint64_t tag, value;
    size_t used;
    int rc = pb_varint(bytes, &tag, &head->n);
    struct str rest;

    if (rc == 0)
        return 0;
    if (rc < 0 || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return err_set(err, "list: a field has no number that can be");
    head->number = (uint32_t)(tag >> 3);
    head->type = tag & 7;
    head->payload = head->type == PB_FIXED64 ? 8 : 4;
    if (head->type == PB_FIXED64 || head->type == PB_FIXED32)
        return 1;
    if (head->type != PB_VARINT && head->type != PB_BYTES)
        return err_set(err, "list: a field has an unknown wire type");
    rest = (struct str){bytes.s + head->n, bytes.n - head->n};
    rc = pb_varint(rest, &value, &used);
    if (rc < 0)
        return err_set(err, "list: a number is too long");
    if (rc == 0)
        return 0;
    if (head->type == PB_BYTES)
        head->n += used;
    head->payload = head->type == PB_BYTES ? value : used;
    return 1;
}

static void
set_text(char **text, struct str value)
{
    free(*text);
    *text = mem_dup(value.s, value.n);
}

/* ListMeta: 2 resourceVersion, 3 continue, 4 remainingItemCount. */
static int
read_list_meta(struct kube_meta_list *list, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0) {
        if ((pb_is_bytes(&field, 2) || pb_is_bytes(&field, 3)) &&
            !pb_is_text(field.bytes))
            return err_set(err, "list: a text is not UTF-8");
        if (pb_is_bytes(&field, 2))
            set_text(&list->resource_version, field.bytes);
        else if (pb_is_bytes(&field, 3))
            set_text(&list->more, field.bytes);
        else if (pb_is_varint(&field, 4) && field.value <= INT64_MAX)
            list->remaining = (int64_t)field.value;
    }
    return more;
}

static void
read_item(const struct kube_meta_list *list, struct str wire)
{
    struct kube_meta meta;
    struct err err;

    if (kube_meta_decode(&meta, wire, &err) == 0) {
        if (meta.name.n > 0 && meta.uid.n > 0) {
            list->calls.item(list->calls.arg, &meta);
            return;
        }
        err_set(&err, "an object without name or uid");
    }
    list->calls.bad(list->calls.arg, &err);
}

/* TypeMeta, in the envelope before the list: 2 kind. */
static int
read_type(struct kube_meta_list *list, struct str wire, struct err *err)
{
    struct pb_reader reader = pb_reader(wire);
    struct pb_field field;
    int more;

    while ((more = pb_next(&reader, &field, err)) > 0)
        if (pb_is_bytes(&field, 2))
            list->is_list = str_is(field.bytes, KIND);
    return more;
}

static int
step_magic(struct kube_meta_list *list, struct err *err)
{
    if (list->pending.len < 4)
        return 0;
    if (memcmp(buf_bytes(&list->pending), "k8s", 4) != 0)
        return err_set(err, "list: not an answer in Kubernetes' protobuf");
    buf_drop(&list->pending, 4);
    list->state = IN_ENVELOPE;
    return 1;
}

/* The list begins: from here on its own fields are read. */
static int
enter_list(struct kube_meta_list *list, const struct head *head,
           struct err *err)
{
    if (!list->is_list || list->had_list)
        return err_set(err, "list: not one %s", KIND);
    buf_drop(&list->pending, head->n);
    list->left = head->payload;
    list->had_list = true;
    list->state = IN_LIST;
    return 1;
}

/* The payload of the field at the front, once it is all there: 1, or 0. */
static int
whole_field(const struct kube_meta_list *list, const struct head *head,
            size_t limit, struct str *payload, struct err *err)
{
    if (head->payload > limit)
        return err_set(err, "list: a field of %llu bytes; %zu are accepted",
                       (unsigned long long)head->payload, limit);
    if (list->pending.len - head->n < head->payload)
        return 0;
    *payload = (struct str){buf_bytes(&list->pending) + head->n,
                            (size_t)head->payload};
    return 1;
}

static int
step_envelope(struct kube_meta_list *list, struct err *err)
{
    struct str payload = STR("");
    struct head head;
    int rc = read_head(buf_str(&list->pending), &head, err);

    if (rc <= 0)
        return rc;
    if (head.number == 2 && head.type == PB_BYTES)
        return enter_list(list, &head, err);
    rc = whole_field(list, &head, SMALL_MAX, &payload, err);
    if (rc <= 0)
        return rc;
    if (head.number == 1 && head.type == PB_BYTES &&
        read_type(list, payload, err) < 0)
        return -1;
    if (head.number == 3 && head.type == PB_BYTES && payload.n > 0)
        return err_set(err, "list: in an encoding that is not known");
    buf_drop(&list->pending, head.n + payload.n);
    return 1;
}

static bool
is_item(const struct head *head)
{
    return head->type == PB_BYTES && head->number == 2;
}

static int
take_list_field(struct kube_meta_list *list, const struct head *head,
                struct str payload, struct err *err)
{
    if (is_item(head))
        read_item(list, payload);
    else if (head->type == PB_BYTES && head->number == 1)
        return read_list_meta(list, payload, err);
    return 0;
}

/* Drops what has come of an item that is too large. */
static int
step_skipping(struct kube_meta_list *list)
{
    size_t n = list->pending.len;

    if (n > list->skipping)
        n = (size_t)list->skipping;
    buf_drop(&list->pending, n);
    list->skipping -= n;
    list->left -= n;
    return n > 0;
}

static int
skip_item(struct kube_meta_list *list, const struct head *head)
{
    struct err what;

    err_set(&what, "an object in a list has %llu bytes; %zu are accepted",
            (unsigned long long)head->payload, KUBE_META_ITEM_MAX);
    list->calls.bad(list->calls.arg, &what);
    buf_drop(&list->pending, head->n);
    list->left -= head->n;
    list->skipping = head->payload;
    return 1;
}

static int
step_list(struct kube_meta_list *list, struct err *err)
{
    struct str bytes = buf_str(&list->pending), payload = STR("");
    struct head head;
    int rc;

    if (list->skipping > 0)
        return step_skipping(list);
    if (list->left == 0) {
        list->state = IN_ENVELOPE;
        return 1;
    }
    if (bytes.n > list->left)
        bytes.n = (size_t)list->left;
    rc = read_head(bytes, &head, err);
    if ((rc == 0 && bytes.n == list->left) ||
        (rc > 0 && head.payload > list->left - head.n))
        return err_set(err, "list: a field reaches beyond its end");
    if (rc <= 0)
        return rc;
    if (is_item(&head) && head.payload > KUBE_META_ITEM_MAX)
        return skip_item(list, &head);
    rc = whole_field(list, &head,
                     is_item(&head) ? KUBE_META_ITEM_MAX : SMALL_MAX, &payload,
                     err);
    if (rc <= 0)
        return rc;
    if (take_list_field(list, &head, payload, err) < 0)
        return -1;
    buf_drop(&list->pending, head.n + payload.n);
    list->left -= head.n + payload.n;
    return 1;
}

int
kube_meta_list_feed(struct kube_meta_list *list, struct str bytes,
                    struct err *err)
{
    static int (*const steps[])(struct kube_meta_list * list,
                                struct err * err) = {
        [IN_MAGIC] = step_magic,
        [IN_ENVELOPE] = step_envelope,
        [IN_LIST] = step_list,
    };
    int rc;

    buf_adds(&list->pending, bytes);
    while ((rc = steps[list->state](list, err)) > 0)
        ;
    return rc;
}

int
kube_meta_list_finish(const struct kube_meta_list *list,
                      struct kube_meta_list_end *end, struct err *err)
{
    if (list->state == IN_MAGIC || !list->had_list || list->pending.len > 0 ||
        list->left > 0)
        return err_set(err, "list: the answer ends in the middle");
    end->resource_version =
        list->resource_version == NULL ? "" : list->resource_version;
    end->more = list->more == NULL ? "" : list->more;
    end->remaining = list->remaining;
    return 0;
}
