/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement selectors (mokka-api 6.2).
 *
 * Invalid is, in this order: one that names a label which the controller
 * writes, in matchLabels or in any expression, whatever the operator; then, in
 * matchLabels and in each expression: a key or value that no label can have; an
 * operator other than the four; In or NotIn without values, Exists or
 * DoesNotExist with some.
 *
 *   In             the key is there, with a value of the list (matchLabels: of
 *                  one)
 *   NotIn          the key is absent, or has another value
 *   Exists         the key is there
 *   DoesNotExist   it is absent
 */
#include "placer/selector.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/label.h"
#include "proto/unpack.h"

enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_DOES_NOT_EXIST, OP_COUNT };

static const struct {
    const char *name;
    bool values; /* takes some, else none */
} ops[OP_COUNT] = {
    [OP_IN] = {"In", true},
    [OP_NOT_IN] = {"NotIn", true},
    [OP_EXISTS] = {"Exists", false},
    [OP_DOES_NOT_EXIST] = {"DoesNotExist", false},
};

struct selector_term {
    struct str key;
    enum op op;
    struct str *values; /* sorted */
    size_t count;
};

#define SHOWN(t) ((t).n > 80 ? 80 : (int)(t).n), (t).s

/* The member, if it is of that kind (or absent: *v is NULL). */
static int
get(const struct value **v, const struct value *object, const char *key,
    enum value_kind kind, struct err *err)
{
    *v = value_get(object, key);
    if (*v != NULL && value_kind(*v) != kind)
        return err_set(err, "selector: %s is no %s", key,
                       kind == VALUE_MAP ? "object" : "list");
    return 0;
}

static size_t
count_of(const struct value *v)
{
    return v == NULL ? 0 : value_count(v);
}

static struct str
text(const struct value *object, const char *key)
{
    struct str s = STR("");

    value_str(value_get(object, key), &s);
    return s;
}

static bool
names(const struct value *labels, const struct value *expressions,
      const char *key)
{
    if (value_get(labels, key) != NULL)
        return true;
    for (size_t i = 0; i < count_of(expressions); i++)
        if (str_is(text(value_at(expressions, i), "key"), key))
            return true;
    return false;
}

static int
check_forbidden(const struct value *labels, const struct value *expressions,
                struct err *err)
{
    static const char *const forbidden[] = {LABEL_ASSIGNED, LABEL_CLIQUE};

    for (size_t i = 0; i < nitems(forbidden); i++)
        if (names(labels, expressions, forbidden[i]))
            return err_set(err,
                           "selector: the label %s belongs to the "
                           "controller",
                           forbidden[i]);
    return 0;
}

static int
compare_texts(const void *a, const void *b)
{
    const struct str *x = a;
    const struct str *y = b;

    return str_cmp(*x, *y);
}

static int
check_key(struct str key, struct err *err)
{
    if (label_key(key))
        return 0;
    return err_set(err, "selector: \"%.*s\" is no label key", SHOWN(key));
}

/* A copy of a value of the key, in *copy. */
static int
add_value(struct selector *s, struct selector_term *term, const struct value *v,
          struct err *err)
{
    struct str value;

    if (!value_str(v, &value))
        return err_set(err, "selector: key %.*s: a value is no text",
                       SHOWN(term->key));
    if (!label_value(value))
        return err_set(err, "selector: key %.*s: \"%.*s\" is no label value",
                       SHOWN(term->key), SHOWN(value));
    term->values[term->count++] = arena_str(&s->arena, value);
    return 0;
}

static struct selector_term *
add_term(struct selector *s, struct str key, enum op op, size_t values)
{
    struct selector_term *term = &s->terms[s->count++];

    term->key = arena_str(&s->arena, key);
    term->op = op;
    term->values = arena_alloc(&s->arena, values * sizeof(*term->values));
    return term;
}

static int
add_labels(struct selector *s, const struct value *labels, struct err *err)
{
    for (size_t i = 0; i < count_of(labels); i++) {
        struct str key = value_key(labels, i);

        if (value_kind(value_at(labels, i)) == VALUE_NIL)
            continue;
        if (check_key(key, err) != 0 ||
            add_value(s, add_term(s, key, OP_IN, 1), value_at(labels, i),
                      err) != 0)
            return -1;
    }
    return 0;
}

