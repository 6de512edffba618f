/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PROJECT_H
#define PLACER_PROJECT_H

#include "common/arena.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "placer/identity.h"
#include "placer/world.h"

/*
 * What a slot puts on its Node, and whether it stands there (mokka-control 4.1
 * to 4.4).  Pure questions about one rack's slot and one Node.
 */
struct projection {
    char clique[IDENTITY_CLIQUE]; /* value of the clique label; empty: that
                                     label is not looked at, and released */
    struct str annotation;        /* value of the assignment annotation */
};

/* The projection of a slot of this (standing) rack; without the clique label
 * if somebody else sees to that. */
struct projection project_wanted(const struct object_rack *rack,
                                 const struct object_slot *slot, bool clique,
                                 struct arena *arena);

/*
 * The same for one slot of a rack after the other: what they have in common is
 * put in words once.  The rack's texts are borrowed until projecting_end; what
 * projecting_slot returns stands until it is called again.
 */
struct projecting {
    struct projection now;
    struct buf text;
    size_t head; /* bytes of it that all slots have in common; 0: no words */
};

void projecting_begin(struct projecting *x, const struct object_rack *rack,
                      bool clique);
const struct projection *projecting_slot(struct projecting *x,
                                         const struct object_slot *slot);
void projecting_end(struct projecting *x);

enum project_state {
    PROJECT_STANDS,   /* exactly there, and ours alone */
    PROJECT_MISSING,  /* may be applied */
    PROJECT_CONFLICT, /* somebody else's value or ownership is in the way */
};

/* Compares a Node with the projection wanted. keys, unless NULL, gets the keys
 * (KEY_...) that conflict. */
enum project_state project_compare(const struct object_node *node,
                                   const struct projection *wanted, int *keys);

/* What a Node needs so that nothing of the rack's binding is left on it. */
enum cleanup project_cleanup(const struct object_node *node,
                             const struct object_rack *rack,
                             const struct projection *binding);

/* Labels of the projection that are on the Node, whatever they say. */
int project_labels(const struct object_node *node,
                   const struct projection *binding);

/* The rack that the Node's annotation names; false if there is no annotation,
 * or not ours alone, or it names none. Texts are in the arena. */
bool project_named_rack(const struct object_node *node, struct arena *arena,
                        struct object_ref *rack);

/* Does the Node's annotation name this rack and this Node?  Whatever the slot:
 * a rack whose coordinate somebody edited is cleaned of what it put there
 * before (4.4 step 4). */
bool project_carries(const struct object_node *node,
                     const struct object_rack *rack);

#endif
