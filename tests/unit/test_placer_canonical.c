/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sha2.h>
#include <string.h>

#include "placer/canonical.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/* The text, which the caller frees, or NULL and err. */
static char *
canonical(const json_t *spec, struct err *err)
{
    struct json_value v;
    struct buf out = {0};
    int failed;

    *err = (struct err){""};
    json_value_init(&v, spec);
    failed = canonical_profile(&out, v.root, err);
    json_value_fini(&v);
    assert_int_equal(failed != 0, err->text[0] != '\0');
    if (failed == 0)
        return buf_take(&out);
    buf_fini(&out);
    return NULL;
}

static char *
must_canonical(const json_t *spec)
{
    struct err err;
    char *text = canonical(spec, &err);

    if (text == NULL)
        fail_msg("%s", err.text);
    return text;
}

static void
test_revision_vector(void **state)
{
    const json_t *in = json_object_get(*state, "input");
    const json_t *between = json_object_get(*state, "intermediate");
    const json_t *out = json_object_get(*state, "output");
    char *text = must_canonical(json_object_get(in, "spec"));
    char revision[SHA256_DIGEST_STRING_LENGTH];

    if (json_object_get(between, "canonicalJSON") != NULL)
        assert_string_equal(text, json_str(between, "canonicalJSON").s);
    assert_int_equal(strlen(text), json_int(between, "canonicalBytes"));
    SHA256Data((const uint8_t *)text, strlen(text), revision);
    assert_string_equal(revision, json_str(out, "revision").s);
    free(text);
}

static json_t *
spec_of(const char *id)
{
    return vector_input("identity.json", id, "spec");
}

/* A required member that is absent reads as zero; the topology is needed. */
static void
test_4_3_absent_required(void **state)
{
    json_t *spec = json_text("{\"node\":{\"topology\":{}}}");
    struct err err;
    char *text = must_canonical(spec);

    (void)state;
    assert_string_equal(text,
                        "{\"rack\":{\"nodesPerRack\":0},\"node\":{\"gpus\":"
                        "{\"count\":0,\"model\":{},\"memory\":{\"capacity"
                        "\":\"0\"},\"pci\":{}},\"topology\":{\"gpuSlots\""
                        ":null}}}");
    free(text);
    json_put(spec, "node.topology", json_null());
    assert_null(canonical(spec, &err));
    assert_string_equal(err.text, "spec.node.topology: is missing");
    json_decref(spec);
}

/* The three rules of omission, by a member of each type. */
static void
test_4_3_omission(void **state)
{
    static const struct {
        const char *path, *json, *wanted; /* NULL: left out */
    } rows[] = {
        {"node.gpus.model.vendor", "\"\"", NULL},
        {"node.gpus.model.vendor", "null", NULL},
        {"node.gpus.model.vendor", "\"0\"", "\"vendor\":\"0\""},
        {"node.gpus.memory.busWidthBits", "0", NULL},
        {"node.gpus.memory.busWidthBits", "-1", "\"busWidthBits\":-1"},
        {"node.gpus.memory.reserved", "\"0\"", "\"reserved\":\"0\""},
        {"node.gpus.memory.reserved", "0", "\"reserved\":\"0\""},
        {"node.gpus.memory.reserved", "null", NULL},
        {"node.gpus.power", "{}", "\"power\":{}"},
        {"node.gpus.power", "{\"managementSupported\":false}", "\"power\":{}"},
        {"node.gpus.power", "null", NULL},
        {"node.gpus.clocks", "{\"supported\":[]}", "\"clocks\":{}"},
        {"node.gpus.clocks", "{\"supported\":[{}]}",
         "\"supported\":[{\"memoryMHz\":0,\"graphicsMHz\":null}]"},
        {"node.gpus.clocks", "{\"supported\":[{\"graphicsMHz\":[]}]}",
         "\"supported\":[{\"memoryMHz\":0,\"graphicsMHz\":[]}]"},
        {"node.gpus.capabilities", "{\"attributes\":{}}",
         "\"capabilities\":{}"},
        {"node.gpus.capabilities", "{\"attributes\":{\"a\":{\"bool\":false}}}",
         "{\"a\":{\"bool\":false}}"},
        {"node.gpus.capabilities", "{\"attributes\":{\"a\":{\"int\":0}}}",
         "{\"a\":{\"int\":0}}"},
        {"node.gpus.capabilities",
         "{\"attributes\":{\"a\":{\"string\":\"\",\"strings\":[]}}}",
         "{\"a\":{}}"},
        {"node.gpus.capabilities", "{\"attributes\":{\"a\":null,\"b\":{}}}",
         "\"attributes\":{\"b\":{}}"},
        {"software", "{}", "\"software\":{}"},
        {"software", "null", NULL},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        json_t *spec = spec_of("rev-01");
        const char *key = strrchr(rows[i].path, '.');
        char *name =
            mem_printf("\"%s\":", key != NULL ? key + 1 : rows[i].path);
        char *text;

        json_put(spec, rows[i].path, json_text(rows[i].json));
        text = must_canonical(spec);
        if (rows[i].wanted != NULL ? strstr(text, rows[i].wanted) == NULL
                                   : strstr(text, name) != NULL)
            fail_msg("%s = %s: %s", rows[i].path, rows[i].json, text);
        free(text);
        free(name);
        json_decref(spec);
    }
}

