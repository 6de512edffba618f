/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/replay.h"

#include <inttypes.h>
#include <stdio.h>

#include "placer/input.h"
#include "proto/show.h"
#include "proto/unpack.h"

#define LINE_WIDTH 72     /* of a field of a line */
#define EXCERPT 60        /* of a field that differs */
#define EXCERPT_BEFORE 20 /* of that, before the first byte that differs */

struct replayer {
    struct recording recording;
    struct placer placer;
    bool running;      /* the placer is there */
    struct buf said;   /* frames not found in the recording yet */
    struct input last; /* what the placer has taken last */
    size_t offset;     /* of that in the file */
    uint64_t intent;   /* since then */
    struct buf line;   /* reused */
    enum replay_show show;
    struct replay_sums *sums;
    struct err *err;
};

/* ---- showing ----------------------------------------------------------- */

static void
add_frame(struct replayer *r, uint16_t type, uint32_t id,
          const struct value *body)
{
    struct buf *line = &r->line;

    buf_clear(line);
    if (r->show == REPLAY_LINES) {
        buf_printf(line, "%" PRIu64 " %s", r->sums->taken, message_name(type));
        if (id != 0)
            buf_printf(line, " id=%" PRIu32, id);
        show_line(line, type, body, LINE_WIDTH);
        buf_addc(line, '\n');
        return;
    }
    buf_printf(line,
               "{\"section\":%" PRIu64 ",\"input\":%" PRIu64
               ",\"type\":\"%s\",\"id\":%" PRIu32 ",\"body\":",
               r->sums->sections, r->sums->taken, message_name(type), id);
    show_json(line, type, body);
    buf_addz(line, "}\n");
}

static void
show_frame(struct replayer *r, uint16_t type, uint32_t id, struct str body)
{
    /* On a link a message without fields is an empty array. */
    struct unpacked *u = unpack_body(body.n == 0 ? STR("\220") : body, NULL);

    if (u == NULL)
        return;
    add_frame(r, type, id, unpacked_root(u));
    unpacked_free(u);
    fwrite(buf_bytes(&r->line), 1, r->line.len, stdout);
}

/* ---- comparing --------------------------------------------------------- */

/* Where we are, for an error. */
static const char *
where(const struct replayer *r, char text[160])
{
    const struct input *in = &r->last;
    const char *what = in->kind == RECORDED_TAKEN    ? message_name(in->type)
                       : in->kind == RECORDED_LINKED ? "the link"
                                                     : "the end of the link";

    snprintf(text, 160,
             "byte %zu, section %" PRIu64 ", after input %" PRIu64
             " (%s from %s)",
             r->offset, r->sums->sections, r->sums->taken, what,
             role_name(in->peer));
    return text;
}

static enum replay_result
differs(const struct replayer *r, const char *text)
{
    char at[160];

    err_set(r->err, "%s: intent %" PRIu64 " differs: %s", where(r, at),
            r->intent, text);
    return REPLAY_DIFFERS;
}

/* A piece of a field, around the place where it differs. */
static struct str
excerpt(struct str text, size_t at)
{
    size_t start = at > EXCERPT_BEFORE ? at - EXCERPT_BEFORE : 0;
    size_t n = text.n > start ? text.n - start : 0;

    return (struct str){text.s + start, n > EXCERPT ? EXCERPT : n};
}

static void
tell_field(struct buf *out, struct str name, struct str then, struct str now)
{
    size_t at = 0;
    struct str a, b;

    while (at < then.n && at < now.n && then.s[at] == now.s[at])
        at++;
    a = excerpt(then, at);
    b = excerpt(now, at);
    buf_printf(out, "%.*s: recorded ...%.*s..., replayed ...%.*s...",
               (int)name.n, name.s, (int)a.n, a.s, (int)b.n, b.s);
}

/* Tells the first field in which two bodies of one type differ. */
static void
tell_fields(struct buf *out, uint16_t type, const struct value *then,
            const struct value *now)
{
    size_t count = value_count(then) < value_count(now) ? value_count(then)
                                                        : value_count(now);

    for (size_t i = 0; i < count; i++) {
        struct buf a = {0};
        struct buf b = {0};
        bool same;

        show_value(&a, value_at(then, i));
        show_value(&b, value_at(now, i));
        same = str_eq(buf_str(&a), buf_str(&b));
        if (!same)
            tell_field(out, show_field_name(type, i), buf_str(&a), buf_str(&b));
        buf_fini(&a);
        buf_fini(&b);
        if (!same)
            return;
    }
    buf_addz(out, "the encoding");
}

static enum replay_result
tell_difference(const struct replayer *r, const struct frame *then,
                const struct frame *now)
{
    struct unpacked *a =
        unpack_body((struct str){then->body, then->length}, NULL);
    struct unpacked *b =
        unpack_body((struct str){now->body, now->length}, NULL);
    struct buf text = {0};

    if (then->type != now->type || then->id != now->id || a == NULL ||
        b == NULL) {
        buf_printf(&text, "recorded %s id %" PRIu32 ", replayed %s id %" PRIu32,
                   message_name(then->type), then->id, message_name(now->type),
                   now->id);
    } else {
        buf_printf(&text, "%s id %" PRIu32 ", field ", message_name(then->type),
                   then->id);
        tell_fields(&text, then->type, unpacked_root(a), unpacked_root(b));
    }
    buf_addc(&text, '\0');
    unpacked_free(a);
    unpacked_free(b);
    differs(r, buf_bytes(&text));
    buf_fini(&text);
    return REPLAY_DIFFERS;
}

