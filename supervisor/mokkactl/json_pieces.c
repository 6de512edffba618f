/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "supervisor/mokkactl/piece.h"

#define READ_MAX 65536

/* Where the scan stands: within objects that stand one after another, or
 * within the items of one. */
enum where { BETWEEN, IN_DOCUMENT, IN_ITEMS };

/* The depth of a document's members, and of the items of a list. */
#define MEMBERS 1
#define ITEMS 2

enum cut { CUT_NOTHING, CUT_ITEM, CUT_DOCUMENT, CUT_STOP };

struct json_pieces {
    struct input *in;
    struct problems *problems;
    struct piece piece;
    struct buf bytes; /* from the begin of what is being cut out */
    size_t at;        /* of them, scanned */
    size_t used;      /* to be dropped before the scan goes on */
    size_t line;      /* at that place */
    size_t first;     /* the line that bytes begin on */
    enum where where;
    size_t depth;
    bool in_string, escaped;
    bool broken;       /* nothing that follows can be trusted */
    size_t string;     /* where the last string of a document's members began */
    const char *limit; /* what was exceeded: the object is passed over */
    size_t values;
    struct buf document;   /* a list without its items, so far */
    size_t document_first; /* the line it begins on */
    json_t *list;          /* the same, parsed; NULL: no list */
};

struct json_pieces *
json_pieces_new(struct input *in, const char *file, struct problems *problems)
{
    struct json_pieces *j = mem_zalloc(sizeof(*j));

    j->in = in;
    j->problems = problems;
    j->piece.place.file = file;
    j->line = 1;
    return j;
}

/* The last piece is done with. */
static void
forget(struct json_pieces *j)
{
    json_decref(j->piece.tree);
    j->piece.tree = NULL;
    lines_fini(&j->piece.lines);
    buf_drop(&j->bytes, j->used);
    j->at -= j->used;
    j->used = 0;
}

void
json_pieces_free(struct json_pieces *j)
{
    if (j == NULL)
        return;
    forget(j);
    json_decref(j->list);
    buf_fini(&j->bytes);
    buf_fini(&j->document);
    free(j);
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* What is cut out begins here. */
static void
begin(struct json_pieces *j)
{
    buf_drop(&j->bytes, j->at);
    j->at = 0;
    j->first = j->line;
    j->limit = NULL;
    j->values = 0;
}

static void
tell(const struct json_pieces *j, size_t line, const char *what)
{
    struct place place = j->piece.place;

    place.line = line;
    problem(j->problems, PROBLEM_ERROR, &place, "%s", what);
}

/* Puts the bytes scanned so far to the document that they belong to. */
static void
keep_of_document(struct json_pieces *j)
{
    if (j->document.len == 0)
        j->document_first = j->first;
    if (j->limit == NULL)
        buf_add(&j->document, buf_bytes(&j->bytes), j->at);
}

/* What a whole number that was read as a real is: an integer again, or beyond
 * all doubt too large for one. NULL for other values. */
static json_t *
restored(const json_t *value)
{
    double real = json_real_value(value);

    if (!json_is_real(value))
        return NULL;
    return fabs(real) < 0x1p63 ? json_integer((int64_t)real)
                               : json_real(copysign(DBL_MAX, real));
}

static void
restore_integers(json_t *tree)
{
    const char *key;
    json_t *value, *better;
    size_t i;

    json_object_foreach(tree, key, value)
    {
        better = restored(value);
        if (better != NULL)
            json_object_set_new(tree, key, better);
        else
            restore_integers(value);
    }
    json_array_foreach(tree, i, value)
    {
        better = restored(value);
        if (better != NULL)
            json_array_set_new(tree, i, better);
        else
            restore_integers(value);
    }
}

#define STRICTLY (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)

/* The object with a number that no integer of ours can hold: a tree to find
 * out which field that is, and nothing more. */
static json_t *
parse_large(struct json_pieces *j, struct str text)
{
    json_t *tree =
        json_loadb(text.s, text.n, STRICTLY | JSON_DECODE_INT_AS_REAL, NULL);

    j->piece.flaw = "a number beyond 64 bits";
    restore_integers(tree);
    return tree;
}

static json_t *
parse(struct json_pieces *j, struct str text, size_t first)
{
    json_error_t error;
    json_t *tree = json_loadb(text.s, text.n, STRICTLY, &error);
    struct err what;

    j->piece.flaw = NULL;
    if (tree == NULL && json_error_code(&error) == json_error_numeric_overflow)
        tree = parse_large(j, text);
    if (tree != NULL)
        return tree;
    err_set(&what, "not JSON: %s", error.text);
    tell(j, first + (size_t)error.line - 1, what.text);
    j->broken = j->where == BETWEEN;
    return NULL;
}

/* The bracket after "items": what stands before it is known from now on. */
static void
enter_items(struct json_pieces *j)
{
    struct buf text = {0};

    keep_of_document(j);
    buf_adds(&text, buf_str(&j->document));
    buf_addz(&text, "]}");
    j->list = json_loadb(buf_bytes(&text), text.len, 0, NULL);
    if (j->list == NULL)
        j->list = json_object(); /* told when the document ends */
    buf_fini(&text);
    j->where = IN_ITEMS;
    j->piece.place.item = 0;
    begin(j);
}

static bool
is_items(const struct json_pieces *j)
{
    static const char key[] = "\"items\"";
    size_t n = sizeof(key) - 1;

    return j->where == IN_DOCUMENT && j->depth == ITEMS && j->list == NULL &&
           j->limit == NULL && j->string + n <= j->at &&
           memcmp(buf_bytes(&j->bytes) + j->string, key, n) == 0;
}

static enum cut
open_bracket(struct json_pieces *j, char c)
{
    if (j->where == BETWEEN) {
        j->at--;
        begin(j);
        j->at = 1;
        j->where = IN_DOCUMENT;
        j->piece.place.document++;
        j->piece.place.item = 0;
    }
    j->values++;
    if (++j->depth > PIECE_DEPTH_MAX)
        j->limit = "nested deeper than 100 levels";
    if (c == '[' && is_items(j))
        enter_items(j);
    return CUT_NOTHING;
}

static enum cut
stop(struct json_pieces *j, const char *what)
{
    tell(j, j->line, what);
    return CUT_STOP;
}

/* Whether there is anything in the n bytes but space. */
static bool
is_blank(const struct json_pieces *j, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_space(buf_bytes(&j->bytes)[i]))
            return false;
    return j->limit == NULL;
}

