/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sha2.h>
#include <stdlib.h>

#include "common/kube/json.h"
#include "common/mem.h"
#include "informer/convert.h"
#include "informer/digest.h"
#include "informer/extract.h"
#include "proto/unpack.h"

static void
assert_text(struct str text, const char *expected)
{
    char *copy = mem_dup(text.s, text.n);

    assert_string_equal(copy, expected);
    free(copy);
}

/* From JSON to a record, to the body of its message, and back. */
struct trip {
    struct arena arena;
    json_t *json;
    struct record record;
    struct buf body;
    struct unpacked *unpacked;
    struct err err;
};

static int
go(struct trip *trip, const char *json, extract_fn *extract)
{
    struct wire_object object;

    *trip = (struct trip){0};
    trip->json = kube_json_parse(str_of(json), &trip->err);
    assert_non_null(trip->json);
    object = (struct wire_object){.json = trip->json};
    if (extract(&trip->record, &object, &trip->arena, &trip->err) != 0)
        return -1;
    record_pack(&trip->body, &trip->record, trip->record.meta.version);
    trip->unpacked = unpack_body(buf_str(&trip->body), &trip->err);
    assert_non_null(trip->unpacked);
    return 0;
}

static void
end(struct trip *trip)
{
    unpacked_free(trip->unpacked);
    buf_fini(&trip->body);
    json_decref(trip->json);
    arena_fini(&trip->arena);
}

static void
expect_refused(const char *json, extract_fn *extract, const char *why)
{
    struct trip trip;

    assert_int_equal(go(&trip, json, extract), -1);
    assert_string_equal(trip.err.text, why);
    end(&trip);
}

#define BARE                                                                   \
    "\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"}"

static void
test_profile(void **state)
{
    struct object_profile p;
    struct trip trip;
    int64_t number = 0;
    struct str text;

    (void)state;
    assert_int_equal(go(&trip,
                        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u-1\","
                        "\"resourceVersion\":\"42\",\"generation\":3,"
                        "\"creationTimestamp\":\"2026-01-02T03:04:05Z\","
                        "\"deletionTimestamp\":\"2026-01-02T03:04:06Z\","
                        "\"labels\":{\"z\":\"1\",\"a\":\"\"}},"
                        "\"spec\":{\"n\":{\"count\":4,\"gone\":null},"
                        "\"list\":[1,\"2\",true]}}",
                        extract_profile),
                     0);
    assert_int_equal(object_profile_unpack(&p, unpacked_root(trip.unpacked),
                                           &trip.arena, &trip.err),
                     0);
    assert_text(p.meta.name, "a");
    assert_text(p.meta.uid, "u-1");
    assert_text(p.meta.version, "42");
    assert_int_equal(p.meta.generation, 3);
    assert_int_equal(p.meta.created, 1767323045);
    assert_true(p.meta.deleting);
    assert_int_equal(p.meta.labels.count, 2);
    assert_text(p.meta.labels.items[0].key, "a");
    assert_text(p.meta.labels.items[1].value, "1");
    assert_true(value_int(value_get(value_get(p.spec, "n"), "count"), &number));
    assert_int_equal(number, 4);
    assert_int_equal(value_count(value_get(p.spec, "n")), 1);
    assert_true(value_str(value_at(value_get(p.spec, "list"), 1), &text));
    assert_text(text, "2");
    end(&trip);
}

static void
test_inventory(void **state)
{
    struct object_inventory o;
    struct trip trip;

    (void)state;
    assert_int_equal(
        go(&trip,
           "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
           "\"1\",\"finalizers\":[\"f2\",\"f1\"]},\"spec\":{\"rackGroups\":[]},"
           "\"status\":{\"usage\":{\"b\":2,\"a\":1},\"conditions\":[{\"type\":"
           "\"Accepted\",\"status\":\"True\",\"reason\":\"Ok\",\"message\":\"a "
           "< b\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\","
           "\"observedGeneration\":7}],\"capacity\":{\"racks\":3},\"nothing\":"
           "null,\"rackGroupsSummary\":\"<a>\"}}",
           extract_inventory),
        0);
    assert_int_equal(object_inventory_unpack(&o, unpacked_root(trip.unpacked),
                                             &trip.arena, &trip.err),
                     0);
    assert_int_equal(o.finalizers.count, 2);
    assert_text(o.finalizers.items[0], "f2");
    assert_text(o.status.fields,
                "{\"capacity\":{\"racks\":3},\"rackGroupsSummary\":"
                "\"\\u003ca\\u003e\",\"usage\":{\"a\":1,\"b\":2}}");
    assert_int_equal(o.status.conditions.count, 1);
    assert_text(o.status.conditions.items[0].type, "Accepted");
    assert_text(o.status.conditions.items[0].message, "a < b");
    assert_int_equal(o.status.conditions.items[0].observed, 7);
    end(&trip);
}

