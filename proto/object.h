/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_OBJECT_H
#define PROTO_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/buf.h"
#include "common/err.h"
#include "common/str.h"

struct value;

/*
 * The records of the feed: what the informer keeps of each object and the
 * placer decides from.  For each, pack writes the body of its message and
 * unpack reads it; everything unpacked is copied to the arena given, so the
 * record outlives its frame.  Only spec (a tree for the placer to compile) is
 * borrowed from the frame.
 *
 * Lists of pairs are sorted by key as bytes, keys unique.
 */

/* What is watched; the numbers are wire contract. */
enum object_kind {
    KIND_PROFILE,
    KIND_INVENTORY,
    KIND_RACK,
    KIND_NODE,
    KIND_COUNT
};

/* "SGPURackProfile", ..., "Node". */
const char *object_kind_name(enum object_kind kind);

struct pair {
    struct str key, value;
};

/* Sorted by key. Either one array, or pairs that others keep, too (pool.h). */
struct pairs_kept;

struct pairs {
    const struct pair *items;
    size_t count;
    const struct pairs_kept *kept; /* instead of items, unless NULL */
};

const struct pair *pairs_kept_at(const struct pairs_kept *kept, size_t i);

static inline bool
pair_eq(const struct pair *a, const struct pair *b)
{
    return a == b || (str_eq(a->key, b->key) && str_eq(a->value, b->value));
}

static inline const struct pair *
pairs_at(struct pairs pairs, size_t i)
{
    return pairs.kept != NULL ? pairs_kept_at(pairs.kept, i) : &pairs.items[i];
}

struct strs {
    const struct str *items;
    size_t count;
};

/* The value at key, or NULL. */
const struct str *pairs_get(struct pairs pairs, struct str key);

/* Sorts by key; for whoever builds a list. */
void pairs_sort(struct pair *items, size_t count);

struct object_meta {
    struct str name, uid, version; /* version: metadata.resourceVersion */
    int64_t generation;
    int64_t created; /* seconds since 1970 */
    bool deleting;   /* has a deletionTimestamp */
    struct pairs labels;
};

struct object_ref {
    struct str name, uid;
};

/* An owner reference; controller and block are -1 where absent. */
struct object_owner {
    struct str api_version, kind, name, uid;
    int controller, block;
};

struct owners {
    const struct object_owner *items;
    size_t count;
};

struct condition {
    struct str type, status, reason, message;
    int64_t observed;
};

/* Whether two messages say the same first, up to a semicolon: then they are of
 * one writer, with other numbers. */
bool condition_same_words(struct str standing, struct str wanted);

struct conditions {
    const struct condition *items;
    size_t count;
};

/* A status: its members but conditions as compact JSON with sorted keys (so
 * that bytes can be compared), and the conditions without their times. */
struct object_status {
    struct str fields;
    struct conditions conditions;
};

struct object_profile {
    struct object_meta meta;
    const struct value *spec;
};

struct object_inventory {
    struct object_meta meta;
    struct strs finalizers;
    const struct value *spec;
    struct object_status status;
};

struct object_slot {
    int64_t index;
    int64_t gpus;
    struct object_ref node; /* name empty: unbound */
};

struct object_rack {
    struct object_meta meta;
    struct pairs annotations;
    struct strs finalizers;
    struct owners owners;
    struct object_ref inventory;
    struct object_ref profile;
    int64_t profile_generation;
    struct str revision;
    struct str group;
    int64_t index;
    struct str fabric;
    int64_t clique;
    const struct object_slot *slots;
    size_t slot_count;
    bool managed;      /* it has managedFields at all */
    bool spec_ours;    /* f:spec is owned by mokka-controller and no other */
    struct str digest; /* hex SHA-256 of the spec's text without bindings */
    struct object_status status;
};

/* Who owns the three projected keys, a bit each; see mokka-control 4.3. */
enum projected_key {
    KEY_ASSIGNED = 1, /* label mokka.nvidia.com/sgpu-assigned */
    KEY_CLIQUE = 2,   /* label nvidia.com/gpu.clique */
    KEY_ANNOTATION = 4,
    KEY_ALL = 7,
    KEY_COUNT = 3
};

/* Appends the names of the keys in a set, comma-joined. */
void projected_keys_names(struct buf *out, int keys);

/* Who is behind one key, comma-joined; borrowed. */
struct str projected_key_managers(struct str rivals, int key);

/* Appends whose the keys in a set are, "KEY by MANAGER,...; KEY by ..."; rivals
 * is that of an object_node.  A key that nobody owns is left out. */
void projected_keys_rivals(struct buf *out, int keys, struct str rivals);

struct object_node {
    struct object_meta meta;
    struct str annotation; /* mokka.nvidia.com/sgpu-assignment, or empty; */
    struct str shared;     /* its beginning, if somebody keeps that apart: then
                              annotation is the rest (empty as unpacked) */
    int64_t ours;          /* keys owned by mokka-controller by Apply */
    int64_t foreign;       /* keys that anybody else owns */
    struct str rivals;     /* behind foreign: for each key, in the order of the
                              bits, its managers comma-joined; joined by ";" */
};

/* The annotation as a whole: is it that text, is it there at all; and borrowed
 * where it is in one piece, else put together in the arena. */
bool object_node_says(const struct object_node *o, struct str annotation);
bool object_node_says_nothing(const struct object_node *o);
struct str object_node_annotation(const struct object_node *o,
                                  struct arena *arena);

void object_profile_pack(struct buf *out, const struct object_profile *o,
                         struct str spec);
void object_inventory_pack(struct buf *out, const struct object_inventory *o,
                           struct str spec);
void object_rack_pack(struct buf *out, const struct object_rack *o);
void object_node_pack(struct buf *out, const struct object_node *o);

/* -1 and err name the first thing that is not as the catalogue says. */
int object_profile_unpack(struct object_profile *o, const struct value *body,
                          struct arena *arena, struct err *err);
int object_inventory_unpack(struct object_inventory *o,
                            const struct value *body, struct arena *arena,
                            struct err *err);
int object_rack_unpack(struct object_rack *o, const struct value *body,
                       struct arena *arena, struct err *err);
int object_node_unpack(struct object_node *o, const struct value *body,
                       struct arena *arena, struct err *err);

#endif
