/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/pool.h"

#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/buf.h"
#include "common/mem.h"

struct pooled {
    struct pair pair; /* first; views of text */
    size_t users;
    /* N=key=value, with N bytes of key: without them two pairs of different
     * cuts would be one. */
    char text[];
};

/* Pairs of which several objects have all. */
struct pool_list {
    size_t users;
    size_t count;
    const struct pair *pairs[];
};

/* A pair that the object does not share. */
struct own {
    uint32_t at;             /* its place in the whole list */
    bool named;              /* its value is the object's name */
    const struct pair *kept; /* the pair; if named, one of its key alone */
    struct pair pair;        /* if named */
};

struct pairs_kept {
    struct pool_list *list; /* all but the own ones */
    size_t own_count;
    struct own own[];
};

/* ---- pairs ------------------------------------------------------------- */

static struct pooled *
pooled_new(struct pool *pool, struct pair pair, struct str text)
{
    struct pooled *p = mem_zalloc(sizeof(*p) + text.n + 1);

    memcpy(p->text, text.s, text.n);
    p->pair.value.n = pair.value.n;
    p->pair.value.s = p->text + text.n - pair.value.n;
    p->pair.key.n = pair.key.n;
    p->pair.key.s = p->pair.value.s - 1 - pair.key.n;
    map_put(&pool->pairs, p->text, p);
    return p;
}

static const struct pair *
keep(struct pool *pool, struct pair pair)
{
    struct buf text = {0};
    struct pooled *p;

    buf_addi(&text, (int64_t)pair.key.n);
    buf_addc(&text, '=');
    buf_adds(&text, pair.key);
    buf_addc(&text, '=');
    buf_adds(&text, pair.value);
    buf_addc(&text, '\0');
    p = map_get(&pool->pairs, buf_bytes(&text));
    if (p == NULL)
        p = pooled_new(pool, pair,
                       (struct str){buf_bytes(&text), text.len - 1});
    p->users++;
    buf_fini(&text);
    return &p->pair;
}

static void
let_go(struct pool *pool, const struct pair *pair)
{
    struct pooled *p = (struct pooled *)pair;

    if (--p->users > 0)
        return;
    map_remove(&pool->pairs, p->text);
    free(p);
}

const struct pair *
pool_keep_value(struct pool *pool, struct str key, struct str value)
{
    return value.n == 0 ? NULL : keep(pool, (struct pair){key, value});
}

void
pool_let_go_value(struct pool *pool, const struct pair *pair)
{
    if (pair != NULL)
        let_go(pool, pair);
}

/* ---- lists ------------------------------------------------------------- */

static bool
is_named(const struct pair *pair, struct str name)
{
    return str_eq(pair->value, name);
}

static bool
is_own(const struct pair *pair, struct str name)
{
    return is_named(pair, name) || str_is(pair->key, LABEL_CLIQUE);
}

static size_t
count_own(struct pairs pairs, struct str name)
{
    size_t count = 0;

    for (size_t i = 0; i < pairs.count; i++)
        count += is_own(pairs_at(pairs, i), name);
    return count;
}

/* Are these the object's pairs but for its own? */
static bool
is_list_of(const struct pool_list *list, struct pairs pairs, struct str name)
{
    size_t n = 0;

    for (size_t i = 0; i < pairs.count; i++) {
        const struct pair *pair = pairs_at(pairs, i);

        if (is_own(pair, name))
            continue;
        if (n == list->count || !pair_eq(list->pairs[n++], pair))
            return false;
    }
    return n == list->count;
}

static struct pool_list *
list_new(struct pool *pool, struct pairs pairs, struct str name, size_t count)
{
    struct pool_list *list =
        mem_zalloc(sizeof(*list) + count * sizeof(list->pairs[0]));

    for (size_t i = 0; i < pairs.count; i++)
        if (!is_own(pairs_at(pairs, i), name))
            list->pairs[list->count++] = keep(pool, *pairs_at(pairs, i));
    pool->recent[pool->next++ % POOL_RECENT] = list;
    return list;
}

static struct pool_list *
list_keep(struct pool *pool, struct pairs pairs, struct str name, size_t count)
{
    struct pool_list *list = NULL;

    for (unsigned i = 0; list == NULL && i < POOL_RECENT; i++)
        if (pool->recent[i] != NULL && is_list_of(pool->recent[i], pairs, name))
            list = pool->recent[i];
    if (list == NULL)
        list = list_new(pool, pairs, name, count);
    list->users++;
    return list;
}

static void
list_let_go(struct pool *pool, struct pool_list *list)
{
    if (--list->users > 0)
        return;
    for (size_t i = 0; i < list->count; i++)
        let_go(pool, list->pairs[i]);
    for (unsigned i = 0; i < POOL_RECENT; i++)
        if (pool->recent[i] == list)
            pool->recent[i] = NULL;
    free(list);
}

/* ---- what an object keeps ---------------------------------------------- */

static struct own
own_keep(struct pool *pool, const struct pair *pair, struct str name, size_t at)
{
    struct own own = {.at = (uint32_t)at, .named = is_named(pair, name)};

    own.kept =
        keep(pool, own.named ? (struct pair){pair->key, STR("")} : *pair);
    if (own.named)
        own.pair = (struct pair){own.kept->key, name};
    return own;
}

size_t
pool_room(struct pairs pairs, struct str name)
{
    return sizeof(struct pairs_kept) +
           count_own(pairs, name) * sizeof(struct own);
}

struct pairs
pool_keep(struct pool *pool, struct pairs pairs, struct str name, void *room)
{
    struct pairs_kept *kept = room;

    kept->own_count = 0;
    for (size_t i = 0; i < pairs.count; i++)
        if (is_own(pairs_at(pairs, i), name))
            kept->own[kept->own_count++] =
                own_keep(pool, pairs_at(pairs, i), name, i);
    kept->list = list_keep(pool, pairs, name, pairs.count - kept->own_count);
    return (struct pairs){NULL, pairs.count, kept};
}

const struct pair *
pairs_kept_at(const struct pairs_kept *kept, size_t i)
{
    size_t before = 0;

    while (before < kept->own_count && kept->own[before].at < i)
        before++;
    if (before < kept->own_count && kept->own[before].at == i)
        return kept->own[before].named ? &kept->own[before].pair
                                       : kept->own[before].kept;
    return kept->list->pairs[i - before];
}

void
pool_let_go(struct pool *pool, struct pairs pairs)
{
    const struct pairs_kept *kept = pairs.kept;

    for (size_t i = 0; i < kept->own_count; i++)
        let_go(pool, kept->own[i].kept);
    list_let_go(pool, kept->list);
}

void
pool_fini(struct pool *pool)
{
    map_fini(&pool->pairs);
}
