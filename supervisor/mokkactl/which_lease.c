/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/which_lease.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/path.h"
#include "common/mem.h"
#include "supervisor/mokkactl/live.h"
#include "supervisor/mokkactl/server.h"

#define ALL_LEASES "/apis/coordination.k8s.io/v1/leases"
#define USUAL_NAME "control-plane." API_GROUP

/* The first of them that says anything, as our own memory, or NULL. */
static char *
first_of(const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (texts[i] != NULL && *texts[i] != '\0')
            return mem_strdup(texts[i]);
    return NULL;
}

static void
read_words(struct which_lease *lease, const struct ctl_args *args)
{
    const char *const spaces[] = {ctl_value(args, "namespace"),
                                  getenv("MOKKA_CP_LEADER_ELECTION_NAMESPACE"),
                                  getenv("POD_NAMESPACE")};
    const char *const names[] = {ctl_value(args, "lease"),
                                 getenv("MOKKA_CP_LEADER_ELECTION_NAME")};

    lease->space = first_of(spaces, nitems(spaces));
    lease->name = first_of(names, nitems(names));
}

/* ---- the cluster --------------------------------------------------------- */

struct found {
    size_t count;
    struct buf spaces; /* with blanks between */
};

static void
on_lease(void *arg, const json_t *item)
{
    struct found *found = arg;

    buf_printf(&found->spaces, "%s%s", found->count++ == 0 ? "" : " ",
               kube_json_text(item, "metadata.namespace"));
}

/* The namespaces that have a Lease of that name. */
static int
list_spaces(struct server *server, const char *name, struct found *found,
            struct err *err)
{
    char *selector = mem_printf("metadata.name=%s", name);
    struct buf path = {0};
    int rc;

    buf_addz(&path, ALL_LEASES);
    kube_path_query(&path, "fieldSelector", selector);
    buf_addc(&path, '\0');
    rc = server_list(server, buf_bytes(&path), NULL, on_lease, found, err);
    buf_addc(&found->spaces, '\0');
    buf_fini(&path);
    free(selector);
    return rc;
}

/* Sets lease->space where one namespace has that Lease; else err says why it is
 * not known so: -1 if several have it, which only people can decide. */
static int
look_for_it(struct which_lease *lease, struct server *server, struct err *err)
{
    const char *name = lease->name == NULL ? USUAL_NAME : lease->name;
    struct found found = {0};
    bool listed = list_spaces(server, name, &found, err) == 0;
    const char *spaces = buf_bytes(&found.spaces);

    if (listed && found.count == 1)
        lease->space = mem_strdup(spaces);
    else if (listed && found.count > 1)
        err_set(err,
                "several namespaces have a Lease %s, choose one with "
                "--namespace: %s",
                name, spaces);
    else if (listed)
        err_set(err, "no namespace has a Lease %s", name);
    buf_fini(&found.spaces);
    return found.count > 1 ? -1 : 0;
}

/* ---- the control plane --------------------------------------------------- */

static void
take_status(struct which_lease *lease, struct str text)
{
    json_t *status = kube_json_parse(text, NULL);
    const char *const space = kube_json_text(status, "leaseNamespace");
    const char *const name = kube_json_text(status, "leaseName");

    lease->space = first_of(&space, 1);
    if (lease->name == NULL)
        lease->name = first_of(&name, 1);
    json_decref(status);
}

static void
ask_control_plane(struct which_lease *lease, const char *socket)
{
    struct live *live = live_open(socket, NULL);
    struct live_reply reply;

    if (live == NULL)
        return;
    if (live_command(live, "status", NULL, 0, NULL, NULL, &reply, NULL) == 0) {
        take_status(lease, buf_str(&reply.text));
        live_reply_fini(&reply);
    }
    live_close(live);
}

/* -------------------------------------------------------------------------- */

static int
find_space(struct which_lease *lease, const char *socket, struct server *server,
           struct err *err)
{
    const char *const context = server_namespace(server);
    struct err why;

    if (look_for_it(lease, server, &why) != 0) {
        *err = why;
        return -1;
    }
    if (lease->space == NULL)
        ask_control_plane(lease, socket);
    if (lease->space == NULL)
        lease->space = first_of(&context, 1);
    if (lease->space == NULL)
        return err_set(err,
                       "the namespace of the control plane is not known (%s): "
                       "name it with --namespace",
                       why.text);
    return 0;
}

int
which_lease_find(struct which_lease *lease, const struct ctl_args *args,
                 const char *socket, struct server *server, struct err *err)
{
    read_words(lease, args);
    if (lease->space == NULL && find_space(lease, socket, server, err) != 0) {
        which_lease_fini(lease);
        return -1;
    }
    if (lease->name == NULL)
        lease->name = mem_strdup(USUAL_NAME);
    return 0;
}

void
which_lease_fini(struct which_lease *lease)
{
    free(lease->space);
    free(lease->name);
    *lease = (struct which_lease){0};
}
