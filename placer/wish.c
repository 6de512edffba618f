/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/wish.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/frame.h"

#define PRINT 16 /* bytes of a digest that tell two bodies apart */

struct entry {
    char *key;
    uint32_t id;
    enum wish_state state;
    enum outcome outcome;
    uint16_t type;
    char *basis, *version, *reason;
    unsigned char print[PRINT];
};

static char *
key_of(enum action action, struct str name)
{
    return mem_printf("%d %.*s", (int)action, (int)name.n, name.s);
}

static struct entry *
find(const struct wishes *w, enum action action, struct str name)
{
    char *key = key_of(action, name);
    struct entry *e = map_get(&w->by_key, key);

    free(key);
    return e;
}

static void
entry_free(struct entry *e)
{
    free(e->key);
    free(e->basis);
    free(e->version);
    free(e->reason);
    free(e);
}

static void
replace(char **at, struct str text)
{
    free(*at);
    *at = mem_dup(text.s, text.n);
}

static void
print_of(struct str body, unsigned char print[PRINT])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX ctx;

    SHA256Init(&ctx);
    SHA256Update(&ctx, (const unsigned char *)body.s, body.n);
    SHA256Final(digest, &ctx);
    memcpy(print, digest, PRINT);
}

/* Whether saying it (again) could change anything. With a result that tells a
 * version, who asks for anything from an older one has not seen the echo yet,
 * and who asks for the same from that very version would change nothing; a
 * deletion leaves no version, and an object outside the feed has no basis to
 * compare. */
static bool
is_news(const struct entry *e, struct str basis, const unsigned char *print)
{
    bool same = memcmp(e->print, print, PRINT) == 0;
    int order;

    if (e->state == WISH_LOST)
        return true;
    if (e->state == WISH_OPEN || basis.n == 0 || e->version[0] == '\0')
        return !same;
    order = version_cmp(basis, str_of(e->version));
    return order > 0 || (order == 0 && !same);
}

/* The entry of a key, made if there is none. */
static struct entry *
make(struct wishes *w, enum action action, struct str name)
{
    struct entry *e = mem_zalloc(sizeof(*e));

    e->key = key_of(action, name);
    e->basis = mem_strdup("");
    e->version = mem_strdup("");
    e->reason = mem_strdup("");
    map_put(&w->by_key, e->key, e);
    return e;
}

bool
wish_want(struct wishes *w, enum action action, struct str name,
          struct str basis, uint16_t type, struct str body)
{
    struct entry *e = find(w, action, name);
    unsigned char print[PRINT];

    print_of(body, print);
    if (e != NULL && !is_news(e, basis, print))
        return true;
    if (w->open >= WISH_LIMIT && (e == NULL || e->state != WISH_OPEN))
        return false;
    if (e == NULL)
        e = make(w, action, name);
    if (e->state != WISH_OPEN)
        w->open++;
    e->state = WISH_OPEN;
    e->id = ++w->next_id;
    e->type = type;
    memcpy(e->print, print, PRINT);
    replace(&e->basis, basis);
    w->send(w->arg, type, e->id, body);
    return true;
}

static void
remove_entry(struct wishes *w, struct entry *e)
{
    if (e->state == WISH_OPEN)
        w->open--;
    map_remove(&w->by_key, e->key);
    entry_free(e);
}

void
wish_drop(struct wishes *w, enum action action, struct str name)
{
    struct entry *e = find(w, action, name);
    struct buf body = {0};

    if (e == NULL)
        return;
    remove_entry(w, e);
    intent_withdraw_pack(&body, action, name);
    w->send(w->arg, MSG_WITHDRAW, 0, buf_str(&body));
    buf_fini(&body);
}

struct wish
wish_look(const struct wishes *w, enum action action, struct str name)
{
    const struct entry *e = find(w, action, name);

    if (e == NULL)
        return (struct wish){
            .state = WISH_NONE, .basis = "", .version = "", .reason = ""};
    return (struct wish){
        .state = e->state,
        .outcome = e->outcome,
        .type = e->type,
        .basis = e->basis,
        .version = e->version,
        .reason = e->reason,
    };
}

bool
wish_result(struct wishes *w, uint32_t id, const struct result *r)
{
    struct entry *e = find(w, r->action, r->name);

    if (e == NULL || e->id != id || e->state != WISH_OPEN)
        return false;
    w->open--;
    e->state = r->outcome == OUTCOME_DONE ? WISH_DONE : WISH_REFUSED;
    e->outcome = r->outcome;
    replace(&e->version, r->version);
    replace(&e->reason, r->reason);
    return true;
}

void
wish_written(struct wishes *w, enum action action, struct str name,
             struct str version)
{
    struct entry *e = find(w, action, name);

    if (e == NULL)
        e = make(w, action, name);
    if (e->state == WISH_OPEN)
        w->open--;
    e->state = WISH_DONE;
    e->outcome = OUTCOME_DONE;
    memset(e->print, 0, PRINT);
    replace(&e->version, version);
}

void
wish_lose(struct wishes *w, bool refused)
{
    size_t pos = 0;
    struct entry *e;

    while ((e = map_next(&w->by_key, &pos)) != NULL)
        if (e->state == WISH_OPEN)
            e->state = WISH_LOST;
        else if (e->state == WISH_REFUSED && refused)
            remove_entry(w, e);
    w->open = 0;
}

void
wish_fini(struct wishes *w)
{
    size_t pos = 0;
    struct entry *e;

    while ((e = map_next(&w->by_key, &pos)) != NULL)
        remove_entry(w, e);
    map_fini(&w->by_key);
}
