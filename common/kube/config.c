/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/kube/kubeconfig.h"
#include "common/mem.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

int
kube_config_in_cluster(struct kube_config *config, const char *host,
                       const char *port, const char *folder, struct err *err)
{
    const char *open = "", *close = "";

    *config = (struct kube_config){0};
    if (host == NULL || *host == '\0' || port == NULL || *port == '\0')
        return err_set(err, "not in a cluster (KUBERNETES_SERVICE_HOST and "
                            "KUBERNETES_SERVICE_PORT are not set): name a "
                            "kubeconfig with --kubeconfig FILE");
    /* An IPv6 address comes bare there, but a URL needs brackets. */
    if (strchr(host, ':') != NULL && *host != '[')
        open = "[", close = "]";
    config->server = mem_printf("https://%s%s%s:%s", open, host, close, port);
    config->token_file = mem_printf("%s/token", folder);
    config->ca_file = mem_printf("%s/ca.crt", folder);
    if (access(config->token_file, F_OK) == 0)
        return 0;
    err_errno(err,
              "%s (the pod needs automountServiceAccountToken; outside of a "
              "pod, name a kubeconfig with --kubeconfig FILE)",
              config->token_file);
    kube_config_fini(config);
    return -1;
}

int
kube_config_load(struct kube_config *config, const char *path, struct err *err)
{
    if (path != NULL && *path != '\0')
        return kubeconfig_read(config, path, err);
    return kube_config_in_cluster(config, getenv("KUBERNETES_SERVICE_HOST"),
                                  getenv("KUBERNETES_SERVICE_PORT"),
                                  SERVICE_ACCOUNT, err);
}

static void
wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

void
kube_config_fini(struct kube_config *config)
{
    char *const texts[] = {
        config->server,          config->ca_file,   config->ca_data,
        config->cert_file,       config->cert_data, config->key_file,
        config->key_data,        config->token,     config->token_file,
        config->tls_server_name, config->proxy_url, config->namespace,
    };

    for (size_t i = 0; i < nitems(texts); i++)
        wipe(texts[i]);
    *config = (struct kube_config){0};
}
