/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PLACER_WORK_H
#define PLACER_PLACER_WORK_H

#include "placer/placer.h"

/* Inside of the placer: what placer.c, derived.c, feed.c and results.c share,
 * and question_why.c, which makes what is derived anew. */

/* ---- placer.c ----------------------------------------------------------- */

/* Says what differs between wanted and standing, if it is known and the time
 * for it: not in the middle of a batch, nor without a term or a projector. */
void placer_work(struct placer *p);

/* ---- derived.c ---------------------------------------------------------- */

/* A declaration changes: what is derived borrows from it, and goes first. */
void placer_drop_derived(struct placer *p);

/* Makes everything derived anew. */
void placer_rebuild(struct placer *p);

/* What counts as bound in the rack of that name, which must not be bound. */
void placer_bind(struct placer *p, const char *name);

/* As the allocation sees a Node, and a bound slot of a rack; borrowed. */
struct place_node placer_node_of(const struct world_node *n);
struct place_binding placer_binding_of(const struct object_rack *r,
                                       const struct object_slot *slot,
                                       bool stray);

/* ---- the handlers of placer_frame ---------------------------------------- */

typedef int placer_handler(struct placer *p, uint16_t type, uint32_t id,
                           const struct value *body, struct err *err);

/* feed.c: what the informer says. */
placer_handler placer_on_sync_begin, placer_on_sync_end, placer_on_batch_end,
    placer_on_as_of, placer_on_current, placer_on_object, placer_on_gone;

/* results.c: what the projector says. */
placer_handler placer_on_written, placer_on_written_end, placer_on_result,
    placer_on_resting;

#endif
