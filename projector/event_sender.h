/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_EVENT_SENDER_H
#define PROJECTOR_EVENT_SENDER_H

#include "projector/event.h"

struct event_base;
struct kube_client;

/*
 * Sends Kubernetes Events (event.h), one request at a time, whoever leads: they
 * are news, not the product's writes.  What the API server refuses is logged
 * once until one is taken again.
 */
struct event_sender;

/* turned is called when an answer has come. instance is copied. */
struct event_sender *event_sender_new(struct event_base *base,
                                      const char *instance,
                                      void (*turned)(void *arg), void *arg);

/* Ends the request under way; before the client goes. NULL is fine. */
void event_sender_free(struct event_sender *s);

/* Without it nothing is sent. It stays the caller's. */
void event_sender_client(struct event_sender *s, struct kube_client *client);

void event_sender_note(struct event_sender *s, const struct event_note *note);

/* Nothing more is sent; what is under way is awaited. */
void event_sender_stop(struct event_sender *s);

bool event_sender_busy(const struct event_sender *s);

void event_sender_measure(const struct event_sender *s, struct metrics *m);

#endif
