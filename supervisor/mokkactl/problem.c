/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/problem.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/mem.h"

static const char *const names[] = {
    [PROBLEM_WARNING] = "warning",
    [PROBLEM_ERROR] = "error",
};

struct problems {
    FILE *out;
    size_t errors;
    size_t of_file[nitems(names)];
};

struct problems *
problems_new(FILE *out)
{
    struct problems *p = mem_zalloc(sizeof(*p));

    p->out = out;
    return p;
}

void
problems_free(struct problems *p)
{
    free(p);
}

void
problems_begin(struct problems *p)
{
    for (size_t i = 0; i < nitems(names); i++)
        p->of_file[i] = 0;
}

void
problems_end(struct problems *p, const char *file)
{
    for (size_t i = 0; i < nitems(names); i++)
        if (p->of_file[i] > PROBLEM_FILE_MAX)
            fprintf(p->out, "%s: %s: %zu more like these are not shown\n", file,
                    names[i], p->of_file[i] - PROBLEM_FILE_MAX);
    problems_begin(p);
}

static void
add_place(struct buf *line, const struct place *place)
{
    const char *before = "";

    if (place->document > 0) {
        buf_printf(line, "document %zu", place->document);
        before = ", ";
    }
    if (place->item > 0) {
        buf_printf(line, "%sitem %zu", before, place->item);
        before = ", ";
    }
    if (place->kind != NULL) {
        buf_printf(line, "%s%s", before, place->kind);
        before = ", ";
    }
    if (place->kind != NULL && place->name != NULL)
        buf_printf(line, " %s", place->name);
    if (before[0] != '\0')
        buf_addz(line, ": ");
}

/* Input may hold anything; a line stays a line, and a terminal whole. */
static void
tame(struct buf *line)
{
    for (char *c = buf_bytes(line); c < buf_bytes(line) + line->len; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

void
problem(struct problems *p, enum severity severity, const struct place *place,
        const char *fmt, ...)
{
    struct buf line = {0};
    char *text;
    va_list ap;

    p->errors += severity == PROBLEM_ERROR;
    if (++p->of_file[severity] > PROBLEM_FILE_MAX)
        return;
    if (place->file != NULL)
        buf_printf(&line, "%s:", place->file);
    if (place->file != NULL && place->line > 0)
        buf_printf(&line, "%zu:", place->line);
    buf_printf(&line, "%s%s: ", line.len > 0 ? " " : "", names[severity]);
    add_place(&line, place);
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        fatal("out of memory");
    va_end(ap);
    buf_addz(&line, text);
    free(text);
    tame(&line);
    buf_addc(&line, '\n');
    fwrite(buf_bytes(&line), 1, line.len, p->out);
    buf_fini(&line);
}

size_t
problems_errors(const struct problems *p)
{
    return p->errors;
}
