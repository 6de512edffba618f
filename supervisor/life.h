/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_LIFE_H
#define SUPERVISOR_LIFE_H

#include "supervisor/plane.h"

/*
 * Deaths and recoveries of workers, told to whoever makes Events of them.
 * While nobody can hear it the deaths of a worker are summed up.
 */

/* The worker died; given_up: once too often. Not news during a stop. */
void life_died(struct process *p, bool given_up);

/* It runs; news if it is not its first start. */
void life_back(struct process *p);

/* Tells what is untold, if somebody hears it now. */
void life_tell(struct supervisor *sup);

#endif
