/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/emit.h"

#include <stdbool.h>
#include <string.h>

#include "common/str.h"
#include "supervisor/mokkactl/scalar.h"

#define JSON_STEP 4
#define YAML_STEP 2

/* The text that is printed, and where that stands. */
struct walk {
    FILE *out;
    const char *at;
};

static void
pad(FILE *out, size_t columns)
{
    static const char spaces[] = "                                ";

    for (; columns >= sizeof(spaces); columns -= sizeof(spaces) - 1)
        fwrite(spaces, 1, sizeof(spaces) - 1, out);
    fwrite(spaces, 1, columns, out);
}

/* The token at the start: a string with its quotes, or a number or word. */
static struct str
token(const char *text)
{
    const char *end = text;

    if (*text != '"')
        return (struct str){text, strcspn(text, ",]}:")};
    for (end = text + 1; *end != '"'; end++)
        if (*end == '\\')
            end++;
    return (struct str){text, (size_t)(end + 1 - text)};
}

static struct str
take_token(struct walk *w)
{
    struct str t = token(w->at);

    w->at += t.n;
    return t;
}

/* Over the value at the start, whatever it is. */
static void
skip_value(struct walk *w)
{
    size_t depth = 0;

    do {
        if (*w->at == '{' || *w->at == '[')
            depth++;
        else if (*w->at == '}' || *w->at == ']')
            depth--;
        if (strchr("{}[],:", *w->at) != NULL)
            w->at++;
        else
            take_token(w);
    } while (depth > 0);
}

static bool
is_skipped(struct str key, const char *skip)
{
    return skip != NULL && key.n == strlen(skip) + 2 &&
           memcmp(key.s + 1, skip, key.n - 2) == 0;
}

static void
put(FILE *out, struct str text)
{
    fwrite(text.s, 1, text.n, out);
}

static bool
is_empty(const char *value)
{
    return (value[0] == '{' && value[1] == '}') ||
           (value[0] == '[' && value[1] == ']');
}

static bool
is_nested(const char *value)
{
    return (value[0] == '{' || value[0] == '[') && !is_empty(value);
}

/* ---- JSON -------------------------------------------------------------- */

static void json_value(struct walk *w, size_t indent, const char *skip);

/* The members or items between two brackets. */
static void
json_nested(struct walk *w, size_t indent, const char *skip)
{
    char open = *w->at++;
    bool first = true;

    putc(open, w->out);
    while (*w->at != '}' && *w->at != ']') {
        struct str key = STR("");

        w->at += *w->at == ',';
        if (open == '{') {
            key = take_token(w);
            w->at++;
            if (is_skipped(key, skip)) {
                skip_value(w);
                continue;
            }
        }
        fputs(first ? "\n" : ",\n", w->out);
        first = false;
        pad(w->out, indent + JSON_STEP);
        put(w->out, key);
        fputs(open == '{' ? ": " : "", w->out);
        json_value(w, indent + JSON_STEP, NULL);
    }
    if (!first) {
        putc('\n', w->out);
        pad(w->out, indent);
    }
    putc(*w->at++, w->out);
}

static void
json_value(struct walk *w, size_t indent, const char *skip)
{
    if (*w->at == '{' || *w->at == '[')
        json_nested(w, indent, skip);
    else
        put(w->out, take_token(w));
}

static void
json_item(FILE *out, size_t number, const struct emit_member *members,
          size_t count)
{
    size_t indent = 2 * JSON_STEP;
    const char *before = "";

    fputs(number == 0 ? "\n" : ",\n", out);
    pad(out, indent);
    putc('{', out);
    for (size_t i = 0; i < count; i++) {
        struct walk w = {out, members[i].value};

        if (members[i].value == NULL)
            continue;
        fprintf(out, "%s\n", before);
        before = ",";
        pad(out, indent + JSON_STEP);
        fprintf(out, "\"%s\": ", members[i].key);
        json_value(&w, indent + JSON_STEP, members[i].skip);
    }
    putc('\n', out);
    pad(out, indent);
    putc('}', out);
}

