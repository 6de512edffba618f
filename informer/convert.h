/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_CONVERT_H
#define INFORMER_CONVERT_H

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * JSON in other forms.  Members that are null are left out in both: that is
 * what they mean to Kubernetes.
 */

/* Appends the value in msgpack, one to one: whole numbers, reals, texts,
 * booleans, lists, maps.  -1 and err, with out in an undefined state, if it is
 * nested deeper than depth. */
int convert_msgpack(struct buf *out, const json_t *value, int depth,
                    struct err *err);

/* Appends the value as compact JSON with the keys of each object sorted as
 * bytes, so that equal values give equal texts; skip names a member of the
 * outermost object to leave out, or is NULL. */
void convert_canonical(struct buf *out, const json_t *value, const char *skip);

#endif
