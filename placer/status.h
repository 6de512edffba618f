/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_STATUS_H
#define PLACER_STATUS_H

#include "placer/placer.h"

/*
 * The status of inventories and racks (mokka-control 6.1 to 6.3), said where
 * it differs from the one that stands.  A condition that stands as True with
 * our reason and generation keeps its text: whoever wrote it said the same.
 */
void status_decide(struct placer *p);

#endif
