/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_PIECE_H
#define MOKKACTL_PIECE_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/mokkactl/input.h"
#include "supervisor/mokkactl/lines.h"
#include "supervisor/mokkactl/problem.h"

/*
 * A file taken apart: its documents one after the other, and of a document that
 * is a list ("items") each item by itself, so that a file costs the memory of
 * its largest object.  There are two readers, for JSON and for YAML; both tell
 * the problems that they find and go on behind them where that is possible.
 */

/* The limits of one object. */
#define PIECE_BYTES_MAX ((size_t)16 << 20)
#define PIECE_VALUES_MAX ((size_t)1 << 18)
#define PIECE_DEPTH_MAX 100

/* It lives until the next one is read; tree may be changed. */
struct piece {
    struct place place; /* file, line, document, item */
    json_t *tree;
    /* Of an item: the members of its list that stand before "items". */
    const json_t *list;
    /* A document that is a list: its items were pieces of their own. */
    bool is_list;
    /* Something that tree does not show makes the object useless; NULL: no. */
    const char *flaw;
    struct str text;    /* in JSON: what tree was made from */
    struct lines lines; /* in YAML */
};

/* The line of a member of a container in tree (see lines_find), before tree was
 * changed; 0 if there is no such member. */
size_t piece_line(struct piece *piece, const json_t *container, const char *key,
                  size_t index);

struct json_pieces;
struct yaml_pieces;

/* in and problems outlive the reader; file is what messages call the input. */
struct json_pieces *json_pieces_new(struct input *in, const char *file,
                                    struct problems *problems);
struct yaml_pieces *yaml_pieces_new(struct input *in, const char *file,
                                    struct problems *problems);

/* NULL is fine. */
void json_pieces_free(struct json_pieces *pieces);
void yaml_pieces_free(struct yaml_pieces *pieces);

/* The next piece, or NULL at the end or where nothing more can be read (which
 * was told then). */
struct piece *json_pieces_next(struct json_pieces *pieces);
struct piece *yaml_pieces_next(struct yaml_pieces *pieces);

#endif
