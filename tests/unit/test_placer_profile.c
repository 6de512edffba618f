/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/profile.h"
#include "tests/unit/json_value.h"

static const struct object_meta meta = {
    .name = STR("profile-a"),
    .uid = STR("profile-uid-a"),
    .generation = 7,
};

static void
compile(struct profile *p, const json_t *spec)
{
    struct json_value v;

    json_value_init(&v, spec);
    profile_compile(p, &meta, v.root);
    json_value_fini(&v);
    assert_int_equal(p->valid, p->issue.text[0] == '\0');
    assert_int_equal(p->valid, p->revision[0] != '\0');
}

/* A revision is the digest of the canonical text, for every vector. */
static void
test_profile_vector(void **state)
{
    const json_t *in = json_object_get(*state, "input");
    const json_t *out = json_object_get(*state, "output");
    struct profile p;

    compile(&p, json_object_get(in, "spec"));
    if (!p.valid)
        fail_msg("%s", p.issue.text);
    assert_string_equal(p.revision, json_str(out, "revision").s);
    assert_string_equal(p.name, "profile-a");
    assert_string_equal(p.uid, "profile-uid-a");
    assert_int_equal(p.generation, 7);
    profile_fini(&p);
}

static json_t *
sample(void)
{
    return vector_input("identity.json", "rev-01", "spec");
}

/* Puts json at a path ("" removes) and wants the issue to hold all words; no
 * words: that it is valid. */
struct change {
    const char *path, *json;
};

static void
assert_issue(const struct change *changes, const char *const *words)
{
    json_t *spec = sample();
    struct profile p;

    for (; changes->path != NULL; changes++)
        json_put(spec, changes->path,
                 *changes->json == '\0' ? NULL : json_text(changes->json));
    compile(&p, spec);
    if (*words == NULL && !p.valid)
        fail_msg("not valid: %s", p.issue.text);
    if (*words != NULL && p.valid)
        fail_msg("valid, wanted: %s", *words);
    for (; *words != NULL; words++)
        if (strstr(p.issue.text, *words) == NULL)
            fail_msg("no \"%s\" in: %s", *words, p.issue.text);
    profile_fini(&p);
    json_decref(spec);
}

#define CHANGES(...) ((const struct change[]){__VA_ARGS__, {NULL, NULL}})
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define VALID ((const char *const[]){NULL})

#define NODES "rack.nodesPerRack"
#define COUNT "node.gpus.count"
#define TOPOLOGY "node.topology"
#define SLOTS "node.topology.gpuSlots"
#define FABRIC "node.topology.gpuFabric"
#define NETWORK "node.topology.network"

/* Without fabric, whose numbers would follow. */
static void
assert_size(const char *path, const char *json, const char *const *words)
{
    assert_issue(CHANGES({FABRIC, ""}, {path, json}), words);
}

static void
test_5_p1_nodes_positive(void **state)
{
    (void)state;
    assert_size(NODES, "0", WORDS(NODES, "0", "above zero"));
    assert_size(NODES, "-1", WORDS(NODES, "-1", "above zero"));
    assert_size(NODES, "", WORDS(NODES, "0", "above zero"));
    assert_size("rack", "", WORDS(NODES, "0", "above zero"));
    assert_size(NODES, "1", VALID);
    assert_size(NODES, "\"2\"", WORDS(NODES, "not an integer"));
}

static void
test_5_p2_nodes_limit(void **state)
{
    (void)state;
    assert_size(NODES, "1024", VALID);
    assert_size(NODES, "1025", WORDS(NODES, "1025", "1024"));
    assert_size(NODES, "9223372036854775807", WORDS(NODES, "1024"));
}

static void
test_5_p3_count_positive(void **state)
{
    (void)state;
    assert_size(COUNT, "0", WORDS(COUNT, "0", "above zero"));
    assert_size(COUNT, "-2147483648", WORDS(COUNT, "above zero"));
    assert_size("node.gpus", "", WORDS(COUNT, "above zero"));
}

static void
test_5_p4_count_limit(void **state)
{
    (void)state;
    assert_size(COUNT, "65", WORDS(COUNT, "65", "64"));
    assert_size(COUNT, "2147483647", WORDS(COUNT, "2147483647", "64"));
}

static void
test_5_p5_topology(void **state)
{
    (void)state;
    assert_issue(CHANGES({TOPOLOGY, ""}), WORDS(TOPOLOGY, "missing"));
    assert_issue(CHANGES({TOPOLOGY, "null"}), WORDS(TOPOLOGY, "missing"));
}

