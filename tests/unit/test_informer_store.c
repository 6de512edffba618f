/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "informer/intake.h"
#include "informer/store.h"
#include "proto/unpack.h"

/* What the store told, as text: "+a ", "-a(u1) ". */
struct told {
    struct store *store;
    struct buf text;
};

static void
on_touched(void *arg, const struct store_touch *touch)
{
    static const char marks[] = "=v~+/-";
    struct told *told = arg;

    buf_printf(&told->text, "%c%s", marks[touch->change], touch->name);
    if (touch->gone.n > 0)
        buf_printf(&told->text, "(%.*s)", (int)touch->gone.n, touch->gone.s);
    buf_addc(&told->text, ' ');
}

static void
begin(struct told *told)
{
    *told = (struct told){0};
    told->store = store_new(on_touched, told);
}

static void
end(struct told *told)
{
    store_free(told->store);
    buf_fini(&told->text);
}

/* What was told since the last time. */
static void
expect(struct told *told, const char *expected)
{
    char *text = buf_take(&told->text);

    assert_string_equal(text, expected);
    free(text);
}

static enum store_change
put(struct told *told, const char *name, const char *uid, const char *version,
    const char *annotation)
{
    struct record r = {
        .kind = KIND_NODE,
        .node = {.meta = {.name = str_of(name),
                          .uid = str_of(uid),
                          .version = str_of(version)},
                 .annotation = str_of(annotation),
                 .rivals = STR("")},
    };

    return store_put(told->store, &r, NULL);
}

static void
test_put_tells_what_changed(void **state)
{
    const struct store_entry *e;
    struct told told;

    (void)state;
    begin(&told);
    assert_int_equal(put(&told, "a", "u1", "1", "x"), STORE_ADDED);
    assert_int_equal(put(&told, "a", "u1", "1", "x"), STORE_SAME);
    assert_int_equal(put(&told, "a", "u1", "2", "x"), STORE_VERSION);
    assert_int_equal(put(&told, "a", "u1", "3", "y"), STORE_CHANGED);
    assert_int_equal(put(&told, "a", "u1", "1000", "y"), STORE_VERSION);
    assert_int_equal(put(&told, "a", "u2", "1001", "y"), STORE_REPLACED);
    expect(&told, "+a va ~a va /a(u1) ");
    e = store_get(told.store, KIND_NODE, "a");
    assert_true(str_is(e->uid, "u2"));
    assert_true(str_is(e->version, "1001"));
    assert_int_equal(store_count(told.store, KIND_NODE), 1);
    assert_null(store_get(told.store, KIND_RACK, "a"));
    end(&told);
}

/* An older version of an object, or of all: only lists tell that, beside what
 * was known before them; a watch may repeat itself. */
static void
test_a_list_that_is_older_than_what_was_known_is_noticed(void **state)
{
    static const struct {
        const char *object, *list, *said;
    } lists[] = {
        {"100", "102", ""},
        {"99", "102", "Node a: version 99 was listed, after version 100"},
        {"100", "101", "Node list: version 101 was listed, after version 102"},
    };
    struct told told;

    (void)state;
    for (size_t i = 0; i < nitems(lists); i++) {
        begin(&told);
        store_begin(told.store, KIND_NODE);
        put(&told, "a", "u1", "101", "x");
        put(&told, "a", "u1", "100", "x");
        store_end(told.store, KIND_NODE, true, "102");
        put(&told, "a", "u1", "99", "x");
        put(&told, "a", "u1", "100", "x");
        store_begin(told.store, KIND_NODE);
        assert_string_equal(store_went_back(told.store), "");
        put(&told, "a", "u2", lists[i].object, "x");
        store_end(told.store, KIND_NODE, true, lists[i].list);
        assert_string_equal(store_went_back(told.store), lists[i].said);
        end(&told);
    }
}

/* The newest version stays known, though it is no news. */
static void
test_body_has_the_newest_version(void **state)
{
    struct arena arena = {0};
    struct object_node o;
    struct buf body = {0};
    struct unpacked *u;
    struct told told;
    struct err err;

    (void)state;
    begin(&told);
    put(&told, "a", "u1", "1", "x");
    put(&told, "a", "u1", "23456789", "x");
    store_body(store_get(told.store, KIND_NODE, "a"), &body);
    u = unpack_body(buf_str(&body), &err);
    assert_non_null(u);
    assert_int_equal(object_node_unpack(&o, unpacked_root(u), &arena, &err), 0);
    assert_true(str_is(o.meta.version, "23456789"));
    unpacked_free(u);
    buf_fini(&body);
    arena_fini(&arena);
    end(&told);
}

