/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_EMIT_H
#define MOKKACTL_EMIT_H

#include <stdio.h>

/*
 * Prints compact JSON (as jansson and our own renderers write it, known to be
 * valid) for people, without making a tree of it: members keep their order.
 */
enum emit_form { EMIT_JSON, EMIT_YAML };

struct emit_member {
    const char *key;
    const char *value; /* compact JSON; NULL: leave the member out */
    const char *skip;  /* a member of the value to leave out, or NULL */
};

/* What is around the items of a v1 List. */
void emit_list_begin(FILE *out, enum emit_form form);
void emit_list_end(FILE *out, enum emit_form form, size_t items);

/* One item of it, which is made of these members; number counts from 0. */
void emit_item(FILE *out, enum emit_form form, size_t number,
               const struct emit_member *members, size_t count);

#endif
