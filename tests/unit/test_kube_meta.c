/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/kube/meta.h"
#include "common/kube/meta_list.h"
#include "common/mem.h"
#include "tests/fake/wire.h"

#define V1 "meta.k8s.io/v1"
#define KIND "PartialObjectMetadata"

static void
put_time(struct buf *out, unsigned field, int64_t seconds)
{
    struct buf time = {0};

    wire_number(&time, 1, (uint64_t)seconds);
    wire_number(&time, 2, 0);
    wire_message(out, field, &time);
}

static void
put_managed(struct buf *out, const char *manager, const char *fields)
{
    struct buf entry = {0}, raw = {0};

    wire_text(&raw, 1, fields);
    wire_text(&entry, 1, manager);
    wire_text(&entry, 2, "Apply");
    wire_text(&entry, 3, "v1");
    put_time(&entry, 4, 1);
    wire_text(&entry, 6, "FieldsV1");
    wire_message(&entry, 7, &raw);
    wire_text(&entry, 8, "status");
    wire_message(out, 17, &entry);
}

/* ObjectMeta with everything in it that is read. */
static struct buf
full_meta(const char *name)
{
    struct buf meta = {0};

    wire_text(&meta, 1, name);
    wire_text(&meta, 2, "");
    wire_text(&meta, 3, "space");
    wire_text(&meta, 5, "uid-1");
    wire_text(&meta, 6, "42");
    wire_number(&meta, 7, 3);
    put_time(&meta, 8, 1700000000);
    put_time(&meta, 9, -5);
    wire_entry(&meta, 11, "a", "1");
    wire_entry(&meta, 12, "note", "text");
    wire_entry(&meta, 11, "b", "");
    wire_text(&meta, 14, "fin/1");
    put_managed(&meta, "kubectl", "{\"f:x\":{}}");
    put_managed(&meta, "kubelet", "{}");
    wire_text(&meta, 99, "later versions may add what they like");
    return meta;
}

/* PartialObjectMetadata around it. */
static struct buf
object_of(struct buf meta)
{
    struct buf object = {0};

    wire_message(&object, 1, &meta);
    return object;
}

static void
test_fields(void **state)
{
    struct buf object = object_of(full_meta("n1"));
    struct kube_meta meta;
    struct err err;

    (void)state;
    assert_int_equal(kube_meta_decode(&meta, buf_str(&object), &err), 0);
    assert_true(str_is(meta.name, "n1"));
    assert_true(str_is(meta.namespace, "space"));
    assert_true(str_is(meta.uid, "uid-1"));
    assert_true(str_is(meta.resource_version, "42"));
    assert_int_equal(meta.generation, 3);
    assert_true(meta.created == 1700000000 * CLOCK_SECOND);
    assert_true(meta.deleted == -5 * CLOCK_SECOND);
    buf_fini(&object);
}

static void
test_walks(void **state)
{
    struct buf object = object_of(full_meta("n1"));
    struct kube_meta_walk walk = {0};
    struct kube_managed managed;
    struct str key, value;
    struct kube_meta meta;

    (void)state;
    assert_int_equal(kube_meta_decode(&meta, buf_str(&object), NULL), 0);
    assert_true(kube_meta_label(&meta, &walk, &key, &value));
    assert_true(str_is(key, "a") && str_is(value, "1"));
    assert_true(kube_meta_label(&meta, &walk, &key, &value));
    assert_true(str_is(key, "b") && value.n == 0);
    assert_false(kube_meta_label(&meta, &walk, &key, &value));
    assert_false(kube_meta_label(&meta, &walk, &key, &value));
    walk = (struct kube_meta_walk){0};
    assert_true(kube_meta_annotation(&meta, &walk, &key, &value));
    assert_true(str_is(key, "note"));
    assert_false(kube_meta_annotation(&meta, &walk, &key, &value));
    walk = (struct kube_meta_walk){0};
    assert_true(kube_meta_finalizer(&meta, &walk, &value));
    assert_true(str_is(value, "fin/1"));
    assert_false(kube_meta_finalizer(&meta, &walk, &value));
    walk = (struct kube_meta_walk){0};
    assert_true(kube_meta_managed(&meta, &walk, &managed));
    assert_true(str_is(managed.manager, "kubectl"));
    assert_true(str_is(managed.operation, "Apply"));
    assert_true(str_is(managed.api_version, "v1"));
    assert_true(str_is(managed.fields_type, "FieldsV1"));
    assert_true(str_is(managed.fields, "{\"f:x\":{}}"));
    assert_true(str_is(managed.subresource, "status"));
    assert_true(kube_meta_managed(&meta, &walk, &managed));
    assert_true(str_is(managed.manager, "kubelet"));
    assert_false(kube_meta_managed(&meta, &walk, &managed));
    assert_true(kube_meta_annotation_at(&meta, "note", &value));
    assert_true(str_is(value, "text"));
    assert_false(kube_meta_annotation_at(&meta, "not", &value));
    buf_fini(&object);
}

