/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/* A body and what was read from it, together. */
struct body {
    struct buf bytes;
    struct unpacked *unpacked;
};

static const struct value *
root_of(struct body *body)
{
    struct err err = {""};

    body->unpacked = unpack_body(buf_str(&body->bytes), &err);
    if (body->unpacked == NULL)
        fail_msg("%s", err.text);
    return unpacked_root(body->unpacked);
}

static void
body_fini(struct body *body)
{
    unpacked_free(body->unpacked);
    buf_fini(&body->bytes);
    *body = (struct body){.unpacked = NULL};
}

static void
test_each_kind_comes_back(void **state)
{
    struct body body = {.unpacked = NULL};
    struct unpack u;
    const struct value *v;

    (void)state;
    pack_array(&body.bytes, 9);
    pack_str(&body.bytes, STR("text"));
    pack_text(&body.bytes, NULL);
    pack_int(&body.bytes, -5);
    pack_bool(&body.bytes, true);
    pack_bool(&body.bytes, false);
    pack_nil(&body.bytes);
    pack_real(&body.bytes, 1.5);
    pack_array(&body.bytes, 0);
    pack_map(&body.bytes, 1);
    pack_text(&body.bytes, "k");
    pack_int(&body.bytes, 1);
    u = unpack_fields(root_of(&body));
    assert_true(str_is(unpack_str(&u), "text"));
    assert_true(str_is(unpack_str(&u), ""));
    assert_int_equal(unpack_int(&u), -5);
    assert_true(unpack_bool(&u));
    assert_false(unpack_bool(&u));
    assert_int_equal(value_kind(unpack_value(&u)), VALUE_NIL);
    assert_int_equal(value_kind(unpack_value(&u)), VALUE_REAL);
    assert_int_equal(value_count(unpack_array(&u)), 0);
    v = unpack_map(&u);
    assert_int_equal(value_count(v), 1);
    assert_true(str_is(value_key(v, 0), "k"));
    assert_int_equal(unpack_end(&u, NULL), 0);
    body_fini(&body);
}

static void
test_integers_of_every_size(void **state)
{
    static const int64_t numbers[] = {
        0,     1,     127,       128,        255,       256,       32767, 32768,
        65535, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, -1,        -32,   -33,
        -128,  -129,  -32768,    -32769,     INT32_MIN, INT64_MIN,
    };

    (void)state;
    for (size_t i = 0; i < nitems(numbers); i++) {
        struct body body = {.unpacked = NULL};
        int64_t got;

        pack_int(&body.bytes, numbers[i]);
        assert_true(value_int(root_of(&body), &got));
        assert_true(got == numbers[i]);
        body_fini(&body);
    }
}

static void
test_an_unsigned_number_beyond_64_bits_signed_is_refused(void **state)
{
    struct body body = {.unpacked = NULL};
    int64_t got = 7;

    (void)state;
    buf_add(&body.bytes, "\xcf\x80\x00\x00\x00\x00\x00\x00\x00", 9);
    assert_false(value_int(root_of(&body), &got));
    assert_int_equal(got, 7);
    body_fini(&body);
}

static void
test_texts_of_every_length_class(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 32, 255, 256, 65535, 65536};

    (void)state;
    for (size_t i = 0; i < nitems(lengths); i++) {
        struct body body = {.unpacked = NULL};
        char *text = mem_zalloc(lengths[i] + 1);
        struct str got;

        memset(text, 'x', lengths[i]);
        pack_text(&body.bytes, text);
        assert_true(value_str(root_of(&body), &got));
        assert_true(str_is(got, text));
        free(text);
        body_fini(&body);
    }
}

static void
test_a_text_with_a_nul_is_no_text(void **state)
{
    struct body body = {.unpacked = NULL};
    struct str got = STR("kept");

    (void)state;
    pack_str(&body.bytes, STR("a\0b"));
    assert_false(value_str(root_of(&body), &got));
    assert_true(str_is(got, "kept"));
    body_fini(&body);
    buf_add(&body.bytes, "\xc4\x01x", 3); /* bytes are none either */
    assert_false(value_str(root_of(&body), &got));
    body_fini(&body);
}

static void
test_getters_refuse_other_kinds_and_null(void **state)
{
    struct body body = {.unpacked = NULL};
    const struct value *root;
    struct str text;
    int64_t number;
    bool yes;

    (void)state;
    pack_map(&body.bytes, 0);
    root = root_of(&body);
    assert_false(value_str(root, &text));
    assert_false(value_int(root, &number));
    assert_false(value_bool(root, &yes));
    assert_false(value_str(NULL, &text));
    assert_false(value_int(NULL, &number));
    assert_false(value_bool(NULL, &yes));
    assert_null(value_get(NULL, "k"));
    body_fini(&body);
}

