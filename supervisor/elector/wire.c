/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/elector/wire.h"

#include <jansson.h>
#include <stdlib.h>

#include "common/kube/http.h"
#include "common/kube/json.h"
#include "common/kube/path.h"
#include "common/kube/status.h"
#include "common/mem.h"

#define RESOURCE "leases.coordination.k8s.io"

/* A Lease is small; what is larger is none. */
#define MAX_BODY (256u << 10)

struct wire {
    struct kube_client *client;
    char *namespace, *name;
    char *collection, *object; /* paths */
    int64_t timeout;
    wire_answered *answered;
    void *arg;
    struct kube_call *call;  /* under way, or NULL */
    enum election_verb verb; /* of call */
    json_t *live;            /* the Lease as known last, or NULL */
};

static char *
make_path(const struct wire *wire, const char *name, struct err *err)
{
    struct kube_path path = {
        .group = "coordination.k8s.io",
        .version = "v1",
        .namespace = wire->namespace,
        .resource = "leases",
        .name = name,
    };
    struct buf text = {0};

    return kube_path_add(&text, &path, err) == 0 ? buf_take(&text) : NULL;
}

struct wire *
wire_new(struct event_base *base, const struct kube_config *kube,
         const struct wire_config *config, wire_answered *answered, void *arg,
         struct err *err)
{
    struct wire *wire = mem_zalloc(sizeof(*wire));

    wire->namespace = mem_strdup(config->namespace);
    wire->name = mem_strdup(config->name);
    wire->timeout = config->timeout;
    wire->answered = answered;
    wire->arg = arg;
    if ((wire->collection = make_path(wire, NULL, err)) != NULL &&
        (wire->object = make_path(wire, wire->name, err)) != NULL &&
        (wire->client = kube_client_new(base, kube, err)) != NULL)
        return wire;
    wire_free(wire);
    return NULL;
}

void
wire_free(struct wire *wire)
{
    if (wire == NULL)
        return;
    kube_client_free(wire->client);
    json_decref(wire->live);
    free(wire->namespace);
    free(wire->name);
    free(wire->collection);
    free(wire->object);
    free(wire);
}

/* An answer that is not what was asked for: what it means, if it means
 * anything to an election.  A 404 must come from the API server itself, not
 * from a proxy before it. */
static enum election_outcome
refusal(enum election_verb verb, const struct kube_response *response,
        const struct kube_status *status)
{
    bool reading = verb == ELECTION_GET;
    bool creating = verb == ELECTION_CREATE;

    if (response->status == 409 && !reading)
        return ELECTION_CONFLICT;
    if (response->status == 404 && !creating &&
        str_is(str_of(status->reason), "NotFound"))
        return ELECTION_ABSENT;
    return ELECTION_FAILED;
}

static void
describe(const struct wire *wire, const struct kube_response *response,
         const struct kube_status *status, struct err *err)
{
    char *what = mem_printf("%s Lease %s/%s", response->method, wire->namespace,
                            wire->name);

    if (response->status == 403)
        err_set(err,
                RESOURCE " in namespace %s: 403 on %s; grant get, create and "
                         "update there (%s)",
                wire->namespace, response->method, status->message);
    else
        kube_describe(response, what, err);
    free(what);
}

/* A body of 2xx becomes the live Lease. */
static int
take_lease(struct wire *wire, const struct kube_response *response,
           struct lease_record *record, struct err *err)
{
    json_t *lease = kube_json_parse(response->body, err);

    if (lease == NULL || lease_read(lease, record, err) != 0) {
        json_decref(lease);
        return err_prefix(err, "%s Lease %s/%s", response->method,
                          wire->namespace, wire->name);
    }
    json_decref(wire->live);
    wire->live = lease;
    return 0;
}

static void
on_done(void *arg, const struct kube_response *response)
{
    struct wire *wire = arg;
    struct election_answer answer = {.outcome = ELECTION_RECORD};
    struct kube_status status = {0};
    struct err err = {""};

    wire->call = NULL;
    answer.retry_after = response->retry_after;
    if (response->status / 100 != 2) {
        kube_status_read(&status, response);
        answer.outcome = refusal(wire->verb, response, &status);
        describe(wire, response, &status, &err);
        kube_status_fini(&status);
    } else if (take_lease(wire, response, &answer.record, &err) != 0) {
        answer.outcome = ELECTION_FAILED;
    }
    wire->answered(wire->arg, &answer,
                   answer.outcome == ELECTION_FAILED ? err.text : NULL);
}

const struct kube_stats *
wire_stats(const struct wire *wire)
{
    return kube_client_stats(wire->client);
}

/* The text to be sent; freed by the caller. NULL for a read. */
static char *
body_of(const struct wire *wire, enum election_verb verb,
        const struct lease_record *record)
{
    json_t *lease;
    char *text;

    if (verb == ELECTION_GET)
        return NULL;
    if (verb == ELECTION_CREATE)
        lease = lease_new(wire->namespace, wire->name, record);
    else if (wire->live != NULL)
        lease = lease_with(wire->live, record);
    else
        fatal("update of a Lease that was never read");
    text = json_dumps(lease, JSON_COMPACT);
    json_decref(lease);
    if (text == NULL)
        fatal("a Lease that cannot be written");
    return text;
}

void
wire_send(struct wire *wire, enum election_verb verb,
          const struct lease_record *record)
{
    char *body = body_of(wire, verb, record);
    struct kube_request request = {
        .method = verb == ELECTION_GET      ? "GET"
                  : verb == ELECTION_CREATE ? "POST"
                                            : "PUT",
        .path = verb == ELECTION_CREATE ? wire->collection : wire->object,
        .body = str_of(body),
        .timeout = wire->timeout,
        .max_body = MAX_BODY,
        .done = on_done,
        .arg = wire,
    };

    if (wire->call != NULL)
        fatal("two requests of one election");
    wire->verb = verb;
    wire->call = kube_send(wire->client, &request);
    free(body);
}

void
wire_cancel(struct wire *wire)
{
    kube_cancel(wire->call);
    wire->call = NULL;
}
