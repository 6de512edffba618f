/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/scrape.h"

#include <unistd.h>

#include "common/metrics.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/measure.h"
#include "supervisor/wire.h"

/* What the supervisor itself knows. */
static void
measure(const struct supervisor *sup, struct metrics *m)
{
    metrics_set(m, METRIC_BUILD_INFO, 0, 0, 1);
    metrics_set(m, METRIC_READY, 0, 0, sup->was_ready);
    measure_process(m, &(struct measured){.role = ROLE_SUPERVISOR,
                                          .pid = getpid(),
                                          .generation = 1,
                                          .started = sup->started,
                                          .up = true});
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &sup->processes[i];

        measure_process(m, &(struct measured){
                               .role = p->row->role,
                               .pid = p->pid,
                               .generation = p->generation,
                               .started = p->started,
                               .up = p->child.state == CHILD_RUNNING,
                           });
    }
}

/* One that does not read must not pile up questions. */
static bool
is_asked(const struct process *p)
{
    return p->child.state == CHILD_RUNNING && p->control != NULL &&
           chan_room(p->control);
}

static void
ask_metrics(const struct supervisor *sup, struct chan *web)
{
    struct buf list = {0};
    struct buf body = {0};
    size_t count = 0;

    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &sup->processes[i];

        if (!is_asked(p))
            continue;
        chan_send(p->control, MSG_MEASURE, 0, STR(""));
        pack_int(&list, p->row->role);
        count++;
    }
    pack_array(&body, 1);
    pack_array(&body, count);
    buf_adds(&body, buf_str(&list));
    chan_send(web, MSG_MEASURING, 0, buf_str(&body));
    buf_fini(&list);
    buf_fini(&body);
}

int
scrape_measure(struct process *p, struct message *m, struct err *err)
{
    struct metrics *metrics;
    struct buf body = {0};

    (void)m;
    (void)err;
    if (!chan_room(p->control))
        return 0;
    metrics = metrics_new();
    measure(p->sup, metrics);
    metrics_pack(&body, metrics, ROLE_SUPERVISOR);
    chan_send(p->control, MSG_METRICS, 0, buf_str(&body));
    ask_metrics(p->sup, p->control);
    buf_fini(&body);
    metrics_free(metrics);
    return 0;
}

/* To whoever shows them, if that one reads. */
static void
pass_metrics(const struct supervisor *sup, const struct metrics *metrics,
             enum role from)
{
    struct buf body = {0};

    metrics_pack(&body, metrics, from);
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &sup->processes[i];

        if (wire_up(p) && wire_hears(p, MSG_METRICS) && chan_room(p->control))
            chan_send(p->control, MSG_METRICS, 0, buf_str(&body));
    }
    buf_fini(&body);
}

int
scrape_metrics(struct process *p, struct message *m, struct err *err)
{
    struct metrics *metrics = metrics_new();
    enum role from;
    int rc = metrics_unpack(metrics, &from, m->body, err);

    if (rc == 0 && from != p->row->role)
        rc = err_set(err, "they are those of %s", role_name(from));
    if (rc == 0)
        pass_metrics(p->sup, metrics, from);
    metrics_free(metrics);
    return rc;
}
