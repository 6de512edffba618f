/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "common/buf.h"
#include "common/err.h"

struct value;

/*
 * What the pages say: a table of paths, and the state that they are answered
 * from.  No sockets here.  Every body is one JSON object and a newline: ok,
 * reason (where there is one), components (a map of the same object).
 */
struct page;

/* Says "starting" until page_readiness. */
struct page *page_new(void);
void page_free(struct page *page);

/* Takes the body of a READINESS.  -1 and err if it is not one; the page then
 * stays as it was. */
int page_readiness(struct page *page, const struct value *body,
                   struct err *err);

/* Appends the body for that method and path to out and returns the HTTP status.
 * *allow is set to the method that the path has (for status 405), else NULL. */
int page_answer(const struct page *page, const char *method, const char *path,
                struct buf *out, const char **allow);

#endif
