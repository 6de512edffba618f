/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/recording.h"

#include <string.h>

#include "common/build.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"

#define CHECK_SIZE 4 /* bytes of the check sum, which come first */

static void
put(unsigned char *at, uint32_t value)
{
    for (int i = 3; i >= 0; i--, value >>= 8)
        at[i] = (unsigned char)value;
}

static uint32_t
get(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | at[3];
}

/* FNV-1a: against accidents, and any change of one byte shows. */
static uint32_t
sum(const unsigned char *s, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 16777619u;
    return h;
}

/* ---- writing ----------------------------------------------------------- */

/* Room for the head, and the kind; returns where the record starts. */
static size_t
open_record(struct buf *out, enum recorded kind)
{
    size_t start = out->len;

    memset(buf_room(out, RECORDING_HEAD), 0, RECORDING_HEAD);
    buf_grew(out, RECORDING_HEAD);
    buf_addc(out, (char)kind);
    return start;
}

static void
close_record(struct buf *out, size_t start)
{
    unsigned char *head = (unsigned char *)buf_bytes(out) + start;
    size_t n = out->len - start;

    put(head + CHECK_SIZE, (uint32_t)(n - RECORDING_HEAD));
    put(head, sum(head + CHECK_SIZE, n - CHECK_SIZE));
}

void
recording_add_begin(struct buf *out, uint64_t generation, int64_t variant)
{
    size_t start;

    buf_addz(out, RECORDING_MARK);
    start = open_record(out, RECORDED_BEGIN);
    pack_array(out, 5);
    pack_int(out, RECORDING_FORMAT);
    pack_int(out, PROTOCOL_VERSION);
    pack_text(out, build_id);
    pack_int(out, (int64_t)generation);
    pack_int(out, variant);
    close_record(out, start);
}

void
recording_add_link(struct buf *out, enum recorded kind, enum role peer)
{
    size_t start = open_record(out, kind);

    pack_array(out, 1);
    pack_int(out, peer);
    close_record(out, start);
}

void
recording_add_frame(struct buf *out, enum recorded kind, enum role peer,
                    uint16_t type, uint32_t id, struct str body)
{
    size_t start = open_record(out, kind);

    buf_addc(out, (char)peer);
    frame_add(out, type, 0, id, body);
    close_record(out, start);
}

void
recording_add_end(struct buf *out, bool complete, const char *reason)
{
    size_t start = open_record(out, RECORDED_END);

    pack_array(out, 2);
    pack_bool(out, complete);
    pack_text(out, reason);
    close_record(out, start);
}

/* ---- reading ----------------------------------------------------------- */

bool
recording_is(struct str bytes)
{
    return bytes.n >= RECORDING_MARK_SIZE &&
           memcmp(bytes.s, RECORDING_MARK, RECORDING_MARK_SIZE) == 0;
}

static struct str
rest_of(const struct recording *r)
{
    return (struct str){r->bytes.s + r->at, r->bytes.n - r->at};
}

static bool
is_peer(int64_t number)
{
    return number >= 0 && number < ROLE_COUNT;
}

static int
read_begin(struct record *record, struct unpack *u, struct err *err)
{
    int64_t format = unpack_int(u);
    int64_t protocol = unpack_int(u);

    record->build = unpack_str(u);
    if (!u->bad && (format != RECORDING_FORMAT || protocol != PROTOCOL_VERSION))
        return err_set(err,
                       "recorded by build %.*s in format %d, protocol %d; this "
                       "is build %s, format %d, protocol %d",
                       (int)record->build.n, record->build.s, (int)format,
                       (int)protocol, build_id, RECORDING_FORMAT,
                       PROTOCOL_VERSION);
    record->generation = unpack_int(u);
    record->variant = unpack_int(u);
    return unpack_end(u, err);
}

static int
read_peer(struct record *record, struct unpack *u, struct err *err)
{
    int64_t peer = unpack_int(u);

    if (unpack_end(u, err) != 0)
        return -1;
    if (!is_peer(peer))
        return err_set(err, "there is no peer %d", (int)peer);
    record->peer = (enum role)peer;
    return 0;
}

static int
read_end(struct record *record, struct unpack *u, struct err *err)
{
    record->complete = unpack_bool(u);
    record->reason = unpack_str(u);
    return unpack_end(u, err);
}

/* The texts are views into the bytes, so they outlive the tree. */
static int
read_fields(struct record *record, struct str body, struct err *err)
{
    struct unpacked *tree = unpack_body(body, err);
    struct unpack u;
    int rc;

    if (tree == NULL)
        return -1;
    u = unpack_fields(unpacked_root(tree));
    if (record->kind == RECORDED_BEGIN)
        rc = read_begin(record, &u, err);
    else if (record->kind == RECORDED_END)
        rc = read_end(record, &u, err);
    else
        rc = read_peer(record, &u, err);
    unpacked_free(tree);
    return rc;
}

