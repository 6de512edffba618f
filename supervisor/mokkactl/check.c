/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl check: has the control plane what it needs in this cluster? */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"
#include "supervisor/mokkactl/server.h"
#include "supervisor/mokkactl/which_lease.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define LEASES "leases"

struct check {
    struct server *server;
    struct which_lease lease;
    unsigned wrong;
    FILE *out;
};

enum finding { OK, WRONG, NOTE };

static void say(struct check *c, enum finding finding, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
say(struct check *c, enum finding finding, const char *fmt, ...)
{
    static const char *const names[] = {"ok", "WRONG", "note"};
    va_list args;

    fprintf(c->out, "%-6s ", names[finding]);
    va_start(args, fmt);
    vfprintf(c->out, fmt, args);
    va_end(args);
    fputc('\n', c->out);
    c->wrong += finding == WRONG;
}

/* ---- kinds ------------------------------------------------------------- */

static bool
is_served(const json_t *body, const char *plural)
{
    const json_t *resources = json_object_get(body, "resources");

    for (size_t i = 0; i < json_array_size(resources); i++)
        if (strcmp(kube_json_text(json_array_get(resources, i), "name"),
                   plural) == 0)
            return true;
    return false;
}

static int
check_kinds(struct check *c, struct err *err)
{
    static const char *const plurals[] = {API_PROFILES, API_INVENTORIES,
                                          API_RACKS};
    struct server_answer a;

    if (server_ask(c->server, "GET", "/apis/" API_GROUP_VERSION, NULL, STR(""),
                   &a, err) != 0)
        return -1;
    for (size_t i = 0; i < nitems(plurals); i++) {
        bool served = a.status == 200 && is_served(a.body, plurals[i]);

        say(c, served ? OK : WRONG, "%s.%s %s", plurals[i], API_GROUP,
            served ? "is served" : "is not served: kubectl apply -f crds/");
    }
    server_answer_fini(&a);
    return 0;
}

/* ---- permissions ------------------------------------------------------- */

enum space { CLUSTER, OF_LEASE, DEFAULT };

/* What the control plane asks for (mokka-control 10.3); without what is
 * optional it goes on, and one sees less. */
static const struct right {
    const char *group, *resource, *subresource, *verbs;
    enum space space;
    const char *without; /* NULL: it cannot work */
} rights[] = {
    {"", "nodes", "", "get list watch patch", CLUSTER, NULL},
    {API_GROUP, API_PROFILES, "", "get list watch", CLUSTER, NULL},
    {API_GROUP, API_INVENTORIES, "", "get list watch update", CLUSTER, NULL},
    {API_GROUP, API_INVENTORIES, "status", "update", CLUSTER, NULL},
    {API_GROUP, API_RACKS, "", "get list watch create update delete", CLUSTER,
     NULL},
    {API_GROUP, API_RACKS, "status", "update", CLUSTER, NULL},
    {"coordination.k8s.io", LEASES, "", "get create update", OF_LEASE, NULL},
    {"coordination.k8s.io", LEASES, "", "list watch", OF_LEASE,
     "a standby sees late that the leader has gone"},
    {"", "events", "", "create patch", OF_LEASE,
     "a worker's death is told in log and metrics only"},
    {"", "events", "", "create patch", DEFAULT,
     "what happens to an inventory is told in its status and the log only"},
};

static void
add_member(struct buf *body, const char *key, const char *value)
{
    buf_printf(body, ",\"%s\":", key);
    json_text_string(body, str_of(value));
}

/* NULL: in none. */
static const char *
space_of(const struct check *c, const struct right *r)
{
    return r->space == CLUSTER    ? NULL
           : r->space == OF_LEASE ? c->lease.space
                                  : "default";
}

static void
add_review(struct buf *body, const struct check *c, const struct right *r,
           struct str verb)
{
    buf_addz(body, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
                   "\"SelfSubjectAccessReview\",\"spec\":{"
                   "\"resourceAttributes\":{\"verb\":");
    json_text_string(body, verb);
    add_member(body, "group", r->group);
    add_member(body, "resource", r->resource);
    if (*r->subresource != '\0')
        add_member(body, "subresource", r->subresource);
    if (space_of(c, r) != NULL)
        add_member(body, "namespace", space_of(c, r));
    buf_addz(body, "}}}");
}

/* 1: yes, 0: no; -1 and err. */
static int
may(struct check *c, const struct right *r, struct str verb, struct err *err)
{
    struct buf body = {0};
    struct server_answer a;
    bool allowed = false;
    int rc;

    add_review(&body, c, r, verb);
    rc = server_ask(c->server, "POST", REVIEWS, NULL, buf_str(&body), &a, err);
    buf_fini(&body);
    if (rc != 0)
        return -1;
    if (a.status >= 300)
        rc = err_set(err, "asking for permissions: %s", a.text);
    else
        kube_json_bool(a.body, "status.allowed", &allowed, NULL);
    server_answer_fini(&a);
    return rc != 0 ? -1 : allowed;
}

static void
say_right(struct check *c, const struct right *r, struct str missing)
{
    const char *space = space_of(c, r);
    char *what = mem_printf(
        "%s%s%s%s%s%s%s", r->resource, *r->subresource == '\0' ? "" : "/",
        r->subresource, *r->group == '\0' ? "" : ".", r->group,
        space == NULL ? "" : " in ", space == NULL ? "" : space);

    if (missing.n == 0)
        say(c, OK, "%s: %s", what, r->verbs);
    else
        say(c, r->without == NULL ? WRONG : NOTE,
            "%s: this identity may not%.*s%s%s", what, (int)missing.n,
            missing.s, r->without == NULL ? "" : ": ",
            r->without == NULL ? "" : r->without);
    free(what);
}

static int
check_right(struct check *c, const struct right *r, struct err *err)
{
    struct buf missing = {0};
    int rc = 1;

    for (const char *at = r->verbs; *at != '\0' && rc >= 0;
         at += strcspn(at, " "), at += *at == ' ') {
        struct str verb = {at, strcspn(at, " ")};

        rc = may(c, r, verb, err);
        if (rc == 0)
            buf_printf(&missing, " %.*s", (int)verb.n, verb.s);
    }
    if (rc >= 0)
        say_right(c, r, buf_str(&missing));
    buf_fini(&missing);
    return rc < 0 ? -1 : 0;
}

/* ---- the Lease --------------------------------------------------------- */

static void
judge_lease(struct check *c, const json_t *lease)
{
    const char *holder = kube_json_text(lease, "spec.holderIdentity");
    int64_t duration = 0, renewed;

    kube_json_int(lease, "spec.leaseDurationSeconds", 1, 86400, &duration,
                  NULL);
    if (*holder == '\0')
        say(c, WRONG, "Lease %s/%s was released: no replica leads",
            c->lease.space, c->lease.name);
    else if (clock_parse(str_of(kube_json_text(lease, "spec.renewTime")),
                         &renewed, NULL) != 0)
        say(c, WRONG, "Lease %s/%s has no time of renewal", c->lease.space,
            c->lease.name);
    else if (clock_wall() - renewed > duration * CLOCK_SECOND)
        say(c, WRONG,
            "Lease %s/%s of %s expired: renewed %lld s ago, it holds for "
            "%lld s",
            c->lease.space, c->lease.name, holder,
            (long long)((clock_wall() - renewed) / CLOCK_SECOND),
            (long long)duration);
    else
        say(c, OK, "Lease %s/%s is held by %s", c->lease.space, c->lease.name,
            holder);
}

static int
check_lease(struct check *c, struct err *err)
{
    char *path =
        mem_printf("/apis/coordination.k8s.io/v1/namespaces/%s/" LEASES "/%s",
                   c->lease.space, c->lease.name);
    struct server_answer a;
    int rc = server_ask(c->server, "GET", path, NULL, STR(""), &a, err);

    free(path);
    if (rc != 0)
        return -1;
    if (a.status == 200)
        judge_lease(c, a.body);
    else
        say(c, WRONG, "Lease %s/%s: %s%s", c->lease.space, c->lease.name,
            a.text,
            a.status == 404 || a.status == 403
                ? "; another namespace is named with --namespace"
                : "");
    server_answer_fini(&a);
    return 0;
}

static int
check_all(struct check *c, struct err *err)
{
    if (check_kinds(c, err) != 0)
        return -1;
    for (size_t i = 0; i < nitems(rights); i++)
        if (check_right(c, &rights[i], err) != 0)
            return -1;
    return check_lease(c, err);
}

/* ---- command ----------------------------------------------------------- */

int
check_to(FILE *out, const struct ctl_args *args, const char *socket,
         struct err *err)
{
    struct check c = {.out = out};
    int rc;

    c.server = server_open(ctl_value(args, "kubeconfig"), err);
    if (c.server == NULL)
        return -1;
    rc = which_lease_find(&c.lease, args, socket, c.server, err);
    if (rc == 0)
        rc = check_all(&c, err);
    which_lease_fini(&c.lease);
    server_close(c.server);
    return rc != 0 ? -1 : (int)c.wrong;
}

int
run_check(const struct ctl_args *args)
{
    struct err err;
    int wrong = check_to(stdout, args, NULL, &err);

    if (wrong < 0)
        return ctl_fail(args, "%s", err.text);
    return wrong == 0 ? EXIT_FINE : EXIT_NOT_FINE;
}
