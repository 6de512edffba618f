/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_MEASURE_H
#define PLACER_MEASURE_H

#include <stdbool.h>

struct metrics;
struct placer;

/* It leads, has planned what the feed shows, and waits for nothing. */
bool placer_converged(const struct placer *p);

/* Sets the metrics of the plan; all 0 where it does not lead. */
void placer_measure(const struct placer *p, struct metrics *m);

#endif
