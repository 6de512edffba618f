/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/object.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "tests/unit/seeded.h"

/* Examples with every field set, each to something of its own. */

static const struct pair labels[] = {
    {STR("a"), STR("1")},
    {STR("mokka.nvidia.com/x"), STR("")},
};
static const struct str finalizers[] = {STR("mokka.nvidia.com/rack-cleanup"),
                                        STR("z")};
static const struct object_owner owners[] = {
    {STR("mokka.nvidia.com/v1alpha1"), STR("SGPUInventory"), STR("inv"),
     STR("u1"), 1, 0},
    {STR("v1"), STR("Other"), STR("o"), STR("u2"), -1, -1},
};
static const struct condition conditions[] = {
    {STR("Ready"), STR("True"), STR("AllReady"), STR("all \"is\" well"), 4},
    {STR("Allocated"), STR("Unknown"), STR(""), STR(""), 0},
};
static const struct object_slot slots[] = {
    {0, 8, {STR("node-0"), STR("n0")}},
    {1, 4, {STR(""), STR("")}},
};

#define META                                                                   \
    {                                                                          \
        STR("name"), STR("uid"), STR("4711"), 3, 1767323045, true,             \
        {                                                                      \
            labels, 2, NULL                                                    \
        }                                                                      \
    }
#define STATUS                                                                 \
    {                                                                          \
        STR("{\"phase\":\"x\"}"),                                              \
        {                                                                      \
            conditions, 2                                                      \
        }                                                                      \
    }

static struct object_rack
example_rack(void)
{
    return (struct object_rack){
        .meta = META,
        .annotations = {labels, 1, NULL},
        .finalizers = {finalizers, 2},
        .owners = {owners, 2},
        .inventory = {STR("inv"), STR("u1")},
        .profile = {STR("prof"), STR("u3")},
        .profile_generation = 5,
        .revision = STR("abc"),
        .group = STR("g"),
        .index = 17,
        .fabric = STR("f-uuid"),
        .clique = 2,
        .slots = slots,
        .slot_count = 2,
        .managed = true,
        .spec_ours = false,
        .digest = STR("d1"),
        .status = STATUS,
    };
}

static const struct object_node example_node = {
    .meta = META,
    .annotation = STR("{\"v\":1}"),
    .ours = KEY_ASSIGNED | KEY_ANNOTATION,
    .foreign = KEY_CLIQUE,
    .rivals = STR("kubectl,helm"),
};

/* A record is written, read, and written again from what was read: the bytes
 * must be the same.  So nothing is lost, whatever a record holds. */

static void
write_rack(struct buf *out, const void *record, struct str spec)
{
    (void)spec;
    object_rack_pack(out, record);
}

static void
write_node(struct buf *out, const void *record, struct str spec)
{
    (void)spec;
    object_node_pack(out, record);
}

static void
write_profile(struct buf *out, const void *record, struct str spec)
{
    object_profile_pack(out, record, spec);
}

static void
write_inventory(struct buf *out, const void *record, struct str spec)
{
    object_inventory_pack(out, record, spec);
}

static int
read_rack(void *record, const struct value *body, struct arena *arena,
          struct err *err)
{
    return object_rack_unpack(record, body, arena, err);
}

static int
read_node(void *record, const struct value *body, struct arena *arena,
          struct err *err)
{
    return object_node_unpack(record, body, arena, err);
}

static int
read_profile(void *record, const struct value *body, struct arena *arena,
             struct err *err)
{
    return object_profile_unpack(record, body, arena, err);
}

static int
read_inventory(void *record, const struct value *body, struct arena *arena,
               struct err *err)
{
    return object_inventory_unpack(record, body, arena, err);
}

union any {
    struct object_rack rack;
    struct object_node node;
    struct object_profile profile;
    struct object_inventory inventory;
};

struct kind {
    const char *name;
    void (*write)(struct buf *out, const void *record, struct str spec);
    int (*read)(void *record, const struct value *body, struct arena *arena,
                struct err *err);
};

static const struct kind kinds[] = {
    {"rack", write_rack, read_rack},
    {"node", write_node, read_node},
    {"profile", write_profile, read_profile},
    {"inventory", write_inventory, read_inventory},
};

/* The msgpack of {"n":1}, standing for a spec. */
#define SPEC STR("\201\241n\1")

static void
put_example(const struct kind *kind, struct buf *out)
{
    struct object_rack rack = example_rack();
    struct object_profile profile = {.meta = META};
    struct object_inventory inventory = {
        .meta = META, .finalizers = {finalizers, 1}, .status = STATUS};

    if (kind->write == write_rack)
        kind->write(out, &rack, SPEC);
    else if (kind->write == write_node)
        kind->write(out, &example_node, SPEC);
    else if (kind->write == write_profile)
        kind->write(out, &profile, SPEC);
    else
        kind->write(out, &inventory, SPEC);
}

