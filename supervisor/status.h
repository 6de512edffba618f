/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_STATUS_H
#define SUPERVISOR_STATUS_H

#include "supervisor/plane.h"

/* Appends what the supervisor knows of itself and its workers, as one JSON
 * object (docs/debugging.md names its members). */
void status_write(struct buf *out, const struct supervisor *sup);

#endif
