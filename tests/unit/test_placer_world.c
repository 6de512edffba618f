/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/world.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

#define PROFILE                                                                \
    "{\"rack\":{\"nodesPerRack\":2},\"node\":{\"gpus\":{\"count\":1,"          \
    "\"model\":{},\"memory\":{\"capacity\":\"1Gi\"},\"pci\":{}},"              \
    "\"topology\":{\"gpuSlots\":[{\"index\":0,"                                \
    "\"pciAddress\":\"0000:01:00.0\",\"rootComplex\":\"pci0000:00\"}]}}}"
#define INVENTORY                                                              \
    "{\"rackGroups\":[{\"id\":\"a\",\"count\":2,\"profileRef\":{\"name\":"     \
    "\"p\"}}]}"

/* What differs from case to case. */
struct facts {
    const char *name, *uid, *version;
    int64_t generation;
    const char *label; /* value of label x */
    bool finalizer;
    const char *annotation;
};

static struct object_meta
meta_of(const struct facts *f, struct pair *label)
{
    *label = (struct pair){STR("x"), str_of(f->label)};
    return (struct object_meta){
        .name = str_of(f->name),
        .uid = str_of(f->uid),
        .version = str_of(f->version),
        .generation = f->generation,
        .labels = {label, f->label == NULL ? 0 : 1, NULL},
    };
}

static void
pack(struct buf *out, enum object_kind kind, const struct facts *f,
     const char *spec)
{
    static const struct str finalizer = STR(FINALIZER_INVENTORY);
    struct pair label;
    struct object_meta meta = meta_of(f, &label);
    struct buf packed = {0};
    json_t *json = json_text(spec);

    pack_json(&packed, json);
    json_decref(json);
    if (kind == KIND_PROFILE)
        object_profile_pack(out, &(struct object_profile){.meta = meta},
                            buf_str(&packed));
    else if (kind == KIND_INVENTORY)
        object_inventory_pack(
            out,
            &(struct object_inventory){.meta = meta,
                                       .finalizers = {&finalizer, f->finalizer},
                                       .status.fields = STR("{}")},
            buf_str(&packed));
    else if (kind == KIND_RACK)
        object_rack_pack(
            out, &(struct object_rack){.meta = meta, .digest = STR("d")});
    else
        object_node_pack(
            out, &(struct object_node){.meta = meta,
                                       .annotation = str_of(f->annotation)});
    buf_fini(&packed);
}

static void *
read_record(struct world *w, enum object_kind kind, const struct facts *f,
            const char *spec, const char **name)
{
    struct buf body = {0};
    struct unpacked *u;
    struct err err;
    void *record;

    pack(&body, kind, f, spec);
    u = unpack_body(buf_str(&body), &err);
    record = world_read(w, kind, unpacked_root(u), name, &err);
    if (record == NULL)
        fail_msg("%s", err.text);
    unpacked_free(u);
    buf_fini(&body);
    return record;
}

/* Reads and puts it; the frame is gone by then. */
static void
put(struct world *w, enum object_kind kind, const struct facts *f)
{
    const char *name;
    void *record = read_record(
        w, kind, f, kind == KIND_PROFILE ? PROFILE : INVENTORY, &name);

    assert_string_equal(name, f->name);
    world_put(w, kind, name, record);
}

static void
test_empty(void **state)
{
    struct world w = {0};

    (void)state;
    assert_null(world_profile(&w, "x"));
    assert_null(world_inventory(&w, "x"));
    assert_null(world_rack(&w, "x"));
    assert_null(world_node(&w, "x"));
    for (int kind = 0; kind < KIND_COUNT; kind++)
        world_remove(&w, (enum object_kind)kind, "x");
    world_unsee(&w);
    world_fini(&w);
}

/* Every kind by name and kind; a name that left is gone. */
static void
test_kinds(void **state)
{
    static const struct facts f = {
        .name = "x", .uid = "u", .version = "1", .generation = 1};
    struct world w = {0};

    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct object_ref ref;

        put(&w, (enum object_kind)kind, &f);
        ref = world_ref((enum object_kind)kind, map_get(&w.kinds[kind], "x"));
        assert_true(str_is(ref.name, "x"));
        assert_true(str_is(ref.uid, "u"));
        assert_int_equal(w.kinds[kind].count, 1);
    }
    assert_string_equal(world_profile(&w, "x")->version, "1");
    assert_int_equal(world_profile(&w, "x")->spec.nodes_per_rack, 2);
    assert_int_equal(world_inventory(&w, "x")->spec.group_count, 1);
    assert_null(world_inventory(&w, "x")->o.spec);
    assert_true(str_is(world_rack(&w, "x")->o.digest, "d"));
    assert_non_null(world_node(&w, "x"));
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        world_remove(&w, (enum object_kind)kind, "x");
        assert_int_equal(w.kinds[kind].count, 0);
    }
    world_fini(&w);
}