static void
test_A14_what_a_list_does_not_name_is_gone(void **state)
{
    struct told told;

    (void)state;
    begin(&told);
    assert_false(store_complete(told.store, KIND_NODE));
    store_begin(told.store, KIND_NODE);
    put(&told, "a", "u1", "1", "");
    put(&told, "b", "u2", "1", "");
    put(&told, "c", "u3", "1", "");
    put(&told, "d", "u4", "1", "");
    store_end(told.store, KIND_NODE, true, NULL);
    assert_true(store_complete(told.store, KIND_NODE));
    expect(&told, "+a +b +c +d ");
    store_begin(told.store, KIND_NODE);
    put(&told, "b", "u2", "1", "");
    store_keep(told.store, KIND_NODE, STR("c"));
    store_keep(told.store, KIND_NODE, STR("nobody"));
    assert_true(store_complete(told.store, KIND_NODE));
    store_end(told.store, KIND_NODE, true, NULL);
    expect(&told, "-a(u1) -d(u4) ");
    assert_int_equal(store_count(told.store, KIND_NODE), 2);
    end(&told);
}

static void
test_A08_list_that_began_anew_counts_from_there(void **state)
{
    struct told told;

    (void)state;
    begin(&told);
    store_begin(told.store, KIND_NODE);
    put(&told, "a", "u1", "1", "");
    store_begin(told.store, KIND_NODE);
    put(&told, "b", "u2", "1", "");
    store_end(told.store, KIND_NODE, true, NULL);
    expect(&told, "+a +b -a(u1) ");
    end(&told);
}

static void
test_late_delete_leaves_the_successor(void **state)
{
    struct told told;

    (void)state;
    begin(&told);
    put(&told, "a", "u1", "1", "");
    put(&told, "a", "u2", "2", "");
    store_remove(told.store, KIND_NODE, STR("a"), STR("u1"));
    assert_non_null(store_get(told.store, KIND_NODE, "a"));
    store_remove(told.store, KIND_NODE, STR("a"), STR("u2"));
    assert_null(store_get(told.store, KIND_NODE, "a"));
    store_remove(told.store, KIND_NODE, STR("a"), STR("u2"));
    expect(&told, "+a /a(u1) -a(u2) ");
    end(&told);
}

static void
test_clear_forgets_one_kind(void **state)
{
    struct told told;

    (void)state;
    begin(&told);
    store_begin(told.store, KIND_NODE);
    put(&told, "a", "u1", "1", "");
    store_end(told.store, KIND_NODE, true, NULL);
    store_clear(told.store, KIND_NODE);
    assert_int_equal(store_count(told.store, KIND_NODE), 0);
    assert_false(store_complete(told.store, KIND_NODE));
    expect(&told, "+a ");
    end(&told);
}

static void
test_record_that_cannot_be_sent_is_refused(void **state)
{
    size_t n = 3u << 20;
    char *large = mem_zalloc(n + 1);
    struct told told;

    (void)state;
    begin(&told);
    memset(large, 'x', n);
    put(&told, "a", "u1", "1", "");
    assert_int_equal(put(&told, "a", "u1", "2", large), STORE_REFUSED);
    assert_true(str_is(store_get(told.store, KIND_NODE, "a")->version, "1"));
    assert_int_equal(put(&told, "b", "u1", "2", large), STORE_REFUSED);
    assert_null(store_get(told.store, KIND_NODE, "b"));
    expect(&told, "+a ");
    free(large);
    end(&told);
}

/* Bytes that are allocated now; 0 where nobody counts them (valgrind). */
#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

static size_t
allocated(void)
{
#ifdef __SANITIZE_ADDRESS__
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks;
#endif
}

