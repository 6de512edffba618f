/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_REACH_H
#define COMMON_KUBE_REACH_H

struct kube_config;
struct sandbox;

/* Grants what requests to that API server take: its port or its proxy's, the
 * files that are rotated, names where it is named, the system's authorities
 * where it has none of its own. */
void kube_reach(const struct kube_config *config, struct sandbox *box);

#endif
