/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/mem.h"
#include "informer/feed.h"
#include "proto/frame.h"
#include "proto/unpack.h"

#define KINDS (1u << KIND_NODE | 1u << KIND_RACK)

/* A store, a feed from it, and a link that writes down what is sent:
 * "BEGIN a1 b1 END", a name with its version; "-a(u1)" for one that is gone. */
struct bench {
    struct store *store;
    struct feed *feed;
    struct buf sent;
    int room; /* messages of bulk that still go out */
};

static bool
has_room(void *arg)
{
    const struct bench *b = arg;

    return b->room > 0;
}

static void
write_object(struct bench *b, const struct value *body)
{
    const struct value *meta = value_at(body, 0);
    struct str name = STR(""), version = STR("");

    assert_true(value_str(value_at(meta, 0), &name));
    assert_true(value_str(value_at(meta, 2), &version));
    buf_printf(&b->sent, "%.*s%.*s ", (int)name.n, name.s, (int)version.n,
               version.s);
}

static void
write_gone(struct bench *b, const struct value *body)
{
    struct str name = STR(""), uid = STR("");
    int64_t kind = -1;

    assert_int_equal(value_count(body), 3);
    assert_true(value_int(value_at(body, 0), &kind));
    assert_in_range(kind, 0, KIND_COUNT - 1);
    assert_true(value_str(value_at(body, 1), &name));
    assert_true(value_str(value_at(body, 2), &uid));
    buf_printf(&b->sent, "-%.*s(%.*s) ", (int)name.n, name.s, (int)uid.n,
               uid.s);
}

static void
write_as_of(struct bench *b, const struct value *body)
{
    struct unpack u = unpack_fields(body);
    int64_t kind = unpack_int(&u);
    struct str version = unpack_str(&u);

    assert_int_equal(unpack_end(&u, NULL), 0);
    buf_printf(&b->sent, "%d@%.*s ", (int)kind, (int)version.n, version.s);
}

static void
write_current(struct bench *b, const struct value *body)
{
    struct unpack u = unpack_fields(body);
    struct moment moment = unpack_moment(&u);

    assert_int_equal(unpack_end(&u, NULL), 0);
    buf_printf(&b->sent, "=%d.%d ", (int)moment.term, (int)moment.ledger);
}

static void
on_send(void *arg, uint16_t type, struct str body)
{
    struct bench *b = arg;
    struct unpacked *u = body.n == 0 ? NULL : unpack_body(body, NULL);

    switch (type) {
    case MSG_SYNC_BEGIN:
        buf_addz(&b->sent, "BEGIN ");
        break;
    case MSG_SYNC_END:
        buf_addz(&b->sent, "END ");
        break;
    case MSG_BATCH_END:
        buf_addz(&b->sent, ". ");
        break;
    case MSG_AS_OF:
        write_as_of(b, unpacked_root(u));
        break;
    case MSG_CURRENT:
        write_current(b, unpacked_root(u));
        break;
    case MSG_GONE:
        write_gone(b, unpacked_root(u));
        break;
    default:
        b->room--;
        write_object(b, unpacked_root(u));
        break;
    }
    unpacked_free(u);
}

static void
on_touched(void *arg, const struct store_touch *touch)
{
    struct bench *b = arg;

    feed_mark(b->feed, touch);
}

static void
begin(struct bench *b)
{
    struct feed_link link = {has_room, on_send, b};

    *b = (struct bench){.room = 1000};
    b->store = store_new(on_touched, b);
    b->feed = feed_new(b->store, &link);
}

static void
end(struct bench *b)
{
    feed_free(b->feed);
    store_free(b->store);
    buf_fini(&b->sent);
}

static void
expect(struct bench *b, const char *expected)
{
    char *text = buf_take(&b->sent);

    assert_string_equal(text, expected);
    free(text);
}

static void
put_kind(struct bench *b, enum object_kind kind, const char *name,
         const char *uid, const char *version)
{
    struct record r = {.kind = kind,
                       .meta = {.name = str_of(name),
                                .uid = str_of(uid),
                                .version = str_of(version)},
                       .spec = STR("\200")};

    store_put(b->store, &r, NULL);
}

static void
put(struct bench *b, const char *name, const char *uid, const char *version)
{
    put_kind(b, KIND_NODE, name, uid, version);
}

