/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_LOOP_H
#define COMMON_KUBE_LOOP_H

#include <curl/curl.h>
#include <stdbool.h>

#include "common/err.h"

struct event_base;

/*
 * libcurl's multi interface on libevent, for http.c alone.  libcurl says which
 * sockets and which one timer it waits for; events of theirs are the only
 * place from where it is driven, so it is never entered from one of its own
 * callbacks.
 */
struct kube_loop;

/* turned is called from the event loop, outside of libcurl, whenever libcurl
 * has run and whenever kube_loop_kick asked for it. NULL and err if libcurl or
 * libevent refuse. */
struct kube_loop *kube_loop_new(struct event_base *base,
                                void (*turned)(void *arg), void *arg,
                                struct err *err);

/* To be called when no transfer is left in the multi handle. NULL is fine. */
void kube_loop_free(struct kube_loop *loop);

CURLM *kube_loop_multi(const struct kube_loop *loop);

/* True while libcurl is running, that is, in its callbacks: the multi handle
 * must be left alone then. */
bool kube_loop_inside(const struct kube_loop *loop);

/* Has turned called soon. */
void kube_loop_kick(struct kube_loop *loop);

#endif
