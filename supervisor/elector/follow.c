/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/elector/follow.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/http.h"
#include "common/kube/json.h"
#include "common/kube/path.h"
#include "common/kube/status.h"
#include "common/mem.h"

/* A Lease is small; what is larger is none. */
#define MAX_LINE ((size_t)256 << 10)

#define WATCH_SECONDS 300
#define FIRST_PAUSE CLOCK_SECOND
#define LAST_PAUSE (30 * CLOCK_SECOND)
/* A watch that stood for so long did not end because it cannot stand. */
#define STOOD CLOCK_SECOND

struct follow {
    struct kube_client *client;
    char *name;
    char *list; /* the path of the list; that of the watch begins so */
    int64_t timeout, silence;
    const struct follow_ops *ops;
    void *arg;
    struct event *timer; /* for the next list */
    bool on;
    struct kube_call *call; /* under way, or NULL */
    char *version;          /* where the watch stands */
    struct buf line;        /* the begin of an event */
    int64_t opened_at;      /* of the watch; 0: it is not open */
    unsigned failures;      /* in a row */
};

static void list(struct follow *f);
static void watch(struct follow *f);

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    list(arg);
}

static char *
list_path(const struct follow_config *config, struct err *err)
{
    struct kube_path path = {
        .group = "coordination.k8s.io",
        .version = "v1",
        .namespace = config->namespace,
        .resource = "leases",
    };
    struct buf text = {0};
    char *selector;

    if (kube_path_add(&text, &path, err) != 0)
        return NULL;
    selector = mem_printf("metadata.name=%s", config->name);
    kube_path_query(&text, "fieldSelector", selector);
    free(selector);
    return buf_take(&text);
}

struct follow *
follow_new(struct event_base *base, const struct kube_config *kube,
           const struct follow_config *config, const struct follow_ops *ops,
           void *arg, struct err *err)
{
    struct follow *f = mem_zalloc(sizeof(*f));

    f->name = mem_strdup(config->name);
    f->timeout = config->timeout;
    f->silence = config->silence;
    f->ops = ops;
    f->arg = arg;
    f->timer = evtimer_new(base, on_timer, f);
    if (f->timer == NULL)
        fatal("no timer");
    if ((f->list = list_path(config, err)) != NULL &&
        (f->client = kube_client_new(base, kube, err)) != NULL)
        return f;
    follow_free(f);
    return NULL;
}

void
follow_free(struct follow *f)
{
    if (f == NULL)
        return;
    kube_client_free(f->client);
    event_free(f->timer);
    buf_fini(&f->line);
    free(f->version);
    free(f->list);
    free(f->name);
    free(f);
}

static void
set_version(struct follow *f, const char *version)
{
    if (version[0] == '\0')
        return;
    free(f->version);
    f->version = mem_strdup(version);
}

/* The next list, after a pause: what failed is not likely to work at once. */
static void
pause_for(struct follow *f, int64_t pause, const char *trouble)
{
    const struct timeval tv = {.tv_sec = pause / CLOCK_SECOND};

    f->failures++;
    event_add(f->timer, &tv);
    f->ops->sight(f->arg, false, trouble);
}

static int64_t
back_off(const struct follow *f)
{
    int64_t pause = FIRST_PAUSE << (f->failures < 5 ? f->failures : 5);

    return pause < LAST_PAUSE ? pause : LAST_PAUSE;
}

static void
fail(struct follow *f, const struct kube_response *response)
{
    int64_t pause = back_off(f);
    struct err err;

    if (response->status == 401 || response->status == 403)
        pause = LAST_PAUSE;
    if (response->retry_after > pause)
        pause = response->retry_after;
    kube_describe(response, NULL, &err);
    pause_for(f, pause, err.text);
}

/* The list. */

static int
take_item(struct follow *f, const json_t *item, struct err *err)
{
    struct lease_record record;

    if (item != NULL && lease_read_item(item, &record, err) != 0)
        return -1;
    f->ops->seen(f->arg, item == NULL ? NULL : &record);
    return 0;
}

static const json_t *
own_item(const struct follow *f, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);

        if (strcmp(kube_json_text(item, "metadata.name"), f->name) == 0)
            return item;
    }
    return NULL;
}

static int
take_list(struct follow *f, struct str body, struct err *err)
{
    json_t *root = kube_json_parse(body, err);
    json_t *items = NULL;
    const char *version;
    int result = -1;

    if (root == NULL)
        return -1;
    version = kube_json_text(root, "metadata.resourceVersion");
    if (version[0] == '\0')
        err_set(err, "no list of Leases");
    else if (kube_json_array(root, "items", &items, err) >= 0) {
        set_version(f, version);
        result = take_item(f, own_item(f, items), err);
    }
    json_decref(root);
    return result;
}