/* The end of the list of items, or the end of the last one: then the bracket
 * is looked at again. */
static enum cut
close_items(struct json_pieces *j, char c)
{
    if (c != ']')
        return stop(j, "not JSON: '}' where ']' must be");
    j->at--;
    if (!is_blank(j, j->at)) {
        j->used = j->at;
        return CUT_ITEM;
    }
    begin(j);
    j->at = 1;
    j->depth--;
    j->where = IN_DOCUMENT;
    return CUT_NOTHING;
}

static enum cut
close_bracket(struct json_pieces *j, char c)
{
    if (j->where == BETWEEN)
        return stop(j, "not JSON: a bracket that nothing opened");
    if (j->where == IN_ITEMS && j->depth == ITEMS)
        return close_items(j, c);
    if (--j->depth > 0)
        return CUT_NOTHING;
    j->where = BETWEEN;
    j->used = j->at;
    return CUT_DOCUMENT;
}

static enum cut
comma(struct json_pieces *j)
{
    j->values++;
    if (j->where != IN_ITEMS || j->depth != ITEMS)
        return CUT_NOTHING;
    if (is_blank(j, j->at - 1))
        return stop(j, "not JSON: a comma with nothing before it");
    j->used = j->at;
    return CUT_ITEM;
}

static void
open_string(struct json_pieces *j)
{
    j->in_string = true;
    if (j->where == IN_DOCUMENT && j->depth == MEMBERS)
        j->string = j->at - 1;
}

/* A byte outside of strings. */
static enum cut
mark(struct json_pieces *j, char c)
{
    if (j->where == BETWEEN && c != '{' && c != '}' && c != ']') {
        /* A line of hyphens may stand between documents. */
        if (is_space(c) || (c == '-' && j->piece.place.document > 0))
            return CUT_NOTHING;
        return stop(j, "not JSON: only objects may stand one after another");
    }
    switch (c) {
    case '"':
        open_string(j);
        return CUT_NOTHING;
    case '{':
    case '[':
        return open_bracket(j, c);
    case '}':
    case ']':
        return close_bracket(j, c);
    case ',':
        return comma(j);
    default:
        return CUT_NOTHING;
    }
}

static void
in_string(struct json_pieces *j, char c)
{
    if (j->escaped)
        j->escaped = false;
    else if (c == '\\')
        j->escaped = true;
    else if (c == '"')
        j->in_string = false;
}

