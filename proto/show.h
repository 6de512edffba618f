/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_SHOW_H
#define PROTO_SHOW_H

#include "proto/frame.h"

struct value;

/*
 * Frames for people and for other programs, with the names of their fields as
 * the catalogue has them.
 */

/* Appends any value as JSON. Binary data and numbers that JSON does not have
 * become null. */
void show_value(struct buf *out, const struct value *v);

/* The name of field i of that type, without the catalogue's signs for its kind;
 * empty beyond the last. */
struct str show_field_name(uint16_t type, size_t i);

/* Appends {"field": value, ...}; action, outcome and kind by their names. */
void show_json(struct buf *out, uint16_t type, const struct value *body);

/* Appends " field=value" for each field, none longer than width bytes. */
void show_line(struct buf *out, uint16_t type, const struct value *body,
               size_t width);

#endif
