/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/map.h"
#include "common/mem.h"
#include "supervisor/mokkactl/schema_form.h"

/* Longer texts are cut when they are shown. */
#define SHOWN 60

/* Below so many items, comparing each with each is faster than a map. */
#define FEW 16

struct check {
    const struct schema_report *report;
};

void
spot_add(struct buf *out, const struct spot *spot)
{
    if (spot == NULL || spot->container == NULL)
        return;
    spot_add(out, spot->outer);
    if (spot->key == NULL)
        buf_printf(out, "[%zu]", spot->index);
    else if (spot->named)
        buf_printf(out, "[%s]", spot->key);
    else
        buf_printf(out, "%s%s", out->len > 0 ? "." : "", spot->key);
}

static void wrong(const struct check *c, const struct spot *spot,
                  const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void
wrong(const struct check *c, const struct spot *spot, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        fatal("out of memory");
    va_end(ap);
    c->report->wrong(c->report->arg, spot, text);
    free(text);
}

static const char *
type_of(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",
        [JSON_ARRAY] = "a list",
        [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a whole number",
        [JSON_REAL] = "a number with a fraction",
        [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",
        [JSON_NULL] = "null",
    };

    if (json_is_real(value) && fabs(json_real_value(value)) >= 0x1p63)
        return "a number beyond 64 bits";
    return names[json_typeof(value)];
}

/* What a field must be, and the jansson types that may be it. */
static const struct {
    const char *says;
    unsigned types;
} types[] = {
    [FIELD_ANY] = {"anything", ~0u},
    [FIELD_OBJECT] = {"an object", 1u << JSON_OBJECT},
    [FIELD_LIST] = {"a list", 1u << JSON_ARRAY},
    [FIELD_MAP] = {"an object", 1u << JSON_OBJECT},
    [FIELD_STRING] = {"a text", 1u << JSON_STRING},
    [FIELD_INT32] = {"a whole number", 1u << JSON_INTEGER},
    [FIELD_INT64] = {"a whole number", 1u << JSON_INTEGER},
    [FIELD_BOOL] = {"true or false", 1u << JSON_TRUE | 1u << JSON_FALSE},
    [FIELD_QUANTITY] = {"a text or a whole number",
                        1u << JSON_STRING | 1u << JSON_INTEGER},
};

/* A number such as 4.0 or 1e2 is the integer that it equals. */
static bool
is_whole(const json_t *value, int64_t *number)
{
    double real = json_real_value(value);

    if (json_is_integer(value)) {
        *number = json_integer_value(value);
        return true;
    }
    if (!json_is_real(value) || real < -0x1p63 || real >= 0x1p63 ||
        (double)(int64_t)real != real)
        return false;
    *number = (int64_t)real;
    return true;
}

static bool
has_type(const struct field *f, const json_t *value)
{
    int64_t number;

    return (types[f->type].types & 1u << json_typeof(value)) != 0 ||
           ((types[f->type].types & 1u << JSON_INTEGER) != 0 &&
            is_whole(value, &number));
}

/* "1 to 64", "0 or more". */
static void
add_range(struct buf *out, const struct field *f)
{
    if (f->most == INT64_MAX)
        buf_printf(out, "%" PRId64 " or more", f->least);
    else if (f->least == f->most)
        buf_printf(out, "%" PRId64, f->least);
    else
        buf_printf(out, "%" PRId64 " to %" PRId64, f->least, f->most);
}

static bool
in_range(const struct field *f, int64_t number)
{
    return !f->bounded || (number >= f->least && number <= f->most);
}

/* Tells that a measure ("characters") of the value is out of its range. */
static void
out_of_range(const struct check *c, const struct spot *spot,
             const struct field *f, const char *measure, int64_t number)
{
    struct buf range = {0};
    char *text;

    add_range(&range, f);
    text = buf_take(&range);
    if (measure == NULL)
        wrong(c, spot, "must be %s, but is %" PRId64, text, number);
    else
        wrong(c, spot, "must have %s %s, but has %" PRId64, text, measure,
              number);
    free(text);
}

static void
check_number(const struct check *c, const struct spot *spot,
             const struct field *f, const json_t *value)
{
    int64_t number = 0;

    is_whole(value, &number);
    if (f->type == FIELD_INT32 && (number < INT32_MIN || number > INT32_MAX))
        wrong(c, spot, "must fit in 32 bits, but is %" PRId64, number);
    else if (!in_range(f, number))
        out_of_range(c, spot, f, NULL, number);
}

static struct str
text_of(const json_t *value)
{
    return (struct str){json_string_value(value), json_string_length(value)};
}

static int64_t
characters(struct str text)
{
    int64_t count = 0;

    for (size_t i = 0; i < text.n; i++)
        count += (text.s[i] & 0xc0) != 0x80;
    return count;
}

/* For messages: in quotes, and not too long. */
static char *
quoted(struct str text)
{
    bool cut = text.n > SHOWN;
    size_t n = cut ? SHOWN : text.n;

    while (cut && n > 0 && (text.s[n] & 0xc0) == 0x80)
        n--;
    return mem_printf("\"%.*s%s\"", (int)n, text.s, cut ? "..." : "");
}

static bool
is_choice(const char *const *choices, struct str text)
{
    for (; *choices != NULL; choices++)
        if (str_is(text, *choices))
            return true;
    return false;
}

static void
not_a_choice(const struct check *c, const struct spot *spot,
             const struct field *f, const char *is)
{
    struct buf list = {0};
    char *text;

    for (const char *const *choice = f->choices; *choice != NULL; choice++)
        buf_printf(&list, "%s\"%s\"", choice == f->choices ? "" : ", ",
                   *choice);
    text = buf_take(&list);
    wrong(c, spot, "must be %s%s, but is %s",
          f->choices[1] == NULL ? "" : "one of ", text, is);
    free(text);
}

static void
check_text(const struct check *c, const struct spot *spot,
           const struct field *f, struct str text)
{
    char *is = quoted(text);

    if (f->choices != NULL && !is_choice(f->choices, text))
        not_a_choice(c, spot, f, is);
    if (!in_range(f, characters(text)))
        out_of_range(c, spot, f, "characters", characters(text));
    else if (f->form != NULL && !f->form->fits(text))
        wrong(c, spot, "%s, but is %s", f->form->says, is);
    free(is);
}

static void
check_quantity(const struct check *c, const struct spot *spot,
               const json_t *value)
{
    static const struct field quantity = {.type = FIELD_STRING,
                                          .form = &form_quantity};

    if (json_is_string(value))
        check_text(c, spot, &quantity, text_of(value));
}

static void check_value(const struct check *c, const struct spot *spot,
                        const struct field *f, const json_t *value);

/* What tells an item from others, as text; NULL if it has nothing such. */
static char *
item_key(const struct field *f, const json_t *item)
{
    const json_t *value = f->set ? item : json_object_get(item, f->key);
    int64_t number;

    if (value == NULL)
        return NULL;
    if (is_whole(value, &number))
        return mem_printf("%" PRId64, number);
    if (json_is_string(value))
        return mem_printf("\"%s", json_string_value(value));
    return NULL;
}

static void
same_as(const struct check *c, const struct spot *spot, const struct field *f,
        size_t first)
{
    if (f->set)
        wrong(c, spot, "is the same as item %zu; none may come twice", first);
    else
        wrong(c, spot, "has the same %s as item %zu", f->key, first);
}

/* Compares each key with those before. */
static void
find_twins_of_few(const struct check *c, struct spot *spot,
                  const struct field *f, char *const *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t j = 0;

        while (j < i && (keys[i] == NULL || keys[j] == NULL ||
                         strcmp(keys[i], keys[j]) != 0))
            j++;
        spot->index = i;
        if (j < i)
            same_as(c, spot, f, j);
    }
}

static void
find_twins(const struct check *c, struct spot *spot, const struct field *f,
           char **keys, size_t count)
{
    struct map seen = {0};

    for (size_t i = 0; i < count; i++) {
        char **first = keys[i] == NULL ? NULL : map_get(&seen, keys[i]);

        spot->index = i;
        if (first != NULL)
            same_as(c, spot, f, (size_t)(first - keys));
        else if (keys[i] != NULL)
            map_put(&seen, keys[i], &keys[i]);
    }
    map_fini(&seen);
}

static void
check_unique(const struct check *c, const struct spot *outer,
             const struct field *f, const json_t *list)
{
    struct spot spot = {.outer = outer, .container = list};
    size_t count = json_array_size(list);
    char **keys = mem_zalloc(count * sizeof(*keys));

    for (size_t i = 0; i < count; i++)
        keys[i] = item_key(f, json_array_get(list, i));
    if (count <= FEW)
        find_twins_of_few(c, &spot, f, keys, count);
    else
        find_twins(c, &spot, f, keys, count);
    for (size_t i = 0; i < count; i++)
        free(keys[i]);
    free(keys);
}

static void
check_list(const struct check *c, const struct spot *outer,
           const struct field *f, const json_t *list)
{
    struct spot spot = {.outer = outer, .container = list};
    const json_t *item;

    if (!in_range(f, (int64_t)json_array_size(list)))
        out_of_range(c, outer, f, "items", (int64_t)json_array_size(list));
    json_array_foreach(list, spot.index, item)
    {
        check_value(c, &spot, f->item, item);
    }
    if (f->set || f->key != NULL)
        check_unique(c, outer, f, list);
}

/* jansson's walks take no const, though they change nothing. */
static json_t *
walkable(const json_t *value)
{
    return (json_t *)value;
}

static void
check_map(const struct check *c, const struct spot *outer,
          const struct field *f, const json_t *map)
{
    struct spot spot = {.outer = outer, .container = map, .named = true};
    json_t *value;

    json_object_foreach(walkable(map), spot.key, value)
    {
        if (f->form != NULL && !f->form->fits(str_of(spot.key)))
            wrong(c, &spot, "the key %s", f->form->says);
        if (!json_is_null(value))
            check_value(c, &spot, f->item, value);
    }
}

static const struct field *
member_of(const struct field *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->members[i].name, name) == 0)
            return &f->members[i];
    return NULL;
}

