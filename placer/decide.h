/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_DECIDE_H
#define PLACER_DECIDE_H

#include "placer/placer.h"

/*
 * From the plan to wishes, in the order that keeps every promise: the
 * inventory's finalizer before its first rack, a durable binding before its
 * projection, a Node clean before its slot is cleared, a rack empty before it
 * is deleted.  Says what differs between wanted and standing, and nothing else;
 * calling it again without a change says nothing.
 */
void decide(struct placer *p);

#endif
