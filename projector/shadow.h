/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_SHADOW_H
#define PROJECTOR_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "projector/intent.h"

/*
 * What would be written, in shadow (--shadow): intents are carried out up to
 * their first request that would change something; that is not sent but stands
 * here, until its author withdraws it or it turns out to stand.  No I/O; the
 * time is passed in.
 *
 *  - Whoever writes beside us is given time: what has stood for less than
 *    SHADOW_STANDS is not reported.  After a plan nothing is known for so long,
 *    and until what it brought has stood for so long, too, at most twice that.
 *  - A status follows from all the rest.  While anything else would be written,
 *    none is reported: it would be another one afterwards.
 *  - The author is told that it is done, as of a version older than any it has
 *    seen: so it goes by what the feed shows, and says again what is still to
 *    be.  For that reason it is told after a pause, which grows; a status is
 *    said again only when there is news.
 */
#define SHADOW_STANDS INT64_C(5000000000)

struct shadow;

struct shadow *shadow_new(void);
void shadow_free(struct shadow *s); /* NULL is fine */

/* The request that would carry out the order is not sent.  Fills the answer
 * that stands for its end, with texts of the order, and returns the pause
 * before that is given. */
int64_t shadow_keep(struct shadow *s, const struct order *order, int64_t now,
                    struct answer *answer);

/* It is wanted no more, or needs no request. */
void shadow_drop(struct shadow *s, enum action action, struct str name,
                 int64_t now);

/* A plan is complete (true): all that is wanted was said, or will be.  Or the
 * author is gone, and nothing is known any more. */
void shadow_planned(struct shadow *s, bool planned, int64_t now);

/* Logs what is reported since, and what is no longer.  To be called now and
 * then, as long as shadow_is_restless. */
void shadow_tell(struct shadow *s, int64_t now);

/* Time alone will change what is reported. */
bool shadow_is_restless(const struct shadow *s, int64_t now);

/* Nothing would be written; else (or if that is not known yet) reason says it
 * in one line. */
bool shadow_in_sync(const struct shadow *s, int64_t now, struct err *reason);

/* How many writes of each action are reported. */
void shadow_count(const struct shadow *s, int64_t now,
                  int64_t counts[ACTION_COUNT]);

/* Appends what is reported, sorted, a line of JSON each.  -1 and err while that
 * is not known. */
int shadow_list(const struct shadow *s, int64_t now, struct buf *out,
                struct err *err);

#endif
