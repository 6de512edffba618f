/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_CONVERGE_H
#define MOKKACTL_CONVERGE_H

#include "supervisor/mokkactl/cluster.h"
#include "supervisor/mokkactl/story.h"

/*
 * Lets the placer have its way with a cluster in memory until it wants nothing
 * more.  It gets the feed that the informer would send; what it says is applied
 * turn by turn, its results and the changes go back to it.  As in the projector
 * the latest intent for an object wins, and statuses wait until all else is
 * quiet.
 */
struct converge_figures {
    size_t turns, intents;
    int64_t placing; /* nanoseconds in the placer */
    int64_t longest; /* of them, for the frame that took longest */
};

/*
 * story, zeroed before, is told how it came about.  -1 and err if it does not
 * settle: an object is written again and again, or refused so.
 */
int converge(struct cluster *c, struct story *story,
             struct converge_figures *figures, struct err *err);

#endif
