/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_INTAKE_H
#define INFORMER_INTAKE_H

#include <stdint.h>

#include "informer/resource.h"
#include "informer/store.h"

/*
 * The way of one resource's objects into the store: extracted, held to the
 * selector, put in.  An object that cannot be taken is named in the log,
 * counted and left out; what was known of it before stays, and the others go
 * on.
 */
struct intake {
    const struct resource_row *r;
    struct store *store;
    int64_t bad;  /* left out so far */
    bool unnamed; /* one since the list began, and nobody knows which */
};

/* A list begins, or begins anew; it is complete, as of that version (NULL: not
 * known): what was not in it leaves the store, unless something in it could
 * not be read and may have been that. */
void intake_begin(struct intake *in);
void intake_end(struct intake *in, const char *version);

/* The object as it is now. */
void intake_put(struct intake *in, const struct wire_object *object);

/* The object is gone. */
void intake_remove(struct intake *in, const struct wire_object *object);

/* Something that could not even be read. */
void intake_bad(struct intake *in, const struct err *err);

#endif
