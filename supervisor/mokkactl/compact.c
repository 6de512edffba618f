/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/compact.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/json_text.h"

static void
add_object(struct buf *out, const json_t *object)
{
    char before = '{';
    const char *key;
    json_t *value;

    if (json_object_size(object) == 0)
        buf_addc(out, '{');
    json_object_foreach((json_t *)object, key, value)
    {
        buf_addc(out, before);
        json_text_string(out, str_of(key));
        buf_addc(out, ':');
        compact(out, value);
        before = ',';
    }
    buf_addc(out, '}');
}

static void
add_list(struct buf *out, const json_t *list)
{
    const json_t *value;
    size_t i;

    buf_addc(out, '[');
    json_array_foreach(list, i, value)
    {
        if (i > 0)
            buf_addc(out, ',');
        compact(out, value);
    }
    buf_addc(out, ']');
}

/* The shortest text that is read as the same number. */
static void
add_real(struct buf *out, double real)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, real);
        if (strtod(text, NULL) == real)
            break;
    }
    buf_addz(out, text);
    if (strpbrk(text, ".e") == NULL)
        buf_addz(out, ".0");
}

void
compact(struct buf *out, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        add_object(out, value);
        break;
    case JSON_ARRAY:
        add_list(out, value);
        break;
    case JSON_STRING:
        json_text_string(out, (struct str){json_string_value(value),
                                           json_string_length(value)});
        break;
    case JSON_INTEGER:
        buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        add_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        buf_addz(out, json_is_true(value) ? "true" : "false");
        break;
    case JSON_NULL:
        buf_addz(out, "null");
        break;
    }
}