static void
drop(struct bench *b, const char *name, const char *uid)
{
    store_remove(b->store, KIND_NODE, str_of(name), str_of(uid));
}

/* Both kinds are complete, with Nodes a and b. */
static void
fill(struct bench *b)
{
    store_begin(b->store, KIND_RACK);
    store_end(b->store, KIND_RACK, true, NULL);
    store_begin(b->store, KIND_NODE);
    put(b, "a", "ua", "1");
    put(b, "b", "ub", "1");
    store_end(b->store, KIND_NODE, true, NULL);
}

static void
test_sync_waits_for_every_kind_subscribed(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    feed_open(b.feed, KINDS);
    store_begin(b.store, KIND_NODE);
    put(&b, "a", "ua", "1");
    feed_pump(b.feed);
    store_end(b.store, KIND_NODE, true, NULL);
    feed_pump(b.feed);
    expect(&b, "");
    store_begin(b.store, KIND_RACK);
    put_kind(&b, KIND_RACK, "r", "ur", "1");
    store_end(b.store, KIND_RACK, true, NULL);
    feed_pump(b.feed);
    expect(&b, "BEGIN r1 a1 END ");
    end(&b);
}

static void
test_sync_of_nothing(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    store_begin(b.store, KIND_RACK);
    store_end(b.store, KIND_RACK, true, NULL);
    feed_open(b.feed, 1u << KIND_RACK);
    expect(&b, "BEGIN END ");
    feed_pump(b.feed);
    expect(&b, "");
    end(&b);
}

static void
test_changes_follow_in_batches(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 b1 END ");
    put(&b, "b", "ub", "2");
    put(&b, "a", "ua", "2");
    put(&b, "b", "ub", "3");
    drop(&b, "a", "ua");
    feed_pump(b.feed);
    expect(&b, "b3 -a(ua) . ");
    feed_pump(b.feed);
    expect(&b, "");
    end(&b);
}

static void
test_kinds_not_subscribed_are_left_out(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_open(b.feed, 1u << KIND_RACK);
    put(&b, "c", "uc", "1");
    feed_pump(b.feed);
    expect(&b, "BEGIN END ");
    end(&b);
}

static void
test_slow_reader_gets_the_newest_state(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 b1 END ");
    b.room = 0;
    for (int i = 2; i < 100; i++) {
        char *version = mem_printf("%d", i);

        put(&b, "a", "ua", version);
        put(&b, "b", "ub", version);
        feed_pump(b.feed);
        free(version);
    }
    assert_int_equal(feed_pending(b.feed), 2);
    expect(&b, "");
    b.room = 1;
    feed_pump(b.feed);
    expect(&b, "a99 ");
    put(&b, "a", "ua", "100");
    b.room = 10;
    feed_pump(b.feed);
    expect(&b, "b99 a100 . ");
    end(&b);
}

/* The sync ends with what was there when it began, whatever comes meanwhile. */
static void
test_changes_during_a_sync(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    b.room = 1;
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 ");
    put(&b, "a", "ua", "2");
    put(&b, "b", "ub", "2");
    put(&b, "c", "uc", "2");
    b.room = 1;
    feed_pump(b.feed);
    expect(&b, "b2 END ");
    b.room = 10;
    feed_pump(b.feed);
    expect(&b, "a2 c2 . ");
    end(&b);
}

static void
test_object_that_leaves_during_a_sync(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    b.room = 0;
    feed_open(b.feed, KINDS);
    drop(&b, "a", "ua");
    drop(&b, "b", "ub");
    b.room = 1;
    feed_pump(b.feed);
    expect(&b, "BEGIN -a(ua) -b(ub) END ");
    end(&b);
}

static void
test_new_uid_is_gone_then_new(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 b1 END ");
    put(&b, "a", "other", "2");
    feed_pump(b.feed);
    expect(&b, "-a(ua) a2 . ");
    drop(&b, "a", "other");
    put(&b, "a", "third", "3");
    feed_pump(b.feed);
    expect(&b, "-a(other) a3 . ");
    end(&b);
}

