/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/show.h"

#include <inttypes.h>

#include "common/json_text.h"
#include "common/mem.h"
#include "proto/intent.h"
#include "proto/unpack.h"

static const char *
name_of_kind(int64_t kind)
{
    return kind >= 0 && kind < KIND_COUNT
               ? object_kind_name((enum object_kind)kind)
               : NULL;
}

static const char *
name_of_action(int64_t action)
{
    return action >= 0 && action < ACTION_COUNT
               ? action_name((enum action)action)
               : NULL;
}

static const char *
name_of_outcome(int64_t outcome)
{
    return outcome >= 0 && outcome < OUTCOME_COUNT
               ? outcome_name((enum outcome)outcome)
               : NULL;
}

static const struct {
    const char *field;
    const char *(*name)(int64_t number);
} numbered[] = {
    {"action", name_of_action},
    {"outcome", name_of_outcome},
    {"kind", name_of_kind},
};

static void
show_items(struct buf *out, const struct value *v)
{
    for (size_t i = 0; i < value_count(v); i++) {
        buf_addz(out, i == 0 ? "" : ",");
        if (value_kind(v) == VALUE_MAP) {
            json_text_string(out, value_key(v, i));
            buf_addc(out, ':');
        }
        show_value(out, value_at(v, i));
    }
}

void
show_value(struct buf *out, const struct value *v)
{
    struct str text;
    int64_t number;
    bool yes;

    if (value_str(v, &text)) {
        json_text_string(out, text);
    } else if (value_int(v, &number)) {
        buf_printf(out, "%" PRId64, number);
    } else if (value_bool(v, &yes)) {
        buf_addz(out, yes ? "true" : "false");
    } else if (v != NULL && value_kind(v) == VALUE_MAP) {
        buf_addc(out, '{');
        show_items(out, v);
        buf_addc(out, '}');
    } else if (v != NULL && value_kind(v) == VALUE_ARRAY) {
        buf_addc(out, '[');
        show_items(out, v);
        buf_addc(out, ']');
    } else {
        buf_addz(out, "null");
    }
}

struct str
show_field_name(uint16_t type, size_t i)
{
    const char *at = message_body(type);
    size_t n;

    for (; i > 0 && *at != '\0'; i--) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    at += strspn(at, "[{+");
    n = strcspn(at, " ]}");
    return (struct str){at, n};
}

/* A field whose number has a name is that name. */
static void
show_field(struct buf *out, struct str field, const struct value *v)
{
    const char *name = NULL;
    int64_t number;

    for (size_t i = 0; i < nitems(numbered); i++)
        if (str_is(field, numbered[i].field) && value_int(v, &number))
            name = numbered[i].name(number);
    if (name != NULL)
        json_text_string(out, str_of(name));
    else
        show_value(out, v);
}

void
show_json(struct buf *out, uint16_t type, const struct value *body)
{
    buf_addc(out, '{');
    for (size_t i = 0; i < value_count(body); i++) {
        buf_addz(out, i == 0 ? "" : ",");
        json_text_string(out, show_field_name(type, i));
        buf_addc(out, ':');
        show_field(out, show_field_name(type, i), value_at(body, i));
    }
    buf_addc(out, '}');
}

/* A cut that would split a character takes all of it away. */
static size_t
cut_at(struct str text, size_t n)
{
    while (n > 0 && ((unsigned char)text.s[n] & 0xc0) == 0x80)
        n--;
    return n;
}

void
show_line(struct buf *out, uint16_t type, const struct value *body,
          size_t width)
{
    for (size_t i = 0; i < value_count(body); i++) {
        struct str name = show_field_name(type, i);
        struct buf text = {0};
        struct str shown;

        show_field(&text, name, value_at(body, i));
        shown = buf_str(&text);
        buf_addc(out, ' ');
        buf_adds(out, name);
        buf_addc(out, '=');
        if (shown.n > width) {
            shown.n = cut_at(shown, width);
            buf_adds(out, shown);
            buf_addz(out, "...");
        } else {
            buf_adds(out, shown);
        }
        buf_fini(&text);
    }
}
