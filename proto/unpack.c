/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/unpack.h"

#include <msgpack.h>
#include <stdlib.h>

#include "common/mem.h"
#include "proto/check.h"

/* A struct value is a msgpack_object seen through this file only. */
static const msgpack_object *
object(const struct value *v)
{
    return (const msgpack_object *)v;
}

static const struct value *
view(const msgpack_object *o)
{
    return (const struct value *)o;
}

struct unpacked {
    msgpack_unpacked result;
};

struct unpacked *
unpack_body(struct str body, struct err *err)
{
    struct unpacked *u;
    size_t at = 0;

    if (check_body(body, err) != 0)
        return NULL;
    u = mem_zalloc(sizeof(*u));
    msgpack_unpacked_init(&u->result);
    if (msgpack_unpack_next(&u->result, body.s, body.n, &at) ==
        MSGPACK_UNPACK_SUCCESS)
        return u;
    unpacked_free(u);
    err_set(err, "body of %zu bytes cannot be decoded", body.n);
    return NULL;
}

const struct value *
unpacked_root(const struct unpacked *u)
{
    return view(&u->result.data);
}

void
unpacked_free(struct unpacked *u)
{
    if (u == NULL)
        return;
    msgpack_unpacked_destroy(&u->result);
    free(u);
}

enum value_kind
value_kind(const struct value *v)
{
    static const enum value_kind kinds[] = {
        [MSGPACK_OBJECT_NIL] = VALUE_NIL,
        [MSGPACK_OBJECT_BOOLEAN] = VALUE_BOOL,
        [MSGPACK_OBJECT_POSITIVE_INTEGER] = VALUE_INT,
        [MSGPACK_OBJECT_NEGATIVE_INTEGER] = VALUE_INT,
        [MSGPACK_OBJECT_FLOAT32] = VALUE_REAL,
        [MSGPACK_OBJECT_FLOAT64] = VALUE_REAL,
        [MSGPACK_OBJECT_STR] = VALUE_STR,
        [MSGPACK_OBJECT_ARRAY] = VALUE_ARRAY,
        [MSGPACK_OBJECT_MAP] = VALUE_MAP,
    };
    unsigned type = (unsigned)object(v)->type;

    return type < nitems(kinds) ? kinds[type] : VALUE_OTHER;
}

size_t
value_count(const struct value *v)
{
    switch (value_kind(v)) {
    case VALUE_ARRAY:
        return object(v)->via.array.size;
    case VALUE_MAP:
        return object(v)->via.map.size;
    default:
        return 0;
    }
}

const struct value *
value_at(const struct value *v, size_t i)
{
    if (i >= value_count(v))
        fatal("value %zu of %zu", i, value_count(v));
    if (value_kind(v) == VALUE_ARRAY)
        return view(&object(v)->via.array.ptr[i]);
    return view(&object(v)->via.map.ptr[i].val);
}

struct str
value_key(const struct value *v, size_t i)
{
    struct str key = STR("");

    if (value_kind(v) != VALUE_MAP || i >= value_count(v))
        fatal("key %zu of %zu", i, value_count(v));
    value_str(view(&object(v)->via.map.ptr[i].key), &key);
    return key;
}

const struct value *
value_get(const struct value *v, const char *key)
{
    if (v == NULL || value_kind(v) != VALUE_MAP)
        return NULL;
    for (size_t i = value_count(v); i-- > 0;)
        if (str_is(value_key(v, i), key))
            return value_kind(value_at(v, i)) == VALUE_NIL ? NULL
                                                           : value_at(v, i);
    return NULL;
}

bool
value_str(const struct value *v, struct str *out)
{
    const msgpack_object_str *s;

    if (v == NULL || value_kind(v) != VALUE_STR)
        return false;
    s = &object(v)->via.str;
    if (s->size > 0 && memchr(s->ptr, '\0', s->size) != NULL)
        return false;
    *out = (struct str){s->size == 0 ? "" : s->ptr, s->size};
    return true;
}

bool
value_int(const struct value *v, int64_t *out)
{
    if (v == NULL || value_kind(v) != VALUE_INT)
        return false;
    if (object(v)->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        *out = object(v)->via.i64;
        return true;
    }
    if (object(v)->via.u64 > INT64_MAX)
        return false;
    *out = (int64_t)object(v)->via.u64;
    return true;
}

bool
value_bool(const struct value *v, bool *out)
{
    if (v == NULL || value_kind(v) != VALUE_BOOL)
        return false;
    *out = object(v)->via.boolean;
    return true;
}

struct unpack
unpack_fields(const struct value *array)
{
    return (struct unpack){
        .array = array,
        .bad = array == NULL || value_kind(array) != VALUE_ARRAY,
    };
}

const struct value *
unpack_value(struct unpack *u)
{
    if (!u->bad && u->next < value_count(u->array))
        return value_at(u->array, u->next++);
    u->bad = true;
    return NULL;
}

struct str
unpack_str(struct unpack *u)
{
    struct str text = STR("");

    if (!value_str(unpack_value(u), &text))
        u->bad = true;
    return text;
}

int64_t
unpack_int(struct unpack *u)
{
    int64_t number = 0;

    if (!value_int(unpack_value(u), &number))
        u->bad = true;
    return number;
}

bool
unpack_bool(struct unpack *u)
{
    bool yes = false;

    if (!value_bool(unpack_value(u), &yes))
        u->bad = true;
    return yes;
}

static const struct value *
container(struct unpack *u, enum value_kind kind)
{
    const struct value *v = unpack_value(u);

    if (v != NULL && value_kind(v) == kind)
        return v;
    u->bad = true;
    return NULL;
}

const struct value *
unpack_array(struct unpack *u)
{
    return container(u, VALUE_ARRAY);
}

const struct value *
unpack_map(struct unpack *u)
{
    return container(u, VALUE_MAP);
}

int
unpack_end(const struct unpack *u, struct err *err)
{
    if (u->bad)
        return err_set(err, "field %zu is missing or of another kind", u->next);
    if (u->next != value_count(u->array))
        return err_set(err, "%zu fields, %zu expected", value_count(u->array),
                       u->next);
    return 0;
}
