/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/yaml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/mem.h"

#define TEXT_MAX ((size_t)1 << 20)
#define DEPTH_MAX 32
#define NODES_MAX 16384

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    const char *file;
    size_t nodes;
};

static struct kube_yaml *read_node(struct reader *reader, int depth,
                                   struct err *err);

/* Says what is wrong at the current event. */
static int
refuse(const struct reader *reader, struct err *err, const char *what)
{
    return err_set(err, "%s:%zu: %s", reader->file,
                   reader->event.start_mark.line + 1, what);
}

/* Moves on to the next event. */
static int
advance(struct reader *reader, struct err *err)
{
    const yaml_parser_t *parser = &reader->parser;

    if (reader->has_event)
        yaml_event_delete(&reader->event);
    reader->has_event = yaml_parser_parse(&reader->parser, &reader->event) != 0;
    if (reader->has_event)
        return 0;
    return err_set(err, "%s:%zu: not YAML: %s", reader->file,
                   (parser->problem_mark.line > parser->context_mark.line
                        ? parser->problem_mark.line
                        : parser->context_mark.line) +
                       1,
                   parser->problem == NULL ? "cannot be read"
                                           : parser->problem);
}

static struct kube_yaml *
node_new(struct reader *reader, enum kube_yaml_kind kind, struct err *err)
{
    struct kube_yaml *node;

    if (++reader->nodes > NODES_MAX) {
        refuse(reader, err, "too many values in this file");
        return NULL;
    }
    node = mem_zalloc(sizeof(*node));
    node->kind = kind;
    node->file = reader->file;
    node->line = reader->event.start_mark.line + 1;
    return node;
}

static struct kube_yaml *
read_scalar(struct reader *reader, struct err *err)
{
    struct kube_yaml *node = node_new(reader, KUBE_YAML_SCALAR, err);
    const char *text = (const char *)reader->event.data.scalar.value;
    size_t n = reader->event.data.scalar.length;

    if (node == NULL)
        return NULL;
    node->text = mem_dup(text, n);
    node->plain_null =
        reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        (n == 0 || strcmp(node->text, "~") == 0 ||
         strcmp(node->text, "null") == 0);
    if (strlen(node->text) == n)
        return node;
    refuse(reader, err, "a NUL inside a value");
    kube_yaml_free(node);
    return NULL;
}

static void
append(struct kube_yaml *node, struct kube_yaml *item)
{
    node->items =
        mem_resize(node->items, node->n_items + 1, sizeof(struct kube_yaml *));
    node->items[node->n_items++] = item;
}

/* The key at the current event, as memory of its own; NULL and err. */
static char *
read_key(struct reader *reader, const struct kube_yaml *map, struct err *err)
{
    const char *key = (const char *)reader->event.data.scalar.value;

    if (reader->event.type != YAML_SCALAR_EVENT) {
        refuse(reader, err, "a key must be a plain text");
        return NULL;
    }
    if (kube_yaml_get(map, key) != NULL) {
        err_set(err, "%s:%zu: the key \"%.64s\" comes twice", reader->file,
                reader->event.start_mark.line + 1, key);
        return NULL;
    }
    return mem_strdup(key);
}

static int
read_entry(struct reader *reader, struct kube_yaml *map, int depth,
           struct err *err)
{
    char *key = read_key(reader, map, err);
    struct kube_yaml *value;

    if (key == NULL)
        return -1;
    value = advance(reader, err) < 0 ? NULL : read_node(reader, depth, err);
    if (value == NULL) {
        free(key);
        return -1;
    }
    value->key = key;
    append(map, value);
    return 0;
}

static int
read_item(struct reader *reader, struct kube_yaml *list, int depth,
          struct err *err)
{
    struct kube_yaml *value = read_node(reader, depth, err);

    if (value == NULL)
        return -1;
    append(list, value);
    return 0;
}

/* A map or list: from its start event to its end event. */
static struct kube_yaml *
read_nested(struct reader *reader, enum kube_yaml_kind kind, int depth,
            struct err *err)
{
    yaml_event_type_t end = kind == KUBE_YAML_MAP ? YAML_MAPPING_END_EVENT
                                                  : YAML_SEQUENCE_END_EVENT;
    struct kube_yaml *node;
    int rc;

    if (depth >= DEPTH_MAX) {
        refuse(reader, err, "nested too deeply");
        return NULL;
    }
    node = node_new(reader, kind, err);
    if (node == NULL)
        return NULL;
    while ((rc = advance(reader, err)) == 0 && reader->event.type != end) {
        rc = kind == KUBE_YAML_MAP ? read_entry(reader, node, depth + 1, err)
                                   : read_item(reader, node, depth + 1, err);
        if (rc < 0)
            break;
    }
    if (rc == 0)
        return node;
    kube_yaml_free(node);
    return NULL;
}

/* The value that starts at the current event; leaves its last event current. */
static struct kube_yaml *
read_node(struct reader *reader, int depth, struct err *err)
{
    switch (reader->event.type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(reader, err);
    case YAML_MAPPING_START_EVENT:
        return read_nested(reader, KUBE_YAML_MAP, depth, err);
    case YAML_SEQUENCE_START_EVENT:
        return read_nested(reader, KUBE_YAML_LIST, depth, err);
    case YAML_ALIAS_EVENT:
        refuse(reader, err, "aliases (*name) are not accepted here");
        return NULL;
    default:
        refuse(reader, err, "unexpected end");
        return NULL;
    }
}

/* From the start of the stream to its end: one document, or none. */
static struct kube_yaml *
read_stream(struct reader *reader, struct err *err)
{
    struct kube_yaml *root = NULL;

    if (advance(reader, err) < 0 || advance(reader, err) < 0)
        return NULL;
    if (reader->event.type == YAML_STREAM_END_EVENT)
        return node_new(reader, KUBE_YAML_MAP, err);
    if (advance(reader, err) < 0 ||
        (root = read_node(reader, 0, err)) == NULL ||
        advance(reader, err) < 0 || advance(reader, err) < 0) {
        kube_yaml_free(root);
        return NULL;
    }
    if (reader->event.type == YAML_STREAM_END_EVENT)
        return root;
    refuse(reader, err, "a second document: only one is accepted");
    kube_yaml_free(root);
    return NULL;
}

struct kube_yaml *
kube_yaml_parse(struct str text, const char *file, struct err *err)
{
    struct reader reader = {.file = file};
    struct kube_yaml *root;

    if (text.n > TEXT_MAX) {
        err_set(err, "%s: larger than %zu bytes", file, TEXT_MAX);
        return NULL;
    }
    if (!yaml_parser_initialize(&reader.parser))
        fatal("out of memory (YAML)");
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.s,
                                 text.n);
    root = read_stream(&reader, err);
    if (reader.has_event)
        yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return root;
}

void
kube_yaml_free(struct kube_yaml *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->n_items; i++)
        kube_yaml_free(node->items[i]);
    if (node->text != NULL)
        explicit_bzero(node->text, strlen(node->text));
    free(node->items);
    free(node->text);
    free(node->key);
    free(node);
}

const struct kube_yaml *
kube_yaml_get(const struct kube_yaml *node, const char *key)
{
    if (node == NULL || node->kind != KUBE_YAML_MAP)
        return NULL;
    for (size_t i = 0; i < node->n_items; i++)
        if (strcmp(node->items[i]->key, key) == 0)
            return node->items[i];
    return NULL;
}
