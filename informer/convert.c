/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/convert.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "proto/pack.h"

/* jansson's walks take no const, though they change nothing. */
static json_t *
walkable(const json_t *value)
{
    return (json_t *)value;
}

static size_t
members(const json_t *object)
{
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach(walkable(object), key, value)
    {
        if (!json_is_null(value))
            count++;
    }
    return count;
}

static int
pack_object(struct buf *out, const json_t *object, int depth, struct err *err)
{
    const char *key;
    json_t *value;

    pack_map(out, members(object));
    json_object_foreach(walkable(object), key, value)
    {
        if (json_is_null(value))
            continue;
        pack_text(out, key);
        if (convert_msgpack(out, value, depth - 1, err) != 0)
            return -1;
    }
    return 0;
}

static int
pack_list(struct buf *out, const json_t *list, int depth, struct err *err)
{
    size_t i;
    json_t *value;

    pack_array(out, json_array_size(list));
    json_array_foreach(walkable(list), i, value)
    {
        if (convert_msgpack(out, value, depth - 1, err) != 0)
            return -1;
    }
    return 0;
}

static struct str
text_of(const json_t *string)
{
    return (struct str){json_string_value(string), json_string_length(string)};
}

int
convert_msgpack(struct buf *out, const json_t *value, int depth,
                struct err *err)
{
    if (depth <= 0)
        return err_set(err, "it is nested too deep");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return pack_object(out, value, depth, err);
    case JSON_ARRAY:
        return pack_list(out, value, depth, err);
    case JSON_STRING:
        pack_str(out, text_of(value));
        break;
    case JSON_INTEGER:
        pack_int(out, json_integer_value(value));
        break;
    case JSON_REAL:
        pack_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        pack_bool(out, json_is_true(value));
        break;
    case JSON_NULL:
        pack_nil(out);
        break;
    }
    return 0;
}

static int
by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of the members that are to be written, sorted; to be freed. */
static const char **
sorted_keys(const json_t *object, const char *skip, size_t *count)
{
    const char **keys =
        mem_zalloc((json_object_size(object) + 1) * sizeof(*keys));
    const char *key;
    json_t *value;

    *count = 0;
    json_object_foreach(walkable(object), key, value)
    {
        if (!json_is_null(value) && (skip == NULL || strcmp(key, skip) != 0))
            keys[(*count)++] = key;
    }
    qsort(keys, *count, sizeof(*keys), by_text);
    return keys;
}

static void
write_object(struct buf *out, const json_t *object, const char *skip)
{
    size_t count;
    const char **keys = sorted_keys(object, skip, &count);

    buf_addc(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_addc(out, ',');
        json_text_string(out, str_of(keys[i]));
        buf_addc(out, ':');
        convert_canonical(out, json_object_get(object, keys[i]), NULL);
    }
    buf_addc(out, '}');
    free(keys);
}

static void
write_list(struct buf *out, const json_t *list)
{
    size_t i;
    json_t *value;

    buf_addc(out, '[');
    json_array_foreach(walkable(list), i, value)
    {
        if (i > 0)
            buf_addc(out, ',');
        convert_canonical(out, value, NULL);
    }
    buf_addc(out, ']');
}

void
convert_canonical(struct buf *out, const json_t *value, const char *skip)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(out, value, skip);
        break;
    case JSON_ARRAY:
        write_list(out, value);
        break;
    case JSON_STRING:
        json_text_string(out, text_of(value));
        break;
    case JSON_INTEGER:
        buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        buf_printf(out, "%.17g", json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        buf_addz(out, json_is_true(value) ? "true" : "false");
        break;
    case JSON_NULL:
        buf_addz(out, "null");
        break;
    }
}