/* Scans what was read. */
static enum cut
scan(struct json_pieces *j)
{
    enum cut cut = CUT_NOTHING;

    while (cut == CUT_NOTHING && j->at < j->bytes.len) {
        char c = buf_bytes(&j->bytes)[j->at++];

        if (c == '\n')
            j->line++;
        if (j->in_string)
            in_string(j, c);
        else
            cut = mark(j, c);
    }
    return cut;
}

/* Which limit so many bytes and values exceed; NULL: none. */
static const char *
limit_of(size_t bytes, size_t values)
{
    if (bytes > PIECE_BYTES_MAX)
        return "larger than 16 MiB";
    if (values > PIECE_VALUES_MAX)
        return "of more than 262144 values";
    return NULL;
}

/* An object beyond the limits is passed over without being kept. */
static void
obey_limits(struct json_pieces *j)
{
    if (j->limit == NULL)
        j->limit = limit_of(
            j->at + (j->where == IN_DOCUMENT ? j->document.len : 0), j->values);
    if (j->where != BETWEEN && j->limit == NULL)
        return;
    buf_drop(&j->bytes, j->at);
    j->at = 0;
}

/* Reads on; false at the end. */
static bool
fill(struct json_pieces *j)
{
    ssize_t got;

    obey_limits(j);
    got = input_read(j->in, buf_room(&j->bytes, READ_MAX), READ_MAX);
    if (got > 0)
        buf_grew(&j->bytes, (size_t)got);
    if (got < 0)
        stop(j, strerror(input_failure(j->in)));
    else if (got == 0 && j->where != BETWEEN)
        stop(j, "not JSON: it ends in the middle of an object");
    return got > 0;
}

/* The scanned text without the space around it; *line becomes its own. */
static struct str
trimmed(const struct json_pieces *j, struct str text, size_t *line)
{
    *line = j->first;
    for (; text.n > 0 && is_space(text.s[0]); text.s++, text.n--)
        *line += text.s[0] == '\n';
    while (text.n > 0 &&
           (is_space(text.s[text.n - 1]) || text.s[text.n - 1] == ','))
        text.n--;
    return text;
}

/* Makes the piece of what was cut out. NULL if it is none, which was told. */
static struct piece *
make(struct json_pieces *j, struct str text, size_t line)
{
    struct piece *p = &j->piece;
    struct err what;

    if (j->limit == NULL)
        j->limit = limit_of(text.n, j->values);
    if (j->limit != NULL) {
        err_set(&what, "an object %s", j->limit);
        tell(j, line, what.text);
        return NULL;
    }
    p->tree = parse(j, text, line);
    p->place.line = line;
    p->text = text;
    return p->tree == NULL ? NULL : p;
}

static struct piece *
cut_item(struct json_pieces *j)
{
    struct str text = {buf_bytes(&j->bytes), j->used};
    struct piece *p;
    size_t line;

    j->piece.place.item++;
    text = trimmed(j, text, &line);
    p = make(j, text, line);
    if (p != NULL) {
        p->list = j->list;
        p->is_list = false;
    }
    /* What follows belongs to the next one. */
    j->first = j->line;
    j->limit = NULL;
    j->values = 0;
    return p;
}

static struct piece *
cut_document(struct json_pieces *j)
{
    struct str text = {buf_bytes(&j->bytes), j->used};
    size_t line = j->first;
    struct piece *p;

    if (j->list != NULL) {
        keep_of_document(j);
        text = buf_str(&j->document);
        line = j->document_first;
        j->piece.place.item = 0;
    }
    p = make(j, text, line);
    if (p != NULL) {
        p->list = NULL;
        p->is_list = j->list != NULL;
    }
    return p;
}

static void
end_document(struct json_pieces *j)
{
    if (j->where != BETWEEN)
        return;
    json_decref(j->list);
    j->list = NULL;
    buf_clear(&j->document);
}

struct piece *
json_pieces_next(struct json_pieces *j)
{
    struct piece *p = NULL;
    enum cut cut;

    do {
        forget(j);
        end_document(j);
        while ((cut = scan(j)) == CUT_NOTHING)
            if (!fill(j))
                return NULL;
        if (cut == CUT_STOP)
            return NULL;
        p = cut == CUT_ITEM ? cut_item(j) : cut_document(j);
    } while (p == NULL && !j->broken);
    return p;
}