/* A Node as the projector leaves it: everything that is kept is there. */
static struct record
projected_node(const char *name)
{
    static const struct pair labels[] = {
        {STR("beta.kubernetes.io/arch"), STR("arm64")},
        {STR("beta.kubernetes.io/os"), STR("linux")},
        {STR("kubernetes.io/arch"), STR("arm64")},
        {STR("kubernetes.io/hostname"), STR("simulated-node-00001")},
        {STR("kubernetes.io/os"), STR("linux")},
        {STR("mokka.nvidia.com/pool"), STR("demo")},
        {STR("mokka.nvidia.com/sgpu-assigned"), STR("true")},
        {STR("mokka.nvidia.com/sgpu-node"), STR("true")},
        {STR("nvidia.com/gpu.clique"),
         STR("9f1c8a0e-7d0b-5c7e-8c1b-2f6f0a9f4b11.0")},
    };
    static const struct str annotation = STR(
        "{\"v\":1,\"inventory\":{\"name\":\"demo\",\"uid\":"
        "\"7f0e6a52-3c1d-4b8e-9f21-0a4c5d6e7f80\"},\"rack\":{\"name\":"
        "\"demo-nvl72-1-8844eb33b248\",\"uid\":"
        "\"b775f553-56fd-4f05-b8e9-6c6ba3102feb\"},"
        "\"profile\":{\"name\":\"nvl72\",\"uid\":"
        "\"5c1b0f0e-77f3-4b39-8f5d-1b5e3a2c4d6f\",\"revision\":\"sha256:"
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"},"
        "\"rackGroup\":\"nvl72\",\"rackIndex\":1,\"nodeIndex\":17,"
        "\"nodeUID\":\"0b7c1c7e-5a1e-4a57-9a43-0d6f1d0c8e11\"}");

    return (struct record){
        .kind = KIND_NODE,
        .node = {.meta = {.name = str_of(name),
                          .uid = STR("0b7c1c7e-5a1e-4a57-9a43-0d6f1d0c8e11"),
                          .version = STR("12345678"),
                          .created = 1767323045,
                          .labels = {labels, nitems(labels), NULL}},
                 .annotation = annotation,
                 .ours = KEY_ASSIGNED | KEY_CLIQUE | KEY_ANNOTATION,
                 .rivals = STR("")},
    };
}

/* A Node of the usual kind, assigned. */
static void
test_A22_H04_node_costs_less_than_1_kb(void **state)
{
    enum { NODES = 20000 };
    size_t before = allocated();
    size_t each;
    struct told told;

    (void)state;
    begin(&told);
    for (int i = 0; i < NODES; i++) {
        char *name = mem_printf("simulated-node-%05d", i);
        struct record r = projected_node(name);

        assert_int_equal(store_put(told.store, &r, NULL), STORE_ADDED);
        buf_clear(&told.text);
        free(name);
    }
    each = (allocated() - before) / NODES;
    end(&told);
    if (each == 0)
        skip();
    print_message("%zu bytes for each Node\n", each);
    assert_in_range(each, 300, 1000);
}

/* --- the way in --- */

static void
take(struct intake *in, const char *json)
{
    json_t *root = json_loads(json, 0, NULL);
    struct wire_object object = {.json = root};

    intake_put(in, &object);
    json_decref(root);
}

#define GOOD(name, version)                                                    \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\","                      \
    "\"resourceVersion\":\"" version "\"}}"
#define BAD(name)                                                              \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\","                      \
    "\"resourceVersion\":7}}"

static void
test_H02_bad_object_is_skipped_and_what_was_known_stays(void **state)
{
    struct told told;
    struct intake in;

    (void)state;
    begin(&told);
    in = (struct intake){.r = resource_of(KIND_PROFILE), .store = told.store};
    intake_begin(&in);
    take(&in, GOOD("a", "1"));
    take(&in, GOOD("b", "1"));
    intake_end(&in, NULL);
    intake_begin(&in);
    take(&in, BAD("a"));
    take(&in, BAD("new"));
    intake_end(&in, NULL);
    expect(&told, "+a +b -b(u) ");
    assert_int_equal(in.bad, 2);
    end(&told);
}

/* It may have been any of them. */
static void
test_H02_unreadable_object_in_a_list_costs_nobody(void **state)
{
    struct err err = {"not JSON"};
    struct told told;
    struct intake in;

    (void)state;
    begin(&told);
    in = (struct intake){.r = resource_of(KIND_PROFILE), .store = told.store};
    intake_begin(&in);
    take(&in, GOOD("a", "1"));
    intake_end(&in, NULL);
    intake_begin(&in);
    intake_bad(&in, &err);
    intake_end(&in, NULL);
    expect(&told, "+a ");
    intake_begin(&in);
    intake_end(&in, NULL);
    expect(&told, "-a(u) ");
    end(&told);
}

/* Puts it, which is that change, and once more, which is none: it comes out as
 * it went in. */
