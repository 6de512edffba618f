/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/loop.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/mem.h"

/* Connections kept for reuse: more than the calls that are ever in flight. */
#define KEPT_CONNECTIONS 128L

struct kube_loop {
    struct event_base *base;
    CURLM *multi;
    struct event *timer; /* libcurl's */
    struct event *kick;
    bool inside;
    void (*turned)(void *arg);
    void *arg;
};

/* A socket that libcurl watches. */
struct watched {
    struct kube_loop *loop;
    struct event *event;
    bool broken; /* the event could not be set */
};

static void
drive(struct kube_loop *loop, curl_socket_t fd, int what)
{
    int running;

    loop->inside = true;
    curl_multi_socket_action(loop->multi, fd, what, &running);
    loop->inside = false;
    loop->turned(loop->arg);
}

static void
on_socket_event(evutil_socket_t fd, short events, void *arg)
{
    struct watched *watched = arg;
    int what = 0;

    if (events & EV_READ)
        what |= CURL_CSELECT_IN;
    if (events & EV_WRITE)
        what |= CURL_CSELECT_OUT;
    if (watched->broken)
        what = CURL_CSELECT_ERR;
    /* watched may be gone after this. */
    drive(watched->loop, fd, what);
}

static void
on_timer(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    drive(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
on_kick(evutil_socket_t fd, short events, void *arg)
{
    struct kube_loop *loop = arg;

    (void)fd;
    (void)events;
    loop->turned(loop->arg);
}

static void
unwatch(struct kube_loop *loop, struct watched *watched, curl_socket_t fd)
{
    curl_multi_assign(loop->multi, fd, NULL);
    if (watched == NULL)
        return;
    event_free(watched->event);
    free(watched);
}

static struct watched *
watch_new(struct kube_loop *loop, curl_socket_t fd)
{
    struct watched *watched = mem_zalloc(sizeof(*watched));

    watched->loop = loop;
    watched->event = event_new(loop->base, fd, 0, on_socket_event, watched);
    if (watched->event == NULL)
        fatal("out of memory (event)");
    curl_multi_assign(loop->multi, fd, watched);
    return watched;
}

/* libcurl's word on a socket. Failing here would end every transfer, so a
 * socket that cannot be watched fails by itself, from the loop. */
static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *per_socket)
{
    struct kube_loop *loop = arg;
    struct watched *watched = per_socket;
    short events = EV_PERSIST;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        unwatch(loop, watched, fd);
        return 0;
    }
    if (watched == NULL)
        watched = watch_new(loop, fd);
    if (what & CURL_POLL_IN)
        events |= EV_READ;
    if (what & CURL_POLL_OUT)
        events |= EV_WRITE;
    event_del(watched->event);
    if (event_assign(watched->event, loop->base, fd, events, on_socket_event,
                     watched) < 0 ||
        event_add(watched->event, NULL) < 0) {
        watched->broken = true;
        event_active(watched->event, EV_READ, 0);
    }
    return 0;
}

/* libcurl's word on its timer: -1 is none, 0 is now, that is, from the loop. */
static int
on_timer_wanted(CURLM *multi, long ms, void *arg)
{
    struct kube_loop *loop = arg;
    struct timeval wait = {ms / 1000, ms % 1000 * 1000};

    (void)multi;
    if (ms < 0)
        evtimer_del(loop->timer);
    else
        evtimer_add(loop->timer, &wait);
    return 0;
}

struct kube_loop *
kube_loop_new(struct event_base *base, void (*turned)(void *arg), void *arg,
              struct err *err)
{
    struct kube_loop *loop = mem_zalloc(sizeof(*loop));

    *loop = (struct kube_loop){
        .base = base,
        .multi = curl_multi_init(),
        .turned = turned,
        .arg = arg,
    };
    loop->timer = evtimer_new(base, on_timer, loop);
    loop->kick = event_new(base, -1, 0, on_kick, loop);
    if (loop->multi == NULL || loop->timer == NULL || loop->kick == NULL) {
        kube_loop_free(loop);
        err_set(err, "cannot set up the HTTP client");
        return NULL;
    }
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    return loop;
}

void
kube_loop_free(struct kube_loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->multi != NULL)
        curl_multi_cleanup(loop->multi);
    if (loop->timer != NULL)
        event_free(loop->timer);
    if (loop->kick != NULL)
        event_free(loop->kick);
    free(loop);
}

CURLM *
kube_loop_multi(const struct kube_loop *loop)
{
    return loop->multi;
}

bool
kube_loop_inside(const struct kube_loop *loop)
{
    return loop->inside;
}

void
kube_loop_kick(struct kube_loop *loop)
{
    event_active(loop->kick, EV_TIMEOUT, 0);
}
