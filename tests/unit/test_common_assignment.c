/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/assignment.h"
#include "common/json_read.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

static const struct assignment sample = {
    .inventory = {STR("inventory"), STR("inventory-uid")},
    .rack = {STR("rack"), STR("rack-uid")},
    .profile = {STR("profile"), STR("profile-uid")},
    .revision = STR("revision"),
    .group = STR("group"),
    .rack_index = 2,
    .node_index = 3,
    .node_uid = STR("node-uid"),
};

static void
test_assignment_vector(void **state)
{
    const json_t *out = json_object_get(*state, "output");
    struct buf text = {0};
    struct err err;

    assert_int_equal(assignment_encode(&text, &sample, &err), 0);
    buf_addc(&text, '\0');
    assert_string_equal(buf_bytes(&text), json_str(out, "annotation").s);
    buf_fini(&text);
}

/* The beginning is what two slots of a rack have in common, up to where the
 * index stands. */
static void
test_3_7_the_beginning_that_slots_share(void **state)
{
    static const char *const others[] = {"", "{}", "nodeIndex",
                                         "\"nodeIndex\":1"};
    struct assignment a = sample;
    struct buf text = {0};
    struct buf begin = {0};

    (void)state;
    assert_int_equal(assignment_begin(&begin, &sample, NULL), 0);
    for (a.node_index = 0; a.node_index < 200; a.node_index += 99) {
        buf_clear(&text);
        assert_int_equal(assignment_encode(&text, &a, NULL), 0);
        assert_true(str_eq(assignment_head(buf_str(&text)), buf_str(&begin)));
    }
    for (size_t i = 0; i < nitems(others); i++)
        assert_int_equal(assignment_head(str_of(others[i])).n, 0);
    buf_fini(&begin);
    buf_fini(&text);
}

static void
test_3_7_needs(void **state)
{
    struct assignment bad[5] = {sample, sample, sample, sample, sample};
    struct buf text = {0};

    (void)state;
    bad[0].rack.name = STR("");
    bad[1].rack.uid = STR("");
    bad[2].node_uid = STR("");
    bad[3].node_index = -1;
    bad[4].rack_index = -1;
    for (size_t i = 0; i < nitems(bad); i++) {
        struct err err = {""};

        assert_int_equal(assignment_encode(&text, &bad[i], &err), -1);
        assert_string_not_equal(err.text, "");
        assert_int_equal(text.len, 0);
    }
    buf_fini(&text);
}

/* The first slot of the first rack. */
static void
test_3_7_zero_indexes(void **state)
{
    struct assignment a = sample;
    struct buf text = {0};
    struct err err;

    (void)state;
    a.rack_index = a.node_index = 0;
    assert_int_equal(assignment_encode(&text, &a, &err), 0);
    buf_addc(&text, '\0');
    assert_non_null(
        strstr(buf_bytes(&text), "\"rackIndex\":0,\"nodeIndex\":0,"));
    buf_fini(&text);
}

/* Escaping as in 4.2. */
static void
test_3_7_escapes(void **state)
{
    struct assignment a = sample;
    struct arena arena = {0};
    struct assignment back;
    struct buf text = {0};
    struct err err;

    (void)state;
    a.group = STR("<a>&\"\\\n\xe2\x80\xa8\x7f\xc3\xbc");
    assert_int_equal(assignment_encode(&text, &a, &err), 0);
    buf_addc(&text, '\0');
    assert_non_null(
        strstr(buf_bytes(&text),
               "\"\\u003ca\\u003e\\u0026\\\"\\\\\\n\\u2028\x7f\xc3\xbc\""));
    assert_int_equal(
        assignment_decode(&back, str_of(buf_bytes(&text)), &arena, &err), 0);
    assert_true(assignment_same(&a, &back));
    assert_true(str_eq(back.profile.uid, a.profile.uid));
    assert_true(str_eq(back.revision, a.revision));
    arena_fini(&arena);
    buf_fini(&text);
}

static int
decode(const char *text, struct assignment *a, struct arena *arena)
{
    struct err err = {""};
    int failed = assignment_decode(a, str_of(text), arena, &err);

    assert_int_equal(failed != 0, err.text[0] != '\0');
    return failed;
}

