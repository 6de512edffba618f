/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/web/exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

struct writer {
    struct buf *out;
    const char *lease;
};

/* One series of a metric. */
struct series {
    const struct metric_row *row;
    enum role from;
    unsigned a, b;
};

/* Text in quotes may hold anything but these three. */
static void
add_escaped(struct buf *out, const char *text, bool quoted)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            buf_addz(out, "\\\\");
        else if (*text == '\n')
            buf_addz(out, "\\n");
        else if (*text == '"' && quoted)
            buf_addz(out, "\\\"");
        else
            buf_addc(out, *text);
    }
}

/* separator: '{' before the first label, ',' after it. */
static void
add_label(struct buf *out, char *separator, const char *label,
          const char *value)
{
    buf_addc(out, *separator);
    buf_printf(out, "%s=\"", label);
    add_escaped(out, value, true);
    buf_addc(out, '"');
    *separator = ',';
}

static void
add_value_label(const struct writer *w, char *separator,
                enum metric_label label, unsigned value)
{
    const struct metric_label_row *row = metrics_label(label);

    if (label != METRIC_LABEL_NONE)
        add_label(w->out, separator, row->label,
                  label == METRIC_LABEL_LEASE ? w->lease : row->value(value));
}

static bool
is_of_several(const struct metric_row *row)
{
    return (row->from & (row->from - 1)) != 0;
}

/* bound: the value of a bucket's "le", or NULL. */
static void
add_series(const struct writer *w, const struct series *s, const char *suffix,
           const char *bound)
{
    char separator = '{';

    buf_printf(w->out, "%s%s", s->row->name, suffix);
    if (is_of_several(s->row))
        add_label(w->out, &separator, "worker", role_name(s->from));
    add_value_label(w, &separator, s->row->a, s->a);
    add_value_label(w, &separator, s->row->b, s->b);
    if (bound != NULL)
        add_label(w->out, &separator, "le", bound);
    buf_addz(w->out, separator == ',' ? "} " : " ");
}

/* Nanoseconds as seconds, without zeros at the end. */
static void
format_seconds(char text[40], int64_t ns)
{
    uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    int digits = 9;
    uint64_t part = n % CLOCK_SECOND;

    snprintf(text, 40, "%s%" PRIu64, ns < 0 ? "-" : "", n / CLOCK_SECOND);
    if (part == 0)
        return;
    for (; part % 10 == 0; digits--)
        part /= 10;
    snprintf(text + strlen(text), 40 - strlen(text), ".%0*" PRIu64, digits,
             part);
}

static void
add_number(struct buf *out, enum metric_unit unit, int64_t number)
{
    char text[40];

    if (unit == METRIC_NS)
        format_seconds(text, number);
    else
        snprintf(text, sizeof(text), "%" PRId64, number);
    buf_printf(out, "%s\n", text);
}

static void
add_histogram(const struct writer *w, const struct series *s,
              const int64_t *numbers)
{
    int64_t count = 0;

    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        char bound[40] = "+Inf";

        if (i < HISTOGRAM_BUCKETS)
            format_seconds(bound, histogram_bounds[i]);
        count += numbers[i];
        add_series(w, s, "_bucket", bound);
        add_number(w->out, METRIC_ONE, count);
    }
    add_series(w, s, "_sum", NULL);
    add_number(w->out, s->row->unit, numbers[HISTOGRAM_BUCKETS + 1]);
    add_series(w, s, "_count", NULL);
    add_number(w->out, METRIC_ONE, count);
}

static void
add_head(struct buf *out, const struct metric_row *row)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
    };

    buf_printf(out, "# HELP %s ", row->name);
    add_escaped(out, row->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", row->name, types[row->type]);
}

/* What one process reported of a metric; headed: it has its head already. */
static void
add_reported(const struct writer *w, enum metric id, const struct metrics *m,
             struct series *s, bool *headed)
{
    for (s->a = 0; s->a < metrics_label(s->row->a)->count; s->a++)
        for (s->b = 0; s->b < metrics_label(s->row->b)->count; s->b++) {
            const int64_t *numbers = metrics_get(m, id, s->a, s->b);

            if (numbers == NULL)
                continue;
            if (!*headed)
                add_head(w->out, s->row);
            *headed = true;
            if (s->row->type == METRIC_HISTOGRAM) {
                add_histogram(w, s, numbers);
            } else {
                add_series(w, s, "", NULL);
                add_number(w->out, s->row->unit, *numbers);
            }
        }
}

void
exposition_add(struct buf *out, struct metrics *const all[ROLE_COUNT],
               const char *lease)
{
    const struct writer w = {out, lease};

    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        struct series s = {.row = metrics_row((enum metric)id)};
        bool headed = false;

        for (unsigned from = 0; from < ROLE_COUNT; from++) {
            s.from = (enum role)from;
            add_reported(&w, (enum metric)id, all[from], &s, &headed);
        }
    }
}
