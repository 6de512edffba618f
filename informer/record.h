/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_RECORD_H
#define INFORMER_RECORD_H

#include "proto/object.h"

/*
 * One object as it goes over the feed, of whatever kind.  All views are
 * borrowed from what it was extracted from.
 */
struct record {
    enum object_kind kind;
    union {
        struct object_meta meta; /* the first member of each */
        struct object_profile profile;
        struct object_inventory inventory;
        struct object_rack rack;
        struct object_node node;
    };
    struct str spec; /* of profile and inventory, in msgpack */
};

/* Appends the body of its message, with the version given as its own: two
 * records that differ in nothing but the version pack alike so. */
void record_pack(struct buf *out, const struct record *r, struct str version);

/* The type of its message. */
uint16_t record_message(enum object_kind kind);

/* -1 and err if the reader would refuse such a body: too large, too deep or of
 * too many values. */
int record_check(enum object_kind kind, struct str body, struct err *err);

#endif
