/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_SOURCE_H
#define INFORMER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "informer/resource.h"
#include "informer/store.h"

struct event_base;
struct kube_client;

/*
 * One resource kept in the store: does what its watch (watch.h) says, with
 * requests and a timer, and puts in what comes.
 */
struct source;

struct source_counts {
    int64_t lists;   /* begun, those refused too; pages do not count */
    int64_t watches; /* opened */
    int64_t events;  /* objects that came on watches */
    int64_t bad;     /* objects and events left out */
};

/* changed is called when something came in, and when what the functions below
 * tell may have changed; it must not free the source. */
struct source *source_new(struct event_base *base, struct kube_client *client,
                          const struct resource_row *r, struct store *store,
                          void (*changed)(void *arg), void *arg);

/* Ends its requests. NULL is fine. */
void source_free(struct source *s);

/* Lists and watches from now on; does nothing if it does already. */
void source_start(struct source *s);

/* No more; the store forgets the kind. */
void source_stop(struct source *s);

/* Lists anew, from the newest version that the API server has; until that is
 * complete, source_is_refreshing is true.  What is in the store stays in use.
 */
void source_refresh(struct source *s);
bool source_is_refreshing(const struct source *s);

/* One line that says what it waits for; "" when all is well. */
const char *source_reason(const struct source *s);

struct source_counts source_counts(const struct source *s);

#endif
