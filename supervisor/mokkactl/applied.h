/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_APPLIED_H
#define MOKKACTL_APPLIED_H

#include "common/err.h"
#include "supervisor/mokkactl/stored.h"

/*
 * Makes of an object what a cluster would hold after kubectl apply of it over
 * one that stands: its spec, the uid, times and status of the one that stands,
 * the labels and annotations of both (its own win), and the next generation if
 * the spec is another.  Other metadata of that one stays where the object says
 * nothing of it.  -1 and err if its uid says that it is another object.
 */
int applied(json_t *object, const struct stored *standing, struct err *err);

#endif
