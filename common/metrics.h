/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_METRICS_H
#define COMMON_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "proto/role.h"

struct value;

/*
 * The numbers of one process at one moment, by the table metrics.def: filled by
 * a worker when it is asked, sent as METRICS, and shown by web.  Nothing is
 * counted here; whoever counts keeps plain numbers and copies them in.
 */
enum metric {
#define METRIC(id, name, type, unit, a, b, from, help) METRIC_##id,
#include "common/metrics.def"
    METRIC_COUNT
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
enum metric_unit { METRIC_ONE, METRIC_NS };

enum metric_label {
#define LABEL(id, label, count, value) METRIC_LABEL_##id,
#include "common/metrics.def"
    METRIC_LABELS
};

/* Values of labels that are nobody else's. */
enum api_verb {
    API_GET,
    API_LIST,
    API_WATCH,
    API_CREATE,
    API_UPDATE,
    API_PATCH,
    API_DELETE,
    API_VERBS
};
#define API_CODES 20

enum event_fate {
    EVENT_SENT,    /* a new Event, or one more of its kind */
    EVENT_CAPPED,  /* counted in the next that is sent */
    EVENT_DENIED,  /* by the API server: 403 */
    EVENT_DROPPED, /* given up after another answer, or for want of room */
    EVENT_FATES
};

enum web_page { WEB_HEALTHZ, WEB_READYZ, WEB_METRICS, WEB_OTHER, WEB_PAGES };
enum web_status { WEB_200, WEB_404, WEB_405, WEB_503, WEB_STATUSES };

/* The place of an HTTP status among the codes; 0 is "none". Statuses that are
 * not in the list share the last one. */
unsigned metrics_code_of(int status);

/* How many took how long. */
#define HISTOGRAM_BUCKETS 12
struct histogram {
    int64_t counts[HISTOGRAM_BUCKETS + 1]; /* not cumulative; the last: longer
                                              than every bound */
    int64_t sum;                           /* nanoseconds */
};

/* Upper bounds, in nanoseconds. */
extern const int64_t histogram_bounds[HISTOGRAM_BUCKETS];

void histogram_note(struct histogram *h, int64_t nanoseconds);

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m); /* NULL is fine */

/* Forgets every number. */
void metrics_clear(struct metrics *m);

/* Sets one series; a and b are the values of its labels, 0 where it has none.
 * A number outside of the table is our own bug and ends the process. */
void metrics_set(struct metrics *m, enum metric id, unsigned a, unsigned b,
                 int64_t number);
void metrics_set_histogram(struct metrics *m, enum metric id, unsigned a,
                           unsigned b, const struct histogram *h);

/* The number of a series, the first of those of a histogram (its counts, then
 * its sum); NULL: it was not set. */
const int64_t *metrics_get(const struct metrics *m, enum metric id, unsigned a,
                           unsigned b);

/* The body of METRICS: all that was set, of that process. */
void metrics_pack(struct buf *out, const struct metrics *m, enum role from);

/* Reads one; m must be empty.  -1 and err if it is none, or tells what that
 * process has no say in; m then holds part of it. */
int metrics_unpack(struct metrics *m, enum role *from, const struct value *body,
                   struct err *err);

/* The table. */
struct metric_row {
    const char *name;
    enum metric_type type;
    enum metric_unit unit;
    enum metric_label a, b;
    uint32_t from; /* R_... */
    const char *help;
};
const struct metric_row *metrics_row(enum metric id);

struct metric_label_row {
    const char *label;
    unsigned count;
    const char *(*value)(unsigned i);
};
const struct metric_label_row *metrics_label(enum metric_label label);

#endif
