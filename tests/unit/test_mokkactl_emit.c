/* SPDX-License-Identifier: Apache-2.0 */
/* What prints: compact JSON, lists in JSON and YAML, tables, differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/mem.h"
#include "supervisor/mokkactl/changes.h"
#include "supervisor/mokkactl/columns.h"
#include "supervisor/mokkactl/compact.h"
#include "supervisor/mokkactl/emit.h"
#include "supervisor/mokkactl/piece.h"
#include "tests/unit/seeded.h"

static json_t *
parse(const char *text)
{
    json_t *tree = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(tree);
    return tree;
}

static char *
compacted(const json_t *value)
{
    struct buf out = {0};

    compact(&out, value);
    return buf_take(&out);
}

/* ---- random values ----------------------------------------------------- */

static const char *const words[] = {
    "",          "a",      "yes",          "null",
    "-",         "1",      "1e3",          "a b",
    "a: b",      "#",      "\"",           "\\",
    "\n",        "\t\x01", "<&>",          "'",
    "\xc3\xa9x", "0x1F",   "a/b.c-d",      "-.inf",
    "12:30:45",  "~",      "{}",           "[1]",
    "|",         "- x",    "key: [",       "2026-01-02",
    "true",      "N",      "\xe2\x80\xa8",
};

static json_t *
random_value(struct seeded *s, int depth)
{
    size_t n = (size_t)seeded_below(s, 4);
    json_t *value;

    switch (seeded_below(s, depth > 0 ? 8 : 6)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(seeded_below(s, 2));
    case 2:
        return json_integer(seeded_below(s, 2000) - 1000);
    case 3:
        return json_real((double)seeded_below(s, 1000) / 8 + 0.0625);
    case 4:
    case 5:
        return json_string(words[seeded_below(s, (int)nitems(words))]);
    case 6:
        value = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(value, random_value(s, depth - 1));
        return value;
    default:
        value = json_object();
        for (size_t i = 0; i < n; i++)
            json_object_set_new(value,
                                words[seeded_below(s, (int)nitems(words))],
                                random_value(s, depth - 1));
        return value;
    }
}

static void
test_compact_is_read_as_the_same(void **state)
{
    struct seeded s = seeded_start(__func__);

    (void)state;
    for (int i = 0; i < seeded_rounds(2000); i++) {
        json_t *value = random_value(&s, 4);
        char *text = compacted(value);
        json_t *again = parse(text);

        if (!json_equal(value, again))
            fail_msg("%s", text);
        json_decref(value);
        json_decref(again);
        free(text);
    }
}

static char *
printed(enum emit_form form, const char *metadata, const char *spec)
{
    const struct emit_member members[] = {
        {"kind", "\"k\"", NULL},
        {"metadata", metadata, "managedFields"},
        {"spec", spec, NULL},
        {"status", NULL, NULL},
    };
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    emit_list_begin(out, form);
    for (size_t i = 0; i < 2; i++)
        emit_item(out, form, i, members, nitems(members));
    emit_list_end(out, form, 2);
    fclose(out);
    return text;
}

/* The second item, as this tool reads it. */
static json_t *
read_back(const char *text, bool json)
{
    struct problems *problems = problems_new(stderr);
    int fd = memfd_create("test", MFD_CLOEXEC);
    char path[32];
    struct input *in;
    struct json_pieces *j = NULL;
    struct yaml_pieces *y = NULL;
    struct piece *p = NULL;
    json_t *tree;

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    in = input_open(path, NULL);
    if (json)
        j = json_pieces_new(in, "f", problems);
    else
        y = yaml_pieces_new(in, "f", problems);
    for (int i = 0; i < 2; i++)
        p = json ? json_pieces_next(j) : yaml_pieces_next(y);
    if (p == NULL)
        fail_msg("not read: %s", text);
    tree = json_incref(p->tree);
    json_pieces_free(j);
    yaml_pieces_free(y);
    input_close(in);
    close(fd);
    problems_free(problems);
    return tree;
}

