/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_STORED_H
#define MOKKACTL_STORED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/object.h"
#include "supervisor/mokkactl/schema.h"

/*
 * One object of the cluster in memory: its parts as compact JSON, which takes a
 * tenth of what trees take.  What a part was when it was given stays beside
 * what it is now.
 */
enum part { PART_METADATA, PART_SPEC, PART_STATUS, PARTS };

struct stored {
    const struct schema *schema;
    unsigned shelf;   /* of the cluster: enum object_kind, or beyond it */
    char *name, *uid; /* NUL-terminated */
    const char *file; /* where it was given; NULL: the plan made it */
    size_t line;
    bool read;           /* from a server: a file's may come in its place */
    char *now[PARTS];    /* NULL: there is none */
    char *before[PARTS]; /* of one that moved: as it was given */
    bool moved[PARTS];   /* is not what was given any more */
    bool gone;           /* deleted by the plan */
    bool brief;          /* before is not kept, only moved */
    bool managed;        /* was given with managedFields */
    int ours;            /* of a Node that was not: the keys (KEY_...) that
                          * count as ours */
    unsigned again;      /* that many of its name were there before it */
    unsigned writes;
    struct rack_part *rack; /* of racks: what the spec says */
};

/* "metadata", "spec", "status". */
const char *part_name(enum part part);

/* An object with that name and uid and no parts. */
struct stored *stored_new(const struct schema *schema, unsigned shelf,
                          const char *name, const char *uid);

/* NULL is fine. */
void stored_free(struct stored *o);

/* Sets a part to text, which it takes over (NULL: none); what was given is kept
 * in before. */
void stored_set(struct stored *o, enum part part, char *text);

/* As stored_set, from a tree, which stays the caller's; NULL: none. */
void stored_set_tree(struct stored *o, enum part part, const json_t *tree);

/* Makes what it is now what was given. */
void stored_settle(struct stored *o);

/* A part as a tree of the caller's; NULL if there is none. */
json_t *stored_tree(const struct stored *o, enum part part);

/* The same, of what was given: NULL if it was not, or not that part. */
json_t *stored_tree_before(const struct stored *o, enum part part);

/* The object as a tree of the caller's; without its spec if bare. */
json_t *stored_object(const struct stored *o, bool bare);

/* Was it made, changed or deleted by the plan? */
bool stored_differs(const struct stored *o);

/*
 * What a rack's spec says, as the informer extracts it.  Kept so that a rack
 * whose status changes needs no look at its spec, which is long.
 */
struct rack_part {
    struct arena arena;
    struct object_rack o; /* its members of the spec, and no others */
};

/* Keeps (a copy of) what the record says of the spec. */
void stored_keep_rack(struct stored *o, const struct object_rack *record);

/* The spec changes: forgets what it said. */
void stored_forget_rack(struct stored *o);

/* Puts that into a record that was extracted without a spec. */
void stored_graft_rack(const struct stored *o, struct object_rack *record);

#endif
