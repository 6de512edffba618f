/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_ASSIGNMENT_H
#define COMMON_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/buf.h"
#include "common/err.h"
#include "proto/object.h"

/*
 * What the annotation mokka.nvidia.com/sgpu-assignment on a Node says: which
 * slot it fills (mokka-api 3.7, mokka-control 4.2).
 */
struct assignment {
    struct object_ref inventory, rack, profile;
    struct str revision; /* of the profile */
    struct str group;
    int64_t rack_index, node_index;
    struct str node_uid;
};

/*
 * Appends the value.  -1, err and nothing appended if the rack's name or uid
 * or the Node's uid is empty, or an index is negative.
 */
int assignment_encode(struct buf *out, const struct assignment *a,
                      struct err *err);

/*
 * The same in two parts, for the many slots of one rack: what they have in
 * common (of the Node nothing is looked at), then what is one slot's.  -1, err
 * and nothing appended as above.
 */
int assignment_begin(struct buf *out, const struct assignment *a,
                     struct err *err);
int assignment_slot(struct buf *out, int64_t node_index, struct str node_uid,
                    struct err *err);

/* The beginning of a value that all slots of one rack have in common, which
 * assignment_begin wrote; empty if it is not of that form. */
struct str assignment_head(struct str text);

/*
 * Reads a value, whoever wrote it.  Texts are copied to the arena.  Taken is
 * one JSON object (RFC 8259; at most 64 KiB, nested at most 16 deep) whose "v"
 * is 1; a member that is absent or null reads as empty or 0, the last of two
 * counts, unknown members are passed by.  -1 and err on anything else, a wrong
 * type of a known member and a NUL in a text included.
 */
int assignment_decode(struct assignment *a, struct str text,
                      struct arena *arena, struct err *err);

/* Do both name the same binding? The profile is not compared: an annotation
 * of an older revision is still ours. */
bool assignment_same(const struct assignment *a, const struct assignment *b);

#endif
