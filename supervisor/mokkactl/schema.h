/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_SCHEMA_H
#define MOKKACTL_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/str.h"

/*
 * What the API server makes of an object: the schemas of crds/ and the rules
 * for metadata as tables (schema_table.c), and the walk that holds an object to
 * them.  Of Nodes only the metadata is looked at.
 */
enum field_type {
    FIELD_ANY, /* not looked into */
    FIELD_OBJECT,
    FIELD_LIST,
    FIELD_MAP, /* of texts to values */
    FIELD_STRING,
    FIELD_INT32,
    FIELD_INT64,
    FIELD_BOOL,
    FIELD_QUANTITY,
};

/* A form that texts may have to take. */
struct form {
    bool (*fits)(struct str text);
    const char *says; /* "must be ..." */
};

struct field {
    const char *name; /* NULL: of items */
    enum field_type type;
    bool required;
    /* Of numbers; in characters of texts, in items of lists. */
    bool bounded;
    int64_t least, most;
    const struct form *form;    /* of texts, and of the keys of maps */
    const char *const *choices; /* of texts; ends with NULL */
    const char *key;          /* of lists: the member that tells items apart */
    bool set;                 /* of lists: no item comes twice */
    const struct field *item; /* of lists and maps */
    const struct field *members; /* of objects */
    size_t count;
    /* Of objects: what is wrong with it as a whole, or NULL. */
    const char *(*rule)(const json_t *object);
};

/* A kind of object: where it is found, and its members. */
struct schema {
    const char *api_version, *kind;
    struct field root;
};

/* The schema of a kind in whatever version, or NULL. */
const struct schema *schema_of(const char *kind);

/* A value on the way from the root down to where a problem is. */
struct spot {
    const struct spot *outer;
    const json_t *container; /* that it is, or would be, a member of */
    const char *key;         /* of a map; NULL: of a list, at index */
    size_t index;
    bool named; /* the key is no field's name but free text */
};

/* Appends "spec.rackGroups[0].count". */
void spot_add(struct buf *out, const struct spot *spot);

/* Who is told of problems.  unknown: a field that the schema does not have. */
struct schema_report {
    void (*wrong)(void *arg, const struct spot *spot, const char *what);
    void (*unknown)(void *arg, const struct spot *spot);
    void *arg;
};

/* Holds the object to its schema; all problems are told, in the order in which
 * they stand. Changes nothing. */
void schema_check(const struct schema *schema, const json_t *object,
                  const struct schema_report *report);

/* Makes of a checked object what the server would store: unknown fields and
 * members that are null are taken out, whole numbers written otherwise become
 * integers. */
void schema_settle(const struct schema *schema, json_t *object);

#endif
