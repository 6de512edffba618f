/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_ACCESS_H
#define COMMON_KUBE_ACCESS_H

#include <stddef.h>

#include "common/err.h"

struct event_base;
struct kube_config;

/*
 * Asks the API server whether we are allowed what we need (one
 * SelfSubjectAccessReview for each verb, one at a time, on a connection of its
 * own), so that a role that lacks something is known at the start, by name, and
 * not when the thing is first needed.  Where something is missing, all is asked
 * again every ten seconds until it is granted; then never again.  A server that
 * does not answer such questions is taken at its deeds.
 */
struct kube_access;

/* What is needed of one resource. */
struct kube_right {
    const char *verbs; /* "get list watch" */
    const char *group; /* "" is the core group */
    const char *resource;
    const char *subresource; /* NULL: the object itself */
    const char *namespace;   /* NULL: cluster-scoped, or all namespaces */
    const char *name;        /* NULL: any */
};

/*
 * base, config and rights must outlive it.  told is called, from the loop,
 * when what is missing changed (at first, nothing is), with one line for people
 * that is also in the log; "" once all is granted:
 *
 *     not allowed: list, watch on nodes; update on
 *     sgpuracks.mokka.nvidia.com/status; grant it to this identity
 *
 * NULL and err as kube_client_new.
 */
struct kube_access *
kube_access_new(struct event_base *base, const struct kube_config *config,
                const struct kube_right *rights, size_t count,
                void (*told)(void *arg, const char *missing), void *arg,
                struct err *err);

/* Asks no more. NULL is fine; not from within told. */
void kube_access_free(struct kube_access *access);

#endif
