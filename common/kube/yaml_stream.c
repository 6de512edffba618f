/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/yaml_stream.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/mem.h"

struct kube_yaml_stream {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    kube_yaml_read_fn *read;
    void *arg;
    size_t since_step; /* bytes taken since the last event */
    bool too_long;
    /* What was read last, to find the line of a byte in it. */
    char *chunk;
    size_t chunk_size;
    size_t before, lines_before; /* bytes and lines before it */
};

static size_t
count_lines(const char *bytes, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static void
keep_chunk(struct kube_yaml_stream *stream, const unsigned char *bytes,
           size_t n)
{
    stream->before += stream->chunk_size;
    stream->lines_before += count_lines(stream->chunk, stream->chunk_size);
    stream->chunk = mem_resize(stream->chunk, n + 1, 1);
    memcpy(stream->chunk, bytes, n);
    stream->chunk_size = n;
}

/* The line of a byte of the last chunk, from 0. */
static size_t
line_of(const struct kube_yaml_stream *stream, size_t offset)
{
    size_t n = offset < stream->before ? 0 : offset - stream->before;

    if (n > stream->chunk_size)
        n = stream->chunk_size;
    return stream->lines_before + count_lines(stream->chunk, n);
}

static int
take(void *arg, unsigned char *room, size_t n, size_t *got)
{
    struct kube_yaml_stream *stream = arg;
    ssize_t count;

    if (stream->since_step > KUBE_YAML_STEP_MAX) {
        stream->too_long = true;
        return 0;
    }
    count = stream->read(stream->arg, (char *)room, n);
    if (count < 0)
        return 0;
    *got = (size_t)count;
    stream->since_step += *got;
    keep_chunk(stream, room, *got);
    return 1;
}

struct kube_yaml_stream *
kube_yaml_stream_new(kube_yaml_read_fn *read, void *arg)
{
    struct kube_yaml_stream *stream = mem_zalloc(sizeof(*stream));

    stream->read = read;
    stream->arg = arg;
    if (!yaml_parser_initialize(&stream->parser))
        fatal("out of memory (YAML)");
    yaml_parser_set_encoding(&stream->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input(&stream->parser, take, stream);
    return stream;
}

void
kube_yaml_stream_free(struct kube_yaml_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->has_event)
        yaml_event_delete(&stream->event);
    yaml_parser_delete(&stream->parser);
    free(stream->chunk);
    free(stream);
}

static int
explain(const struct kube_yaml_stream *stream, struct kube_yaml_step *step,
        struct err *err)
{
    const yaml_parser_t *parser = &stream->parser;
    const char *problem = parser->problem;

    step->line = parser->error == YAML_READER_ERROR
                     ? line_of(stream, parser->problem_offset)
                     : parser->problem_mark.line;
    if (step->line < parser->context_mark.line)
        step->line = parser->context_mark.line;
    step->line++;
    if (stream->too_long)
        return err_set(err, "more than %zu bytes in one value",
                       KUBE_YAML_STEP_MAX);
    if (parser->error == YAML_READER_ERROR && parser->problem_value == -1)
        return err_set(err, "not YAML in UTF-8: %s",
                       problem == NULL ? "it cannot be read" : problem);
    if (parser->error == YAML_READER_ERROR)
        return err_set(err, "not YAML in UTF-8: %s (0x%x at byte %zu)", problem,
                       (unsigned)parser->problem_value, parser->problem_offset);
    return err_set(err, "not YAML: %s%s%s",
                   parser->context == NULL ? "" : parser->context,
                   parser->context == NULL ? "" : ": ",
                   problem == NULL ? "it cannot be read" : problem);
}

static struct str
text_of(const yaml_char_t *text)
{
    return str_of((const char *)text);
}

static void
fill_value(struct kube_yaml_step *step, const yaml_event_t *event)
{
    step->kind = KUBE_YAML_VALUE;
    step->text = (struct str){(const char *)event->data.scalar.value,
                              event->data.scalar.length};
    step->tag = text_of(event->data.scalar.tag);
    step->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static void
fill(struct kube_yaml_step *step, const yaml_event_t *event)
{
    static const enum kube_yaml_step_kind kinds[] = {
        [YAML_STREAM_END_EVENT] = KUBE_YAML_STREAM_END,
        [YAML_DOCUMENT_START_EVENT] = KUBE_YAML_DOCUMENT,
        [YAML_DOCUMENT_END_EVENT] = KUBE_YAML_DOCUMENT_END,
        [YAML_ALIAS_EVENT] = KUBE_YAML_ALIAS,
        [YAML_SCALAR_EVENT] = KUBE_YAML_VALUE,
        [YAML_SEQUENCE_START_EVENT] = KUBE_YAML_LIST_BEGIN,
        [YAML_SEQUENCE_END_EVENT] = KUBE_YAML_END,
        [YAML_MAPPING_START_EVENT] = KUBE_YAML_MAP_BEGIN,
        [YAML_MAPPING_END_EVENT] = KUBE_YAML_END,
    };

    *step = (struct kube_yaml_step){
        .kind = kinds[event->type],
        .line = event->start_mark.line + 1,
        .text = STR(""),
        .tag = STR(""),
    };
    if (event->type == YAML_SCALAR_EVENT)
        fill_value(step, event);
    else if (event->type == YAML_ALIAS_EVENT)
        step->text = text_of(event->data.alias.anchor);
}

int
kube_yaml_stream_next(struct kube_yaml_stream *stream,
                      struct kube_yaml_step *step, struct err *err)
{
    *step = (struct kube_yaml_step){.text = STR(""), .tag = STR("")};
    do {
        if (stream->has_event)
            yaml_event_delete(&stream->event);
        stream->has_event =
            yaml_parser_parse(&stream->parser, &stream->event) != 0;
        if (!stream->has_event)
            return explain(stream, step, err);
        stream->since_step = 0;
    } while (stream->event.type == YAML_STREAM_START_EVENT);
    fill(step, &stream->event);
    return 0;
}
