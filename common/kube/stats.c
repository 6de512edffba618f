/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/stats.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"

/* Takes the next segment off a path without query; empty at its end. */
static struct str
next_segment(struct str *path)
{
    struct str segment = {path->s, 0};

    while (path->n > 0 && *path->s == '/') {
        path->s++;
        path->n--;
        segment.s = path->s;
    }
    while (segment.n < path->n && segment.s[segment.n] != '/')
        segment.n++;
    path->s += segment.n;
    path->n -= segment.n;
    return segment;
}

/* Does it name one object: /api/V/ or /apis/G/V/, namespaces/NS/ perhaps, then
 * a resource and a name? */
static bool
names_object(struct str path)
{
    struct str segment = next_segment(&path);

    if (str_is(segment, "apis"))
        next_segment(&path);
    next_segment(&path);
    if (str_is(next_segment(&path), "namespaces")) {
        next_segment(&path);
        next_segment(&path);
    }
    return next_segment(&path).n > 0;
}

static enum api_verb
verb_of_get(const char *path)
{
    struct str plain = {path, strcspn(path, "?")};
    const char *watch = strstr(path + plain.n, "watch=");

    if (watch != NULL && (watch[-1] == '?' || watch[-1] == '&') &&
        (watch[6] == '1' || watch[6] == 't'))
        return API_WATCH;
    return names_object(plain) ? API_GET : API_LIST;
}

enum api_verb
kube_verb(const char *method, const char *path)
{
    static const struct {
        const char *method;
        enum api_verb verb;
    } verbs[] = {
        {"POST", API_CREATE},
        {"PUT", API_UPDATE},
        {"PATCH", API_PATCH},
        {"DELETE", API_DELETE},
    };

    for (size_t i = 0; i < nitems(verbs); i++)
        if (strcmp(verbs[i].method, method) == 0)
            return verbs[i].verb;
    return verb_of_get(path);
}

void
kube_stats_note(struct kube_stats *stats, enum api_verb verb, int status,
                int64_t nanoseconds)
{
    stats->requests[verb][metrics_code_of(status)]++;
    histogram_note(&stats->durations[verb], nanoseconds);
}

void
kube_stats_measure(const struct kube_stats *stats, struct metrics *m)
{
    for (unsigned verb = 0; verb < API_VERBS; verb++) {
        bool any = false;

        for (unsigned code = 0; code < API_CODES; code++) {
            if (stats->requests[verb][code] == 0)
                continue;
            any = true;
            metrics_set(m, METRIC_API_REQUESTS, verb, code,
                        stats->requests[verb][code]);
        }
        if (any)
            metrics_set_histogram(m, METRIC_API_DURATION, verb, 0,
                                  &stats->durations[verb]);
    }
}