/* 0: it was read, and gave the same bytes again. */
static int
read_and_write(const struct kind *kind, struct str bytes, struct buf *again,
               struct err *err)
{
    struct unpacked *u = unpack_body(bytes, err);
    struct arena arena = {0};
    union any record;
    int rc = -1;

    if (u == NULL)
        return -1;
    if (kind->read(&record, unpacked_root(u), &arena, err) == 0) {
        kind->write(again, &record, SPEC);
        rc = 0;
    }
    unpacked_free(u);
    arena_fini(&arena);
    return rc;
}

static void
test_each_record_comes_back_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < nitems(kinds); i++) {
        struct buf bytes = {0};
        struct buf again = {0};
        struct err err = {""};

        put_example(&kinds[i], &bytes);
        if (read_and_write(&kinds[i], buf_str(&bytes), &again, &err) != 0)
            fail_msg("%s: %s", kinds[i].name, err.text);
        assert_true(str_eq(buf_str(&bytes), buf_str(&again)));
        buf_fini(&bytes);
        buf_fini(&again);
    }
}

static void
test_fields_are_not_mixed_up(void **state)
{
    struct object_rack rack = example_rack();
    struct object_rack got;
    struct buf bytes = {0};
    struct arena arena = {0};
    struct unpacked *u;

    (void)state;
    object_rack_pack(&bytes, &rack);
    u = unpack_body(buf_str(&bytes), NULL);
    assert_int_equal(object_rack_unpack(&got, unpacked_root(u), &arena, NULL),
                     0);
    unpacked_free(u); /* the record outlives its frame */
    memset(buf_bytes(&bytes), 0, bytes.len);
    buf_fini(&bytes);
    assert_true(str_is(got.meta.name, "name"));
    assert_true(str_is(got.meta.uid, "uid"));
    assert_true(str_is(got.meta.version, "4711"));
    assert_int_equal(got.meta.generation, 3);
    assert_int_equal(got.meta.created, 1767323045);
    assert_true(got.meta.deleting);
    assert_int_equal(got.meta.labels.count, 2);
    assert_true(str_is(got.annotations.items[0].value, "1"));
    assert_true(str_is(got.finalizers.items[1], "z"));
    assert_int_equal(got.owners.items[0].controller, 1);
    assert_int_equal(got.owners.items[0].block, 0);
    assert_int_equal(got.owners.items[1].controller, -1);
    assert_true(str_is(got.inventory.uid, "u1"));
    assert_true(str_is(got.profile.name, "prof"));
    assert_int_equal(got.profile_generation, 5);
    assert_int_equal(got.index, 17);
    assert_int_equal(got.clique, 2);
    assert_int_equal(got.slot_count, 2);
    assert_int_equal(got.slots[0].gpus, 8);
    assert_true(str_is(got.slots[0].node.name, "node-0"));
    assert_true(str_is(got.slots[1].node.name, ""));
    assert_true(got.managed);
    assert_false(got.spec_ours);
    assert_true(str_is(got.digest, "d1"));
    assert_true(str_is(got.status.fields, "{\"phase\":\"x\"}"));
    assert_int_equal(got.status.conditions.items[0].observed, 4);
    arena_fini(&arena);
}

static void
test_an_object_needs_a_name_and_a_uid(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct object_node node = example_node;
        struct buf bytes = {0};
        struct buf again = {0};
        struct err err = {""};

        if (i == 0)
            node.meta.name = STR("");
        else
            node.meta.uid = STR("");
        object_node_pack(&bytes, &node);
        assert_int_equal(
            read_and_write(&kinds[1], buf_str(&bytes), &again, &err), -1);
        buf_fini(&bytes);
        buf_fini(&again);
    }
}

static int
read_node_with_labels(const struct pair *pairs, size_t count)
{
    struct object_node node = example_node;
    struct buf bytes = {0};
    struct buf again = {0};
    struct err err = {""};
    int rc;

    node.meta.labels = (struct pairs){pairs, count, NULL};
    object_node_pack(&bytes, &node);
    rc = read_and_write(&kinds[1], buf_str(&bytes), &again, &err);
    buf_fini(&bytes);
    buf_fini(&again);
    return rc;
}

