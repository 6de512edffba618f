/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_NAMES_H
#define PLACER_NAMES_H

#include "common/map.h"
#include "common/str.h"

/* A set of names, which it owns: a map from each to itself.  One that is walked
 * with map_next gives them in the order in which they came. */

/* Nothing happens if it is there. */
void names_add(struct map *names, const char *name);

/* Nothing happens if it is not. */
void names_forget(struct map *names, struct str name);

/* Forgets all. */
void names_fini(struct map *names);

#endif
