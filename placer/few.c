/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/few.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static bool
is_before(const struct few_item *a, const struct few_item *b)
{
    return strcmp(a->name, b->name) < 0;
}

static void
put(struct few *few, size_t at, struct few_item *item)
{
    few->items[at] = item;
    item->at = at + 1;
}

static void
rise(struct few *few, size_t at)
{
    struct few_item *item = few->items[at];

    while (at > 0 && is_before(item, few->items[(at - 1) / 2])) {
        put(few, at, few->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(few, at, item);
}

static void
sink(struct few *few, size_t at)
{
    struct few_item *item = few->items[at];
    size_t child;

    while ((child = at * 2 + 1) < few->count) {
        if (child + 1 < few->count &&
            is_before(few->items[child + 1], few->items[child]))
            child++;
        if (!is_before(few->items[child], item))
            break;
        put(few, at, few->items[child]);
        at = child;
    }
    put(few, at, item);
}

void
few_add(struct few *few, struct few_item *item)
{
    if (item->at != 0)
        return;
    if (few->count == few->room) {
        few->room = few->room == 0 ? 8 : few->room * 2;
        few->items =
            mem_resize(few->items, few->room, sizeof(struct few_item *));
    }
    few->items[few->count++] = item;
    rise(few, few->count - 1);
}

void
few_remove(struct few *few, struct few_item *item)
{
    size_t at = item->at - 1;

    if (item->at == 0)
        return;
    item->at = 0;
    few->count--;
    if (at == few->count)
        return;
    put(few, at, few->items[few->count]);
    rise(few, at);
    sink(few, few->items[at]->at - 1);
}

/* The next is the root, or a child of one of those before it: places[] has the
 * places of those that may be.  Each turn takes one off and adds two. */
size_t
few_first(const struct few *few, const struct few_item *first[FEW_TOLD])
{
    size_t places[FEW_TOLD + 1] = {0};
    size_t open = few->count > 0 ? 1 : 0;
    size_t told = 0;

    while (open > 0 && told < FEW_TOLD) {
        size_t best = 0;
        size_t child;

        for (size_t i = 1; i < open; i++)
            if (is_before(few->items[places[i]], few->items[places[best]]))
                best = i;
        first[told++] = few->items[places[best]];
        child = places[best] * 2 + 1;
        places[best] = places[--open];
        for (size_t i = child; i < child + 2 && i < few->count; i++)
            places[open++] = i;
    }
    return told;
}

void
few_fini(struct few *few)
{
    free(few->items);
    *few = (struct few){0};
}
