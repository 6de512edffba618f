/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/reach.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/config.h"
#include "common/mem.h"
#include "common/sandbox/sandbox.h"

#define DNS 53

/* What names are looked up in. */
static const char *const name_files[] = {
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
};

/* Where those of the system lie, beside where libcurl looks for them. */
static const char *const authority_files[] = {
    "/usr/share/ca-certificates/.",
    "/usr/local/share/ca-certificates/.",
};

static bool
is_address(const char *host)
{
    char bare[INET6_ADDRSTRLEN];
    size_t n = strlen(host);
    struct in6_addr any;

    if (inet_pton(AF_INET, host, &any) == 1)
        return true;
    if (n < 2 || host[0] != '[' || n - 2 >= sizeof(bare))
        return false;
    memcpy(bare, host + 1, n - 2);
    bare[n - 2] = '\0';
    bare[strcspn(bare, "%")] = '\0';
    return inet_pton(AF_INET6, bare, &any) == 1;
}

static void
reach_names(struct sandbox *box)
{
    sandbox_names(box);
    sandbox_connect(box, DNS);
    for (size_t i = 0; i < nitems(name_files); i++)
        sandbox_read(box, name_files[i]);
}

/* What it is if the URL has none: the scheme's; for a proxy, what libcurl
 * takes. */
static unsigned
usual_port(CURLU *url, bool proxy)
{
    char *text = NULL;
    unsigned port = 0;

    if (curl_url_get(url, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) ==
        CURLUE_OK)
        port = (unsigned)strtoul(text, NULL, 10);
    curl_free(text);
    return proxy && port != 443 ? 1080 : port;
}

static unsigned
port_of(CURLU *url, bool proxy)
{
    char *text = NULL;
    unsigned port;

    if (curl_url_get(url, CURLUPART_PORT, &text, 0) != CURLUE_OK)
        return usual_port(url, proxy);
    port = (unsigned)strtoul(text, NULL, 10);
    curl_free(text);
    return port;
}

static void
reach_url(const char *text, bool proxy, struct sandbox *box)
{
    unsigned flags = proxy ? CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME : 0;
    CURLU *url = curl_url();
    char *host = NULL;

    if (url == NULL)
        fatal("out of memory (URL)");
    if (curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        sandbox_connect(box, (uint16_t)port_of(url, proxy));
        if (!is_address(host))
            reach_names(box);
    }
    curl_free(host);
    curl_url_cleanup(url);
}

static void
reach_authorities(struct sandbox *box)
{
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);

    if (curl->cainfo != NULL)
        sandbox_read(box, curl->cainfo);
    if (curl->capath != NULL)
        sandbox_read(box, curl->capath);
    for (size_t i = 0; i < nitems(authority_files); i++)
        sandbox_read(box, authority_files[i]);
}

void
kube_reach(const struct kube_config *config, struct sandbox *box)
{
    const char *const rotated[] = {config->ca_file, config->cert_file,
                                   config->key_file, config->token_file};

    for (size_t i = 0; i < nitems(rotated); i++)
        if (rotated[i] != NULL)
            sandbox_read(box, rotated[i]);
    reach_url(config->server, false, box);
    if (config->proxy_url != NULL)
        reach_url(config->proxy_url, true, box);
    if (config->ca_file == NULL && config->ca_data == NULL)
        reach_authorities(box);
}