static void
test_absent_status_and_spec(void **state)
{
    struct object_inventory o;
    struct trip trip;

    (void)state;
    assert_int_equal(go(&trip, "{" BARE "}", extract_inventory), 0);
    assert_int_equal(object_inventory_unpack(&o, unpacked_root(trip.unpacked),
                                             &trip.arena, &trip.err),
                     0);
    assert_text(o.status.fields, "{}");
    assert_int_equal(o.status.conditions.count, 0);
    assert_int_equal(value_count(o.spec), 0);
    end(&trip);
}

/* --- racks --- */

#define GPU(index, serial)                                                     \
    "{\"uuid\":\"GPU-" index "\",\"index\":" index ",\"serial\":\"" serial     \
    "\",\"minorNumber\":" index ",\"pciAddress\":\"0000:11:00.0\","            \
    "\"rootComplex\":\"pci0000:10\",\"numaNode\":1,\"hostProcessorIndex\":2}"
#define GPU_TEXT(index, serial)                                                \
    "{\"index\":" index ",\"uuid\":\"GPU-" index "\",\"serial\":\"" serial     \
    "\",\"minorNumber\":" index ",\"pciAddress\":\"0000:11:00.0\","            \
    "\"rootComplex\":\"pci0000:10\",\"numaNode\":1,\"hostProcessorIndex\":2}"
#define RACK_SPEC                                                              \
    "\"spec\":{\"profileRef\":{\"revision\":\"r\",\"generation\":2,\"uid\":"   \
    "\"pu\",\"name\":\"p\"},\"inventoryRef\":{\"uid\":\"iu\",\"name\":\"i\"}," \
    "\"identity\":{\"cliqueID\":0,\"fabricUUID\":\"f\",\"rackIndex\":5,"       \
    "\"rackGroup\":\"g\"},\"nodes\":[{\"index\":1,\"gpus\":[" GPU(             \
        "0",                                                                   \
        "s&") "," GPU("1",                                                     \
                      "t") "]},{\"nodeRef\":{\"name\":\"n\",\"uid\":\"nu\"},"  \
                           "\"gpus\":[" GPU("0", "u") "],\"index\":0}]}"
#define RACK_TEXT                                                              \
    "{\"inventoryRef\":{\"name\":\"i\",\"uid\":\"iu\"},\"profileRef\":{"       \
    "\"name\":\"p\",\"uid\":\"pu\",\"generation\":2,\"revision\":\"r\"},"      \
    "\"identity\":{\"rackGroup\":\"g\",\"rackIndex\":5,\"fabricUUID\":\"f\","  \
    "\"cliqueID\":0},\"nodes\":[{\"index\":1,\"gpus\":[" GPU_TEXT(             \
        "0", "s\\u0026") "," GPU_TEXT("1", "t") "]},{\"index\":0,"             \
                                                "\"gpus\":[" GPU_TEXT(         \
                                                    "0", "u") "]}]}"
#define MANAGED(manager, operation, version, type, fields, more)               \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation "\","            \
    "\"apiVersion\":\"" version "\",\"fieldsType\":\"" type "\","              \
    "\"fieldsV1\":" fields more "}"
#define OURS "mokka.nvidia.com/v1alpha1"
#define SPEC "{\"f:spec\":{\"f:nodes\":{}}}"

static struct object_rack
rack(struct trip *trip, const char *json)
{
    struct object_rack o;

    assert_int_equal(go(trip, json, extract_rack), 0);
    assert_int_equal(object_rack_unpack(&o, unpacked_root(trip->unpacked),
                                        &trip->arena, &trip->err),
                     0);
    return o;
}

