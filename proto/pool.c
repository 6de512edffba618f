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

static struct pooled *
pooled_new(struct pool *pool, const struct pair *pair, struct str text)
{
    struct pooled *p = mem_zalloc(sizeof(*p) + text.n + 1);

    memcpy(p->text, text.s, text.n);
    p->pair.value.n = pair->value.n;
    p->pair.value.s = p->text + text.n - pair->value.n;
    p->pair.key.n = pair->key.n;
    p->pair.key.s = p->pair.value.s - 1 - pair->key.n;
    map_put(&pool->pairs, p->text, p);
    return p;
}

static const struct pair *
keep(struct pool *pool, const struct pair *pair, struct buf *text)
{
    struct pooled *p;

    buf_clear(text);
    buf_addi(text, (int64_t)pair->key.n);
    buf_addc(text, '=');
    buf_adds(text, pair->key);
    buf_addc(text, '=');
    buf_adds(text, pair->value);
    buf_addc(text, '\0');
    p = map_get(&pool->pairs, buf_bytes(text));
    if (p == NULL)
        p = pooled_new(pool, pair,
                       (struct str){buf_bytes(text), text->len - 1});
    p->users++;
    return &p->pair;
}

struct pairs
pool_keep(struct pool *pool, struct pairs pairs, const struct pair **list)
{
    struct buf text = {0};

    for (size_t i = 0; i < pairs.count; i++)
        list[i] = keep(pool, pairs_at(pairs, i), &text);
    buf_fini(&text);
    return (struct pairs){NULL, pairs.count, list};
}

const struct pair *
pool_keep_head(struct pool *pool, struct str head)
{
    const struct pair pair = {STR(ANNOTATION_ASSIGNMENT), head};
    const struct pair *kept = NULL;

    if (head.n > 0)
        pool_keep(pool, (struct pairs){&pair, 1, NULL}, &kept);
    return kept;
}

void
pool_let_go(struct pool *pool, struct pairs pairs)
{
    for (size_t i = 0; i < pairs.count; i++) {
        struct pooled *p = (struct pooled *)pairs_at(pairs, i);

        if (--p->users > 0)
            continue;
        map_remove(&pool->pairs, p->text);
        free(p);
    }
}

void
pool_fini(struct pool *pool)
{
    map_fini(&pool->pairs);
}