/* numaNode 0 is absent here. */
static void
test_4_3_12_6_numa_zero(void **state)
{
    json_t *spec = spec_of("rev-01");
    char *without = must_canonical(spec);
    char *with;

    (void)state;
    json_put(spec, "node.topology.gpuSlots.0.numaNode", json_integer(0));
    with = must_canonical(spec);
    assert_string_equal(with, without);
    free(with);
    free(without);
    json_decref(spec);
}

static void
test_4_2_12_7_escapes(void **state)
{
    json_t *spec = spec_of("rev-01");
    char *text;

    (void)state;
    json_put(spec, "node.gpus.model.productName",
             json_string("<A&B>/\"\\\b\f\n\r\t\x01\x1f\x7f\xe2\x80\xa8"
                         "\xe2\x80\xa9\xc3\xbc"));
    text = must_canonical(spec);
    assert_non_null(strstr(text,
                           "\"\\u003cA\\u0026B\\u003e/\\\"\\\\\\b\\f\\n\\r"
                           "\\t\\u0001\\u001f\x7f\\u2028\\u2029\xc3\xbc"
                           "\""));
    free(text);
    json_decref(spec);
}

/* A byte that is not UTF-8 becomes \ufffd. */
static void
test_4_2_not_utf8(void **state)
{
    struct buf bytes = {0};
    struct buf out = {0};
    struct unpacked *u;
    struct err err;

    (void)state;
    pack_map(&bytes, 2);
    pack_text(&bytes, "software");
    pack_map(&bytes, 1);
    pack_text(&bytes, "cudaVersion");
    pack_text(&bytes, "1\xff\xc3");
    pack_text(&bytes, "node");
    pack_map(&bytes, 1);
    pack_text(&bytes, "topology");
    pack_map(&bytes, 0);
    u = unpack_body(buf_str(&bytes), &err);
    assert_non_null(u);
    assert_int_equal(canonical_profile(&out, unpacked_root(u), &err), 0);
    buf_addc(&out, '\0');
    assert_non_null(strstr(buf_bytes(&out), "\"1\\ufffd\\ufffd\""));
    unpacked_free(u);
    buf_fini(&bytes);
    buf_fini(&out);
}

/* By index, whatever their order; nothing else in them moves. */
static void
test_4_1_1_slots(void **state)
{
    json_t *spec = spec_of("rev-01");
    json_t *slots = json_at(spec, "node.topology.gpuSlots");
    char *wanted = must_canonical(spec);
    char *text;

    (void)state;
    json_array_append(slots, json_array_get(slots, 0));
    json_array_remove(slots, 0);
    assert_int_equal(json_int(json_array_get(slots, 0), "index"), 1);
    text = must_canonical(spec);
    assert_string_equal(text, wanted);
    free(text);
    json_put(spec, "node.topology.gpuSlots.0.pciAddress",
             json_string("0000:03:00.0"));
    text = must_canonical(spec);
    assert_string_not_equal(text, wanted);
    free(text);
    free(wanted);
    json_decref(spec);
}

