/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_PACK_H
#define PROTO_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/str.h"

/*
 * Writes a body in msgpack to a buffer.  A container announces its number of
 * items and the caller adds just so many; the reader's check finds a mistake.
 */
void pack_array(struct buf *out, size_t items);
void pack_map(struct buf *out, size_t pairs);
void pack_str(struct buf *out, struct str text);
void pack_text(struct buf *out, const char *text); /* NULL is "" */
void pack_int(struct buf *out, int64_t number);
void pack_real(struct buf *out, double number);
void pack_bool(struct buf *out, bool yes);
void pack_nil(struct buf *out);

/* The two as one text. */
void pack_joined(struct buf *out, struct str head, struct str tail);

#endif
