/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/http.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/kube/auth.h"
#include "common/kube/config.h"
#include "common/kube/loop.h"
#include "common/kube/secret.h"
#include "common/kube/stats.h"
#include "common/kube/target.h"
#include "common/kube/transfer.h"
#include "common/mem.h"

/* Answers of refusal in a row after which connections are made anew: another
 * server may stand behind the same address. Not more often than so. */
#define REFUSALS 3
#define RENEWAL (30 * CLOCK_SECOND)

/* Connections are left behind after so long, to follow servers that move. */
#define LIFETIME 300L /* seconds */

enum call_state {
    CALL_QUEUED,  /* to be started from the loop */
    CALL_RUNNING, /* libcurl has it */
    CALL_FAILED,  /* could not be started; its end is on the way */
    CALL_DROPPED, /* cancelled while libcurl ran; swept after */
    CALL_DONE,    /* its done is running */
};

struct kube_call {
    TAILQ_ENTRY(kube_call) entry; /* in queue if CALL_QUEUED, else in calls */
    struct kube_client *client;
    enum call_state state;
    struct event *timer; /* the nearer of both time limits */
    int64_t began_at;
    enum api_verb verb;
    struct kube_transfer *transfer;
};

TAILQ_HEAD(call_list, kube_call);

struct kube_client {
    struct event_base *base;
    const struct kube_config *config;
    struct kube_target target;
    struct kube_auth *auth;
    struct kube_loop *loop;
    struct call_list queue, calls;
    struct kube_stats stats;
    bool dropped;       /* some call is CALL_DROPPED */
    int refusals;       /* in a row */
    int64_t renewed_at; /* older connections are not used any more */
};

/* Takes the call out of everything and frees it. */
static void
call_free(struct kube_call *call)
{
    struct kube_client *client = call->client;

    TAILQ_REMOVE(call->state == CALL_QUEUED ? &client->queue : &client->calls,
                 call, entry);
    if (call->transfer->easy != NULL)
        curl_multi_remove_handle(kube_loop_multi(client->loop),
                                 call->transfer->easy);
    kube_transfer_free(call->transfer);
    event_free(call->timer);
    free(call);
}

/* Learns from how a call ended. */
static void
observe(struct kube_client *client, const struct kube_response *response,
        CURLcode code)
{
    int64_t now = clock_now();

    if (response->status == 401 || code == CURLE_PEER_FAILED_VERIFICATION ||
        code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CONNECT_ERROR)
        kube_auth_doubt(client->auth);
    if (response->status == 429 || response->status >= 500)
        client->refusals++;
    else if (response->status != 0)
        client->refusals = 0;
    if (client->refusals < REFUSALS || now - client->renewed_at < RENEWAL)
        return;
    client->renewed_at = now;
    client->refusals = 0;
}

/* A watch may last for hours; what it took is the time until it opened. */
static void
count(const struct kube_call *call, int status)
{
    const struct kube_transfer *transfer = call->transfer;
    bool watch = call->verb == API_WATCH && transfer->headed_at != 0;
    int64_t end = watch ? transfer->headed_at : clock_now();

    kube_stats_note(&call->client->stats, call->verb, status,
                    end - call->began_at);
}

static void
call_end(struct kube_call *call, CURLcode code)
{
    const struct kube_request *req = &call->transfer->request;
    struct kube_response response;

    call->state = CALL_DONE;
    kube_transfer_response(call->transfer, code, &response);
    observe(call->client, &response, code);
    count(call, response.status);
    req->done(req->arg, &response);
    call_free(call);
}

/* When the call must end, and which of its limits that is. */
static int64_t
deadline(const struct kube_call *call, bool *idle)
{
    const struct kube_request *req = &call->transfer->request;
    int64_t whole =
        req->timeout > 0 ? call->began_at + req->timeout : INT64_MAX;
    int64_t silent = req->idle_timeout > 0
                         ? call->transfer->heard_at + req->idle_timeout
                         : INT64_MAX;

    *idle = silent < whole;
    return *idle ? silent : whole;
}

static void
arm(struct kube_call *call, int64_t wait)
{
    struct timeval tv = {wait / CLOCK_SECOND, wait % CLOCK_SECOND / 1000 + 1};

    evtimer_add(call->timer, &tv);
}

static void
set_timed_out(struct kube_transfer *transfer, bool idle)
{
    const struct kube_request *req = &transfer->request;
    int64_t limit = idle ? req->idle_timeout : req->timeout;
    const char *what = transfer->headed_at == 0 ? "no answer came within"
                       : idle ? "silent in the middle of its answer for"
                              : "the answer was not complete within";

    err_set(&transfer->err, "%s: %s %.1f s; the request was ended",
            transfer->server, what, (double)limit / CLOCK_SECOND);
}

/* A time limit may have passed: bytes that came meanwhile moved it. */
static void
on_time(evutil_socket_t fd, short events, void *arg)
{
    struct kube_call *call = arg;
    int64_t wait;
    bool idle;

    (void)fd;
    (void)events;
    if (call->state == CALL_RUNNING) {
        wait = deadline(call, &idle) - clock_now();
        if (wait > 0) {
            arm(call, wait);
            return;
        }
        set_timed_out(call->transfer, idle);
    }
    call_end(call, CURLE_OK);
}