static void
test_lookup_by_key(void **state)
{
    struct body body = {.unpacked = NULL};
    const struct value *root;
    int64_t number;

    (void)state;
    pack_map(&body.bytes, 5);
    pack_text(&body.bytes, "twice");
    pack_int(&body.bytes, 1);
    pack_text(&body.bytes, "nil");
    pack_nil(&body.bytes);
    pack_int(&body.bytes, 9); /* a key that is no text */
    pack_int(&body.bytes, 9);
    pack_text(&body.bytes, "twice");
    pack_int(&body.bytes, 2);
    pack_text(&body.bytes, "twic");
    pack_int(&body.bytes, 3);
    root = root_of(&body);
    assert_true(value_int(value_get(root, "twice"), &number));
    assert_int_equal(number, 2);
    assert_null(value_get(root, "nil"));
    assert_null(value_get(root, "none"));
    assert_true(str_is(value_key(root, 2), ""));
    body_fini(&body);
    pack_array(&body.bytes, 0);
    assert_null(value_get(root_of(&body), "k"));
    body_fini(&body);
}

/* The fields of [1, "x"], read in ways that do not fit. */

static struct unpack
two_fields(struct body *body)
{
    pack_array(&body->bytes, 2);
    pack_int(&body->bytes, 1);
    pack_text(&body->bytes, "x");
    return unpack_fields(root_of(body));
}

static void
test_fields_must_be_consumed_exactly(void **state)
{
    struct body body = {.unpacked = NULL};
    struct unpack u = two_fields(&body);
    struct err err = {""};

    (void)state;
    assert_int_equal(unpack_int(&u), 1);
    assert_int_equal(unpack_end(&u, &err), -1);
    assert_string_equal(err.text, "2 fields, 1 expected");
    assert_true(str_is(unpack_str(&u), "x"));
    assert_int_equal(unpack_end(&u, &err), 0);
    assert_int_equal(unpack_int(&u), 0);
    assert_int_equal(unpack_end(&u, &err), -1);
    body_fini(&body);
}

static void
test_a_field_of_another_kind_spoils_the_rest(void **state)
{
    struct body body = {.unpacked = NULL};
    struct unpack u = two_fields(&body);
    struct err err = {""};

    (void)state;
    assert_true(str_is(unpack_str(&u), "")); /* it is a number */
    assert_true(u.bad);
    assert_true(str_is(unpack_str(&u), "")); /* though this one is a text */
    assert_int_equal(unpack_int(&u), 0);
    assert_false(unpack_bool(&u));
    assert_null(unpack_value(&u));
    assert_null(unpack_array(&u));
    assert_null(unpack_map(&u));
    assert_int_equal(unpack_end(&u, &err), -1);
    assert_non_null(strstr(err.text, "field 1"));
    body_fini(&body);
}

static void
test_fields_of_what_is_no_array(void **state)
{
    struct body body = {.unpacked = NULL};
    struct unpack u = unpack_fields(NULL);

    (void)state;
    assert_int_equal(unpack_end(&u, NULL), -1);
    pack_map(&body.bytes, 0);
    u = unpack_fields(root_of(&body));
    assert_int_equal(unpack_end(&u, NULL), -1);
    body_fini(&body);
}

static void
test_a_body_that_is_none(void **state)
{
    struct err err = {""};

    (void)state;
    assert_null(unpack_body(STR(""), &err));
    assert_null(unpack_body(STR("\xdd\xff\xff\xff\xff"), &err));
    assert_non_null(strstr(err.text, "count beyond its end"));
    unpacked_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_comes_back),
        cmocka_unit_test(test_integers_of_every_size),
        cmocka_unit_test(
            test_an_unsigned_number_beyond_64_bits_signed_is_refused),
        cmocka_unit_test(test_texts_of_every_length_class),
        cmocka_unit_test(test_a_text_with_a_nul_is_no_text),
        cmocka_unit_test(test_getters_refuse_other_kinds_and_null),
        cmocka_unit_test(test_lookup_by_key),
        cmocka_unit_test(test_fields_must_be_consumed_exactly),
        cmocka_unit_test(test_a_field_of_another_kind_spoils_the_rest),
        cmocka_unit_test(test_fields_of_what_is_no_array),
        cmocka_unit_test(test_a_body_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
