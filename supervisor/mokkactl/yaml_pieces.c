/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/yaml_stream.h"
#include "common/mem.h"
#include "supervisor/mokkactl/piece.h"
#include "supervisor/mokkactl/scalar.h"

enum where { BETWEEN, IN_DOCUMENT, IN_ITEMS, AT_END };

struct yaml_pieces {
    struct input *in;
    struct kube_yaml_stream *stream;
    struct kube_yaml_step step; /* the current one */
    struct problems *problems;
    struct piece piece;
    enum where where;
    /* The document's own members; its lines are those of the piece when its
     * turn comes. */
    json_t *document;
    struct lines lines;
    size_t first; /* the line that it begins on */
    bool is_list;
    bool spoilt; /* it has had problems */
    /* Of the object that is being built: */
    struct lines *noting;
    size_t values, bytes;
    bool beyond;   /* a limit: it is passed over */
    size_t wrongs; /* problems told */
};

struct yaml_pieces *
yaml_pieces_new(struct input *in, const char *file, struct problems *problems)
{
    struct yaml_pieces *y = mem_zalloc(sizeof(*y));

    y->in = in;
    y->stream = kube_yaml_stream_new(input_read, in);
    y->problems = problems;
    y->piece.place.file = file;
    return y;
}

/* The last piece is done with. */
static void
forget(struct yaml_pieces *y)
{
    json_decref(y->piece.tree);
    y->piece.tree = NULL;
    lines_fini(&y->piece.lines);
}

void
yaml_pieces_free(struct yaml_pieces *y)
{
    if (y == NULL)
        return;
    forget(y);
    json_decref(y->document);
    lines_fini(&y->lines);
    kube_yaml_stream_free(y->stream);
    free(y);
}

