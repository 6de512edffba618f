/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/intent.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "tests/unit/seeded.h"

static const struct pair pairs[] = {
    {STR("a"), STR("1")},
    {STR("b"), STR("2")},
};
static const struct str finalizers[] = {STR("f")};
static const struct object_owner owners[] = {
    {STR("v"), STR("K"), STR("n"), STR("u"), 1, -1},
};
static const struct condition conditions[] = {
    {STR("Ready"), STR("False"), STR("R"), STR("m"), 9},
};

#define TARGET                                                                 \
    {                                                                          \
        STR("name"), STR("uid"), STR("12")                                     \
    }

/* All bodies in one: each reads one of them and writes it again. */

static int
again_rack(const struct value *body, struct arena *arena, struct buf *out,
           struct err *err)
{
    struct intent_rack i;

    if (intent_rack_unpack(&i, body, arena, err) != 0)
        return -1;
    intent_rack_pack(out, &i);
    return 0;
}

static int
again_node(const struct value *body, struct arena *arena, struct buf *out,
           struct err *err)
{
    struct intent_node i;

    if (intent_node_unpack(&i, body, arena, err) != 0)
        return -1;
    intent_node_pack(out, &i);
    return 0;
}

static int
again_finalizer(const struct value *body, struct arena *arena, struct buf *out,
                struct err *err)
{
    struct intent_finalizer i;

    if (intent_finalizer_unpack(&i, body, arena, err) != 0)
        return -1;
    intent_finalizer_pack(out, &i);
    return 0;
}

static int
again_status(const struct value *body, struct arena *arena, struct buf *out,
             struct err *err)
{
    struct intent_status i;

    if (intent_status_unpack(&i, body, arena, err) != 0)
        return -1;
    intent_status_pack(out, &i);
    return 0;
}

static int
again_delete(const struct value *body, struct arena *arena, struct buf *out,
             struct err *err)
{
    struct target target;

    if (intent_delete_unpack(&target, body, arena, err) != 0)
        return -1;
    intent_delete_pack(out, &target);
    return 0;
}

static int
again_withdraw(const struct value *body, struct arena *arena, struct buf *out,
               struct err *err)
{
    enum action action;
    struct str name;

    if (intent_withdraw_unpack(&action, &name, body, arena, err) != 0)
        return -1;
    intent_withdraw_pack(out, action, name);
    return 0;
}

static int
again_result(const struct value *body, struct arena *arena, struct buf *out,
             struct err *err)
{
    struct result result;

    if (result_unpack(&result, body, arena, err) != 0)
        return -1;
    result_pack(out, &result);
    return 0;
}

static int
again_written(const struct value *body, struct arena *arena, struct buf *out,
              struct err *err)
{
    enum action action;
    struct target target;

    if (written_unpack(&action, &target, body, arena, err) != 0)
        return -1;
    written_pack(out, action, &target);
    return 0;
}

static int
again_event(const struct value *body, struct arena *arena, struct buf *out,
            struct err *err)
{
    struct intent_event i;

    if (intent_event_unpack(&i, body, arena, err) != 0)
        return -1;
    intent_event_pack(out, &i);
    return 0;
}

enum {
    RACK,
    NODE,
    FINALIZER,
    STATUS,
    DELETE,
    WITHDRAW,
    RESULT,
    WRITTEN,
    EVENT,
    N
};

static int (*const again[N])(const struct value *body, struct arena *arena,
                             struct buf *out, struct err *err) = {
    [RACK] = again_rack,           [NODE] = again_node,
    [FINALIZER] = again_finalizer, [STATUS] = again_status,
    [DELETE] = again_delete,       [WITHDRAW] = again_withdraw,
    [RESULT] = again_result,       [WRITTEN] = again_written,
    [EVENT] = again_event,
};

static const struct target target = TARGET;

