/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sha2.h>
#include <string.h>

#include "placer/rack.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

static void
compile(struct profile *p, const json_t *ref, const json_t *spec)
{
    const struct object_meta meta = {
        .name = json_str(ref, "name"),
        .uid = json_str(ref, "uid"),
        .generation = json_int(ref, "generation"),
    };
    struct json_value v;

    json_value_init(&v, spec);
    profile_compile(p, &meta, v.root);
    json_value_fini(&v);
    if (!p->valid)
        fail_msg("%s", p->issue.text);
}

static struct rack_input
input_of(const json_t *in, const struct profile *p)
{
    return (struct rack_input){
        .inventory = {json_str(in, "inventoryName"),
                      json_str(in, "inventoryUID")},
        .group = json_str(in, "rackGroup"),
        .index = json_int(in, "rackIndex"),
        .count = json_int(in, "groupCount"),
        .profile = p,
    };
}

/* Also 12.6: numaNode 0 is there. */
static void
test_rack_vector(void **state)
{
    const json_t *in = json_object_get(*state, "input");
    const json_t *out = json_object_get(*state, "output");
    char *wanted = json_dumps(json_object_get(out, "spec"), JSON_COMPACT);
    struct buf text = {0};
    struct rack_facts facts;
    struct rack_input input;
    struct profile p;
    struct err err;

    compile(&p, json_object_get(in, "profile"),
            json_object_get(in, "profileSpec"));
    input = input_of(in, &p);
    assert_int_equal(rack_render(&facts, &text, &input, NULL, &err), 0);
    buf_addc(&text, '\0');
    assert_string_equal(buf_bytes(&text), wanted);
    assert_string_equal(facts.name, json_str(out, "name").s);
    assert_string_equal(facts.digest, json_str(out, "specJSONSHA256").s);
    assert_int_equal(facts.bytes, json_int(out, "specJSONBytes"));
    assert_string_equal(facts.fabric,
                        json_string_value(json_at(json_object_get(out, "spec"),
                                                  "identity.fabricUUID")));
    buf_fini(&text);
    profile_fini(&p);
    free(wanted);
}

/* A profile with that many slots, as the vector describes them. */
static json_t *
sized_spec(int64_t nodes, int64_t gpus)
{
    json_t *spec = json_text(
        "{\"rack\":{},\"node\":{\"gpus\":{},\"topology\":{\"gpuSlots\":[]}}}");

    json_put(spec, "rack.nodesPerRack", json_integer(nodes));
    json_put(spec, "node.gpus.count", json_integer(gpus));
    for (int64_t i = 0; i < gpus; i++) {
        char pci[24];

        snprintf(pci, sizeof(pci), "0000:%02x:00.0", (unsigned)(i + 1) & 0xff);
        json_array_append_new(json_at(spec, "node.topology.gpuSlots"),
                              json_pack("{s:I,s:s,s:s,s:I,s:I}", "index", i,
                                        "pciAddress", pci, "rootComplex",
                                        "pci0000:00", "numaNode", i,
                                        "hostProcessorIndex", i));
    }
    return spec;
}

static void
test_size_vector(void **state)
{
    const json_t *in = json_object_get(*state, "input");
    const json_t *rows = json_object_get(*state, "output");
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        json_t *spec = sized_spec(json_int(row, "nodesPerRack"),
                                  json_int(row, "gpuCount"));
        bool wanted = json_is_true(json_object_get(row, "accepted"));
        struct buf text = {0};
        struct rack_facts facts;
        struct rack_input input;
        struct profile p;
        struct err err;

        compile(&p, json_object_get(in, "profile"), spec);
        input = input_of(in, &p);
        input.count = 1;
        assert_int_equal(rack_render(&facts, &text, &input, NULL, &err),
                         wanted ? 0 : -1);
        assert_int_equal(facts.bytes, json_int(row, "specJSONBytes"));
        assert_int_equal(text.len, wanted ? facts.bytes : 0);
        if (!wanted)
            assert_non_null(strstr(err.text, "1048576"));
        buf_fini(&text);
        profile_fini(&p);
        json_decref(spec);
    }
    assert_true(i > 5);
}

