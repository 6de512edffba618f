/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "placer/place_work.h"

int
place_int_cmp(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int
place_key_cmp(struct object_ref a, struct str a_group, struct object_ref b,
              struct str b_group)
{
    int order = str_cmp(a.name, b.name);

    if (order == 0)
        order = str_cmp(a.uid, b.uid);
    return order != 0 ? order : str_cmp(a_group, b_group);
}

int
place_node_cmp(const struct place_node *a, const struct place_node *b)
{
    int order = place_int_cmp(a->created, b->created);

    if (order == 0)
        order = str_cmp(a->name, b->name);
    return order != 0 ? order : str_cmp(a->uid, b->uid);
}

int
place_coordinate_cmp(const struct place_binding *a,
                     const struct place_binding *b)
{
    int order = place_key_cmp(a->inventory, a->group, b->inventory, b->group);

    if (order == 0)
        order = place_int_cmp(a->rack, b->rack);
    return order != 0 ? order : place_int_cmp(a->slot, b->slot);
}

int
place_rest_cmp(const struct place_binding *a, const struct place_binding *b)
{
    int order = a->stray - b->stray;

    return order != 0 ? order : str_cmp(a->node.name, b->node.name);
}

void
place_sort(void *items, size_t count, size_t size,
           int (*cmp)(const void *, const void *))
{
    const char *item = items;

    for (size_t i = 1; i < count; i++)
        if (cmp(item + (i - 1) * size, item + i * size) > 0) {
            qsort(items, count, size, cmp);
            return;
        }
}
