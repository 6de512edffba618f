/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/resource.h"

#include <stdio.h>

#include "common/api.h"
#include "common/buf.h"
#include "common/kube/meta.h"
#include "common/kube/path.h"
#include "common/mem.h"

static const struct resource_row rows[KIND_COUNT] = {
/* clang-format off */
#define RESOURCE(KIND, GROUP, VERSION, PLURAL, LABEL, VALUE, ENCODING, PAGE,   \
                 ECHO, EXTRACT)                                                \
    [KIND_##KIND] = {                                                          \
        .group = (GROUP),                                                      \
        .version = (VERSION),                                                  \
        .plural = (PLURAL),                                                    \
        .label = (LABEL),                                                      \
        .value = (VALUE),                                                      \
        .extract = (EXTRACT),                                                  \
        .kind = KIND_##KIND,                                                   \
        .encoding = ENCODING_##ENCODING,                                       \
        .page = (PAGE),                                                        \
        .echo = (ECHO),                                                        \
    },
/* clang-format on */
#include "informer/resources.def"
};

static const struct {
    const char *list, *watch, *content_type;
} encodings[] = {
    [ENCODING_JSON] = {"application/json", "application/json",
                       "application/json"},
    [ENCODING_META] = {KUBE_META_LIST_ACCEPT, KUBE_META_ACCEPT, KUBE_PROTOBUF},
};

const struct resource_row *
resource_of(enum object_kind kind)
{
    return &rows[kind];
}

const char *
resource_name(const struct resource_row *r, char text[RESOURCE_NAME])
{
    snprintf(text, RESOURCE_NAME, "%s%s%s", r->plural,
             r->group[0] == '\0' ? "" : ".", r->group);
    return text;
}

static void
add_base(struct buf *path, const struct resource_row *r)
{
    struct kube_path base = {
        .group = r->group, .version = r->version, .resource = r->plural};
    char *selector;
    struct err err;

    if (kube_path_add(path, &base, &err) != 0)
        fatal("resources.def: %s: %s", r->plural, err.text);
    if (r->label[0] == '\0')
        return;
    selector = mem_printf("%s=%s", r->label, r->value);
    kube_path_query(path, "labelSelector", selector);
    free(selector);
}

char *
resource_list_path(const struct resource_row *r, const struct watch_todo *todo)
{
    struct buf path = {0};

    add_base(&path, r);
    if (!todo->whole)
        kube_path_query_int(&path, "limit", r->page);
    if (todo->more != NULL) {
        kube_path_query(&path, "continue", todo->more);
    } else if (todo->version != NULL) {
        kube_path_query(&path, "resourceVersion", todo->version);
        kube_path_query(&path, "resourceVersionMatch", "NotOlderThan");
    }
    return buf_take(&path);
}

char *
resource_watch_path(const struct resource_row *r, const struct watch_todo *todo)
{
    struct buf path = {0};

    add_base(&path, r);
    kube_path_query(&path, "watch", "true");
    kube_path_query(&path, "allowWatchBookmarks", "true");
    if ((todo->actions & WATCH_DO_STREAM) != 0) {
        kube_path_query(&path, "sendInitialEvents", "true");
        kube_path_query(&path, "resourceVersionMatch", "NotOlderThan");
    }
    if (todo->version != NULL)
        kube_path_query(&path, "resourceVersion", todo->version);
    kube_path_query_int(&path, "timeoutSeconds", todo->seconds);
    return buf_take(&path);
}

const char *
resource_list_accept(const struct resource_row *r)
{
    return encodings[r->encoding].list;
}

const char *
resource_watch_accept(const struct resource_row *r)
{
    return encodings[r->encoding].watch;
}

const char *
resource_content_type(const struct resource_row *r)
{
    return encodings[r->encoding].content_type;
}

bool
resource_selects(const struct resource_row *r, struct pairs labels)
{
    const struct str *value;

    if (r->label[0] == '\0')
        return true;
    value = pairs_get(labels, str_of(r->label));
    return value != NULL && str_is(*value, r->value);
}
