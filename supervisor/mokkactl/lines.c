/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/lines.h"

#include <stdlib.h>

#include "common/mem.h"

struct lines_entry {
    const json_t *container;
    size_t line;
};

void
lines_fini(struct lines *lines)
{
    free(lines->entries);
    *lines = (struct lines){0};
}

void
lines_add(struct lines *lines, const json_t *container, size_t line)
{
    if (lines->count == lines->room) {
        lines->room = lines->room == 0 ? 64 : lines->room * 2;
        lines->entries =
            mem_resize(lines->entries, lines->room, sizeof(*lines->entries));
    }
    lines->entries[lines->count++] = (struct lines_entry){container, line};
}

/* A walk over text that is known to be JSON. */
struct walk {
    struct lines *lines;
    struct str rest;
    size_t line;
};

static void
step(struct walk *w)
{
    if (w->rest.s[0] == '\n')
        w->line++;
    w->rest.s++;
    w->rest.n--;
}

/* To the next byte that is neither space nor one that separates. */
static void
skip_space(struct walk *w)
{
    while (w->rest.n > 0 && strchr(" \t\r\n,:", w->rest.s[0]) != NULL)
        step(w);
}

static void
skip_string(struct walk *w)
{
    step(w);
    while (w->rest.n > 0 && w->rest.s[0] != '"') {
        if (w->rest.s[0] == '\\')
            step(w);
        step(w);
    }
    if (w->rest.n > 0)
        step(w);
}

static void
skip_scalar(struct walk *w)
{
    if (w->rest.n > 0 && w->rest.s[0] == '"')
        skip_string(w);
    else
        while (w->rest.n > 0 && strchr(",]} \t\r\n", w->rest.s[0]) == NULL)
            step(w);
}

static void walk_value(struct walk *w, const json_t *value);

static void
walk_members(struct walk *w, const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, member)
        {
            skip_space(w);
            lines_add(w->lines, value, w->line);
            walk_value(w, member);
        }
        return;
    }
    json_object_foreach((json_t *)value, key, member)
    {
        skip_space(w);
        if (w->rest.n == 0 || w->rest.s[0] != '"')
            break; /* members that were added since */
        lines_add(w->lines, value, w->line);
        skip_string(w);
        walk_value(w, member);
    }
}

static void
walk_value(struct walk *w, const json_t *value)
{
    skip_space(w);
    if (!json_is_array(value) && !json_is_object(value)) {
        skip_scalar(w);
        return;
    }
    step(w);
    walk_members(w, value);
    skip_space(w);
    if (w->rest.n > 0)
        step(w);
}

void
lines_scan(struct lines *lines, const json_t *tree, struct str text,
           size_t first)
{
    struct walk w = {lines, text, first};

    walk_value(&w, tree);
}

/* Where among its siblings a member is; their number if it is not there. */
static size_t
position(const json_t *container, const char *key, size_t index)
{
    size_t at = 0;
    const char *other;
    json_t *member;

    if (json_is_array(container))
        return index;
    json_object_foreach((json_t *)container, other, member)
    {
        if (strcmp(other, key) == 0)
            break;
        at++;
    }
    return at;
}

size_t
lines_find(const struct lines *lines, const json_t *container, const char *key,
           size_t index)
{
    size_t at = position(container, key, index);

    for (size_t i = 0; i < lines->count; i++)
        if (lines->entries[i].container == container && at-- == 0)
            return lines->entries[i].line;
    return 0;
}
