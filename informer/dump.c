/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/dump.h"

#include "informer/resource.h"
#include "proto/frame.h"
#include "proto/show.h"
#include "proto/unpack.h"

static const uint16_t types[KIND_COUNT] = {
    [KIND_PROFILE] = MSG_PROFILE,
    [KIND_INVENTORY] = MSG_INVENTORY,
    [KIND_RACK] = MSG_RACK,
    [KIND_NODE] = MSG_NODE,
};

static void
add_entry(struct buf *out, enum object_kind kind, const struct store_entry *e)
{
    struct buf body = {0};
    struct unpacked *u;

    store_body(e, &body);
    u = unpack_body(buf_str(&body), NULL);
    buf_printf(out, "{\"kind\":\"%s\",\"object\":", object_kind_name(kind));
    if (u != NULL)
        show_json(out, types[kind], unpacked_root(u));
    else
        buf_addz(out, "null");
    buf_addz(out, "}\n");
    unpacked_free(u);
    buf_fini(&body);
}

void
dump_store(struct buf *out, const struct store *store)
{
    for (enum object_kind kind = 0; kind < KIND_COUNT; kind++)
        buf_printf(out,
                   "{\"kind\":\"cache\",\"of\":\"%s\",\"complete\":%s,"
                   "\"objects\":%zu,\"version\":\"%s\"}\n",
                   object_kind_name(kind),
                   store_complete(store, kind) ? "true" : "false",
                   store_count(store, kind), store_version(store, kind));
    for (enum object_kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct store_entry *e;
        size_t pos = 0;

        while ((e = store_next(store, kind, &pos)) != NULL)
            add_entry(out, kind, e);
    }
}
