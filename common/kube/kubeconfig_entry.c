/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/kubeconfig_entry.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/kube/base64.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/kube/yaml.h"
#include "common/mem.h"

/* How a value in the file becomes one in struct kube_config. */
enum form { FORM_TEXT, FORM_PATH, FORM_BASE64 };

struct field {
    const char *key;
    enum form form;
    size_t offset;
};

#define FIELD(key, form, member)                                               \
    {                                                                          \
        key, form, offsetof(struct kube_config, member)                        \
    }

static const struct field cluster_fields[] = {
    FIELD("server", FORM_TEXT, server),
    FIELD("certificate-authority", FORM_PATH, ca_file),
    FIELD("certificate-authority-data", FORM_BASE64, ca_data),
    FIELD("tls-server-name", FORM_TEXT, tls_server_name),
    FIELD("proxy-url", FORM_TEXT, proxy_url),
};

static const struct field user_fields[] = {
    FIELD("client-certificate", FORM_PATH, cert_file),
    FIELD("client-certificate-data", FORM_BASE64, cert_data),
    FIELD("client-key", FORM_PATH, key_file),
    FIELD("client-key-data", FORM_BASE64, key_data),
    FIELD("token", FORM_TEXT, token),
    FIELD("tokenFile", FORM_PATH, token_file),
};

/* Keys of a user that are refused, and what to do instead. */
static const struct refusal {
    const char *key, *why;
} refusals[] = {
    {"exec", "credential plugins are not run here: write a token to a file "
             "(kubectl create token SERVICEACCOUNT > FILE, renewed by a timer) "
             "and name that file in tokenFile"},
    {"auth-provider", "auth providers are not supported: write a token to a "
                      "file (kubectl create token SERVICEACCOUNT > FILE, "
                      "renewed by a timer) and name that file in tokenFile"},
    {"username", "user names are no credentials for an API server: use "
                 "tokenFile or a client certificate"},
    {"password", "passwords are no credentials for an API server: use "
                 "tokenFile or a client certificate"},
    {"as", "acting as another user is not supported: use that user's own "
           "credentials"},
    {"as-uid", "acting as another user is not supported: use that user's own "
               "credentials"},
    {"as-groups", "acting as another group is not supported: use that "
                  "member's own credentials"},
};

int
kubeconfig_text(const struct kube_yaml *map, const char *key, const char **text,
                struct err *err)
{
    const struct kube_yaml *node = kube_yaml_get(map, key);

    *text = NULL;
    if (node == NULL || node->plain_null)
        return 0;
    if (node->kind != KUBE_YAML_SCALAR)
        return kubeconfig_refuse(err, node, "%s must be a text", key);
    if (*node->text != '\0')
        *text = node->text;
    return 0;
}

/* A path of the file is relative to the file's folder. */
static char *
resolve_path(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');

    if (*path == '/' || slash == NULL)
        return mem_strdup(path);
    return mem_printf("%.*s%s", (int)(slash + 1 - file), file, path);
}

static char *
decode(const char *text, struct err *err)
{
    struct buf bytes = {0};
    char *copy;

    buf_room(&bytes, strlen(text) + 1);
    if (base64_decode(str_of(text), &bytes, err) < 0) {
        file_wipe(&bytes);
        return NULL;
    }
    copy = mem_dup(buf_bytes(&bytes), bytes.len);
    file_wipe(&bytes);
    return copy;
}

static int
read_field(struct kube_config *config, const struct kube_yaml *map,
           const struct field *field, struct err *err)
{
    const struct kube_yaml *node = kube_yaml_get(map, field->key);
    const char *text;
    char *value;

    if (kubeconfig_text(map, field->key, &text, err) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (field->form == FORM_PATH)
        value = resolve_path(node->file, text);
    else if (field->form == FORM_BASE64)
        value = decode(text, err);
    else
        value = mem_strdup(text);
    if (value == NULL) {
        err_prefix(err, "%s", field->key);
        return err_prefix(err, "%s:%zu", node->file, node->line);
    }
    memcpy((char *)config + field->offset, &value, sizeof(value));
    return 0;
}

static int
read_fields(struct kube_config *config, const struct kube_yaml *map,
            const struct field *fields, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (read_field(config, map, &fields[i], err) < 0)
            return -1;
    return 0;
}

static int
read_insecure(struct kube_config *config, const struct kube_yaml *cluster,
              struct err *err)
{
    const char *key = "insecure-skip-tls-verify";
    const char *text;

    if (kubeconfig_text(cluster, key, &text, err) < 0)
        return -1;
    if (text != NULL && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return kubeconfig_refuse(err, kube_yaml_get(cluster, key),
                                 "%s is true or false", key);
    config->insecure = text != NULL && strcmp(text, "true") == 0;
    if (config->insecure && (config->ca_file != NULL || config->ca_data))
        return kubeconfig_refuse(
            err, kube_yaml_get(cluster, key),
            "%s and a certificate authority exclude each other", key);
    return 0;
}

/* Without a scheme the server is meant as https; http is taken only where the
 * file says so. */
static void
complete_server(struct kube_config *config)
{
    size_t n = strlen(config->server);
    char *whole;

    while (n > 0 && config->server[n - 1] == '/')
        config->server[--n] = '\0';
    if (strstr(config->server, "://") != NULL)
        return;
    whole = mem_printf("https://%s", config->server);
    free(config->server);
    config->server = whole;
}

/* What is given inline wins over a file, as it does for kubectl; only for the
 * token it is the file, since it is the one that is renewed. */
static void
drop_shadowed(struct kube_config *config)
{
    const struct {
        char *data, **file;
    } pairs[] = {
        {config->ca_data, &config->ca_file},
        {config->cert_data, &config->cert_file},
        {config->key_data, &config->key_file},
    };

    for (size_t i = 0; i < nitems(pairs); i++) {
        if (pairs[i].data == NULL)
            continue;
        free(*pairs[i].file);
        *pairs[i].file = NULL;
    }
}

int
kubeconfig_cluster(struct kube_config *config, const struct kube_yaml *cluster,
                   struct err *err)
{
    if (read_fields(config, cluster, cluster_fields, nitems(cluster_fields),
                    err) < 0 ||
        read_insecure(config, cluster, err) < 0)
        return -1;
    if (config->server == NULL)
        return kubeconfig_refuse(err, cluster, "this cluster has no server");
    complete_server(config);
    drop_shadowed(config);
    return 0;
}

int
kubeconfig_user(struct kube_config *config, const struct kube_yaml *user,
                struct err *err)
{
    const struct kube_yaml *refused;

    for (size_t i = 0; i < nitems(refusals); i++) {
        refused = kube_yaml_get(user, refusals[i].key);
        if (refused != NULL && !refused->plain_null)
            return kubeconfig_refuse(err, refused, "%s: %s", refusals[i].key,
                                     refusals[i].why);
    }
    if (read_fields(config, user, user_fields, nitems(user_fields), err) < 0)
        return -1;
    drop_shadowed(config);
    return 0;
}
