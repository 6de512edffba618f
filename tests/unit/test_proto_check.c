/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "proto/check.h"
#include "proto/unpack.h"
#include "tests/unit/seeded.h"

static void
assert_good(const void *bytes, size_t n)
{
    struct err err = {""};

    if (check_body((struct str){bytes, n}, &err) != 0)
        fail_msg("%s", err.text);
}

static void
assert_bad(const void *bytes, size_t n, const char *wanted)
{
    struct err err = {""};

    assert_int_equal(check_body((struct str){bytes, n}, &err), -1);
    if (strstr(err.text, wanted) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, wanted);
}

#define GOOD(literal) assert_good(literal, sizeof(literal) - 1)
#define BAD(literal, wanted) assert_bad(literal, sizeof(literal) - 1, wanted)

static void
test_every_type_in_use(void **state)
{
    (void)state;
    GOOD("\x00");
    GOOD("\x7f");
    GOOD("\xe0");
    GOOD("\xff");
    GOOD("\xc0");
    GOOD("\xc2");
    GOOD("\xc3");
    GOOD("\xc4\x01x");
    GOOD("\xc5\x00\x01x");
    GOOD("\xc6\x00\x00\x00\x01x");
    GOOD("\xca\x00\x00\x00\x00");
    GOOD("\xcb\x00\x00\x00\x00\x00\x00\x00\x00");
    GOOD("\xcc\xff");
    GOOD("\xcd\xff\xff");
    GOOD("\xce\xff\xff\xff\xff");
    GOOD("\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
    GOOD("\xd0\x80");
    GOOD("\xd1\x80\x00");
    GOOD("\xd2\x80\x00\x00\x00");
    GOOD("\xd3\x80\x00\x00\x00\x00\x00\x00\x00");
    GOOD("\xa0");
    GOOD("\xbfxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    GOOD("\xd9\x01x");
    GOOD("\xda\x00\x01x");
    GOOD("\xdb\x00\x00\x00\x01x");
    GOOD("\x90");
    GOOD("\x92\x01\x02");
    GOOD("\xdc\x00\x01\x01");
    GOOD("\xdd\x00\x00\x00\x01\x01");
    GOOD("\x80");
    GOOD("\x81\x01\x02");
    GOOD("\xde\x00\x01\x01\x02");
    GOOD("\xdf\x00\x00\x00\x01\x01\x02");
    GOOD("\x93\x91\x90\x81\xa1k\x92\x01\x02\xc0");
}

static void
test_types_not_in_use(void **state)
{
    static const unsigned char types[] = {0xc1, 0xc7, 0xc8, 0xc9, 0xd4,
                                          0xd5, 0xd6, 0xd7, 0xd8};

    (void)state;
    for (size_t i = 0; i < nitems(types); i++) {
        unsigned char bytes[32] = {types[i]};

        assert_bad(bytes, sizeof(bytes), "of a type not in use");
    }
}

static void
test_exactly_one_value(void **state)
{
    (void)state;
    BAD("", "ends too early");
    BAD("\xc0\xc0", "1 bytes after its end");
    BAD("\x90\x90\x90", "2 bytes after its end");
    BAD("\x91", "count beyond");
    BAD("\x92\x91\xc0", "ends too early");
    BAD("\x92\xc0", "count beyond");
}

/* Each prefix of a good body is a bad one. */
static void
test_every_cut_is_noticed(void **state)
{
    static const char body[] =
        "\x96\xa3"
        "abc\xcd\x01\x02\xcb\x01\x02\x03\x04\x05\x06\x07\x08\x82\xa1k\xc0\xa1l"
        "\xdc\x00\x02\x01\x02\xd9\x03xyz\x91\x91\x90";
    struct err err;

    (void)state;
    GOOD(body);
    for (size_t n = 0; n < sizeof(body) - 1; n++) {
        char *cut = mem_dup(body, n);

        assert_int_equal(check_body((struct str){cut, n}, &err), -1);
        free(cut);
    }
}

static void
test_lengths_beyond_the_end(void **state)
{
    (void)state;
    BAD("\xa2x", "length beyond");
    BAD("\xd9\xffx", "length beyond");
    BAD("\xda\xff\xffx", "length beyond");
    BAD("\xdb\xff\xff\xff\xffx", "length beyond");
    BAD("\xc6\xff\xff\xff\xffx", "length beyond");
    BAD("\xdb\x00\x00", "cut");
    BAD("\xdc\x00", "cut");
    BAD("\xcf\x00", "length beyond");
}

/* What msgpack-c would reserve memory for. */
static void
test_counts_beyond_the_end(void **state)
{
    (void)state;
    BAD("\xdd\xff\xff\xff\xff", "count beyond");
    BAD("\xdf\xff\xff\xff\xff", "count beyond");
    BAD("\xdf\x80\x00\x00\x00", "count beyond");
    BAD("\x8f\xc0\xc0", "count beyond");
    BAD("\xdc\x00\x03\xc0\xc0", "count beyond");
    BAD("\x82\xc0\xc0\xc0", "count beyond");
}

static void
test_depth(void **state)
{
    unsigned char bytes[CHECK_DEPTH + 2];

    (void)state;
    memset(bytes, 0x91, sizeof(bytes));
    bytes[CHECK_DEPTH] = 0xc0;
    assert_good(bytes, CHECK_DEPTH + 1);
    bytes[CHECK_DEPTH] = 0x91;
    bytes[CHECK_DEPTH + 1] = 0xc0;
    assert_bad(bytes, CHECK_DEPTH + 2, "nested too deeply");
    /* An empty one opens no level. */
    bytes[CHECK_DEPTH] = 0x90;
    assert_good(bytes, CHECK_DEPTH + 1);
}

static void
test_depth_is_that_of_the_deepest_place(void **state)
{
    struct buf body = {0};

    (void)state;
    buf_add(&body, "\xdc\x00\x64", 3);
    for (int i = 0; i < 100; i++)
        buf_add(&body, "\x91\x91\x90", 3);
    assert_good(buf_bytes(&body), body.len);
    buf_fini(&body);
}

static void
put_array(struct buf *body, uint32_t count)
{
    unsigned char header[5] = {
        0xdd, (unsigned char)(count >> 24), (unsigned char)(count >> 16),
        (unsigned char)(count >> 8), (unsigned char)count};

    buf_add(body, header, sizeof(header));
    memset(buf_room(body, count), 0xc0, count);
    buf_grew(body, count);
}

static void
test_number_of_values(void **state)
{
    struct buf body = {0};

    (void)state;
    put_array(&body, CHECK_ELEMENTS - 1);
    assert_good(buf_bytes(&body), body.len);
    buf_clear(&body);
    put_array(&body, CHECK_ELEMENTS);
    assert_bad(buf_bytes(&body), body.len, "too many values");
    buf_fini(&body);
}

/* Random bytes, weighted towards short headers so that many pass. */
static size_t
draw(struct seeded *s, unsigned char *bytes, int size)
{
    static const unsigned char likely[] = {
        0x90, 0x91, 0x92, 0x93, 0x80, 0x81, 0x82, 0xa0, 0xa1, 0xa2, 0xc0,
        0xc2, 0xc4, 0xca, 0xcc, 0xcd, 0xd0, 0xd9, 0xda, 0xdc, 0xde, 0x00,
        0x01, 0x02, 0x7f, 0xe0, 0xff, 0xdd, 0xdf, 0xdb, 0xc1, 0xd4};
    size_t n = (size_t)seeded_below(s, size);

    for (size_t i = 0; i < n; i++)
        bytes[i] = seeded_below(s, 4) == 0
                       ? (unsigned char)seeded_next(s)
                       : likely[seeded_below(s, nitems(likely))];
    return n;
}

static bool
decodes(struct str body)
{
    struct err err;
    struct unpacked *u = unpack_body(body, &err);

    unpacked_free(u);
    return u != NULL;
}

static void
test_what_passes_is_what_the_library_decodes(void **state)
{
    unsigned passed = 0;
    struct seeded s = seeded_start("check");
    int rounds = seeded_rounds(300000);

    (void)state;
    for (int i = 0; i < rounds; i++) {
        unsigned char bytes[24];
        size_t n = draw(&s, bytes, sizeof(bytes));
        char *exact = mem_dup((char *)bytes, n); /* so that ASan sees the end */
        struct err err;

        if (check_body((struct str){exact, n}, &err) == 0) {
            passed++;
            assert_true(decodes((struct str){exact, n}));
        }
        free(exact);
    }
    printf("%u bodies passed\n", passed);
    assert_true(passed > (unsigned)rounds / 300);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_in_use),
        cmocka_unit_test(test_types_not_in_use),
        cmocka_unit_test(test_exactly_one_value),
        cmocka_unit_test(test_every_cut_is_noticed),
        cmocka_unit_test(test_lengths_beyond_the_end),
        cmocka_unit_test(test_counts_beyond_the_end),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_is_that_of_the_deepest_place),
        cmocka_unit_test(test_number_of_values),
        cmocka_unit_test(test_what_passes_is_what_the_library_decodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
