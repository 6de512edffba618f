/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/web/page.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "proto/unpack.h"

struct page {
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
page_new(void)
{
    struct page *page = mem_zalloc(sizeof(*page));

    add_whole(&page->readiness, false, STR("starting"));
    return page;
}

void
page_free(struct page *page)
{
    if (page == NULL)
        return;
    buf_fini(&page->readiness);
    free(page);
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
healthz(const struct page *page, struct buf *out)
{
    (void)page;
    add_whole(out, true, STR(""));
    return 200;
}

static int
readyz(const struct page *page, struct buf *out)
{
    buf_adds(out, buf_str(&page->readiness));
    return page->ready ? 200 : 503;
}

static const struct {
    const char *path, *method;
    int (*answer)(const struct page *page, struct buf *out);
} pages[] = {
    {"/healthz", "GET", healthz},
    {"/readyz", "GET", readyz},
};

int
page_answer(const struct page *page, const char *method, const char *path,
            struct buf *out, const char **allow)
{
    *allow = NULL;
    for (size_t i = 0; i < nitems(pages); i++) {
        if (strcmp(pages[i].path, path) != 0)
            continue;
        if (strcmp(pages[i].method, method) == 0)
            return pages[i].answer(page, out);
        *allow = pages[i].method;
        add_whole(out, false, STR("method not allowed"));
        return 405;
    }
    add_whole(out, false, STR("not found"));
    return 404;
}
