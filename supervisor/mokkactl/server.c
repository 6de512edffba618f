/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/server.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/kube/config.h"
#include "common/kube/http.h"
#include "common/kube/json.h"
#include "common/kube/path.h"
#include "common/mem.h"

#define PAGE 500
#define TIMEOUT (30 * CLOCK_SECOND)
#define MAX_BODY ((size_t)64 << 20)

struct server {
    struct event_base *base;
    struct kube_config config;
    struct kube_client *client;
    struct server_answer *answer; /* of the request under way */
    struct err failed;            /* no answer came */
};

/* What kube_config_load is to read; "" is the pod's service account. */
static char *
choose(const char *kubeconfig)
{
    static const char *const variables[] = {"MOKKA_CP_KUBECONFIG",
                                            "KUBECONFIG"};
    const char *home = getenv("HOME");

    if (kubeconfig != NULL)
        return mem_strdup(kubeconfig);
    for (size_t i = 0; i < nitems(variables); i++) {
        const char *value = getenv(variables[i]);

        if (value != NULL && *value != '\0')
            return mem_strdup(value);
    }
    if (getenv("KUBERNETES_SERVICE_HOST") != NULL || home == NULL)
        return mem_strdup("");
    return mem_printf("%s/.kube/config", home);
}

struct server *
server_open(const char *kubeconfig, struct err *err)
{
    struct server *server = mem_zalloc(sizeof(*server));
    char *path = choose(kubeconfig);
    int rc = kube_config_load(&server->config, path, err);

    free(path);
    if (rc != 0) {
        free(server);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    server->base = event_base_new();
    if (server->base == NULL)
        fatal("no event loop");
    server->client = kube_client_new(server->base, &server->config, err);
    if (server->client != NULL)
        return server;
    server_close(server);
    return NULL;
}

void
server_close(struct server *server)
{
    if (server == NULL)
        return;
    kube_client_free(server->client);
    kube_config_fini(&server->config);
    event_base_free(server->base);
    free(server);
}

const char *
server_namespace(const struct server *server)
{
    return server->config.namespace;
}

static void
on_done(void *arg, const struct kube_response *r)
{
    struct server *server = arg;
    struct server_answer *a = server->answer;

    a->status = r->status;
    server->failed = r->err;
    if (r->status != 0)
        a->body = kube_json_parse(r->body, NULL);
    if (r->status >= 300)
        snprintf(a->text, sizeof(a->text), "%d %s", r->status,
                 kube_json_text(a->body, "message"));
    event_base_loopbreak(server->base);
}

int
server_ask(struct server *server, const char *method, const char *path,
           const char *accept, struct str body, struct server_answer *answer,
           struct err *err)
{
    struct kube_request request = {
        .method = method,
        .path = path,
        .accept = accept,
        .body = body,
        .timeout = TIMEOUT,
        .max_body = MAX_BODY,
        .done = on_done,
        .arg = server,
    };

    *answer = (struct server_answer){0};
    server->answer = answer;
    kube_send(server->client, &request);
    event_base_dispatch(server->base);
    if (answer->status != 0)
        return 0;
    return err_set(err, "%s", server->failed.text);
}

void
server_answer_fini(struct server_answer *answer)
{
    json_decref(answer->body);
    answer->body = NULL;
}

/* The path of a page. Free with free(). */
static char *
page_of(const char *path, const char *next)
{
    struct buf text = {0};
    char limit[16];

    snprintf(limit, sizeof(limit), "%d", PAGE);
    buf_addz(&text, path);
    kube_path_query(&text, "limit", limit);
    if (*next != '\0')
        kube_path_query(&text, "continue", next);
    return buf_take(&text);
}

/* One page; *next is set to where the following begins, or to "". */
static int
list_page(struct server *server, const char *path, const char *accept,
          char **next, void (*visit)(void *arg, const json_t *item), void *arg,
          struct err *err)
{
    char *page = page_of(path, *next);
    struct server_answer a;
    int rc = server_ask(server, "GET", page, accept, STR(""), &a, err);
    const json_t *items;

    free(page);
    free(*next);
    *next = mem_strdup("");
    if (rc != 0)
        return rc;
    items = json_object_get(a.body, "items");
    for (size_t i = 0; a.status < 300 && i < json_array_size(items); i++)
        visit(arg, json_array_get(items, i));
    if (a.status < 300) {
        free(*next);
        *next = mem_strdup(kube_json_text(a.body, "metadata.continue"));
    } else if (a.status != 404) {
        rc = err_set(err, "GET %s: %s", path, a.text);
    }
    server_answer_fini(&a);
    return rc;
}

int
server_list(struct server *server, const char *path, const char *accept,
            void (*visit)(void *arg, const json_t *item), void *arg,
            struct err *err)
{
    char *next = mem_strdup("");
    int rc;

    do
        rc = list_page(server, path, accept, &next, visit, arg, err);
    while (rc == 0 && *next != '\0');
    free(next);
    return rc;
}
