/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_FEED_H
#define INFORMER_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/str.h"
#include "informer/store.h"
#include "proto/moment.h"

/*
 * What one reader still has to be sent: a set of names, in the order in which
 * they were first marked, never a queue of messages.  What goes out is the
 * state of the moment it goes out; so a slow reader gets the newest, and memory
 * is bounded by the number of objects.
 *
 * A reader that opens its feed gets a sync first, once the store has a complete
 * snapshot of every kind it asked for: SYNC_BEGIN, every object, SYNC_END.  All
 * of it comes from the store.
 */
struct feed;

/* The link to the reader. */
struct feed_link {
    bool (*room)(void *arg);
    void (*send)(void *arg, uint16_t type, struct str body);
    void *arg;
};

/* link is copied; store and what link needs outlive the feed. */
struct feed *feed_new(const struct store *store, const struct feed_link *link);

/* NULL is fine. */
void feed_free(struct feed *feed);

/* A reader wants these kinds (1 << KIND_...): starts anew, with a sync. */
void feed_open(struct feed *feed, unsigned kinds);

/* The reader is gone, and so is what it had to be sent. */
void feed_close(struct feed *feed);

/* Something changed in the store. */
void feed_mark(struct feed *feed, const struct store_touch *touch);

/* Once all that is marked now is sent, and the sync, CURRENT with that moment
 * follows; not if the reader changes before. */
void feed_current(struct feed *feed, struct moment moment);

/* Sends while there is room; to be called after changes, when a snapshot is
 * complete, and when there is room again. */
void feed_pump(struct feed *feed);

/* Names that wait. */
size_t feed_pending(const struct feed *feed);

#endif