/* ---- YAML -------------------------------------------------------------- */

/* A string that needs no quotes goes without; the escapes of JSON are also
 * YAML's. */
static void
yaml_scalar(FILE *out, struct str t)
{
    struct str inner = {t.s + 1, t.n - 2};

    if (t.s[0] == '"' && scalar_is_plain_text(inner))
        put(out, inner);
    else
        put(out, t);
}

static void yaml_map(struct walk *w, size_t indent, bool begun,
                     const char *skip);
static void yaml_list(struct walk *w, size_t indent, bool begun);

/* A value that stands on the line of its key or hyphen, and ends it. */
static void
yaml_short(struct walk *w)
{
    if (is_empty(w->at)) {
        put(w->out, (struct str){w->at, 2});
        w->at += 2;
    } else {
        yaml_scalar(w->out, take_token(w));
    }
    putc('\n', w->out);
}

/* The value of a member of a map at that indent, after the colon. */
static void
yaml_member(struct walk *w, size_t indent, const char *skip)
{
    if (!is_nested(w->at)) {
        putc(' ', w->out);
        yaml_short(w);
        return;
    }
    putc('\n', w->out);
    if (*w->at == '{')
        yaml_map(w, indent + YAML_STEP, false, skip);
    else
        yaml_list(w, indent, false);
}

/* begun: the first line is indented already. */
static void
yaml_map(struct walk *w, size_t indent, bool begun, const char *skip)
{
    w->at++;
    while (*w->at != '}') {
        struct str key;

        w->at += *w->at == ',';
        key = take_token(w);
        w->at++;
        if (is_skipped(key, skip)) {
            skip_value(w);
            continue;
        }
        if (!begun)
            pad(w->out, indent);
        begun = false;
        yaml_scalar(w->out, key);
        putc(':', w->out);
        yaml_member(w, indent, NULL);
    }
    w->at++;
}

static void
yaml_list(struct walk *w, size_t indent, bool begun)
{
    w->at++;
    while (*w->at != ']') {
        w->at += *w->at == ',';
        if (!begun)
            pad(w->out, indent);
        begun = false;
        fputs("- ", w->out);
        if (!is_nested(w->at))
            yaml_short(w);
        else if (*w->at == '{')
            yaml_map(w, indent + YAML_STEP, true, NULL);
        else
            yaml_list(w, indent + YAML_STEP, true);
    }
    w->at++;
}

static void
yaml_item(FILE *out, const struct emit_member *members, size_t count)
{
    const char *before = "- ";

    for (size_t i = 0; i < count; i++) {
        struct walk w = {out, members[i].value};

        if (members[i].value == NULL)
            continue;
        fprintf(out, "%s%s:", before, members[i].key);
        before = "  ";
        yaml_member(&w, YAML_STEP, members[i].skip);
    }
}

/* ------------------------------------------------------------------------ */

void
emit_list_begin(FILE *out, enum emit_form form)
{
    if (form == EMIT_JSON)
        fputs("{\n    \"apiVersion\": \"v1\",\n    \"items\": [", out);
    else
        fputs("apiVersion: v1\nitems:", out);
}

void
emit_item(FILE *out, enum emit_form form, size_t number,
          const struct emit_member *members, size_t count)
{
    if (form == EMIT_JSON) {
        json_item(out, number, members, count);
        return;
    }
    if (number == 0)
        putc('\n', out);
    yaml_item(out, members, count);
}

void
emit_list_end(FILE *out, enum emit_form form, size_t items)
{
    if (form == EMIT_JSON)
        fprintf(out, "%s],\n    \"kind\": \"List\",\n    \"metadata\": {}\n}\n",
                items == 0 ? "" : "\n    ");
    else
        fprintf(out, "%skind: List\nmetadata: {}\n", items == 0 ? " []\n" : "");
}
