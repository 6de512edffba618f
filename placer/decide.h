/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_DECIDE_H
#define PLACER_DECIDE_H

#include "placer/placer.h"

/*
 * From what is wanted to wishes, in the order that keeps every promise: the
 * inventory's finalizer before its first rack, a durable binding before its
 * projection, a Node clean before its slot is cleared, a rack empty before it
 * is deleted.  Says what differs between wanted and standing, and nothing else;
 * looking again without a change says nothing.
 *
 * Looks at every inventory (a few comparisons each) and at the racks noted as
 * dirty; racks that could not be said for want of room stay dirty, and those of
 * which only wishes for Nodes or a status could not are parked.
 */
void decide(struct placer *p);

/* Whether there are parked racks and room for what they need. */
bool decide_may_unpark(const struct placer *p);

/* Before it: racks that wait to grow are looked at again if nothing that frees
 * capacity of their inventory is awaited any more (mokka-api 8.4). */
void decide_held(struct placer *p);

/* The keys of others on its Node that keep a binding which is given up from
 * being cleaned; 0: none does. */
int decide_in_the_way(const struct placer *p, const struct object_rack *rack,
                      const struct object_slot *slot);

/* A Node is gone: forgets what people were told of it. */
void decide_forget(struct placer *p, const char *node);

/* Forgets what people were told. */
void decide_fini(struct placer *p);

#endif