static void
test_rack(void **state)
{
    struct trip trip;
    struct object_rack o =
        rack(&trip,
             "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
             "\"1\",\"annotations\":{\"y\":\"2\",\"x\":\"1\"},\"finalizers\":"
             "[\"f\"],\"ownerReferences\":[{\"apiVersion\":\"v\",\"kind\":"
             "\"K\",\"name\":\"o\",\"uid\":\"ou\",\"controller\":true,"
             "\"blockOwnerDeletion\":false},{\"apiVersion\":\"v\",\"kind\":"
             "\"K\",\"name\":\"o2\",\"uid\":\"ou2\"}]}," RACK_SPEC
             ",\"status\":{\"assignedNodes\":1}}");

    (void)state;
    assert_int_equal(o.annotations.count, 2);
    assert_text(o.annotations.items[0].key, "x");
    assert_text(o.finalizers.items[0], "f");
    assert_int_equal(o.owners.count, 2);
    assert_int_equal(o.owners.items[0].controller, 1);
    assert_int_equal(o.owners.items[0].block, 0);
    assert_int_equal(o.owners.items[1].controller, -1);
    assert_int_equal(o.owners.items[1].block, -1);
    assert_text(o.owners.items[1].uid, "ou2");
    assert_text(o.inventory.name, "i");
    assert_text(o.inventory.uid, "iu");
    assert_text(o.profile.name, "p");
    assert_text(o.profile.uid, "pu");
    assert_int_equal(o.profile_generation, 2);
    assert_text(o.revision, "r");
    assert_text(o.group, "g");
    assert_int_equal(o.index, 5);
    assert_text(o.fabric, "f");
    assert_int_equal(o.clique, 0);
    assert_int_equal(o.slot_count, 2);
    assert_int_equal(o.slots[0].index, 1);
    assert_int_equal(o.slots[0].gpus, 2);
    assert_int_equal(o.slots[0].node.name.n, 0);
    assert_int_equal(o.slots[1].gpus, 1);
    assert_text(o.slots[1].node.name, "n");
    assert_text(o.slots[1].node.uid, "nu");
    assert_false(o.managed);
    assert_false(o.spec_ours);
    assert_text(o.status.fields, "{\"assignedNodes\":1}");
    end(&trip);
}

static void
test_digest_is_of_the_text_without_bindings(void **state)
{
    char hex[SHA256_DIGEST_STRING_LENGTH];
    struct trip trip;
    struct object_rack o = rack(&trip, "{" BARE "," RACK_SPEC "}");
    struct reader r = {trip.json, &trip.arena, &trip.err, false};
    struct buf text = {0};

    (void)state;
    digest_rack_text(&text, &r);
    assert_text(buf_str(&text), RACK_TEXT);
    SHA256Data((const uint8_t *)RACK_TEXT, strlen(RACK_TEXT), hex);
    assert_text(o.digest, hex);
    buf_fini(&text);
    end(&trip);
}

/* A rendering and its digest, as the vectors give them. */
static void
test_digest_of_vector_rack_03(void **state)
{
    struct err err;
    json_t *file = json_load_file(TEST_VECTORS "/identity.json", 0, NULL);
    size_t found = 0, i;
    json_t *vector;

    (void)state;
    assert_non_null(file);
    json_array_foreach(json_object_get(file, "vectors"), i, vector)
    {
        const char *sha = kube_json_text(vector, "output.specJSONSHA256");
        struct arena arena = {0};
        struct reader r = {kube_json_at(vector, "output"), &arena, &err, false};

        if (sha[0] == '\0' || kube_json_at(vector, "output.spec") == NULL)
            continue;
        assert_text(digest_rack(&r), sha);
        assert_int_equal(reader_end(&r), 0);
        arena_fini(&arena);
        found++;
    }
    assert_true(found > 0);
    json_decref(file);
}