/* The next frame said now; 0 if there is none. */
static int
next_said(const struct replayer *r, struct frame *frame)
{
    return frame_find(frame, &r->said, ROLE_PLACER, ROLE_PROJECTOR, NULL);
}

static enum replay_result
compare(struct replayer *r, const struct frame *then)
{
    struct frame now;
    char text[120];

    r->intent++;
    if (next_said(r, &now) != 1) {
        snprintf(text, sizeof(text),
                 "recorded %s id %" PRIu32 ", replayed nothing",
                 message_name(then->type), then->id);
        return differs(r, text);
    }
    if (now.type != then->type || now.id != then->id ||
        !str_eq((struct str){now.body, now.length},
                (struct str){then->body, then->length}))
        return tell_difference(r, then, &now);
    buf_drop(&r->said, FRAME_HEADER + now.length);
    r->sums->said++;
    return REPLAY_SAME;
}

/* All that the last input made the placer say must have been recorded. */
static enum replay_result
expect_no_more(struct replayer *r)
{
    struct frame now;
    char text[120];

    if (next_said(r, &now) != 1)
        return REPLAY_SAME;
    r->intent++;
    snprintf(text, sizeof(text), "recorded nothing, replayed %s id %" PRIu32,
             message_name(now.type), now.id);
    return differs(r, text);
}

/* ---- running ----------------------------------------------------------- */

static void
on_said(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct replayer *r = arg;

    frame_add(&r->said, type, 0, id, body);
    if (r->show != REPLAY_NOTHING)
        show_frame(r, type, id, body);
}

/* The recording of a placer that was killed, or whose file was full, need not
 * have all that it said at last. */
static void
forget_extra(struct replayer *r)
{
    struct frame now;

    while (next_said(r, &now) == 1) {
        buf_drop(&r->said, FRAME_HEADER + now.length);
        r->sums->extra++;
    }
}

static void
end_placer(struct replayer *r)
{
    if (!r->running)
        return;
    placer_fini(&r->placer);
    r->running = false;
}

static enum replay_result
begin(struct replayer *r, const struct record *record)
{
    if (r->running) {
        r->sums->cut++;
        forget_extra(r);
        end_placer(r);
    }
    r->sums->sections++;
    placer_init(&r->placer, on_said, r);
    placer_vary(&r->placer, record->variant);
    r->running = true;
    return REPLAY_SAME;
}

static enum replay_result
end(struct replayer *r, const struct record *record)
{
    enum replay_result result = REPLAY_SAME;

    if (record->complete)
        result = expect_no_more(r);
    else
        forget_extra(r);
    end_placer(r);
    return result;
}

/* A frame that breaks the protocol did so then, too, and its link was lost. */
static enum replay_result
apply(struct replayer *r, struct input *in)
{
    struct err broken;

    r->last = *in;
    r->intent = 0;
    r->sums->taken++;
    (void)input_apply(&r->placer, in, &broken);
    return REPLAY_SAME;
}

static enum replay_result
take(struct replayer *r, const struct record *record)
{
    struct input in = {
        .kind = record->kind,
        .peer = record->peer,
        .type = record->frame.type,
        .id = record->frame.id,
        .bytes = {record->frame.body, record->frame.length},
    };
    struct unpacked *u = NULL;
    enum replay_result result = expect_no_more(r);

    if (result != REPLAY_SAME)
        return result;
    r->offset = record->offset;
    if (in.kind == RECORDED_TAKEN) {
        u = unpack_body(in.bytes, r->err);
        if (u == NULL) {
            err_prefix(r->err, "byte %zu: %s", record->offset,
                       message_name(in.type));
            return REPLAY_BAD;
        }
        in.body = unpacked_root(u);
    }
    result = apply(r, &in);
    unpacked_free(u);
    return result;
}

static enum replay_result
dispatch(struct replayer *r, const struct record *record)
{
    switch (record->kind) {
    case RECORDED_BEGIN:
        return begin(r, record);
    case RECORDED_END:
        return end(r, record);
    case RECORDED_SAID:
        return compare(r, &record->frame);
    default:
        return take(r, record);
    }
}

enum replay_result
replay(struct str bytes, enum replay_show show, struct replay_sums *sums,
       struct err *err)
{
    struct replayer r = {
        .recording = {.bytes = bytes, .self = ROLE_PLACER},
        .show = show,
        .sums = sums,
        .err = err,
    };
    enum replay_result result = REPLAY_SAME;
    struct record record;
    int found = 1;

    *sums = (struct replay_sums){0};
    while (result == REPLAY_SAME &&
           (found = recording_next(&r.recording, &record, err)) == 1)
        result = dispatch(&r, &record);
    if (result == REPLAY_SAME && found < 0)
        result = REPLAY_BAD;
    if (r.running && result == REPLAY_SAME) {
        sums->cut++;
        forget_extra(&r);
    }
    end_placer(&r);
    buf_fini(&r.said);
    buf_fini(&r.line);
    return result;
}
