/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/event_sender.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/kube/http.h"
#include "common/kube/status.h"
#include "common/log.h"
#include "common/mem.h"

#define TIMEOUT (5 * CLOCK_SECOND)
#define MAX_ANSWER (64 << 10)

struct event_sender {
    struct events *events;
    struct kube_client *client;
    struct kube_call *call;
    struct event *wake;
    bool stopping;
    bool said; /* that one was refused, and none was taken since */
    void (*turned)(void *arg);
    void *arg;
};

static void
tell_refused(struct event_sender *s, const struct kube_response *response)
{
    struct err err;

    kube_describe(response, NULL, &err);
    if (response->status == 403)
        log_write(s->said ? LOG_DEBUG : LOG_WARN,
                  "Kubernetes Events are not allowed; give the control plane "
                  "the verbs create and patch on events, or go on without",
                  (const struct log_field[]){F_STR("error", err.text), {0}});
    else
        log_write(s->said ? LOG_DEBUG : LOG_WARN, "Kubernetes Event not taken",
                  (const struct log_field[]){F_STR("error", err.text), {0}});
    s->said = true;
}

static void pump(struct event_sender *s);

static void
on_done(void *arg, const struct kube_response *response)
{
    struct event_sender *s = arg;
    enum event_fate fate = events_answered(s->events, response->status,
                                           response->retry_after, clock_now());

    s->call = NULL;
    if (fate == EVENT_SENT)
        s->said = false;
    else
        tell_refused(s, response);
    pump(s);
    s->turned(s->arg);
}

static void
arm(struct event_sender *s)
{
    int64_t now = clock_now();
    int64_t due = events_due(s->events, now);
    int64_t wait = due > now ? due - now : 0;
    struct timeval tv = {wait / CLOCK_SECOND, wait % CLOCK_SECOND / 1000};

    if (due == INT64_MAX || s->stopping || s->client == NULL)
        event_del(s->wake);
    else
        event_add(s->wake, &tv);
}

static void
pump(struct event_sender *s)
{
    const struct event_request *request = NULL;

    if (!s->stopping && s->client != NULL)
        request = events_next(s->events, clock_now());
    if (request != NULL)
        s->call =
            kube_send(s->client, &(struct kube_request){
                                     .method = request->method,
                                     .path = request->path,
                                     .content_type = request->content_type,
                                     .body = str_of(request->body),
                                     .timeout = TIMEOUT,
                                     .max_body = MAX_ANSWER,
                                     .done = on_done,
                                     .arg = s,
                                 });
    arm(s);
}

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pump(arg);
}

struct event_sender *
event_sender_new(struct event_base *base, const char *instance,
                 void (*turned)(void *arg), void *arg)
{
    struct event_sender *s = mem_zalloc(sizeof(*s));

    s->events = events_new(instance);
    s->turned = turned;
    s->arg = arg;
    s->wake = evtimer_new(base, on_wake, s);
    if (s->wake == NULL)
        fatal("no timer for Events");
    return s;
}

void
event_sender_free(struct event_sender *s)
{
    if (s == NULL)
        return;
    kube_cancel(s->call);
    event_free(s->wake);
    events_free(s->events);
    free(s);
}

void
event_sender_client(struct event_sender *s, struct kube_client *client)
{
    s->client = client;
    pump(s);
}

void
event_sender_note(struct event_sender *s, const struct event_note *note)
{
    events_note(s->events, note, clock_now(), clock_wall());
    pump(s);
}

void
event_sender_stop(struct event_sender *s)
{
    s->stopping = true;
}

bool
event_sender_busy(const struct event_sender *s)
{
    return events_in_flight(s->events);
}

void
event_sender_measure(const struct event_sender *s, struct metrics *m)
{
    const int64_t *fates = events_fates(s->events);

    for (unsigned i = 0; i < EVENT_FATES; i++)
        metrics_set(m, METRIC_EVENTS, i, 0, fates[i]);
}
