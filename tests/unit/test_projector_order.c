/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "projector/order.h"
#include "proto/frame.h"
#include "proto/pack.h"
#include "proto/unpack.h"

static struct order *
make(uint16_t type, struct buf *body, struct err *err)
{
    struct unpacked *u = unpack_body(buf_str(body), err);
    struct order *order;

    assert_non_null(u);
    order = order_new(type, 7, unpacked_root(u), err);
    unpacked_free(u);
    buf_fini(body);
    return order;
}

static struct order *
node(const char *uid, const char *version, const char *annotation)
{
    const struct intent_node i = {
        .target = {STR("n"), str_of(uid), str_of(version)},
        .clique = STR("c"),
        .annotation = str_of(annotation),
    };
    struct buf body = {0};
    struct err err = {0};

    intent_node_pack(&body, &i);
    return make(MSG_NODE_APPLY, &body, &err);
}

static void
it_comes_out_as_it_went_in(void **state)
{
    struct order *order = node("u", "5", "ann");
    struct arena arena = {0};
    union intent intent;

    (void)state;
    assert_int_equal(order->type, MSG_NODE_APPLY);
    assert_int_equal(order->id, 7);
    assert_int_equal(order->action, ACTION_NODE);
    assert_true(str_is(order->target.uid, "u"));
    order_read(&intent, order, &arena);
    free(order);
    assert_true(str_is(intent.target.name, "n"));
    assert_true(str_is(intent.node.target.uid, "u"));
    assert_true(str_is(intent.node.target.version, "5"));
    assert_true(str_is(intent.node.annotation, "ann"));
    assert_true(str_is(intent.node.clique, "c"));
    assert_false(intent.node.release);
    arena_fini(&arena);
}

static void
uid_and_version_are_no_content(void **state)
{
    struct order *a = node("u", "5", "ann");
    struct order *b = node("v", "6", "ann");
    struct order *c = node("u", "5", "other");

    (void)state;
    assert_true(order_same(a, b));
    assert_false(order_same(a, c));
    free(a);
    free(b);
    free(c);
}

static void
a_status_says_whose_it_is(void **state)
{
    static const enum action actions[] = {ACTION_INVENTORY_STATUS,
                                          ACTION_RACK_STATUS};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct intent_status s = {.target.name = STR("x"),
                                        .action = actions[i],
                                        .status.fields = STR("{}")};
        struct buf body = {0};
        struct err err = {0};
        struct order *order;

        intent_status_pack(&body, &s);
        order = make(MSG_STATUS_WRITE, &body, &err);
        assert_int_equal(order->action, actions[i]);
        free(order);
    }
}

static void
another_messages_body_is_refused(void **state)
{
    static const uint16_t types[] = {MSG_RACK_WRITE, MSG_RACK_DELETE,
                                     MSG_RACK_LOOK,  MSG_FINALIZER,
                                     MSG_NODE_APPLY, MSG_STATUS_WRITE};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct buf body = {0};
        struct err err = {0};

        pack_array(&body, 1);
        pack_int(&body, 3);
        assert_null(make(types[i], &body, &err));
        assert_int_not_equal(err.text[0], '\0');
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_out_as_it_went_in),
        cmocka_unit_test(uid_and_version_are_no_content),
        cmocka_unit_test(a_status_says_whose_it_is),
        cmocka_unit_test(another_messages_body_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
