/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELECTOR_FOLLOW_H
#define ELECTOR_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "supervisor/elector/lease.h"

struct event_base;
struct kube_config;

/*
 * A watch of one Lease by its name, for a candidate that would know at once
 * when it is released: a list, then a watch from there, both with a selector of
 * the name.  A watch that ends is opened again; one that fails begins anew with
 * a list, after 1 s, doubling to 30 s; what is not allowed is tried each 30 s,
 * since that is a matter for people.
 *
 * It has a client, and so connections, of its own: no renewal waits behind it.
 */
struct follow;

struct follow_config {
    const char *namespace, *name;
    int64_t timeout; /* of the list, nanoseconds */
    int64_t silence; /* a watch that says nothing for so long is opened anew */
};

/* Both are called from the event loop, and may call follow_stop. */
struct follow_ops {
    /* The Lease is so now; NULL: there is none. Lives during the call. */
    void (*seen)(void *arg, const struct lease_record *record);
    /* The watch shows every change from now on, or it does no longer; trouble
     * then says why in a line for people, "" if it is nothing to speak of. */
    void (*sight)(void *arg, bool sees, const char *trouble);
};

/* config is copied; kube and ops must outlive it. NULL and err if names or
 * credentials cannot be used. */
struct follow *follow_new(struct event_base *base,
                          const struct kube_config *kube,
                          const struct follow_config *config,
                          const struct follow_ops *ops, void *arg,
                          struct err *err);

/* NULL is fine. Not to be called from one of the ops. */
void follow_free(struct follow *f);

/* Begins with a list, unless it follows already. */
void follow_start(struct follow *f);

/* Nothing more is told. */
void follow_stop(struct follow *f);

#endif
