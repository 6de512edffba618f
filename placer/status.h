/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_STATUS_H
#define PLACER_STATUS_H

#include "placer/placer.h"

/*
 * The status of racks and inventories (mokka-control 6.1 to 6.3), said where
 * it differs from the one that stands.  A condition that stands as True with
 * our reason and generation keeps its text: whoever wrote it said the same.
 */

/* Counts the rack anew and says its status. */
void status_rack(struct placer *p, const char *name);

/* Says the status of every inventory, from the counts. */
void status_inventories(struct placer *p);

#endif
