/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/web/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

#define MAX_HEADERS (8 << 10)
#define MAX_BODY (1 << 10)
#define PATIENCE 5 /* seconds */
#define MAX_VISITS 128
#define ALL_METHODS 0xffff

/*
 * A connection, watched from beside evhttp, which limits the silence of a
 * client but not the length of its stay.  We share the bufferevent; once evhttp
 * has closed the connection, the bufferevent has no owner's callback any more.
 */
struct visit {
    TAILQ_ENTRY(visit) entry;
    struct bufferevent *bev;
    int64_t since; /* the connection, or its last answer */
    bool asking;   /* something came since then */
};

TAILQ_HEAD(visits, visit);

/* A request that has no answer yet. */
struct waiting {
    TAILQ_ENTRY(waiting) entry;
    struct http *http;
    struct evhttp_request *req;
};

TAILQ_HEAD(waiters, waiting);

struct http {
    const struct http_ops *ops;
    void *arg;
    struct evhttp *server;
    struct evhttp_bound_socket *listener; /* NULL once stopped */
    struct visits visits;                 /* the oldest connection first */
    size_t count;
    struct waiters waiters;
    struct event *tick;
    int64_t stop_at; /* of the end of patience, while stopping; else 0 */
};

static void
note_input(struct evbuffer *input, const struct evbuffer_cb_info *info,
           void *arg)
{
    struct visit *visit = arg;

    (void)input;
    if (info->n_added > 0)
        visit->asking = true;
}

static bool
is_over(const struct visit *visit)
{
    void *owner = NULL;

    bufferevent_getcb(visit->bev, NULL, NULL, NULL, &owner);
    return owner == NULL;
}

static void
forget(struct http *http, struct visit *visit)
{
    TAILQ_REMOVE(&http->visits, visit, entry);
    http->count--;
    evbuffer_remove_cb(bufferevent_get_input(visit->bev), note_input, visit);
    bufferevent_decref(visit->bev);
    free(visit);
}

static void
sweep(struct http *http)
{
    struct visit *next;

    for (struct visit *v = TAILQ_FIRST(&http->visits); v != NULL; v = next) {
        next = TAILQ_NEXT(v, entry);
        if (is_over(v))
            forget(http, v);
    }
}

/* evhttp reads the end of the connection and closes it. */
static void
cut(const struct visit *visit)
{
    shutdown(bufferevent_getfd(visit->bev), SHUT_RDWR);
}

static bool
is_busy(const struct visit *visit)
{
    return visit->asking ||
           evbuffer_get_length(bufferevent_get_output(visit->bev)) > 0;
}

static void
arm(struct http *http)
{
    struct timeval pause = {.tv_sec = 1};

    if (http->stop_at != 0)
        pause = (struct timeval){.tv_usec = 20000};
    event_add(http->tick, &pause);
}

/* While stopping: nobody is left, or patience is at its end. */
static bool
is_stopped(struct http *http)
{
    struct visit *v;

    if (http->stop_at == 0)
        return false;
    if (clock_now() < http->stop_at)
        return TAILQ_EMPTY(&http->visits);
    TAILQ_FOREACH(v, &http->visits, entry)
    cut(v);
    return true;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;
    int64_t latest = clock_now() - PATIENCE * CLOCK_SECOND;
    struct visit *v;

    (void)fd;
    (void)what;
    sweep(http);
    TAILQ_FOREACH(v, &http->visits, entry)
    if (v->since < latest || (http->stop_at != 0 && !is_busy(v)))
        cut(v);
    if (is_stopped(http))
        http->ops->stopped(http->arg);
    else if (http->stop_at != 0 || !TAILQ_EMPTY(&http->visits))
        arm(http);
}

/* A connection was accepted. */
static struct bufferevent *
on_visit(struct event_base *base, void *arg)
{
    struct http *http = arg;
    struct visit *visit = mem_zalloc(sizeof(*visit));

    if (http->count >= MAX_VISITS)
        sweep(http);
    if (http->count >= MAX_VISITS) {
        struct visit *oldest = TAILQ_FIRST(&http->visits);

        cut(oldest);
        forget(http, oldest);
    }
    visit->bev = bufferevent_socket_new(base, -1, 0);
    if (visit->bev == NULL)
        fatal("no bufferevent");
    bufferevent_incref(visit->bev);
    evbuffer_add_cb(bufferevent_get_input(visit->bev), note_input, visit);
    visit->since = clock_now();
    TAILQ_INSERT_TAIL(&http->visits, visit, entry);
    http->count++;
    if (!evtimer_pending(http->tick, NULL))
        arm(http);
    return visit->bev;
}

static void
note_answer(struct http *http, struct evhttp_request *req)
{
    struct bufferevent *bev =
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
    struct visit *v;

    TAILQ_FOREACH(v, &http->visits, entry)
    {
        if (v->bev != bev)
            continue;
        v->since = clock_now();
        v->asking = evbuffer_get_length(bufferevent_get_input(bev)) > 0;
    }
}