/* A rack to play with: 4 Nodes of 2 GPUs. */
struct sample {
    struct profile profile;
    struct rack_input input;
    json_t *vector;
};

static void
sample_init(struct sample *s)
{
    json_t *ref = vector_input("identity.json", "rack-03", "profile");

    *s = (struct sample){
        .vector = vector_input("identity.json", "rack-03", "profileSpec")};
    compile(&s->profile, ref, s->vector);
    json_decref(ref);
    s->input = (struct rack_input){
        .inventory = {STR("lab"), STR("7f0e6a52-3c1d-4b8e-9f21-0a4c5d6e7f80")},
        .group = STR("train"),
        .index = 1,
        .count = 3,
        .profile = &s->profile,
    };
}

static void
sample_fini(struct sample *s)
{
    profile_fini(&s->profile);
    json_decref(s->vector);
}

static void
assert_refused(const struct rack_input *in, const char *word)
{
    struct buf text = {0};
    struct rack_facts facts;
    struct err err;

    buf_addz(&text, "before");
    assert_int_equal(rack_render(&facts, &text, in, NULL, &err), -1);
    if (strstr(err.text, word) == NULL)
        fail_msg("no \"%s\" in: %s", word, err.text);
    assert_int_equal(text.len, 6);
    buf_fini(&text);
}

static void
test_7_1_inputs(void **state)
{
    struct sample s;
    struct rack_input in;
    struct profile p;

    (void)state;
    sample_init(&s);
    in = s.input;
    in.inventory.name = STR("");
    assert_refused(&in, "inventory");
    in = s.input;
    in.inventory.uid = STR("");
    assert_refused(&in, "inventory");
    in = s.input;
    in.group = STR("");
    assert_refused(&in, "group");
    in = s.input;
    in.index = -1;
    assert_refused(&in, "index -1");
    in.index = 3;
    assert_refused(&in, "index 3");
    in = s.input;
    in.profile = NULL;
    assert_refused(&in, "profile");
    in = s.input;
    in.profile = &p;
    p = s.profile;
    p.generation = 0;
    assert_refused(&in, "generation");
    p = s.profile;
    p.name = (char[]){""};
    assert_refused(&in, "profile");
    p = s.profile;
    p.uid = (char[]){""};
    assert_refused(&in, "profile");
    p = s.profile;
    p.valid = false;
    strcpy(p.issue.text, "broken somehow");
    assert_refused(&in, "broken somehow");
    sample_fini(&s);
}

/* Names are escaped as in 4.2. */
static void
test_7_3_escapes(void **state)
{
    struct buf text = {0};
    struct rack_facts facts;
    struct sample s;
    struct err err;

    (void)state;
    sample_init(&s);
    s.input.inventory.name = STR("a<\"&");
    assert_int_equal(rack_render(&facts, &text, &s.input, NULL, &err), 0);
    buf_addc(&text, '\0');
    assert_non_null(strstr(buf_bytes(&text), "\"a\\u003c\\\"\\u0026\""));
    buf_fini(&text);
    sample_fini(&s);
}

