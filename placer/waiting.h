/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_WAITING_H
#define PLACER_WAITING_H

#include <stdbool.h>
#include <stddef.h>

struct alloc_node;

/*
 * The Nodes that wait for one group, in the order of mokka-api 9.4: creation,
 * name, uid.  They come one by one or a hundred thousand at once, and mostly
 * leave from the front: newcomers are kept apart until somebody asks for the
 * order, then sorted and put in.
 *
 * Adding: constant, and for the next who asks log n each and one move of
 * pointers for all.  Removing: log n and a move of pointers towards the nearer
 * end.  A zeroed struct waiting is empty.
 */
struct waiting {
    size_t count;
    /* Private. */
    struct alloc_node **nodes; /* borrowed; those that wait begin at first */
    size_t first, room;
    size_t sorted; /* that many of them are in order, the rest came since */
};

void waiting_fini(struct waiting *w);

/* It is not among them, and its order does not change while it is. */
void waiting_add(struct waiting *w, struct alloc_node *n);

/* It is one of them. */
void waiting_remove(struct waiting *w, const struct alloc_node *n);

/* Number i (below count) in order. */
struct alloc_node *waiting_at(struct waiting *w, size_t i);

#endif