static void
test_pairs_must_be_sorted_and_unique(void **state)
{
    static const struct pair unsorted[] = {{STR("b"), STR("")},
                                           {STR("a"), STR("")}};
    static const struct pair twice[] = {{STR("a"), STR("1")},
                                        {STR("a"), STR("2")}};
    static const struct pair sorted[] = {{STR("A"), STR("")},
                                         {STR("a"), STR("")},
                                         {STR("a.b"), STR("")},
                                         {STR("a/b"), STR("")},
                                         {STR("\303\244"), STR("")}};

    (void)state;
    assert_int_equal(read_node_with_labels(unsorted, 2), -1);
    assert_int_equal(read_node_with_labels(twice, 2), -1);
    assert_int_equal(read_node_with_labels(sorted, 5), 0);
    assert_int_equal(read_node_with_labels(NULL, 0), 0);
}

static void
test_pairs_get(void **state)
{
    struct pair items[40];
    struct pairs pairs = {items, 0, NULL};
    char keys[40][8];

    (void)state;
    assert_null(pairs_get(pairs, STR("x")));
    for (size_t i = 0; i < nitems(items); i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i * 7 % 40);
        items[i] = (struct pair){str_of(keys[i]), str_of(keys[i] + 1)};
    }
    pairs_sort(items, nitems(items));
    pairs.count = nitems(items);
    for (size_t i = 0; i < nitems(items); i++) {
        const struct str *value = pairs_get(pairs, str_of(keys[i]));

        assert_non_null(value);
        assert_true(str_is(*value, keys[i] + 1));
        if (i > 0)
            assert_true(str_cmp(items[i - 1].key, items[i].key) < 0);
    }
    assert_null(pairs_get(pairs, STR("k")));
    assert_null(pairs_get(pairs, STR("k40")));
    assert_null(pairs_get(pairs, STR("zz")));
    pairs_sort(NULL, 0);
}

static void
test_one_field_more_or_less_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < nitems(kinds); i++) {
        struct buf bytes = {0};
        struct buf again = {0};
        struct err err = {""};
        unsigned char *count;

        put_example(&kinds[i], &bytes);
        buf_addc(&bytes, '\300');
        count = (unsigned char *)buf_bytes(&bytes);
        if (*count == 0xdc)
            count[2]++;
        else
            (*count)++;
        assert_int_equal(
            read_and_write(&kinds[i], buf_str(&bytes), &again, &err), -1);
        assert_non_null(strstr(err.text, "expected"));
        buf_fini(&bytes);
        buf_add(&bytes, "\221\300", 2);
        assert_int_equal(
            read_and_write(&kinds[i], buf_str(&bytes), &again, &err), -1);
        buf_fini(&bytes);
        buf_fini(&again);
    }
}

/* Bytes of a good body are changed at random.  What is still read must be
 * written as something that can be read. */
static void
test_damaged_bodies_do_no_harm(void **state)
{
    struct seeded s = seeded_start("damaged records");
    int rounds = seeded_rounds(20000);
    int taken = 0;

    (void)state;
    for (int i = 0; i < rounds; i++) {
        const struct kind *kind = &kinds[seeded_below(&s, nitems(kinds))];
        struct buf bytes = {0};
        struct buf again = {0};
        struct buf third = {0};
        struct err err;

        put_example(kind, &bytes);
        for (int j = seeded_below(&s, 3); j >= 0; j--)
            buf_bytes(&bytes)[seeded_below(&s, (int)bytes.len)] =
                (char)seeded_next(&s);
        if (read_and_write(kind, buf_str(&bytes), &again, &err) == 0) {
            taken++;
            assert_int_equal(
                read_and_write(kind, buf_str(&again), &third, &err), 0);
            assert_true(str_eq(buf_str(&again), buf_str(&third)));
        }
        buf_fini(&bytes);
        buf_fini(&again);
        buf_fini(&third);
    }
    assert_in_range(taken, rounds / 100, rounds);
}

static void
test_names_of_kinds(void **state)
{
    (void)state;
    assert_string_equal(object_kind_name(KIND_PROFILE), "SGPURackProfile");
    assert_string_equal(object_kind_name(KIND_INVENTORY), "SGPUInventory");
    assert_string_equal(object_kind_name(KIND_RACK), "SGPURack");
    assert_string_equal(object_kind_name(KIND_NODE), "Node");
    assert_string_equal(object_kind_name(KIND_COUNT), "unknown");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_record_comes_back_whole),
        cmocka_unit_test(test_fields_are_not_mixed_up),
        cmocka_unit_test(test_an_object_needs_a_name_and_a_uid),
        cmocka_unit_test(test_pairs_must_be_sorted_and_unique),
        cmocka_unit_test(test_pairs_get),
        cmocka_unit_test(test_one_field_more_or_less_is_refused),
        cmocka_unit_test(test_damaged_bodies_do_no_harm),
        cmocka_unit_test(test_names_of_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