/* Bindings are in the text, in their place, but not in digest or size. */
static void
test_7_3_bindings(void **state)
{
    const struct object_ref nodes[4] = {
        {{NULL, 0}, {NULL, 0}},
        {STR("worker-3"), STR("u3")},
        {STR(""), STR("")},
        {STR("w<4"), STR("u4")},
    };
    const struct rack_bindings bindings = {.nodes = nodes};
    struct buf plain = {0};
    struct buf bound = {0};
    struct rack_facts a;
    struct rack_facts b;
    struct sample s;
    struct err err;
    json_t *json;

    (void)state;
    sample_init(&s);
    assert_int_equal(rack_render(&a, &plain, &s.input, NULL, &err), 0);
    assert_int_equal(rack_render(&b, &bound, &s.input, &bindings, &err), 0);
    assert_string_equal(a.digest, b.digest);
    assert_int_equal(a.bytes, b.bytes);
    assert_int_equal(plain.len, a.bytes);
    buf_addc(&bound, '\0');
    assert_non_null(strstr(buf_bytes(&bound),
                           "{\"index\":1,\"nodeRef\":{\"name\":\"worker-3\","
                           "\"uid\":\"u3\"},\"gpus\":["));
    assert_non_null(strstr(buf_bytes(&bound),
                           "{\"index\":3,\"nodeRef\":{\"name\":\"w\\u003c4\","
                           "\"uid\":\"u4\"},\"gpus\":["));
    assert_non_null(strstr(buf_bytes(&bound), "{\"index\":2,\"gpus\":["));
    /* Without them it is the plain text. */
    json = json_text(buf_bytes(&bound));
    for (size_t i = 0; i < 4; i++)
        json_object_del(json_array_get(json_object_get(json, "nodes"), i),
                        "nodeRef");
    buf_addc(&plain, '\0');
    {
        char *again = json_dumps(json, JSON_COMPACT);

        assert_string_equal(again, buf_bytes(&plain));
        free(again);
    }
    json_decref(json);
    buf_fini(&plain);
    buf_fini(&bound);
    sample_fini(&s);
}

/* The size check is on the spec without bindings: 80x64 fits with 90 bytes to
 * spare. */
static void
test_7_3_size_without_bindings(void **state)
{
    json_t *ref = vector_input("identity.json", "size-01", "profile");
    json_t *spec = sized_spec(80, 64);
    struct object_ref nodes[80];
    const struct rack_bindings bindings = {.nodes = nodes};
    struct buf text = {0};
    struct rack_facts facts;
    struct profile p;
    struct rack_input in;
    struct err err;

    (void)state;
    for (size_t i = 0; i < 80; i++)
        nodes[i] = (struct object_ref){STR("node"), STR("uid")};
    compile(&p, ref, spec);
    in = (struct rack_input){
        {STR("inventory-a"), STR("inventory-uid-a")}, STR("compute"), 0, 1, &p};
    assert_int_equal(rack_render(&facts, &text, &in, &bindings, &err), 0);
    assert_int_equal(facts.bytes, 1048486);
    assert_true(text.len > 1048576);
    /* Inclusive: 90 more bytes of name fit, 91 do not. */
    for (int more = 90; more <= 91; more++) {
        char *name = mem_zalloc(200);

        memset(name, 'n', 11 + (size_t)more);
        in.inventory.name = str_of(name);
        assert_int_equal(rack_render(&facts, NULL, &in, NULL, &err),
                         more == 90 ? 0 : -1);
        assert_int_equal(facts.bytes, 1048486 + more);
        free(name);
    }
    buf_fini(&text);
    profile_fini(&p);
    json_decref(spec);
    json_decref(ref);
}

/* Slots that outlive the rendering stand at the end, by index only. */
static void
test_7_5_kept_slots(void **state)
{
    static const int64_t good[] = {4, 7, 1023};
    static const int64_t bad[][2] = {{3, 4}, {5, 5}, {6, 5}, {7, 1024}};
    struct rack_bindings bindings = {.kept = good, .kept_count = 3};
    struct buf text = {0};
    struct rack_facts a;
    struct rack_facts b;
    struct sample s;
    struct err err;

    (void)state;
    sample_init(&s);
    assert_int_equal(rack_render(&a, NULL, &s.input, NULL, &err), 0);
    assert_int_equal(rack_render(&b, &text, &s.input, &bindings, &err), 0);
    assert_string_equal(a.digest, b.digest);
    assert_int_equal(a.bytes, b.bytes);
    buf_addc(&text, '\0');
    assert_non_null(strstr(
        buf_bytes(&text), "]},{\"index\":4},{\"index\":7},{\"index\":1023}]}"));
    for (size_t i = 0; i < nitems(bad); i++) {
        bindings = (struct rack_bindings){.kept = bad[i], .kept_count = 2};
        assert_int_equal(rack_render(&b, NULL, &s.input, &bindings, &err), -1);
    }
    buf_fini(&text);
    sample_fini(&s);
}

