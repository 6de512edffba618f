/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

struct metrics;
struct scrape;
struct value;

/*
 * What the pages say: a table of paths, and the state that they are answered
 * from.  No sockets here.  Every body is one JSON object and a newline: ok,
 * reason (where there is one), components (a map of the same object); but that
 * of /metrics, which is Prometheus text.
 */
struct page;

/* Says "starting" until page_readiness. lease: the name of the Lease. */
struct page *page_new(const char *lease);
void page_free(struct page *page);

/* Takes the body of a READINESS.  -1 and err if it is not one; the page then
 * stays as it was. */
int page_readiness(struct page *page, const struct value *body,
                   struct err *err);

/* Where the metrics come from; the page's own. */
struct scrape *page_scrape(struct page *page);

/* What is known of an answer before its body. */
struct page_head {
    const char *type;  /* its content type */
    const char *allow; /* the method that the path has (for status 405), else
                          NULL */
};

/* Appends the body for that method and path to out and returns the HTTP status.
 * 0: the page needs a scrape first (scrape.h). */
int page_answer(struct page *page, const char *method, const char *path,
                int64_t now, struct buf *out, struct page_head *head);

/* Sets the counts of what was answered. */
void page_measure(const struct page *page, struct metrics *m);

#endif
