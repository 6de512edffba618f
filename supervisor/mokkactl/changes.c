/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/changes.h"

#include <stdbool.h>
#include <string.h>

#include "common/buf.h"

struct walk {
    const char *const *skip;
    change_fn *tell;
    void *arg;
    struct buf path;
};

static void compare(struct walk *w, const json_t *before, const json_t *now);

static bool
is_skipped(const struct walk *w, const char *key)
{
    for (const char *const *s = w->skip; *s != NULL; s++)
        if (strcmp(*s, key) == 0)
            return true;
    return false;
}

static void
tell(struct walk *w, const json_t *before, const json_t *now)
{
    char *path;

    path = strndup(buf_str(&w->path).s, w->path.len);
    w->tell(w->arg, path, before, now);
    free(path);
}

/* Keys of labels and the like have dots of their own. */
static void
step_to_key(struct walk *w, const char *key)
{
    if (strpbrk(key, "./") != NULL)
        buf_printf(&w->path, "[%s]", key);
    else
        buf_printf(&w->path, ".%s", key);
}

static void
compare_member(struct walk *w, const char *key, const json_t *before,
               const json_t *now)
{
    size_t len = w->path.len;

    if (is_skipped(w, key))
        return;
    step_to_key(w, key);
    compare(w, json_object_get(before, key), json_object_get(now, key));
    w->path.len = len;
}

static json_t *
walkable(const json_t *value)
{
    return (json_t *)value;
}

static void
compare_objects(struct walk *w, const json_t *before, const json_t *now)
{
    const char *key;
    json_t *value;

    json_object_foreach(walkable(before), key, value)
    {
        compare_member(w, key, before, now);
    }
    json_object_foreach(walkable(now), key, value)
    {
        if (json_object_get(before, key) == NULL)
            compare_member(w, key, before, now);
    }
}

static void
compare_lists(struct walk *w, const json_t *before, const json_t *now)
{
    size_t n = json_array_size(before);
    size_t len = w->path.len;

    if (json_array_size(now) > n)
        n = json_array_size(now);
    for (size_t i = 0; i < n; i++) {
        buf_printf(&w->path, "[%zu]", i);
        compare(w, json_array_get(before, i), json_array_get(now, i));
        w->path.len = len;
    }
}

static void
compare(struct walk *w, const json_t *before, const json_t *now)
{
    if (before != NULL && now != NULL && json_equal(before, now))
        return;
    if (json_is_object(before) && json_is_object(now))
        compare_objects(w, before, now);
    else if (json_is_array(before) && json_is_array(now))
        compare_lists(w, before, now);
    else if (before != NULL || now != NULL)
        tell(w, before, now);
}

void
changes(const char *path, const json_t *before, const json_t *now,
        const char *const *skip, change_fn *tell_, void *arg)
{
    struct walk w = {.skip = skip, .tell = tell_, .arg = arg};

    buf_addz(&w.path, path);
    compare(&w, before, now);
    buf_fini(&w.path);
}
