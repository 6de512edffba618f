/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a plan: sorted, checked (mokka-api 9.1), joined by uid. */
#include <inttypes.h>

#include "placer/place_work.h"

static int
cmp_group(const void *a, const void *b)
{
    const struct place_work_group *x = a;
    const struct place_work_group *y = b;

    return place_key_cmp(x->in->inventory, x->in->id, y->in->inventory,
                         y->in->id);
}

static int
cmp_node(const void *a, const void *b)
{
    const struct place_work_node *x = a;
    const struct place_work_node *y = b;

    return place_node_cmp(x->in, y->in);
}

static int
cmp_binding(const void *a, const void *b)
{
    const struct place_binding *x = *(const struct place_binding *const *)a;
    const struct place_binding *y = *(const struct place_binding *const *)b;
    int order = place_coordinate_cmp(x, y);

    if (order == 0)
        order = str_cmp(x->node.uid, y->node.uid);
    return order != 0 ? order : place_rest_cmp(x, y);
}

static int
load_groups(struct place_work *w, const struct place_input *in, struct err *err)
{
    for (size_t i = 0; i < in->group_count; i++) {
        const struct place_group *g = &in->groups[i];

        if (g->inventory.name.n == 0 || g->inventory.uid.n == 0 || g->id.n == 0)
            return err_set(err, "a group without inventory name, uid or id");
        if (g->racks < 0 || g->nodes_per_rack < 0 || g->racks > INT32_MAX ||
            g->nodes_per_rack > INT32_MAX)
            return err_set(
                err, "group %.*s/%.*s: %" PRId64 " racks of %" PRId64 " Nodes",
                (int)g->inventory.name.n, g->inventory.name.s, (int)g->id.n,
                g->id.s, g->racks, g->nodes_per_rack);
        w->groups[w->group_count++] = (struct place_work_group){.in = g};
    }
    place_sort(w->groups, w->group_count, sizeof(*w->groups), cmp_group);
    for (size_t i = 1; i < w->group_count; i++)
        if (cmp_group(&w->groups[i - 1], &w->groups[i]) == 0)
            return err_set(err, "group %.*s/%.*s occurs twice",
                           (int)w->groups[i].in->inventory.name.n,
                           w->groups[i].in->inventory.name.s,
                           (int)w->groups[i].in->id.n, w->groups[i].in->id.s);
    return 0;
}

static int
load_nodes(struct place_work *w, const struct place_input *in, struct err *err)
{
    for (size_t i = 0; i < in->node_count; i++) {
        const struct place_node *n = &in->nodes[i];

        if (n->name.n == 0 || n->uid.n == 0)
            return err_set(err, "a Node without name or uid");
        w->nodes[w->node_count++] = (struct place_work_node){.in = n};
    }
    place_sort(w->nodes, w->node_count, sizeof(*w->nodes), cmp_node);
    for (size_t i = 0; i < w->node_count; i++)
        if (map_put(&w->by_uid, w->nodes[i].in->uid.s, &w->nodes[i]) != NULL)
            return err_set(err, "two Nodes have the uid %s",
                           w->nodes[i].in->uid.s);
    return 0;
}

static int
binding_err(struct err *err, const struct place_binding *b, const char *wrong)
{
    return err_set(
        err, "binding of %.*s/%.*s, rack %" PRId64 ", node %" PRId64 ": %s",
        (int)b->inventory.name.n, b->inventory.name.s, (int)b->group.n,
        b->group.s, b->rack, b->slot, wrong);
}

static int
check_binding(const struct place_binding *b, struct err *err)
{
    if (b->inventory.name.n == 0 || b->inventory.uid.n == 0 || b->group.n == 0)
        return binding_err(err, b, "no inventory name, uid or group");
    if (b->node.name.n == 0 || b->node.uid.n == 0)
        return binding_err(err, b, "no Node name or uid");
    if (!b->stray && (b->rack < 0 || b->slot < 0))
        return binding_err(err, b, "a negative coordinate");
    return 0;
}

/* Two bindings of one coordinate. Strays between them have none. */
static int
check_coordinates(const struct place_work *w, struct err *err)
{
    const struct place_binding *before = NULL;

    for (size_t i = 0; i < w->binding_count; i++) {
        if (w->bindings[i]->stray)
            continue;
        if (before != NULL && place_coordinate_cmp(before, w->bindings[i]) == 0)
            return binding_err(err, before, "bound twice");
        before = w->bindings[i];
    }
    return 0;
}

static int
load_bindings(struct place_work *w, const struct place_input *in,
              struct err *err)
{
    for (size_t i = 0; i < in->binding_count; i++) {
        if (check_binding(&in->bindings[i], err) != 0)
            return -1;
        w->bindings[w->binding_count++] = &in->bindings[i];
    }
    place_sort(w->bindings, w->binding_count, sizeof(*w->bindings),
               cmp_binding);
    return check_coordinates(w, err);
}

int
place_load(struct place_work *w, const struct place_input *in, struct err *err)
{
    if (load_groups(w, in, err) != 0 || load_nodes(w, in, err) != 0)
        return -1;
    return load_bindings(w, in, err);
}
