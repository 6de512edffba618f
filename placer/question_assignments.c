/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/mem.h"
#include "placer/questions.h"

struct found {
    const struct object_rack *rack;
    const struct object_slot *slot;
};

struct list {
    struct found *items;
    size_t count;
};

static int
cmp(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = str_cmp(x->rack->meta.name, y->rack->meta.name);

    if (order == 0)
        order = str_cmp(x->rack->meta.uid, y->rack->meta.uid);
    if (order == 0)
        order = (x->slot->index > y->slot->index) -
                (x->slot->index < y->slot->index);
    return order;
}

static void
collect(struct list *list, const struct object_rack *rack, struct str name,
        struct str uid)
{
    for (size_t i = 0; i < rack->slot_count; i++) {
        const struct object_slot *slot = &rack->slots[i];

        if (!str_eq(slot->node.name, name) || !str_eq(slot->node.uid, uid))
            continue;
        list->items =
            mem_resize(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = (struct found){rack, slot};
    }
}

int
question_assignments(const struct placer *p, struct str name, struct str uid,
                     struct buf *out, struct err *err)
{
    const struct world_rack *r;
    struct list list = {0};
    size_t pos = 0;

    if (name.n == 0 || uid.n == 0)
        return err_set(err, "the Node's name and its uid are needed");
    if (!p->synced)
        return err_set(err, "not ready: the placer waits for the informer's "
                            "snapshot");
    while ((r = map_next(&p->world.kinds[KIND_RACK], &pos)) != NULL)
        collect(&list, &r->o, name, uid);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof(*list.items), cmp);
    for (size_t i = 0; i < list.count; i++) {
        const struct object_rack *rack = list.items[i].rack;

        buf_printf(out, "%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\n",
                   rack->meta.name.s, rack->meta.uid.s, rack->group.s,
                   rack->index, list.items[i].slot->index);
    }
    free(list.items);
    return 0;
}
