/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/line.h"

#include <stdlib.h>

#include "common/mem.h"

static bool
before(const struct line_item *a, const struct line_item *b)
{
    return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

static void
set(struct line *line, size_t i, struct line_item *item)
{
    line->heap[i] = item;
    item->place = i + 1;
}

static void
rise(struct line *line, size_t i)
{
    struct line_item *item = line->heap[i];

    while (i > 0 && before(item, line->heap[(i - 1) / 2])) {
        set(line, i, line->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    set(line, i, item);
}

static void
sink(struct line *line, size_t i)
{
    struct line_item *item = line->heap[i];
    size_t child;

    while ((child = 2 * i + 1) < line->count) {
        if (child + 1 < line->count &&
            before(line->heap[child + 1], line->heap[child]))
            child++;
        if (!before(line->heap[child], item))
            break;
        set(line, i, line->heap[child]);
        i = child;
    }
    set(line, i, item);
}

void
line_fini(struct line *line)
{
    free(line->heap);
    *line = (struct line){0};
}

void
line_join(struct line *line, struct line_item *item, int64_t at)
{
    line_leave(line, item);
    if (line->count == line->capacity) {
        line->capacity = line->capacity == 0 ? 64 : 2 * line->capacity;
        line->heap =
            mem_resize(line->heap, line->capacity, sizeof(struct line_item *));
    }
    item->at = at;
    item->turn = line->turns++;
    set(line, line->count, item);
    rise(line, line->count++);
}

void
line_leave(struct line *line, struct line_item *item)
{
    size_t i = item->place;

    if (i-- == 0)
        return;
    item->place = 0;
    if (i == --line->count)
        return;
    set(line, i, line->heap[line->count]);
    rise(line, i);
    sink(line, i);
}

struct line_item *
line_first(const struct line *line)
{
    return line->count == 0 ? NULL : line->heap[0];
}
