/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/accept.h"

#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/map.h"
#include "common/mem.h"

/* A kind that is passed over. */
struct unknown {
    char *text; /* "Pod (v1)" */
    size_t line, count;
};

/* Files that hold what is no object are told up to so many, the others counted:
 * a folder may be full of them. */
#define STRANGE_FILES_MAX 20

struct accept {
    struct problems *problems;
    accept_fn *take;
    void *arg;
    struct map unknown; /* struct unknown by text, of this file */
    size_t seen;        /* objects and lists of this file */
    size_t strange;     /* of them, no objects of Kubernetes at all */
    struct place first; /* where the first of these is */
    size_t strange_files;
};

/* An object on its way. */
struct object {
    struct accept *a;
    struct piece *piece;
    struct place place;
    const json_t *within; /* the list that it is an item of, or NULL */
    size_t index;
};

struct accept *
accept_new(struct problems *problems, accept_fn *take, void *arg)
{
    struct accept *a = mem_zalloc(sizeof(*a));

    a->problems = problems;
    a->take = take;
    a->arg = arg;
    return a;
}

static void
forget_unknown(struct accept *a)
{
    struct unknown *u;
    size_t pos = 0;

    while ((u = map_next(&a->unknown, &pos)) != NULL) {
        free(u->text);
        free(u);
    }
    map_fini(&a->unknown);
}

void
accept_free(struct accept *a)
{
    if (a == NULL)
        return;
    forget_unknown(a);
    free(a);
}

static void
pass_over(struct accept *a, const struct place *place, const char *kind,
          const char *api_version)
{
    char *text = mem_printf("%s (%s)", kind, api_version);
    struct unknown *u = map_get(&a->unknown, text);

    if (u == NULL) {
        u = mem_zalloc(sizeof(*u));
        u->text = text;
        u->line = place->line;
        map_put(&a->unknown, u->text, u);
    } else {
        free(text);
    }
    u->count++;
}

/* What names neither kind nor apiVersion was not meant for us. */
static void
pass_stranger(struct accept *a, const struct place *place)
{
    if (a->strange++ == 0)
        a->first = *place;
}

static void
tell_strangers(struct accept *a)
{
    char more[64] = "";

    if (a->strange == 0 || ++a->strange_files > STRANGE_FILES_MAX)
        return;
    if (a->strange > 1)
        snprintf(more, sizeof(more), " (nor have %zu more in this file)",
                 a->strange - 1);
    problem(a->problems, PROBLEM_ERROR, &a->first,
            "no object of Kubernetes: it has neither kind nor apiVersion%s",
            more);
}

void
accept_end(struct accept *a)
{
    if (a->strange_files > STRANGE_FILES_MAX)
        problem(a->problems, PROBLEM_ERROR, &(struct place){0},
                "%zu more files hold what is no object of Kubernetes",
                a->strange_files - STRANGE_FILES_MAX);
}

bool
accept_file_end(struct accept *a, const char *file)
{
    bool any = a->seen > 0;
    struct unknown *u;
    size_t pos = 0;

    while ((u = map_next(&a->unknown, &pos)) != NULL)
        problem(a->problems, PROBLEM_WARNING,
                &(struct place){.file = file, .line = u->line},
                "kind %s has no part in a plan: %zu passed over", u->text,
                u->count);
    tell_strangers(a);
    forget_unknown(a);
    a->seen = a->strange = 0;
    return any;
}

/* The line of the innermost value on the way to the spot that is there. */
static size_t
line_of(const struct object *o, const struct spot *spot)
{
    for (; spot != NULL && spot->container != NULL; spot = spot->outer) {
        size_t line =
            piece_line(o->piece, spot->container, spot->key, spot->index);

        if (line > 0)
            return line;
    }
    return o->place.line;
}

static void
tell(const struct object *o, enum severity severity, const struct spot *spot,
     const char *what)
{
    struct place place = o->place;
    struct buf path = {0};
    char *text;

    place.line = line_of(o, spot);
    spot_add(&path, spot);
    text = buf_take(&path);
    problem(o->a->problems, severity, &place, "%s%s%s", text,
            text[0] == '\0' ? "" : ": ", what);
    free(text);
}

static void
is_wrong(void *arg, const struct spot *spot, const char *what)
{
    tell(arg, PROBLEM_ERROR, spot, what);
}

static void
is_unknown(void *arg, const struct spot *spot)
{
    tell(arg, PROBLEM_WARNING, spot, "there is no such field; it is ignored");
}

