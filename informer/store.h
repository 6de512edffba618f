/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_STORE_H
#define INFORMER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/str.h"
#include "informer/record.h"

/*
 * The cache: of each kind, every object by name, with its record, packed but
 * for its version and for what many objects share (proto/pool.h).  Objects come
 * from lists and watches; whoever is interested is told what changed.
 */
struct store;

struct store_entry {
    const char *name;
    struct str uid, version;
};

enum store_change {
    STORE_REFUSED = -1, /* the record cannot be sent; nothing changed */
    STORE_SAME,         /* nothing at all, not even the version */
    STORE_VERSION,      /* nothing but the version */
    STORE_CHANGED,
    STORE_ADDED,
    STORE_REPLACED, /* another object of that name (uid) */
    STORE_REMOVED,
};

/* A change that was made.  gone is the uid of the object that left, empty
 * unless REPLACED or REMOVED. */
struct store_touch {
    enum object_kind kind;
    enum store_change change;
    const char *name;
    struct str gone;
};

/* touched is called after each change but SAME and REFUSED. */
struct store *store_new(void (*touched)(void *arg,
                                        const struct store_touch *touch),
                        void *arg);

/* NULL is fine. */
void store_free(struct store *store);

/* Puts the object in.  STORE_REFUSED and err if its record breaks a limit of
 * the feed. */
enum store_change store_put(struct store *store, const struct record *r,
                            struct err *err);

/* Takes the object out, if it is that one: a late event must not cost its
 * successor of the same name the place. */
void store_remove(struct store *store, enum object_kind kind, struct str name,
                  struct str uid);

/* The object is there, though its new state could not be read: what was known
 * of it stays. */
void store_keep(struct store *store, enum object_kind kind, struct str name);

/* A list begins, or begins anew. */
void store_begin(struct store *store, enum object_kind kind);

/* It is complete, and shows the kind as it was at that resourceVersion (NULL:
 * not known).  With sweep, what was not put or kept since it began leaves. */
void store_end(struct store *store, enum object_kind kind, bool sweep,
               const char *version);

/* Whether a list was ever complete. */
bool store_complete(const struct store *store, enum object_kind kind);

/* The store shows the kind as it was at that resourceVersion, or later. */
void store_reached(struct store *store, enum object_kind kind,
                   const char *version);

/* Whether the cluster went back in time, since it was restored from a backup: a
 * list was older than what was known, or had an older version of an object.
 * Then nothing holds that anybody concluded from versions.  Empty if it did
 * not, else a line that tells them. */
const char *store_went_back(const struct store *store);

/* That version; "" if none is known. */
const char *store_version(const struct store *store, enum object_kind kind);

/* Forgets all objects of the kind, telling nobody. */
void store_clear(struct store *store, enum object_kind kind);

/* NULL if there is none. Entries live until the next change of that name. */
const struct store_entry *store_get(const struct store *store,
                                    enum object_kind kind, const char *name);

/* Walks all objects of a kind, in the order they came: *pos starts at 0. NULL
 * at the end. Nothing may change meanwhile. */
const struct store_entry *store_next(const struct store *store,
                                     enum object_kind kind, size_t *pos);

/* Appends the record of an entry: the body of its message in the feed. */
void store_body(const struct store_entry *entry, struct buf *out);

size_t store_count(const struct store *store, enum object_kind kind);

#endif