static bool
is_there(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return value != NULL && !json_is_null(value);
}

static void
check_object(const struct check *c, const struct spot *outer,
             const struct field *f, const json_t *object)
{
    struct spot spot = {.outer = outer, .container = object};
    const char *what;
    json_t *value;

    json_object_foreach(walkable(object), spot.key, value)
    {
        const struct field *member = member_of(f, spot.key);

        if (member == NULL)
            c->report->unknown(c->report->arg, &spot);
        else if (!json_is_null(value))
            check_value(c, &spot, member, value);
    }
    for (size_t i = 0; i < f->count; i++) {
        spot.key = f->members[i].name;
        if (f->members[i].required && !is_there(object, spot.key))
            wrong(c, &spot, "is missing");
    }
    what = f->rule == NULL ? NULL : f->rule(object);
    if (what != NULL)
        wrong(c, outer, "%s", what);
}

static void
check_value(const struct check *c, const struct spot *spot,
            const struct field *f, const json_t *value)
{
    if (!has_type(f, value)) {
        wrong(c, spot, "must be %s, but is %s", types[f->type].says,
              type_of(value));
        return;
    }
    switch (f->type) {
    case FIELD_OBJECT:
        check_object(c, spot, f, value);
        break;
    case FIELD_LIST:
        check_list(c, spot, f, value);
        break;
    case FIELD_MAP:
        check_map(c, spot, f, value);
        break;
    case FIELD_STRING:
        check_text(c, spot, f, text_of(value));
        break;
    case FIELD_INT32:
    case FIELD_INT64:
        check_number(c, spot, f, value);
        break;
    case FIELD_QUANTITY:
        check_quantity(c, spot, value);
        break;
    case FIELD_BOOL:
    case FIELD_ANY:
        break;
    }
}

