/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_CRASH_REPORT_H
#define SUPERVISOR_CRASH_REPORT_H

#include <stdint.h>

#include "common/trace.h"

/*
 * Writes to the log what a dead worker left in its trace: the signal and the
 * place of its crash, if it noted one (docs/debugging.md says how to get from
 * there to the line of code), and the last frames of its links. trace may be
 * NULL: then nothing is known.
 */
void crash_report(const char *worker, uint64_t generation,
                  const struct trace *trace);

#endif
