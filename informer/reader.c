/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/reader.h"

#include "common/clock.h"
#include "common/kube/json.h"

struct reader
reader_open(const struct reader *outer, const json_t *root)
{
    return (struct reader){root, outer->arena, outer->err, outer->bad};
}

void
reader_close(struct reader *outer, const struct reader *inner)
{
    outer->bad = outer->bad || inner->bad;
}

/* Notes the first fault. */
static void
fault(struct reader *r, const char *path, const char *what)
{
    if (!r->bad)
        err_set(r->err, "%s %s", path, what);
    r->bad = true;
}

struct str
reader_text(struct reader *r, const char *path)
{
    const char *text = "";

    if (!r->bad && kube_json_str(r->root, path, &text, r->err) < 0)
        r->bad = true;
    return str_of(text);
}

struct str
reader_need_text(struct reader *r, const char *path)
{
    struct str text = reader_text(r, path);

    if (text.n == 0)
        fault(r, path, "is missing");
    return text;
}

int64_t
reader_number(struct reader *r, const char *path)
{
    int64_t number = 0;

    if (!r->bad &&
        kube_json_int(r->root, path, INT64_MIN, INT64_MAX, &number, r->err) < 0)
        r->bad = true;
    return number;
}

int
reader_choice(struct reader *r, const char *path)
{
    bool yes = false;
    int found = r->bad ? 0 : kube_json_bool(r->root, path, &yes, r->err);

    if (found < 0)
        r->bad = true;
    return found > 0 ? yes : -1;
}

const json_t *
reader_list(struct reader *r, const char *path)
{
    json_t *list = NULL;

    if (!r->bad && kube_json_array(r->root, path, &list, r->err) < 0)
        r->bad = true;
    return list;
}

const json_t *
reader_object(struct reader *r, const char *path)
{
    json_t *object = NULL;

    if (!r->bad && kube_json_object(r->root, path, &object, r->err) < 0)
        r->bad = true;
    return object;
}

/* The text of a value in a list or map at path. */
static struct str
element(struct reader *r, const char *path, const json_t *value)
{
    if (json_is_string(value))
        return str_of(json_string_value(value));
    fault(r, path, "holds something other than a string");
    return STR("");
}

struct pairs
reader_pairs(struct reader *r, const char *path)
{
    json_t *object = (json_t *)reader_object(r, path);
    struct pair *items =
        arena_alloc(r->arena, json_object_size(object) * sizeof(*items));
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        items[count++] = (struct pair){str_of(key), element(r, path, value)};
    }
    pairs_sort(items, count);
    return (struct pairs){items, count, NULL};
}

struct strs
reader_strs(struct reader *r, const char *path)
{
    const json_t *list = reader_list(r, path);
    size_t count = json_array_size(list);
    struct str *items = arena_alloc(r->arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++)
        items[i] = element(r, path, json_array_get(list, i));
    return (struct strs){items, count};
}

int64_t
reader_time(struct reader *r, const char *path)
{
    struct str text = reader_text(r, path);
    int64_t ns = 0;

    if (text.n > 0 && clock_parse(text, &ns, NULL) != 0)
        fault(r, path, "is no time");
    return ns / CLOCK_SECOND;
}

int
reader_end(const struct reader *r)
{
    return r->bad ? -1 : 0;
}