static void
test_absent_times(void **state)
{
    struct buf meta = {0}, object;
    struct kube_meta got;

    (void)state;
    wire_text(&meta, 1, "n");
    wire_text(&meta, 8, "");
    object = object_of(meta);
    assert_int_equal(kube_meta_decode(&got, buf_str(&object), NULL), 0);
    assert_true(got.created == KUBE_NO_TIME);
    assert_true(got.deleted == KUBE_NO_TIME);
    assert_int_equal(got.uid.n, 0);
    buf_fini(&object);
}

/* Each of these makes the object malformed; the message names it. */
static void
test_H02_H03_malformed_objects(void **state)
{
    static const struct {
        unsigned field;
        const char *bytes;
    } cases[] = {
        {5, "\xff"},
        {11, "\x0a\x05"
             "abc"},          /* an entry that is cut off */
        {12, "\x12\x01\xff"}, /* a value that is no text */
        {14, "\xc3"},
        {17, "\x0a\x01\x80"},     /* a manager that is no text */
        {17, "\x3a\x02\x0a\x05"}, /* fields that are cut off */
        {8, "\x08"},
        {8, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"}, /* a time too far */
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct buf meta = {0}, object;
        struct kube_meta got;
        struct err err;

        wire_text(&meta, 1, "node-7");
        wire_text(&meta, cases[i].field, cases[i].bytes);
        object = object_of(meta);
        assert_int_equal(kube_meta_decode(&got, buf_str(&object), &err), -1);
        assert_non_null(strstr(err.text, "\"node-7\""));
        buf_fini(&object);
    }
}

static void
test_answer(void **state)
{
    struct buf object = object_of(full_meta("n1")), answer = {0};
    struct kube_meta meta;
    struct err err;

    (void)state;
    wire_envelope(&answer, V1, KIND, &object);
    assert_int_equal(kube_meta_answer(&meta, buf_str(&answer), &err), 0);
    assert_true(str_is(meta.name, "n1"));
    buf_fini(&answer);
    object = object_of(full_meta("n1"));
    wire_envelope(&answer, "v1", "Status", &object);
    assert_int_equal(kube_meta_answer(&meta, buf_str(&answer), &err), -1);
    assert_non_null(strstr(err.text, "Status"));
    buf_fini(&answer);
    assert_int_equal(kube_meta_answer(&meta, STR("{\"kind\":1}"), &err), -1);
    assert_int_equal(kube_meta_answer(&meta, STR(""), &err), -1);
}

/* A frame of the given event around ObjectMeta meta. */
static struct buf
frame_of(const char *type, const char *kind, struct buf meta)
{
    struct buf object = object_of(meta), envelope = {0}, frame = {0};

    wire_envelope(&envelope, V1, kind, &object);
    wire_frame(&frame, type, &envelope);
    return frame;
}

static struct str
without_length(const struct buf *frame)
{
    struct str bytes = buf_str(frame);

    return (struct str){bytes.s + 4, bytes.n - 4};
}

static void
test_events(void **state)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    struct kube_event event;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(types); i++) {
        struct buf frame = frame_of(types[i], KIND, full_meta("n1"));

        assert_int_equal(
            kube_event_decode(&event, without_length(&frame), &err), 0);
        assert_int_equal(event.type, i);
        assert_true(str_is(event.meta.name, "n1"));
        buf_fini(&frame);
    }
}

static void
test_A05_A06_bookmarks(void **state)
{
    for (int end = 0; end < 2; end++) {
        struct buf meta = {0}, frame;
        struct kube_event event;
        struct err err;

        (void)state;
        wire_text(&meta, 1, "");
        wire_text(&meta, 6, "99");
        wire_entry(&meta, 12, "k8s.io/initial-events-end",
                   end ? "true" : "false");
        frame = frame_of("BOOKMARK", KIND, meta);
        assert_int_equal(
            kube_event_decode(&event, without_length(&frame), &err), 0);
        assert_int_equal(event.type, KUBE_BOOKMARK);
        assert_true(str_is(event.meta.resource_version, "99"));
        assert_int_equal(event.initial_end, end);
        buf_fini(&frame);
    }
}

