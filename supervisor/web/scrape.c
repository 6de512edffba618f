/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/web/scrape.h"

#include "proto/unpack.h"

void
scrape_init(struct scrape *s)
{
    *s = (struct scrape){.open = false};
    for (unsigned i = 0; i < ROLE_COUNT; i++)
        s->all[i] = metrics_new();
}

void
scrape_fini(struct scrape *s)
{
    for (unsigned i = 0; i < ROLE_COUNT; i++)
        metrics_free(s->all[i]);
}

bool
scrape_fresh(const struct scrape *s, int64_t now)
{
    return !s->open && now < s->ends_at;
}

bool
scrape_begin(struct scrape *s, int64_t now)
{
    if (s->open)
        return false;
    for (unsigned i = 0; i < ROLE_COUNT; i++)
        metrics_clear(s->all[i]);
    s->asked = s->answered = 0;
    s->listed = false;
    s->open = true;
    s->ends_at = now + SCRAPE_PATIENCE;
    return true;
}

int
scrape_measuring(struct scrape *s, const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    const struct value *list = unpack_array(&u);
    uint32_t asked = 0;

    if (unpack_end(&u, err) != 0)
        return -1;
    for (size_t i = 0; i < value_count(list); i++) {
        int64_t role = -1;

        if (!value_int(value_at(list, i), &role) || role < 0 ||
            role >= ROLE_COUNT)
            return err_set(err, "worker %zu of the list is none", i);
        asked |= 1u << role;
    }
    s->asked = asked;
    s->listed = true;
    return 0;
}

/* While none is open the page must stay as it is. */
int
scrape_metrics(struct scrape *s, const struct value *body, struct err *err)
{
    struct metrics *m = metrics_new();
    enum role from;

    if (metrics_unpack(m, &from, body, err) != 0) {
        metrics_free(m);
        return -1;
    }
    if (!s->open) {
        metrics_free(m);
        return 0;
    }
    metrics_free(s->all[from]);
    s->all[from] = m;
    s->answered |= 1u << from;
    return 0;
}

bool
scrape_complete(const struct scrape *s, int64_t now)
{
    return (s->listed && (s->asked & ~s->answered) == 0) || now >= s->ends_at;
}

void
scrape_end(struct scrape *s, int64_t now)
{
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        if ((s->asked & 1u << role) != 0)
            metrics_set(s->all[ROLE_WEB], METRIC_WORKER_RESPONDED, role, 0,
                        (s->answered & 1u << role) != 0);
    s->open = false;
    s->ends_at = now + SCRAPE_FRESH;
}
