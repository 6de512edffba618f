/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/stream.h"

#include <stdlib.h>

#include "common/buf.h"
#include "common/kube/json.h"
#include "common/kube/owned.h"
#include "common/kube/prune.h"
#include "common/mem.h"

#define INITIAL_END "k8s.io/initial-events-end"

struct stream {
    enum encoding encoding;
    struct buf in;
    size_t searched; /* bytes of in without the end of a line */
    size_t taken;    /* bytes of in that the present event borrows */
    json_t *line;    /* the present event */
    struct kube_event frame;
    struct kube_status status;
};

struct stream *
stream_new(enum encoding encoding)
{
    struct stream *stream = mem_zalloc(sizeof(*stream));

    stream->encoding = encoding;
    return stream;
}

/* The present event is over. */
static void
let_go(struct stream *stream)
{
    json_decref(stream->line);
    stream->line = NULL;
    kube_status_fini(&stream->status);
    stream->status = (struct kube_status){0};
    buf_drop(&stream->in, stream->taken);
    stream->taken = 0;
}

void
stream_free(struct stream *stream)
{
    if (stream == NULL)
        return;
    let_go(stream);
    buf_fini(&stream->in);
    free(stream);
}

void
stream_feed(struct stream *stream, struct str bytes)
{
    let_go(stream);
    buf_adds(&stream->in, bytes);
}

static int
read_status(struct stream *stream, struct stream_event *event,
            const json_t *object, struct err *err)
{
    if (kube_status_json(&stream->status, object, err) != 0)
        return -1;
    event->status = &stream->status;
    return 0;
}

/* Reads the object of a line. */
static int
read_object(struct stream_event *event, json_t *object)
{
    const json_t *notes = kube_json_at(object, "metadata.annotations");

    event->object.json = object;
    event->version = extract_identity(&event->object).version;
    event->initial_end =
        event->type == KUBE_BOOKMARK &&
        str_is(str_of(json_string_value(json_object_get(notes, INITIAL_END))),
               "true");
    return 0;
}

static const char *const unread[] = {"object." OWNED_UNREAD, NULL};

static int
read_line(struct stream *stream, struct str line, struct stream_event *event,
          struct err *err)
{
    json_t *object = NULL;
    const char *type;

    stream->line = kube_json_parse_pruned(line, unread, err);
    if (stream->line == NULL)
        return err_prefix(err, "event");
    type = kube_json_text(stream->line, "type");
    if (!kube_event_type_parse(str_of(type), &event->type))
        return err_set(err, "event of unknown type \"%.32s\"", type);
    if (kube_json_object(stream->line, "object", &object, err) <= 0)
        return err_set(err, "event %s without an object", type);
    return event->type == KUBE_ERROR ? read_status(stream, event, object, err)
                                     : read_object(event, object);
}

/* The next line that is not empty; 0 if none is whole, -1 if it is too long. */
static int
next_line(struct stream *stream, struct str *line, struct err *err)
{
    for (;;) {
        struct str in = buf_str(&stream->in);
        const char *end = in.n == stream->searched
                              ? NULL
                              : memchr(in.s + stream->searched, '\n',
                                       in.n - stream->searched);
        size_t n = end == NULL ? in.n : (size_t)(end - in.s);

        if (n > STREAM_EVENT_MAX)
            return err_set(err, "an event has more than %zu bytes",
                           STREAM_EVENT_MAX);
        stream->searched = end == NULL ? n : 0;
        if (end == NULL)
            return 0;
        *line = (struct str){in.s, n};
        stream->taken = n + 1;
        if (n > 0 && !(n == 1 && in.s[0] == '\r'))
            return 1;
        let_go(stream);
    }
}

static enum stream_found
next_json(struct stream *stream, struct stream_event *event, struct err *err)
{
    struct str line = STR("");
    int rc = next_line(stream, &line, err);

    if (rc <= 0)
        return rc == 0 ? STREAM_MORE : STREAM_BROKEN;
    return read_line(stream, line, event, err) == 0 ? STREAM_EVENT : STREAM_BAD;
}

static enum stream_found
read_frame(struct stream *stream, struct stream_event *event, struct err *err)
{
    const struct kube_event *frame = &stream->frame;

    event->type = frame->type;
    if (frame->type == KUBE_ERROR) {
        if (kube_status_protobuf(&stream->status, frame->status, err) != 0)
            return STREAM_BROKEN;
        event->status = &stream->status;
        return STREAM_EVENT;
    }
    event->object.meta = &frame->meta;
    event->version = frame->meta.resource_version;
    event->initial_end = frame->initial_end;
    return STREAM_EVENT;
}

static enum stream_found
next_meta(struct stream *stream, struct stream_event *event, struct err *err)
{
    struct str frame;
    int rc = kube_frame_next(buf_str(&stream->in), STREAM_EVENT_MAX, &frame,
                             &stream->taken, err);

    if (rc <= 0) {
        stream->taken = 0;
        return rc == 0 ? STREAM_MORE : STREAM_BROKEN;
    }
    rc = kube_event_decode(&stream->frame, frame, err);
    if (rc != 0)
        return rc < 0 ? STREAM_BROKEN : STREAM_BAD;
    return read_frame(stream, event, err);
}

enum stream_found
stream_next(struct stream *stream, struct stream_event *event, struct err *err)
{
    let_go(stream);
    *event = (struct stream_event){0};
    return stream->encoding == ENCODING_JSON ? next_json(stream, event, err)
                                             : next_meta(stream, event, err);
}

bool
stream_is_inside(const struct stream *stream)
{
    return stream->in.len > stream->taken;
}
