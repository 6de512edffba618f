/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_KUBECONFIG_H
#define COMMON_KUBE_KUBECONFIG_H

#include "common/err.h"

struct kube_config;

/* Fills config from the current context of the kubeconfig at path; see
 * kube_config_load, for which this is the half that reads files. */
int kubeconfig_read(struct kube_config *config, const char *path,
                    struct err *err);

#endif
