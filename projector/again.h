/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_AGAIN_H
#define PROJECTOR_AGAIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * What was carried out lately, so that writing the same on the same object
 * again and again is noticed: an admission webhook, or another controller,
 * changes it each time, and no answer ever says so.  The second time is taken
 * for a repair and does not rest, the third rests 5 ms after it, each further
 * one twice as long, up to 1000 s; something else carried out on the object, or
 * a minute of peace after the rest, starts anew.
 *
 * Objects and contents are hashes that the caller makes; two with the same
 * hash only cost each other a rest.  An object takes 64 to 160 bytes; its place
 * is for another one a minute after the rest, so there are no more than were
 * written in that time.  A zeroed struct again is empty.
 */
struct again {
    struct again_mark *marks;
    size_t room, used; /* private */
};

/* It was carried out, once more or for the first time. */
void again_done(struct again *a, uint64_t object, uint64_t content,
                int64_t now);

/* How often in a row it was carried out, and when it should be again; 0 and 0
 * if that was long ago, or never. */
struct again_look {
    unsigned times;
    int64_t due;
};
struct again_look again_look(const struct again *a, uint64_t object,
                             uint64_t content, int64_t now);

/* How many objects there are on which the same was carried out at least so
 * often. */
size_t again_count(const struct again *a, unsigned times, int64_t now);

/* Frees what it has; it is empty again. */
void again_fini(struct again *a);

#endif