static void
test_3_7_decodes(void **state)
{
    static const char *const texts[] = {
        "{\"v\":1,\"rackIndex\":7}",
        " {\t\"rackIndex\" : 7 , \"v\" :\r\n1 } ",
        ("{\"v\":1,\"x\":[1,{\"v\":2},null,true,false,-0.5e+3,\"\\u0041\"],"
         "\"rackIndex\":7}"),
        "{\"v\":2,\"v\":1,\"rackIndex\":7}",
        "{\"v\":1,\"rack\":null,\"inventory\":{},\"rackIndex\":7}",
        "{\"v\":1,\"inventory\":{\"v\":9,\"rackIndex\":8},\"rackIndex\":7}",
        "{\"\\u0076\":1,\"rackIndex\":7}",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        struct arena arena = {0};
        struct assignment a;

        if (decode(texts[i], &a, &arena) != 0)
            fail_msg("%s", texts[i]);
        assert_int_equal(a.rack_index, 7);
        assert_int_equal(a.rack.name.n, 0);
        arena_fini(&arena);
    }
}

static void
test_3_7_decodes_texts(void **state)
{
    struct arena arena = {0};
    struct assignment a;

    (void)state;
    assert_int_equal(
        decode("{\"v\":1,\"rackGroup\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t"
               "\\u00fc\\u20ac\\ud83d\\ude00\\ud83d\",\"nodeUID\":"
               "\"\\udc00x\",\"nodeIndex\":-9223372036854775808}",
               &a, &arena),
        0);
    assert_true(str_is(a.group, "\"\\/\b\f\n\r\t\xc3\xbc\xe2\x82\xac"
                                "\xf0\x9f\x98\x80\xef\xbf\xbd"));
    assert_true(str_is(a.node_uid, "\xef\xbf\xbdx"));
    assert_int_equal(a.node_index, INT64_MIN);
    assert_int_equal(decode("{\"v\":1,\"nodeUID\":\"\\ud83d\\n\\ud83d\\u0041\","
                            "\"rackGroup\":\"x\\\\\"}",
                            &a, &arena),
                     0);
    assert_true(str_is(a.node_uid, "\xef\xbf\xbd\n\xef\xbf\xbd"
                                   "A"));
    assert_true(str_is(a.group, "x\\"));
    arena_fini(&arena);
}

static void
test_3_7_refuses(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "null",
        "1",
        "[]",
        "\"v\"",
        "{",
        "{\"v\":1",
        "{\"v\":1,}",
        "{\"v\":1}x",
        "{\"v\":1}{}",
        "{v:1}",
        "{\"v\" 1}",
        "{}",
        "{\"v\":2}",
        "{\"v\":0}",
        "{\"v\":null}",
        "{\"v\":\"1\"}",
        "{\"v\":1.0}",
        "{\"v\":1e0}",
        "{\"v\":01}",
        "{\"v\":+1}",
        "{\"v\":-}",
        "{\"v\":1.}",
        "{\"v\":1e}",
        "{\"v\":.5}",
        "{\"v\":true}",
        "{\"v\":1,\"rack\":[]}",
        "{\"v\":1,\"rack\":\"x\"}",
        "{\"v\":1,\"rackGroup\":1}",
        "{\"v\":1,\"rackGroup\":{}}",
        "{\"v\":1,\"rackIndex\":\"1\"}",
        "{\"v\":1,\"rackIndex\":9223372036854775808}",
        "{\"v\":1,\"rackIndex\":-9223372036854775809}",
        "{\"v\":1,\"rackGroup\":\"\\u0000\"}",
        "{\"v\":1,\"rackGroup\":\"\\u00g0\"}",
        "{\"v\":1,\"rackGroup\":\"\\u12\"}",
        "{\"v\":1,\"rackGroup\":\"\\x\"}",
        "{\"v\":1,\"rackGroup\":\"\n\"}",
        "{\"v\":1,\"rackGroup\":\"\\\"}",
        "{\"v\":1,\"rackGroup\":\"\\",
        "{\"v\":1,\"rackGroup\":\"\\u",
        "{\"v\":1,\"rackGroup\":\"\\ud83d\\u\"}",
        "{\"v\":1,\"x\":tru}",
        "{\"v\":1,\"x\":nul}",
        "{\"v\":1,\"x\":[1,]}",
        "{\"v\":1,\"x\":[1 2]}",
        "{\"v\":1,\"x\":[}",
        "{\"v\":1,\"x\":{\"y\":}}",
        "{\"v\":1,\"x\":{1:2}}",
        "\xef\xbb\xbf{\"v\":1}",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        struct arena arena = {0};
        struct assignment a;

        if (decode(texts[i], &a, &arena) == 0)
            fail_msg("taken: %s", texts[i]);
        arena_fini(&arena);
    }
}