static void tell(struct yaml_pieces *y, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
tell(struct yaml_pieces *y, const char *fmt, ...)
{
    struct place place = y->piece.place;
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        fatal("out of memory");
    va_end(ap);
    place.line = y->step.line;
    problem(y->problems, PROBLEM_ERROR, &place, "%s", text);
    y->wrongs++;
    free(text);
}

/* Moves on to the next step; false (told) if there is none to be had. */
static bool
advance(struct yaml_pieces *y)
{
    struct err err;

    if (kube_yaml_stream_next(y->stream, &y->step, &err) == 0)
        return true;
    if (input_failure(y->in) != 0)
        err_set(&err, "%s", strerror(input_failure(y->in)));
    tell(y, "%s", err.text);
    y->where = AT_END;
    return false;
}

static void
go_beyond(struct yaml_pieces *y, const char *limit)
{
    if (!y->beyond)
        tell(y, "an object %s", limit);
    y->beyond = true;
}

/* One value more. */
static void
count(struct yaml_pieces *y)
{
    y->bytes += y->step.text.n;
    if (++y->values > PIECE_VALUES_MAX)
        go_beyond(y, "of more than 262144 values");
    else if (y->bytes > PIECE_BYTES_MAX)
        go_beyond(y, "larger than 16 MiB");
}

/* libyaml's time goes with the square of the depth, so there is no reading on
 * behind what is too deep. */
static bool
stop_at_depth(struct yaml_pieces *y)
{
    go_beyond(y, "nested deeper than 100 levels; nothing behind it is read");
    y->where = AT_END;
    return false;
}

/* To the end of the value that began with the current step. */
static bool
skip(struct yaml_pieces *y)
{
    size_t depth = 0;

    do {
        if (y->step.kind == KUBE_YAML_MAP_BEGIN ||
            y->step.kind == KUBE_YAML_LIST_BEGIN)
            depth++;
        else if (y->step.kind == KUBE_YAML_END)
            depth--;
        if (depth > PIECE_DEPTH_MAX)
            return stop_at_depth(y);
        if (depth > 0 && !advance(y))
            return false;
    } while (depth > 0);
    return true;
}

static bool build(struct yaml_pieces *y, size_t depth, json_t **value);

/* The key at the current step, to be freed; NULL (told) if it is none. */
static char *
take_key(struct yaml_pieces *y, const json_t *map)
{
    struct str text = y->step.text;
    char *key;

    if (y->step.kind != KUBE_YAML_VALUE) {
        tell(y, "a key must be a text, no %s",
             y->step.kind == KUBE_YAML_ALIAS ? "alias" : "map or list");
        return NULL;
    }
    if (memchr(text.s, '\0', text.n) != NULL) {
        tell(y, "a key with a NUL in it");
        return NULL;
    }
    key = mem_dup(text.s, text.n);
    if (y->step.plain && strcmp(key, "<<") == 0)
        tell(y, "merging (<<) is not accepted here: write the members out");
    else if (json_object_get(map, key) != NULL)
        tell(y, "the key \"%.60s\" comes twice", key);
    else
        return key;
    free(key);
    return NULL;
}

/* A key and its value, from the key's step to the value's last one. */
static bool
build_member(struct yaml_pieces *y, size_t depth, json_t *map)
{
    char *key = take_key(y, map);
    size_t line = y->step.line;
    json_t *value = NULL;
    bool more = key != NULL || skip(y);

    more = more && advance(y) && build(y, depth, &value);
    if (more && key != NULL && !y->beyond) {
        lines_add(y->noting, map, line);
        json_object_set_new(map, key, value != NULL ? value : json_null());
        value = NULL;
    }
    json_decref(value);
    free(key);
    return more;
}

static bool
build_map(struct yaml_pieces *y, size_t depth, json_t *map)
{
    while (advance(y)) {
        if (y->step.kind == KUBE_YAML_END)
            return true;
        if (!build_member(y, depth + 1, map))
            break;
    }
    return false;
}

static bool
build_list(struct yaml_pieces *y, size_t depth, json_t *list)
{
    while (advance(y)) {
        size_t line = y->step.line;
        json_t *value = NULL;

        if (y->step.kind == KUBE_YAML_END)
            return true;
        if (!build(y, depth + 1, &value)) {
            json_decref(value);
            break;
        }
        if (y->beyond) {
            json_decref(value);
            continue;
        }
        lines_add(y->noting, list, line);
        json_array_append_new(list, value != NULL ? value : json_null());
    }
    return false;
}

static json_t *
take_value(struct yaml_pieces *y)
{
    struct err err;
    json_t *value =
        scalar_value(y->step.text, y->step.plain, y->step.tag, &err);

    if (value == NULL)
        tell(y, "%s", err.text);
    return value;
}

/*
 * The value that begins with the current step, up to its last step. false if
 * the file cannot be read on.  *value is NULL if there is none (which was
 * told), or it is beyond the limits.
 */
static bool
build(struct yaml_pieces *y, size_t depth, json_t **value)
{
    count(y);
    if (depth > PIECE_DEPTH_MAX)
        return stop_at_depth(y);
    if (y->beyond)
        return skip(y);
    switch (y->step.kind) {
    case KUBE_YAML_MAP_BEGIN:
        *value = json_object();
        return build_map(y, depth, *value);
    case KUBE_YAML_LIST_BEGIN:
        *value = json_array();
        return build_list(y, depth, *value);
    case KUBE_YAML_ALIAS:
        tell(y, "the alias *%.60s is not accepted here: write the value out",
             y->step.text.s);
        return true;
    default:
        *value = take_value(y);
        return true;
    }
}

/* What is built from now on is an object of its own. */
static void
begin(struct yaml_pieces *y, struct lines *lines)
{
    y->noting = lines;
    y->values = y->bytes = y->wrongs = 0;
    y->beyond = false;
}

static void
enter_document(struct yaml_pieces *y)
{
    y->piece.place.document++;
    y->piece.place.item = 0;
    y->where = IN_DOCUMENT;
    y->is_list = y->spoilt = false;
    begin(y, &y->lines);
}

/* The items of the document are over: its own members go on. */
static void
leave_items(struct yaml_pieces *y)
{
    y->where = IN_DOCUMENT;
    y->piece.place.item = 0;
    begin(y, &y->lines);
    y->values = json_object_size(y->document);
}

/* "items" and a list: what is in it comes piece by piece. true once the list
 * has begun. */
static bool
enter_items(struct yaml_pieces *y)
{
    size_t line = y->step.line;

    if (!str_is(y->step.text, "items") ||
        json_object_get(y->document, "items") != NULL || !advance(y))
        return false;
    if (y->step.kind == KUBE_YAML_LIST_BEGIN) {
        y->is_list = true;
        y->where = IN_ITEMS;
        y->spoilt = y->spoilt || y->wrongs > 0;
        lines_add(&y->lines, y->document, line);
        json_object_set_new(y->document, "items", json_array());
    }
    return true;
}

/* A member whose key is "items", but no list: the value is current. */
static bool
build_other_items(struct yaml_pieces *y)
{
    json_t *value = NULL;
    bool more;

    lines_add(&y->lines, y->document, y->step.line);
    more = build(y, 2, &value);
    json_object_set_new(y->document, "items",
                        value != NULL ? value : json_null());
    return more;
}

/* The members of the document: false at their end, or where its items
 * begin, or if nothing more can be read. */
static bool
build_members(struct yaml_pieces *y)
{
    while (y->where == IN_DOCUMENT && advance(y)) {
        if (y->step.kind == KUBE_YAML_END)
            return true;
        if (y->step.kind == KUBE_YAML_VALUE && enter_items(y)) {
            if (y->where == IN_DOCUMENT && !build_other_items(y))
                break;
        } else if (y->where != IN_DOCUMENT ||
                   !build_member(y, 2, y->document)) {
            break;
        }
    }
    return false;
}

/* From the first step of a document's value. */
static bool
open_document(struct yaml_pieces *y)
{
    if (!advance(y))
        return false;
    y->first = y->step.line;
    if (y->step.kind != KUBE_YAML_MAP_BEGIN)
        return build(y, 1, &y->document);
    y->document = json_object();
    return build_members(y);
}

/* The document is complete: it is the piece, unless it is empty or had
 * problems. */
static struct piece *
close_document(struct yaml_pieces *y)
{
    struct piece *p = &y->piece;
    bool spoilt = y->spoilt || y->wrongs > 0;

    p->tree = y->document;
    p->lines = y->lines;
    y->document = NULL;
    y->lines = (struct lines){0};
    p->list = NULL;
    p->is_list = y->is_list;
    p->place.line = y->first;
    y->where = advance(y) ? BETWEEN : AT_END; /* DOCUMENT_END */
    if (spoilt || json_is_null(p->tree))
        return NULL;
    return p->tree == NULL ? NULL : p;
}

/* The next item, whose first step is current. */
static struct piece *
take_item(struct yaml_pieces *y)
{
    struct piece *p = &y->piece;

    begin(y, &p->lines);
    p->place.item++;
    p->place.line = y->step.line;
    p->list = y->document;
    p->is_list = false;
    if (!build(y, 1, &p->tree) || y->wrongs > 0)
        return NULL;
    return p->tree == NULL ? NULL : p;
}

/* One step further: a piece, or NULL if there is none yet (or no more). */
static struct piece *
work(struct yaml_pieces *y)
{
    if (y->where == BETWEEN) {
        if (!advance(y))
            return NULL;
        if (y->step.kind == KUBE_YAML_STREAM_END) {
            y->where = AT_END;
            return NULL;
        }
        enter_document(y);
        return open_document(y) ? close_document(y) : NULL;
    }
    if (!advance(y))
        return NULL;
    if (y->step.kind != KUBE_YAML_END)
        return take_item(y);
    leave_items(y);
    return build_members(y) ? close_document(y) : NULL;
}

struct piece *
yaml_pieces_next(struct yaml_pieces *y)
{
    struct piece *p = NULL;

    while (p == NULL && y->where != AT_END) {
        forget(y);
        p = work(y);
    }
    return p;
}
