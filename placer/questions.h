/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_QUESTIONS_H
#define PLACER_QUESTIONS_H

#include "placer/placer.h"

/*
 * What people may ask the placer.  Nothing is changed by asking, and every
 * replica that has a snapshot can answer, a standby too; before that -1 and
 * err.  Answers are lines of text, appended to out.
 */

/* The slots bound to exactly that Node, a line each: rack name, rack uid,
 * group, rack index, slot index, with tabs between; sorted by rack name, rack
 * uid, slot index (mokka-control 3.6).  -1 and err too if name or uid is
 * empty. */
int question_assignments(const struct placer *p, struct str name,
                         struct str uid, struct buf *out, struct err *err);

/* Which rule of mokka-api 9 decided about a Node, and what is waited for.
 * Makes a plan of its own: some 10 ms for 10,000 Nodes. */
int question_why(const struct placer *p, struct str name, struct buf *out,
                 struct err *err);

/* Whether that answer about the Node of that name is about one that the placer
 * knows. */
bool question_why_knows(struct str name, struct str answer);

/* The model: a line of JSON for each object and each wish. */
int question_dump(const struct placer *p, struct buf *out, struct err *err);

#endif
