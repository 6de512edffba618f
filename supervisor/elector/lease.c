/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/elector/lease.h"

#include <jansson.h>

#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"

#define API_VERSION "coordination.k8s.io/v1"
#define KIND "Lease"

static int64_t
read_time(const char *text)
{
    int64_t ns;

    return clock_parse(str_of(text), &ns, NULL) == 0 ? ns : LEASE_NO_TIME;
}

int
lease_read_item(const struct json_t *lease, struct lease_record *record,
                struct err *err)
{
    const char *acquired = "";
    const char *renewed = "";

    *record = (struct lease_record){.holder = ""};
    if (kube_json_str(lease, "spec.holderIdentity", &record->holder, err) < 0 ||
        kube_json_int(lease, "spec.leaseDurationSeconds", INT32_MIN, INT32_MAX,
                      &record->duration, err) < 0 ||
        kube_json_int(lease, "spec.leaseTransitions", INT32_MIN, INT32_MAX,
                      &record->transitions, err) < 0 ||
        kube_json_str(lease, "spec.acquireTime", &acquired, err) < 0 ||
        kube_json_str(lease, "spec.renewTime", &renewed, err) < 0)
        return err_prefix(err, "the Lease cannot be read");
    record->acquired = read_time(acquired);
    record->renewed = read_time(renewed);
    return 0;
}

int
lease_read(const struct json_t *lease, struct lease_record *record,
           struct err *err)
{
    const char *kind = kube_json_text(lease, "kind");

    if (!str_is(str_of(kind), KIND))
        return err_set(err, "the answer is no Lease but \"%s\"", kind);
    return lease_read_item(lease, record, err);
}

static void
set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        fatal("cannot set %s of a Lease", key);
}

/* MicroTime: the API server takes exactly six digits. */
static void
set_time(json_t *object, const char *key, int64_t ns)
{
    char text[CLOCK_TEXT];

    if (ns == LEASE_NO_TIME)
        return;
    clock_format(ns, CLOCK_MICROS, text);
    set(object, key, json_string(text));
}

static void
set_record(json_t *spec, const struct lease_record *record)
{
    set(spec, "holderIdentity", json_string(record->holder));
    set(spec, "leaseDurationSeconds", json_integer(record->duration));
    set_time(spec, "acquireTime", record->acquired);
    set_time(spec, "renewTime", record->renewed);
    set(spec, "leaseTransitions", json_integer(record->transitions));
}

struct json_t *
lease_new(const char *namespace, const char *name,
          const struct lease_record *record)
{
    json_t *lease = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion",
                              API_VERSION, "kind", KIND, "metadata",
                              "namespace", namespace, "name", name, "spec");

    if (lease == NULL)
        fatal("cannot make a Lease");
    set_record(json_object_get(lease, "spec"), record);
    return lease;
}

struct json_t *
lease_with(const struct json_t *live, const struct lease_record *record)
{
    json_t *lease = json_deep_copy(live);

    if (lease == NULL)
        fatal("cannot copy a Lease");
    if (!json_is_object(json_object_get(lease, "spec")))
        set(lease, "spec", json_object());
    set_record(json_object_get(lease, "spec"), record);
    return lease;
}
