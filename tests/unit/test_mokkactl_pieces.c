/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "supervisor/mokkactl/compact.h"
#include "supervisor/mokkactl/piece.h"

/* A file in memory, read as path says. */
struct file {
    int fd;
    char path[32];
    struct input *in;
    FILE *told;
    char *text; /* of told */
    size_t length;
    struct problems *problems;
};

static void
file_open(struct file *f, struct str text)
{
    struct err err;

    f->fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(write(f->fd, text.s, text.n), text.n);
    snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
    f->in = input_open(f->path, &err);
    assert_non_null(f->in);
    f->told = open_memstream(&f->text, &f->length);
    f->problems = problems_new(f->told);
}

static void
file_close(struct file *f)
{
    problems_free(f->problems);
    fclose(f->told);
    free(f->text);
    input_close(f->in);
    close(f->fd);
}

/* A piece in words: document.item@line, L of a list, the tree. */
static void
describe(struct buf *out, const struct piece *p)
{
    buf_printf(out, "%zu.%zu@%zu %s", p->place.document, p->place.item,
               p->place.line, p->is_list ? "L " : "");
    compact(out, p->tree);
    if (p->list != NULL) {
        buf_addz(out, " of ");
        compact(out, p->list);
    }
    buf_addc(out, '\n');
}

/* All pieces, then what was told. */
static char *
read_all(struct str text, bool json)
{
    struct file f;
    struct buf out = {0};
    struct piece *p;

    file_open(&f, text);
    if (json) {
        struct json_pieces *j = json_pieces_new(f.in, "f", f.problems);

        while ((p = json_pieces_next(j)) != NULL)
            describe(&out, p);
        json_pieces_free(j);
    } else {
        struct yaml_pieces *y = yaml_pieces_new(f.in, "f", f.problems);

        while ((p = yaml_pieces_next(y)) != NULL)
            describe(&out, p);
        yaml_pieces_free(y);
    }
    fflush(f.told);
    buf_add(&out, f.text, f.length);
    file_close(&f);
    return buf_take(&out);
}

static void
expect(bool json, const char *text, const char *wanted)
{
    char *all = read_all(str_of(text), json);

    assert_string_equal(all, wanted);
    free(all);
}

static void
expect_part(bool json, const char *text, const char *part)
{
    char *all = read_all(str_of(text), json);

    if (strstr(all, part) == NULL)
        fail_msg("no \"%s\" in \"%s\"", part, all);
    free(all);
}

static void
test_json_documents(void **state)
{
    (void)state;
    expect(true, "{\"a\":1}", "1.0@1 {\"a\":1}\n");
    expect(true, "\n {\"a\":1}\n---\n\n{\"b\":{\"c\":[]}} {}\n",
           "1.0@2 {\"a\":1}\n2.0@5 {\"b\":{\"c\":[]}}\n3.0@5 {}\n");
    expect(true, "", "");
    expect(true, " \n", "");
}

static void
test_json_lists_come_item_by_item(void **state)
{
    (void)state;
    expect(true,
           "{\"kind\":\"List\",\"items\":[{\"a\":1},\n {\"a\":[2,3]} ,\n\n4]\n,"
           "\"x\":\"items\",\"y\":[5]}",
           "1.1@1 {\"a\":1} of {\"kind\":\"List\",\"items\":[]}\n"
           "1.2@2 {\"a\":[2,3]} of {\"kind\":\"List\",\"items\":[]}\n"
           "1.3@4 4 of {\"kind\":\"List\",\"items\":[]}\n"
           "1.0@1 L "
           "{\"kind\":\"List\",\"items\":[],\"x\":\"items\",\"y\":[5]}\n");
    expect(true, "{\"items\":[]}", "1.0@1 L {\"items\":[]}\n");
    expect(true, "{\"items\":{}}", "1.0@1 {\"items\":{}}\n");
    expect(true, "{\"a\":{\"items\":[1]}}", "1.0@1 {\"a\":{\"items\":[1]}}\n");
    expect(true, "{\"a\":\"items\",\"b\":[1]}",
           "1.0@1 {\"a\":\"items\",\"b\":[1]}\n");
    expect(true, "{\"items\":[\"},]\",\"\\\"{\"]}",
           "1.1@1 \"},]\" of {\"items\":[]}\n"
           "1.2@1 \"\\\"{\" of {\"items\":[]}\n"
           "1.0@1 L {\"items\":[]}\n");
}

/* A bad item costs itself, and the file goes on. */
static void
test_json_problems_cost_one_item(void **state)
{
    (void)state;
    expect(true, "{\"items\":[{\"a\":1,\n\"a\":2},{\"b\":x},{\"c\":3}]}",
           "1.3@2 {\"c\":3} of {\"items\":[]}\n"
           "1.0@1 L {\"items\":[]}\n"
           "f:2: error: document 1, item 1: not JSON: duplicate object key "
           "near '\"a\"'\n"
           "f:2: error: document 1, item 2: not JSON: invalid token near "
           "'x'\n");
}

