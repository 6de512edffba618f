/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical text of a profile (mokka-api 4.1 to 4.3).
 *
 * The tables of canonical_members.c are 4.3: per object its members in the
 * order written, each with the rule when it is left out, and its type.  One
 * walk reads and writes by them.  Sorted are: the keys of a map, lists of
 * numbers and of texts (all such lists here are sets), and the objects of a
 * list that names a member to sort by.  Nothing else is changed: texts are as
 * they came, and an empty object differs from an absent one.
 */
#include "placer/canonical.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "placer/canonical_members.h"
#include "placer/quantity.h"
#include "proto/unpack.h"

/* Where the walk is, for errors: a member of what is above, or an item. */
struct step {
    const struct step *above;
    struct str name;
    size_t item; /* if there is no name */
};

static int write_object(struct buf *out, const struct canonical_member *members,
                        const struct value *v, const struct step *at,
                        struct err *err);

static void
path(struct buf *out, const struct step *at)
{
    if (at->above != NULL)
        path(out, at->above);
    if (at->name.s == NULL) {
        buf_printf(out, "[%zu]", at->item);
        return;
    }
    if (at->above != NULL)
        buf_addc(out, '.');
    buf_adds(out, at->name);
}

static int
fail(const struct step *at, struct err *err, const char *what)
{
    struct buf text = {0};

    path(&text, at);
    err_set(err, "%.*s: %s", (int)text.len, buf_bytes(&text), what);
    buf_fini(&text);
    return -1;
}

static int
read_integer(int64_t *n, enum canonical_type type, const struct value *v,
             const struct step *at, struct err *err)
{
    *n = 0;
    if (v == NULL)
        return 0;
    if (!value_int(v, n))
        return fail(at, err, "not an integer of 64 bits");
    if (type != CANONICAL_INT64 && (*n < INT32_MIN || *n > INT32_MAX))
        return fail(at, err, "not an integer of 32 bits");
    return 0;
}

static int
write_integer(struct buf *out, enum canonical_type type, const struct value *v,
              const struct step *at, struct err *err)
{
    int64_t n;

    if (read_integer(&n, type, v, at, err) != 0)
        return -1;
    buf_printf(out, "%" PRId64, n);
    return 0;
}

static int
write_boolean(struct buf *out, const struct value *v, const struct step *at,
              struct err *err)
{
    bool yes = false;

    if (v != NULL && !value_bool(v, &yes))
        return fail(at, err, "neither true nor false");
    buf_addz(out, yes ? "true" : "false");
    return 0;
}

static int
read_text(struct str *text, const struct value *v, const struct step *at,
          struct err *err)
{
    *text = STR("");
    if (v != NULL && !value_str(v, text))
        return fail(at, err, "not a text (without NUL)");
    return 0;
}

static int
write_text(struct buf *out, const struct value *v, const struct step *at,
           struct err *err)
{
    struct str text;

    if (read_text(&text, v, at, err) != 0)
        return -1;
    json_text_string(out, text);
    return 0;
}

static int
write_quantity(struct buf *out, const struct value *v, const struct step *at,
               struct err *err)
{
    struct str text = STR("0");
    struct err why;
    char digits[24];
    int64_t n;

    if (value_int(v, &n)) {
        snprintf(digits, sizeof(digits), "%" PRId64, n);
        text = str_of(digits);
    } else if (v != NULL && !value_str(v, &text)) {
        return fail(at, err, "neither a text nor an integer");
    }
    buf_addc(out, '"');
    if (quantity_canonical(out, text, &why) != 0)
        return fail(at, err, why.text);
    buf_addc(out, '"');
    return 0;
}

static int
compare_numbers(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    return (*x > *y) - (*x < *y);
}

static int
write_numbers(struct buf *out, const struct value *v, const struct step *at,
              struct err *err)
{
    size_t count = value_count(v);
    int64_t *numbers = mem_zalloc(count * sizeof(*numbers));
    int failed = 0;

    for (size_t i = 0; i < count && failed == 0; i++) {
        const struct step item = {at, {NULL, 0}, i};

        failed = read_integer(&numbers[i], CANONICAL_INT32, value_at(v, i),
                              &item, err);
    }
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%" PRId64, i == 0 ? "[" : ",", numbers[i]);
    buf_addz(out, count == 0 ? "[]" : "]");
    free(numbers);
    return failed;
}

static int
compare_texts(const void *a, const void *b)
{
    const struct str *x = a;
    const struct str *y = b;

    return str_cmp(*x, *y);
}

static int
write_texts(struct buf *out, const struct value *v, const struct step *at,
            struct err *err)
{
    size_t count = value_count(v);
    struct str *texts = mem_zalloc(count * sizeof(*texts));
    int failed = 0;

