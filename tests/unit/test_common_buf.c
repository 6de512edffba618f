/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

static void
assert_buf(const struct buf *buf, const char *wanted)
{
    assert_int_equal(buf->len, strlen(wanted));
    assert_true(str_is(buf_str(buf), wanted));
}

static void
test_empty(void **state)
{
    struct buf buf = {0};
    char *text;

    (void)state;
    assert_buf(&buf, "");
    buf_add(&buf, NULL, 0);
    buf_clear(&buf);
    buf_drop(&buf, 0);
    assert_buf(&buf, "");
    text = buf_take(&buf);
    assert_string_equal(text, "");
    free(text);
    buf_fini(&buf);
}

static void
test_all_ways_to_add(void **state)
{
    struct buf buf = {0};

    (void)state;
    buf_add(&buf, "ab!", 2);
    buf_addz(&buf, "cd");
    buf_adds(&buf, STR("ef"));
    buf_addc(&buf, 'g');
    buf_printf(&buf, "%d-%s", 7, "x");
    memcpy(buf_room(&buf, 3), "yz!", 3);
    buf_grew(&buf, 2);
    assert_buf(&buf, "abcdefg7-xyz");
    buf_fini(&buf);
    assert_buf(&buf, "");
}

static void
test_numbers(void **state)
{
    static const int64_t numbers[] = {0, 7, -1, 10, 99, INT64_MAX, INT64_MIN};

    (void)state;
    for (size_t i = 0; i < nitems(numbers); i++) {
        struct buf buf = {0};
        char wanted[32];

        buf_addi(&buf, numbers[i]);
        snprintf(wanted, sizeof(wanted), "%" PRId64, numbers[i]);
        assert_buf(&buf, wanted);
        buf_fini(&buf);
    }
}

static void
test_take_gives_the_rest_and_empties(void **state)
{
    struct buf buf = {0};
    char *text;

    (void)state;
    buf_addz(&buf, "head tail");
    buf_drop(&buf, 5);
    text = buf_take(&buf);
    assert_string_equal(text, "tail");
    assert_null(buf.data);
    free(text);
}

static void
test_a_printed_text_may_be_long(void **state)
{
    struct buf buf = {0};

    (void)state;
    buf_printf(&buf, "%0*d", 100000, 1);
    assert_int_equal(buf.len, 100000);
    buf_fini(&buf);
}

/* Bytes come at the end and go at the front; what is between must be the part
 * of the stream that was not dropped. */
static void
test_a_stream_passes_through_whole(void **state)
{
    struct buf buf = {0};
    size_t in = 0;
    size_t out = 0;

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        size_t n = i * 7919 % 613;
        size_t gone;

        for (size_t j = 0; j < n; j++)
            buf_addc(&buf, (char)(in++ % 251));
        assert_int_equal(buf.len, in - out);
        for (size_t j = 0; j < buf.len; j++)
            assert_int_equal((unsigned char)buf_bytes(&buf)[j],
                             (out + j) % 251);
        gone = i % 7 == 0 ? buf.len : buf.len / 2;
        buf_drop(&buf, gone);
        out += gone;
    }
    assert_true(buf.cap <= 8192);
    buf_fini(&buf);
}

static void
test_clear_keeps_the_memory(void **state)
{
    struct buf buf = {0};
    char *data;

    (void)state;
    buf_addz(&buf, "abc");
    data = buf.data;
    buf_drop(&buf, 1);
    buf_clear(&buf);
    assert_buf(&buf, "");
    buf_addz(&buf, "x");
    assert_ptr_equal(buf.data, data);
    assert_buf(&buf, "x");
    buf_fini(&buf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_all_ways_to_add),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_take_gives_the_rest_and_empties),
        cmocka_unit_test(test_a_printed_text_may_be_long),
        cmocka_unit_test(test_a_stream_passes_through_whole),
        cmocka_unit_test(test_clear_keeps_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
