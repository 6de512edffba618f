/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_UNPACK_H
#define PROTO_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Reading a body.  unpack_body gives a tree; values and texts in it are
 * borrowed and die with it (and with the bytes it was read from).
 */
struct value;
struct unpacked;

enum value_kind {
    VALUE_NIL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_STR,
    VALUE_ARRAY,
    VALUE_MAP,
    VALUE_OTHER
};

/* Checks and decodes a body (check.h); NULL and err if it does not hold.
 * The bytes must outlive the result. */
struct unpacked *unpack_body(struct str body, struct err *err);
const struct value *unpacked_root(const struct unpacked *u);
void unpacked_free(struct unpacked *u);

enum value_kind value_kind(const struct value *v);

/* Items of an array, pairs of a map, 0 of anything else. */
size_t value_count(const struct value *v);

/* Item i of an array, or the value of pair i of a map. i must be below the
 * count. */
const struct value *value_at(const struct value *v, size_t i);

/* The key of pair i of a map; "" if it is no text. */
struct str value_key(const struct value *v, size_t i);

/* The value at a key of a map (the last one, if it occurs twice); NULL if v is
 * no map, has no such key, or holds nil there. v may be NULL. */
const struct value *value_get(const struct value *v, const char *key);

/* Each returns false, and leaves *out alone, if v is NULL or of another kind.
 * A text with a NUL inside is of another kind. */
bool value_str(const struct value *v, struct str *out);
bool value_int(const struct value *v, int64_t *out);
bool value_bool(const struct value *v, bool *out);

/*
 * The fields of an array in their order.  The first field of a wrong kind, or
 * one too many, makes the reader bad: from then on it gives empty values.
 * unpack_end tells, and also refuses fields left over, so that a message is
 * consumed exactly.
 */
struct unpack {
    const struct value *array;
    size_t next;
    bool bad;
};

struct unpack unpack_fields(const struct value *array);
struct str unpack_str(struct unpack *u);
int64_t unpack_int(struct unpack *u);
bool unpack_bool(struct unpack *u);
/* Any value; NULL when the reader is bad. */
const struct value *unpack_value(struct unpack *u);
const struct value *unpack_array(struct unpack *u);
const struct value *unpack_map(struct unpack *u);
int unpack_end(const struct unpack *u, struct err *err);

#endif
