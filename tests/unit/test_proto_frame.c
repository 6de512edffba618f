/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "common/mem.h"
#include "proto/frame.h"

static void
test_header_is_big_endian(void **state)
{
    struct buf out = {0};

    (void)state;
    frame_add(&out, MSG_STATE, FRAME_DESCRIPTOR, 0x01020304, STR("ab"));
    assert_int_equal(out.len, FRAME_HEADER + 2);
    assert_memory_equal(buf_bytes(&out),
                        "\0\0\0\2"
                        "\0\10"
                        "\0\1"
                        "\1\2\3\4"
                        "ab",
                        FRAME_HEADER + 2);
    buf_fini(&out);
}

static void
test_what_was_added_is_found(void **state)
{
    struct buf out = {0};
    struct frame frame;
    struct err err;

    (void)state;
    frame_add(&out, MSG_STATE, 0, 7, STR("body"));
    frame_add(&out, MSG_BYE, 0, 8, STR(""));
    assert_int_equal(frame_find(&frame, &out, ROLE_WEB, ROLE_SUPERVISOR, &err),
                     1);
    assert_int_equal(frame.type, MSG_STATE);
    assert_int_equal(frame.id, 7);
    assert_int_equal(frame.flags, 0);
    assert_int_equal(frame.length, 4);
    assert_memory_equal(frame.body, "body", 4);
    buf_drop(&out, FRAME_HEADER + frame.length);
    assert_int_equal(frame_find(&frame, &out, ROLE_WEB, ROLE_SUPERVISOR, &err),
                     1);
    assert_int_equal(frame.type, MSG_BYE);
    assert_int_equal(frame.length, 0);
    buf_drop(&out, FRAME_HEADER);
    assert_int_equal(frame_find(&frame, &out, ROLE_WEB, ROLE_SUPERVISOR, &err),
                     0);
    buf_fini(&out);
}

static void
test_every_cut_frame_needs_more(void **state)
{
    struct buf out = {0};
    struct frame frame;
    struct err err;

    (void)state;
    frame_add(&out, MSG_STATE, 0, 7, STR("body"));
    for (size_t n = 0; n < FRAME_HEADER + 4; n++) {
        struct buf cut = {0};

        buf_add(&cut, buf_bytes(&out), n);
        assert_int_equal(
            frame_find(&frame, &cut, ROLE_WEB, ROLE_SUPERVISOR, &err), 0);
        buf_fini(&cut);
    }
    buf_fini(&out);
}

static int
find_header(uint16_t type, uint32_t length, enum role peer, enum role self,
            struct err *err)
{
    struct buf in = {0};
    struct frame frame;
    int rc;

    frame_add(&in, type, 0, 0, STR(""));
    for (int i = 0; i < 4; i++)
        buf_bytes(&in)[i] = (char)(length >> (24 - 8 * i));
    rc = frame_find(&frame, &in, peer, self, err);
    buf_fini(&in);
    return rc;
}

struct row {
    uint16_t number;
    const char *name;
    uint32_t from, to, cap;
};

static const struct row rows[] = {
#define MESSAGE(number, name, from, to, cap, body)                             \
    {number, #name, from, to, cap},
#include "proto/messages.def"
};

/* Every message from everyone to everyone: only what the catalogue allows. */
static void
test_routes_are_those_of_the_catalogue(void **state)
{
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        for (unsigned peer = 0; peer < ROLE_COUNT; peer++)
            for (unsigned self = 0; self < ROLE_COUNT; self++) {
                bool allowed = (rows[i].from & 1u << peer) != 0 &&
                               (rows[i].to & 1u << self) != 0;

                assert_int_equal(find_header(rows[i].number, 0, (enum role)peer,
                                             (enum role)self, &err),
                                 allowed ? 1 : -1);
                if (!allowed)
                    assert_non_null(strstr(err.text, rows[i].name));
            }
}

static enum role
first_of(uint32_t roles)
{
    return (enum role)__builtin_ctz(roles);
}

static void
test_a_body_above_its_cap_is_not_waited_for(void **state)
{
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        enum role peer = first_of(rows[i].from);
        enum role self = first_of(rows[i].to);

        assert_int_equal(
            find_header(rows[i].number, rows[i].cap, peer, self, &err), 0);
        assert_int_equal(
            find_header(rows[i].number, rows[i].cap + 1, peer, self, &err), -1);
        assert_int_equal(
            find_header(rows[i].number, UINT32_MAX, peer, self, &err), -1);
        assert_non_null(strstr(err.text, rows[i].name));
    }
}

static void
test_types_without_a_row(void **state)
{
    struct err err;

    (void)state;
    for (unsigned type = 0; type <= UINT16_MAX; type++) {
        bool known = false;

        for (size_t i = 0; i < nitems(rows); i++)
            known = known || rows[i].number == type;
        if (known)
            continue;
        assert_string_equal(message_name((uint16_t)type), "unknown");
        assert_string_equal(message_body((uint16_t)type), "");
        assert_int_equal(message_receivers((uint16_t)type), 0);
        assert_int_equal(
            find_header((uint16_t)type, 0, ROLE_WEB, ROLE_SUPERVISOR, &err),
            -1);
    }
}

static void
test_the_catalogue_is_consistent(void **state)
{
    uint32_t everybody = R_SUPERVISOR | R_WORKERS | R_USER;

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        assert_string_equal(message_name(rows[i].number), rows[i].name);
        assert_int_equal(message_receivers(rows[i].number), rows[i].to);
        assert_true(rows[i].from != 0 && (rows[i].from & ~everybody) == 0);
        assert_true(rows[i].to != 0 && (rows[i].to & ~everybody) == 0);
        assert_in_range(rows[i].cap, 1 << 8, 8 << 20);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(rows[i].number, rows[j].number);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_is_big_endian),
        cmocka_unit_test(test_what_was_added_is_found),
        cmocka_unit_test(test_every_cut_frame_needs_more),
        cmocka_unit_test(test_routes_are_those_of_the_catalogue),
        cmocka_unit_test(test_a_body_above_its_cap_is_not_waited_for),
        cmocka_unit_test(test_types_without_a_row),
        cmocka_unit_test(test_the_catalogue_is_consistent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