/* Graphics clocks as numbers; the entries that have them keep their order. */
static void
test_4_1_2_clocks(void **state)
{
    json_t *spec = spec_of("rev-01");
    char *text;

    (void)state;
    json_put(spec, "node.gpus.clocks",
             json_text("{\"supported\":[{\"memoryMHz\":9,\"graphicsMHz\":[100,"
                       "20,-3]},{\"memoryMHz\":1,\"graphicsMHz\":[2,1]}]}"));
    text = must_canonical(spec);
    assert_non_null(strstr(text,
                           "[{\"memoryMHz\":9,\"graphicsMHz\":[-3,20,100]},"
                           "{\"memoryMHz\":1,\"graphicsMHz\":[1,2]}]"));
    free(text);
    json_decref(spec);
}

/* Texts as bytes. */
static void
test_4_1_3_attributes(void **state)
{
    json_t *spec = spec_of("rev-01");
    char *text;

    (void)state;
    json_put(spec, "node.gpus.capabilities",
             json_text("{\"attributes\":{\"b\":{\"strings\":[\"b\",\"a\","
                       "\"B\",\"ab\"]},\"B\":{},\"a\":{}}}"));
    text = must_canonical(spec);
    assert_non_null(strstr(text,
                           "{\"B\":{},\"a\":{},\"b\":{\"strings\":[\"B\",\"a\","
                           "\"ab\",\"b\"]}}"));
    free(text);
    json_decref(spec);
}

