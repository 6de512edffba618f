/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_DUMP_H
#define PROJECTOR_DUMP_H

#include "common/buf.h"
#include "projector/intent.h"

/* Appends a line of JSON for each slot: what is wanted, in flight or carried
 * out. now: clock_now(). */
void dump_intents(struct buf *out, const struct intents *t, int64_t now);

#endif
