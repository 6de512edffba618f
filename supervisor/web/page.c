/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/web/page.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "common/metrics.h"
#include "proto/unpack.h"
#include "supervisor/web/exposition.h"
#include "supervisor/web/scrape.h"

struct page {
    char *lease;
    struct scrape scrape;
    int64_t answered[WEB_PAGES][WEB_STATUSES];
    bool ready;
    struct buf readiness; /* the body of /readyz */
};

/* The begin of an object, still open. */
static void
add_report(struct buf *out, bool ok, struct str reason)
{
    buf_addz(out, ok ? "{\"ok\":true" : "{\"ok\":false");
    if (reason.n == 0)
        return;
    buf_addz(out, ",\"reason\":");
    json_text_string(out, reason);
}

static void
add_whole(struct buf *out, bool ok, struct str reason)
{
    add_report(out, ok, reason);
    buf_addz(out, "}\n");
}

struct page *
page_new(const char *lease)
{
    struct page *page = mem_zalloc(sizeof(*page));

    page->lease = mem_strdup(lease);
    scrape_init(&page->scrape);
    add_whole(&page->readiness, false, STR("starting"));
    return page;
}

void
page_free(struct page *page)
{
    if (page == NULL)
        return;
    buf_fini(&page->readiness);
    scrape_fini(&page->scrape);
    free(page->lease);
    free(page);
}

struct scrape *
page_scrape(struct page *page)
{
    return &page->scrape;
}

static int
add_components(struct buf *out, const struct value *map, struct err *err)
{
    size_t count = value_count(map);

    if (count == 0)
        return 0;
    buf_addz(out, ",\"components\":");
    for (size_t i = 0; i < count; i++) {
        struct unpack u = unpack_fields(value_at(map, i));
        bool ok = unpack_bool(&u);
        struct str reason = unpack_str(&u);

        if (unpack_end(&u, err) != 0)
            return err_prefix(err, "component %zu", i);
        buf_addc(out, i == 0 ? '{' : ',');
        json_text_string(out, value_key(map, i));
        buf_addc(out, ':');
        add_report(out, ok, reason);
        buf_addc(out, '}');
    }
    buf_addc(out, '}');
    return 0;
}

int
page_readiness(struct page *page, const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    bool ok = unpack_bool(&u);
    struct str reason = unpack_str(&u);
    const struct value *components = unpack_map(&u);
    struct buf text = {0};

    if (unpack_end(&u, err) != 0)
        return -1;
    add_report(&text, ok, reason);
    if (add_components(&text, components, err) != 0) {
        buf_fini(&text);
        return -1;
    }
    buf_addz(&text, "}\n");
    buf_fini(&page->readiness);
    page->readiness = text;
    page->ready = ok;
    return 0;
}

/* The pages. Each appends its body and returns the status. */

static int
healthz(const struct page *page, int64_t now, struct buf *out)
{
    (void)page;
    (void)now;
    add_whole(out, true, STR(""));
    return 200;
}

static int
readyz(const struct page *page, int64_t now, struct buf *out)
{
    (void)now;
    buf_adds(out, buf_str(&page->readiness));
    return page->ready ? 200 : 503;
}

static int
metrics(const struct page *page, int64_t now, struct buf *out)
{
    if (!scrape_fresh(&page->scrape, now))
        return 0;
    exposition_add(out, page->scrape.all, page->lease);
    return 200;
}

#define JSON_TYPE "application/json"

static const struct {
    const char *path, *method, *type;
    int (*answer)(const struct page *page, int64_t now, struct buf *out);
} pages[] = {
    [WEB_HEALTHZ] = {"/healthz", "GET", JSON_TYPE, healthz},
    [WEB_READYZ] = {"/readyz", "GET", JSON_TYPE, readyz},
    [WEB_METRICS] = {"/metrics", "GET", EXPOSITION_TYPE, metrics},
};

static enum web_page
find(const char *path)
{
    size_t i = 0;

    while (i < nitems(pages) && strcmp(pages[i].path, path) != 0)
        i++;
    return (enum web_page)i;
}

static int
answer(const struct page *page, enum web_page which, const char *method,
       int64_t now, struct buf *out, struct page_head *head)
{
    *head = (struct page_head){.type = JSON_TYPE};
    if (which == WEB_OTHER) {
        add_whole(out, false, STR("not found"));
        return 404;
    }
    if (strcmp(pages[which].method, method) != 0) {
        head->allow = pages[which].method;
        add_whole(out, false, STR("method not allowed"));
        return 405;
    }
    head->type = pages[which].type;
    return pages[which].answer(page, now, out);
}

static void
count(struct page *page, enum web_page which, int status)
{
    static const int statuses[WEB_STATUSES] = {
        [WEB_200] = 200,
        [WEB_404] = 404,
        [WEB_405] = 405,
        [WEB_503] = 503,
    };

    for (unsigned i = 0; i < WEB_STATUSES; i++)
        page->answered[which][i] += statuses[i] == status;
}

int
page_answer(struct page *page, const char *method, const char *path,
            int64_t now, struct buf *out, struct page_head *head)
{
    enum web_page which = find(path);
    int status = answer(page, which, method, now, out, head);

    count(page, which, status);
    return status;
}

void
page_measure(const struct page *page, struct metrics *m)
{
    for (unsigned i = 0; i < WEB_PAGES; i++)
        for (unsigned j = 0; j < WEB_STATUSES; j++)
            if (page->answered[i][j] > 0)
                metrics_set(m, METRIC_HTTP_REQUESTS, i, j,
                            page->answered[i][j]);
}
