/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl drain --check: is anything of ours left? (mokka-control 10.7) */
#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"
#include "supervisor/mokkactl/server.h"

#define API_PATH "/apis/" API_GROUP_VERSION "/"
#define METADATA_ONLY                                                          \
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

struct left {
    const char *kind;
    size_t count;
};

static const char *
name_of(const json_t *item)
{
    return kube_json_text(item, "metadata.name");
}

static void
on_object(void *arg, const json_t *item)
{
    struct left *left = arg;
    bool deleting = *kube_json_text(item, "metadata.deletionTimestamp") != '\0';

    printf("%s %s%s\n", left->kind, name_of(item),
           deleting ? " (being deleted)" : "");
    left->count++;
}

static bool
has(const json_t *item, const char *map, const char *key)
{
    return json_object_get(kube_json_at(item, map), key) != NULL;
}

static bool
is_managed(const json_t *item)
{
    const json_t *entries = kube_json_at(item, "metadata.managedFields");

    for (size_t i = 0; i < json_array_size(entries); i++)
        if (strcmp(kube_json_text(json_array_get(entries, i), "manager"),
                   FIELD_MANAGER) == 0)
            return true;
    return false;
}

/* Dirty is a Node with the label, the annotation, or an entry of ours in its
 * managedFields (10.6). */
static void
on_node(void *arg, const json_t *item)
{
    bool label = has(item, "metadata.labels", LABEL_ASSIGNED);
    bool annotation = has(item, "metadata.annotations", ANNOTATION_ASSIGNMENT);
    bool managed = is_managed(item);
    struct left *left = arg;

    if (!label && !annotation && !managed)
        return;
    printf("Node %s:%s%s%s\n", name_of(item), label ? " " LABEL_ASSIGNED : "",
           annotation ? " " ANNOTATION_ASSIGNMENT : "",
           managed ? " fields of " FIELD_MANAGER : "");
    left->count++;
}

static int
look(struct server *server, size_t *count, struct err *err)
{
    static const struct {
        const char *kind, *path, *accept;
        void (*visit)(void *arg, const json_t *item);
    } looks[] = {
        {API_INVENTORY, API_PATH API_INVENTORIES, NULL, on_object},
        {API_RACK, API_PATH API_RACKS, NULL, on_object},
        {"Node", "/api/v1/nodes", METADATA_ONLY, on_node},
    };

    for (size_t i = 0; i < nitems(looks); i++) {
        struct left left = {.kind = looks[i].kind};

        if (server_list(server, looks[i].path, looks[i].accept, looks[i].visit,
                        &left, err) != 0)
            return -1;
        *count += left.count;
    }
    return 0;
}

int
run_drain(const struct ctl_args *args)
{
    struct server *server;
    size_t count = 0;
    struct err err;
    int rc;

    if (ctl_value(args, "check") == NULL)
        return ctl_fail(args, "--check is missing, this only looks; to drain: "
                              "kubectl delete sgpuinventories --all --wait "
                              "--timeout=15m");
    server = server_open(ctl_value(args, "kubeconfig"), &err);
    if (server == NULL)
        return ctl_fail(args, "%s", err.text);
    rc = look(server, &count, &err);
    server_close(server);
    if (rc != 0)
        return ctl_fail(args, "%s", err.text);
    return count == 0 ? EXIT_FINE : EXIT_NOT_FINE;
}
