/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_EXPOSITION_H
#define WEB_EXPOSITION_H

#include "common/metrics.h"

/* The content type of the text below. */
#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

/*
 * Appends the metrics of all processes (by role; none is NULL) as Prometheus
 * text: metrics in the order of the table, HELP and TYPE before each that
 * somebody reported.  lease is the value of the label LEASE.  Its size is
 * bounded by the table.
 */
void exposition_add(struct buf *out, struct metrics *const all[ROLE_COUNT],
                    const char *lease);

#endif
