/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/kube/json.h"
#include "common/mem.h"
#include "informer/stream.h"
#include "tests/fake/wire.h"

/* What came out, as one text: "ADDED a 5; BOOKMARK - 9; ". */
struct seen {
    struct buf text;
    enum stream_found last; /* what ended the last run */
};

static void
note(struct seen *seen, const struct stream_event *event)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED",
                                        "BOOKMARK", "ERROR"};
    struct identity id;

    if (event->type == KUBE_ERROR) {
        buf_printf(&seen->text, "ERROR %d %s; ", event->status->code,
                   event->status->reason);
        return;
    }
    id = extract_identity(&event->object);
    buf_printf(&seen->text, "%s %.*s %.*s%s; ", names[event->type],
               (int)id.name.n, id.name.n == 0 ? "" : id.name.s,
               (int)event->version.n, event->version.s,
               event->initial_end ? " end" : "");
}

static void
drain(struct stream *stream, struct seen *seen)
{
    struct stream_event event;
    struct err err;

    for (;;) {
        seen->last = stream_next(stream, &event, &err);
        if (seen->last == STREAM_MORE || seen->last == STREAM_BROKEN)
            return;
        if (seen->last == STREAM_EVENT)
            note(seen, &event);
        else
            buf_addz(&seen->text, "bad; ");
    }
}

/* Feeds the bytes in pieces of the given size. */
static struct stream *
run(enum encoding encoding, struct str bytes, size_t piece, struct seen *seen)
{
    struct stream *stream = stream_new(encoding);

    *seen = (struct seen){0};
    while (bytes.n > 0 && seen->last != STREAM_BROKEN) {
        size_t n = piece < bytes.n ? piece : bytes.n;

        stream_feed(stream, (struct str){bytes.s, n});
        drain(stream, seen);
        bytes.s += n;
        bytes.n -= n;
    }
    return stream;
}

static void
expect(enum encoding encoding, struct str bytes, size_t piece,
       const char *expected)
{
    struct seen seen;
    char *text;

    stream_free(run(encoding, bytes, piece, &seen));
    text = buf_take(&seen.text);
    assert_string_equal(text, expected);
    free(text);
}

#define OBJECT(name, version)                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\","                      \
    "\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

static const char lines[] = EVENT("ADDED", OBJECT("a", "5"))
    EVENT("MODIFIED", OBJECT("b\\n", "6")) EVENT("DELETED", OBJECT("c", "7"));

static void
test_json_lines_in_pieces_of_any_size(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < sizeof(lines); piece++)
        expect(ENCODING_JSON, str_of(lines), piece,
               "ADDED a 5; MODIFIED b\n 6; DELETED c 7; ");
}

static void
test_A05_bookmark_needs_nothing_but_a_version(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR(EVENT("BOOKMARK",
                     "{\"kind\":\"X\",\"metadata\":{\"resourceVersion\":\"9\","
                     "\"creationTimestamp\":null},\"spec\":{}}")),
           1000, "BOOKMARK  9; ");
}

static void
test_A06_only_the_annotated_bookmark_ends_the_snapshot(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR(EVENT("BOOKMARK",
                     "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":"
                     "{\"k8s.io/initial-events-end\":\"true\"}}}")
                   EVENT("BOOKMARK",
                         "{\"metadata\":{\"resourceVersion\":\"9\","
                         "\"annotations\":"
                         "{\"k8s.io/initial-events-end\":\"false\"}}}")),
           1000, "BOOKMARK  9 end; BOOKMARK  9; ");
}

static void
test_A01_error_event_carries_the_status(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR(EVENT("ERROR",
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                     "\"Failure\",\"reason\":\"Expired\",\"code\":410,"
                     "\"message\":\"too old resource version\"}")),
           3, "ERROR 410 Expired; ");
}

static void
test_cut_in_the_middle_of_a_line(void **state)
{
    struct seen seen;
    struct stream *stream =
        run(ENCODING_JSON, (struct str){lines, sizeof(lines) - 2}, 1000, &seen);

    (void)state;
    assert_int_equal(seen.last, STREAM_MORE);
    assert_true(stream_is_inside(stream));
    assert_int_equal(seen.text.len, strlen("ADDED a 5; MODIFIED b\n 6; "));
    stream_free(stream);
    buf_fini(&seen.text);
    stream = run(ENCODING_JSON, str_of(lines), 1000, &seen);
    assert_false(stream_is_inside(stream));
    stream_free(stream);
    buf_fini(&seen.text);
}

static void
test_empty_lines_mean_nothing(void **state)
{
    (void)state;
    expect(ENCODING_JSON, STR("\n\r\n\n" EVENT("ADDED", OBJECT("a", "1")) "\n"),
           1, "ADDED a 1; ");
}

static void
test_H02_bad_line_costs_itself(void **state)
{
    static const char bad[] = EVENT("ADDED", "{\"n\":9223372036854775808}")
        EVENT("ADDED",
              "{\"n\":1e400}") "{\"type\":\"ADDED\",\"obj\n"
                               "junk\n[]\n" EVENT("ADDED", "null")
                                   EVENT("SURPRISE", OBJECT("x", "1"))
                                       EVENT("ADDED", "\"text\"")
                                           EVENT("ERROR", "{\"kind\":\"Pod\"}")
                                               EVENT("ADDED", OBJECT("a", "1"));

    (void)state;
    expect(ENCODING_JSON, str_of(bad), 7,
           "bad; bad; bad; bad; bad; bad; bad; bad; bad; ADDED a 1; ");
}

