/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/columns.h"

#include <inttypes.h>
#include <string.h>

#include "common/mem.h"

/* Characters, not bytes. */
static size_t
width_of(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

void
columns_text(struct columns *c, const char *text)
{
    size_t width = width_of(text);

    if (c->of_row >= COLUMNS_MAX)
        fatal("a row of more than %d cells", COLUMNS_MAX);
    if (width > c->width[c->of_row])
        c->width[c->of_row] = width;
    buf_add(&c->cells, text, strlen(text) + 1);
    c->of_row++;
}

void
columns_number(struct columns *c, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, number);
    c->numbers[c->of_row] = 1;
    columns_text(c, text);
}

/* A row's end is a cell of its own: one line feed. */
void
columns_end(struct columns *c)
{
    buf_add(&c->cells, "\n", 2);
    c->of_row = 0;
}

static void
print_cell(const struct columns *c, FILE *out, size_t column, const char *cell,
           bool last)
{
    int gap = (int)(c->width[column] - width_of(cell));

    if (column > 0)
        fputs("  ", out);
    if (c->numbers[column])
        fprintf(out, "%*s%s", gap, "", cell);
    else
        fprintf(out, "%s%*s", cell, last ? 0 : gap, "");
}

void
columns_print(struct columns *c, FILE *out)
{
    const char *cell = buf_bytes(&c->cells);
    const char *end = cell + c->cells.len;
    size_t column = 0;

    while (cell < end) {
        const char *next = cell + strlen(cell) + 1;

        if (strcmp(cell, "\n") == 0) {
            putc('\n', out);
            column = 0;
        } else {
            print_cell(c, out, column++, cell, strcmp(next, "\n") == 0);
        }
        cell = next;
    }
    buf_fini(&c->cells);
    *c = (struct columns){0};
}
