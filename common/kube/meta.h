/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_META_H
#define COMMON_KUBE_META_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Metadata of objects as the API server sends it in protobuf when asked for
 * with the Accept texts below: whole answers, and frames of a watch.  Lists,
 * which can be large, are read by meta_list.h item by item.
 *
 * Everything is checked when it is decoded (lengths, UTF-8), so the walks
 * over labels and so on cannot fail.  All views are borrowed from the bytes
 * given.
 */
#define KUBE_META_ACCEPT                                                       \
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;"            \
    "g=meta.k8s.io;v=v1"
#define KUBE_META_LIST_ACCEPT                                                  \
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;"        \
    "g=meta.k8s.io;v=v1"
#define KUBE_PROTOBUF "application/vnd.kubernetes.protobuf"

/* An absent time. */
#define KUBE_NO_TIME INT64_MIN

struct kube_meta {
    struct str name, namespace, uid, resource_version;
    int64_t generation;
    int64_t created; /* nanoseconds since 1970, or KUBE_NO_TIME */
    int64_t deleted; /* deletionTimestamp, or KUBE_NO_TIME */
    struct str wire; /* the message ObjectMeta, for the walks below */
};

/* An entry of a managedFields list. */
struct kube_managed {
    struct str manager, operation, api_version, fields_type;
    struct str fields; /* JSON text of FieldsV1 */
    struct str subresource;
};

/*
 * A walk: starts zeroed, and each call gives the next entry or false at the
 * end.  Entries come in the order sent.
 *
 *     struct kube_meta_walk walk = {0};
 *
 *     while (kube_meta_label(meta, &walk, &key, &value))
 */
struct kube_meta_walk {
    size_t pos;
};

bool kube_meta_label(const struct kube_meta *meta, struct kube_meta_walk *walk,
                     struct str *key, struct str *value);
bool kube_meta_annotation(const struct kube_meta *meta,
                          struct kube_meta_walk *walk, struct str *key,
                          struct str *value);
bool kube_meta_managed(const struct kube_meta *meta,
                       struct kube_meta_walk *walk,
                       struct kube_managed *managed);
bool kube_meta_finalizer(const struct kube_meta *meta,
                         struct kube_meta_walk *walk, struct str *finalizer);

/* The value of one annotation, or false. */
bool kube_meta_annotation_at(const struct kube_meta *meta, const char *key,
                             struct str *value);

/* Decodes a message PartialObjectMetadata. -1 and err (naming the object where
 * its name was readable) if it is malformed. */
int kube_meta_decode(struct kube_meta *meta, struct str wire, struct err *err);

/* Decodes a whole answer: magic, envelope, PartialObjectMetadata. */
int kube_meta_answer(struct kube_meta *meta, struct str body, struct err *err);

/*
 * The envelope of an object: after the four magic bytes, the kind it is and
 * the message itself.  -1 and err if the magic is missing or the envelope is
 * malformed.
 */
struct kube_envelope {
    struct str api_version, kind;
    struct str raw;
};
int kube_envelope_decode(struct kube_envelope *envelope, struct str bytes,
                         struct err *err);

enum kube_event_type {
    KUBE_ADDED,
    KUBE_MODIFIED,
    KUBE_DELETED,
    KUBE_BOOKMARK,
    KUBE_ERROR,
};

/* The type's text in a watch ("ADDED"), which is also JSON's; false if
 * unknown. */
bool kube_event_type_parse(struct str text, enum kube_event_type *type);

struct kube_event {
    enum kube_event_type type;
    struct kube_meta meta; /* unless KUBE_ERROR */
    bool initial_end;      /* of KUBE_BOOKMARK: the snapshot is complete */
    struct str status;     /* of KUBE_ERROR: for kube_status_protobuf */
};

/*
 * Decodes one frame of a watch (without its four bytes of length).  -1 and err
 * if the frame as such is malformed: end the watch.  If only the object in it
 * is, 1 and err: event->type stands, meta is empty but for what could be read,
 * and the watch may go on.
 */
int kube_event_decode(struct kube_event *event, struct str frame,
                      struct err *err);

/*
 * The first whole frame in bytes, which is what has come of a watch so far: 1
 * and *frame, *used being what to drop; 0 if more bytes are needed; -1 and err
 * if the frame is larger than limit bytes.
 */
int kube_frame_next(struct str bytes, size_t limit, struct str *frame,
                    size_t *used, struct err *err);

#endif
