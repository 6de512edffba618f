/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/page.h"

#include <stdlib.h>

#include "common/kube/json.h"
#include "common/kube/meta_list.h"
#include "common/kube/owned.h"
#include "common/kube/prune.h"
#include "common/mem.h"
#include "informer/json_items.h"

struct page {
    struct page_calls calls;
    struct json_items *json; /* one of the two */
    struct kube_meta_list *meta;
    json_t *metadata; /* of the list in JSON */
};

static const char *const unread[] = {OWNED_UNREAD, NULL};

static void
on_json(void *arg, struct str text)
{
    struct page *page = arg;
    struct err err;
    json_t *root = kube_json_parse_pruned(text, unread, &err);
    struct wire_object object = {.json = root};

    if (root == NULL)
        page->calls.bad(page->calls.arg, &err);
    else
        page->calls.object(page->calls.arg, &object);
    json_decref(root);
}

static void
on_meta(void *arg, const struct kube_meta *meta)
{
    struct page *page = arg;
    struct wire_object object = {.meta = meta};

    page->calls.object(page->calls.arg, &object);
}

static void
on_bad(void *arg, const struct err *err)
{
    struct page *page = arg;

    page->calls.bad(page->calls.arg, err);
}

struct page *
page_new(enum encoding encoding, const struct page_calls *calls)
{
    struct page *page = mem_zalloc(sizeof(*page));
    struct json_items_calls json = {on_json, on_bad, page};
    struct kube_meta_list_calls meta = {on_meta, on_bad, page};

    page->calls = *calls;
    if (encoding == ENCODING_JSON)
        page->json = json_items_new(&json);
    else
        page->meta = kube_meta_list_new(&meta);
    return page;
}

void
page_free(struct page *page)
{
    if (page == NULL)
        return;
    json_items_free(page->json);
    kube_meta_list_free(page->meta);
    json_decref(page->metadata);
    free(page);
}

int
page_feed(struct page *page, struct str bytes, struct err *err)
{
    return page->json != NULL ? json_items_feed(page->json, bytes, err)
                              : kube_meta_list_feed(page->meta, bytes, err);
}

static int
finish_json(struct page *page, struct page_end *end, struct err *err)
{
    const char *version = "";
    const char *more = "";
    struct str text;

    if (json_items_finish(page->json, &text, err) != 0)
        return -1;
    json_decref(page->metadata);
    page->metadata = kube_json_parse(text, err);
    if (page->metadata == NULL ||
        kube_json_str(page->metadata, "resourceVersion", &version, err) < 0 ||
        kube_json_str(page->metadata, "continue", &more, err) < 0)
        return err_prefix(err, "metadata of the list");
    *end = (struct page_end){str_of(version), str_of(more)};
    return 0;
}

static int
finish_meta(const struct page *page, struct page_end *end, struct err *err)
{
    struct kube_meta_list_end meta;

    if (kube_meta_list_finish(page->meta, &meta, err) != 0)
        return -1;
    *end = (struct page_end){str_of(meta.resource_version), str_of(meta.more)};
    return 0;
}

int
page_finish(struct page *page, struct page_end *end, struct err *err)
{
    int rc = page->json != NULL ? finish_json(page, end, err)
                                : finish_meta(page, end, err);

    if (rc == 0 && end->version.n == 0)
        return err_set(err, "the list has no resourceVersion");
    return rc;
}