/* n slots that are all right. */
static char *
slots(int n)
{
    struct buf text = {0};

    buf_addc(&text, '[');
    for (int i = 0; i < n; i++)
        buf_printf(&text,
                   "%s{\"index\":%d,\"pciAddress\":\"0000:%02x:00.0\","
                   "\"rootComplex\":\"pci0000:00\"}",
                   i == 0 ? "" : ",", i, i);
    buf_addc(&text, ']');
    return buf_take(&text);
}

static void
test_5_p6_p7_slots(void **state)
{
    static const struct {
        int slots, count;
        const char *word; /* NULL: valid */
    } rows[] = {
        {64, 64, NULL},        {65, 64, "limit is 64"}, {1, 1, NULL},
        {0, 1, "0 slots"},     {2, 3, "is 3"},          {3, 2, "3 slots"},
        {100, 1, "100 slots"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        char *text = slots(rows[i].slots);
        char *count = mem_printf("%d", rows[i].count);
        const char *words[] = {rows[i].word, "gpuSlots", NULL};

        assert_issue(CHANGES({FABRIC, ""}, {COUNT, count}, {SLOTS, text}),
                     rows[i].word == NULL ? VALID : words);
        free(count);
        free(text);
    }
    assert_issue(CHANGES({SLOTS, "{\"a\":1,\"b\":2}"}), WORDS("gpuSlots"));
    assert_issue(CHANGES({SLOTS, "null"}), WORDS("gpuSlots", "0 slots"));
}

static void
test_5_p8_index(void **state)
{
    (void)state;
    assert_issue(CHANGES({SLOTS ".0.index", "-1"}),
                 WORDS("gpuSlots[0].index", "-1", "0 to 1"));
    assert_issue(CHANGES({SLOTS ".1.index", "2"}),
                 WORDS("gpuSlots[1].index", "2", "0 to 1"));
    assert_issue(CHANGES({SLOTS ".1.index", "0"}),
                 WORDS("gpuSlots[1].index", "0 to 1"));
    assert_issue(CHANGES({SLOTS ".0.index", "9223372036854775807"}),
                 WORDS("gpuSlots[0].index"));
    assert_issue(CHANGES({SLOTS ".0.index", "1"}, {SLOTS ".1.index", "0"}),
                 VALID);
}

static void
test_5_p9_pci(void **state)
{
    static const char *const bad[] = {
        "\"\"",
        "null",
        "7",
        "\"0000:01:00\"",
        "\"0000:01:00.8\"",
        "\"0000:0A:00.0\"",
        "\"0000:0g:00.0\"",
        "\"000:01:00.0\"",
        "\"0000:01:00.0 \"",
        "\"0000:01:00.0\\n\"",
        "\"0000-01:00.0\"",
        "\"00000:1:00.0\"",
    };
    static const char *const good[] = {"\"ffff:ff:ff.7\"", "\"abcd:ef:09.0\""};

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++)
        assert_issue(CHANGES({SLOTS ".1.pciAddress", bad[i]}),
                     WORDS("gpuSlots[1].pciAddress", "canonical"));
    for (size_t i = 0; i < nitems(good); i++)
        assert_issue(CHANGES({SLOTS ".1.pciAddress", good[i]}), VALID);
}

static void
test_5_p10_root(void **state)
{
    static const char *const bad[] = {
        "\"\"",          "null",           "\"pci0000:0\"",  "\"pci0000:000\"",
        "\"pci000:00\"", "\"PCI0000:00\"", "\"pci0000:0G\"", "\"pcx0000:00\"",
        "\"0000:00\"",
    };

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++)
        assert_issue(CHANGES({SLOTS ".0.rootComplex", bad[i]}),
                     WORDS("gpuSlots[0].rootComplex", "canonical"));
    assert_issue(CHANGES({SLOTS ".0.rootComplex", "\"pciffff:ff\""}), VALID);
}

static void
test_5_p11_twice(void **state)
{
    (void)state;
    assert_issue(CHANGES({SLOTS ".1.pciAddress", "\"0000:01:00.0\""}),
                 WORDS("gpuSlots[1].pciAddress", "0000:01:00.0", "another"));
    /* Root complexes may be shared. */
    assert_issue(CHANGES({SLOTS ".1.rootComplex", "\"pci0000:00\""}), VALID);
}

