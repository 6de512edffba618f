/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_KUBECONFIG_ENTRY_H
#define COMMON_KUBE_KUBECONFIG_ENTRY_H

#include "common/err.h"

struct kube_config;
struct kube_yaml;

/* The parts of kubeconfig.c that know what single values mean. */

/* "FILE:LINE: " and the text to err; -1. */
#define kubeconfig_refuse(err, node, ...)                                      \
    (err_set(err, __VA_ARGS__),                                                \
     err_prefix(err, "%s:%zu", (node)->file, (node)->line))

/* Sets *text to the text of a value, NULL if there is none or it is empty. -1
 * and err if the value is no text. */
int kubeconfig_text(const struct kube_yaml *map, const char *key,
                    const char **text, struct err *err);

/* Puts the map of a cluster into config. -1 and err naming the place. */
int kubeconfig_cluster(struct kube_config *config,
                       const struct kube_yaml *cluster, struct err *err);

/* Puts the map of a user into config. -1 and err naming the place, and what to
 * do instead where a kind of credentials is refused. */
int kubeconfig_user(struct kube_config *config, const struct kube_yaml *user,
                    struct err *err);

#endif