/* The record of a name stays where it is, the news are in it. */
static void
test_address_stays(void **state)
{
    struct world w = {0};

    (void)state;
    for (int i = 0; i < KIND_COUNT; i++) {
        enum object_kind kind = (enum object_kind)i;
        void *record;

        put(&w, kind, &(struct facts){"x", "u", "1", 1, "old", false, NULL});
        record = map_get(&w.kinds[kind], "x");
        put(&w, kind, &(struct facts){"x", "v", "2", 1, "new", false, NULL});
        assert_ptr_equal(map_get(&w.kinds[kind], "x"), record);
        assert_true(str_is(world_ref(kind, record).uid, "v"));
        assert_int_equal(w.kinds[kind].count, 1);
    }
    assert_string_equal(world_profile(&w, "x")->version, "2");
    assert_true(str_is(*pairs_get(world_node(&w, "x")->o.meta.labels, STR("x")),
                       "new"));
    assert_true(str_is(*pairs_get(world_rack(&w, "x")->o.meta.labels, STR("x")),
                       "new"));
    world_fini(&w);
}

/* What was compiled is untouched while uid and generation are. */
static void
test_compiled_stays(void **state)
{
    struct world w = {0};
    const struct world_inventory *v;
    const struct world_profile *p;
    const struct inventory_group *groups;
    const struct profile_slot *slots;
    const char *name;

    (void)state;
    put(&w, KIND_INVENTORY,
        &(struct facts){"x", "u", "1", 1, "old", false, NULL});
    put(&w, KIND_PROFILE, &(struct facts){"x", "u", "1", 1, NULL, false, NULL});
    v = world_inventory(&w, "x");
    p = world_profile(&w, "x");
    groups = v->spec.groups;
    slots = p->spec.slots;
    name = v->spec.name.s;
    put(&w, KIND_INVENTORY,
        &(struct facts){"x", "u", "2", 1, "new", true, NULL});
    put(&w, KIND_PROFILE, &(struct facts){"x", "u", "2", 1, NULL, false, NULL});
    assert_ptr_equal(v->spec.groups, groups);
    assert_ptr_equal(v->spec.name.s, name);
    assert_ptr_equal(p->spec.slots, slots);
    assert_string_equal(p->version, "2");
    assert_true(str_is(v->o.meta.version, "2"));
    assert_true(world_has_finalizer(v));
    put(&w, KIND_INVENTORY,
        &(struct facts){"x", "u", "3", 2, "new", false, NULL});
    assert_ptr_not_equal(v->spec.groups, groups);
    assert_false(world_has_finalizer(v));
    world_fini(&w);
}

/* A bad body is no record; err names the kind. */
static void
test_bad_body(void **state)
{
    static const char *const bodies[] = {"1", "[]", "[[\"\",\"u\"]]", "{}"};
    struct world w = {0};

    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (size_t i = 0; i < nitems(bodies); i++) {
            struct json_value v;
            const char *name;
            struct err err = {""};

            json_value_parse(&v, bodies[i]);
            assert_null(
                world_read(&w, (enum object_kind)kind, v.root, &name, &err));
            assert_non_null(
                strstr(err.text, object_kind_name((enum object_kind)kind)));
            json_value_fini(&v);
        }
    world_fini(&w);
}

/* What two Nodes have alike is there once, for as long as one of them has it.
 */
static void
test_labels_of_Nodes_are_kept_once(void **state)
{
    struct world w = {0};
    const struct str *value;

    (void)state;
    put(&w, KIND_NODE, &(struct facts){"a", "u", "1", 1, "blue", false, NULL});
    put(&w, KIND_NODE, &(struct facts){"b", "v", "1", 1, "blue", false, NULL});
    value = pairs_get(world_node(&w, "a")->o.meta.labels, STR("x"));
    assert_true(str_is(*value, "blue"));
    assert_ptr_equal(value,
                     pairs_get(world_node(&w, "b")->o.meta.labels, STR("x")));
    assert_int_equal(w.labels.pairs.count, 1);
    put(&w, KIND_NODE, &(struct facts){"a", "u", "2", 1, "red", false, NULL});
    assert_int_equal(w.labels.pairs.count, 2);
    put(&w, KIND_NODE, &(struct facts){"a", "u", "2", 1, "red", false, NULL});
    world_remove(&w, KIND_NODE, "b");
    assert_int_equal(w.labels.pairs.count, 1);
    value = pairs_get(world_node(&w, "a")->o.meta.labels, STR("x"));
    assert_true(str_is(*value, "red"));
    world_remove(&w, KIND_NODE, "a");
    assert_int_equal(w.labels.pairs.count, 0);
    world_fini(&w);
}