/* Any rendering is JSON that says what went in; its digest is that of the
 * text. */
static void
test_7_2_random_racks(void **state)
{
    struct seeded r = seeded_start("test_7_2_random_racks");
    json_t *ref = vector_input("identity.json", "size-01", "profile");

    (void)state;
    for (int i = 0; i < seeded_rounds(30); i++) {
        int nodes = 1 + seeded_below(&r, 6);
        int gpus = 1 + seeded_below(&r, 8);
        json_t *spec = sized_spec(nodes, gpus);
        struct object_ref bound[6] = {0};
        const struct rack_bindings bindings = {.nodes = bound};
        char digest[SHA256_DIGEST_STRING_LENGTH];
        struct buf text = {0};
        struct rack_facts facts;
        struct rack_input in;
        struct profile p;
        struct err err;
        json_t *json;
        json_t *list;

        compile(&p, ref, spec);
        in = (struct rack_input){{STR("n"), STR("u")},
                                 STR("g"),
                                 seeded_below(&r, 100000),
                                 100000,
                                 &p};
        assert_int_equal(rack_render(&facts, &text, &in, NULL, &err), 0);
        SHA256Data((const uint8_t *)buf_bytes(&text), text.len, digest);
        assert_string_equal(digest, facts.digest);
        buf_clear(&text);
        for (int n = 0; n < nodes; n++)
            if (seeded_below(&r, 2) == 0)
                bound[n] = (struct object_ref){STR("w"), STR("wu")};
        assert_int_equal(rack_render(&facts, &text, &in, &bindings, &err), 0);
        assert_string_equal(digest, facts.digest);
        buf_addc(&text, '\0');
        json = json_text(buf_bytes(&text));
        list = json_object_get(json, "nodes");
        assert_int_equal(json_array_size(list), nodes);
        for (int n = 0; n < nodes; n++) {
            json_t *node = json_array_get(list, (size_t)n);

            assert_int_equal(json_int(node, "index"), n);
            assert_int_equal(json_array_size(json_object_get(node, "gpus")),
                             gpus);
            assert_int_equal(json_object_get(node, "nodeRef") != NULL,
                             bound[n].name.n > 0);
        }
        json_decref(json);
        buf_fini(&text);
        profile_fini(&p);
        json_decref(spec);
    }
    json_decref(ref);
}

/* Metadata. */

#define PAIR(key, value)                                                       \
    {                                                                          \
        STR(key), STR(value)                                                   \
    }

static void
assert_pairs(struct pairs got, const struct pair *wanted, size_t count)
{
    assert_int_equal(got.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(str_eq(got.items[i].key, wanted[i].key));
        assert_true(str_eq(got.items[i].value, wanted[i].value));
    }
}

static const struct pair our_labels[] = {
    PAIR("mokka.nvidia.com/inventory", "lab"),
    PAIR("mokka.nvidia.com/rack-group", "train"),
    PAIR("mokka.nvidia.com/rack-index", "1"),
};

static const struct pair our_annotation[] = {
    PAIR("mokka.nvidia.com/inventory-uid",
         "7f0e6a52-3c1d-4b8e-9f21-0a4c5d6e7f80"),
};

static void
assert_owner(const struct object_owner *o)
{
    assert_true(str_is(o->api_version, "mokka.nvidia.com/v1alpha1"));
    assert_true(str_is(o->kind, "SGPUInventory"));
    assert_true(str_is(o->name, "lab"));
    assert_true(str_is(o->uid, "7f0e6a52-3c1d-4b8e-9f21-0a4c5d6e7f80"));
    assert_int_equal(o->controller, 1);
    assert_int_equal(o->block, 0);
}

