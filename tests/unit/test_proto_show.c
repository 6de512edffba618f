/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/mem.h"
#include "proto/intent.h"
#include "proto/pack.h"
#include "proto/show.h"
#include "proto/unpack.h"

static void
assert_shown(uint16_t type, struct buf *body, size_t width, const char *wanted)
{
    struct buf out = {0};
    struct err err;
    struct unpacked *u = unpack_body(buf_str(body), &err);

    assert_non_null(u);
    if (width == 0)
        show_json(&out, type, unpacked_root(u));
    else
        show_line(&out, type, unpacked_root(u), width);
    buf_addc(&out, '\0');
    assert_string_equal(buf_bytes(&out), wanted);
    unpacked_free(u);
    buf_fini(&out);
    buf_fini(body);
}

static void
test_fields_have_the_names_of_the_catalogue(void **state)
{
    (void)state;
    assert_true(str_is(show_field_name(MSG_RACK_WRITE, 0), "target"));
    assert_true(str_is(show_field_name(MSG_RACK_WRITE, 2), "label"));
    assert_true(str_is(show_field_name(MSG_RACK_WRITE, 4), "finalizer"));
    assert_true(str_is(show_field_name(MSG_RACK_WRITE, 6), "spec"));
    assert_true(str_is(show_field_name(MSG_RACK_WRITE, 7), ""));
    assert_true(str_is(show_field_name(MSG_GRANTED, 1), "descriptor"));
    assert_true(str_is(show_field_name(MSG_START, 0), ""));
    assert_true(str_is(show_field_name(0, 0), ""));
}

static void
test_a_frame_is_one_JSON_object(void **state)
{
    struct buf body = {0};

    (void)state;
    intent_node_pack(&body, &(struct intent_node){
                                .target = {STR("n\"1"), STR("u"), STR("5")},
                                .clique = STR("c"),
                                .annotation = STR("{\"v\":1}"),
                                .release = true,
                            });
    assert_shown(
        MSG_NODE_APPLY, &body, 0,
        "{\"target\":[\"n\\\"1\",\"u\",\"5\"],\"clique\":\"c\","
        "\"annotation\":\"{\\\"v\\\":1}\",\"release\":true,\"keep\":false,"
        "\"stray\":false}");
}

static void
test_numbers_with_a_name_are_that_name(void **state)
{
    struct buf body = {0};

    (void)state;
    intent_withdraw_pack(&body, ACTION_RACK_STATUS, STR("r"));
    assert_shown(MSG_WITHDRAW, &body, 0,
                 "{\"action\":\"rack status\",\"name\":\"r\"}");
    pack_array(&body, 2);
    pack_int(&body, 99);
    pack_text(&body, "r");
    assert_shown(MSG_WITHDRAW, &body, 0, "{\"action\":99,\"name\":\"r\"}");
    pack_array(&body, 3);
    pack_int(&body, KIND_NODE);
    pack_text(&body, "n");
    pack_text(&body, "u");
    assert_shown(MSG_GONE, &body, 20, " kind=\"Node\" name=\"n\" uid=\"u\"");
}

static void
test_every_kind_of_value_is_shown(void **state)
{
    struct buf body = {0};

    (void)state;
    pack_array(&body, 4);
    pack_map(&body, 2);
    pack_text(&body, "a");
    pack_int(&body, -1);
    pack_text(&body, "b");
    pack_nil(&body);
    pack_real(&body, 0.5);
    pack_bool(&body, false);
    pack_str(&body, STR("\xff"));
    assert_shown(MSG_NODE_APPLY, &body, 0,
                 "{\"target\":{\"a\":-1,\"b\":null},\"clique\":null,"
                 "\"annotation\":false,\"release\":\"\\ufffd\"}");
}

static void
test_a_long_field_of_a_line_is_cut_between_characters(void **state)
{
    struct buf body = {0};

    (void)state;
    pack_array(&body, 2);
    pack_int(&body, 0);
    pack_str(&body, STR("ab\u00fcd"));
    assert_shown(MSG_WITHDRAW, &body, 4, " action=\"rac... name=\"ab...");
    pack_array(&body, 2);
    pack_int(&body, 7);
    pack_str(&body, STR("ab\u00fcd"));
    assert_shown(MSG_WITHDRAW, &body, 7, " action=7 name=\"ab\u00fcd\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_have_the_names_of_the_catalogue),
        cmocka_unit_test(test_a_frame_is_one_JSON_object),
        cmocka_unit_test(test_numbers_with_a_name_are_that_name),
        cmocka_unit_test(test_every_kind_of_value_is_shown),
        cmocka_unit_test(test_a_long_field_of_a_line_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
