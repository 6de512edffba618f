/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_LEASE_PAGE_H
#define COMMON_LEASE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The term of leadership in one page of shared memory.  The elector writes it,
 * the projector reads it right before every mutating request; no message can
 * come too late.  Deadlines are clock_now() times: the moment before the last
 * successful renewal was sent, plus the renew deadline.  So a stopped or dead
 * elector ends all writing in time without doing anything.
 */
struct lease_page;

/* Makes the page: an anonymous file, sealed against a change of its size.
 * Returns the writable descriptor, and a read-only one in *view. -1 and err. */
int lease_page_create(int *view, struct err *err);

/* Maps the page of fd (which stays the caller's); writable for the elector
 * only. NULL and err. */
struct lease_page *lease_page_map(int fd, bool writable, struct err *err);
void lease_page_unmap(struct lease_page *page);

/* Publishes the term; deadline 0 ends it. */
void lease_page_publish(struct lease_page *page, uint64_t term,
                        int64_t deadline);

/* The term and its deadline as published last, consistent with each other, also
 * when a writer died in the middle of publishing the next. Zeros before the
 * first. */
void lease_page_read(const struct lease_page *page, uint64_t *term,
                     int64_t *deadline);

#endif
