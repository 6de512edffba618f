/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_TARGET_H
#define COMMON_KUBE_TARGET_H

#include "common/err.h"

struct kube_config;

/* The server's address taken apart, for http.c alone. */
struct kube_target {
    char *base;       /* what request paths are put after */
    char *connect_to; /* with tls-server-name: whom to connect to, or NULL */
    char *host_line;  /* with tls-server-name: the Host header, or NULL */
};

/* Fills target from config->server. -1 and err, with nothing to free, if that
 * is no URL of an API server. */
int kube_target_init(struct kube_target *target,
                     const struct kube_config *config, struct err *err);

void kube_target_fini(struct kube_target *target);

#endif