/* Those that came and went unseen were never known to the reader. */
static void
test_first_uid_that_left_is_told(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 b1 END ");
    b.room = 0;
    drop(&b, "a", "ua");
    put(&b, "a", "second", "2");
    drop(&b, "a", "second");
    put(&b, "a", "third", "3");
    drop(&b, "a", "third");
    b.room = 1;
    feed_pump(b.feed);
    expect(&b, "-a(ua) . ");
    end(&b);
}

static void
test_new_reader_is_synced_from_the_store(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    b.room = 1;
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 ");
    feed_close(b.feed);
    put(&b, "a", "ua", "2");
    drop(&b, "b", "ub");
    b.room = 10;
    feed_pump(b.feed);
    expect(&b, "");
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a2 END ");
    end(&b);
}

static void
test_relist_sends_only_what_changed(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 b1 END ");
    store_begin(b.store, KIND_NODE);
    put(&b, "b", "ub", "1");
    put(&b, "c", "uc", "2");
    store_end(b.store, KIND_NODE, true, NULL);
    feed_pump(b.feed);
    expect(&b, "c2 -a(ua) . ");
    end(&b);
}

static void
test_versions_are_told_once_nothing_is_left_to_send(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    store_end(b.store, KIND_NODE, true, NULL);
    store_end(b.store, KIND_RACK, true, NULL);
    put(&b, "a", "u1", "1");
    store_reached(b.store, KIND_NODE, "7");
    store_reached(b.store, KIND_RACK, "5");
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 2@5 3@7 END ");
    put(&b, "a", "u1", "8");
    store_reached(b.store, KIND_NODE, "8");
    feed_pump(b.feed);
    expect(&b, "a8 3@8 . ");
    b.room = 1;
    put(&b, "a", "u1", "9");
    put(&b, "b", "u2", "10");
    store_reached(b.store, KIND_NODE, "10");
    feed_pump(b.feed);
    expect(&b, "a9 ");
    b.room = 1000;
    feed_pump(b.feed);
    expect(&b, "b10 3@10 . ");
    end(&b);
}

/* L: whoever is told that it is current has got all there was. */
static void
test_current_follows_what_was_marked_before(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    fill(&b);
    feed_current(b.feed,
                 (struct moment){1, 3}); /* nobody is there to be told */
    feed_open(b.feed, KINDS);
    expect(&b, "BEGIN a1 b1 END ");
    feed_current(b.feed, (struct moment){2, 3});
    expect(&b, "=2.3 ");
    b.room = 1;
    put(&b, "a", "ua", "2");
    put(&b, "b", "ub", "2");
    feed_current(b.feed, (struct moment){3, 3});
    expect(&b, "a2 ");
    b.room = 1000;
    feed_pump(b.feed);
    expect(&b, "b2 . =3.3 ");
    feed_pump(b.feed);
    expect(&b, "");
    end(&b);
}

static void
test_current_is_told_after_the_sync_to_who_asked(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    feed_open(b.feed, KINDS);
    feed_current(b.feed, (struct moment){4, 3});
    expect(&b, "");
    fill(&b);
    feed_pump(b.feed);
    expect(&b, "BEGIN a1 b1 END =4.3 ");
    b.room = 0;
    put(&b, "a", "ua", "2");
    feed_current(b.feed, (struct moment){5, 3});
    b.room = 1000;
    feed_open(b.feed, KINDS); /* another reader, which has not asked */
    expect(&b, "BEGIN a2 b1 END ");
    end(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_are_told_once_nothing_is_left_to_send),
        cmocka_unit_test(test_sync_waits_for_every_kind_subscribed),
        cmocka_unit_test(test_sync_of_nothing),
        cmocka_unit_test(test_changes_follow_in_batches),
        cmocka_unit_test(test_kinds_not_subscribed_are_left_out),
        cmocka_unit_test(test_slow_reader_gets_the_newest_state),
        cmocka_unit_test(test_changes_during_a_sync),
        cmocka_unit_test(test_object_that_leaves_during_a_sync),
        cmocka_unit_test(test_new_uid_is_gone_then_new),
        cmocka_unit_test(test_first_uid_that_left_is_told),
        cmocka_unit_test(test_new_reader_is_synced_from_the_store),
        cmocka_unit_test(test_relist_sends_only_what_changed),
        cmocka_unit_test(test_current_follows_what_was_marked_before),
        cmocka_unit_test(test_current_is_told_after_the_sync_to_who_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
