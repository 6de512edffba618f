/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_JSON_VALUE_H
#define TESTS_UNIT_JSON_VALUE_H

/*
 * For tests only: JSON as the placer gets it, that is, a tree decoded from
 * msgpack; and the vectors of tests/vectors as a table of cmocka tests.
 * Include after cmocka.h.
 */
#include <jansson.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/mem.h"
#include "proto/object.h"
#include "proto/pack.h"
#include "proto/unpack.h"

#ifndef TEST_VECTORS
#define TEST_VECTORS "tests/vectors"
#endif

#define UNUSED __attribute__((unused))

static void
pack_json(struct buf *out, const json_t *json)
{
    const char *key;
    json_t *member;
    size_t i;

    switch (json_typeof(json)) {
    case JSON_OBJECT:
        pack_map(out, json_object_size(json));
        json_object_foreach((json_t *)(uintptr_t)json, key, member)
        {
            pack_text(out, key);
            pack_json(out, member);
        }
        break;
    case JSON_ARRAY:
        pack_array(out, json_array_size(json));
        json_array_foreach(json, i, member) pack_json(out, member);
        break;
    case JSON_STRING:
        pack_str(out, (struct str){json_string_value(json),
                                   json_string_length(json)});
        break;
    case JSON_INTEGER:
        pack_int(out, json_integer_value(json));
        break;
    case JSON_REAL:
        pack_real(out, json_real_value(json));
        break;
    case JSON_NULL:
        pack_nil(out);
        break;
    default:
        pack_bool(out, json_is_true(json));
        break;
    }
}

struct json_value {
    struct buf bytes;
    struct unpacked *unpacked;
    const struct value *root; /* NULL for JSON null */
};

static UNUSED void
json_value_init(struct json_value *v, const json_t *json)
{
    struct err err;

    *v = (struct json_value){0};
    if (json == NULL || json_is_null(json))
        return;
    pack_json(&v->bytes, json);
    v->unpacked = unpack_body(buf_str(&v->bytes), &err);
    if (v->unpacked == NULL)
        fail_msg("%s", err.text);
    v->root = unpacked_root(v->unpacked);
}

static UNUSED void
json_value_fini(struct json_value *v)
{
    unpacked_free(v->unpacked);
    buf_fini(&v->bytes);
    *v = (struct json_value){0};
}

static UNUSED json_t *
json_text(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    if (json == NULL)
        fail_msg("%s: %s", error.text, text);
    return json;
}

/* Of the JSON text. */
static UNUSED void
json_value_parse(struct json_value *v, const char *text)
{
    json_t *json = json_text(text);

    json_value_init(v, json);
    json_decref(json);
}

static UNUSED struct str
json_str(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return str_of(text);
}

static int64_t UNUSED
json_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* The member at a path such as "a.b.2.c" (a number is an item of a list). */
static UNUSED json_t *
json_at(json_t *root, const char *path)
{
    char *copy = mem_strdup(path);
    char *rest = copy;
    const char *part;

    while (root != NULL && (part = strsep(&rest, ".")) != NULL)
        root = json_is_array(root)
                   ? json_array_get(root, strtoul(part, NULL, 10))
                   : json_object_get(root, part);
    free(copy);
    return root;
}

/* Sets the member at a path (which must be there up to it), takes over json;
 * NULL removes it. */
static UNUSED void
json_put(json_t *root, const char *path, json_t *json)
{
    char *parent = mem_strdup(path);
    char *last = strrchr(parent, '.');
    json_t *at = root;

    if (last != NULL) {
        *last++ = '\0';
        at = json_at(root, parent);
    } else {
        last = parent;
    }
    if (json == NULL)
        assert_int_equal(json_object_del(at, last), 0);
    else if (json_is_array(at))
        assert_int_equal(json_array_set_new(at, strtoul(last, NULL, 10), json),
                         0);
    else
        assert_int_equal(json_object_set_new(at, last, json), 0);
    free(parent);
}

/* A vector file's list; the caller decrefs it. */
static UNUSED json_t *
vectors_load(const char *file)
{
    const char *dir = getenv("TEST_VECTORS");
    char *path = mem_printf("%s/%s", dir != NULL ? dir : TEST_VECTORS, file);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    json_t *list;

    if (root == NULL)
        fatal("%s: %s", path, error.text);
    free(path);
    list = json_incref(json_object_get(root, "vectors"));
    json_decref(root);
    return list;
}

/* A copy of the input's member at the key of the vector with that id. */
static UNUSED json_t *
vector_input(const char *file, const char *id, const char *key)
{
    json_t *vectors = vectors_load(file);
    json_t *found = NULL;
    json_t *vector;
    size_t i;

    json_array_foreach(vectors, i,
                       vector) if (str_is(json_str(vector, "id"), id)) found =
        json_deep_copy(json_object_get(json_object_get(vector, "input"), key));
    json_decref(vectors);
    if (found == NULL)
        fatal("no %s in %s of %s", key, id, file);
    return found;
}

/* Tests of one program: written ones, and one for each vector. */
struct test_table {
    struct CMUnitTest tests[200];
    size_t count;
    json_t *vectors; /* kept alive */
};

static UNUSED void
add_tests(struct test_table *table, const struct CMUnitTest *tests,
          size_t count)
{
    for (size_t i = 0; i < count; i++)
        table->tests[table->count++] = tests[i];
}

/*
 * A test for each vector of the type (NULL: any); its state is the vector.  The
 * name is prefix and the vector's id, '_' for '-'.  One vector, of a later
 * form of the API, is left out.
 */
static UNUSED void
add_vectors(struct test_table *table, const char *file, const char *type,
            const char *prefix, CMUnitTestFunction test)
{
    json_t *vectors = vectors_load(file);
    json_t *vector;
    size_t i;

    if (table->vectors == NULL)
        table->vectors = json_array();
    json_array_append_new(table->vectors, vectors);
    json_array_foreach(vectors, i, vector)
    {
        char *name;

        if (type != NULL && !str_is(json_str(vector, "type"), type))
            continue;
        if (str_is(json_str(vector, "id"), "rev-10"))
            continue;
        name = mem_printf("%s%s", prefix,
                          json_string_value(json_object_get(vector, "id")));
        for (char *c = name; *c != '\0'; c++)
            if (*c == '-')
                *c = '_';
        table->tests[table->count++] =
            (struct CMUnitTest){name, test, NULL, NULL, vector};
    }
}

/* Runs the table and gives back what it holds; what main returns. */
static UNUSED int
run_table(struct test_table *table, const char *group)
{
    int failed =
        _cmocka_run_group_tests(group, table->tests, table->count, NULL, NULL);

    for (size_t i = 0; i < table->count; i++)
        if (table->tests[i].initial_state != NULL)
            free((char *)(uintptr_t)table->tests[i].name);
    json_decref(table->vectors);
    return failed;
}

#endif
