/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_CLUSTER_H
#define MOKKACTL_CLUSTER_H

#include "common/err.h"
#include "informer/feed.h"
#include "supervisor/mokkactl/problem.h"
#include "supervisor/mokkactl/stored.h"

/*
 * A cluster in memory: the objects, versions that rise with each write, and
 * what the informer makes of them.  Its store and its feed are the informer's
 * own, so whoever reads the feed gets the very frames that it would get from a
 * server with these objects.
 */
struct cluster;

/* Kinds that are kept but have no place in the feed. */
enum { SHELF_POLICY = KIND_COUNT, SHELF_COUNT };

/* What is kept of Nodes, which are many, beside what the plan needs. */
enum { CLUSTER_WHOLE = 1 /* spec and status */, CLUSTER_BEFORE = 2 };

struct cluster *cluster_new(unsigned keep);

/* NULL is fine. */
void cluster_free(struct cluster *c);

/* Adds an object of a file that is as its schema says; what it does not have of
 * uid and so on gets its default.  One that was read from a server is replaced
 * as by kubectl apply (applied.h). -1 and err if another one has its name or
 * uid. */
int cluster_add(struct cluster *c, const struct schema *schema, json_t *object,
                const struct place *place, struct err *err);

/* The same, of an object that was read from a server. */
int cluster_add_read(struct cluster *c, const struct schema *schema,
                     json_t *object, const struct place *place,
                     struct err *err);

/* The object of that name that is there now, or NULL. */
struct stored *cluster_get(const struct cluster *c, unsigned shelf,
                           const char *name);

/* Walks the objects of a shelf, those that are gone included, in the order in
 * which they came: *pos starts at 0. NULL at the end. */
struct stored *cluster_next(const struct cluster *c, unsigned shelf,
                            size_t *pos);

/* A new object, which is not there until it was committed: its uid is the
 * default for its name. */
struct stored *cluster_make(struct cluster *c, unsigned shelf,
                            const char *name);

/*
 * A write: the other parts were set, and metadata (a tree; it stays the
 * caller's) becomes its metadata, with a new resourceVersion.  spec is its spec
 * as a tree if it has just been set, to save parsing, or NULL.  An object that
 * is being deleted and whose last finalizer has gone leaves.  -1 and err if the
 * feed could not take it.
 */
int cluster_commit(struct cluster *c, struct stored *o, json_t *metadata,
                   json_t *spec, struct err *err);

/* Racks of one shape (a text that the caller makes) differ in nothing that a
 * server would refuse: whether one of it was taken, and that it was. */
bool cluster_knows_shape(const struct cluster *c, const char *shape);
void cluster_learn_shape(struct cluster *c, const char *shape);

/* Takes the object out. */
void cluster_remove(struct cluster *c, struct stored *o);

/* The informer's view: its entry in the store, or NULL. */
const struct store_entry *
cluster_entry(const struct cluster *c, enum object_kind kind, const char *name);
const struct store *cluster_store(const struct cluster *c);

/* Opens the feed: everything there is comes as a sync. Call cluster_pump after
 * each turn of writes. */
void cluster_open(struct cluster *c, const struct feed_link *link);
void cluster_pump(struct cluster *c);

/* Nodes without managedFields whose assignment was taken as ours. */
size_t cluster_adopted(const struct cluster *c);

/* All objects that were added. */
size_t cluster_given(const struct cluster *c);

#endif
