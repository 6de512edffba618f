/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/measure.h"

#include "common/metrics.h"
#include "supervisor/proc.h"

void
measure_process(struct metrics *m, const struct measured *p)
{
    int64_t starts = (int64_t)p->generation;
    struct proc_usage usage;

    metrics_set(m, METRIC_WORKER_UP, p->role, 0, p->up);
    metrics_set(m, METRIC_WORKER_GENERATION, p->role, 0, starts);
    metrics_set(m, METRIC_WORKER_RESTARTS, p->role, 0,
                starts > 0 ? starts - 1 : 0);
    if (p->pid <= 0 || !proc_usage(p->pid, &usage))
        return;
    metrics_set(m, METRIC_WORKER_START, p->role, 0, p->started);
    metrics_set(m, METRIC_WORKER_CPU, p->role, 0, usage.cpu);
    metrics_set(m, METRIC_WORKER_MEMORY, p->role, 0, usage.resident);
}