static void
check_whole(struct told *told, const struct record *r, enum store_change change)
{
    const struct store_entry *e;
    struct buf wanted = {0};
    struct buf body = {0};

    assert_int_equal(store_put(told->store, r, NULL), change);
    assert_int_equal(store_put(told->store, r, NULL), STORE_SAME);
    record_pack(&wanted, r, r->meta.version);
    e = store_get(told->store, r->kind, "n");
    store_body(e, &body);
    assert_true(str_eq(buf_str(&body), buf_str(&wanted)));
    assert_true(str_eq(e->uid, r->meta.uid));
    assert_true(str_eq(e->version, r->meta.version));
    buf_fini(&body);
    buf_fini(&wanted);
}

/* The record of an object, whatever its labels, comes out as it went in. */
static void
test_records_are_whole_whatever_their_labels(void **state)
{
    struct pair labels[40];
    char keys[nitems(labels)][8];
    struct told told;

    (void)state;
    begin(&told);
    for (size_t i = 0; i < nitems(labels); i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%02zu", i);
        labels[i] = (struct pair){str_of(keys[i]), str_of(i % 3 ? "a" : "")};
    }
    for (size_t count = 0; count <= nitems(labels); count++) {
        struct record r = projected_node("n");

        r.meta.labels = (struct pairs){labels, count, NULL};
        check_whole(&told, &r, count == 0 ? STORE_ADDED : STORE_CHANGED);
    }
    end(&told);
}

/* The same of its annotation, of which the beginning may be kept elsewhere; a
 * change in either part is one. */
static void
test_records_are_whole_whatever_their_annotation(void **state)
{
    static const char *const annotations[] = {
        "",
        "x",
        ",\"nodeIndex\":",
        "n,\"nodeIndex\":", /* the name, */
        "1,\"nodeIndex\":", /* what is in the version, */
        "0b7c1c7e-5a1e-4a57-9a43-0d6f1d0c8e11,\"nodeIndex\":", /* the uid */
        "\x01,\"nodeIndex\":",
        "{\"v\":1,\"nodeIndex\":0,\"nodeUID\":\"u\"}",
        "{\"v\":1,\"nodeIndex\":1,\"nodeUID\":\"u\"}",
        "{\"v\":2,\"nodeIndex\":1,\"nodeUID\":\"u\"}",
        "{\"v\":1,\"nodeIndex\":1,\"nodeIndex\":1,\"nodeUID\":\"u\"}",
        "{\"v\":1,\"nodeIndex\":1,\"nodeUID\":\"u\"}",
        "",
    };
    static const struct pair label = {STR("a"), STR("b")};
    struct told told;

    (void)state;
    begin(&told);
    for (size_t i = 0; i < 2 * nitems(annotations); i++) {
        struct record r = projected_node("n");

        r.node.annotation = str_of(annotations[i / 2]);
        r.meta.labels = (struct pairs){&label, i % 2, NULL};
        check_whole(&told, &r, i == 0 ? STORE_ADDED : STORE_CHANGED);
    }
    end(&told);
}

/* And its version, shorter and longer ones, which alone is no change. */
static void
test_records_are_whole_whatever_their_version(void **state)
{
    static const char *const versions[] = {
        "8", "9", "10", "7", "11", "123456789012345678901234567890123456", "1"};
    struct told told;

    (void)state;
    begin(&told);
    for (size_t i = 0; i < nitems(versions); i++) {
        struct record r = projected_node("n");

        r.meta.version = str_of(versions[i]);
        check_whole(&told, &r, i == 0 ? STORE_ADDED : STORE_VERSION);
    }
    end(&told);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_tells_what_changed),
        cmocka_unit_test(
            test_a_list_that_is_older_than_what_was_known_is_noticed),
        cmocka_unit_test(test_body_has_the_newest_version),
        cmocka_unit_test(test_A14_what_a_list_does_not_name_is_gone),
        cmocka_unit_test(test_A08_list_that_began_anew_counts_from_there),
        cmocka_unit_test(test_late_delete_leaves_the_successor),
        cmocka_unit_test(test_clear_forgets_one_kind),
        cmocka_unit_test(test_record_that_cannot_be_sent_is_refused),
        cmocka_unit_test(test_A22_H04_node_costs_less_than_1_kb),
        cmocka_unit_test(
            test_H02_bad_object_is_skipped_and_what_was_known_stays),
        cmocka_unit_test(test_H02_unreadable_object_in_a_list_costs_nobody),
        cmocka_unit_test(test_records_are_whole_whatever_their_labels),
        cmocka_unit_test(test_records_are_whole_whatever_their_annotation),
        cmocka_unit_test(test_records_are_whole_whatever_their_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
