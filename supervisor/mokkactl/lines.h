/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_LINES_H
#define MOKKACTL_LINES_H

#include <jansson.h>
#include <stddef.h>

#include "common/str.h"

/*
 * On which line of its file each value of a tree stands: noted member by
 * member, in the order in which they were added to their map or list (which is
 * the order in which jansson gives them back).  A zeroed struct lines is empty.
 */
struct lines {
    struct lines_entry *entries;
    size_t count, room;
};

void lines_fini(struct lines *lines);

/* The next member of container was added; it stands on that line. */
void lines_add(struct lines *lines, const json_t *container, size_t line);

/* Notes a whole tree that jansson made from text, whose keys are unique and
 * whose first byte stands on line first.  Members may have been added since. */
void lines_scan(struct lines *lines, const json_t *tree, struct str text,
                size_t first);

/* The line of the member (at key of a map, at index of a list); 0 if it was
 * not noted.  Takes time linear in the tree: for problems only. */
size_t lines_find(const struct lines *lines, const json_t *container,
                  const char *key, size_t index);

#endif
