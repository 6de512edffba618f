/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_ANSWER_H
#define INFORMER_ANSWER_H

#include "common/err.h"
#include "informer/resource.h"
#include "informer/watch.h"

struct kube_response;
struct kube_status;

/* What a refusal means to the watch, whether it came as an answer or as an
 * ERROR event. */
enum watch_event_type answer_meaning(const struct kube_status *status);

/*
 * Writes one line for people about a list or watch that failed: which resource,
 * why, and what to do about it.  verb is "list" or "watch".
 *
 *     sgpuracks: 403 Forbidden: ... (grant list on sgpuracks.mokka.nvidia.com
 *     to this identity)
 *     sgpuinventories: not served, install the CRDs
 *     https://host:6443: connection refused; ...
 */
void answer_explain(const struct resource_row *r, const char *verb,
                    const struct kube_response *response, struct err *line);

/* The same for an ERROR event. */
void answer_explain_event(const struct resource_row *r,
                          const struct kube_status *status, struct err *line);

#endif
