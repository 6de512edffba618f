/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/prune.h"

#include <stdbool.h>
#include <string.h>

#include "common/kube/json.h"

/* keys[i] leads from the i-th object around this place to the next; in a list
 * it is empty. */
struct walk {
    struct str keys[PRUNE_DEPTH];
    size_t depth;    /* objects and lists around this place */
    struct str last; /* string: a key, if a colon follows */
};

static struct str
next_component(const char **path)
{
    struct str component = {*path, strcspn(*path, ".")};

    *path += component.n;
    *path += **path == '.';
    return component;
}

static bool
is_at(const struct walk *w, const char *path)
{
    for (size_t i = 0; i < w->depth; i++) {
        struct str component = next_component(&path);

        if (component.n == 0 ||
            (!str_is(component, "*") && !str_eq(component, w->keys[i])))
            return false;
    }
    return *path == '\0';
}

static bool
is_unwanted(const struct walk *w, const char *const *paths)
{
    if (w->depth == 0 || w->depth > PRUNE_DEPTH)
        return false;
    for (; *paths != NULL; paths++)
        if (is_at(w, *paths))
            return true;
    return false;
}

/* at is behind the opening quote; returns where the closing one is, or end. */
static const char *
string_end(const char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

/* at is behind the opening bracket; returns where its closing one is, or end.
 */
static const char *
bracket_end(const char *at, const char *end)
{
    size_t depth = 0;

    for (; at < end; at++) {
        switch (*at) {
        case '"':
            at = string_end(at + 1, end);
            if (at == end)
                return end;
            break;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (depth-- == 0)
                return at;
            break;
        default:
            break;
        }
    }
    return end;
}

static void
set_key(struct walk *w, struct str key)
{
    if (w->depth > 0 && w->depth <= PRUNE_DEPTH)
        w->keys[w->depth - 1] = key;
}

static void
enter(struct walk *w)
{
    w->depth++;
    set_key(w, STR(""));
}

/* What one byte outside of strings means for the place. */
static void
step(struct walk *w, char c)
{
    if (c == ':')
        set_key(w, w->last);
    else if (c == '{' || c == '[')
        enter(w);
    else if ((c == '}' || c == ']') && w->depth > 0)
        w->depth--;
}

void
kube_prune(struct buf *out, struct str text, const char *const *paths)
{
    const char *end = text.s + text.n;
    const char *from = text.s; /* what is not yet in out */
    struct walk w = {0};

    for (const char *at = text.s; at < end; at++) {
        if (*at == '"') {
            const char *close = string_end(at + 1, end);

            w.last = (struct str){at + 1, (size_t)(close - at - 1)};
            at = close < end ? close : end - 1;
        } else if ((*at == '{' || *at == '[') && is_unwanted(&w, paths)) {
            buf_add(out, from, (size_t)(at + 1 - from));
            from = bracket_end(at + 1, end);
            at = from < end ? from : end - 1;
        } else {
            step(&w, *at);
        }
    }
    buf_add(out, from, (size_t)(end - from));
}

json_t *
kube_json_parse_pruned(struct str text, const char *const *paths,
                       struct err *err)
{
    struct buf pruned = {0};
    json_t *root;

    kube_prune(&pruned, text, paths);
    root = kube_json_parse(buf_str(&pruned), NULL);
    buf_fini(&pruned);
    /* A fault is told by its place in what was given. */
    return root != NULL ? root : kube_json_parse(text, err);
}
