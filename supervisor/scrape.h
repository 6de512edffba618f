/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_SCRAPE_H
#define SUPERVISOR_SCRAPE_H

#include "supervisor/plane.h"

/*
 * The supervisor's part in a page of metrics: it says its own, has each worker
 * say its own, and passes those on.  One that does not read is left out.
 */

/* MEASURE came from a worker: somebody wants a page. */
int scrape_measure(struct process *p, struct message *m, struct err *err);

/* METRICS came from a worker. -1 and err if they are not that worker's. */
int scrape_metrics(struct process *p, struct message *m, struct err *err);

#endif
