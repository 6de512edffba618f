/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_STATS_H
#define KUBE_STATS_H

#include "common/metrics.h"

/*
 * What a client counts of its requests: by verb and HTTP status, and how long
 * they took.
 */
struct kube_stats {
    int64_t requests[API_VERBS][API_CODES];
    struct histogram durations[API_VERBS];
};

/* The API verb of a request to that path (with query), as the API server's
 * audit log names it. */
enum api_verb kube_verb(const char *method, const char *path);

/* A request of that verb ended; status 0: without a complete answer. */
void kube_stats_note(struct kube_stats *stats, enum api_verb verb, int status,
                     int64_t nanoseconds);

/* Sets what was counted; verbs and statuses that never were are left out. */
void kube_stats_measure(const struct kube_stats *stats, struct metrics *m);

#endif
