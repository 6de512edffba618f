/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/kubeconfig.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/kube/base64.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/kube/yaml.h"
#include "common/mem.h"

#define FILE_MAX ((size_t)1 << 20)

struct file {
    const char *path;
    struct kube_yaml *root;
};

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

/* "FILE:LINE: " and the text; -1. */
#define refuse_at(err, file, node, ...)                                        \
    (err_set(err, __VA_ARGS__),                                                \
     err_prefix(err, "%s:%zu", (file)->path, (node)->line))

/* The text of a scalar that holds one, NULL if there is none. -1 and err if
 * the value is no scalar. */
static int
get_text(const struct file *file, const struct kube_yaml *map, const char *key,
         const char **text, struct err *err)
{
    const struct kube_yaml *node = kube_yaml_get(map, key);

    *text = NULL;
    if (node == NULL || node->plain_null)
        return 0;
    if (node->kind != KUBE_YAML_SCALAR)
        return refuse_at(err, file, node, "%s must be a text", key);
    if (*node->text != '\0')
        *text = node->text;
    return 0;
}

/* A path of the file is relative to the file's folder. */
static char *
resolve_path(const struct file *file, const char *path)
{
    const char *slash = strrchr(file->path, '/');

    if (*path == '/' || slash == NULL)
        return mem_strdup(path);
    return mem_printf("%.*s%s", (int)(slash + 1 - file->path), file->path,
                      path);
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
read_field(struct kube_config *config, const struct file *file,
           const struct kube_yaml *map, const struct field *field,
           struct err *err)
{
    const char *text;
    char *value;

    if (get_text(file, map, field->key, &text, err) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (field->form == FORM_PATH)
        value = resolve_path(file, text);
    else if (field->form == FORM_BASE64)
        value = decode(text, err);
    else
        value = mem_strdup(text);
    if (value == NULL) {
        err_prefix(err, "%s", field->key);
        return err_prefix(err, "%s:%zu", file->path,
                          kube_yaml_get(map, field->key)->line);
    }
    memcpy((char *)config + field->offset, &value, sizeof(value));
    return 0;
}

static int
read_fields(struct kube_config *config, const struct file *file,
            const struct kube_yaml *map, const struct field *fields, size_t n,
            struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (read_field(config, file, map, &fields[i], err) < 0)
            return -1;
    return 0;
}

/* The map named `inner` of the entry called name in the list called list:
 * clusters: [{name: kind, cluster: {...}}]. NULL and err if it is not there. */
static const struct kube_yaml *
find_named(const struct file *file, const char *list, const char *inner,
           const char *name, struct err *err)
{
    const struct kube_yaml *all = kube_yaml_get(file->root, list);
    const struct kube_yaml *value;
    const char *text;

    for (size_t i = 0; all != NULL && i < all->n_items; i++) {
        if (get_text(file, all->items[i], "name", &text, err) < 0)
            return NULL;
        if (text == NULL || strcmp(text, name) != 0)
            continue;
        value = kube_yaml_get(all->items[i], inner);
        if (value != NULL && value->kind == KUBE_YAML_MAP)
            return value;
        refuse_at(err, file, all->items[i], "\"%.64s\" has no %s", name, inner);
        return NULL;
    }
    err_set(err, "%s: there is no %s \"%.64s\" in %s: check current-context",
            file->path, inner, name, list);
    return NULL;
}

static int
read_insecure(struct kube_config *config, const struct file *file,
              const struct kube_yaml *cluster, struct err *err)
{
    const char *key = "insecure-skip-tls-verify";
    const char *text;

    if (get_text(file, cluster, key, &text, err) < 0)
        return -1;
    if (text != NULL && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return refuse_at(err, file, kube_yaml_get(cluster, key),
                         "%s is true or false", key);
    config->insecure = text != NULL && strcmp(text, "true") == 0;
    if (config->insecure && (config->ca_file != NULL || config->ca_data))
        return refuse_at(err, file, kube_yaml_get(cluster, key),
                         "%s and a certificate authority exclude each other",
                         key);
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

static int
read_cluster(struct kube_config *config, const struct file *file,
             const char *name, struct err *err)
{
    const struct kube_yaml *cluster =
        find_named(file, "clusters", "cluster", name, err);

    if (cluster == NULL ||
        read_fields(config, file, cluster, cluster_fields,
                    nitems(cluster_fields), err) < 0 ||
        read_insecure(config, file, cluster, err) < 0)
        return -1;
    if (config->server == NULL)
        return refuse_at(err, file, cluster, "cluster \"%.64s\" has no server",
                         name);
    complete_server(config);
    return 0;
}

static int
read_user(struct kube_config *config, const struct file *file, const char *name,
          struct err *err)
{
    const struct kube_yaml *user = find_named(file, "users", "user", name, err);
    const struct kube_yaml *refused;

    if (user == NULL)
        return -1;
    for (size_t i = 0; i < nitems(refusals); i++) {
        refused = kube_yaml_get(user, refusals[i].key);
        if (refused != NULL && !refused->plain_null)
            return refuse_at(err, file, refused, "%s: %s", refusals[i].key,
                             refusals[i].why);
    }
    return read_fields(config, file, user, user_fields, nitems(user_fields),
                       err);
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

static int
read_context(struct kube_config *config, const struct file *file,
             struct err *err)
{
    const struct kube_yaml *context;
    const char *name, *cluster, *user;

    if (get_text(file, file->root, "current-context", &name, err) < 0)
        return -1;
    if (name == NULL)
        return err_set(err,
                       "%s: no current-context: choose one with kubectl "
                       "config use-context NAME",
                       file->path);
    context = find_named(file, "contexts", "context", name, err);
    if (context == NULL ||
        get_text(file, context, "cluster", &cluster, err) < 0 ||
        get_text(file, context, "user", &user, err) < 0)
        return -1;
    if (cluster == NULL)
        return refuse_at(err, file, context, "context \"%.64s\" has no cluster",
                         name);
    if (read_cluster(config, file, cluster, err) < 0)
        return -1;
    return user == NULL ? 0 : read_user(config, file, user, err);
}

int
kubeconfig_read(struct kube_config *config, const char *path, struct err *err)
{
    struct file file = {.path = path};
    struct buf text = {0};
    int rc = -1;

    *config = (struct kube_config){0};
    if (file_read(path, FILE_MAX, &text, err) == 0)
        file.root = kube_yaml_parse(buf_str(&text), path, err);
    else
        err_prefix(err, "kubeconfig");
    file_wipe(&text);
    if (file.root != NULL)
        rc = read_context(config, &file, err);
    kube_yaml_free(file.root);
    if (rc < 0)
        kube_config_fini(config);
    else
        drop_shadowed(config);
    return rc;
}
