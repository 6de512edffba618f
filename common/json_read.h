/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_JSON_READ_H
#define COMMON_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/err.h"
#include "common/str.h"

/*
 * A strict reader for one small JSON text of known form: the assignment
 * annotation, the only JSON that the placer reads.  The form is a table; the
 * reader fills a struct by it and checks everything else against RFC 8259
 * without keeping it.
 */
#define JSON_READ_BYTES 65536 /* of a text */
#define JSON_READ_DEPTH 16    /* of nesting */

enum json_form {
    JSON_FORM_TEXT,   /* to a struct str */
    JSON_FORM_NUMBER, /* an integer, to an int64_t */
    JSON_FORM_OBJECT  /* to the members' own places */
};

struct json_member {
    const char *name; /* NULL ends a table */
    enum json_form form;
    size_t offset; /* in the struct to fill, which all tables share */
    const struct json_member *members;
};

/*
 * Reads an object by the table into *out.  A member that is absent or null
 * leaves its place alone, the last of two counts, unknown ones are passed by.
 * Texts are copied to the arena.  -1 and err, with the byte where reading
 * ended, if the text is longer or deeper than the limits, is no JSON, or has a
 * wrong type at a known member or a NUL in a text; *out may then be half
 * filled.  The text must be UTF-8.
 */
int json_read(void *out, const struct json_member *members, struct str text,
              struct arena *arena, struct err *err);

#endif