static int
parse_op(enum op *op, struct str key, struct str name, struct err *err)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (!str_is(name, ops[i].name))
            continue;
        *op = (enum op)i;
        return 0;
    }
    return err_set(err, "selector: key %.*s: operator \"%.*s\" is unknown",
                   SHOWN(key), SHOWN(name));
}

static int
add_expression(struct selector *s, const struct value *expression,
               struct err *err)
{
    struct str key = text(expression, "key");
    const struct value *values;
    struct selector_term *term;
    enum op op = (enum op)0;

    if (check_key(key, err) != 0 ||
        parse_op(&op, key, text(expression, "operator"), err) != 0 ||
        get(&values, expression, "values", VALUE_ARRAY, err) != 0)
        return -1;
    if ((count_of(values) > 0) != ops[op].values)
        return err_set(err,
                       "selector: key %.*s: %s with %zu values, it takes "
                       "%s",
                       SHOWN(key), ops[op].name, count_of(values),
                       ops[op].values ? "at least one" : "none");
    term = add_term(s, key, op, count_of(values));
    for (size_t i = 0; i < count_of(values); i++)
        if (add_value(s, term, value_at(values, i), err) != 0)
            return -1;
    qsort(term->values, term->count, sizeof(*term->values), compare_texts);
    return 0;
}

static int
compile(struct selector *s, const struct value *node_selector, struct err *err)
{
    const struct value *labels;
    const struct value *expressions;

    if (node_selector == NULL)
        return 0;
    if (value_kind(node_selector) != VALUE_MAP)
        return err_set(err, "selector: is no object");
    if (get(&labels, node_selector, "matchLabels", VALUE_MAP, err) != 0 ||
        get(&expressions, node_selector, "matchExpressions", VALUE_ARRAY,
            err) != 0 ||
        check_forbidden(labels, expressions, err) != 0)
        return -1;
    s->terms =
        arena_alloc(&s->arena, (count_of(labels) + count_of(expressions)) *
                                   sizeof(*s->terms));
    if (add_labels(s, labels, err) != 0)
        return -1;
    for (size_t i = 0; i < count_of(expressions); i++)
        if (add_expression(s, value_at(expressions, i), err) != 0)
            return -1;
    return 0;
}

int
selector_compile(struct selector *s, const struct value *node_selector,
                 struct err *err)
{
    *s = (struct selector){0};
    if (compile(s, node_selector, err) == 0)
        return 0;
    selector_fini(s);
    return -1;
}

static bool
lists(const struct selector_term *term, const struct str *value)
{
    return bsearch(value, term->values, term->count, sizeof(*value),
                   compare_texts) != NULL;
}

static bool
holds(const struct selector_term *term, struct pairs labels)
{
    const struct str *value = pairs_get(labels, term->key);

    switch (term->op) {
    case OP_IN:
        return value != NULL && lists(term, value);
    case OP_NOT_IN:
        return value == NULL || !lists(term, value);
    case OP_EXISTS:
        return value != NULL;
    default:
        return value == NULL;
    }
}

bool
selector_match(const struct selector *s, struct pairs labels)
{
    for (size_t i = 0; i < s->count; i++)
        if (!holds(&s->terms[i], labels))
            return false;
    return true;
}

static void
show_term(struct buf *out, const struct selector_term *term)
{
    bool single = term->op == OP_IN && term->count == 1;

    buf_addz(out, term->op == OP_DOES_NOT_EXIST ? ",!" : ",");
    buf_adds(out, term->key);
    if (term->count == 0)
        return;
    buf_addz(out, single ? "=" : term->op == OP_IN ? " in (" : " notin (");
    for (size_t i = 0; i < term->count; i++) {
        buf_addz(out, i == 0 ? "" : ",");
        buf_adds(out, term->values[i]);
    }
    buf_addz(out, single ? "" : ")");
}

void
selector_text(struct buf *out, const struct selector *s, size_t width)
{
    size_t start = out->len;

    for (size_t i = 0; i < s->count; i++) {
        size_t before = out->len;

        show_term(out, &s->terms[i]);
        if (out->len - start <= width)
            continue;
        out->len = before;
        buf_addz(out, ",...");
        return;
    }
}

void
selector_fini(struct selector *s)
{
    arena_fini(&s->arena);
    *s = (struct selector){0};
}