static void
test_owner_of_the_spec(void **state)
{
    static const struct {
        const char *entries;
        bool managed, ours;
    } cases[] = {
        {"", false, false},
        {MANAGED("mokka-controller", "Update", OURS, "FieldsV1", SPEC, ""),
         true, true},
        {MANAGED("mokka-controller", "Apply", OURS, "FieldsV1", SPEC,
                 "") "," MANAGED("mokka-controller", "Update", OURS, "FieldsV1",
                                 SPEC, ""),
         true, true},
        {MANAGED("kubectl", "Update", OURS, "FieldsV1", SPEC, ""), true, false},
        {MANAGED("mokka-controller", "Update", OURS, "FieldsV1", SPEC,
                 "") "," MANAGED("kubectl", "Update", OURS, "FieldsV1",
                                 "{\"f:spec\":{\"f:nodes\":{\"f:x\":{}}}}", ""),
         true, false},
        /* Others own something else, or something of a subresource. */
        {MANAGED("mokka-controller", "Update", OURS, "FieldsV1", SPEC,
                 "") "," MANAGED("kubectl", "Update", OURS, "FieldsV1",
                                 "{\"f:metadata\":{\"f:labels\":{}}}",
                                 "") "," MANAGED("mokka", "Update", OURS,
                                                 "FieldsV1", SPEC,
                                                 ",\"subresource\":\"status\""),
         true, true},
        {MANAGED("mokka-controller", "Update", "mokka.nvidia.com/v1",
                 "FieldsV1", SPEC, ""),
         true, false},
        {MANAGED("mokka-controller", "Update", OURS, "FieldsV2", SPEC, ""),
         true, false},
        {MANAGED("mokka-controller", "", OURS, "FieldsV1", SPEC, ""), true,
         false},
        {MANAGED("mokka-controller", "Update", OURS, "FieldsV1",
                 "{\"f:status\":{}}", ""),
         true, false},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        char *json = mem_printf("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
                                "\"resourceVersion\":\"1\",\"managedFields\":"
                                "[%s]}," RACK_SPEC "}",
                                cases[i].entries);
        struct trip trip;
        struct object_rack o = rack(&trip, json);

        if (o.managed != cases[i].managed || o.spec_ours != cases[i].ours)
            fail_msg("case %zu: managed %d, ours %d", i, o.managed,
                     o.spec_ours);
        end(&trip);
        free(json);
    }
}

/* --- bad input --- */

static void
test_faults_name_the_field(void **state)
{
    (void)state;
    expect_refused("{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"1\"}}",
                   extract_rack, "metadata.name is missing");
    expect_refused("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}",
                   extract_profile, "metadata.uid is missing");
    expect_refused("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
                   extract_inventory, "metadata.resourceVersion is missing");
    expect_refused("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
                   "\"resourceVersion\":\"1\",\"labels\":{\"x\":1}}}",
                   extract_rack,
                   "metadata.labels holds something other than a string");
    expect_refused("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
                   "\"resourceVersion\":\"1\",\"creationTimestamp\":"
                   "\"yesterday\"}}",
                   extract_rack, "metadata.creationTimestamp is no time");
}

static void
test_wrong_types_are_refused(void **state)
{
    static const char *const racks[] = {
        "[]",
        "{\"metadata\":7}",
        "{" BARE ",\"spec\":[]}",
        "{" BARE ",\"spec\":{\"nodes\":{}}}",
        "{" BARE ",\"spec\":{\"nodes\":[7]}}",
        "{" BARE ",\"spec\":{\"nodes\":[{\"index\":\"0\"}]}}",
        "{" BARE ",\"spec\":{\"nodes\":[{\"gpus\":[{\"uuid\":1}]}]}}",
        "{" BARE ",\"spec\":{\"identity\":{\"rackIndex\":1.5}}}",
        "{" BARE ",\"status\":7}",
        "{" BARE ",\"status\":{\"conditions\":{}}}",
        "{" BARE ",\"status\":{\"conditions\":[{\"type\":1}]}}",
    };

    (void)state;
    for (size_t i = 0; i < nitems(racks); i++) {
        struct trip trip;

        assert_int_equal(go(&trip, racks[i], extract_rack), -1);
        assert_true(trip.err.text[0] != '\0');
        end(&trip);
    }
}