/* What the annotations of a rack's Nodes have in common is kept once, and each
 * reads as it was. */
static void
test_annotations_of_a_rack_share_their_beginning(void **state)
{
    static const char *const notes[] = {
        "{\"rack\":1,\"nodeIndex\":0}", "{\"rack\":1,\"nodeIndex\":1}",
        "{\"rack\":2,\"nodeIndex\":0}", "odd", ""};
    struct world w = {0};

    (void)state;
    for (size_t i = 0; i < nitems(notes); i++) {
        char name[] = {'n', (char)('0' + i), '\0'};

        put(&w, KIND_NODE,
            &(struct facts){name, "u", "1", 1, NULL, false, notes[i]});
    }
    assert_int_equal(w.labels.pairs.count, 2);
    for (size_t i = 0; i < nitems(notes); i++) {
        char name[] = {'n', (char)('0' + i), '\0'};
        const struct object_node *o = &world_node(&w, name)->o;
        struct arena arena = {0};

        assert_true(str_is(object_node_annotation(o, &arena), notes[i]));
        for (size_t j = 0; j < nitems(notes); j++)
            assert_int_equal(object_node_says(o, str_of(notes[j])), i == j);
        assert_int_equal(object_node_says_nothing(o), *notes[i] == '\0');
        arena_fini(&arena);
        world_remove(&w, KIND_NODE, name);
    }
    assert_int_equal(w.labels.pairs.count, 0);
    world_fini(&w);
}

/* A Node under that name, but another one. */
static void
test_exact(void **state)
{
    struct world w = {0};

    (void)state;
    put(&w, KIND_NODE, &(struct facts){"x", "u", "1", 0, NULL, false, NULL});
    assert_non_null(
        world_node_exact(&w, &(struct object_ref){STR("x"), STR("u")}));
    assert_null(world_node_exact(&w, &(struct object_ref){STR("x"), STR("v")}));
    assert_null(world_node_exact(&w, &(struct object_ref){STR("y"), STR("u")}));
    world_fini(&w);
}

/* Seen are those that were put since; what is put anew is seen. */
static void
test_seen(void **state)
{
    struct world w = {0};

    (void)state;
    for (int i = 0; i < KIND_COUNT; i++) {
        enum object_kind kind = (enum object_kind)i;

        put(&w, kind, &(struct facts){"x", "u", "1", 1, NULL, false, NULL});
        put(&w, kind, &(struct facts){"y", "u", "1", 1, NULL, false, NULL});
        assert_true(world_seen(kind, map_get(&w.kinds[kind], "x")));
    }
    world_unsee(&w);
    for (int i = 0; i < KIND_COUNT; i++) {
        enum object_kind kind = (enum object_kind)i;

        put(&w, kind, &(struct facts){"x", "u", "1", 1, NULL, false, NULL});
        assert_true(world_seen(kind, map_get(&w.kinds[kind], "x")));
        assert_false(world_seen(kind, map_get(&w.kinds[kind], "y")));
    }
    world_fini(&w);
}

/* Many names, put and removed in any order, are what a list of them says. */
static void
test_random(void **state)
{
    enum { NAMES = 40 };
    struct seeded s = seeded_start("test_random");
    struct world w = {0};
    char uids[NAMES][16] = {""};
    size_t count = 0;

    (void)state;
    for (int i = 0; i < seeded_rounds(5000); i++) {
        int number = seeded_below(&s, NAMES);
        char name[8];

        snprintf(name, sizeof(name), "n%d", number);
        if (seeded_below(&s, 3) == 0) {
            world_remove(&w, KIND_NODE, name);
            count -= uids[number][0] != '\0';
            uids[number][0] = '\0';
        } else {
            count += uids[number][0] == '\0';
            snprintf(uids[number], sizeof(uids[number]), "u%d", i);
            put(&w, KIND_NODE,
                &(struct facts){name, uids[number], "1", 0, "l", false, NULL});
        }
        number = seeded_below(&s, NAMES);
        snprintf(name, sizeof(name), "n%d", number);
        assert_int_equal(w.kinds[KIND_NODE].count, count);
        assert_int_equal(world_node(&w, name) != NULL, uids[number][0] != '\0');
        if (uids[number][0] != '\0')
            assert_true(str_is(world_node(&w, name)->o.meta.uid, uids[number]));
    }
    world_fini(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_address_stays),
        cmocka_unit_test(test_compiled_stays),
        cmocka_unit_test(test_bad_body),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_labels_of_Nodes_are_kept_once),
        cmocka_unit_test(test_annotations_of_a_rack_share_their_beginning),
    };

    return cmocka_run_group_tests_name("placer world", tests, NULL, NULL);
}