static void
test_7_4_new_rack(void **state)
{
    const struct rack_metadata nothing = {0};
    struct arena arena = {0};
    struct rack_metadata m;
    struct rack_metadata again;
    struct sample s;

    (void)state;
    sample_init(&s);
    assert_true(rack_metadata(&m, &nothing, &s.input, &arena));
    assert_pairs(m.labels, our_labels, 3);
    assert_pairs(m.annotations, our_annotation, 1);
    assert_int_equal(m.finalizers.count, 1);
    assert_true(str_is(m.finalizers.items[0], "mokka.nvidia.com/rack-cleanup"));
    assert_int_equal(m.owners.count, 1);
    assert_owner(&m.owners.items[0]);
    /* What stands is not changed again. */
    assert_false(rack_metadata(&again, &m, &s.input, &arena));
    assert_ptr_equal(again.labels.items, m.labels.items);
    assert_ptr_equal(again.owners.items, m.owners.items);
    arena_fini(&arena);
    sample_fini(&s);
}

/* One part missing is enough to write. */
static void
test_7_4_each_part_counts(void **state)
{
    const struct rack_metadata nothing = {0};
    struct arena arena = {0};
    struct rack_metadata all;
    struct rack_metadata now[4];
    struct rack_metadata m;
    struct sample s;

    (void)state;
    sample_init(&s);
    rack_metadata(&all, &nothing, &s.input, &arena);
    for (size_t i = 0; i < 4; i++)
        now[i] = all;
    now[0].labels.count = 2;
    now[1].annotations.count = 0;
    now[2].finalizers.count = 0;
    now[3].owners.count = 0;
    for (size_t i = 0; i < 4; i++) {
        assert_true(rack_metadata(&m, &now[i], &s.input, &arena));
        assert_int_equal(m.labels.count, 3);
        assert_int_equal(m.annotations.count, 1);
        assert_int_equal(m.finalizers.count, 1);
        assert_int_equal(m.owners.count, 1);
    }
    arena_fini(&arena);
    sample_fini(&s);
}

/* What others put there stays, in its order. */
static void
test_7_4_kept(void **state)
{
    static const struct pair labels[] = {
        PAIR("a", "1"),
        PAIR("mokka.nvidia.com/inventory", "other"),
        PAIR("mokka.nvidia.com/s", "x"),
        PAIR("z", "2"),
    };
    static const struct pair wanted[] = {
        PAIR("a", "1"),
        PAIR("mokka.nvidia.com/inventory", "lab"),
        PAIR("mokka.nvidia.com/rack-group", "train"),
        PAIR("mokka.nvidia.com/rack-index", "1"),
        PAIR("mokka.nvidia.com/s", "x"),
        PAIR("z", "2"),
    };
    static const struct str finalizers[] = {STR("b"), STR("a")};
    static const struct object_owner owner = {
        .kind = STR("Thing"), .controller = 0, .block = -1};
    const struct rack_metadata now = {
        .labels = {labels, 4, NULL},
        .annotations = {labels, 1, NULL},
        .finalizers = {finalizers, 2},
        .owners = {&owner, 1},
    };
    struct arena arena = {0};
    struct rack_metadata m;
    struct sample s;

    (void)state;
    sample_init(&s);
    assert_true(rack_metadata(&m, &now, &s.input, &arena));
    assert_pairs(m.labels, wanted, 6);
    assert_int_equal(m.annotations.count, 2);
    assert_true(str_is(m.annotations.items[0].key, "a"));
    assert_int_equal(m.finalizers.count, 3);
    assert_true(str_is(m.finalizers.items[1], "a"));
    assert_true(str_is(m.finalizers.items[2], "mokka.nvidia.com/rack-cleanup"));
    assert_int_equal(m.owners.count, 2);
    assert_true(str_is(m.owners.items[0].kind, "Thing"));
    assert_owner(&m.owners.items[1]);
    arena_fini(&arena);
    sample_fini(&s);
}

