/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_SHOW_H
#define MOKKACTL_SHOW_H

#include "supervisor/mokkactl/emit.h"
#include "supervisor/mokkactl/view.h"

/* A converged cluster, printed. */

/* For people: a row for each group, a map of its racks, and what is not as it
 * should be. */
void show_table(FILE *out, const struct view *v, const struct story *story);

/* The map alone: a line for each rack, a character for each slot; racks that
 * look alike share a line, and those after the first lines are counted. */
void show_map(FILE *out, const struct view_inventory *i,
              const struct view_group *g);

/* What the plan makes, changes and deletes, object by object. */
void show_diff(FILE *out, const struct view *v, const struct story *story,
               const struct cluster *c);

/* Every object that is there, as a List. */
void show_objects(FILE *out, const struct cluster *c, enum emit_form form);

#endif
