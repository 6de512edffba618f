/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_EXTRACT_H
#define INFORMER_EXTRACT_H

#include <jansson.h>

#include "common/arena.h"
#include "common/err.h"
#include "informer/record.h"

struct kube_meta;

/* An object as the API server sent it; one of the two is set. */
struct wire_object {
    const json_t *json;           /* a whole object */
    const struct kube_meta *meta; /* its metadata */
};

/*
 * Fills the record of an object.  Its views are borrowed from the object and
 * the arena.  -1 and err, naming the field, if something that the record needs
 * is missing or of another type than the API says; fields beyond those are not
 * looked at.
 */
typedef int extract_fn(struct record *record, const struct wire_object *object,
                       struct arena *arena, struct err *err);

extract_fn extract_profile;
extract_fn extract_inventory;
extract_fn extract_rack;
extract_fn extract_node;

/* Name, uid and version alone, as far as they can be read: enough for an
 * object that is gone, and to name one that is not as it should be. */
struct identity {
    struct str name, uid, version;
};
struct identity extract_identity(const struct wire_object *object);

#endif