/* The list is normalised for the revision only. */
static void
test_4_2_12_8_quantities(void **state)
{
    static const char *const same[] = {"\"81920Mi\"", "\"80Gi\""};
    char *texts[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        json_t *spec = spec_of("rev-01");

        json_put(spec, "node.gpus.memory.capacity", json_text(same[i]));
        texts[i] = must_canonical(spec);
        assert_non_null(strstr(texts[i], "{\"capacity\":\"80Gi\"}"));
        json_decref(spec);
    }
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

/* A visit to each member of a tree. */
struct visit {
    json_t *root; /* of the copy that is changed */
    size_t count;
};

static void each_member(struct visit *visit, json_t *json, struct buf *path,
                        void (*visitor)(struct visit *, const char *,
                                        json_t *));

static void
visit_member(struct visit *visit, json_t *json, struct buf *path,
             const char *key,
             void (*visitor)(struct visit *, const char *, json_t *))
{
    size_t n = path->len;
    char *text;

    buf_printf(path, "%s%s", n == 0 ? "" : ".", key);
    text = mem_dup(buf_bytes(path), path->len);
    visitor(visit, text, json);
    visit->count++;
    free(text);
    each_member(visit, json, path, visitor);
    path->len = n;
}

static void
each_member(struct visit *visit, json_t *json, struct buf *path,
            void (*visitor)(struct visit *, const char *, json_t *))
{
    const char *key;
    json_t *member;
    char number[24];
    size_t i;

    json_object_foreach(json, key, member)
        visit_member(visit, member, path, key, visitor);
    if (json_is_array(json))
        json_array_foreach(json, i, member)
        {
            snprintf(number, sizeof(number), "%zu", i);
            visit_member(visit, member, path, number, visitor);
        }
}

static void
visit_all(void (*visitor)(struct visit *, const char *, json_t *))
{
    json_t *spec = spec_of("rev-07");
    struct visit visit = {spec, 0};
    struct buf path = {0};
    json_t *keep;

    /* Keys without dots, for paths. */
    json_put(spec, "node.gpus.capabilities.attributes",
             json_text("{\"b\":{\"bool\":true},\"i\":{\"int\":1},\"s\":{"
                       "\"string\":\"x\"},\"l\":{\"strings\":[\"x\"]}}"));
    visit.root = keep = json_deep_copy(spec);
    each_member(&visit, spec, &path, visitor);
    assert_true(visit.count > 100);
    buf_fini(&path);
    json_decref(keep);
    json_decref(spec);
}

/* Puts a value of each wrong type at a member. */
static void
wrong_types(struct visit *visit, const char *path, json_t *was)
{
    static const char *const values[] = {"\"x\"", "7",  "true",
                                         "[]",    "{}", "1.5"};

    for (size_t i = 0; i < nitems(values); i++) {
        json_t *spec = json_deep_copy(visit->root);
        const char *key = strrchr(path, '.');
        json_t *value = json_text(values[i]);
        bool same = json_typeof(value) == json_typeof(was) ||
                    (json_is_boolean(value) && json_is_boolean(was));
        struct err err;
        char *text;

        key = key == NULL ? path : key + 1;
        json_put(spec, path, value);
        text = canonical(spec, &err);
        /* A quantity is a text or a number; here a text is one. */
        if (!same && text != NULL &&
            !(json_is_integer(value) && json_is_string(was) &&
              (strstr(path, "apacity") || strstr(path, "reserved"))))
            fail_msg("%s = %s is taken", path, values[i]);
        if (text == NULL && (strncmp(err.text, "spec.", 5) != 0 ||
                             strstr(err.text, key) == NULL))
            fail_msg("%s = %s: %s", path, values[i], err.text);
        free(text);
        json_decref(spec);
    }
}

/* A wrong type anywhere is an error that names the path. */
static void
test_4_1_wrong_types(void **state)
{
    (void)state;
    visit_all(wrong_types);
}

/* 4.3, letter by letter; [] stands for an item, * for a key of a map. */
static const char *const rules[][2] = {
    {"", "rack.a node.a software.p defaults.p"},
    {"rack", "nodesPerRack.a"},
    {"node", "gpus.a host.p topology.a"},
    {"node.gpus", "count.a model.a memory.a pci.a power.p thermal.p clocks.p "
                  "capabilities.p"},
    {"node.gpus.model", "vendor.z product.z productName.z architecture.z "
                        "computeCapability.p cores.p board.p firmware.p"},
    {"node.gpus.model.computeCapability", "major.a minor.a"},
    {"node.gpus.model.cores", "cuda.z"},
    {"node.gpus.model.board", "partNumber.z"},
    {"node.gpus.model.firmware", "vbiosVersion.z gspVersion.z infoROM.p"},
    {"node.gpus.model.firmware.infoROM",
     "imageVersion.z oemObjectVersion.z eccObjectVersion.z "
     "powerObjectVersion.z"},
    {"node.gpus.memory", "capacity.a reserved.p bar1Capacity.p busWidthBits.z"},
    {"node.gpus.pci", "vendorID.z deviceID.z subsystemVendorID.z "
                      "subsystemDeviceID.z maxLink.p"},
    {"node.gpus.pci.maxLink", "generation.z width.z"},
    {"node.gpus.power", "managementSupported.z limitsMilliWatts.p"},
    {"node.gpus.power.limitsMilliWatts", "minimum.z default.z maximum.z"},
    {"node.gpus.thermal",
     "targetCelsius.z maxOperatingCelsius.z slowdownThresholdCelsius.z "
     "shutdownThresholdCelsius.z"},
    {"node.gpus.clocks", "maximumMHz.p supported.z"},
    {"node.gpus.clocks.maximumMHz", "graphics.z sm.z memory.z video.z"},
    {"node.gpus.clocks.supported.[]", "memoryMHz.a graphicsMHz.a"},
    {"node.gpus.capabilities", "mig.p attributes.z"},
    {"node.gpus.capabilities.mig", "supported.z maxGPUInstances.z"},
    {"node.gpus.capabilities.attributes.*", "bool.p int.p string.z strings.z"},
    {"node.host", "cpu.p memory.p"},
    {"node.host.cpu", "vendor.z product.z architecture.z cores.z"},
    {"node.host.memory", "capacity.a coherentWithGPU.z"},
    {"node.topology", "gpuSlots.a gpuFabric.p network.p"},
    {"node.topology.gpuSlots.[]",
     "index.a pciAddress.a rootComplex.a numaNode.z hostProcessorIndex.z"},
    {"node.topology.gpuFabric",
     "type.z generation.z linksPerGPU.z bandwidthPerLinkMBps.z c2cSupported.z "
     "domain.p switches.p"},
    {"node.topology.gpuFabric.domain", "scope.z gpuCount.z"},
    {"node.topology.gpuFabric.switches", "visiblePerNode.z"},
    {"node.topology.network", "type.z adapterModel.z firmwareVersion.z "
                              "linkSpeedGbps.z adaptersPerGPU.z"},
    {"software", "driverVersion.z nvmlVersion.z cudaVersion.z"},
    {"defaults", "runtime.p"},
    {"defaults.runtime", "deviceState.z modes.p telemetry.p"},
    {"defaults.runtime.modes",
     "persistence.z compute.z mig.z ecc.z accounting.z"},
    {"defaults.runtime.telemetry", "performanceState.z utilization.p power.p "
                                   "temperature.p clocks.p"},
    {"defaults.runtime.telemetry.utilization", "mode.z pattern.p"},
    {"defaults.runtime.telemetry.utilization.pattern",
     "type.z gpuPercent.p memoryPercent.p"},
    {"defaults.runtime.telemetry.utilization.pattern.gpuPercent",
     "minimum.a maximum.a"},
    {"defaults.runtime.telemetry.utilization.pattern.memoryPercent",
     "minimum.a maximum.a"},
    {"defaults.runtime.telemetry.power", "mode.z drawMilliWatts.z"},
    {"defaults.runtime.telemetry.temperature",
     "mode.z gpuCelsius.z memoryCelsius.z"},
    {"defaults.runtime.telemetry.clocks",
     "graphicsMHz.z smMHz.z memoryMHz.z videoMHz.z"},
};

/* The path of what a member is in, with [] and * in place of what varies. */
static char *
pattern_of(const char *path)
{
    const char *const map = "node.gpus.capabilities.attributes.";
    char *copy = mem_strdup(path);
    char *last = strrchr(copy, '.');
    char *rest = copy;
    struct buf out = {0};
    const char *part;

    if (last == NULL)
        rest = NULL;
    else
        *last = '\0';
    while (rest != NULL && (part = strsep(&rest, ".")) != NULL) {
        bool item = strspn(part, "0123456789") == strlen(part);
        bool key =
            out.len == strlen(map) - 1 && strncmp(path, map, strlen(map)) == 0;

        buf_printf(&out, "%s%s", out.len == 0 ? "" : ".",
                   item  ? "[]"
                   : key ? "*"
                         : part);
    }
    free(copy);
    return buf_take(&out);
}

/* The letter of a member, or '\0' if it is an item or a key of a map. */
static char
rule_of(const char *path, const char *key)
{
    char *pattern = pattern_of(path);
    char *wanted = mem_printf(" %s.", key);
    char letter = '\0';

    for (size_t i = 0; i < nitems(rules); i++) {
        char *row;
        const char *at;

        if (strcmp(rules[i][0], pattern) != 0)
            continue;
        row = mem_printf(" %s", rules[i][1]);
        at = strstr(row, wanted);
        letter = at == NULL ? '?' : at[strlen(wanted)];
        free(row);
    }
    free(wanted);
    free(pattern);
    return letter;
}

/* How often the key is in the text with the member changed to json (NULL:
 * removed). */
static int
times(const struct visit *visit, const char *path, const char *key,
      json_t *json)
{
    json_t *spec = json_deep_copy(visit->root);
    char *name = mem_printf("\"%s\":", key);
    char *text;
    int n = 0;

    json_put(spec, path, json);
    text = must_canonical(spec);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        n++;
    free(text);
    free(name);
    json_decref(spec);
    return n;
}

static json_t *
zero_of(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return json_object();
    case JSON_ARRAY:
        return json_array();
    case JSON_STRING:
        return json_string("");
    case JSON_INTEGER:
        return json_integer(0);
    default:
        return json_false();
    }
}

