/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/build.h"
#include "common/mem.h"
#include "proto/recording.h"

/* A body of three bytes: [7, 8]. */
#define BODY STR("\222\7\10")

/* One record of each kind. */
static void
fill(struct buf *out)
{
    recording_add_begin(out, 4, 0);
    recording_add_link(out, RECORDED_LINKED, ROLE_INFORMER);
    recording_add_frame(out, RECORDED_TAKEN, ROLE_INFORMER, MSG_SYNC_BEGIN, 9,
                        BODY);
    recording_add_frame(out, RECORDED_SAID, ROLE_PROJECTOR, MSG_PLAN_END, 0,
                        STR(""));
    recording_add_link(out, RECORDED_LOST, ROLE_PROJECTOR);
    recording_add_end(out, true, "over");
}

static struct recording
reading(struct str bytes)
{
    return (struct recording){.bytes = bytes, .self = ROLE_PLACER};
}

/* How many records there are; -1 and err if something is wrong. */
static int
count(struct str bytes, struct err *err)
{
    struct recording r = reading(bytes);
    struct record record;
    int n = 0;
    int rc;

    while ((rc = recording_next(&r, &record, err)) == 1)
        n++;
    return rc == 0 ? n : -1;
}

static void
test_what_was_added_is_read(void **state)
{
    struct buf out = {0};
    struct recording r;
    struct record record;
    struct err err;

    (void)state;
    fill(&out);
    r = reading(buf_str(&out));
    assert_int_equal(recording_next(&r, &record, &err), 1);
    assert_int_equal(record.kind, RECORDED_BEGIN);
    assert_int_equal(record.generation, 4);
    assert_true(str_is(record.build, build_id));
    assert_false(record.cut);
    assert_int_equal(recording_next(&r, &record, &err), 1);
    assert_int_equal(record.kind, RECORDED_LINKED);
    assert_int_equal(record.peer, ROLE_INFORMER);
    assert_int_equal(recording_next(&r, &record, &err), 1);
    assert_int_equal(record.kind, RECORDED_TAKEN);
    assert_int_equal(record.peer, ROLE_INFORMER);
    assert_int_equal(record.frame.type, MSG_SYNC_BEGIN);
    assert_int_equal(record.frame.id, 9);
    assert_int_equal(record.frame.length, 3);
    assert_memory_equal(record.frame.body, BODY.s, 3);
    assert_int_equal(recording_next(&r, &record, &err), 1);
    assert_int_equal(record.kind, RECORDED_SAID);
    assert_int_equal(record.peer, ROLE_PROJECTOR);
    assert_int_equal(record.frame.length, 0);
    assert_int_equal(recording_next(&r, &record, &err), 1);
    assert_int_equal(record.kind, RECORDED_LOST);
    assert_int_equal(record.peer, ROLE_PROJECTOR);
    assert_int_equal(recording_next(&r, &record, &err), 1);
    assert_int_equal(record.kind, RECORDED_END);
    assert_true(record.complete);
    assert_true(str_is(record.reason, "over"));
    assert_int_equal(recording_next(&r, &record, &err), 0);
    buf_fini(&out);
}

static void
test_the_format_is_this_to_the_byte(void **state)
{
    struct buf out = {0};

    (void)state;
    recording_add_link(&out, RECORDED_LOST, ROLE_PLACER);
    assert_int_equal(out.len, 11);
    assert_memory_equal(buf_bytes(&out) + 4, "\0\0\0\3X\221\2", 7);
    /* FNV-1a of those seven bytes. */
    assert_memory_equal(buf_bytes(&out), "\x3b\xbf\x6f\x7f", 4);
    buf_fini(&out);
}

static void
test_every_cut_file_ends_in_the_middle_or_between_records(void **state)
{
    struct buf out = {0};
    struct err err;
    int between = 0;

    (void)state;
    fill(&out);
    for (size_t n = 0; n < out.len; n++) {
        struct str cut = {mem_dup(buf_bytes(&out), n), n};

        if (count(cut, &err) >= 0)
            between++;
        else
            assert_non_null(
                strstr(err.text, n < RECORDING_MARK_SIZE
                                     ? "this is no recording"
                                     : "the file ends in the middle"));
        free((char *)cut.s);
    }
    assert_int_equal(between, 5); /* after each record but the last */
    buf_fini(&out);
}

static void
test_every_changed_byte_is_found(void **state)
{
    struct buf out = {0};
    struct err err;

    (void)state;
    fill(&out);
    for (size_t i = 0; i < out.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            buf_bytes(&out)[i] ^= (char)(1 << bit);
            assert_int_equal(count(buf_str(&out), &err), -1);
            buf_bytes(&out)[i] ^= (char)(1 << bit);
        }
    assert_int_equal(count(buf_str(&out), &err), 6);
    buf_fini(&out);
}