static void
test_A01_error_events_hand_on_the_status(void **state)
{
    struct buf message = {0}, envelope = {0}, frame = {0};
    struct kube_event event;
    struct err err;

    (void)state;
    wire_text(&message, 3, "too old");
    wire_number(&message, 6, 410);
    wire_envelope(&envelope, "v1", "Status", &message);
    wire_frame(&frame, "ERROR", &envelope);
    assert_int_equal(kube_event_decode(&event, without_length(&frame), &err),
                     0);
    assert_int_equal(event.type, KUBE_ERROR);
    assert_true(event.status.n > 0);
    assert_int_equal(event.meta.name.n, 0);
    buf_fini(&frame);
}

/* The object is bad but not the frame: the watch may go on. */
static void
test_events_with_a_bad_object(void **state)
{
    struct buf bad = {0}, frame;
    struct kube_event event;
    struct err err;

    (void)state;
    wire_text(&bad, 1, "n1");
    wire_text(&bad, 5, "\xff");
    frame = frame_of("ADDED", KIND, bad);
    assert_int_equal(kube_event_decode(&event, without_length(&frame), &err),
                     1);
    assert_int_equal(event.type, KUBE_ADDED);
    assert_non_null(strstr(err.text, "n1"));
    buf_fini(&frame);
    frame = frame_of("ADDED", "Node", full_meta("n1"));
    assert_int_equal(kube_event_decode(&event, without_length(&frame), &err),
                     1);
    buf_fini(&frame);
    bad = (struct buf){0};
    wire_text(&bad, 1, "no uid");
    frame = frame_of("DELETED", KIND, bad);
    assert_int_equal(kube_event_decode(&event, without_length(&frame), &err),
                     1);
    buf_fini(&frame);
}

static void
test_frames_that_are_none(void **state)
{
    struct buf frame = frame_of("INVENTED", KIND, full_meta("n1"));
    struct kube_event event;
    struct err err;

    (void)state;
    assert_int_equal(kube_event_decode(&event, without_length(&frame), &err),
                     -1);
    assert_non_null(strstr(err.text, "INVENTED"));
    buf_fini(&frame);
    assert_int_equal(kube_event_decode(&event, STR(""), &err), -1);
    assert_int_equal(kube_event_decode(&event, STR("\x0a\x09zzz"), &err), -1);
    assert_int_equal(kube_event_decode(&event, STR("{\"type\":1}"), &err), -1);
}

static void
test_A20_frames_from_pieces(void **state)
{
    struct buf stream = frame_of("ADDED", KIND, full_meta("n1"));
    struct buf second = frame_of("DELETED", KIND, full_meta("n2"));
    size_t first = stream.len, used;
    struct str bytes, frame;
    struct err err;

    (void)state;
    buf_adds(&stream, buf_str(&second));
    bytes = buf_str(&stream);
    for (bytes.n = 0; bytes.n < first; bytes.n++)
        assert_int_equal(kube_frame_next(bytes, 1000, &frame, &used, &err), 0);
    assert_int_equal(kube_frame_next(bytes, 1000, &frame, &used, &err), 1);
    assert_int_equal(used, first);
    assert_int_equal(frame.n, first - 4);
    assert_int_equal(kube_frame_next(bytes, 100, &frame, &used, &err), -1);
    assert_non_null(strstr(err.text, "100 are accepted"));
    assert_int_equal(
        kube_frame_next(STR("\xff\xff\xff\xff"), 4 << 20, &frame, &used, &err),
        -1);
    assert_int_equal(kube_frame_next(STR("\0\0\0\0"), 100, &frame, &used, &err),
                     1);
    assert_int_equal(frame.n, 0);
    buf_fini(&stream);
    buf_fini(&second);
}

/* What a list reader called back with. */
struct got {
    struct buf names; /* each with a space after it */
    int bad;
    struct err err;
};

static void
on_item(void *arg, const struct kube_meta *meta)
{
    struct got *got = arg;

    buf_adds(&got->names, meta->name);
    buf_addc(&got->names, ' ');
}

