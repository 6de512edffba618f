/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_RECORDING_H
#define PROTO_RECORDING_H

#include <stdbool.h>

#include "common/buf.h"
#include "proto/frame.h"

/*
 * A recording: what one worker took in and what it said, from its start on, to
 * be run again.  Everything here works on bytes in memory.
 *
 * It consists of sections, one for each start of the worker.  A section is the
 * mark, then records; the first is BEGIN, the last END, which is missing if the
 * worker was killed.  A record is a head of eight bytes, big endian (a check
 * sum of the rest (4), length of the content (4)), and the content: a byte for
 * the kind, then
 *
 *     BEGIN   [format protocol build generation variant]  (a msgpack array)
 *     LINKED  [peer]
 *     LOST    [peer]
 *     TAKEN   a byte for the peer, a frame of its as it came
 *     SAID    a byte for the peer, a frame to it
 *     END     [complete reason]
 *
 * The variant is a bit for each option that changes what the worker says;
 * which, the worker knows.
 *
 * A record in the middle of which the worker was killed is passed over if the
 * mark of the next section follows within it.
 */
#define RECORDING_MARK "mokka recording\n"
#define RECORDING_MARK_SIZE (sizeof(RECORDING_MARK) - 1)
#define RECORDING_FORMAT 2
#define RECORDING_HEAD 8
#define RECORDING_CONTENT_MAX                                                  \
    (FRAME_HEADER + (4u << 20)) /* above every cap                             \
                                 */

enum recorded {
    RECORDED_BEGIN = 'B',
    RECORDED_LINKED = 'L',
    RECORDED_LOST = 'X',
    RECORDED_TAKEN = 'T',
    RECORDED_SAID = 'S',
    RECORDED_END = 'E',
};

struct record {
    enum recorded kind;
    size_t offset;      /* of its first byte in the file */
    enum role peer;     /* LINKED, LOST, TAKEN, SAID */
    struct frame frame; /* TAKEN, SAID: of a length and on a route that the
                         * catalogue allows; its body is not checked yet */
    int64_t generation; /* BEGIN */
    int64_t variant;    /* BEGIN */
    struct str build;   /* BEGIN */
    bool cut; /* BEGIN: the section before ends in the middle of a record */
    bool complete;     /* END: all that was said is there */
    struct str reason; /* END */
};

/* Appends a record; recording_add_begin the mark before it, too. */
void recording_add_begin(struct buf *out, uint64_t generation, int64_t variant);
/* kind is RECORDED_LINKED or RECORDED_LOST. */
void recording_add_link(struct buf *out, enum recorded kind, enum role peer);
/* kind is RECORDED_TAKEN or RECORDED_SAID. */
void recording_add_frame(struct buf *out, enum recorded kind, enum role peer,
                         uint16_t type, uint32_t id, struct str body);
void recording_add_end(struct buf *out, bool complete, const char *reason);

/* A walk over a recording; set bytes and self (whose it is), the rest zero. */
struct recording {
    struct str bytes;
    enum role self;
    size_t at;
    bool ended; /* private: an END came, only a mark may follow */
};

/*
 * The next record, whose texts and frame are borrowed from the bytes.  1: there
 * is one.  0: the end.  -1 and err, which names the byte: it is no recording,
 * or of another version, or damaged, or ends in the middle of a record.
 */
int recording_next(struct recording *r, struct record *record, struct err *err);

/* Whether a file that begins with these bytes (16 at least, or all of it) may
 * be a recording. */
bool recording_is(struct str bytes);

#endif
