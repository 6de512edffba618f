/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/rack_text.h"

#include <sha2.h>

#include "common/api.h"

struct scan {
    struct str rest;
    const char *mark; /* what comes before it is digested */
    SHA2_CTX sha;
    bool bad;
};

/* The next bytes are these. */
static bool
meets(struct scan *s, struct str what)
{
    if (s->bad || s->rest.n < what.n || memcmp(s->rest.s, what.s, what.n) != 0)
        return false;
    s->rest.s += what.n;
    s->rest.n -= what.n;
    return true;
}

static void
expect(struct scan *s, struct str what)
{
    s->bad = !meets(s, what);
}

static struct str
text(struct scan *s, struct str before)
{
    struct str value = STR("");
    const char *end;

    expect(s, before);
    expect(s, STR("\""));
    end = s->bad ? NULL : memchr(s->rest.s, '"', s->rest.n);
    s->bad = end == NULL;
    if (s->bad)
        return value;
    value = (struct str){s->rest.s, (size_t)(end - s->rest.s)};
    s->rest.s += value.n + 1;
    s->rest.n -= value.n + 1;
    return value;
}

static int64_t
number(struct scan *s, struct str before)
{
    int64_t value = 0;
    size_t n = 0;

    expect(s, before);
    for (; !s->bad && n < s->rest.n && n < 18; n++) {
        char c = s->rest.s[n];

        if (c < '0' || c > '9')
            break;
        value = 10 * value + c - '0';
    }
    s->bad = s->bad || n == 0 || n == 18;
    if (!s->bad) {
        s->rest.s += n;
        s->rest.n -= n;
    }
    return value;
}

static void
digest_up_to(struct scan *s, const char *here)
{
    SHA256Update(&s->sha, (const uint8_t *)s->mark, (size_t)(here - s->mark));
    s->mark = here;
}

/* To the end of the list of GPUs, which hold no brackets; their number. */
static int64_t
count_gpus(struct scan *s)
{
    const char *end = s->bad ? NULL : memchr(s->rest.s, ']', s->rest.n);
    int64_t count = 0;

    s->bad = end == NULL;
    if (s->bad)
        return 0;
    for (const char *at = s->rest.s;
         (at = memchr(at, '{', (size_t)(end - at))) != NULL; at++)
        count++;
    s->rest.n -= (size_t)(end - s->rest.s);
    s->rest.s = end;
    return count;
}

static void
read_slot(struct scan *s, struct object_slot *slot)
{
    const char *here;

    slot->index = number(s, STR("{\"index\":"));
    slot->node = (struct object_ref){STR(""), STR("")};
    here = s->rest.s;
    if (meets(s, STR(",\"nodeRef\":{\"name\":"))) {
        digest_up_to(s, here);
        slot->node.name = text(s, STR(""));
        slot->node.uid = text(s, STR(",\"uid\":"));
        expect(s, STR("}"));
        s->mark = s->rest.s;
    }
    expect(s, STR(",\"gpus\":["));
    slot->gpus = count_gpus(s);
    expect(s, STR("]}"));
}

static void
read_head(struct scan *s, struct object_rack *rack)
{
    rack->inventory.name = text(s, STR("{\"inventoryRef\":{\"name\":"));
    rack->inventory.uid = text(s, STR(",\"uid\":"));
    rack->profile.name = text(s, STR("},\"profileRef\":{\"name\":"));
    rack->profile.uid = text(s, STR(",\"uid\":"));
    rack->profile_generation = number(s, STR(",\"generation\":"));
    rack->revision = text(s, STR(",\"revision\":"));
    rack->group = text(s, STR("},\"identity\":{\"rackGroup\":"));
    rack->index = number(s, STR(",\"rackIndex\":"));
    rack->fabric = text(s, STR(",\"fabricUUID\":"));
    rack->clique = number(s, STR(",\"cliqueID\":"));
    expect(s, STR("},\"nodes\":["));
}

static void
read_slots(struct scan *s, struct object_rack *rack, struct arena *arena)
{
    struct object_slot *slots =
        arena_alloc(arena, MAX_NODES_PER_RACK * sizeof(*slots));

    do {
        if (rack->slot_count == MAX_NODES_PER_RACK) {
            s->bad = true;
            return;
        }
        read_slot(s, &slots[rack->slot_count++]);
    } while (!s->bad && meets(s, STR(",")));
    rack->slots = slots;
}

bool
rack_text_read(struct object_rack *rack, struct str spec, struct arena *arena)
{
    struct scan s = {.rest = spec, .mark = spec.s};
    char hex[SHA256_DIGEST_STRING_LENGTH];

    *rack = (struct object_rack){0};
    if (memchr(spec.s, '\\', spec.n) != NULL)
        return false; /* something is escaped */
    SHA256Init(&s.sha);
    read_head(&s, rack);
    read_slots(&s, rack, arena);
    expect(&s, STR("]}"));
    if (s.bad || s.rest.n > 0)
        return false;
    digest_up_to(&s, s.rest.s);
    SHA256End(&s.sha, hex);
    rack->digest = arena_str(arena, str_of(hex));
    return true;
}