static void
on_bad(void *arg, const struct err *err)
{
    struct got *got = arg;

    got->bad++;
    got->err = *err;
}

static struct kube_meta_list *
reader_new(struct got *got)
{
    *got = (struct got){0};
    return kube_meta_list_new(
        &(struct kube_meta_list_calls){on_item, on_bad, got});
}

static void
put_list_meta(struct buf *list, const char *version, const char *more)
{
    struct buf meta = {0};

    wire_text(&meta, 1, "");
    wire_text(&meta, 2, version);
    wire_text(&meta, 3, more);
    wire_number(&meta, 4, 7);
    wire_message(list, 1, &meta);
}

static void
put_item(struct buf *list, struct buf meta)
{
    struct buf object = object_of(meta);

    wire_message(list, 2, &object);
}

/* A list of two good items and a bad one between them. */
static struct buf
list_answer(void)
{
    struct buf list = {0}, bad = {0}, answer = {0};

    put_list_meta(&list, "1234", "token");
    put_item(&list, full_meta("n1"));
    wire_text(&bad, 1, "rotten");
    wire_text(&bad, 5, "\xff");
    put_item(&list, bad);
    put_item(&list, full_meta("n2"));
    wire_envelope(&answer, V1, KIND "List", &list);
    return answer;
}

static void
test_A10_H02_list_in_pieces_of_any_size(void **state)
{
    struct buf answer = list_answer();
    struct kube_meta_list_end end;
    struct got got;
    struct err err;

    (void)state;
    for (size_t piece = 1; piece <= answer.len; piece++) {
        struct kube_meta_list *list = reader_new(&got);

        for (size_t at = 0; at < answer.len; at += piece) {
            size_t n = answer.len - at < piece ? answer.len - at : piece;
            struct str bytes = {buf_bytes(&answer) + at, n};

            assert_int_equal(kube_meta_list_feed(list, bytes, &err), 0);
        }
        assert_int_equal(kube_meta_list_finish(list, &end, &err), 0);
        assert_string_equal(end.resource_version, "1234");
        assert_string_equal(end.more, "token");
        assert_int_equal(end.remaining, 7);
        assert_true(str_is(buf_str(&got.names), "n1 n2 "));
        assert_int_equal(got.bad, 1);
        assert_non_null(strstr(got.err.text, "rotten"));
        buf_fini(&got.names);
        kube_meta_list_free(list);
    }
    buf_fini(&answer);
}

/* Up to the end of the list proper, no prefix of it is one. */
static void
test_A10_cut_lists_are_incomplete(void **state)
{
    struct buf answer = list_answer();
    struct kube_meta_list_end end;
    struct got got;
    struct err err;

    (void)state;
    for (size_t n = 0; n < answer.len - 4; n++) {
        struct kube_meta_list *list = reader_new(&got);
        struct str bytes = {buf_bytes(&answer), n};

        assert_int_equal(kube_meta_list_feed(list, bytes, &err), 0);
        assert_int_equal(kube_meta_list_finish(list, &end, &err), -1);
        buf_fini(&got.names);
        kube_meta_list_free(list);
    }
    buf_fini(&answer);
}

static void
test_empty_list(void **state)
{
    struct buf list = {0}, answer = {0};
    struct kube_meta_list_end end;
    struct got got;
    struct kube_meta_list *reader = reader_new(&got);
    struct err err;

    (void)state;
    wire_envelope(&answer, V1, KIND "List", &list);
    assert_int_equal(kube_meta_list_feed(reader, buf_str(&answer), &err), 0);
    assert_int_equal(kube_meta_list_finish(reader, &end, &err), 0);
    assert_string_equal(end.resource_version, "");
    assert_string_equal(end.more, "");
    kube_meta_list_free(reader);
    kube_meta_list_free(NULL);
    buf_fini(&answer);
}

static void
assert_list_refused(struct str bytes, const char *wanted)
{
    struct got got;
    struct kube_meta_list *list = reader_new(&got);
    struct err err;

    assert_int_equal(kube_meta_list_feed(list, bytes, &err), -1);
    if (strstr(err.text, wanted) == NULL)
        fail_msg("message is: %s", err.text);
    buf_fini(&got.names);
    kube_meta_list_free(list);
}

