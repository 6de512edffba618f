/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_PROTOBUF_H
#define COMMON_KUBE_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/*
 * A reader of protobuf's wire format over bytes in memory.  It copies nothing,
 * allocates nothing, and never looks beyond the bytes given.  A message is
 * walked field by field:
 *
 *     struct pb_reader reader = pb_reader(message);
 *     struct pb_field field;
 *     int more;
 *
 *     while ((more = pb_next(&reader, &field, err)) > 0)
 *         if (pb_is_bytes(&field, 1))
 *             name = field.bytes;
 *
 * Groups (wire types 3 and 4) and field number 0 are malformed here.
 */
struct pb_reader {
    struct str rest;
};

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
    uint32_t number;
    enum pb_type type;
    uint64_t value;   /* of PB_VARINT; fixed numbers are skipped, not read */
    struct str bytes; /* of PB_BYTES: borrowed, may hold any byte */
};

static inline struct pb_reader
pb_reader(struct str message)
{
    return (struct pb_reader){message};
}

/* The next field: 1; 0 at the end; -1 and err if the bytes are malformed. */
int pb_next(struct pb_reader *reader, struct pb_field *field, struct err *err);

/*
 * A varint of at most ten bytes at the start of bytes: 1, *value and its
 * length *used; 0 if bytes end in the middle of it; -1 if it is none.
 */
int pb_varint(struct str bytes, uint64_t *value, size_t *used);

static inline bool
pb_is_bytes(const struct pb_field *field, uint32_t number)
{
    return field->number == number && field->type == PB_BYTES;
}

static inline bool
pb_is_varint(const struct pb_field *field, uint32_t number)
{
    return field->number == number && field->type == PB_VARINT;
}

/* UTF-8 without NUL, which is what every text of Kubernetes must be. */
bool pb_is_text(struct str bytes);

#endif