static void
test_a_cut_mark_is_passed_over(void **state)
{
    (void)state;
    for (size_t n = 1; n < RECORDING_MARK_SIZE; n++) {
        struct buf out = {0};
        struct err err;

        fill(&out);
        buf_add(&out, RECORDING_MARK, n);
        fill(&out);
        assert_int_equal(count(buf_str(&out), &err), 12);
        buf_fini(&out);
    }
}

/* However a record was cut when the placer was killed, the next section is
 * found, and says so. */
static void
test_a_section_that_follows_a_cut_record_is_found(void **state)
{
    struct buf first = {0};
    size_t cuts = 0;

    (void)state;
    fill(&first);
    for (size_t n = RECORDING_MARK_SIZE; n < first.len; n++) {
        struct buf out = {0};
        struct recording r;
        struct record record;
        struct err err;
        bool cut = false;

        buf_add(&out, buf_bytes(&first), n);
        fill(&out);
        r = reading(buf_str(&out));
        while (recording_next(&r, &record, &err) == 1)
            cut = cut || record.cut;
        if (r.at != out.len)
            fail_msg("cut at %zu: %s", n, err.text);
        cuts += cut;
        buf_fini(&out);
    }
    assert_int_equal(cuts, first.len - RECORDING_MARK_SIZE - 5);
    buf_fini(&first);
}

/* A damaged record is no cut one, even if a section follows. */
static void
test_damage_before_another_section_is_damage(void **state)
{
    struct buf out = {0};
    struct err err;
    size_t end;

    (void)state;
    fill(&out);
    end = out.len;
    fill(&out);
    assert_int_equal(count(buf_str(&out), &err), 12);
    buf_bytes(&out)[end - 1] ^= 1;
    assert_int_equal(count(buf_str(&out), &err), -1);
    assert_non_null(strstr(err.text, "the record is damaged"));
    buf_fini(&out);
}

/* The check sums of these fit: a writer went wrong. */
static void
test_what_no_writer_writes_is_refused(void **state)
{
    struct buf out = {0};
    struct err err;

    (void)state;
    fill(&out);
    recording_add_link(&out, RECORDED_LOST, ROLE_INFORMER);
    assert_int_equal(count(buf_str(&out), &err), -1);
    assert_non_null(strstr(err.text, "something follows the end"));
    buf_clear(&out);
    recording_add_begin(&out, 1, 0);
    recording_add_frame(&out, RECORDED_SAID, ROLE_INFORMER, MSG_PLAN_END, 0,
                        BODY);
    assert_int_equal(count(buf_str(&out), &err), -1);
    assert_non_null(strstr(err.text, "may not send"));
    buf_fini(&out);
}

static void
test_a_frame_with_a_descriptor_is_refused(void **state)
{
    struct buf out = {0};
    struct err err;
    unsigned char *s;
    uint32_t sum = 2166136261u;
    size_t start;

    (void)state;
    recording_add_begin(&out, 1, 0);
    start = out.len;
    recording_add_frame(&out, RECORDED_TAKEN, ROLE_INFORMER, MSG_SYNC_END, 0,
                        BODY);
    s = (unsigned char *)buf_bytes(&out) + start;
    s[RECORDING_HEAD + 2 + 7] = FRAME_DESCRIPTOR;
    for (size_t i = 4; i < out.len - start; i++)
        sum = (sum ^ s[i]) * 16777619u;
    for (int i = 0; i < 4; i++)
        s[i] = (unsigned char)(sum >> (24 - 8 * i));
    assert_int_equal(count(buf_str(&out), &err), -1);
    assert_non_null(strstr(err.text, "does not fill its record"));
    buf_fini(&out);
}

static void
test_the_largest_message_fits(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 1000; type++)
        assert_true(message_cap((uint16_t)type) + FRAME_HEADER + 2 <
                    RECORDING_CONTENT_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_added_is_read),
        cmocka_unit_test(test_the_format_is_this_to_the_byte),
        cmocka_unit_test(
            test_every_cut_file_ends_in_the_middle_or_between_records),
        cmocka_unit_test(test_every_changed_byte_is_found),
        cmocka_unit_test(test_a_cut_mark_is_passed_over),
        cmocka_unit_test(test_a_section_that_follows_a_cut_record_is_found),
        cmocka_unit_test(test_damage_before_another_section_is_damage),
        cmocka_unit_test(test_what_no_writer_writes_is_refused),
        cmocka_unit_test(test_a_frame_with_a_descriptor_is_refused),
        cmocka_unit_test(test_the_largest_message_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
