/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/wish.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/frame.h"

/* What tells two bodies apart. */
struct print {
    uint64_t words[2];
};

struct entry {
    char *key;
    enum action action;
    uint32_t id;
    size_t bytes; /* of its body while it is open */
    bool rests;   /* while it is open: it takes no room */
    enum wish_state state;
    enum outcome outcome;
    uint16_t type;
    char *basis, *version, *reason;
    struct print print, essence;
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

/* Before the first print. */
static void
seed(struct wishes *w)
{
    if (w->next_id != 0)
        return;
    for (size_t i = 0; i < nitems(w->seeds); i++)
        w->seeds[i] = sip_seed();
}

static struct print
print_of(const struct wishes *w, struct str body)
{
    return (struct print){{sip_hash(&w->seeds[0], body.s, body.n),
                           sip_hash(&w->seeds[1], body.s, body.n)}};
}

/* Whether saying it (again) could change anything. With a result that tells a
 * version, who asks for anything from an older one has not seen the echo yet,
 * and who asks for the same from that very version would change nothing; a
 * deletion leaves no version, and an object outside the feed has no basis to
 * compare. */
static bool
is_news(const struct entry *e, struct str basis, const struct print *print,
        const struct print *essence)
{
    bool same = memcmp(&e->print, print, sizeof(*print)) == 0;
    int order;

    if (e->state == WISH_LOST)
        return true;
    if (e->state == WISH_OPEN)
        return memcmp(&e->essence, essence, sizeof(*essence)) != 0;
    if (basis.n == 0 || e->version[0] == '\0')
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
    e->action = action;
    e->basis = mem_strdup("");
    e->version = mem_strdup("");
    e->reason = mem_strdup("");
    map_put(&w->by_key, e->key, e);
    return e;
}

static bool
is_full(const struct wishes *w, enum action action, size_t more)
{
    const struct wish_load *load = &w->loads[action];

    return load->count >= WISH_LIMIT ||
           (load->count > 0 && load->bytes + more > WISH_BYTES);
}

static void
open_entry(struct wishes *w, struct entry *e, size_t bytes)
{
    e->state = WISH_OPEN;
    e->bytes = bytes;
    w->open++;
    w->loads[e->action].count++;
    w->loads[e->action].bytes += bytes;
}

/* One that is open takes no room any more. */
static void
unload(struct wishes *w, struct entry *e)
{
    if (e->rests) {
        w->resting--;
    } else {
        w->loads[e->action].count--;
        w->loads[e->action].bytes -= e->bytes;
    }
}

/* It is in that state from now on; if it was open, it takes no room any more.
 */
static void
close_entry(struct wishes *w, struct entry *e, enum wish_state state)
{
    if (e->state == WISH_OPEN) {
        unload(w, e);
        w->open--;
    }
    e->rests = false;
    e->state = state;
}

/* What an outdated model can make wrong, but not lasting: a status is counted
 * again, and looking changes nothing. */
static bool
is_harmless(uint16_t type)
{
    return type == MSG_STATUS_WRITE || type == MSG_RACK_LOOK;
}

bool
wish_has_room(const struct wishes *w, enum action action)
{
    return w->loads[action].count <= WISH_LIMIT / 2 &&
           w->loads[action].bytes <= WISH_BYTES / 2;
}

bool
wish_want(struct wishes *w, enum action action, struct str name,
          struct str basis, uint16_t type, struct str body)
{
    return wish_want_essence(w, action, name, basis, type, body, body);
}

bool
wish_want_essence(struct wishes *w, enum action action, struct str name,
                  struct str basis, uint16_t type, struct str body,
                  struct str of)
{
    struct entry *e = find(w, action, name);
    struct print print, essence;

    seed(w);
    print = print_of(w, body);
    essence = print_of(w, of);
    if (e != NULL && !is_news(e, basis, &print, &essence))
        return true;
    if (w->wary && !is_harmless(type)) {
        w->missed = true;
        return false;
    }
    if ((e == NULL || e->state != WISH_OPEN) && is_full(w, action, body.n))
        return false;
    if (e == NULL)
        e = make(w, action, name);
    close_entry(w, e, WISH_NONE);
    open_entry(w, e, body.n);
    e->id = ++w->next_id;
    e->type = type;
    e->print = print;
    e->essence = essence;
    replace(&e->basis, basis);
    w->send(w->arg, type, e->id, body);
    return true;
}

static void
remove_entry(struct wishes *w, struct entry *e)
{
    close_entry(w, e, WISH_NONE);
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

static struct wish
look(const struct entry *e)
{
    return (struct wish){
        .state = e->state,
        .outcome = e->outcome,
        .type = e->type,
        .basis = e->basis,
        .version = e->version,
        .reason = e->reason,
    };
}

struct wish
wish_look(const struct wishes *w, enum action action, struct str name)
{
    const struct entry *e = find(w, action, name);

    if (e == NULL)
        return (struct wish){
            .state = WISH_NONE, .basis = "", .version = "", .reason = ""};
    return look(e);
}

void
wish_each(const struct wishes *w,
          void (*visit)(void *arg, enum action action, const char *name,
                        const struct wish *wish),
          void *arg)
{
    const struct entry *e;
    size_t pos = 0;

    while ((e = map_next(&w->by_key, &pos)) != NULL) {
        struct wish wish = look(e);

        visit(arg, e->action, strchr(e->key, ' ') + 1, &wish);
    }
}

bool
wish_result(struct wishes *w, uint32_t id, const struct result *r)
{
    struct entry *e = find(w, r->action, r->name);

    if (e == NULL || e->id != id || e->state != WISH_OPEN)
        return false;
    close_entry(w, e, r->outcome == OUTCOME_DONE ? WISH_DONE : WISH_REFUSED);
    e->outcome = r->outcome;
    replace(&e->version, r->version);
    replace(&e->reason, r->reason);
    return true;
}

bool
wish_rest(struct wishes *w, uint32_t id, enum action action, struct str name)
{
    struct entry *e = find(w, action, name);

    if (e == NULL || e->id != id || e->state != WISH_OPEN)
        return false;
    if (e->rests || w->resting == WISH_RESTING)
        return true;
    unload(w, e);
    e->rests = true;
    w->resting++;
    return true;
}

void
wish_written(struct wishes *w, enum action action, struct str name,
             struct str version)
{
    struct entry *e = find(w, action, name);

    if (e == NULL)
        e = make(w, action, name);
    close_entry(w, e, version.n == 0 ? WISH_LOST : WISH_DONE);
    e->outcome = OUTCOME_DONE;
    e->type = 0;
    e->print = (struct print){{0}};
    replace(&e->version, version);
}

void
wish_lose(struct wishes *w, bool refused)
{
    size_t pos = 0;
    struct entry *e;

    while ((e = map_next(&w->by_key, &pos)) != NULL)
        if (e->state == WISH_OPEN || (e->state == WISH_REFUSED && refused))
            close_entry(w, e, WISH_LOST);
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