static void
test_5_p12_fabric(void **state)
{
    static const struct {
        const char *path, *json, *word;
    } rows[] = {
        {FABRIC ".type", "", "type"},
        {FABRIC ".type", "\"\"", "type"},
        {FABRIC ".generation", "0", "generation"},
        {FABRIC ".generation", "", "generation"},
        {FABRIC ".linksPerGPU", "-1", "linksPerGPU"},
        {FABRIC ".bandwidthPerLinkMBps", "0", "bandwidthPerLinkMBps"},
        {FABRIC ".domain", "", "domain"},
        {FABRIC ".domain", "null", "domain"},
        {FABRIC ".domain.scope", "\"Node\"", "Rack"},
        {FABRIC ".domain.scope", "\"Cluster\"", "Rack"},
        {FABRIC ".domain.scope", "\"rack\"", "Rack"},
        {FABRIC ".domain.scope", "", "Rack"},
        {FABRIC, "{}", "type"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        assert_issue(CHANGES({rows[i].path, rows[i].json}),
                     WORDS("gpuFabric", rows[i].word));
    assert_issue(CHANGES({FABRIC, ""}), VALID);
    assert_issue(CHANGES({FABRIC, "null"}), VALID);
}

static void
test_5_p13_domain(void **state)
{
    (void)state;
    assert_issue(CHANGES({FABRIC ".domain.gpuCount", "5"}),
                 WORDS("gpuCount", "5", "4"));
    assert_issue(CHANGES({FABRIC ".domain.gpuCount", ""}),
                 WORDS("gpuCount", "0", "4"));
    assert_issue(CHANGES({NODES, "3"}), WORDS("gpuCount", "4", "6"));
    assert_issue(CHANGES({NODES, "3"}, {FABRIC ".domain.gpuCount", "6"}),
                 VALID);
}

static void
test_5_p14_network(void **state)
{
    static const char *const texts[] = {"type", "adapterModel",
                                        "firmwareVersion"};
    static const char *const numbers[] = {"linkSpeedGbps", "adaptersPerGPU"};

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        char *path = mem_printf(NETWORK ".%s", texts[i]);

        assert_issue(CHANGES({path, "\"\""}), WORDS("network", texts[i]));
        assert_issue(CHANGES({path, ""}), WORDS("network", texts[i]));
        free(path);
    }
    for (size_t i = 0; i < nitems(numbers); i++) {
        char *path = mem_printf(NETWORK ".%s", numbers[i]);

        assert_issue(CHANGES({path, "0"}), WORDS("network", numbers[i]));
        assert_issue(CHANGES({path, "-4"}), WORDS("network", numbers[i], "-4"));
        free(path);
    }
    assert_issue(CHANGES({NETWORK, ""}), VALID);
}

/* Each rule fails before all later ones: everything is broken at once, and
 * mended one by one. */
static void
test_5_order(void **state)
{
    static const struct {
        const char *path, *broken, *mended, *word;
    } rows[] = {
        {NODES, "0", "2", "nodesPerRack"},
        {COUNT, "65", "2", "gpus.count"},
        {SLOTS ".0.index", "2", "0", "gpuSlots[0].index"},
        {SLOTS ".0.pciAddress", "\"x\"", "\"0000:01:00.0\"",
         "gpuSlots[0].pciAddress"},
        {SLOTS ".0.rootComplex", "\"x\"", "\"pci0000:00\"",
         "gpuSlots[0].rootComplex"},
        {SLOTS ".1.index", "0", "1", "gpuSlots[1].index"},
        {SLOTS ".1.rootComplex", "\"x\"", "\"pci0000:00\"",
         "gpuSlots[1].rootComplex"},
        {SLOTS ".1.pciAddress", "\"0000:01:00.0\"", "\"0000:02:00.0\"",
         "gpuSlots[1].pciAddress"},
        {FABRIC ".type", "\"\"", "\"NVLink\"", "gpuFabric.type"},
        {FABRIC ".domain.gpuCount", "3", "4", "domain.gpuCount"},
        {NETWORK ".type", "\"\"", "\"InfiniBand\"", "network.type"},
        {"node.gpus.memory.capacity", "\"1x\"", "\"0\"", "capacity"},
    };
    json_t *spec = sample();

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        json_put(spec, rows[i].path, json_text(rows[i].broken));
    for (size_t i = 0; i < nitems(rows); i++) {
        struct profile p;

        compile(&p, spec);
        if (p.valid || strstr(p.issue.text, rows[i].word) == NULL)
            fail_msg("wanted %s: %s", rows[i].word, p.issue.text);
        profile_fini(&p);
        json_put(spec, rows[i].path, json_text(rows[i].mended));
    }
    json_decref(spec);
}

/* What the canonical text refuses is an issue like the others. */
static void
test_4_4_quantity_is_an_issue(void **state)
{
    (void)state;
    assert_issue(CHANGES({"node.gpus.memory.capacity", "\"1e1.5\""}),
                 WORDS("spec.node.gpus.memory.capacity", "1e1.5"));
    assert_issue(CHANGES({"node.gpus.memory.reserved", "1.5"}),
                 WORDS("spec.node.gpus.memory.reserved"));
    assert_issue(CHANGES({"software", "[]"}), WORDS("spec.software"));
}

/* Not checked by section 5: numbers of NUMA nodes, model, memory, ... */
static void
test_5_not_checked(void **state)
{
    (void)state;
    assert_issue(CHANGES({SLOTS ".0.numaNode", "-1"},
                         {SLOTS ".0.hostProcessorIndex", "-2147483648"},
                         {"node.gpus.model", ""}, {"node.gpus.memory", ""},
                         {"node.gpus.pci", ""}, {"software", ""}),
                 VALID);
    assert_issue(CHANGES({SLOTS ".0.numaNode", "2147483648"}),
                 WORDS("numaNode", "32 bits"));
}

static void
test_7_2_slots_by_index(void **state)
{
    json_t *spec = sample();
    struct profile p;

    (void)state;
    json_put(spec, SLOTS ".0.index", json_integer(1));
    json_put(spec, SLOTS ".1.index", json_integer(0));
    compile(&p, spec);
    assert_true(p.valid);
    assert_int_equal(p.gpus, 2);
    assert_int_equal(p.nodes_per_rack, 2);
    assert_int_equal(p.slots[0].index, 0);
    assert_string_equal(p.slots[0].pci, "0000:02:00.0");
    assert_int_equal(p.slots[0].numa, 1);
    assert_int_equal(p.slots[0].host_cpu, 1);
    assert_string_equal(p.slots[1].pci, "0000:01:00.0");
    assert_string_equal(p.slots[1].root, "pci0000:00");
    assert_int_equal(p.slots[1].numa, 0);
    profile_fini(&p);
    json_decref(spec);
}

/* No shape of spec does more than make an invalid profile. */
static void
test_5_any_shape(void **state)
{
    static const char *const texts[] = {
        "null",
        "7",
        "[]",
        "{}",
        "\"x\"",
        "{\"rack\":7,\"node\":[]}",
        "{\"rack\":{\"nodesPerRack\":1},\"node\":{\"gpus\":{\"count\":1},"
        "\"topology\":{\"gpuSlots\":[7]}}}",
        "{\"rack\":{\"nodesPerRack\":1},\"node\":{\"gpus\":{\"count\":1},"
        "\"topology\":[]}}",
    };

    (void)state;
    for (size_t i = 0; i < nitems(texts); i++) {
        json_t *spec = json_text(texts[i]);
        struct profile p;

        compile(&p, spec);
        assert_false(p.valid);
        profile_fini(&p);
        json_decref(spec);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_5_p1_nodes_positive),
        cmocka_unit_test(test_5_p2_nodes_limit),
        cmocka_unit_test(test_5_p3_count_positive),
        cmocka_unit_test(test_5_p4_count_limit),
        cmocka_unit_test(test_5_p5_topology),
        cmocka_unit_test(test_5_p6_p7_slots),
        cmocka_unit_test(test_5_p8_index),
        cmocka_unit_test(test_5_p9_pci),
        cmocka_unit_test(test_5_p10_root),
        cmocka_unit_test(test_5_p11_twice),
        cmocka_unit_test(test_5_p12_fabric),
        cmocka_unit_test(test_5_p13_domain),
        cmocka_unit_test(test_5_p14_network),
        cmocka_unit_test(test_5_order),
        cmocka_unit_test(test_4_4_quantity_is_an_issue),
        cmocka_unit_test(test_5_not_checked),
        cmocka_unit_test(test_7_2_slots_by_index),
        cmocka_unit_test(test_5_any_shape),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "identity.json", "profileRevision", "test_4_6_",
                test_profile_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer profile");
}
