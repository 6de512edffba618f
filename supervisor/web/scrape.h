/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_SCRAPE_H
#define WEB_SCRAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/metrics.h"

/*
 * One gathering of everybody's metrics at a time, without I/O and with the time
 * passed in: it begins when somebody asks for the page and what is there is
 * older than a second, and ends when all who were asked have answered, or after
 * a second.  Who has not answered by then is not shown.
 */
#define SCRAPE_PATIENCE INT64_C(1000000000)
#define SCRAPE_FRESH INT64_C(1000000000)

struct scrape {
    struct metrics *all[ROLE_COUNT];
    uint32_t asked, answered; /* sets of roles */
    bool open;
    bool listed;     /* it is known who was asked */
    int64_t ends_at; /* while open: at the latest; else: of its freshness */
};

void scrape_init(struct scrape *s);
void scrape_fini(struct scrape *s);

/* What is there may be shown. */
bool scrape_fresh(const struct scrape *s, int64_t now);

/* Begins one; false if one is open already. */
bool scrape_begin(struct scrape *s, int64_t now);

/* Takes the body of a MEASURING or a METRICS; one that comes late does no harm.
 * -1 and err if it is none. */
int scrape_measuring(struct scrape *s, const struct value *body,
                     struct err *err);
int scrape_metrics(struct scrape *s, const struct value *body, struct err *err);

/* All have answered, or their time is over. */
bool scrape_complete(const struct scrape *s, int64_t now);

/* Ends it: what is there now is shown for a second. */
void scrape_end(struct scrape *s, int64_t now);

#endif
