/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/answer.h"

#include "common/kube/http.h"
#include "common/kube/status.h"

enum watch_event_type
answer_meaning(const struct kube_status *status)
{
    if (kube_status_expired(status))
        return WATCH_EXPIRED;
    if (kube_status_too_new(status))
        return WATCH_TOO_NEW;
    if (status->code == 401 || status->code == 403)
        return WATCH_DENIED;
    if (status->code == 404)
        return WATCH_MISSING;
    if (status->code == 408 || status->code == 429 || status->code >= 500)
        return WATCH_BUSY;
    return WATCH_GARBLED;
}

/* Adds what to do about a refusal that names nothing to do itself. */
static void
add_remedy(const struct resource_row *r, const char *verb, int status,
           struct err *line)
{
    char name[RESOURCE_NAME];
    struct err what = *line;

    if (status == 403)
        err_set(line, "%.330s (grant %s on %s to this identity)", what.text,
                verb, resource_name(r, name));
}

void
answer_explain(const struct resource_row *r, const char *verb,
               const struct kube_response *response, struct err *line)
{
    if (response->status == 0) {
        err_set(line, "%s", response->err.text);
        return;
    }
    if (response->status == 404 && r->group[0] != '\0') {
        err_set(line, "%s: not served, install the CRDs", r->plural);
        return;
    }
    kube_describe(response, r->plural, line);
    add_remedy(r, verb, response->status, line);
}

void
answer_explain_event(const struct resource_row *r,
                     const struct kube_status *status, struct err *line)
{
    err_set(line, "%s: the watch ended with %d %s: %.300s", r->plural,
            status->code, status->reason, status->message);
    add_remedy(r, "watch", status->code, line);
}
