/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/store.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/assignment.h"
#include "common/map.h"
#include "common/mem.h"
#include "proto/fields.h"
#include "proto/intent.h"
#include "proto/pack.h"
#include "proto/pool.h"

struct entry {
    struct store_entry seen; /* first; views of data */
    struct str body;         /* the record, packed, but for its version and
                              * what is in the pool */
    const struct pair *head; /* of a Node's annotation, or NULL; */
    struct str tail;         /* the rest of it */
    uint32_t version_cut;    /* where in the body the version belongs, */
    uint32_t cut;            /* behind it the labels, */
    uint32_t tail_cut;       /* and where the tail is, with its header */
    uint32_t round;          /* of the list that named it last */
    uint32_t version_room;   /* bytes for a version, NUL not counted */
    struct pairs labels;     /* in the pool */
    /* What the pool needs for them, then body, name and version. */
    alignas(max_align_t) char data[];
};

struct shelf {
    struct map entries;
    char *version; /* as of which it shows the kind; NULL: not known */
    uint32_t round;
    bool listing, complete;
};

struct store {
    void (*touched)(void *arg, const struct store_touch *touch);
    void *arg;
    struct shelf shelves[KIND_COUNT];
    struct pool labels;
    /* Of the record in hand: as it goes over the feed, and as it is kept; and
     * what of the annotation is not in that. */
    struct buf whole, bare;
    struct str head;
    struct err went_back;
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

static void
entry_free(struct store *store, struct entry *e)
{
    if (e == NULL)
        return;
    pool_let_go(&store->labels, e->labels);
    pool_let_go_value(&store->labels, e->head);
    free(e);
}

void
store_clear(struct store *store, enum object_kind kind)
{
    struct shelf *shelf = &store->shelves[kind];
    size_t pos = 0;
    struct entry *e;

    while ((e = map_next(&shelf->entries, &pos)) != NULL)
        entry_free(store, e);
    map_fini(&shelf->entries);
    free(shelf->version);
    shelf->version = NULL;
    shelf->listing = shelf->complete = false;
}

void
store_free(struct store *store)
{
    if (store == NULL)
        return;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        store_clear(store, kind);
    pool_fini(&store->labels);
    buf_fini(&store->whole);
    buf_fini(&store->bare);
    free(store);
}

/* The same text, as it stands in the packed record. */
static struct str
view(struct str body, struct str text)
{
    const char *at =
        text.n == 0 ? body.s : memmem(body.s, body.n, text.s, text.n);

    return (struct str){at, text.n};
}

/* Where a first differs from b, which is no longer. */
static size_t
difference(struct str a, struct str b)
{
    size_t at = 0;

    while (at < b.n && a.s[at] == b.s[at])
        at++;
    return at;
}

/* The record as it is kept, with that for the annotation of a Node. */
static void
pack_form(struct buf *out, const struct record *r, struct str annotation)
{
    struct record form = *r;

    form.meta.labels.count = 0;
    if (r->kind == KIND_NODE)
        form.node.annotation = annotation;
    buf_clear(out);
    record_pack(out, &form, STR(""));
}

/* The two forms in hand differ first where the version stands, which is never
 * empty; behind it where the map of labels begins, if there are any: every kind
 * has it (proto/object.c).  Empty, each is one byte in the bare form. */
static void
find_cuts(struct store *store, struct entry *e)
{
    struct str whole = buf_str(&store->whole);
    struct str bare = buf_str(&store->bare);
    size_t at = difference(whole, bare);
    struct buf version = {0};

    pack_str(&version, e->seen.version);
    e->version_cut = (uint32_t)at;
    e->cut = (uint32_t)(at + 1 +
                        difference(str_after(whole, at + version.len),
                                   str_after(bare, at + 1)));
    buf_fini(&version);
}

/* The bare form differs first from one without the tail in the header of that,
 * which is one byte there.  The whole one in hand is gone afterwards. */
static void
find_tail(struct store *store, struct entry *e, const struct record *r)
{
    size_t n = r->node.annotation.n - store->head.n;
    size_t header;

    pack_form(&store->whole, r, STR(""));
    header = e->body.n - n - (store->whole.len - 1);
    e->tail_cut = (uint32_t)difference(e->body, buf_str(&store->whole));
    e->tail = (struct str){e->body.s + e->tail_cut + header, n};
}

/* From the two forms in hand. */
static struct entry *
entry_new(struct store *store, const struct record *r, uint32_t round)
{
    const struct object_meta *meta = &r->meta;
    struct str bare = buf_str(&store->bare);
    size_t room = pool_room(meta->labels, meta->name);
    struct entry *e = mem_zalloc(sizeof(*e) + room + bare.n + meta->name.n + 1 +
                                 meta->version.n + 1);
    char *body = e->data + room;
    char *name = body + bare.n;
    char *version = name + meta->name.n + 1;

    memcpy(body, bare.s, bare.n);
    memcpy(name, meta->name.s, meta->name.n);
    memcpy(version, meta->version.s, meta->version.n);
    e->body = (struct str){body, bare.n};
    e->seen.name = name;
    e->seen.uid = view(e->body, meta->uid);
    e->seen.version = (struct str){version, meta->version.n};
    e->version_room = (uint32_t)meta->version.n;
    find_cuts(store, e);
    e->head = pool_keep_value(&store->labels, STR(ANNOTATION_ASSIGNMENT),
                              store->head);
    if (e->head != NULL)
        find_tail(store, e, r);
    e->round = round;
    e->labels = pool_keep(&store->labels, meta->labels,
                          (struct str){name, meta->name.n}, e->data);
    return e;
}

/* Appends the body from *at up to there. */
static void
add_body(struct buf *out, const struct entry *e, size_t *at, size_t end)
{
    buf_add(out, e->body.s + *at, end - *at);
    *at = end;
}

void
store_body(const struct store_entry *entry, struct buf *out)
{
    const struct entry *e = (const struct entry *)entry;
    size_t at = 0;

    add_body(out, e, &at, e->version_cut);
    pack_str(out, e->seen.version);
    at++;
    if (e->labels.count > 0) {
        add_body(out, e, &at, e->cut);
        fields_put_pairs(out, e->labels);
        at++;
    }
    if (e->head != NULL) {
        add_body(out, e, &at, e->tail_cut);
        pack_joined(out, e->head->value, e->tail);
        at = (size_t)(e->tail.s + e->tail.n - e->body.s);
    }
    add_body(out, e, &at, e->body.n);
}

static void
pack_bare(struct store *store, const struct record *r)
{
    struct str annotation = r->kind == KIND_NODE ? r->node.annotation : STR("");

    store->head = assignment_head(annotation);
    pack_form(&store->bare, r, str_after(annotation, store->head.n));
}

static void
pack_whole(struct store *store, const struct record *r)
{
    buf_clear(&store->whole);
    record_pack(&store->whole, r, r->meta.version);
}

static bool
same_labels(struct pairs a, struct pairs b)
{
    bool same = a.count == b.count;

    for (size_t i = 0; same && i < a.count; i++)
        same = pair_eq(pairs_at(a, i), pairs_at(b, i));
    return same;
}

/* But for the labels and the version. */
static bool
same_body(const struct store *store, const struct entry *e)
{
    struct str head = e->head == NULL ? STR("") : e->head->value;

    return str_eq(store->head, head) && str_eq(buf_str(&store->bare), e->body);
}

static enum store_change
compare(struct store *store, const struct entry *old, const struct record *r)
{
    if (old == NULL)
        return STORE_ADDED;
    if (!str_eq(old->seen.uid, r->meta.uid))
        return STORE_REPLACED;
    if (!same_labels(r->meta.labels, old->labels) || !same_body(store, old))
        return STORE_CHANGED;
    return str_eq(old->seen.version, r->meta.version) ? STORE_SAME
                                                      : STORE_VERSION;
}

/* Versions are the cluster's own count, so that none of a list is ever lower
 * than what was known before: unless somebody turned it back.  A watch may
 * repeat itself. */
static void
check_time(struct store *store, enum object_kind kind, const char *what,
           struct str version, struct str before)
{
    if (store->went_back.text[0] == '\0' && before.n > 0 &&
        version_cmp(version, before) < 0)
        err_set(&store->went_back,
                "%s %s: version %.*s was listed, after version %.*s",
                object_kind_name(kind), what, (int)version.n, version.s,
                (int)before.n, before.s);
}

static void
tell(const struct store *store, enum object_kind kind, enum store_change change,
     const char *name, struct str gone)
{
    struct store_touch touch = {kind, change, name, gone};

    store->touched(store->arg, &touch);
}

static struct entry *
find(const struct store *store, enum object_kind kind, struct str name)
{
    char *key = mem_dup(name.s, name.n);
    struct entry *e = map_get(&store->shelves[kind].entries, key);

    free(key);
    return e;
}

/* The usual case: a heartbeat touched what is not kept. */
static bool
renew_version(struct entry *e, struct str version)
{
    if (version.n > e->version_room)
        return false;
    memcpy((char *)e->seen.version.s, version.s, version.n);
    e->seen.version.n = version.n;
    return true;
}

enum store_change
store_put(struct store *store, const struct record *r, struct err *err)
{
    struct shelf *shelf = &store->shelves[r->kind];
    struct entry *old = find(store, r->kind, r->meta.name);
    enum store_change change;
    struct entry *new;

    if (shelf->listing && old != NULL && old->round != shelf->round)
        check_time(store, r->kind, old->seen.name, r->meta.version,
                   old->seen.version);
    pack_bare(store, r);
    change = compare(store, old, r);
    if (change == STORE_SAME ||
        (change == STORE_VERSION && renew_version(old, r->meta.version))) {
        old->round = shelf->round;
        if (change != STORE_SAME)
            tell(store, r->kind, change, old->seen.name, STR(""));
        return change;
    }
    pack_whole(store, r);
    if (record_check(r->kind, buf_str(&store->whole), err) != 0)
        return STORE_REFUSED;
    new = entry_new(store, r, shelf->round);
    map_put(&shelf->entries, new->seen.name, new);
    tell(store, r->kind, change, new->seen.name,
         change == STORE_REPLACED ? old->seen.uid : STR(""));
    entry_free(store, old);
    return change;
}

static void
evict(struct store *store, enum object_kind kind, struct entry *e)
{
    map_remove(&store->shelves[kind].entries, e->seen.name);
    tell(store, kind, STORE_REMOVED, e->seen.name, e->seen.uid);
    entry_free(store, e);
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
    store->shelves[kind].listing = true;
}

void
store_end(struct store *store, enum object_kind kind, bool sweep,
          const char *version)
{
    struct shelf *shelf = &store->shelves[kind];
    size_t pos = 0;
    struct entry *e;

    while (sweep && (e = map_next(&shelf->entries, &pos)) != NULL)
        if (e->round != shelf->round)
            evict(store, kind, e);
    shelf->listing = false;
    shelf->complete = true;
    if (version == NULL)
        return;
    check_time(store, kind, "list", str_of(version),
               str_of(store_version(store, kind)));
    store_reached(store, kind, version);
}

const char *
store_went_back(const struct store *store)
{
    return store->went_back.text;
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
