/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_LINE_H
#define PROJECTOR_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A waiting line: who is due first comes first, and among those due at the same
 * time who joined first.  A zeroed struct line is empty; items are members of
 * what waits, zeroed before their first use.
 */
struct line_item {
    int64_t at;    /* due */
    uint64_t turn; /* when it joined */
    size_t place;  /* in the heap plus one; 0: does not wait */
};

struct line {
    struct line_item **heap;
    size_t count, capacity;
    uint64_t turns;
};

void line_fini(struct line *line);

/* Lets the item wait until at; one that waits already moves. */
void line_join(struct line *line, struct line_item *item, int64_t at);

/* Takes it out; nothing happens if it does not wait. */
void line_leave(struct line *line, struct line_item *item);

/* The first one, or NULL. It stays. */
struct line_item *line_first(const struct line *line);

#endif
