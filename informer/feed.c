/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/feed.h"

#include <stdlib.h>

#include "common/buf.h"
#include "common/map.h"
#include "common/mem.h"
#include "proto/frame.h"
#include "proto/pack.h"

enum feed_state {
    FEED_CLOSED,  /* no reader */
    FEED_WAITING, /* for the store to be complete */
    FEED_SYNCING, /* between SYNC_BEGIN and SYNC_END */
    FEED_LIVE,
};

/* A name that waits. */
struct mark {
    enum object_kind kind;
    bool of_sync; /* marked when the sync began */
    char *gone;   /* the first uid of this name that left; NULL: none did */
    char key[];   /* digit of the kind, name */
};

struct feed {
    const struct store *store;
    struct feed_link link;
    enum feed_state state;
    unsigned kinds;
    struct map marks;
    size_t sync_left;       /* marks with of_sync */
    char *told[KIND_COUNT]; /* versions that AS_OF said last */
    bool in_batch;          /* something was sent since the last end */
    struct moment current;  /* to be told; its term is 0: nothing is */
};

struct feed *
feed_new(const struct store *store, const struct feed_link *link)
{
    struct feed *feed = mem_zalloc(sizeof(*feed));

    feed->store = store;
    feed->link = *link;
    return feed;
}

static void
mark_free(struct mark *mark)
{
    free(mark->gone);
    free(mark);
}

static void
drop_marks(struct feed *feed)
{
    struct mark *mark;
    size_t pos = 0;

    while ((mark = map_next(&feed->marks, &pos)) != NULL)
        mark_free(mark);
    map_fini(&feed->marks);
    feed->sync_left = 0;
    feed->in_batch = false;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        free(feed->told[kind]);
        feed->told[kind] = NULL;
    }
}

void
feed_free(struct feed *feed)
{
    if (feed == NULL)
        return;
    drop_marks(feed);
    free(feed);
}

/* The mark of a name, made if there is none. */
static struct mark *
set_mark(struct feed *feed, enum object_kind kind, const char *name)
{
    size_t n = strlen(name);
    struct mark *mark = mem_zalloc(sizeof(*mark) + 1 + n + 1);
    struct mark *old;

    mark->kind = kind;
    mark->key[0] = (char)('0' + kind);
    memcpy(mark->key + 1, name, n);
    old = map_get(&feed->marks, mark->key);
    if (old != NULL) {
        free(mark);
        return old;
    }
    map_put(&feed->marks, mark->key, mark);
    return mark;
}

void
feed_mark(struct feed *feed, const struct store_touch *touch)
{
    struct mark *mark;

    if (feed->state < FEED_SYNCING || (feed->kinds & 1u << touch->kind) == 0)
        return;
    mark = set_mark(feed, touch->kind, touch->name);
    /* The first one that left is the one that the reader may know. */
    if (touch->gone.n > 0 && mark->gone == NULL)
        mark->gone = mem_dup(touch->gone.s, touch->gone.n);
}

static void
send(struct feed *feed, uint16_t type, struct str body)
{
    feed->link.send(feed->link.arg, type, body);
}

static void
send_gone(struct feed *feed, const struct mark *mark)
{
    struct buf body = {0};

    pack_array(&body, 3);
    pack_int(&body, mark->kind);
    pack_text(&body, mark->key + 1);
    pack_text(&body, mark->gone);
    send(feed, MSG_GONE, buf_str(&body));
    buf_fini(&body);
}

static void
send_entry(struct feed *feed, enum object_kind kind,
           const struct store_entry *e)
{
    struct buf body = {0};

    store_body(e, &body);
    send(feed, record_message(kind), buf_str(&body));
    buf_fini(&body);
}

static void
send_mark(struct feed *feed, struct mark *mark)
{
    const struct store_entry *e =
        store_get(feed->store, mark->kind, mark->key + 1);

    if (mark->gone != NULL)
        send_gone(feed, mark);
    if (e != NULL)
        send_entry(feed, mark->kind, e);
    feed->in_batch = true;
    map_remove(&feed->marks, mark->key);
    if (mark->of_sync)
        feed->sync_left--;
    mark_free(mark);
}

static bool
is_complete(const struct feed *feed)
{
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        if ((feed->kinds & 1u << kind) != 0 &&
            !store_complete(feed->store, kind))
            return false;
    return true;
}

static void
begin_sync(struct feed *feed)
{
    const struct store_entry *e;

    drop_marks(feed);
    feed->state = FEED_SYNCING;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;

        if ((feed->kinds & 1u << kind) == 0)
            continue;
        while ((e = store_next(feed->store, kind, &pos)) != NULL)
            set_mark(feed, kind, e->name)->of_sync = true;
    }
    feed->sync_left = feed->marks.count;
    send(feed, MSG_SYNC_BEGIN, STR(""));
}

/* With nothing left to be sent, the reader has each kind as the store has it.
 */
static void
tell_versions(struct feed *feed)
{
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        const char *version = store_version(feed->store, kind);
        struct buf body = {0};

        if ((feed->kinds & 1u << kind) == 0 || version[0] == '\0' ||
            (feed->told[kind] != NULL &&
             strcmp(feed->told[kind], version) == 0))
            continue;
        free(feed->told[kind]);
        feed->told[kind] = mem_strdup(version);
        pack_array(&body, 2);
        pack_int(&body, (int64_t)kind);
        pack_text(&body, version);
        send(feed, MSG_AS_OF, buf_str(&body));
        buf_fini(&body);
    }
}

static void
end_sync(struct feed *feed)
{
    feed->state = FEED_LIVE;
    feed->in_batch = false;
    if (feed->marks.count == 0)
        tell_versions(feed);
    send(feed, MSG_SYNC_END, STR(""));
}

static void
tell_current(struct feed *feed)
{
    struct buf body = {0};

    if (feed->current.term == 0)
        return;
    pack_array(&body, 2);
    pack_moment(&body, feed->current);
    send(feed, MSG_CURRENT, buf_str(&body));
    buf_fini(&body);
    feed->current.term = 0;
}

/* The set is empty: ends the batch, and gives back the room of a large one. */
static void
end_batch(struct feed *feed)
{
    map_fini(&feed->marks);
    if (feed->in_batch) {
        feed->in_batch = false;
        tell_versions(feed);
        send(feed, MSG_BATCH_END, STR(""));
    }
    tell_current(feed);
}

void
feed_pump(struct feed *feed)
{
    struct mark *mark;
    size_t pos = 0;

    if (feed->state == FEED_WAITING && is_complete(feed))
        begin_sync(feed);
    if (feed->state < FEED_SYNCING)
        return;
    for (;;) {
        if (feed->state == FEED_SYNCING && feed->sync_left == 0)
            end_sync(feed);
        if (feed->marks.count == 0)
            break;
        if (!feed->link.room(feed->link.arg))
            return;
        mark = map_next(&feed->marks, &pos);
        send_mark(feed, mark);
    }
    end_batch(feed);
}

void
feed_current(struct feed *feed, struct moment moment)
{
    if (feed->state == FEED_CLOSED)
        return;
    feed->current = moment;
    feed_pump(feed);
}

void
feed_open(struct feed *feed, unsigned kinds)
{
    drop_marks(feed);
    feed->current.term = 0;
    feed->kinds = kinds;
    feed->state = FEED_WAITING;
    feed_pump(feed);
}

void
feed_close(struct feed *feed)
{
    drop_marks(feed);
    feed->current.term = 0;
    feed->state = FEED_CLOSED;
}

size_t
feed_pending(const struct feed *feed)
{
    return feed->marks.count;
}