static void
hold_to_schema(struct object *o, const struct schema *schema, json_t *tree)
{
    const struct schema_report report = {is_wrong, is_unknown, o};
    size_t before = problems_errors(o->a->problems);

    schema_check(schema, tree, &report);
    if (problems_errors(o->a->problems) == before && o->piece->flaw != NULL)
        problem(o->a->problems, PROBLEM_ERROR, &o->place, "%s", o->piece->flaw);
    if (problems_errors(o->a->problems) > before)
        return;
    schema_settle(schema, tree);
    o->a->take(o->a->arg, schema, tree, &o->place);
}

static bool
is_list(const char *kind)
{
    size_t n = strlen(kind);

    return n >= 4 && strcmp(kind + n - 4, "List") == 0;
}

/* Items of a list such as NodeList may leave out what it says of them. */
static void
inherit(json_t *tree, const json_t *list)
{
    const char *kind = kube_json_text(list, "kind");

    if (kind[0] == '\0' || !is_list(kind) || strcmp(kind, "List") == 0 ||
        json_object_get(tree, "kind") != NULL ||
        json_object_get(tree, "apiVersion") != NULL)
        return;
    json_object_set_new(tree, "kind", json_stringn(kind, strlen(kind) - 4));
    json_object_set(tree, "apiVersion", json_object_get(list, "apiVersion"));
}

/* Whether both are there; tells what is not. */
static bool
has_type(const struct object *o, const char *kind, const char *api_version)
{
    const char *missing = kind[0] == '\0' ? "kind" : "apiVersion";

    if (kind[0] != '\0' && api_version[0] != '\0')
        return true;
    problem(o->a->problems, PROBLEM_ERROR, &o->place,
            "%s is missing, or is no text", missing);
    return false;
}

static bool
is_stranger(const json_t *tree)
{
    return json_object_get(tree, "kind") == NULL &&
           json_object_get(tree, "apiVersion") == NULL;
}

static void accept_tree(struct object *o, json_t *tree, const json_t *list);

static void
accept_items(const struct object *outer, json_t *list, json_t *items)
{
    json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        struct object o = *outer;

        o.within = items;
        o.index = i;
        o.place.item = i + 1;
        o.place.kind = o.place.name = NULL;
        accept_tree(&o, item, list);
    }
}

/* A kind of ours in a version that is not known is a mistake; another group's
 * kind of the same name is just another kind. */
static void
accept_version(struct object *o, json_t *tree, const struct schema *schema,
               const char *api_version)
{
    if (strcmp(api_version, schema->api_version) == 0)
        hold_to_schema(o, schema, tree);
    else if (strchr(schema->api_version, '/') == NULL)
        pass_over(o->a, &o->place, schema->kind, api_version);
    else
        problem(o->a->problems, PROBLEM_ERROR, &o->place,
                "apiVersion: must be %s, but is %s", schema->api_version,
                api_version);
}

static void
accept_tree(struct object *o, json_t *tree, const json_t *list)
{
    const struct spot here = {.container = o->within, .index = o->index};
    const struct schema *schema;
    const char *kind, *api_version;

    o->a->seen++;
    o->place.line = line_of(o, &here);
    inherit(tree, list);
    if (is_stranger(tree)) {
        pass_stranger(o->a, &o->place);
        return;
    }
    kind = kube_json_text(tree, "kind");
    api_version = kube_json_text(tree, "apiVersion");
    if (!has_type(o, kind, api_version))
        return;
    if (is_list(kind) && json_is_array(json_object_get(tree, "items"))) {
        accept_items(o, tree, json_object_get(tree, "items"));
        return;
    }
    schema = schema_of(kind);
    o->place.kind = kind;
    if (kube_json_text(tree, "metadata.name")[0] != '\0')
        o->place.name = kube_json_text(tree, "metadata.name");
    if (schema != NULL)
        accept_version(o, tree, schema, api_version);
    else if (strncmp(api_version, API_GROUP "/", strlen(API_GROUP "/")) == 0)
        problem(o->a->problems, PROBLEM_ERROR, &o->place,
                "kind: there is no kind %s in %s", kind, API_GROUP);
    else
        pass_over(o->a, &o->place, kind, api_version);
}

void
accept_piece(struct accept *a, struct piece *piece)
{
    struct object o = {.a = a, .piece = piece, .place = piece->place};
    const char *kind = kube_json_text(piece->tree, "kind");

    if (!piece->is_list) {
        accept_tree(&o, piece->tree, piece->list);
        return;
    }
    a->seen++;
    if (!is_list(kind))
        problem(a->problems, PROBLEM_ERROR, &o.place,
                "kind: must be List (or end so) where there are items");
}
