/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/json.h"

#include <inttypes.h>
#include <string.h>

static const char *
type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",
        [JSON_ARRAY] = "a list",
        [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number",
        [JSON_REAL] = "a number with a fraction",
        [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",
        [JSON_NULL] = "null",
    };

    return names[json_typeof(value)];
}

json_t *
kube_json_parse(struct str text, struct err *err)
{
    json_error_t error;
    json_t *root = json_loadb(text.s, text.n, JSON_DECODE_ANY, &error);

    if (root == NULL)
        err_set(err, "not JSON: line %d, column %d: %s", error.line,
                error.column, error.text);
    return root;
}

/* The member of object whose key is the n bytes at key. */
static json_t *
member(const json_t *object, const char *key, size_t n)
{
    char text[128];

    if (n >= sizeof(text))
        return NULL;
    memcpy(text, key, n);
    text[n] = '\0';
    return json_object_get(object, text);
}

/*
 * Follows path from root: 1 and *found, 0 if it leads nowhere, -1 and err if
 * something on the way is no object.
 */
static int
follow(const json_t *root, const char *path, const json_t **found,
       struct err *err)
{
    const json_t *at = root;
    const char *key = path;
    size_t n;

    while (at != NULL && *key != '\0') {
        if (json_is_null(at))
            return 0;
        if (!json_is_object(at))
            return err_set(err, "%.*s must be an object, but is %s",
                           key == path ? 8 : (int)(key - path - 1),
                           key == path ? "document" : path, type_name(at));
        n = strcspn(key, ".");
        at = member(at, key, n);
        key += n + (key[n] == '.');
    }
    *found = at;
    return at != NULL && !json_is_null(at);
}

static int
wrong_type(const char *path, const char *wanted, const json_t *found,
           struct err *err)
{
    return err_set(err, "%s must be %s, but is %s",
                   *path == '\0' ? "document" : path, wanted, type_name(found));
}

int
kube_json_str(const json_t *root, const char *path, const char **value,
              struct err *err)
{
    const json_t *found;
    int rc = follow(root, path, &found, err);

    if (rc <= 0)
        return rc;
    if (!json_is_string(found))
        return wrong_type(path, "a string", found, err);
    *value = json_string_value(found);
    return 1;
}

int
kube_json_int(const json_t *root, const char *path, int64_t min, int64_t max,
              int64_t *value, struct err *err)
{
    const json_t *found;
    int rc = follow(root, path, &found, err);
    int64_t number;

    if (rc <= 0)
        return rc;
    if (!json_is_integer(found))
        return wrong_type(path, "a whole number", found, err);
    number = json_integer_value(found);
    if (number < min || number > max)
        return err_set(
            err, "%s must be from %" PRId64 " to %" PRId64 ", but is %" PRId64,
            path, min, max, number);
    *value = number;
    return 1;
}

int
kube_json_bool(const json_t *root, const char *path, bool *value,
               struct err *err)
{
    const json_t *found;
    int rc = follow(root, path, &found, err);

    if (rc <= 0)
        return rc;
    if (!json_is_boolean(found))
        return wrong_type(path, "true or false", found, err);
    *value = json_is_true(found);
    return 1;
}

int
kube_json_object(const json_t *root, const char *path, json_t **value,
                 struct err *err)
{
    const json_t *found;
    int rc = follow(root, path, &found, err);

    if (rc <= 0)
        return rc;
    if (!json_is_object(found))
        return wrong_type(path, "an object", found, err);
    *value = (json_t *)found;
    return 1;
}

int
kube_json_array(const json_t *root, const char *path, json_t **value,
                struct err *err)
{
    const json_t *found;
    int rc = follow(root, path, &found, err);

    if (rc <= 0)
        return rc;
    if (!json_is_array(found))
        return wrong_type(path, "a list", found, err);
    *value = (json_t *)found;
    return 1;
}

const char *
kube_json_text(const json_t *root, const char *path)
{
    const char *text = "";

    kube_json_str(root, path, &text, NULL);
    return text;
}

json_t *
kube_json_at(const json_t *root, const char *path)
{
    const json_t *found = NULL;

    if (follow(root, path, &found, NULL) < 0)
        return NULL;
    return (json_t *)found;
}
