/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_APPLY_H
#define MOKKACTL_APPLY_H

#include "projector/order.h"
#include "supervisor/mokkactl/cluster.h"

/*
 * Carries out an intent on the cluster in memory, in the way of the projector
 * and of an API server that answers at once: the projector's own code makes the
 * bodies, and what is wrong with one ends in the outcome that it would have.
 */

/* How it ended; texts are in the arena. */
struct result apply(struct cluster *c, const struct order *order,
                    struct arena *arena);

#endif
