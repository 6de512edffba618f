/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/again.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"

#define REST_FIRST (5 * CLOCK_MS)
#define REST_MOST (1000 * CLOCK_SECOND)
#define MEMORY (60 * CLOCK_SECOND) /* after the rest */
#define ROOM_FIRST 64

/* The last that was carried out on an object. */
struct again_mark {
    uint64_t object, content;
    int64_t last;
    unsigned times; /* 0: a free place */
};

static int64_t
due(const struct again_mark *m)
{
    if (m->times < 2)
        return m->last;
    if (m->times >= 20) /* 5 ms doubled so often is more than the most */
        return m->last + REST_MOST;
    return m->last + (REST_FIRST << (m->times - 2));
}

static bool
is_kept(const struct again_mark *m, int64_t now)
{
    return m->times > 0 && now < due(m) + MEMORY;
}

/* Where an object is, or would go: not more than half of the places are used.
 */
static struct again_mark *
place(struct again_mark *marks, size_t room, uint64_t object)
{
    size_t at = (size_t)object & (room - 1);

    while (marks[at].times > 0 && marks[at].object != object)
        at = (at + 1) & (room - 1);
    return &marks[at];
}

/* Room for one more, and what is long ago goes. */
static void
make_room(struct again *a, int64_t now)
{
    struct again old = *a;
    size_t kept = 0;

    if (a->room > 0 && (a->used + 1) * 2 <= a->room)
        return;
    for (size_t i = 0; i < old.room; i++)
        kept += is_kept(&old.marks[i], now);
    a->room = ROOM_FIRST;
    while (a->room * 2 < (kept + 1) * 5) /* some room until the next time */
        a->room *= 2;
    a->marks = mem_zalloc(a->room * sizeof(*a->marks));
    a->used = kept;
    for (size_t i = 0; i < old.room; i++)
        if (is_kept(&old.marks[i], now))
            *place(a->marks, a->room, old.marks[i].object) = old.marks[i];
    free(old.marks);
}

void
again_done(struct again *a, uint64_t object, uint64_t content, int64_t now)
{
    struct again_mark *m;

    make_room(a, now);
    m = place(a->marks, a->room, object);
    if (m->times == 0)
        a->used++;
    if (m->content != content || !is_kept(m, now))
        m->times = 0;
    *m = (struct again_mark){object, content, now, m->times + 1};
}

struct again_look
again_look(const struct again *a, uint64_t object, uint64_t content,
           int64_t now)
{
    const struct again_mark *m;

    if (a->room == 0)
        return (struct again_look){0};
    m = place(a->marks, a->room, object);
    if (m->content != content || !is_kept(m, now))
        return (struct again_look){0};
    return (struct again_look){m->times, due(m)};
}

size_t
again_count(const struct again *a, unsigned times, int64_t now)
{
    size_t count = 0;

    for (size_t i = 0; i < a->room; i++)
        count += a->marks[i].times >= times && is_kept(&a->marks[i], now);
    return count;
}

void
again_fini(struct again *a)
{
    free(a->marks);
    *a = (struct again){0};
}