static void
test_H06_spec_nested_too_deep_is_refused(void **state)
{
    struct buf json = {0};
    char *text;

    (void)state;
    buf_addz(&json, "{" BARE ",\"spec\":{\"a\":");
    for (int i = 0; i < 20; i++)
        buf_addc(&json, '[');
    for (int i = 0; i < 20; i++)
        buf_addc(&json, ']');
    buf_addz(&json, "}}");
    text = buf_take(&json);
    expect_refused(text, extract_profile, "spec: it is nested too deep");
    free(text);
}

static void
test_record_at_the_limit_of_depth_can_be_read(void **state)
{
    struct trip trip;

    (void)state;
    /* 14 lists inside the spec's map inside the body. */
    assert_int_equal(go(&trip,
                        "{" BARE ",\"spec\":{\"a\":[[[[[[[[[[[[[[]]]]]]]]]]]]]]"
                        "}}",
                        extract_profile),
                     0);
    assert_int_equal(record_check(KIND_PROFILE, buf_str(&trip.body), &trip.err),
                     0);
    end(&trip);
}

static void
test_record_above_the_cap_is_refused(void **state)
{
    char *large = mem_zalloc((2u << 20) + 1);
    struct err err;

    (void)state;
    assert_int_equal(
        record_check(KIND_RACK, (struct str){large, (2u << 20) + 1}, &err), -1);
    free(large);
}

/* --- conversions --- */

static void
test_msgpack_one_to_one(void **state)
{
    static const char text[] =
        "{\"i\":-5,\"big\":9223372036854775807,\"r\":1.5,\"s\":\"\\u00e9\","
        "\"t\":true,\"f\":false,\"n\":null,\"l\":[null,{}],\"m\":{\"k\":[]}}";
    json_t *json = kube_json_parse(str_of(text), NULL);
    struct buf out = {0};
    struct unpacked *u;
    const struct value *v;
    struct err err;
    int64_t number;
    struct str s;
    bool yes;

    (void)state;
    assert_int_equal(convert_msgpack(&out, json, 4, &err), 0);
    u = unpack_body(buf_str(&out), &err);
    assert_non_null(u);
    v = unpacked_root(u);
    assert_int_equal(value_count(v), 8);
    assert_true(value_int(value_get(v, "i"), &number));
    assert_int_equal(number, -5);
    assert_true(value_int(value_get(v, "big"), &number));
    assert_true(number == INT64_MAX);
    assert_int_equal(value_kind(value_get(v, "r")), VALUE_REAL);
    assert_true(value_str(value_get(v, "s"), &s));
    assert_text(s, "\xc3\xa9");
    assert_true(value_bool(value_get(v, "t"), &yes) && yes);
    assert_true(value_bool(value_get(v, "f"), &yes) && !yes);
    assert_int_equal(value_count(value_get(v, "l")), 2);
    assert_int_equal(value_kind(value_at(value_get(v, "l"), 1)), VALUE_MAP);
    unpacked_free(u);
    buf_fini(&out);
    json_decref(json);
}

static void
test_canonical_text(void **state)
{
    static const char text[] = "{ \"b\": [1, {\"y\":true,\"x\":null}],"
                               "\"a\": \"<\\n\\\"\", \"c\": -0.5, \"d\":{} }";
    json_t *json = kube_json_parse(str_of(text), NULL);
    struct buf out = {0};

    (void)state;
    convert_canonical(&out, json, "d");
    assert_text(buf_str(&out),
                "{\"a\":\"\\u003c\\n\\\"\",\"b\":[1,{\"y\":true}],"
                "\"c\":-0.5}");
    buf_fini(&out);
    json_decref(json);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_inventory),
        cmocka_unit_test(test_absent_status_and_spec),
        cmocka_unit_test(test_rack),
        cmocka_unit_test(test_digest_is_of_the_text_without_bindings),
        cmocka_unit_test(test_digest_of_vector_rack_03),
        cmocka_unit_test(test_owner_of_the_spec),
        cmocka_unit_test(test_faults_name_the_field),
        cmocka_unit_test(test_wrong_types_are_refused),
        cmocka_unit_test(test_H06_spec_nested_too_deep_is_refused),
        cmocka_unit_test(test_record_at_the_limit_of_depth_can_be_read),
        cmocka_unit_test(test_record_above_the_cap_is_refused),
        cmocka_unit_test(test_msgpack_one_to_one),
        cmocka_unit_test(test_canonical_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
