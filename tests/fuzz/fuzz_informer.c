/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from the API server: pages of lists and watch streams in both
 * encodings, in pieces of any size.  Whatever is stored must be a record that
 * its reader takes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "informer/intake.h"
#include "informer/page.h"
#include "informer/stream.h"
#include "proto/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
on_touched(void *arg, const struct store_touch *touch)
{
    (void)arg;
    (void)touch;
}

static void
on_object(void *arg, const struct wire_object *object)
{
    intake_put(arg, object);
}

static void
on_bad(void *arg, const struct err *err)
{
    intake_bad(arg, err);
}

static int
read_record(enum object_kind kind, const struct value *body,
            struct arena *arena)
{
    struct object_profile profile;
    struct object_inventory inventory;
    struct object_rack rack;
    struct object_node node;

    switch (kind) {
    case KIND_PROFILE:
        return object_profile_unpack(&profile, body, arena, NULL);
    case KIND_INVENTORY:
        return object_inventory_unpack(&inventory, body, arena, NULL);
    case KIND_RACK:
        return object_rack_unpack(&rack, body, arena, NULL);
    default:
        return object_node_unpack(&node, body, arena, NULL);
    }
}

static void
check_store(const struct store *store, enum object_kind kind)
{
    const struct store_entry *e;
    size_t pos = 0;

    while ((e = store_next(store, kind, &pos)) != NULL) {
        struct arena arena = {0};
        struct buf packed = {0};
        struct unpacked *u;

        store_body(e, &packed);
        u = unpack_body(buf_str(&packed), NULL);
        if (u == NULL || read_record(kind, unpacked_root(u), &arena) != 0)
            abort();
        arena_fini(&arena);
        unpacked_free(u);
        buf_fini(&packed);
    }
}

/* Feeds the bytes in pieces, each in memory of its own size. */
static void
in_pieces(struct str bytes, size_t piece,
          bool (*take)(void *arg, struct str bytes), void *arg)
{
    while (bytes.n > 0) {
        size_t n = bytes.n < piece ? bytes.n : piece;
        char *copy = malloc(n);
        bool more;

        memcpy(copy, bytes.s, n);
        more = take(arg, (struct str){copy, n});
        free(copy);
        bytes.s += n;
        bytes.n -= n;
        if (!more)
            return;
    }
}

static bool
take_page(void *arg, struct str bytes)
{
    struct err err;

    return page_feed(arg, bytes, &err) == 0;
}

static void
run_list(struct intake *intake, struct str bytes, size_t piece)
{
    const struct page_calls calls = {on_object, on_bad, intake};
    struct page *page = page_new(intake->r->encoding, &calls);
    struct page_end end;
    struct err err;

    intake_begin(intake);
    in_pieces(bytes, piece, take_page, page);
    if (page_finish(page, &end, &err) == 0)
        intake_end(intake, NULL);
    page_free(page);
}

struct watch_run {
    struct intake *intake;
    struct stream *stream;
};

static bool
take_stream(void *arg, struct str bytes)
{
    struct watch_run *run = arg;
    struct stream_event event;
    enum stream_found found;
    struct err err;

    stream_feed(run->stream, bytes);
    while ((found = stream_next(run->stream, &event, &err)) != STREAM_MORE) {
        if (found == STREAM_BROKEN)
            return false;
        if (found != STREAM_EVENT || event.type == KUBE_BOOKMARK)
            continue;
        if (event.type == KUBE_ERROR)
            return false;
        if (event.type == KUBE_DELETED)
            intake_remove(run->intake, &event.object);
        else
            intake_put(run->intake, &event.object);
    }
    return true;
}

static void
run_watch(struct intake *intake, struct str bytes, size_t piece)
{
    struct watch_run run = {intake, stream_new(intake->r->encoding)};

    in_pieces(bytes, piece, take_stream, &run);
    stream_free(run.stream);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct intake intake = {0};
    enum object_kind kind;
    struct str bytes;

    if (n < 2)
        return 0;
    log_setup("fuzz", 0, LOG_ERROR, LOG_JSON);
    log_to(-1);
    kind = data[0] % KIND_COUNT;
    bytes = (struct str){(const char *)data + 2, n - 2};
    intake.r = resource_of(kind);
    intake.store = store_new(on_touched, NULL);
    if ((data[0] & 4) != 0)
        run_list(&intake, bytes, (size_t)data[1] + 1);
    else
        run_watch(&intake, bytes, (size_t)data[1] + 1);
    check_store(intake.store, kind);
    store_free(intake.store);
    return 0;
}
