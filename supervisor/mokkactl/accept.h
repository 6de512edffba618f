/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_ACCEPT_H
#define MOKKACTL_ACCEPT_H

#include "supervisor/mokkactl/piece.h"
#include "supervisor/mokkactl/schema.h"

/*
 * From pieces of files to objects: lists within lists are taken apart, kinds
 * that have no part in a plan are passed over with a warning, the others held
 * to their schemas.  Only what an API server would take is given on, in the
 * form in which it would be stored.
 */
struct accept;

/* Gets each object; it stays the caller's, to be changed or kept with
 * json_incref. */
typedef void accept_fn(void *arg, const struct schema *schema, json_t *object,
                       const struct place *place);

struct accept *accept_new(struct problems *problems, accept_fn *take,
                          void *arg);

/* NULL is fine. */
void accept_free(struct accept *a);

void accept_piece(struct accept *a, struct piece *piece);

/* A file is over: tells which kinds in it were passed over, and, in one line,
 * what is no object at all.  false if there was nothing in it. */
bool accept_file_end(struct accept *a, const char *file);

/* All files are over: tells how many were not told of. */
void accept_end(struct accept *a);

#endif