/* a: there, zero or removed. z: there neither way. p: there if zero. */
static void
check_rule(struct visit *visit, const char *path, json_t *was)
{
    const char *dot = strrchr(path, '.');
    const char *key = dot == NULL ? path : dot + 1;
    char letter = rule_of(path, key);
    bool quantity = strcmp(key, "capacity") == 0 ||
                    strcmp(key, "reserved") == 0 ||
                    strcmp(key, "bar1Capacity") == 0;
    char got;
    int whole;
    int zero;
    int removed;

    if (letter == '\0' || strcmp(path, "node") == 0 ||
        strcmp(path, "node.topology") == 0)
        return;
    whole = times(visit, path, key, json_deep_copy(was));
    zero = times(visit, path, key, quantity ? json_string("0") : zero_of(was));
    removed = times(visit, path, key, NULL);
    if (letter == 'z' && (json_is_false(was) || (json_is_integer(was) &&
                                                 json_integer_value(was) == 0)))
        whole++; /* was not there to begin with */
    got = removed == whole ? 'a' : zero == whole ? 'p' : 'z';
    if (got != letter)
        fail_msg("%s is %c, not %c", path, got, letter);
}

static void
test_4_3_every_member(void **state)
{
    (void)state;
    visit_all(check_rule);
}

static void
test_4_1_unknown_members(void **state)
{
    json_t *spec = spec_of("rev-07");
    char *without = must_canonical(spec);
    char *with;

    (void)state;
    json_put(spec, "zebra", json_integer(1));
    json_put(spec, "node.gpus.model.zebra", json_text("{\"a\":[]}"));
    with = must_canonical(spec);
    assert_string_equal(with, without);
    free(with);
    free(without);
    json_decref(spec);
}