static void
test_H03_text_that_is_none(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR(EVENT("ADDED", "{\"n\":\"\\ud800\"}")
                   EVENT("ADDED", "{\"n\":\"\xff\"}")
                       EVENT("ADDED", "{\"n\":\"\\u0000\"}")
                           EVENT("ADDED", OBJECT("a", "1"))),
           1000, "bad; bad; bad; ADDED a 1; ");
}

static void
test_A20_event_up_to_4_mib_and_no_larger(void **state)
{
    struct seen seen;
    struct stream *stream;
    struct buf line = {0};
    size_t rest;

    (void)state;
    buf_addz(&line, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":"
                    "\"large\",\"resourceVersion\":\"1\"},\"x\":\"");
    rest = STREAM_EVENT_MAX - line.len - 3;
    memset(buf_room(&line, rest), 'x', rest);
    buf_grew(&line, rest);
    buf_addz(&line, "\"}}\n");
    expect(ENCODING_JSON, buf_str(&line), 64 << 10, "ADDED large 1; ");
    line.data[line.start + line.len - 1] = ' ';
    stream = run(ENCODING_JSON, buf_str(&line), 64 << 10, &seen);
    assert_int_equal(seen.last, STREAM_BROKEN);
    stream_free(stream);
    buf_fini(&seen.text);
    buf_fini(&line);
}

/* --- protobuf --- */

static void
add_frame(struct buf *out, const char *type, const char *name,
          const char *version, const char *annotation)
{
    struct buf meta = {0}, object = {0}, envelope = {0};

    wire_text(&meta, 1, name);
    wire_text(&meta, 5, "u");
    wire_text(&meta, 6, version);
    if (annotation != NULL)
        wire_entry(&meta, 12, annotation, "true");
    wire_message(&object, 1, &meta);
    wire_envelope(&envelope, "meta.k8s.io/v1", "PartialObjectMetadata",
                  &object);
    wire_frame(out, type, &envelope);
}

static void
add_error(struct buf *out)
{
    struct buf status = {0}, envelope = {0};

    wire_text(&status, 2, "Failure");
    wire_text(&status, 3, "too old resource version: 1 (9)");
    wire_text(&status, 4, "Expired");
    wire_number(&status, 6, 410);
    wire_envelope(&envelope, "v1", "Status", &status);
    wire_frame(out, "ERROR", &envelope);
}

static void
test_frames_in_pieces_of_any_size(void **state)
{
    struct buf bytes = {0};

    (void)state;
    add_frame(&bytes, "ADDED", "a", "5", NULL);
    add_frame(&bytes, "DELETED", "b", "6", NULL);
    add_frame(&bytes, "BOOKMARK", "", "7", NULL);
    add_frame(&bytes, "BOOKMARK", "", "8", "k8s.io/initial-events-end");
    add_error(&bytes);
    for (size_t piece = 1; piece <= bytes.len; piece++)
        expect(ENCODING_META, buf_str(&bytes), piece,
               "ADDED a 5; DELETED b 6; BOOKMARK  7; BOOKMARK  8 end; "
               "ERROR 410 Expired; ");
    buf_fini(&bytes);
}

static void
test_cut_in_the_middle_of_a_frame(void **state)
{
    struct buf bytes = {0};
    size_t whole;

    (void)state;
    add_frame(&bytes, "ADDED", "a", "5", NULL);
    whole = bytes.len;
    add_frame(&bytes, "ADDED", "b", "6", NULL);
    for (size_t n = whole; n <= bytes.len; n++) {
        struct seen seen;
        struct stream *stream =
            run(ENCODING_META, (struct str){bytes.data, n}, 1000, &seen);

        assert_int_equal(seen.last, STREAM_MORE);
        assert_int_equal(stream_is_inside(stream), n > whole && n < bytes.len);
        stream_free(stream);
        buf_fini(&seen.text);
    }
    buf_fini(&bytes);
}

static void
test_A20_frame_above_the_cap_ends_the_watch(void **state)
{
    struct seen seen;
    struct stream *stream =
        run(ENCODING_META, STR("\x00\x40\x00\x01x"), 1000, &seen);

    (void)state;
    assert_int_equal(seen.last, STREAM_BROKEN);
    stream_free(stream);
}

static void
test_H02_bad_frame_costs_itself(void **state)
{
    struct buf bytes = {0}, object = {0}, envelope = {0};

    (void)state;
    wire_text(&object, 1, "\x0a\x7f"); /* a length beyond the message */
    wire_envelope(&envelope, "meta.k8s.io/v1", "PartialObjectMetadata",
                  &object);
    wire_frame(&bytes, "ADDED", &envelope);
    add_frame(&bytes, "ADDED", "a", "5", NULL);
    expect(ENCODING_META, buf_str(&bytes), 1000, "bad; ADDED a 5; ");
    buf_fini(&bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_lines_in_pieces_of_any_size),
        cmocka_unit_test(test_A05_bookmark_needs_nothing_but_a_version),
        cmocka_unit_test(
            test_A06_only_the_annotated_bookmark_ends_the_snapshot),
        cmocka_unit_test(test_A01_error_event_carries_the_status),
        cmocka_unit_test(test_cut_in_the_middle_of_a_line),
        cmocka_unit_test(test_empty_lines_mean_nothing),
        cmocka_unit_test(test_H02_bad_line_costs_itself),
        cmocka_unit_test(test_H03_text_that_is_none),
        cmocka_unit_test(test_A20_event_up_to_4_mib_and_no_larger),
        cmocka_unit_test(test_frames_in_pieces_of_any_size),
        cmocka_unit_test(test_cut_in_the_middle_of_a_frame),
        cmocka_unit_test(test_A20_frame_above_the_cap_ends_the_watch),
        cmocka_unit_test(test_H02_bad_frame_costs_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