/* A controller reference that is there is never altered, whoever's it is. */
static void
test_7_4_controller_stays(void **state)
{
    static const struct object_owner owner = {.kind = STR("Thing"),
                                              .controller = 1};
    const struct rack_metadata now = {.owners = {&owner, 1}};
    struct arena arena = {0};
    struct rack_metadata m;
    struct sample s;

    (void)state;
    sample_init(&s);
    rack_metadata(&m, &now, &s.input, &arena);
    assert_int_equal(m.owners.count, 1);
    assert_ptr_equal(m.owners.items, &owner);
    arena_fini(&arena);
    sample_fini(&s);
}

/* A name that no label can hold: the label is absent, or removed. */
static void
test_7_4_no_label_value(void **state)
{
    static const struct pair labels[] = {
        PAIR("mokka.nvidia.com/inventory", "x")};
    const struct rack_metadata now = {.labels = {labels, 1, NULL}};
    const struct rack_metadata nothing = {0};
    struct arena arena = {0};
    struct rack_metadata m;
    struct sample s;
    char name[65] = {0};

    (void)state;
    sample_init(&s);
    memset(name, 'a', 64);
    s.input.inventory.name = str_of(name);
    assert_true(rack_metadata(&m, &now, &s.input, &arena));
    assert_pairs(m.labels, our_labels + 1, 2);
    assert_true(rack_metadata(&m, &nothing, &s.input, &arena));
    assert_pairs(m.labels, our_labels + 1, 2);
    s.input.inventory.name.n = 63;
    assert_true(rack_metadata(&m, &now, &s.input, &arena));
    assert_int_equal(m.labels.count, 3);
    assert_int_equal(m.labels.items[0].value.n, 63);
    arena_fini(&arena);
    sample_fini(&s);
}

static void
test_7_4_controlled_and_owned(void **state)
{
    static const struct object_owner good = {
        .api_version = STR("mokka.nvidia.com/v1alpha1"),
        .kind = STR("SGPUInventory"),
        .name = STR("lab"),
        .uid = STR("u"),
        .controller = 1,
    };
    const struct object_ref lab = {STR("lab"), STR("u")};
    struct object_owner bad[6];
    struct object_rack rack = {.owners = {&good, 1}, .inventory = lab};

    (void)state;
    assert_true(rack_controlled((struct owners){&good, 1}, lab));
    assert_true(rack_owned(&rack));
    rack.inventory.uid = STR("v");
    assert_false(rack_owned(&rack));
    assert_null(rack_controller((struct owners){NULL, 0}));
    for (size_t i = 0; i < nitems(bad); i++)
        bad[i] = good;
    bad[0].api_version = STR("mokka.nvidia.com/v1");
    bad[1].kind = STR("SGPURack");
    bad[2].name = STR("labs");
    bad[3].uid = STR("v");
    bad[4].controller = 0;
    bad[5].controller = -1;
    for (size_t i = 0; i < nitems(bad); i++)
        assert_false(rack_controlled((struct owners){&bad[i], 1}, lab));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_7_1_inputs),
        cmocka_unit_test(test_7_3_escapes),
        cmocka_unit_test(test_7_3_bindings),
        cmocka_unit_test(test_7_3_size_without_bindings),
        cmocka_unit_test(test_7_5_kept_slots),
        cmocka_unit_test(test_7_2_random_racks),
        cmocka_unit_test(test_7_4_new_rack),
        cmocka_unit_test(test_7_4_each_part_counts),
        cmocka_unit_test(test_7_4_kept),
        cmocka_unit_test(test_7_4_controller_stays),
        cmocka_unit_test(test_7_4_no_label_value),
        cmocka_unit_test(test_7_4_controlled_and_owned),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "identity.json", "rackRender", "test_7_2_12_6_",
                test_rack_vector);
    add_vectors(&table, "identity.json", "rackSpecSize", "test_7_3_",
                test_size_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer rack");
}
