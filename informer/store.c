/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/store.h"

#include <stdlib.h>

#include "common/buf.h"
#include "common/map.h"
#include "common/mem.h"

struct entry {
    struct store_entry seen; /* views of data */
    uint32_t round;          /* of the list that named it last */
    char data[];             /* name, NUL, uid, version, body */
};

struct shelf {
    struct map entries;
    char *version; /* as of which it shows the kind; NULL: not known */
    uint32_t round;
    bool complete;
};

struct store {
    void (*touched)(void *arg, const struct store_touch *touch);
    void *arg;
    struct shelf shelves[KIND_COUNT];
    struct buf scratch;
};

struct store *
store_new(void (*touched)(void *arg, const struct store_touch *touch),
          void *arg)
{
    struct store *store = mem_zalloc(sizeof(*store));

    store->touched = touched;
    store->arg = arg;
    return store;
}

void
store_clear(struct store *store, enum object_kind kind)
{
    struct shelf *shelf = &store->shelves[kind];
    size_t pos = 0;
    struct entry *e;

    while ((e = map_next(&shelf->entries, &pos)) != NULL)
        free(e);
    map_fini(&shelf->entries);
    free(shelf->version);
    shelf->version = NULL;
    shelf->complete = false;
}

void
store_free(struct store *store)
{
    if (store == NULL)
        return;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        store_clear(store, kind);
    buf_fini(&store->scratch);
    free(store);
}

/* Copies text to *at, and moves *at behind it. */
static struct str
copy(char **at, struct str text)
{
    struct str out = {*at, text.n};

    if (text.n > 0)
        memcpy(*at, text.s, text.n);
    *at += text.n;
    return out;
}

static struct entry *
entry_new(const struct object_meta *meta, struct str body, uint32_t round)
{
    struct entry *e = mem_zalloc(sizeof(*e) + meta->name.n + 1 + meta->uid.n +
                                 meta->version.n + body.n);
    char *at = e->data;

    e->round = round;
    e->seen.name = copy(&at, meta->name).s;
    at++;
    e->seen.uid = copy(&at, meta->uid);
    e->seen.version = copy(&at, meta->version);
    e->seen.body = copy(&at, body);
    return e;
}

/* The record with that version, as a view of the scratch buffer. */
static struct str
packed(struct store *store, const struct record *r, struct str version)
{
    buf_clear(&store->scratch);
    record_pack(&store->scratch, r, version);
    return buf_str(&store->scratch);
}

static enum store_change
compare(struct store *store, const struct entry *old, const struct record *r)
{
    if (old == NULL)
        return STORE_ADDED;
    if (!str_eq(old->seen.uid, r->meta.uid))
        return STORE_REPLACED;
    if (!str_eq(packed(store, r, old->seen.version), old->seen.body))
        return STORE_CHANGED;
    return str_eq(old->seen.version, r->meta.version) ? STORE_SAME
                                                      : STORE_VERSION;
}

static void
tell(const struct store *store, enum object_kind kind, enum store_change change,
     const char *name, struct str gone)
{
    struct store_touch touch = {kind, change, name, gone};

    store->touched(store->arg, &touch);
}

enum store_change
store_put(struct store *store, const struct record *r, struct err *err)
{
    struct shelf *shelf = &store->shelves[r->kind];
    char *name = mem_dup(r->meta.name.s, r->meta.name.n);
    struct entry *old = map_get(&shelf->entries, name);
    enum store_change change = compare(store, old, r);
    struct entry *new;
    struct str body;

    free(name);
    if (change == STORE_SAME) {
        old->round = shelf->round;
        return change;
    }
    body = packed(store, r, r->meta.version);
    if (record_check(r->kind, body, err) != 0)
        return STORE_REFUSED;
    new = entry_new(&r->meta, body, shelf->round);
    map_put(&shelf->entries, new->seen.name, new);
    tell(store, r->kind, change, new->seen.name,
         change == STORE_REPLACED ? old->seen.uid : STR(""));
    free(old);
    return change;
}

static struct entry *
find(const struct store *store, enum object_kind kind, struct str name)
{
    char *key = mem_dup(name.s, name.n);
    struct entry *e = map_get(&store->shelves[kind].entries, key);

    free(key);
    return e;
}

static void
evict(struct store *store, enum object_kind kind, struct entry *e)
{
    map_remove(&store->shelves[kind].entries, e->seen.name);
    tell(store, kind, STORE_REMOVED, e->seen.name, e->seen.uid);
    free(e);
}

void
store_remove(struct store *store, enum object_kind kind, struct str name,
             struct str uid)
{
    struct entry *e = find(store, kind, name);

    if (e != NULL && str_eq(e->seen.uid, uid))
        evict(store, kind, e);
}

void
store_keep(struct store *store, enum object_kind kind, struct str name)
{
    struct entry *e = find(store, kind, name);

    if (e != NULL)
        e->round = store->shelves[kind].round;
}

void
store_begin(struct store *store, enum object_kind kind)
{
    store->shelves[kind].round++;
}

void
store_end(struct store *store, enum object_kind kind, bool sweep)
{
    struct shelf *shelf = &store->shelves[kind];
    size_t pos = 0;
    struct entry *e;

    while (sweep && (e = map_next(&shelf->entries, &pos)) != NULL)
        if (e->round != shelf->round)
            evict(store, kind, e);
    shelf->complete = true;
}

void
store_reached(struct store *store, enum object_kind kind, const char *version)
{
    char **at = &store->shelves[kind].version;

    if (*at != NULL && strcmp(*at, version) == 0)
        return;
    free(*at);
    *at = mem_strdup(version);
}

const char *
store_version(const struct store *store, enum object_kind kind)
{
    const char *version = store->shelves[kind].version;

    return version == NULL ? "" : version;
}

bool
store_complete(const struct store *store, enum object_kind kind)
{
    return store->shelves[kind].complete;
}

const struct store_entry *
store_get(const struct store *store, enum object_kind kind, const char *name)
{
    const struct entry *e = map_get(&store->shelves[kind].entries, name);

    return e == NULL ? NULL : &e->seen;
}

const struct store_entry *
store_next(const struct store *store, enum object_kind kind, size_t *pos)
{
    const struct entry *e = map_next(&store->shelves[kind].entries, pos);

    return e == NULL ? NULL : &e->seen;
}

size_t
store_count(const struct store *store, enum object_kind kind)
{
    return store->shelves[kind].entries.count;
}
