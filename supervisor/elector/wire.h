/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELECTOR_WIRE_H
#define ELECTOR_WIRE_H

#include <stdint.h>

#include "common/err.h"
#include "supervisor/elector/election.h"

struct event_base;
struct kube_config;
struct kube_stats;

/*
 * The requests of an election for one Lease, one at a time, with the live
 * object that they go by: an update is sent with the resourceVersion and the
 * unknown fields of what was read, or written, last.
 */
struct wire;

struct wire_config {
    const char *namespace, *name;
    int64_t timeout; /* of one request, nanoseconds */
};

/* trouble is a line for people, with ELECTION_FAILED, else NULL. */
typedef void wire_answered(void *arg, const struct election_answer *answer,
                           const char *trouble);

/* kube must outlive it, config is copied.  NULL and err if the credentials in
 * kube cannot be used. */
struct wire *wire_new(struct event_base *base, const struct kube_config *kube,
                      const struct wire_config *config, wire_answered *answered,
                      void *arg, struct err *err);

/* Ends the request under way without an answer; NULL is fine. */
void wire_free(struct wire *wire);

/* What its client has counted. */
const struct kube_stats *wire_stats(const struct wire *wire);

/* Sends ELECTION_GET, _CREATE or _UPDATE; record for the latter two.  Answered
 * later, from the loop. */
void wire_send(struct wire *wire, enum election_verb verb,
               const struct lease_record *record);

/* No answer will come for the request under way, if there is one. */
void wire_cancel(struct wire *wire);

#endif
