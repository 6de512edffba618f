/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/json_items.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/mem.h"

/* The depth of the list object's members, and of the items. */
#define MEMBERS 1
#define ITEMS 2

/* Longer keys of the list object are none that matter. */
#define KEY_MAX 32

enum section {
    SECTION_KEY,      /* of the list object: before and in a key */
    SECTION_ITEMS,    /* after "items": */
    SECTION_METADATA, /* after "metadata": */
    SECTION_OTHER,
};

struct json_items {
    struct json_items_calls calls;
    size_t depth;
    bool in_string, escaped;
    bool begun, ended;
    enum section section;
    enum section value; /* what section the key before leads to */
    bool saw_items;
    struct buf text; /* of the key or the value that is being cut out */
    bool too_large;  /* that value is, and is passed over */
    struct buf metadata;
};

struct json_items *
json_items_new(const struct json_items_calls *calls)
{
    struct json_items *list = mem_zalloc(sizeof(*list));

    list->calls = *calls;
    return list;
}

void
json_items_free(struct json_items *list)
{
    if (list == NULL)
        return;
    buf_fini(&list->text);
    buf_fini(&list->metadata);
    free(list);
}

/* Whether bytes at this place belong to a text that is cut out. */
static bool
wanted(const struct json_items *list)
{
    switch (list->section) {
    case SECTION_KEY:
        return list->in_string && list->depth == MEMBERS;
    case SECTION_ITEMS:
        return list->depth >= ITEMS;
    case SECTION_METADATA:
        return list->depth >= MEMBERS;
    case SECTION_OTHER:
        break;
    }
    return false;
}

static void
keep(struct json_items *list, struct str piece)
{
    size_t max = list->section == SECTION_KEY ? KEY_MAX : JSON_ITEM_MAX;

    if (piece.n == 0 || list->too_large)
        return;
    if (list->text.len + piece.n > max) {
        list->too_large = true;
        buf_clear(&list->text);
        return;
    }
    buf_adds(&list->text, piece);
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What was cut out, without the space around it. */
static struct str
trimmed(const struct buf *text)
{
    struct str s = buf_str(text);

    while (s.n > 0 && is_space(s.s[0])) {
        s.s++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.s[s.n - 1]))
        s.n--;
    return s;
}

static void
end_item(struct json_items *list)
{
    struct str text = trimmed(&list->text);
    struct err err;

    if (list->too_large) {
        err_set(&err, "an object in a list has more than %zu bytes",
                JSON_ITEM_MAX);
        list->calls.bad(list->calls.arg, &err);
    } else if (text.n > 0) {
        list->calls.item(list->calls.arg, text);
    }
    list->too_large = false;
    buf_clear(&list->text);
}

static void
end_key(struct json_items *list)
{
    struct str key = buf_str(&list->text);

    list->section = list->value = SECTION_OTHER;
    if (!list->too_large && str_is(key, "\"items\""))
        list->value = SECTION_ITEMS;
    if (!list->too_large && str_is(key, "\"metadata\""))
        list->value = SECTION_METADATA;
    list->saw_items = list->saw_items || list->value == SECTION_ITEMS;
    list->too_large = false;
    buf_clear(&list->text);
}

static void
end_member(struct json_items *list)
{
    if (list->section == SECTION_METADATA) {
        struct str text = trimmed(&list->text);

        buf_clear(&list->metadata);
        buf_adds(&list->metadata, text);
    }
    list->section = SECTION_KEY;
    list->too_large = false;
    buf_clear(&list->text);
}

static int
malformed(struct err *err)
{
    return err_set(err, "the answer is no list in JSON");
}

static int
open_bracket(struct json_items *list, char c, struct err *err)
{
    if (list->depth == 0 && (list->begun || c != '{'))
        return malformed(err);
    list->begun = true;
    list->depth++;
    return 0;
}

static int
close_bracket(struct json_items *list, char c, struct err *err)
{
    if (list->depth == 0)
        return malformed(err);
    if (list->depth == ITEMS && list->section == SECTION_ITEMS) {
        if (c != ']')
            return malformed(err);
        end_item(list);
    }
    if (list->depth == MEMBERS) {
        if (c != '}')
            return malformed(err);
        end_member(list);
        list->ended = true;
    }
    list->depth--;
    return 0;
}

static void
comma(struct json_items *list)
{
    if (list->depth == MEMBERS)
        end_member(list);
    else if (list->depth == ITEMS && list->section == SECTION_ITEMS)
        end_item(list);
}

/* Bytes that only mark where a text begins or ends. */
static bool
is_border(const struct json_items *list, char c)
{
    if (list->in_string)
        return false;
    if (c == ',' || c == '}' || c == ']')
        return list->depth == MEMBERS ||
               (list->depth == ITEMS && list->section == SECTION_ITEMS);
    if (c == ':')
        return list->depth == MEMBERS;
    return c == '[' && list->depth == MEMBERS && list->section == SECTION_ITEMS;
}

static void
in_string(struct json_items *list, char c)
{
    if (list->escaped) {
        list->escaped = false;
    } else if (c == '\\') {
        list->escaped = true;
    } else if (c == '"') {
        list->in_string = false;
        if (list->depth == MEMBERS && list->section == SECTION_KEY)
            end_key(list);
    }
}

/* One byte that means something. */
static int
mark(struct json_items *list, char c, struct err *err)
{
    if (list->in_string) {
        in_string(list, c);
        return 0;
    }
    switch (c) {
    case '"':
        list->in_string = true;
        return list->depth == 0 ? malformed(err) : 0;
    case '{':
    case '[':
        return open_bracket(list, c, err);
    case '}':
    case ']':
        return close_bracket(list, c, err);
    case ',':
        comma(list);
        return 0;
    case ':':
        if (list->depth == MEMBERS)
            list->section = list->value;
        return list->depth > 0 ? 0 : malformed(err);
    default:
        return list->depth > 0 || is_space(c) ? 0 : malformed(err);
    }
}

static bool
is_mark(char c)
{
    static const bool marks[256] = {
        ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true,
        [']'] = true, [','] = true, [':'] = true};

    return marks[(unsigned char)c];
}

/* How many bytes from the start are of no meaning but as part of a text. */
static size_t
plain(const struct json_items *list, struct str bytes)
{
    size_t n = 0;

    if (list->escaped || list->depth == 0)
        return 0;
    if (list->in_string) {
        while (n < bytes.n && bytes.s[n] != '"' && bytes.s[n] != '\\')
            n++;
        return n;
    }
    while (n < bytes.n && !is_mark(bytes.s[n]))
        n++;
    return n;
}

int
json_items_feed(struct json_items *list, struct str bytes, struct err *err)
{
    while (bytes.n > 0) {
        size_t n = plain(list, bytes);

        if (n == 0) {
            char c = bytes.s[0];
            bool border = is_border(list, c);
            bool before = wanted(list);

            n = 1;
            /* A key's first quote is not wanted before it is seen, its last
             * one not after. */
            if (before && !border)
                keep(list, (struct str){bytes.s, 1});
            if (mark(list, c, err) != 0)
                return -1;
            if (!before && !border && wanted(list))
                keep(list, (struct str){bytes.s, 1});
        } else if (wanted(list)) {
            keep(list, (struct str){bytes.s, n});
        }
        bytes.s += n;
        bytes.n -= n;
    }
    return 0;
}

int
json_items_finish(const struct json_items *list, struct str *metadata,
                  struct err *err)
{
    if (!list->ended)
        return err_set(err, "the list broke off");
    if (!list->saw_items)
        return malformed(err);
    *metadata = buf_str(&list->metadata);
    return 0;
}
