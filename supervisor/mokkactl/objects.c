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

struct reading {
    struct problems *problems;
    struct accept *accept;
    struct cluster *cluster;
    const struct list *list; /* that is being read */
};

/* A placer that is told what was read. */
struct listener {
    struct placer placer;
    struct err failed; /* the first failure; empty: none */
};

static void
take(void *arg, const struct schema *schema, json_t *object,
     const struct place *place)
{
    struct reading *r = arg;
    struct err err;

    if (cluster_add_read(r->cluster, schema, object, place, &err) != 0)
        problem(r->problems, PROBLEM_ERROR, place, "%s", err.text);
}

/* Items of a list do not say what they are, or say PartialObjectMetadata. */
static void
on_item(void *arg, const json_t *item)
{
    struct reading *r = arg;
    struct piece piece = {
        .place = {.file = r->list->path},
        .tree = json_deep_copy(item),
    };

    json_object_set_new(piece.tree, "kind", json_string(r->list->kind));
    json_object_set_new(piece.tree, "apiVersion",
                        json_string(r->list->version));
    accept_piece(r->accept, &piece);
    json_decref(piece.tree);
}

int
objects_read(struct cluster *cluster, struct problems *problems,
             const char *kubeconfig, struct err *err)
{
    struct reading r = {.problems = problems, .cluster = cluster};
    struct server *server = server_open(kubeconfig, err);
    int rc = server == NULL ? -1 : 0;

    r.accept = accept_new(problems, take, &r);
    for (size_t i = 0; rc == 0 && i < nitems(lists); i++) {
        r.list = &lists[i];
        rc =
            server_list(server, r.list->path, r.list->accept, on_item, &r, err);
    }
    accept_free(r.accept);
    server_close(server);
    if (rc == 0 && problems_errors(problems) > 0)
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
    struct listener *l = arg;
    struct unpacked *body = NULL;
    struct err err;

    if (bytes.n > 0 && (body = unpack_body(bytes, &err)) == NULL)
        l->failed = err;
    else if (placer_frame(&l->placer, type, 0,
                          body == NULL ? NULL : unpacked_root(body), &err) != 0)
        l->failed = err;
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
ask(struct cluster *cluster, objects_question_fn *question,
    const struct str *arguments, struct buf *out, struct err *err)
{
    struct listener l = {.failed = {""}};
    const struct feed_link link = {has_room, fed, &l};
    int rc = -1;

    placer_init(&l.placer, unheard, &l);
    cluster_open(cluster, &link);
    if (l.failed.text[0] != '\0')
        *err = l.failed;
    else
        rc = question(&l.placer, arguments, out, err);
    placer_fini(&l.placer);
    return rc;
}

int
objects_ask(const char *kubeconfig, objects_question_fn *question,
            const struct str *arguments, struct buf *out, struct err *err)
{
    struct problems *problems = problems_new(stderr);
    struct cluster *cluster = cluster_new(0);
    int rc;

    log_setup("mokkactl", 0, LOG_ERROR, LOG_PLAIN);
    rc = objects_read(cluster, problems, kubeconfig, err);
    if (rc == 0)
        rc = ask(cluster, question, arguments, out, err);
    cluster_free(cluster);
    problems_free(problems);
    return rc;
}
