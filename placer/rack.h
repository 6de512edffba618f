/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_RACK_H
#define PLACER_RACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/buf.h"
#include "common/err.h"
#include "placer/identity.h"
#include "placer/profile.h"
#include "proto/object.h"

/* Rendering a rack (mokka-api 7.1 to 7.4). */
#define RACK_DIGEST 65 /* 64 hex digits and NUL */

struct rack_input {
    struct object_ref inventory;
    struct str group;
    int64_t index; /* of the rack in its group */
    int64_t count; /* of racks in the group */
    const struct profile *profile;
};

/*
 * What is bound.  nodes is an array indexed by slot, one for each of the
 * profile's nodes_per_rack; an empty name is an unbound slot.  NULL binds none.
 *
 * kept are slots that must outlive the rendering, because the profile shrank
 * and their cleanup is not done (7.5): indexes, rising, none below
 * nodes_per_rack.  Each is written as {"index":N} only: whoever sends the text
 * puts the slot of the live object there.
 */
struct rack_bindings {
    const struct object_ref *nodes;
    const int64_t *kept;
    size_t kept_count;
};

struct rack_facts {
    char name[IDENTITY_NAME_MAX];
    char fabric[IDENTITY_UUID];
    char digest[RACK_DIGEST]; /* SHA-256 of the spec's text without bindings */
    size_t bytes;             /* length of that text */
};

/*
 * Renders a rack: facts that do not depend on bindings, and, appended to spec
 * unless that is NULL, its text in the order of 7.3 with the bindings (NULL:
 * none).  -1 and err if a check of 7.1 or 7.3 fails; spec is then as it was.
 * Time is linear in the rack: two SHA-1 for each GPU, one SHA-256 of the text.
 */
int rack_render(struct rack_facts *facts, struct buf *spec,
                const struct rack_input *in,
                const struct rack_bindings *bindings, struct err *err);

/* The parts of a rack's metadata that we set. */
struct rack_metadata {
    struct pairs labels, annotations;
    struct strs finalizers;
    struct owners owners;
};

/*
 * Writes to *wanted what now (of the existing rack; zeroed for a new one)
 * becomes by 7.4: ours set, all else kept, in the order of now; what is new is
 * appended, pairs stay sorted.  Texts are borrowed from now and in; new ones
 * and the lists are of the arena.  True if *wanted differs from now.
 */
bool rack_metadata(struct rack_metadata *wanted,
                   const struct rack_metadata *now, const struct rack_input *in,
                   struct arena *arena);

/* The controller reference, or NULL. */
const struct object_owner *rack_controller(struct owners owners);

/* Is the controller reference that of this inventory, name and uid? (7.4) */
bool rack_controlled(struct owners owners, struct object_ref inventory);

/* The inventory that controls it; empty if none does. */
struct object_ref rack_holder(struct owners owners);

/* The slot of that index (one of them, if there are several), or NULL. */
const struct object_slot *rack_slot(const struct object_rack *rack,
                                    int64_t index);

/* Does a rack count as owned: is it controlled by its spec's inventoryRef? */
bool rack_owned(const struct object_rack *rack);

#endif