static void
on_listed(void *arg, const struct kube_response *response)
{
    struct follow *f = arg;
    struct err err = {""};

    f->call = NULL;
    if (response->status / 100 != 2)
        fail(f, response);
    else if (take_list(f, response->body, &err) != 0)
        pause_for(f, back_off(f), err.text);
    else if (f->on)
        watch(f);
}

static void
list(struct follow *f)
{
    struct kube_request request = {
        .method = "GET",
        .path = f->list,
        .timeout = f->timeout,
        .max_body = MAX_LINE,
        .done = on_listed,
        .arg = f,
    };

    f->call = kube_send(f->client, &request);
}

/* The watch. */

static int
on_error_event(const json_t *object, struct err *err)
{
    return err_set(err, "the watch of the Lease ended: %s",
                   kube_json_text(object, "message"));
}

static int
take_event(struct follow *f, const json_t *root, struct err *err)
{
    const char *type = kube_json_text(root, "type");
    json_t *object = NULL;

    if (kube_json_object(root, "object", &object, err) <= 0)
        return err_set(err, "a watch event without an object");
    if (strcmp(type, "ERROR") == 0)
        return on_error_event(object, err);
    set_version(f, kube_json_text(object, "metadata.resourceVersion"));
    if (strcmp(type, "BOOKMARK") == 0 ||
        strcmp(kube_json_text(object, "metadata.name"), f->name) != 0)
        return 0;
    return take_item(f, strcmp(type, "DELETED") == 0 ? NULL : object, err);
}

static int
take_line(struct follow *f, struct str text, struct err *err)
{
    json_t *root = kube_json_parse(text, err);
    int result = root == NULL ? -1 : take_event(f, root, err);

    json_decref(root);
    return result;
}

static int
on_bytes(void *arg, struct str bytes, struct err *err)
{
    struct follow *f = arg;
    const char *end;

    buf_adds(&f->line, bytes);
    while (f->on && (end = memchr(buf_bytes(&f->line), '\n', f->line.len))) {
        size_t n = (size_t)(end - buf_bytes(&f->line));

        if (n > 0 && take_line(f, (struct str){buf_bytes(&f->line), n}, err))
            return -1;
        buf_drop(&f->line, f->on ? n + 1 : f->line.len);
    }
    if (f->line.len > MAX_LINE)
        return err_set(err, "a watch event of more than %zu bytes", MAX_LINE);
    return 0;
}

static int
on_open(void *arg, const struct kube_response *response, struct err *err)
{
    struct follow *f = arg;

    (void)response;
    (void)err;
    f->opened_at = clock_now();
    f->ops->sight(f->arg, true, "");
    return 0;
}

/* One that stood goes on from where it stood; the others begin anew. */
static void
on_watched(void *arg, const struct kube_response *response)
{
    struct follow *f = arg;
    bool stood = f->opened_at != 0 && clock_now() - f->opened_at >= STOOD;
    bool broken = f->line.len > 0;

    f->call = NULL;
    f->opened_at = 0;
    if (stood)
        f->failures = 0;
    if (!stood || broken) {
        fail(f, response);
        return;
    }
    f->ops->sight(f->arg, false, "");
    if (f->on)
        watch(f);
}

static void
watch(struct follow *f)
{
    struct buf path = {0};
    struct kube_request request = {
        .method = "GET",
        .idle_timeout = f->silence,
        .head = on_open,
        .data = on_bytes,
        .done = on_watched,
        .arg = f,
    };

    buf_clear(&f->line);
    buf_addz(&path, f->list);
    kube_path_query(&path, "watch", "1");
    kube_path_query(&path, "resourceVersion", f->version);
    kube_path_query(&path, "allowWatchBookmarks", "true");
    kube_path_query_int(&path, "timeoutSeconds", WATCH_SECONDS);
    request.path = buf_take(&path);
    f->call = kube_send(f->client, &request);
    free((char *)request.path);
}

void
follow_start(struct follow *f)
{
    if (f->on)
        return;
    f->on = true;
    f->failures = 0;
    list(f);
}

void
follow_stop(struct follow *f)
{
    f->on = false;
    f->opened_at = 0;
    event_del(f->timer);
    kube_cancel(f->call);
    f->call = NULL;
}
