/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/mem.h"
#include "proto/intent.h"
#include "proto/object.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* A histogram has its counts and its sum. */
#define WIDTH(type)                                                            \
    (METRIC_##type == METRIC_HISTOGRAM ? HISTOGRAM_BUCKETS + 2 : 1)

/* A series in a frame: metric, a and b in one number. */
#define SERIES_BITS 6
#define SERIES_MASK ((1u << SERIES_BITS) - 1)

/* Values of labels. */

static const char *
metrics_none(unsigned i)
{
    (void)i;
    return "";
}

static const char *
metrics_build(unsigned i)
{
    (void)i;
    return build_id;
}

static const char *
metrics_role(unsigned i)
{
    return role_name((enum role)i);
}

static const char *
metrics_verb(unsigned i)
{
    static const char *const names[API_VERBS] = {
        [API_GET] = "get",       [API_LIST] = "list",     [API_WATCH] = "watch",
        [API_CREATE] = "create", [API_UPDATE] = "update", [API_PATCH] = "patch",
        [API_DELETE] = "delete",
    };

    return names[i];
}

static const char *const codes[API_CODES] = {
    "none", "200", "201", "202", "400", "401", "403", "404", "405", "406",
    "409",  "410", "413", "415", "422", "429", "500", "503", "504", "other",
};

static const char *
metrics_code(unsigned i)
{
    return codes[i];
}

unsigned
metrics_code_of(int status)
{
    for (unsigned i = 1; i < API_CODES - 1; i++)
        if (atoi(codes[i]) == status)
            return i;
    return status == 0 ? 0 : API_CODES - 1;
}

static const char *
metrics_kind(unsigned i)
{
    return object_kind_name((enum object_kind)i);
}

static const char *
metrics_action(unsigned i)
{
    return action_name((enum action)i);
}

static const char *
metrics_outcome(unsigned i)
{
    return outcome_name((enum outcome)i);
}

static const char *
metrics_fate(unsigned i)
{
    static const char *const names[EVENT_FATES] = {
        [EVENT_SENT] = "sent",
        [EVENT_CAPPED] = "capped",
        [EVENT_DENIED] = "denied",
        [EVENT_DROPPED] = "dropped",
    };

    return names[i];
}

static const char *
metrics_page(unsigned i)
{
    static const char *const names[WEB_PAGES] = {
        [WEB_HEALTHZ] = "/healthz",
        [WEB_READYZ] = "/readyz",
        [WEB_METRICS] = "/metrics",
        [WEB_OTHER] = "other",
    };

    return names[i];
}

static const char *
metrics_status(unsigned i)
{
    static const char *const names[WEB_STATUSES] = {
        [WEB_200] = "200",
        [WEB_404] = "404",
        [WEB_405] = "405",
        [WEB_503] = "503",
    };

    return names[i];
}

/* The table. */

static const struct metric_label_row labels[METRIC_LABELS] = {
#define LABEL(id, label, count, value)                                         \
    [METRIC_LABEL_##id] = {label, count, value},
#include "common/metrics.def"
};

static const struct metric_row rows[METRIC_COUNT] = {
#define METRIC(id, name, type, unit, a, b, from, help)                         \
    [METRIC_##id] = {name,                                                     \
                     METRIC_##type,                                            \
                     METRIC_##unit,                                            \
                     METRIC_LABEL_##a,                                         \
                     METRIC_LABEL_##b,                                         \
                     from,                                                     \
                     help},
#include "common/metrics.def"
};

enum label_size {
#define LABEL(id, label, count, value) SIZE_##id = (count),
#include "common/metrics.def"
};

/* Where the numbers of each metric begin: one after the other. */
enum {
#define METRIC(id, name, type, unit, a, b, from, help)                         \
    AT_##id, LAST_##id = AT_##id + SIZE_##a * SIZE_##b * WIDTH(type) - 1,
#include "common/metrics.def"
    NUMBERS
};

static const size_t offsets[METRIC_COUNT] = {
#define METRIC(id, name, type, unit, a, b, from, help) [METRIC_##id] = AT_##id,
#include "common/metrics.def"
};

struct metrics {
    int64_t numbers[NUMBERS];
    bool set[NUMBERS]; /* of the first number of a series */
};

const struct metric_row *
metrics_row(enum metric id)
{
    return &rows[id];
}

const struct metric_label_row *
metrics_label(enum metric_label label)
{
    return &labels[label];
}

static size_t
width(const struct metric_row *row)
{
    return row->type == METRIC_HISTOGRAM ? HISTOGRAM_BUCKETS + 2 : 1;
}

static bool
is_series(enum metric id, unsigned a, unsigned b)
{
    return id < METRIC_COUNT && a < labels[rows[id].a].count &&
           b < labels[rows[id].b].count;
}

static size_t
place(enum metric id, unsigned a, unsigned b)
{
    const struct metric_row *row = &rows[id];

    return offsets[id] + (a * labels[row->b].count + b) * width(row);
}

/* Numbers. */

const int64_t histogram_bounds[HISTOGRAM_BUCKETS] = {
    2 * CLOCK_MS,    5 * CLOCK_MS,    10 * CLOCK_MS,    25 * CLOCK_MS,
    50 * CLOCK_MS,   100 * CLOCK_MS,  250 * CLOCK_MS,   500 * CLOCK_MS,
    1000 * CLOCK_MS, 2500 * CLOCK_MS, 5 * CLOCK_SECOND, 10 * CLOCK_SECOND,
};

void
histogram_note(struct histogram *h, int64_t nanoseconds)
{
    size_t i = 0;

    while (i < HISTOGRAM_BUCKETS && nanoseconds > histogram_bounds[i])
        i++;
    h->counts[i]++;
    h->sum += nanoseconds;
}

struct metrics *
metrics_new(void)
{
    return mem_zalloc(sizeof(struct metrics));
}

void
metrics_free(struct metrics *m)
{
    free(m);
}

void
metrics_clear(struct metrics *m)
{
    memset(m->set, 0, sizeof(m->set));
}

/* The numbers of a series, as many as its metric has. */
static int64_t *
take(struct metrics *m, enum metric id, unsigned a, unsigned b)
{
    size_t at = place(id, a, b);

    m->set[at] = true;
    return &m->numbers[at];
}

void
metrics_set(struct metrics *m, enum metric id, unsigned a, unsigned b,
            int64_t number)
{
    if (!is_series(id, a, b) || rows[id].type == METRIC_HISTOGRAM)
        fatal("metric %d has no series %u, %u", (int)id, a, b);
    *take(m, id, a, b) = number;
}

void
metrics_set_histogram(struct metrics *m, enum metric id, unsigned a, unsigned b,
                      const struct histogram *h)
{
    int64_t *numbers;

    if (!is_series(id, a, b) || rows[id].type != METRIC_HISTOGRAM)
        fatal("metric %d has no histogram %u, %u", (int)id, a, b);
    numbers = take(m, id, a, b);
    memcpy(numbers, h->counts, sizeof(h->counts));
    numbers[HISTOGRAM_BUCKETS + 1] = h->sum;
}

const int64_t *
metrics_get(const struct metrics *m, enum metric id, unsigned a, unsigned b)
{
    size_t at;

    if (!is_series(id, a, b))
        return NULL;
    at = place(id, a, b);
    return m->set[at] ? &m->numbers[at] : NULL;
}

/* Frames. */

static void
pack_series(struct buf *out, const struct metrics *m, enum metric id,
            unsigned a, unsigned b)
{
    const int64_t *numbers = metrics_get(m, id, a, b);
    size_t n = width(&rows[id]);

    pack_array(out, n + 1);
    pack_int(out,
             (int64_t)(((unsigned)id << SERIES_BITS | a) << SERIES_BITS | b));
    for (size_t i = 0; i < n; i++)
        pack_int(out, numbers[i]);
}

/* Adds every series that was set; returns how many. */
static size_t
pack_all(struct buf *out, const struct metrics *m)
{
    size_t count = 0;

    for (unsigned id = 0; id < METRIC_COUNT; id++)
        for (unsigned a = 0; a < labels[rows[id].a].count; a++)
            for (unsigned b = 0; b < labels[rows[id].b].count; b++) {
                if (metrics_get(m, (enum metric)id, a, b) == NULL)
                    continue;
                pack_series(out, m, (enum metric)id, a, b);
                count++;
            }
    return count;
}

void
metrics_pack(struct buf *out, const struct metrics *m, enum role from)
{
    struct buf all = {0};
    size_t count = pack_all(&all, m);

    pack_array(out, 2);
    pack_int(out, from);
    pack_array(out, count);
    buf_adds(out, buf_str(&all));
    buf_fini(&all);
}

static int
unpack_series(struct metrics *m, enum role from, const struct value *list,
              struct err *err)
{
    struct unpack u = unpack_fields(list);
    int64_t series = unpack_int(&u);
    unsigned b = (unsigned)series & SERIES_MASK;
    unsigned a = (unsigned)(series >> SERIES_BITS) & SERIES_MASK;
    int64_t id = series >> 2 * SERIES_BITS;
    int64_t *numbers;

    if (u.bad || id < 0 || id >= METRIC_COUNT ||
        !is_series((enum metric)id, a, b) || (rows[id].from & 1u << from) == 0)
        return err_set(err, "series %lld is not for %s to tell",
                       (long long)series, role_name(from));
    numbers = take(m, (enum metric)id, a, b);
    for (size_t i = 0; i < width(&rows[id]); i++)
        numbers[i] = unpack_int(&u);
    return unpack_end(&u, err);
}

int
metrics_unpack(struct metrics *m, enum role *from, const struct value *body,
               struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t role = unpack_int(&u);
    const struct value *list = unpack_array(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    if (role < 0 || role >= ROLE_COUNT)
        return err_set(err, "metrics of %lld", (long long)role);
    *from = (enum role)role;
    for (size_t i = 0; i < value_count(list); i++)
        if (unpack_series(m, *from, value_at(list, i), err) != 0)
            return -1;
    return 0;
}
