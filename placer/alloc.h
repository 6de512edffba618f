/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_ALLOC_H
#define PLACER_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "placer/few.h"
#include "placer/place.h"
#include "placer/waiting.h"

/*
 * Allocation, kept up to date: the same answers as place() for the same
 * groups, Nodes and bindings (mokka-api 9), but a change costs what it touches.
 *
 * Why this is the same: groups are few and fixed between resets, and what a
 * group does depends on its own coordinates and on those Nodes only that it
 * alone selects.  So each Node is classified by itself (bound, waiting for one
 * group, in conflict), each group keeps its waiting Nodes in their order and
 * knows its free coordinates, and an assignment is the pairing of the two.
 *
 * Costs, with G groups (64 at most) and W Nodes waiting for one group: a Node
 * that comes, changes or goes: G selectors and log W; a rack: its bound slots;
 * alloc_reset: everything.  Memory: some 150 bytes for each Node, 100 for each
 * binding, one byte for each coordinate.
 *
 * Nodes and racks given are borrowed: take a record out before it changes, put
 * it in again afterwards.
 */
struct alloc_group {
    struct place_group in; /* borrowed texts and selector */
    size_t inventory;      /* the caller's number of its inventory */
    uint8_t *occupied;     /* by coordinate: how many bindings name it */
    int64_t size;          /* of coordinates */
    int64_t free;          /* coordinates that nobody names */
    int64_t hint;          /* none below is free */
    struct waiting waiting;
    size_t held;      /* Nodes that wait while an old binding is cleaned */
    size_t requested; /* Nodes that its selector matches */
};

struct alloc_binding {
    struct place_binding in; /* texts borrowed from the rack */
    struct alloc_rack *rack;
    struct alloc_group *group; /* NULL: not among the groups */
    struct alloc_node *node;
    struct alloc_binding *next;  /* of the same Node uid */
    struct alloc_binding *named; /* of the same Node name */
    bool released;
    enum release reason; /* if released */
};

enum alloc_state {
    ALLOC_IDLE,      /* nothing to do with it */
    ALLOC_BOUND,     /* its one binding is retained */
    ALLOC_WAITING,   /* in waiting of its group: gets a free coordinate */
    ALLOC_HELD,      /* waits, but its old binding must be cleaned first */
    ALLOC_OVERLAP,   /* several groups select it */
    ALLOC_DUPLICATE, /* several bindings name it */
};

struct alloc_node {
    char *uid;
    struct place_node in; /* texts borrowed; meaningless unless present */
    bool present;         /* in the feed, not only named by a binding */
    bool eligible;
    uint64_t matches; /* groups whose selectors match, a bit each */
    uint64_t watched; /* the same of those that take no part */
    struct alloc_binding *bindings;
    size_t binding_count;
    enum alloc_state state;
    struct alloc_group *group;  /* waiting or held for */
    struct alloc_claim *claims; /* in conflict: by each inventory, once */
};

/* An inventory is named in the conflict of a Node. */
struct alloc_claim {
    struct few_item item; /* first; named by the Node's name and uid */
    const struct alloc_node *node;
    size_t inventory;
    struct alloc_claim *next;
};

/* A group that takes no part: its Nodes are counted, and that is all. */
struct alloc_watch {
    const struct selector *selector;
    size_t number;    /* the caller's number of its inventory */
    size_t requested; /* Nodes that its selector matches */
};

/* A Node of the feed whose uid another one has. */
struct alloc_twin {
    char *name;
    struct place_node in; /* texts borrowed */
};

/* The bindings of one rack, or what was written of it. */
struct alloc_rack {
    char *name;
    size_t inventory; /* the caller's number of its inventory */
    struct alloc_binding *bindings;
    size_t count;
    size_t freeing; /* of them: released, and that frees capacity (8.4) */
};

struct alloc {
    struct alloc_group *groups; /* sorted by key */
    size_t group_count;
    size_t *conflicts;    /* by inventory: Nodes in conflict that name it; one
                           * more for those that are no more */
    struct few *culprits; /* by inventory: those Nodes (struct alloc_claim) */
    size_t *freeing;      /* by inventory, as conflicts: bindings of its racks
                           * whose release frees capacity */
    size_t *requested; /* by inventory: Nodes that some group of it matches */
    size_t inventory_count;
    struct alloc_watch *watches;
    size_t watch_count;
    struct map twins;     /* struct alloc_twin by name */
    struct map nodes;     /* struct alloc_node by uid */
    struct map racks;     /* struct alloc_rack by name */
    struct map names;     /* struct alloc_binding chain by Node name */
    uint64_t evaluations; /* how often a selector was asked */
    /* Called for each rack whose answers may have changed. */
    void (*touched)(void *arg, const char *rack);
    void *arg;
};

/* Empties it; then takes these groups (at most 64; sorted here; borrowed) of
 * so many inventories. inventory_of[i] is the inventory of groups[i]. */
void alloc_reset(struct alloc *a, const struct place_group *groups,
                 const size_t *inventory_of, size_t count,
                 size_t inventory_count);
void alloc_fini(struct alloc *a);

/* After alloc_reset and before any Node: a group that takes no part in
 * allocation, whose Nodes are counted all the same (borrowed; at most 64). */
void alloc_watch(struct alloc *a, const struct alloc_watch *watch);

/* How many Nodes the group with that selector matches, whether or not it takes
 * part; 0 if it is not known.  G. */
size_t alloc_requested(const struct alloc *a, const struct selector *selector);

/* A Node of the feed comes. Two with one uid: the later is not taken before the
 * other goes, false. */
bool alloc_node_put(struct alloc *a, const struct place_node *node);

/* It changed in nothing that matters here: no selector is asked. To be called
 * while the record that was put is still there. */
void alloc_node_renew(struct alloc *a, const struct place_node *node);

/* It goes, if it is in under that name. */
void alloc_node_take(struct alloc *a, struct object_ref node);

/* A rack's bindings come (none of that name may be in), or go. inventory is the
 * number of the inventory that all of them name, whether or not it has groups
 * here; inventory_count if it is none of those. */
void alloc_rack_put(struct alloc *a, const char *name, size_t inventory,
                    const struct place_binding *bindings, size_t count);
void alloc_rack_take(struct alloc *a, const char *name);

/* The group with that key, or NULL. log n. */
struct alloc_group *alloc_group(const struct alloc *a,
                                struct object_ref inventory, struct str id);

const struct alloc_rack *alloc_rack(const struct alloc *a, const char *name);
const struct alloc_node *alloc_node(const struct alloc *a, const char *uid);

/* The first binding that names a Node so, then by ->named; NULL: none. */
const struct alloc_binding *alloc_named(const struct alloc *a,
                                        const char *node);

/* How many of the waiting Nodes get a coordinate now, and the next free
 * coordinate from one on (start with 0); -1: none. */
size_t alloc_assignable(const struct alloc_group *g);
int64_t alloc_free_from(const struct alloc_group *g, int64_t from);

/* Nodes that wait and get nothing now. */
size_t alloc_pending(const struct alloc_group *g);

/* Of all groups; and Nodes that several groups claim, counted for each
 * inventory that does. */
size_t alloc_all_pending(const struct alloc *a);
size_t alloc_all_conflicts(const struct alloc *a);

#endif
