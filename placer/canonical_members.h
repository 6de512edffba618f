/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_CANONICAL_MEMBERS_H
#define PLACER_CANONICAL_MEMBERS_H

/*
 * The members of an SGPURackProfile's spec as data (mokka-api 1.2, 4.3): per
 * object those it has, in the order in which the canonical text writes them.
 */
enum canonical_type {
    CANONICAL_BOOLEAN,
    CANONICAL_INT32,
    CANONICAL_INT64,
    CANONICAL_TEXT,
    CANONICAL_QUANTITY,
    CANONICAL_NUMBERS, /* list of 32-bit ones, sorted */
    CANONICAL_TEXTS,   /* list, sorted */
    CANONICAL_OBJECT,
    CANONICAL_OBJECTS, /* list */
    CANONICAL_MAP      /* of objects, sorted by key */
};

enum canonical_rule {
    CANONICAL_ALWAYS,
    CANONICAL_UNLESS_ZERO,   /* left out if 0, false or empty, absent or not */
    CANONICAL_UNLESS_ABSENT, /* left out only if absent */
    CANONICAL_NEEDED         /* an error if absent */
};

struct canonical_member {
    const char *name; /* NULL ends a table */
    enum canonical_rule rule;
    enum canonical_type type;
    const struct canonical_member *members; /* of what is or has objects */
    const char *sort_by;                    /* of a list of them, or NULL */
};

/* Of spec. */
extern const struct canonical_member canonical_members[];

#endif
