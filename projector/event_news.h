/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_EVENT_NEWS_H
#define PROJECTOR_EVENT_NEWS_H

#include "common/err.h"

struct event_object;
struct event_sender;
struct value;

/*
 * What others tell, as Events.  Each takes the body of a message; -1 and err if
 * it is not as the catalogue says.  About a Pod whose name is empty nothing is
 * sent.
 */
int event_news_object(struct event_sender *s, const struct value *body,
                      struct err *err); /* EVENT */
int event_news_died(struct event_sender *s, const struct event_object *pod,
                    const struct value *body,
                    struct err *err); /* WORKER_DIED */
int event_news_back(struct event_sender *s, const struct event_object *pod,
                    const struct value *body,
                    struct err *err); /* WORKER_BACK */

#endif
