/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_CHANGES_H
#define MOKKACTL_CHANGES_H

#include <jansson.h>
#include <stddef.h>

/*
 * What differs between two JSON values, leaf by leaf.  A value that is there on
 * one side only is one change, whatever is in it.
 */
typedef void change_fn(void *arg, const char *path, const json_t *before,
                       const json_t *now);

/* path is where the two stand; before and now may be NULL.  Members named in
 * skip (ends with NULL) are not looked at, wherever they stand. */
void changes(const char *path, const json_t *before, const json_t *now,
             const char *const *skip, change_fn *tell, void *arg);

#endif