void
schema_check(const struct schema *schema, const json_t *object,
             const struct schema_report *report)
{
    const struct check c = {report};
    const struct spot root = {0};

    check_value(&c, &root, &schema->root, object);
}

/* ---- what the server stores -------------------------------------------- */

static void settle(const struct field *f, json_t *value);

/* The integer that a member must be, if it is written as something else. */
static json_t *
as_integer(const struct field *f, const json_t *value)
{
    int64_t number;

    if ((types[f->type].types & 1u << JSON_INTEGER) == 0 ||
        !json_is_real(value) || !is_whole(value, &number))
        return NULL;
    return json_integer(number);
}

static void
settle_members(const struct field *f, json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value)
    {
        const struct field *member =
            f->type == FIELD_MAP ? f->item : member_of(f, key);
        json_t *integer = member == NULL ? NULL : as_integer(member, value);

        if (member == NULL || json_is_null(value))
            json_object_del(object, key);
        else if (integer != NULL)
            json_object_set_new(object, key, integer);
        else
            settle(member, value);
    }
}

static void
settle_items(const struct field *f, json_t *list)
{
    json_t *value;
    size_t i;

    json_array_foreach(list, i, value)
    {
        json_t *integer = as_integer(f->item, value);

        if (integer != NULL)
            json_array_set_new(list, i, integer);
        else
            settle(f->item, value);
    }
}

static void
settle(const struct field *f, json_t *value)
{
    if (f->type == FIELD_OBJECT || f->type == FIELD_MAP)
        settle_members(f, value);
    else if (f->type == FIELD_LIST)
        settle_items(f, value);
}

void
schema_settle(const struct schema *schema, json_t *object)
{
    settle(&schema->root, object);
}