static void
test_json_that_breaks_off(void **state)
{
    static const char whole[] = "{\"items\":[{\"a\":\"b\\\"\"}, 1]}";

    (void)state;
    for (size_t n = 1; n < sizeof(whole) - 1; n++) {
        char *all = read_all((struct str){whole, n}, true);

        assert_non_null(strstr(all, "it ends in the middle of an object"));
        free(all);
    }
}

static void
test_json_that_is_none(void **state)
{
    (void)state;
    expect_part(true, "{} x", "only objects may stand one after another");
    expect_part(true, "[1]", "only objects may stand one after another");
    expect_part(true, "}", "a bracket that nothing opened");
    expect_part(true, "{\"items\":[1}", "'}' where ']' must be");
    expect_part(true, "{\"items\":[,1]}", "a comma with nothing before it");
    expect_part(true, "{\"a\":\"\xff\"}", "unable to decode byte 0xff");
    expect_part(true, "{\"a\":1e999}", "real number overflow");
}

static char *
repeated(const char *before, const char *what, size_t times, const char *after)
{
    struct buf text = {0};

    buf_addz(&text, before);
    for (size_t i = 0; i < times; i++)
        buf_addz(&text, what);
    buf_addz(&text, after);
    return buf_take(&text);
}

static void
limited(bool json, char *text, const char *part, const char *other)
{
    expect_part(json, text, part);
    if (other != NULL)
        expect_part(json, text, other);
    free(text);
}

static void
test_json_limits(void **state)
{
    (void)state;
    limited(true, repeated("{\"items\":[", "[", 101, ""), "middle", NULL);
    limited(true, repeated("{\"a\":", "[", 101, "1"), "middle", NULL);
    limited(
        true,
        repeated("{\"a\":", "{\"a\":", 100,
                 "1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}"
                 "}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}{\"b\":2}"),
        "1: error: document 1: an object nested deeper than 100 levels",
        "2.0@1 {\"b\":2}\n");
    limited(true,
            repeated("{\"items\":[{\"a\":\"", "0123456789abcdef", 1 << 20,
                     "0\"},{\"b\":1}]}"),
            "item 1: an object larger than 16 MiB", "1.2@1 {\"b\":1}");
    limited(true, repeated("{\"items\":[[", "1,", 1 << 18, "1],{\"b\":1}]}"),
            "item 1: an object of more than 262144 values", "1.2@1 {\"b\":1}");
}

/* A number that no integer can hold: the tree still shows where it is. */
static void
test_json_numbers_beyond_64_bits(void **state)
{
    struct file f;
    struct json_pieces *j;
    struct piece *p;

    (void)state;
    file_open(&f, STR("{\"a\":7,\"b\":[18446744073709551616]}"));
    j = json_pieces_new(f.in, "f", f.problems);
    p = json_pieces_next(j);
    assert_non_null(p);
    assert_string_equal(p->flaw, "a number beyond 64 bits");
    assert_int_equal(json_integer_value(json_object_get(p->tree, "a")), 7);
    assert_true(json_is_real(json_array_get(json_object_get(p->tree, "b"), 0)));
    json_pieces_free(j);
    file_close(&f);
}

static void
test_yaml_documents(void **state)
{
    (void)state;
    expect(false, "a: 1\n", "1.0@1 {\"a\":1}\n");
    expect(false, "---\n---\na: [1, x, 'y']\n...\n---\nb: {c: null}\n",
           "2.0@3 {\"a\":[1,\"x\",\"y\"]}\n3.0@6 {\"b\":{\"c\":null}}\n");
    expect(false, "", "");
    expect(false, "# nothing\n", "");
    expect(false, "x\n", "1.0@1 \"x\"\n");
    expect(false, "- a: 1\n", "1.0@1 [{\"a\":1}]\n");
}

static void
test_yaml_lists_come_item_by_item(void **state)
{
    (void)state;
    expect(false, "kind: List\nitems:\n- a: 1\n- a: [2]\nmetadata: {}\n",
           "1.1@3 {\"a\":1} of {\"kind\":\"List\",\"items\":[]}\n"
           "1.2@4 {\"a\":[2]} of {\"kind\":\"List\",\"items\":[]}\n"
           "1.0@1 L {\"kind\":\"List\",\"items\":[],\"metadata\":{}}\n");
    expect(false, "items: []\n", "1.0@1 L {\"items\":[]}\n");
    expect(false, "items: 3\nb: 1\n", "1.0@1 {\"items\":3,\"b\":1}\n");
    expect(false, "a:\n  items: [1]\n", "1.0@1 {\"a\":{\"items\":[1]}}\n");
}

