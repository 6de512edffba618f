/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/target.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/config.h"
#include "common/mem.h"

/* A part of the URL as our own memory, or NULL. */
static char *
part(CURLU *url, CURLUPart which, unsigned flags)
{
    char *text = NULL, *copy;

    if (curl_url_get(url, which, &text, flags) != CURLUE_OK)
        return NULL;
    copy = mem_strdup(text);
    curl_free(text);
    return copy;
}

static bool
has_part(CURLU *url, CURLUPart which)
{
    char *text = part(url, which, 0);
    bool has = text != NULL;

    free(text);
    return has;
}

static int
check_url(CURLU *url, const char *server, struct err *err)
{
    static const CURLUPart unwanted[] = {CURLUPART_USER, CURLUPART_PASSWORD,
                                         CURLUPART_QUERY, CURLUPART_FRAGMENT};
    char *scheme = part(url, CURLUPART_SCHEME, 0);
    bool ok = scheme != NULL &&
              (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0);

    free(scheme);
    if (!ok)
        return err_set(err, "server \"%s\": it must start with https://",
                       server);
    for (size_t i = 0; i < nitems(unwanted); i++)
        if (has_part(url, unwanted[i]))
            return err_set(err, "server: its URL must have no user name, "
                                "password, query or fragment");
    return 0;
}

/* The certificate is to be for another name than the address: libcurl is given
 * a URL with that name, and told apart where to connect. */
static int
rename_host(struct kube_target *target, CURLU *url, const char *name,
            struct err *err)
{
    char *host = part(url, CURLUPART_HOST, 0);
    char *port = part(url, CURLUPART_PORT, 0);
    char *any = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    int rc = 0;

    if (host == NULL || any == NULL)
        fatal("a checked URL without a host");
    target->connect_to = mem_printf("::%s:%s", host, any);
    target->host_line =
        mem_printf("Host: %s%s%s", host, port == NULL ? "" : ":",
                   port == NULL ? "" : port);
    if (curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK)
        rc = err_set(err, "tls-server-name \"%s\" is no host name", name);
    free(host);
    free(port);
    free(any);
    return rc;
}

static int
fill(struct kube_target *target, CURLU *url, const struct kube_config *config,
     struct err *err)
{
    size_t n;

    if (curl_url_set(url, CURLUPART_URL, config->server, 0) != CURLUE_OK)
        return err_set(err,
                       "server \"%s\" is no URL; it looks like "
                       "https://host:port",
                       config->server);
    if (check_url(url, config->server, err) < 0)
        return -1;
    if (config->tls_server_name != NULL &&
        rename_host(target, url, config->tls_server_name, err) < 0)
        return -1;
    target->base = part(url, CURLUPART_URL, 0);
    if (target->base == NULL)
        return err_set(err, "server \"%s\" is no URL", config->server);
    n = strlen(target->base);
    while (n > 0 && target->base[n - 1] == '/')
        target->base[--n] = '\0';
    return 0;
}

int
kube_target_init(struct kube_target *target, const struct kube_config *config,
                 struct err *err)
{
    CURLU *url = curl_url();
    int rc;

    *target = (struct kube_target){0};
    if (url == NULL)
        fatal("out of memory (URL)");
    rc = fill(target, url, config, err);
    curl_url_cleanup(url);
    if (rc < 0)
        kube_target_fini(target);
    return rc;
}

void
kube_target_fini(struct kube_target *target)
{
    free(target->base);
    free(target->connect_to);
    free(target->host_line);
    *target = (struct kube_target){0};
}
