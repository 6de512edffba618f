/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_FIELDS_H
#define PROTO_FIELDS_H

#include "proto/object.h"
#include "proto/unpack.h"

/* The lists that records and intents share: both directions of each side by
 * side.  The get functions copy to the arena; a list of a wrong kind makes the
 * reader bad (unpack.h). */

void fields_put_pairs(struct buf *out, struct pairs pairs);
struct pairs fields_get_pairs(struct unpack *u, struct arena *arena);

void fields_put_strs(struct buf *out, struct strs strs);
struct strs fields_get_strs(struct unpack *u, struct arena *arena);

void fields_put_owners(struct buf *out, struct owners owners);
struct owners fields_get_owners(struct unpack *u, struct arena *arena);

void fields_put_conditions(struct buf *out, struct conditions conditions);
struct conditions fields_get_conditions(struct unpack *u, struct arena *arena);

struct str fields_get_str(struct unpack *u, struct arena *arena);

#endif