static void
test_answers_that_are_no_list(void **state)
{
    struct buf message = {0}, answer = {0};

    (void)state;
    assert_list_refused(STR("{\"kind\":\"NodeList\"}"), "not an answer");
    wire_envelope(&answer, V1, KIND, &message);
    assert_list_refused(buf_str(&answer), "not one " KIND "List");
    buf_fini(&answer);
    /* An item that claims more than the list has. */
    buf_adds(&message, STR("\x12\x7f"));
    wire_envelope(&answer, V1, KIND "List", &message);
    assert_list_refused(buf_str(&answer), "beyond its end");
    buf_fini(&answer);
    /* A list that ends in the middle of a field's head. */
    buf_adds(&message, STR("\x12"));
    wire_envelope(&answer, V1, KIND "List", &message);
    assert_list_refused(buf_str(&answer), "beyond its end");
    buf_fini(&answer);
}

/* An item over the cap is refused by what it claims, before it is there. */
/* Whatever its size is said to be, it is passed over and never kept. */
static void
test_A20_item_over_the_cap_costs_itself(void **state)
{
    struct buf list = {0}, large = {0}, answer = {0};
    struct kube_meta_list *reader;
    struct kube_meta_list_end end;
    struct got got;
    struct err err;

    (void)state;
    put_list_meta(&list, "1234", "");
    put_item(&list, full_meta("n1"));
    buf_room(&large, KUBE_META_ITEM_MAX);
    buf_grew(&large, KUBE_META_ITEM_MAX);
    memset(buf_bytes(&large), 'x', large.len);
    wire_message(&list, 2, &(struct buf){0});
    buf_addc(&large, 'x');
    wire_message(&list, 2, &large);
    put_item(&list, full_meta("n2"));
    wire_envelope(&answer, V1, KIND "List", &list);
    for (size_t piece = 999; piece < answer.len; piece *= 60) {
        struct str rest = buf_str(&answer);

        reader = reader_new(&got);
        while (rest.n > 0) {
            size_t n = rest.n < piece ? rest.n : piece;

            assert_int_equal(
                kube_meta_list_feed(reader, (struct str){rest.s, n}, &err), 0);
            rest.s += n;
            rest.n -= n;
        }
        assert_int_equal(kube_meta_list_finish(reader, &end, &err), 0);
        assert_true(str_is(buf_str(&got.names), "n1 n2 "));
        assert_int_equal(got.bad, 2); /* and one without anything */
        assert_non_null(strstr(got.err.text, "4194304 are accepted"));
        buf_fini(&got.names);
        kube_meta_list_free(reader);
    }
    buf_fini(&answer);
}

/* A flipped byte anywhere never leads out of bounds, nor to an endless loop. */
static void
test_flipped_bytes(void **state)
{
    struct buf answer = list_answer();
    struct buf frame = frame_of("ADDED", KIND, full_meta("n1"));

    (void)state;
    for (size_t i = 0; i < answer.len; i++) {
        struct kube_meta_list_end end;
        struct got got;
        struct kube_meta_list *list = reader_new(&got);

        buf_bytes(&answer)[i] ^= 0x55;
        if (kube_meta_list_feed(list, buf_str(&answer), NULL) == 0)
            kube_meta_list_finish(list, &end, NULL);
        buf_bytes(&answer)[i] ^= 0x55;
        buf_fini(&got.names);
        kube_meta_list_free(list);
    }
    for (size_t i = 4; i < frame.len; i++) {
        struct kube_event event;
        struct str bytes = without_length(&frame);

        buf_bytes(&frame)[i] ^= 0x55;
        kube_event_decode(&event, bytes, NULL);
        buf_bytes(&frame)[i] ^= 0x55;
    }
    buf_fini(&answer);
    buf_fini(&frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_absent_times),
        cmocka_unit_test(test_H02_H03_malformed_objects),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_A05_A06_bookmarks),
        cmocka_unit_test(test_A01_error_events_hand_on_the_status),
        cmocka_unit_test(test_events_with_a_bad_object),
        cmocka_unit_test(test_frames_that_are_none),
        cmocka_unit_test(test_A20_frames_from_pieces),
        cmocka_unit_test(test_A10_H02_list_in_pieces_of_any_size),
        cmocka_unit_test(test_A10_cut_lists_are_incomplete),
        cmocka_unit_test(test_empty_list),
        cmocka_unit_test(test_answers_that_are_no_list),
        cmocka_unit_test(test_A20_item_over_the_cap_costs_itself),
        cmocka_unit_test(test_flipped_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
