/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_WIRE_H
#define TESTS_FAKE_WIRE_H

#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "common/str.h"

/* Writes protobuf's wire format, and Kubernetes' envelopes, for tests. */

static inline void
wire_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_addc(out, (char)(value | 0x80));
    buf_addc(out, (char)value);
}

static inline void
wire_number(struct buf *out, unsigned field, uint64_t value)
{
    wire_varint(out, (uint64_t)field << 3);
    wire_varint(out, value);
}

static inline void
wire_bytes(struct buf *out, unsigned field, struct str bytes)
{
    wire_varint(out, (uint64_t)field << 3 | 2);
    wire_varint(out, bytes.n);
    buf_adds(out, bytes);
}

static inline void
wire_text(struct buf *out, unsigned field, const char *text)
{
    wire_bytes(out, field, str_of(text));
}

/* A message as a field; message is empty afterwards. */
static inline void
wire_message(struct buf *out, unsigned field, struct buf *message)
{
    wire_bytes(out, field, buf_str(message));
    buf_fini(message);
}

/* An entry of labels (11) or annotations (12) of ObjectMeta. */
static inline void
wire_entry(struct buf *out, unsigned field, const char *key, const char *value)
{
    struct buf entry = {0};

    wire_text(&entry, 1, key);
    wire_text(&entry, 2, value);
    wire_message(out, field, &entry);
}

/* Magic and Unknown around message, which is empty afterwards. */
static inline void
wire_envelope(struct buf *out, const char *version, const char *kind,
              struct buf *message)
{
    struct buf type = {0};

    buf_add(out, "k8s\0", 4);
    wire_text(&type, 1, version);
    wire_text(&type, 2, kind);
    wire_message(out, 1, &type);
    wire_message(out, 2, message);
    wire_text(out, 3, "");
    wire_text(out, 4, "");
}

/* A watch frame with its length, around an envelope, which is empty
 * afterwards. */
static inline void
wire_frame(struct buf *out, const char *type, struct buf *envelope)
{
    struct buf raw = {0}, event = {0};

    wire_message(&raw, 1, envelope);
    wire_text(&event, 1, type);
    wire_message(&event, 2, &raw);
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(out, (char)(event.len >> shift));
    buf_adds(out, buf_str(&event));
    buf_fini(&event);
}

#endif
