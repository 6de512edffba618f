/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/measure.h"

#include "common/mem.h"
#include "common/metrics.h"
#include "placer/placer.h"

static bool
has_planned(const struct placer *p)
{
    return p->term != 0 && p->planned == p->term;
}

bool
placer_converged(const struct placer *p)
{
    return has_planned(p) && !p->rebuild && !p->feeding && p->starved == 0 &&
           p->parked.count == 0 && p->wishes.open == 0;
}

static void
measure_inventories(const struct placer *p, struct metrics *m)
{
    size_t refused = 0;

    for (size_t i = 0; i < p->plan.inventory_count; i++)
        refused += !p->plan.inventories[i].accepted;
    metrics_set(m, METRIC_INVENTORIES, 0, 0, (int64_t)p->plan.inventory_count);
    metrics_set(m, METRIC_INVENTORIES_REFUSED, 0, 0, (int64_t)refused);
}

static void
measure_racks(const struct placer *p, struct metrics *m)
{
    struct tally_inventory sum = {0};
    struct tally_group slots = {0};

    for (size_t i = 0; i < p->tally.inventory_count; i++) {
        const struct tally_inventory *v = &p->tally.inventories[i];

        sum.wanted += v->wanted;
        sum.standing += v->standing;
        sum.racks[TALLY_RIVAL].count += v->racks[TALLY_RIVAL].count;
        sum.blocked += v->blocked;
        for (size_t j = 0; j < p->plan.inventories[i].group_count; j++) {
            slots.allocated += v->groups[j].allocated;
            slots.projected += v->groups[j].projected;
        }
    }
    metrics_set(m, METRIC_RACKS_WANTED, 0, 0, sum.wanted);
    metrics_set(m, METRIC_RACKS_STANDING, 0, 0, sum.standing);
    metrics_set(m, METRIC_RACKS_CONFLICTING, 0, 0,
                sum.racks[TALLY_RIVAL].count);
    metrics_set(m, METRIC_NODES_BLOCKED, 0, 0, sum.blocked);
    metrics_set(m, METRIC_NODES_ALLOCATED, 0, 0, slots.allocated);
    metrics_set(m, METRIC_NODES_PROJECTED, 0, 0, slots.projected);
}

static void
measure_nodes(const struct placer *p, struct metrics *m)
{
    metrics_set(m, METRIC_NODES_CONFLICTING, 0, 0,
                (int64_t)alloc_all_conflicts(&p->alloc));
    metrics_set(m, METRIC_NODES_PENDING, 0, 0,
                (int64_t)alloc_all_pending(&p->alloc));
}

void
placer_measure(const struct placer *p, struct metrics *m)
{
    static const enum metric none[] = {
        METRIC_INVENTORIES,       METRIC_INVENTORIES_REFUSED,
        METRIC_RACKS_WANTED,      METRIC_RACKS_STANDING,
        METRIC_RACKS_CONFLICTING, METRIC_NODES_ALLOCATED,
        METRIC_NODES_PROJECTED,   METRIC_NODES_PENDING,
        METRIC_NODES_CONFLICTING, METRIC_NODES_BLOCKED,
    };

    metrics_set(m, METRIC_CONVERGED, 0, 0, placer_converged(p));
    metrics_set(m, METRIC_INTENTS_OPEN, 0, 0, p->wishes.open);
    metrics_set(m, METRIC_RACKS_EXAMINED, 0, 0, (int64_t)p->examined);
    for (size_t i = 0; i < nitems(none); i++)
        metrics_set(m, none[i], 0, 0, 0);
    if (!has_planned(p))
        return;
    measure_inventories(p, m);
    measure_racks(p, m);
    measure_nodes(p, m);
}