static int
read_frame(const struct recording *r, struct record *record, struct str content,
           struct err *err)
{
    bool said = record->kind == RECORDED_SAID;
    struct buf in;
    int found;

    if (content.n == 0 || !is_peer((unsigned char)content.s[0]))
        return err_set(err, "a frame without a peer");
    record->peer = (enum role)content.s[0];
    in = (struct buf){.data = (char *)content.s + 1, .len = content.n - 1};
    found = frame_find(&record->frame, &in, said ? r->self : record->peer,
                       said ? record->peer : r->self, err);
    if (found < 0)
        return -1;
    if (found == 0 || record->frame.flags != 0 ||
        record->frame.length != in.len - FRAME_HEADER)
        return err_set(err, "a frame that does not fill its record");
    return 0;
}

static int
read_content(struct recording *r, struct record *record, struct str content,
             bool fresh, struct err *err)
{
    struct str rest = {content.s + 1, content.n - 1};

    record->kind = (enum recorded)(unsigned char)content.s[0];
    if (fresh != (record->kind == RECORDED_BEGIN))
        return err_set(err, fresh ? "a section without its begin"
                                  : "a begin inside a section");
    switch (record->kind) {
    case RECORDED_END:
        r->ended = true;
        return read_fields(record, rest, err);
    case RECORDED_BEGIN:
    case RECORDED_LINKED:
    case RECORDED_LOST:
        return read_fields(record, rest, err);
    case RECORDED_TAKEN:
    case RECORDED_SAID:
        return read_frame(r, record, rest, err);
    }
    return err_set(err, "a record of unknown kind %d", (int)record->kind);
}

/* The size of the record here by its head; 0 if that makes no sense, or is not
 * all there. */
static size_t
size_of(struct str rest)
{
    uint32_t n = rest.n < RECORDING_HEAD
                     ? 0
                     : get((const unsigned char *)rest.s + CHECK_SIZE);

    return n == 0 || n > RECORDING_CONTENT_MAX ? 0 : RECORDING_HEAD + n;
}

static bool
is_whole(struct str rest)
{
    const unsigned char *s = (const unsigned char *)rest.s;
    size_t n = size_of(rest);

    return n > 0 && n <= rest.n &&
           get(s) == sum(s + CHECK_SIZE, n - CHECK_SIZE);
}

/* Goes on to the mark that stands where this record, or its head or a mark,
 * would have gone on; false if there is none. */
static bool
skip_cut(struct recording *r)
{
    struct str rest = rest_of(r);
    size_t n = size_of(rest);
    size_t window = (n == 0 ? RECORDING_MARK_SIZE : n) + RECORDING_MARK_SIZE;
    const char *mark = memmem(rest.s, window - 1 < rest.n ? window - 1 : rest.n,
                              RECORDING_MARK, RECORDING_MARK_SIZE);

    if (mark == NULL)
        return false;
    r->at += (size_t)(mark - rest.s);
    return true;
}

/* Goes to the next record that is whole, over a mark and over what was cut. */
static int
seek(struct recording *r, bool *fresh, bool *cut, struct err *err)
{
    for (;;) {
        struct str rest;

        *fresh = recording_is(rest_of(r));
        if (*fresh)
            r->at += RECORDING_MARK_SIZE;
        rest = rest_of(r);
        if (is_whole(rest))
            return 0;
        *cut = skip_cut(r);
        if (!*cut)
            return err_set(err, "byte %zu: %s", r->at,
                           rest.n < RECORDING_HEAD || size_of(rest) > rest.n
                               ? "the file ends in the middle of a record"
                               : "the record is damaged");
    }
}

int
recording_next(struct recording *r, struct record *record, struct err *err)
{
    struct str content;
    bool fresh;

    *record = (struct record){0};
    if (r->at == 0 && !recording_is(r->bytes))
        return err_set(err, "this is no recording");
    if (r->at == r->bytes.n)
        return 0;
    if (seek(r, &fresh, &record->cut, err) != 0)
        return -1;
    if (r->ended && !fresh)
        return err_set(err, "byte %zu: something follows the end", r->at);
    r->ended = false;
    record->offset = r->at;
    content = rest_of(r);
    content.n = size_of(content) - RECORDING_HEAD;
    content.s += RECORDING_HEAD;
    r->at += RECORDING_HEAD + content.n;
    if (read_content(r, record, content, fresh, err) == 0)
        return 1;
    return err_prefix(err, "byte %zu", record->offset);
}