static void
put_example(int which, struct buf *out)
{
    static const struct intent_rack rack = {
        TARGET,          3,           {pairs, 2, NULL}, {pairs, 1, NULL},
        {finalizers, 1}, {owners, 1}, STR("{\"a\":1}")};
    static const struct intent_node node = {TARGET, STR("c"), STR("{}"),
                                            true,   false,    true};
    static const struct intent_finalizer finalizer = {TARGET, STR("f"), false};
    static const struct intent_status status = {
        TARGET, ACTION_RACK_STATUS, {STR("{}"), {conditions, 1}}};
    static const struct intent_event event = {
        TARGET, KIND_INVENTORY, true, STR("R"), STR("m"), STR("A")};
    static const struct result result = {ACTION_NODE, OUTCOME_CONFLICT,
                                         STR("n"),    STR("u"),
                                         STR("9"),    STR("owned by kubectl")};

    if (which == RACK)
        intent_rack_pack(out, &rack);
    else if (which == NODE)
        intent_node_pack(out, &node);
    else if (which == FINALIZER)
        intent_finalizer_pack(out, &finalizer);
    else if (which == STATUS)
        intent_status_pack(out, &status);
    else if (which == DELETE)
        intent_delete_pack(out, &target);
    else if (which == WITHDRAW)
        intent_withdraw_pack(out, ACTION_INVENTORY_FINALIZER, STR("n"));
    else if (which == RESULT)
        result_pack(out, &result);
    else if (which == EVENT)
        intent_event_pack(out, &event);
    else
        written_pack(out, ACTION_RACK, &target);
}

static int
read_and_write(int which, struct str bytes, struct buf *out, struct err *err)
{
    struct unpacked *u = unpack_body(bytes, err);
    struct arena arena = {0};
    int rc;

    if (u == NULL)
        return -1;
    rc = again[which](unpacked_root(u), &arena, out, err);
    unpacked_free(u);
    arena_fini(&arena);
    return rc;
}

static void
test_each_body_comes_back_whole(void **state)
{
    (void)state;
    for (int which = 0; which < N; which++) {
        struct buf bytes = {0};
        struct buf out = {0};
        struct err err = {""};

        put_example(which, &bytes);
        if (read_and_write(which, buf_str(&bytes), &out, &err) != 0)
            fail_msg("%d: %s", which, err.text);
        assert_true(str_eq(buf_str(&bytes), buf_str(&out)));
        buf_fini(&bytes);
        buf_fini(&out);
    }
}

static void
test_fields_are_not_mixed_up(void **state)
{
    struct buf bytes = {0};
    struct arena arena = {0};
    struct result got;
    struct unpacked *u;

    (void)state;
    put_example(RESULT, &bytes);
    u = unpack_body(buf_str(&bytes), NULL);
    assert_int_equal(result_unpack(&got, unpacked_root(u), &arena, NULL), 0);
    unpacked_free(u);
    buf_fini(&bytes);
    assert_int_equal(got.action, ACTION_NODE);
    assert_int_equal(got.outcome, OUTCOME_CONFLICT);
    assert_true(str_is(got.name, "n"));
    assert_true(str_is(got.uid, "u"));
    assert_true(str_is(got.version, "9"));
    assert_true(str_is(got.reason, "owned by kubectl"));
    arena_fini(&arena);
}

static void
test_no_body_is_read_as_another(void **state)
{
    (void)state;
    for (int which = 0; which < N; which++) {
        struct buf bytes = {0};

        put_example(which, &bytes);
        for (int other = 0; other < N; other++) {
            struct buf out = {0};
            struct err err;

            if (other != which)
                assert_int_equal(
                    read_and_write(other, buf_str(&bytes), &out, &err), -1);
            buf_fini(&out);
        }
        buf_fini(&bytes);
    }
}