static void
test_4_1_ranges(void **state)
{
    static const struct {
        const char *path, *json;
        bool taken;
    } rows[] = {
        {"rack.nodesPerRack", "2147483647", true},
        {"rack.nodesPerRack", "2147483648", false},
        {"node.topology.gpuSlots.0.numaNode", "-2147483648", true},
        {"node.topology.gpuSlots.0.numaNode", "-2147483649", false},
        {"node.gpus.power",
         "{\"limitsMilliWatts\":{\"maximum\":9223372036854775807}}", true},
        {"node.gpus.memory.capacity", "\"1e1.5\"", false},
        {"node.gpus.memory.capacity", "-9223372036854775808", true},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        json_t *spec = spec_of("rev-01");
        struct err err;
        char *text;

        json_put(spec, rows[i].path, json_text(rows[i].json));
        text = canonical(spec, &err);
        if ((text != NULL) != rows[i].taken)
            fail_msg("%s = %s", rows[i].path, rows[i].json);
        free(text);
        json_decref(spec);
    }
}

static void
shuffle(struct seeded *s, json_t *list)
{
    for (size_t n = json_array_size(list); n > 1; n--) {
        size_t at = (size_t)seeded_below(s, (int)n);
        json_t *item = json_incref(json_array_get(list, at));

        json_array_remove(list, at);
        json_array_append_new(list, item);
    }
}

/* A copy with all members in another order, and what are sets too. */
static json_t *
shuffled(struct seeded *s, json_t *json)
{
    json_t *copy = json_is_array(json) ? json_array() : json_object();
    json_t *keys = json_array();
    const char *key;
    json_t *member;
    size_t i;

    if (!json_is_array(json) && !json_is_object(json)) {
        json_decref(copy);
        json_decref(keys);
        return json_copy(json);
    }
    json_object_foreach(json, key, member)
        json_array_append_new(keys, json_string(key));
    shuffle(s, keys);
    json_array_foreach(keys, i, member)
    {
        key = json_string_value(member);
        json_object_set_new(copy, key, shuffled(s, json_object_get(json, key)));
        if (strcmp(key, "gpuSlots") == 0 || strcmp(key, "strings") == 0 ||
            strcmp(key, "graphicsMHz") == 0)
            shuffle(s, json_object_get(copy, key));
    }
    if (json_is_array(json))
        json_array_foreach(json, i, member)
            json_array_append_new(copy, shuffled(s, member));
    json_decref(keys);
    return copy;
}

/* Order of slots, members and sets makes no difference; the canonical text is
 * its own canonical text. */
static void
test_4_1_4_order_and_idempotence(void **state)
{
    struct seeded s = seeded_start("test_4_1_4_order_and_idempotence");
    json_t *spec = spec_of("rev-07");
    char *wanted = must_canonical(spec);
    json_t *again = json_text(wanted);
    char *text = must_canonical(again);

    (void)state;
    assert_string_equal(text, wanted);
    free(text);
    for (int i = 0; i < seeded_rounds(200); i++) {
        json_t *other = shuffled(&s, spec);

        text = must_canonical(other);
        assert_string_equal(text, wanted);
        free(text);
        json_decref(other);
    }
    free(wanted);
    json_decref(again);
    json_decref(spec);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_4_3_absent_required),
        cmocka_unit_test(test_4_3_omission),
        cmocka_unit_test(test_4_3_12_6_numa_zero),
        cmocka_unit_test(test_4_2_12_7_escapes),
        cmocka_unit_test(test_4_2_not_utf8),
        cmocka_unit_test(test_4_1_1_slots),
        cmocka_unit_test(test_4_1_2_clocks),
        cmocka_unit_test(test_4_1_3_attributes),
        cmocka_unit_test(test_4_2_12_8_quantities),
        cmocka_unit_test(test_4_1_wrong_types),
        cmocka_unit_test(test_4_3_every_member),
        cmocka_unit_test(test_4_1_unknown_members),
        cmocka_unit_test(test_4_1_ranges),
        cmocka_unit_test(test_4_1_4_order_and_idempotence),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "identity.json", "profileRevision", "test_4_5_",
                test_revision_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer canonical");
}
