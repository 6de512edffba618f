/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/capacity.h"

#include <inttypes.h>
#include <stddef.h>

#include "common/api.h"
#include "common/mem.h"

static bool
product(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

int
capacity_group(struct capacity *c, struct str group, int64_t count,
               int64_t nodes_per_rack, int64_t gpus, struct err *err)
{
    *c = (struct capacity){.racks = count};
    if (count >= 0 && product(count, nodes_per_rack, &c->nodes) &&
        product(c->nodes, gpus, &c->gpus))
        return 0;
    *c = (struct capacity){0};
    return err_set(err,
                   "group %.*s: %" PRId64 " racks of %" PRId64
                   " Nodes of %" PRId64 " GPUs cannot be counted",
                   (int)group.n, group.s, count, nodes_per_rack, gpus);
}

static bool
sum(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out);
}

int
capacity_add(struct capacity *total, struct capacity more, struct err *err)
{
    struct capacity c;

    if (!sum(total->racks, more.racks, &c.racks) ||
        !sum(total->nodes, more.nodes, &c.nodes) ||
        !sum(total->gpus, more.gpus, &c.gpus))
        return err_set(err, "a sum of capacities cannot be counted");
    *total = c;
    return 0;
}

void
capacity_sub(struct capacity *total, struct capacity less)
{
    total->racks -= less.racks;
    total->nodes -= less.nodes;
    total->gpus -= less.gpus;
}

int
capacity_check(struct capacity c, struct err *err)
{
    const struct {
        const char *name;
        int64_t value, limit;
    } checks[] = {
        {"Nodes", c.nodes, MAX_NODES},
        {"racks", c.racks, MAX_RACKS},
        {"GPUs", c.gpus, MAX_STATUS},
    };

    if (c.racks < 0 || c.nodes < 0 || c.gpus < 0)
        return err_set(err, "a negative capacity");
    for (size_t i = 0; i < nitems(checks); i++)
        if (checks[i].value > checks[i].limit)
            return err_set(err, "%" PRId64 " %s, the limit is %" PRId64,
                           checks[i].value, checks[i].name, checks[i].limit);
    return 0;
}

bool
capacity_exceeds(struct capacity a, struct capacity b)
{
    return a.racks > b.racks || a.nodes > b.nodes || a.gpus > b.gpus;
}