    for (size_t i = 0; i < count && failed == 0; i++) {
        const struct step item = {at, {NULL, 0}, i};

        failed = read_text(&texts[i], value_at(v, i), &item, err);
    }
    qsort(texts, count, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < count; i++) {
        buf_addc(out, i == 0 ? '[' : ',');
        json_text_string(out, texts[i]);
    }
    buf_addz(out, count == 0 ? "[]" : "]");
    free(texts);
    return failed;
}

/* An object of a list or map, and what it is sorted by. */
struct item {
    int64_t number;
    struct str key;
    size_t place; /* in the list as it came */
    const struct value *value;
};

static int
compare_items(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int order = (x->number > y->number) - (x->number < y->number);

    if (order == 0)
        order = str_cmp(x->key, y->key);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static int
write_objects(struct buf *out, const struct canonical_member *m,
              const struct value *v, const struct step *at, struct err *err)
{
    size_t count = value_count(v);
    struct item *items = mem_zalloc(count * sizeof(*items));
    int failed = 0;

    for (size_t i = 0; i < count && failed == 0; i++) {
        const struct step item = {at, {NULL, 0}, i};
        const struct step by = {&item, str_of(m->sort_by), 0};

        items[i] = (struct item){0, {NULL, 0}, i, value_at(v, i)};
        if (m->sort_by != NULL)
            failed =
                read_integer(&items[i].number, CANONICAL_INT32,
                             value_get(items[i].value, m->sort_by), &by, err);
    }
    if (m->sort_by != NULL && failed == 0)
        qsort(items, count, sizeof(*items), compare_items);
    buf_addc(out, '[');
    for (size_t i = 0; i < count && failed == 0; i++) {
        const struct step item = {at, {NULL, 0}, items[i].place};

        if (i > 0)
            buf_addc(out, ',');
        failed = write_object(out, m->members, items[i].value, &item, err);
    }
    buf_addc(out, ']');
    free(items);
    return failed;
}

static int
write_map(struct buf *out, const struct canonical_member *m,
          const struct value *v, const struct step *at, struct err *err)
{
    struct item *items = mem_zalloc(value_count(v) * sizeof(*items));
    size_t count = 0;
    int failed = 0;

    for (size_t i = 0; i < value_count(v); i++)
        if (value_kind(value_at(v, i)) != VALUE_NIL)
            items[count++] =
                (struct item){0, value_key(v, i), i, value_at(v, i)};
    qsort(items, count, sizeof(*items), compare_items);
    buf_addc(out, '{');
    for (size_t i = 0; i < count && failed == 0; i++) {
        const struct step member = {at, items[i].key, 0};

        if (i > 0)
            buf_addc(out, ',');
        json_text_string(out, items[i].key);
        buf_addc(out, ':');
        failed = write_object(out, m->members, items[i].value, &member, err);
    }
    buf_addc(out, '}');
    free(items);
    return failed;
}

static int
write_list(struct buf *out, const struct canonical_member *m,
           const struct value *v, const struct step *at, struct err *err)
{
    if (v == NULL) {
        buf_addz(out, "null");
        return 0;
    }
    if (value_kind(v) != VALUE_ARRAY)
        return fail(at, err, "not a list");
    if (m->type == CANONICAL_NUMBERS)
        return write_numbers(out, v, at, err);
    if (m->type == CANONICAL_TEXTS)
        return write_texts(out, v, at, err);
    return write_objects(out, m, v, at, err);
}

/* Writes the value (NULL: absent) of a member. */
static int
write_value(struct buf *out, const struct canonical_member *m,
            const struct value *v, const struct step *at, struct err *err)
{
    switch (m->type) {
    case CANONICAL_BOOLEAN:
        return write_boolean(out, v, at, err);
    case CANONICAL_INT32:
    case CANONICAL_INT64:
        return write_integer(out, m->type, v, at, err);
    case CANONICAL_TEXT:
        return write_text(out, v, at, err);
    case CANONICAL_QUANTITY:
        return write_quantity(out, v, at, err);
    case CANONICAL_OBJECT:
        return write_object(out, m->members, v, at, err);
    case CANONICAL_MAP:
        if (v != NULL && value_kind(v) != VALUE_MAP)
            return fail(at, err, "not an object");
        return write_map(out, m, v, at, err);
    default:
        return write_list(out, m, v, at, err);
    }
}

/* Is this text of a value what CANONICAL_UNLESS_ZERO leaves out? */
static bool
is_zero(struct str text)
{
    static const char *const zeros[] = {"0", "false", "\"\"", "[]", "{}"};

    for (size_t i = 0; i < nitems(zeros); i++)
        if (str_is(text, zeros[i]))
            return true;
    return false;
}

static int
write_member(struct buf *out, const struct canonical_member *m,
             const struct value *v, const struct step *at, struct err *err)
{
    size_t before = out->len;
    size_t start;
    struct str text;

    if (v == NULL && m->rule == CANONICAL_NEEDED)
        return fail(at, err, "is missing");
    if (v == NULL && m->rule != CANONICAL_ALWAYS)
        return 0;
    buf_printf(out, "%s\"%s\":", buf_bytes(out)[out->len - 1] == '{' ? "" : ",",
               m->name);
    start = out->len;
    if (write_value(out, m, v, at, err) != 0)
        return -1;
    text = (struct str){buf_bytes(out) + start, out->len - start};
    if (m->rule == CANONICAL_UNLESS_ZERO && is_zero(text))
        out->len = before;
    return 0;
}

static int
write_object(struct buf *out, const struct canonical_member *members,
             const struct value *v, const struct step *at, struct err *err)
{
    if (v != NULL && value_kind(v) != VALUE_MAP)
        return fail(at, err, "not an object");
    buf_addc(out, '{');
    for (const struct canonical_member *m = members; m->name != NULL; m++) {
        const struct step below = {at, str_of(m->name), 0};

        if (write_member(out, m, value_get(v, m->name), &below, err) != 0)
            return -1;
    }
    buf_addc(out, '}');
    return 0;
}

int
canonical_profile(struct buf *out, const struct value *spec, struct err *err)
{
    const struct step root = {NULL, STR("spec"), 0};

    return write_object(out, canonical_members, spec, &root, err);
}
