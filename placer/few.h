/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_FEW_H
#define PLACER_FEW_H

#include <stddef.h>

/*
 * A set of which the first few, by name, can be told at any time: messages name
 * those and count the rest.  What is told depends on what is in it, not on the
 * order in which it came.  A heap: add and remove take log n, the first k
 * k log k.
 *
 * An item is a member of whatever it stands for, zeroed at first, and stays at
 * its address while it is in; its name is borrowed and does not change.
 */
struct few_item {
    const char *name;
    size_t at; /* private: its place plus one; 0: it is not in */
};

struct few {
    struct few_item **items;
    size_t count, room;
};

#define FEW_TOLD 3 /* as many names as a message has */

/* Puts it in, if it is not. */
void few_add(struct few *few, struct few_item *item);

/* Takes it out, if it is in. */
void few_remove(struct few *few, struct few_item *item);

/* The first of them, FEW_TOLD at most, in order; returns how many. */
size_t few_first(const struct few *few, const struct few_item *first[FEW_TOLD]);

/* Frees its memory, not the items. */
void few_fini(struct few *few);

#endif