static void
test_yaml_problems_cost_one_object(void **state)
{
    (void)state;
    expect(false,
           "items:\n- a: 1\n  a: 2\n- &x [1]\n- *x\n- b: 1\n---\nc: *x\n---\n"
           "d: 1\n",
           "1.2@4 [1] of {\"items\":[]}\n"
           "1.4@6 {\"b\":1} of {\"items\":[]}\n"
           "1.0@1 L {\"items\":[]}\n"
           "3.0@10 {\"d\":1}\n"
           "f:3: error: document 1, item 1: the key \"a\" comes twice\n"
           "f:5: error: document 1, item 3: the alias *x is not accepted here: "
           "write the value out\n"
           "f:8: error: document 2: the alias *x is not accepted here: write "
           "the value out\n");
    expect_part(false, "a: {[1]: 2, b: 1}\n", "a key must be a text");
    expect_part(false, "a:\n  <<: {b: 1}\n", "merging (<<) is not accepted");
    expect_part(false, "a: .inf\n", "a number that JSON does not have");
    expect_part(false, "a: !!binary eA==\n", "none of JSON's");
    expect_part(false, "a: \"\\0\"\n", "a NUL in it");
    expect_part(false, "items: [1]\nitems: [2]\n", "comes twice");
}

/* Every problem of a file is told in one run. */
static void
test_yaml_all_problems(void **state)
{
    (void)state;
    expect(false, "a: *x\nb: *y\n---\nc: 1\nc: 2\nc: 3\n",
           "f:1: error: document 1: the alias *x is not accepted here: write "
           "the value out\n"
           "f:2: error: document 1: the alias *y is not accepted here: write "
           "the value out\n"
           "f:5: error: document 2: the key \"c\" comes twice\n"
           "f:6: error: document 2: the key \"c\" comes twice\n");
}

static void
test_yaml_limits(void **state)
{
    (void)state;
    limited(false, repeated("a: ", "[", 101, ""),
            "nested deeper than 100 levels", NULL);
    limited(false, repeated("items:\n- a: [", "1,", 1 << 18, "1]\n- b: 1\n"),
            "item 1: an object of more than 262144 values", "{\"b\":1}");
    limited(false,
            repeated("items:\n- a:\n",
                     "  - 0123456789abcdefghijklmnopqrstuvwxy"
                     "z0123456789abcdefghijklmnopqrstuvwxyz"
                     "0123456789abcdefghijklmnopqrstuvwxyz\n",
                     1 << 18, "- b: 1\n"),
            "item 1: an object", "{\"b\":1}");
}

static void
test_lines_of_members(void **state)
{
    static const char *const texts[] = {
        "{\n\"a\": {\"b\":\n [1,\n 2]},\n\"c\": null\n}",
        "\na:\n  b: [1,\n 2]\nc:\n",
    };

    (void)state;
    for (int json = 0; json < 2; json++) {
        struct file f;
        struct json_pieces *j = NULL;
        struct yaml_pieces *y = NULL;
        struct piece *p;
        const json_t *a, *b;

        file_open(&f, str_of(texts[!json]));
        if (json)
            p = json_pieces_next(j = json_pieces_new(f.in, "f", f.problems));
        else
            p = yaml_pieces_next(y = yaml_pieces_new(f.in, "f", f.problems));
        a = json_object_get(p->tree, "a");
        b = json_object_get(a, "b");
        assert_int_equal(piece_line(p, p->tree, "a", 0), 2);
        assert_int_equal(piece_line(p, a, "b", 0), json ? 2 : 3);
        assert_int_equal(piece_line(p, b, NULL, 0), 3);
        assert_int_equal(piece_line(p, b, NULL, 1), 4);
        assert_int_equal(piece_line(p, p->tree, "c", 0), 5);
        assert_int_equal(piece_line(p, p->tree, "d", 0), 0);
        json_pieces_free(j);
        yaml_pieces_free(y);
        file_close(&f);
    }
}

static void
test_the_first_character_decides(void **state)
{
    static const struct {
        const char *text;
        char first;
    } rows[] = {{"  \n{", '{'},
                {"\xef\xbb\xbf{", '{'},
                {"a: 1", 'a'},
                {"", '\0'},
                {" \n ", '\0'}};

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct file f;
        char room[16];

        file_open(&f, str_of(rows[i].text));
        assert_int_equal(input_peek(f.in), rows[i].first);
        if (rows[i].first == '{')
            assert_true(input_read(f.in, room, sizeof(room)) > 0);
        file_close(&f);
    }
}

static void
test_what_is_no_file(void **state)
{
    struct err err;

    (void)state;
    assert_null(input_open("/nonexistent", &err));
    assert_null(input_open("/", &err));
    assert_string_equal(err.text, "is no file");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_documents),
        cmocka_unit_test(test_json_lists_come_item_by_item),
        cmocka_unit_test(test_json_problems_cost_one_item),
        cmocka_unit_test(test_json_that_breaks_off),
        cmocka_unit_test(test_json_that_is_none),
        cmocka_unit_test(test_json_limits),
        cmocka_unit_test(test_json_numbers_beyond_64_bits),
        cmocka_unit_test(test_yaml_documents),
        cmocka_unit_test(test_yaml_lists_come_item_by_item),
        cmocka_unit_test(test_yaml_problems_cost_one_object),
        cmocka_unit_test(test_yaml_all_problems),
        cmocka_unit_test(test_yaml_limits),
        cmocka_unit_test(test_lines_of_members),
        cmocka_unit_test(test_the_first_character_decides),
        cmocka_unit_test(test_what_is_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