/* Limits of size and depth. */
static void
test_3_7_bounds(void **state)
{
    struct arena arena = {0};
    struct buf text = {0};
    struct assignment a;

    (void)state;
    for (int depth = JSON_READ_DEPTH - 1; depth <= JSON_READ_DEPTH; depth++) {
        buf_clear(&text);
        buf_addz(&text, "{\"v\":1,\"x\":");
        for (int i = 0; i < depth; i++)
            buf_addc(&text, '[');
        for (int i = 0; i < depth; i++)
            buf_addc(&text, ']');
        buf_add(&text, "}", 2);
        assert_int_equal(decode(buf_bytes(&text), &a, &arena),
                         depth < JSON_READ_DEPTH ? 0 : -1);
    }
    buf_clear(&text);
    buf_addz(&text, "{\"v\":1}");
    while (text.len < JSON_READ_BYTES)
        buf_addc(&text, ' ');
    assert_int_equal(assignment_decode(&a, buf_str(&text), &arena, NULL), 0);
    buf_addc(&text, ' ');
    assert_int_equal(assignment_decode(&a, buf_str(&text), &arena, NULL), -1);
    arena_fini(&arena);
    buf_fini(&text);
}

/* Every binding field counts, the profile does not. */
static void
test_3_7_same_binding(void **state)
{
    struct assignment others[7];
    struct assignment a = sample;

    (void)state;
    for (size_t i = 0; i < nitems(others); i++)
        others[i] = sample;
    others[0].inventory.name = STR("x");
    others[1].inventory.uid = STR("x");
    others[2].rack.name = STR("x");
    others[3].rack.uid = STR("x");
    others[4].group = STR("x");
    others[5].rack_index = 3;
    others[6].node_index = 2;
    for (size_t i = 0; i < nitems(others); i++)
        assert_false(assignment_same(&sample, &others[i]));
    a.node_uid = STR("x");
    assert_false(assignment_same(&sample, &a));
    a = sample;
    a.profile.name = a.profile.uid = a.revision = STR("x");
    assert_true(assignment_same(&sample, &a));
}

/* Cut and changed texts never do more than fail; jansson agrees on what is an
 * object at all. */
static void
test_3_7_changed_texts(void **state)
{
    struct seeded s = seeded_start("test_3_7_changed_texts");
    static const char bytes[] = "{}[]\",:\\u0123456789abcdef-+.eE \t\nntf";
    struct buf text = {0};
    struct err err;

    (void)state;
    assert_int_equal(assignment_encode(&text, &sample, &err), 0);
    buf_addc(&text, '\0');
    for (int i = 0; i < seeded_rounds(20000); i++) {
        char *copy = mem_strdup(buf_bytes(&text));
        size_t n = strlen(copy);
        struct arena arena = {0};
        struct assignment a;

        for (int j = seeded_below(&s, 3); j >= 0; j--)
            copy[seeded_below(&s, (int)n)] =
                bytes[seeded_below(&s, sizeof(bytes) - 1)];
        if (seeded_below(&s, 4) == 0)
            n = (size_t)seeded_below(&s, (int)n);
        if (assignment_decode(&a, (struct str){copy, n}, &arena, &err) == 0) {
            json_t *json = json_loadb(copy, n, 0, NULL);

            assert_non_null(json);
            assert_int_equal(a.rack_index, json_int(json, "rackIndex"));
            json_decref(json);
        }
        arena_fini(&arena);
        free(copy);
    }
    buf_fini(&text);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_3_7_the_beginning_that_slots_share),
        cmocka_unit_test(test_3_7_needs),
        cmocka_unit_test(test_3_7_zero_indexes),
        cmocka_unit_test(test_3_7_escapes),
        cmocka_unit_test(test_3_7_decodes),
        cmocka_unit_test(test_3_7_decodes_texts),
        cmocka_unit_test(test_3_7_refuses),
        cmocka_unit_test(test_3_7_bounds),
        cmocka_unit_test(test_3_7_same_binding),
        cmocka_unit_test(test_3_7_changed_texts),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "identity.json", "assignmentAnnotation", "test_3_7_",
                test_assignment_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer assignment");
}
