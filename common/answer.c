/* SPDX-License-Identifier: Apache-2.0 */
#include "common/answer.h"

#include <stdlib.h>

#include "common/mem.h"
#include "proto/pack.h"

#define PIECE (64u << 10)

struct answer {
    struct answer *next;
    uint32_t id;
    bool ok;
    struct buf text; /* not sent yet */
};

/* A piece ends with a line where one ends in it. */
static struct str
next_piece(const struct answer *a)
{
    struct str all = buf_str(&a->text);
    const char *end;

    if (all.n <= PIECE)
        return all;
    end = memrchr(all.s, '\n', PIECE);
    return (struct str){all.s, end == NULL ? PIECE : (size_t)(end - all.s + 1)};
}

/* True: that was the last piece. */
static bool
send_piece(struct answer *a, struct chan *control)
{
    struct str piece = next_piece(a);
    bool last = piece.n == a->text.len;
    struct buf body = {0};

    pack_array(&body, 3);
    pack_bool(&body, last);
    pack_bool(&body, a->ok);
    pack_str(&body, piece);
    chan_send(control, MSG_ANSWER, a->id, buf_str(&body));
    buf_fini(&body);
    buf_drop(&a->text, piece.n);
    return last;
}

static void
drop(struct answer *a)
{
    buf_fini(&a->text);
    free(a);
}

static struct answer **
find(struct answers *list, uint32_t id)
{
    struct answer **at = &list->first;

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

void
answers_give(struct answers *list, struct chan *control, uint32_t id, bool ok,
             struct buf *text)
{
    struct answer *a = mem_zalloc(sizeof(*a));

    a->id = id;
    a->ok = ok;
    a->text = *text;
    *text = (struct buf){0};
    if (send_piece(a, control)) {
        drop(a);
        return;
    }
    a->next = list->first;
    list->first = a;
}

void
answers_more(struct answers *list, struct chan *control, uint32_t id)
{
    struct answer **at = find(list, id);
    struct answer *a = *at;

    if (a == NULL || !send_piece(a, control))
        return;
    *at = a->next;
    drop(a);
}

void
answers_forget(struct answers *list, uint32_t id)
{
    struct answer **at = find(list, id);
    struct answer *a = *at;

    if (a == NULL)
        return;
    *at = a->next;
    drop(a);
}

void
answers_fini(struct answers *list)
{
    while (list->first != NULL)
        answers_forget(list, list->first->id);
}
