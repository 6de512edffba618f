/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_CONFIG_H
#define COMMON_KUBE_CONFIG_H

#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"

/* Where the API server is and who we are there. Files are named, not read,
 * where they may be rotated: token_file and ca_file are read anew when due. */
struct kube_config {
    char *server;    /* https://host:port, no slash at the end */
    char *ca_file;   /* or NULL */
    char *ca_data;   /* PEM text, or NULL */
    char *cert_file; /* client certificate, or NULL */
    char *cert_data;
    char *key_file;
    char *key_data;
    char *token;           /* or NULL */
    char *token_file;      /* or NULL; wins over token */
    char *tls_server_name; /* or NULL */
    char *proxy_url;       /* or NULL */
    char *namespace;       /* of the context, or NULL */
    bool insecure;         /* insecure-skip-tls-verify said in so many words */
};

/*
 * Fills config from the kubeconfig at path (its current context), or, with an
 * empty path (or NULL), from the pod's service account.  Relative paths in a
 * kubeconfig are relative to its folder.  A path with colons in it, as in
 * $KUBECONFIG, names several files, of which the first that has an entry
 * decides, and those that do not exist are passed over.  -1 and err name the
 * file, the place in it and the remedy; config then needs no kube_config_fini.
 *
 * Refused: files over 1 MiB, duplicate keys, aliases, credential plugins (exec,
 * auth-provider), user names and passwords.  A server without https:// is used
 * only if the file says http:// literally.
 */
int kube_config_load(struct kube_config *config, const char *path,
                     struct err *err);

/* As kube_config_load with an empty path, with what the environment and the
 * file system say replaced: host and port (NULL: not set), and the folder that
 * holds token and ca.crt. */
int kube_config_in_cluster(struct kube_config *config, const char *host,
                           const char *port, const char *folder,
                           struct err *err);

/* Frees what config holds; keys and tokens are wiped first. */
void kube_config_fini(struct kube_config *config);

#endif
