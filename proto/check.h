/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_CHECK_H
#define PROTO_CHECK_H

#include "common/err.h"
#include "common/str.h"

/* Limits of one body, far above what any message needs, and below what
 * msgpack-c's own unpacker stands (32 levels). */
#define CHECK_DEPTH 16
#define CHECK_ELEMENTS (1u << 17)

/*
 * Walks a body before msgpack-c sees it: exactly one value, every length inside
 * the bytes, at most CHECK_DEPTH levels and CHECK_ELEMENTS values, no
 * extension types.  This comes first because the library reserves memory for
 * what a header of five bytes claims.  -1 and err name the offset.
 */
int check_body(struct str body, struct err *err);

#endif
