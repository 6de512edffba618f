/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_COLUMNS_H
#define MOKKACTL_COLUMNS_H

#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"

/* A table whose columns are as wide as their longest cell: texts to the left,
 * numbers to the right.  A zeroed struct columns is an empty one. */
#define COLUMNS_MAX 16

struct columns {
    struct buf cells; /* each with a NUL */
    size_t count, of_row;
    size_t width[COLUMNS_MAX];
    int numbers[COLUMNS_MAX]; /* the column has numbers */
};

/* The next cell of the row; a row ends with columns_end. */
void columns_text(struct columns *c, const char *text);
void columns_number(struct columns *c, int64_t number);
void columns_end(struct columns *c);

/* Prints all rows, and empties the table. */
void columns_print(struct columns *c, FILE *out);

#endif
