/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_STREAM_H
#define INFORMER_STREAM_H

#include <stdbool.h>

#include "common/err.h"
#include "common/kube/meta.h"
#include "common/kube/status.h"
#include "common/str.h"
#include "informer/extract.h"
#include "informer/resource.h"

/*
 * From the bytes of a watch to whole events: lines of JSON, or protobuf frames
 * of metadata, each of at most 4 MiB.
 *
 *     stream_feed(stream, bytes);
 *     while ((found = stream_next(stream, &event, &err)) != STREAM_MORE)
 *         ...
 */
struct stream;

#define STREAM_EVENT_MAX ((size_t)4 << 20)

struct stream_event {
    enum kube_event_type type;
    struct wire_object object; /* unless KUBE_ERROR */
    struct str version;        /* of the object; empty with KUBE_ERROR */
    bool initial_end;          /* of KUBE_BOOKMARK: the snapshot is complete */
    const struct kube_status *status; /* of KUBE_ERROR */
};

enum stream_found {
    STREAM_MORE,   /* nothing whole is left: feed more */
    STREAM_EVENT,  /* event is filled; it lives until the next call */
    STREAM_BAD,    /* one event that cannot be read, and err; others follow */
    STREAM_BROKEN, /* err; nothing that follows can be read */
};

struct stream *stream_new(enum encoding encoding);

/* NULL is fine. */
void stream_free(struct stream *stream);

void stream_feed(struct stream *stream, struct str bytes);

enum stream_found stream_next(struct stream *stream, struct stream_event *event,
                              struct err *err);

/* Whether bytes of an incomplete event are left. */
bool stream_is_inside(const struct stream *stream);

#endif
