/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_RENDER_H
#define PROJECTOR_RENDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "proto/intent.h"

/*
 * The bodies of requests, byte for byte, from intents and from live objects.
 * Nothing is read from outside; the time of a write is passed in.
 */

/* The whole rack, for POST if the target has no uid, else for PUT. */
void render_rack(struct buf *out, const struct intent_rack *i);

/*
 * A rack's spec may name slots by their index alone ({"index":N}): such a slot
 * outlives its rendering, and stays as it is in the live rack (mokka-api 7.5).
 * 1: out holds the spec with the live slots in it; 0: there is none; -1 and
 * err: live has no such slot.
 */
int render_kept(struct buf *out, struct str spec, const json_t *live,
                struct err *err);

/* Does the spec name such a slot? */
bool render_keeps(struct str spec);

/* DeleteOptions that hit this very object in this very version. */
void render_delete(struct buf *out, const struct target *target);

/* What server-side apply gets for a Node: name, uid and our three keys; for a
 * release name and uid only, or with the annotation that is kept. An empty
 * clique is left out. */
void render_node(struct buf *out, const struct intent_node *i);

/*
 * The live object with the finalizer added at the end, or without it.
 * 1: out holds the object; 0: it is as wanted already; -1 and err: live is not
 * as it should be.
 */
int render_finalizer(struct buf *out, const json_t *live,
                     const struct intent_finalizer *i, struct err *err);

/*
 * The live rack with the spec, labels, annotation and finalizer that the intent
 * wants; what others put there stays, owner references too (whose it is must
 * have been looked at).  Returns as render_finalizer does.
 */
int render_rack_anew(struct buf *out, const json_t *live,
                     const struct intent_rack *i, struct err *err);

/* The live rack with its slots cleared and our finalizer off. Returns as
 * render_finalizer does. */
int render_retired(struct buf *out, const json_t *live, struct err *err);

/*
 * The live object with the wanted status: its fields as given, its conditions
 * sorted by type.  A condition keeps its lastTransitionTime while status and
 * reason stay, and otherwise gets wall (nanoseconds since 1970) in whole
 * seconds.  One that is True and has our reason and generation already keeps
 * its message, too, unless that is ours with other numbers: who took over from
 * another writer does not reword.
 * 1, 0 and -1 as render_finalizer.
 */
int render_status(struct buf *out, const json_t *live,
                  const struct object_status *wanted, int64_t wall,
                  struct err *err);

#endif