static void
test_numbers_beyond_the_enums_are_refused(void **state)
{
    static const int64_t numbers[] = {
        ACTION_COUNT, -1, 255, INT64_MAX, INT64_MIN, INT64_C(1) << 32};

    (void)state;
    for (size_t i = 0; i < nitems(numbers); i++) {
        struct buf bytes = {0};
        struct buf out = {0};
        struct err err;

        pack_array(&bytes, 2);
        pack_int(&bytes, numbers[i]);
        pack_text(&bytes, "n");
        assert_int_equal(read_and_write(WITHDRAW, buf_str(&bytes), &out, &err),
                         -1);
        buf_fini(&bytes);
        buf_fini(&out);
    }
}

static void
test_a_status_is_of_an_inventory_or_a_rack(void **state)
{
    (void)state;
    for (unsigned action = 0; action < ACTION_COUNT; action++) {
        struct intent_status status = {
            TARGET, (enum action)action, {STR("{}"), {conditions, 1}}};
        bool fits =
            action == ACTION_INVENTORY_STATUS || action == ACTION_RACK_STATUS;
        struct buf bytes = {0};
        struct buf out = {0};
        struct err err;

        intent_status_pack(&bytes, &status);
        assert_int_equal(read_and_write(STATUS, buf_str(&bytes), &out, &err),
                         fits ? 0 : -1);
        buf_fini(&bytes);
        buf_fini(&out);
    }
}

static void
test_a_target_needs_a_name_but_no_uid(void **state)
{
    struct target nameless = {STR(""), STR("u"), STR("1")};
    struct target to_be_created = {STR("n"), STR(""), STR("")};
    struct buf bytes = {0};
    struct buf out = {0};
    struct err err;

    (void)state;
    intent_delete_pack(&bytes, &nameless);
    assert_int_equal(read_and_write(DELETE, buf_str(&bytes), &out, &err), -1);
    buf_clear(&bytes);
    intent_delete_pack(&bytes, &to_be_created);
    assert_int_equal(read_and_write(DELETE, buf_str(&bytes), &out, &err), 0);
    buf_fini(&bytes);
    buf_fini(&out);
}

static void
test_damaged_bodies_do_no_harm(void **state)
{
    struct seeded s = seeded_start("damaged intents");
    int rounds = seeded_rounds(20000);

    (void)state;
    for (int i = 0; i < rounds; i++) {
        int which = seeded_below(&s, N);
        struct buf bytes = {0};
        struct buf out = {0};
        struct buf third = {0};
        struct err err;

        put_example(which, &bytes);
        for (int j = seeded_below(&s, 3); j >= 0; j--)
            buf_bytes(&bytes)[seeded_below(&s, (int)bytes.len)] =
                (char)seeded_next(&s);
        if (read_and_write(which, buf_str(&bytes), &out, &err) == 0) {
            assert_int_equal(read_and_write(which, buf_str(&out), &third, &err),
                             0);
            assert_true(str_eq(buf_str(&out), buf_str(&third)));
        }
        buf_fini(&bytes);
        buf_fini(&out);
        buf_fini(&third);
    }
}

static void
test_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ACTION_COUNT; i++)
        assert_string_not_equal(action_name((enum action)i), "unknown");
    for (unsigned i = 0; i < OUTCOME_COUNT; i++)
        assert_string_not_equal(outcome_name((enum outcome)i), "unknown");
    assert_string_equal(action_name(ACTION_COUNT), "unknown");
    assert_string_equal(outcome_name(OUTCOME_COUNT), "unknown");
    assert_string_equal(action_name(ACTION_RACK), "rack");
    assert_string_equal(outcome_name(OUTCOME_DONE), "done");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_body_comes_back_whole),
        cmocka_unit_test(test_fields_are_not_mixed_up),
        cmocka_unit_test(test_no_body_is_read_as_another),
        cmocka_unit_test(test_numbers_beyond_the_enums_are_refused),
        cmocka_unit_test(test_a_status_is_of_an_inventory_or_a_rack),
        cmocka_unit_test(test_a_target_needs_a_name_but_no_uid),
        cmocka_unit_test(test_damaged_bodies_do_no_harm),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
