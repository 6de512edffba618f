/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/objects.h"

#include "common/api.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/unpack.h"
#include "supervisor/mokkactl/accept.h"
#include "supervisor/mokkactl/cluster.h"
#include "supervisor/mokkactl/server.h"

#define METADATA_ONLY                                                          \
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

struct list {
    const char *kind, *version, *path, *accept;
};

static const struct list lists[] = {
    {API_PROFILE, API_GROUP_VERSION,
     "/apis/" API_GROUP_VERSION "/" API_PROFILES, NULL},
    {API_INVENTORY, API_GROUP_VERSION,
     "/apis/" API_GROUP_VERSION "/" API_INVENTORIES, NULL},
    {API_RACK, API_GROUP_VERSION, "/apis/" API_GROUP_VERSION "/" API_RACKS,
     NULL},
    {"Node", "v1", "/api/v1/nodes", METADATA_ONLY},
};

struct objects {
    struct problems *problems;
    struct accept *accept;
    struct cluster *cluster;
    const struct list *list; /* that is being read */
    struct placer placer;
    struct err failed; /* the first failure; empty: none */
};

static void
take(void *arg, const struct schema *schema, json_t *object,
     const struct place *place)
{
    struct objects *o = arg;
    struct err err;

    if (cluster_add(o->cluster, schema, object, place, &err) != 0)
        problem(o->problems, PROBLEM_ERROR, place, "%s", err.text);
}

/* Items of a list do not say what they are, or say PartialObjectMetadata. */
static void
on_item(void *arg, const json_t *item)
{
    struct objects *o = arg;
    struct piece piece = {
        .place = {.file = o->list->path},
        .tree = json_deep_copy(item),
    };

    json_object_set_new(piece.tree, "kind", json_string(o->list->kind));
    json_object_set_new(piece.tree, "apiVersion",
                        json_string(o->list->version));
    accept_piece(o->accept, &piece);
    json_decref(piece.tree);
}

static int
read_all(struct objects *o, const char *kubeconfig, struct err *err)
{
    struct server *server = server_open(kubeconfig, err);
    int rc = server == NULL ? -1 : 0;

    o->accept = accept_new(o->problems, take, o);
    for (size_t i = 0; rc == 0 && i < nitems(lists); i++) {
        o->list = &lists[i];
        rc = server_list(server, o->list->path, o->list->accept, on_item, o,
                         err);
    }
    accept_free(o->accept);
    server_close(server);
    if (rc == 0 && problems_errors(o->problems) > 0)
        return err_set(err, "objects of the cluster cannot be understood, see "
                            "above: is this mokkactl as new as its CRDs?");
    return rc;
}

static bool
has_room(void *arg)
{
    (void)arg;
    return true;
}

static void
fed(void *arg, uint16_t type, struct str bytes)
{
    struct objects *o = arg;
    struct unpacked *body = NULL;
    struct err err;

    if (bytes.n > 0 && (body = unpack_body(bytes, &err)) == NULL)
        o->failed = err;
    else if (placer_frame(&o->placer, type, 0,
                          body == NULL ? NULL : unpacked_root(body), &err) != 0)
        o->failed = err;
    unpacked_free(body);
}

/* What it would have done is done by nobody. */
static void
unheard(void *arg, uint16_t type, uint32_t id, struct str body)
{
    (void)arg;
    (void)type;
    (void)id;
    (void)body;
}

static int
ask(struct objects *o, objects_question_fn *question,
    const struct str *arguments, struct buf *out, struct err *err)
{
    const struct feed_link link = {has_room, fed, o};
    int rc = -1;

    placer_init(&o->placer, unheard, o);
    cluster_open(o->cluster, &link);
    if (o->failed.text[0] != '\0')
        *err = o->failed;
    else
        rc = question(&o->placer, arguments, out, err);
    placer_fini(&o->placer);
    return rc;
}

int
objects_ask(const char *kubeconfig, objects_question_fn *question,
            const struct str *arguments, struct buf *out, struct err *err)
{
    struct objects o = {
        .problems = problems_new(stderr),
        .cluster = cluster_new(0),
    };
    int rc;

    log_setup("mokkactl", 0, LOG_ERROR, LOG_PLAIN);
    rc = read_all(&o, kubeconfig, err);
    if (rc == 0)
        rc = ask(&o, question, arguments, out, err);
    cluster_free(o.cluster);
    problems_free(o.problems);
    return rc;
}
