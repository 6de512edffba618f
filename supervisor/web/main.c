/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web: answers probes on the listener that the supervisor keeps, from what the
 * supervisor tells it.  It knows nothing of the API server.
 */
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/worker.h"
#include "supervisor/web/http.h"
#include "supervisor/web/page.h"

struct web {
    struct worker *worker;
    struct page *page;
    struct http *http;
    int listener; /* granted, not in use yet; else -1 */
};

static int
answer(void *arg, const char *method, const char *path, struct buf *out,
       const char **allow)
{
    const struct web *web = arg;

    return page_answer(web->page, method, path, out, allow);
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
    web->page = page_new();
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
    if (web->listener >= 0)
        close(web->listener);
}

int
main(int argc, char **argv)
{
    static const struct worker_handler handlers[] = {
        {MSG_READINESS, on_readiness},
    };
    static const struct worker_ops ops = {
        .role = ROLE_WEB,
        .handlers = handlers,
        .handler_count = nitems(handlers),
        .configure = configure,
        .granted = granted,
        .start = start,
        .stop = stop,
        .fini = fini,
    };
    struct web web = {.listener = -1};

    return worker_main(argc, argv, &ops, &web);
}