static const char *
method_of(const struct evhttp_request *req)
{
    static const struct {
        enum evhttp_cmd_type type;
        const char *name;
    } methods[] = {
        {EVHTTP_REQ_GET, "GET"},       {EVHTTP_REQ_POST, "POST"},
        {EVHTTP_REQ_HEAD, "HEAD"},     {EVHTTP_REQ_PUT, "PUT"},
        {EVHTTP_REQ_DELETE, "DELETE"}, {EVHTTP_REQ_OPTIONS, "OPTIONS"},
        {EVHTTP_REQ_TRACE, "TRACE"},   {EVHTTP_REQ_CONNECT, "CONNECT"},
        {EVHTTP_REQ_PATCH, "PATCH"},
    };

    for (size_t i = 0; i < nitems(methods); i++)
        if (methods[i].type == evhttp_request_get_command(req))
            return methods[i].name;
    return "";
}

static const char *
path_of(const struct evhttp_request *req)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri == NULL ? NULL : evhttp_uri_get_path(uri);

    return path == NULL ? "" : path;
}

static void
reply(struct http *http, struct evhttp_request *req, int status,
      struct http_answer *answer)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    struct evbuffer *body = evhttp_request_get_output_buffer(req);

    evbuffer_add(body, buf_str(&answer->body).s, answer->body.len);
    evhttp_add_header(headers, "Content-Type", answer->type);
    if (answer->allow != NULL)
        evhttp_add_header(headers, "Allow", answer->allow);
    if (http->listener == NULL)
        evhttp_add_header(headers, "Connection", "close");
    note_answer(http, req);
    evhttp_send_reply(req, status, NULL, NULL);
}

static void
stop_waiting(struct waiting *waiting)
{
    TAILQ_REMOVE(&waiting->http->waiters, waiting, entry);
    free(waiting);
}

/* The client left; evhttp frees the request. */
static void
on_left(struct evhttp_connection *connection, void *arg)
{
    (void)connection;
    stop_waiting(arg);
}

/* false: it must wait. */
static bool
try_answer(struct http *http, struct evhttp_request *req)
{
    struct http_answer answer = {.type = "application/json"};
    int status =
        http->ops->answer(http->arg, method_of(req), path_of(req), &answer);

    if (status != 0)
        reply(http, req, status, &answer);
    buf_fini(&answer.body);
    return status != 0;
}

static void
on_request(struct evhttp_request *req, void *arg)
{
    struct http *http = arg;
    struct waiting *waiting;

    if (try_answer(http, req))
        return;
    waiting = mem_zalloc(sizeof(*waiting));
    waiting->http = http;
    waiting->req = req;
    TAILQ_INSERT_TAIL(&http->waiters, waiting, entry);
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_left,
                                  waiting);
}

void
http_retry(struct http *http)
{
    struct waiting *waiting;
    size_t count = 0;

    TAILQ_FOREACH(waiting, &http->waiters, entry)
    count++;
    /* Those that must go on waiting join the queue anew, at its end. */
    for (; count > 0; count--) {
        struct evhttp_request *req;

        waiting = TAILQ_FIRST(&http->waiters);
        req = waiting->req;
        evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL,
                                      NULL);
        stop_waiting(waiting);
        on_request(req, http);
    }
}

static void
limit(struct http *http)
{
    evhttp_set_bevcb(http->server, on_visit, http);
    evhttp_set_gencb(http->server, on_request, http);
    evhttp_set_allowed_methods(http->server, ALL_METHODS);
    evhttp_set_max_headers_size(http->server, MAX_HEADERS);
    evhttp_set_max_body_size(http->server, MAX_BODY);
    evhttp_set_timeout(http->server, PATIENCE);
}

static bool
is_listening(int fd)
{
    socklen_t n = sizeof(int);
    int yes = 0;

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &n) == 0 && yes != 0;
}

struct http *
http_new(struct event_base *base, int fd, const struct http_ops *ops, void *arg,
         struct err *err)
{
    struct http *http;

    if (!is_listening(fd)) {
        err_set(err, "descriptor %d is no listening socket", fd);
        close(fd);
        return NULL;
    }
    http = mem_zalloc(sizeof(*http));
    http->ops = ops;
    http->arg = arg;
    TAILQ_INIT(&http->visits);
    TAILQ_INIT(&http->waiters);
    evutil_make_socket_nonblocking(fd);
    http->tick = evtimer_new(base, on_tick, http);
    http->server = evhttp_new(base);
    if (http->tick == NULL || http->server == NULL)
        fatal("no HTTP server");
    limit(http);
    http->listener = evhttp_accept_socket_with_handle(http->server, fd);
    if (http->listener == NULL)
        fatal("no event for the listener");
    return http;
}

void
http_free(struct http *http)
{
    if (http == NULL)
        return;
    evhttp_free(http->server);
    while (!TAILQ_EMPTY(&http->visits))
        forget(http, TAILQ_FIRST(&http->visits));
    event_free(http->tick);
    free(http);
}

void
http_stop(struct http *http, int64_t patience)
{
    if (http->listener == NULL)
        return;
    evhttp_del_accept_socket(http->server, http->listener);
    http->listener = NULL;
    http->stop_at = clock_now() + patience;
    event_active(http->tick, EV_TIMEOUT, 0);
}
