/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/kubeconfig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/kube/kubeconfig_entry.h"
#include "common/kube/yaml.h"
#include "common/mem.h"

#define FILE_MAX ((size_t)1 << 20)
#define FILES_MAX 16

/* The files, in the order of the path: the first that has a thing decides. */
struct files {
    const char *path; /* as given */
    char *names[FILES_MAX];
    struct kube_yaml *roots[FILES_MAX];
    size_t n;
};

/* Reads one more file, whose name it takes over. */
static int
add_file(struct files *files, char *name, struct err *err)
{
    struct buf text = {0};
    struct err why;
    int rc = file_read(name, FILE_MAX, &text, &why);

    files->names[files->n] = name;
    if (rc < 0)
        err_set(err,
                "kubeconfig: %s: name one that can be read with "
                "--kubeconfig",
                why.text);
    else
        files->roots[files->n] = kube_yaml_parse(buf_str(&text), name, err);
    file_wipe(&text);
    return files->roots[files->n++] == NULL ? -1 : 0;
}

/* Reads the files of a path with colons in it. Those that do not exist are
 * passed over, as kubectl does. */
static int
add_files(struct files *files, struct err *err)
{
    const char *at = files->path;

    for (;;) {
        size_t n = strcspn(at, ":");
        char *name = mem_dup(at, n);

        if (n > 0 && files->n == FILES_MAX) {
            free(name);
            return err_set(err, "kubeconfig: more than %d files in %.200s",
                           FILES_MAX, files->path);
        }
        if (n == 0 || (access(name, F_OK) < 0 && errno == ENOENT))
            free(name);
        else if (add_file(files, name, err) < 0)
            return -1;
        if (at[n] == '\0')
            break;
        at += n + 1;
    }
    if (files->n == 0)
        return err_set(err, "kubeconfig: none of the files of %.300s exists",
                       files->path);
    return 0;
}

static int
files_read(struct files *files, struct err *err)
{
    bool one =
        strchr(files->path, ':') == NULL || access(files->path, F_OK) == 0;

    return one ? add_file(files, mem_strdup(files->path), err)
               : add_files(files, err);
}

static void
files_free(struct files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        kube_yaml_free(files->roots[i]);
        free(files->names[i]);
    }
}

/*
 * Finds the entry called name in one file's list of that key: 1 and *value,
 * the entry's map: clusters: [{name: kind, cluster: {...}}]; 0 if it is not
 * there; -1 and err if it is malformed.
 */
static int
find_in(const struct kube_yaml *root, const char *list, const char *inner,
        const char *name, const struct kube_yaml **value, struct err *err)
{
    const struct kube_yaml *all = kube_yaml_get(root, list);
    const char *text;

    for (size_t i = 0; all != NULL && i < all->n_items; i++) {
        if (kubeconfig_text(all->items[i], "name", &text, err) < 0)
            return -1;
        if (text == NULL || strcmp(text, name) != 0)
            continue;
        *value = kube_yaml_get(all->items[i], inner);
        if (*value != NULL && (*value)->kind == KUBE_YAML_MAP)
            return 1;
        return kubeconfig_refuse(err, all->items[i], "\"%.64s\" has no %s",
                                 name, inner);
    }
    return 0;
}

/* As find_in, over all files; NULL and err if no file has it. */
static const struct kube_yaml *
find(const struct files *files, const char *list, const char *inner,
     const char *name, struct err *err)
{
    const struct kube_yaml *value;
    int rc = 0;

    for (size_t i = 0; i < files->n && rc == 0; i++)
        rc = find_in(files->roots[i], list, inner, name, &value, err);
    if (rc == 0)
        err_set(err,
                "%s: there is no %s \"%.64s\" in %s: check "
                "current-context",
                files->path, inner, name, list);
    return rc > 0 ? value : NULL;
}

static int
current_context(const struct files *files, const char **name, struct err *err)
{
    for (size_t i = 0; i < files->n; i++) {
        if (kubeconfig_text(files->roots[i], "current-context", name, err) < 0)
            return -1;
        if (*name != NULL)
            return 0;
    }
    return err_set(err,
                   "%s: no current-context: choose one with kubectl config "
                   "use-context NAME",
                   files->path);
}

static int
read_context(struct kube_config *config, const struct files *files,
             struct err *err)
{
    const struct kube_yaml *context, *cluster, *user;
    const char *name, *cluster_name, *user_name, *space;

    if (current_context(files, &name, err) < 0)
        return -1;
    context = find(files, "contexts", "context", name, err);
    if (context == NULL ||
        kubeconfig_text(context, "cluster", &cluster_name, err) < 0 ||
        kubeconfig_text(context, "user", &user_name, err) < 0 ||
        kubeconfig_text(context, "namespace", &space, err) < 0)
        return -1;
    if (cluster_name == NULL)
        return kubeconfig_refuse(err, context,
                                 "context \"%.64s\" has no cluster", name);
    cluster = find(files, "clusters", "cluster", cluster_name, err);
    if (cluster == NULL || kubeconfig_cluster(config, cluster, err) < 0)
        return -1;
    if (space != NULL)
        config->namespace = mem_strdup(space);
    if (user_name == NULL)
        return 0;
    user = find(files, "users", "user", user_name, err);
    return user == NULL ? -1 : kubeconfig_user(config, user, err);
}

int
kubeconfig_read(struct kube_config *config, const char *path, struct err *err)
{
    struct files files = {.path = path};
    int rc = files_read(&files, err);

    *config = (struct kube_config){0};
    if (rc == 0)
        rc = read_context(config, &files, err);
    files_free(&files);
    if (rc < 0)
        kube_config_fini(config);
    return rc;
}
