/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_HEARD_H
#define SUPERVISOR_HEARD_H

#include "supervisor/plane.h"

/* A message came from a worker. -1 and err: it broke the protocol. */
int heard(struct process *p, struct message *m, struct err *err);

#endif