static void
test_lists_are_read_as_the_same(void **state)
{
    struct seeded s = seeded_start(__func__);

    (void)state;
    for (int i = 0; i < seeded_rounds(300); i++) {
        json_t *spec = random_value(&s, 5);
        char *text = compacted(spec);

        for (int json = 0; json < 2; json++) {
            char *list =
                printed(json ? EMIT_JSON : EMIT_YAML,
                        "{\"managedFields\":[{}],\"name\":\"node\"}", text);
            json_t *item = read_back(list, json);
            json_t *metadata = json_object_get(item, "metadata");

            if (!json_equal(json_object_get(item, "spec"), spec))
                fail_msg("%s", list);
            assert_int_equal(json_object_size(metadata), 1);
            json_decref(item);
            free(list);
        }
        json_decref(spec);
        free(text);
    }
}

static void
test_how_a_list_looks(void **state)
{
    char *text = printed(EMIT_YAML, "{\"name\":\"node\",\"managedFields\":[1]}",
                         "{\"a\":[{\"b\":\"1\",\"c\":{}},[2]],\"d\":\"x\"}");

    (void)state;
    assert_string_equal(text, "apiVersion: v1\n"
                              "items:\n"
                              "- kind: k\n"
                              "  metadata:\n"
                              "    name: node\n"
                              "  spec:\n"
                              "    a:\n"
                              "    - b: \"1\"\n"
                              "      c: {}\n"
                              "    - - 2\n"
                              "    d: x\n"
                              "- kind: k\n"
                              "  metadata:\n"
                              "    name: node\n"
                              "  spec:\n"
                              "    a:\n"
                              "    - b: \"1\"\n"
                              "      c: {}\n"
                              "    - - 2\n"
                              "    d: x\n"
                              "kind: List\n"
                              "metadata: {}\n");
    free(text);
}

static void
test_an_empty_list(void **state)
{
    (void)state;
    for (enum emit_form form = EMIT_JSON; form <= EMIT_YAML; form++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);

        emit_list_begin(out, form);
        emit_list_end(out, form, 0);
        fclose(out);
        if (form == EMIT_YAML)
            assert_string_equal(text, "apiVersion: v1\nitems: []\nkind: List\n"
                                      "metadata: {}\n");
        else
            json_decref(parse(text));
        free(text);
    }
}

static void
test_columns(void **state)
{
    struct columns c = {0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)state;
    columns_text(&c, "NAME");
    columns_text(&c, "N");
    columns_text(&c, "WHAT");
    columns_end(&c);
    columns_text(&c, "\xc3\xa9t\xc3\xa9-1");
    columns_number(&c, 100);
    columns_text(&c, "x");
    columns_end(&c);
    columns_print(&c, out);
    fclose(out);
    assert_string_equal(text, "NAME     N  WHAT\n"
                              "\xc3\xa9t\xc3\xa9-1  100  x\n");
    free(text);
}

static void
add_change(void *arg, const char *path, const json_t *before, const json_t *now)
{
    buf_printf(arg, "%s %c\n", path,
               before == NULL ? '+'
               : now == NULL  ? '-'
                              : '~');
}

static void
test_changes(void **state)
{
    static const char *const skip[] = {"time", NULL};
    json_t *before =
        parse("{\"a\":1,\"b\":{\"x.y/z\":1,\"time\":1},\"c\":[1,2],"
              "\"d\":{},\"e\":[1],\"same\":{\"k\":[1]}}");
    json_t *now =
        parse("{\"a\":2,\"b\":{\"x.y/z\":2,\"time\":2},\"c\":[1,3,4],"
              "\"e\":{\"0\":1},\"f\":{\"g\":[1]},\"same\":{\"k\":[1]}}");
    struct buf out = {0};
    char *text;

    (void)state;
    changes("p", before, now, skip, add_change, &out);
    text = buf_take(&out);
    assert_string_equal(text, "p.a ~\np.b[x.y/z] ~\np.c[1] ~\np.c[2] +\n"
                              "p.d -\np.e ~\np.f +\n");
    free(text);
    changes("p", NULL, now, skip, add_change, &out);
    changes("p", NULL, NULL, skip, add_change, &out);
    text = buf_take(&out);
    assert_string_equal(text, "p +\n");
    free(text);
    json_decref(before);
    json_decref(now);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact_is_read_as_the_same),
        cmocka_unit_test(test_lists_are_read_as_the_same),
        cmocka_unit_test(test_how_a_list_looks),
        cmocka_unit_test(test_an_empty_list),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