/* Seconds since the last reason to leave connections behind. */
static long
lifetime(const struct kube_client *client)
{
    int64_t since = kube_auth_changed(client->auth);
    int64_t seconds;

    if (client->renewed_at > since)
        since = client->renewed_at;
    seconds = (clock_now() - since) / CLOCK_SECOND;
    return since == 0 || seconds >= LIFETIME ? LIFETIME
           : seconds < 1                     ? 1
                                             : (long)seconds;
}

/* Hands a call to libcurl. -1 with the transfer's err set. */
static int
submit(struct kube_client *client, struct kube_call *call)
{
    struct kube_transfer *transfer = call->transfer;

    if (kube_transfer_prepare(transfer, client->auth, &client->target,
                              lifetime(client)) < 0)
        return -1;
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, call);
    if (curl_multi_add_handle(kube_loop_multi(client->loop), transfer->easy) !=
        CURLM_OK)
        return err_set(&transfer->err, "%s: the request cannot be started",
                       transfer->server);
    return 0;
}

/* Starts a queued call. Calls nobody back: a failure is told by the timer. */
static void
call_start(struct kube_call *call)
{
    struct kube_client *client = call->client;
    int64_t due;
    bool idle;

    TAILQ_REMOVE(&client->queue, call, entry);
    TAILQ_INSERT_TAIL(&client->calls, call, entry);
    call->state = CALL_RUNNING;
    if (submit(client, call) < 0) {
        call->state = CALL_FAILED;
        event_active(call->timer, EV_TIMEOUT, 0);
        return;
    }
    due = deadline(call, &idle);
    if (due < INT64_MAX)
        arm(call, due > clock_now() ? due - clock_now() : 0);
}

static void
sweep_dropped(struct kube_client *client)
{
    struct kube_call *call, *next;

    if (!client->dropped)
        return;
    client->dropped = false;
    for (call = TAILQ_FIRST(&client->calls); call != NULL; call = next) {
        next = TAILQ_NEXT(call, entry);
        if (call->state == CALL_DROPPED)
            call_free(call);
    }
}

/* From the loop, libcurl not running: ends what has ended, starts what waits.
 * A done may cancel other calls; libcurl then forgets their messages. */
static void
on_turned(void *arg)
{
    struct kube_client *client = arg;
    struct kube_call *call;
    CURLMsg *msg;
    int left;

    sweep_dropped(client);
    while ((msg = curl_multi_info_read(kube_loop_multi(client->loop), &left)) !=
           NULL) {
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &call);
        if (msg->msg == CURLMSG_DONE)
            call_end(call, msg->data.result);
    }
    if (!TAILQ_EMPTY(&client->queue))
        kube_auth_refresh(client->auth);
    while ((call = TAILQ_FIRST(&client->queue)) != NULL)
        call_start(call);
}

/* They would do it with the first request, and read files of the system for
 * it, which a sandbox may have closed by then. */
static void
prepare_libraries(void)
{
    secret_from_curl();
    json_object_seed(0);
}

struct kube_client *
kube_client_new(struct event_base *base, const struct kube_config *config,
                struct err *err)
{
    struct kube_client *client = mem_zalloc(sizeof(*client));

    prepare_libraries();
    client->base = base;
    client->config = config;
    TAILQ_INIT(&client->queue);
    TAILQ_INIT(&client->calls);
    if (kube_target_init(&client->target, config, err) < 0 ||
        (client->auth = kube_auth_new(config, err)) == NULL ||
        (client->loop = kube_loop_new(base, on_turned, client, err)) == NULL) {
        kube_client_free(client);
        return NULL;
    }
    return client;
}

void
kube_client_free(struct kube_client *client)
{
    struct kube_call *call;

    if (client == NULL)
        return;
    while ((call = TAILQ_FIRST(&client->queue)) != NULL)
        call_free(call);
    while ((call = TAILQ_FIRST(&client->calls)) != NULL)
        call_free(call);
    kube_loop_free(client->loop);
    kube_auth_free(client->auth);
    kube_target_fini(&client->target);
    free(client);
}

const struct kube_stats *
kube_client_stats(const struct kube_client *client)
{
    return &client->stats;
}

struct kube_call *
kube_send(struct kube_client *client, const struct kube_request *req)
{
    struct kube_call *call = mem_zalloc(sizeof(*call));

    call->client = client;
    call->state = CALL_QUEUED;
    call->began_at = clock_now();
    call->verb = kube_verb(req->method, req->path);
    call->transfer =
        kube_transfer_new(req, client->config->server, &client->target);
    call->timer = evtimer_new(client->base, on_time, call);
    if (call->timer == NULL)
        fatal("out of memory (timer)");
    TAILQ_INSERT_TAIL(&client->queue, call, entry);
    kube_loop_kick(client->loop);
    return call;
}

void
kube_cancel(struct kube_call *call)
{
    if (call == NULL || call->state == CALL_DONE || call->state == CALL_DROPPED)
        return;
    if (call->state == CALL_QUEUED || !kube_loop_inside(call->client->loop)) {
        call_free(call);
        return;
    }
    call->state = CALL_DROPPED;
    call->transfer->closed = true;
    call->client->dropped = true;
}
