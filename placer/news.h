/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_NEWS_H
#define PLACER_NEWS_H

#include <stddef.h>

#include "common/map.h"
#include "proto/object.h"

struct placer;

/*
 * What an inventory's users are told in Kubernetes Events: that it was admitted
 * or refused, that something stands in its way, that all of it is done.
 *
 * A piece of news is a condition in a certain state, for one generation of the
 * spec, and is said when it differs from what was said of that condition last;
 * the status that stands says what a predecessor has told.  So an estate that
 * is converged gives none, whoever takes over, and one Node more or less is no
 * news.
 */
struct news {
    struct map inventories; /* of what was said last, by name */
};

/* Says what is new. conditions are those of its status as they are to be. */
void news_inventory(struct placer *p, const struct object_inventory *o,
                    const struct condition *conditions, size_t count);

/* The inventory of that name is gone. */
void news_forget(struct news *news, const char *name);

void news_fini(struct news *news);

#endif
