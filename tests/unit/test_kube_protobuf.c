/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/kube/protobuf.h"
#include "common/mem.h"
#include "tests/fake/wire.h"

#define BYTES(...)                                                             \
    ((struct str){(const char[]){__VA_ARGS__}, sizeof((char[]){__VA_ARGS__})})

static void
test_varints(void **state)
{
    static const uint64_t values[] = {
        0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < nitems(values); i++) {
        struct buf out = {0};
        struct str bytes;
        uint64_t value;
        size_t used;

        wire_varint(&out, values[i]);
        bytes = buf_str(&out);
        assert_int_equal(pb_varint(bytes, &value, &used), 1);
        assert_true(value == values[i]);
        assert_int_equal(used, out.len);
        for (bytes.n = 0; bytes.n < out.len; bytes.n++)
            assert_int_equal(pb_varint(bytes, &value, &used), 0);
        buf_fini(&out);
    }
}

static void
test_varints_that_are_none(void **state)
{
    struct str beyond = STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
    struct str longer = STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    uint64_t value;
    size_t used;

    (void)state;
    assert_int_equal(pb_varint(beyond, &value, &used), -1);
    assert_int_equal(pb_varint(longer, &value, &used), -1);
}

static void
test_fields(void **state)
{
    struct buf out = {0};
    struct pb_reader reader;
    struct pb_field field;
    struct err err;

    (void)state;
    wire_number(&out, 7, 300);
    wire_text(&out, 1, "name");
    buf_adds(&out, BYTES(2 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8));
    buf_adds(&out, BYTES(3 << 3 | 5, 1, 2, 3, 4));
    wire_text(&out, 536870911, "");
    reader = pb_reader(buf_str(&out));
    assert_int_equal(pb_next(&reader, &field, &err), 1);
    assert_true(pb_is_varint(&field, 7) && field.value == 300);
    assert_int_equal(pb_next(&reader, &field, &err), 1);
    assert_true(pb_is_bytes(&field, 1) && str_is(field.bytes, "name"));
    assert_int_equal(pb_next(&reader, &field, &err), 1);
    assert_int_equal(field.type, PB_FIXED64);
    assert_int_equal(pb_next(&reader, &field, &err), 1);
    assert_int_equal(field.type, PB_FIXED32);
    assert_int_equal(pb_next(&reader, &field, &err), 1);
    assert_true(pb_is_bytes(&field, 536870911) && field.bytes.n == 0);
    assert_int_equal(pb_next(&reader, &field, &err), 0);
    buf_fini(&out);
}

static void
test_malformed_fields(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        {"\x08", 1},     /* a number without value */
        {"\x08\x80", 2}, /* cut in the middle of one */
        {"\x0a\x05"
         "abcd",
         6}, /* shorter than it says */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
        {"\x0a", 1},     /* no length */
        {"\x00\x00", 2}, /* field 0 */
        {"\x0b\x0c", 2}, /* groups */
        {"\x0e\x00", 2}, /* wire types 6 and 7 */
        {"\x0f\x00", 2},
        {"\x09\x01\x02", 3}, /* fixed, cut off */
        {"\x0d\x01\x02\x03", 4},
        {"\x80", 1},                     /* a tag cut off */
        {"\x80\x80\x80\x80\x10\x00", 6}, /* a field number beyond 29 bits */
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        /* Memory of just that size, so that reading beyond is seen. */
        char *copy = malloc(cases[i].n);
        struct pb_reader reader;
        struct pb_field field;
        struct err err = {""};

        memcpy(copy, cases[i].bytes, cases[i].n);
        reader = pb_reader((struct str){copy, cases[i].n});
        assert_int_equal(pb_next(&reader, &field, &err), -1);
        assert_true(err.text[0] != '\0');
        free(copy);
    }
}

static void
test_H03_text_is_utf8_without_nul(void **state)
{
    static const char *const good[] = {
        "",
        "abc",
        "\xc3\xa4",
        "\xe2\x82\xac",
        "\xf0\x9f\x98\x80",
        "\xf4\x8f\xbf\xbf",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
    };
    static const char *const bad[] = {
        "\x80",
        "\xc3",
        "\xc0\xaf",
        "\xe0\x80\xaf",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xe2\x82",
        "a\xc3(",
        "\xf0\x80\x80\x80",
        "\xe2\x82(",
    };

    (void)state;
    for (size_t i = 0; i < nitems(good); i++)
        assert_true(pb_is_text(str_of(good[i])));
    for (size_t i = 0; i < nitems(bad); i++)
        assert_false(pb_is_text(str_of(bad[i])));
    assert_false(pb_is_text(STR("a\0b")));
}

/* Whatever the bytes are, reading ends and stays within them. */
static void
test_any_bytes(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = round % 40;
        char *bytes = malloc(n + !n);
        struct pb_reader reader = pb_reader((struct str){bytes, n});
        struct pb_field field;
        size_t fields = 0;

        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (char)(seed >> 56 & (round & 1 ? 0xff : 0x1f));
        }
        while (pb_next(&reader, &field, NULL) > 0)
            fields++;
        assert_true(fields <= n);
        free(bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints),
        cmocka_unit_test(test_varints_that_are_none),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_malformed_fields),
        cmocka_unit_test(test_H03_text_is_utf8_without_nul),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
