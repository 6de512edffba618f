/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "placer/alloc.h"
#include "placer/place_work.h"

void
waiting_fini(struct waiting *w)
{
    free(w->nodes);
    *w = (struct waiting){0};
}

/* Room for one more at the end. */
static void
make_room(struct waiting *w)
{
    if (w->first + w->count < w->room)
        return;
    if (w->first > w->count) {
        memcpy(w->nodes, w->nodes + w->first, w->count * sizeof(*w->nodes));
        w->first = 0;
        return;
    }
    w->room = w->room == 0 ? 16 : w->room * 2;
    w->nodes = mem_resize(w->nodes, w->room, sizeof(*w->nodes));
}

void
waiting_add(struct waiting *w, struct alloc_node *n)
{
    make_room(w);
    w->nodes[w->first + w->count++] = n;
}

/* Where a Node is, or would go, among the first n. */
static size_t
position(struct alloc_node *const *nodes, size_t n,
         const struct alloc_node *node)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (place_node_cmp(&nodes[middle]->in, &node->in) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int
by_order(const void *a, const void *b)
{
    return place_node_cmp(&(*(struct alloc_node *const *)a)->in,
                          &(*(struct alloc_node *const *)b)->in);
}

/* The newcomers go to their places, the last one first. */
static void
sort(struct waiting *w)
{
    struct alloc_node **nodes = w->nodes + w->first;
    size_t news = w->count - w->sorted;
    size_t end = w->sorted;
    struct alloc_node **late;

    if (news == 0)
        return;
    late = mem_resize(NULL, news, sizeof(*late));
    memcpy(late, nodes + w->sorted, news * sizeof(*late));
    qsort(late, news, sizeof(*late), by_order);
    while (news-- > 0) {
        size_t at = position(nodes, end, late[news]);

        memmove(nodes + at + news + 1, nodes + at, (end - at) * sizeof(*nodes));
        nodes[at + news] = late[news];
        end = at;
    }
    free(late);
    w->sorted = w->count;
}

void
waiting_remove(struct waiting *w, const struct alloc_node *n)
{
    struct alloc_node **nodes = w->nodes + w->first;
    size_t at;

    sort(w);
    at = position(nodes, w->count, n);
    if (at < w->count / 2) {
        memmove(nodes + 1, nodes, at * sizeof(*nodes));
        w->first++;
    } else {
        memmove(nodes + at, nodes + at + 1,
                (w->count - at - 1) * sizeof(*nodes));
    }
    w->sorted = --w->count;
}

struct alloc_node *
waiting_at(struct waiting *w, size_t i)
{
    sort(w);
    return w->nodes[w->first + i];
}
