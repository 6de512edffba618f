/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web: answers probes and scrapes on the listener that the supervisor keeps,
 * from what the supervisor tells it.  It knows nothing of the API server.
 */
#include <event2/event.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/worker.h"
#include "supervisor/web/http.h"
#include "supervisor/web/page.h"
#include "supervisor/web/scrape.h"

struct web {
    struct worker *worker;
    struct page *page;
    struct http *http;
    struct event *patience; /* of the scrape that is open */
    int listener;           /* granted, not in use yet; else -1 */
};

/* Asks everybody, unless that is under way. */
static void
begin_scrape(struct web *web)
{
    const struct timeval tv = {.tv_sec = SCRAPE_PATIENCE / CLOCK_SECOND};
    struct chan *control = worker_control(web->worker);

    if (!scrape_begin(page_scrape(web->page), clock_now()))
        return;
    if (control != NULL)
        chan_send(control, MSG_MEASURE, 0, STR(""));
    event_add(web->patience, &tv);
}

static int
answer(void *arg, const char *method, const char *path, struct http_answer *out)
{
    struct web *web = arg;
    struct page_head head;
    int status =
        page_answer(web->page, method, path, clock_now(), &out->body, &head);

    out->type = head.type;
    out->allow = head.allow;
    if (status == 0)
        begin_scrape(web);
    return status;
}

static void
end_scrape(struct web *web)
{
    event_del(web->patience);
    scrape_end(page_scrape(web->page), clock_now());
    http_retry(web->http);
}

static void
on_patience(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    end_scrape(arg);
}

static void
end_if_complete(struct web *web)
{
    const struct scrape *scrape = page_scrape(web->page);

    if (scrape->open && scrape_complete(scrape, clock_now()))
        end_scrape(web);
}

static int
on_measuring(void *state, struct chan *from, struct message *message,
             struct err *err)
{
    struct web *web = state;

    (void)from;
    if (scrape_measuring(page_scrape(web->page), message->body, err) != 0)
        return -1;
    end_if_complete(web);
    return 0;
}

static int
on_metrics(void *state, struct chan *from, struct message *message,
           struct err *err)
{
    struct web *web = state;

    (void)from;
    if (scrape_metrics(page_scrape(web->page), message->body, err) != 0)
        return -1;
    end_if_complete(web);
    return 0;
}

static void
stopped(void *arg)
{
    const struct web *web = arg;

    worker_bye(web->worker);
}

static int
on_readiness(void *state, struct chan *from, struct message *message,
             struct err *err)
{
    const struct web *web = state;

    (void)from;
    return page_readiness(web->page, message->body, err);
}

static int
configure(void *state, struct worker *w, struct err *err)
{
    struct web *web = state;

    (void)err;
    web->worker = w;
    web->page = page_new(worker_option(w, "leader-election-name"));
    web->patience = evtimer_new(worker_base(w), on_patience, web);
    if (web->patience == NULL)
        fatal("no timer");
    return 0;
}

static int
granted(void *state, enum resource resource, int fd, struct err *err)
{
    struct web *web = state;

    if (resource == RESOURCE_LISTENER && web->listener < 0) {
        web->listener = fd;
        return 0;
    }
    close(fd);
    return err_set(err, "descriptor %d was not asked for", (int)resource);
}

static int
start(void *state, struct err *err)
{
    static const struct http_ops ops = {answer, stopped};
    struct web *web = state;
    int fd = web->listener;

    if (fd < 0)
        return err_set(err, "no listener was granted");
    web->listener = -1;
    web->http = http_new(worker_base(web->worker), fd, &ops, web, err);
    if (web->http == NULL)
        return -1;
    worker_report(web->worker, true, "", NULL);
    return 0;
}

static void
measure(void *state, struct metrics *m)
{
    const struct web *web = state;

    page_measure(web->page, m);
}

static void
stop(void *state)
{
    const struct web *web = state;

    if (web->http == NULL) {
        worker_bye(web->worker);
        return;
    }
    log_info("HTTP draining",
             F_STR("timeout", worker_option(web->worker, "shutdown-timeout")));
    http_stop(web->http,
              worker_option_duration(web->worker, "shutdown-timeout"));
}

static void
fini(void *state)
{
    struct web *web = state;

    http_free(web->http);
    page_free(web->page);
    if (web->patience != NULL)
        event_free(web->patience);
    if (web->listener >= 0)
        close(web->listener);
}

int
main(int argc, char **argv)
{
    static const struct worker_handler handlers[] = {
        {MSG_READINESS, on_readiness},
        {MSG_MEASURING, on_measuring},
        {MSG_METRICS, on_metrics},
    };
    static const struct worker_ops ops = {
        .role = ROLE_WEB,
        .handlers = handlers,
        .handler_count = nitems(handlers),
        .configure = configure,
        .granted = granted,
        .start = start,
        .measure = measure,
        .stop = stop,
        .fini = fini,
    };
    struct web web = {.listener = -1};

    return worker_main(argc, argv, &ops, &web);
}
