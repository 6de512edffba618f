/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "proto/role.h"

/*
 * A frame is a header of twelve bytes and a body in msgpack.  The header, big
 * endian: length of the body (4), type (2), flags (2), id (4; ties an answer
 * to its question, 0 where there is none).
 */

#define PROTOCOL_VERSION 4
#define FRAME_HEADER 12

/* A descriptor travels with this frame. */
#define FRAME_DESCRIPTOR 1u

enum message_type {
#define MESSAGE(number, name, from, to, cap, body) MSG_##name = (number),
#include "proto/messages.def"
};

struct frame {
    uint32_t length; /* of the body */
    uint16_t type;
    uint16_t flags;
    uint32_t id;
    const char *body; /* borrowed from the bytes that were read */
};

/* The name of a type, "unknown" for a number without a row. */
const char *message_name(uint16_t type);

/* The largest body, in bytes; 0 without a row. */
uint32_t message_cap(uint16_t type);

/* The set of roles (R_...) that may get it; 0 without a row. */
uint32_t message_receivers(uint16_t type);

/* The fields of its body, as the catalogue lists them. */
const char *message_body(uint16_t type);

/* Appends a frame with the given body. */
void frame_add(struct buf *out, uint16_t type, uint16_t flags, uint32_t id,
               struct str body);

/*
 * Looks for a frame at the start of the bytes that peer sent to self.
 * 1: frame is filled and whole; it took FRAME_HEADER + length bytes.
 * 0: more bytes are needed.
 * -1 and err: a type without a row, one that peer may not send to self, or a
 * body above its cap; the header alone decides, so no such body is waited for.
 */
int frame_find(struct frame *frame, const struct buf *in, enum role peer,
               enum role self, struct err *err);

#endif
