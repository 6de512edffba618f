/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is easily got wrong, a test for each; values are put together here byte
 * by byte, or were computed elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sha1.h>
#include <sha2.h>
#include <string.h>

#include "placer/canonical.h"
#include "tests/unit/placer_sim.h"

#define GROUP(id, count)                                                       \
    "{\"id\":\"" id "\",\"count\":" count ",\"profileRef\":{\"name\":\"p\"}}"

/* ---- identities -------------------------------------------------------- */

static void
add_u32(struct buf *name, uint32_t n)
{
    const uint8_t bytes[] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16),
                             (uint8_t)(n >> 8), (uint8_t)n};

    buf_add(name, bytes, sizeof(bytes));
}

static void
add_text(struct buf *name, struct str text)
{
    add_u32(name, (uint32_t)text.n);
    buf_adds(name, text);
}

/* SHA-1 of the namespace and a name, the version bits not set yet. */
static void
digest_of(struct buf *name, uint8_t digest[SHA1_DIGEST_LENGTH])
{
    static const uint8_t space[] = {0xd9, 0x54, 0xd6, 0x17, 0xe8, 0x1d,
                                    0x58, 0xd0, 0x8f, 0x22, 0xf4, 0x5a,
                                    0xfd, 0xa6, 0x22, 0x60};
    SHA1_CTX sha;

    SHA1Init(&sha);
    SHA1Update(&sha, space, sizeof(space));
    SHA1Update(&sha, (const uint8_t *)buf_bytes(name), name->len);
    SHA1Final(digest, &sha);
    buf_fini(name);
}

static void
uuid_of(struct buf *name, char text[IDENTITY_UUID])
{
    uint8_t d[SHA1_DIGEST_LENGTH];
    char *at = text;

    digest_of(name, d);
    d[6] = (uint8_t)((d[6] & 0x0f) | 0x50);
    d[8] = (uint8_t)((d[8] & 0x3f) | 0x80);
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        at += snprintf(at, 3, "%02x", d[i]);
    }
}

/* The version has no length before it, the three texts after it have. */
static void
test_12_1_the_version_has_no_length(void **state)
{
    const struct str version = STR("mokka-identity-v1");
    struct buf with = {0};
    struct buf without = {0};
    char fabric[IDENTITY_UUID];
    char text[IDENTITY_UUID];

    (void)state;
    identity_fabric(STR("uid"), STR("group"), 3, fabric);
    buf_adds(&without, version);
    add_text(&with, version);
    for (int i = 0; i < 2; i++) {
        struct buf *name = i == 0 ? &without : &with;

        add_text(name, STR("fabric"));
        add_text(name, STR("uid"));
        add_text(name, STR("group"));
        add_u32(name, 3);
    }
    uuid_of(&without, text);
    assert_string_equal(fabric, text);
    uuid_of(&with, text);
    assert_string_not_equal(fabric, text);
}

/* A rack's name hashes uid, group and index: no kind, no version text, and not
 * the inventory's name. */
static void
test_12_2_what_a_rack_name_hashes(void **state)
{
    static const char *const names[] = {"lab", "another"};
    char digest[SHA256_DIGEST_STRING_LENGTH];
    struct buf input = {0};

    (void)state;
    add_text(&input, STR("uid"));
    add_text(&input, STR("group"));
    add_u32(&input, 3);
    SHA256Data((const uint8_t *)buf_bytes(&input), input.len, digest);
    for (size_t i = 0; i < nitems(names); i++) {
        char name[IDENTITY_NAME_MAX];

        identity_rack_name(str_of(names[i]), STR("uid"), STR("group"), 3, name);
        assert_memory_equal(name + strlen(name) - 12, digest, 12);
    }
    buf_fini(&input);
}

/* A serial is of the bytes with version and variant in them, the first eight.
 */
static void
test_12_3_serial_after_the_bits(void **state)
{
    struct identity_gpus gpus;
    char uuid[IDENTITY_GPU];
    char serial[IDENTITY_SERIAL];
    char wanted[IDENTITY_SERIAL];
    uint8_t d[SHA1_DIGEST_LENGTH];
    struct buf name = {0};
    uint64_t plain = 0;
    uint64_t set = 0;

    (void)state;
    identity_gpus_init(&gpus, STR("uid"), STR("group"), 3);
    identity_gpu(&gpus, 4, 5, uuid, serial);
    buf_addz(&name, "mokka-identity-v1");
    add_text(&name, STR("serial"));
    add_text(&name, STR("uid"));
    add_text(&name, STR("group"));
    add_u32(&name, 3);
    add_u32(&name, 4);
    add_u32(&name, 5);
    digest_of(&name, d);
    for (int i = 0; i < 8; i++) {
        plain = plain << 8 | d[i];
        set = set << 8 | (i == 6 ? (uint8_t)((d[i] & 0x0f) | 0x50) : d[i]);
    }
    assert_true(plain != set);
    snprintf(wanted, sizeof(wanted), "%020" PRIu64, set);
    assert_string_equal(serial, wanted);
}

static void
test_12_4_lengths_are_of_bytes(void **state)
{
    const struct str uid = STR("\xc3\xbc\xf0\x9f\x98\x80"); /* 2 characters */
    struct buf name = {0};
    char fabric[IDENTITY_UUID];
    char text[IDENTITY_UUID];

    (void)state;
    identity_fabric(uid, STR("\xc3\xa4"), 0, fabric);
    buf_addz(&name, "mokka-identity-v1");
    add_text(&name, STR("fabric"));
    add_u32(&name, 6);
    buf_adds(&name, uid);
    add_u32(&name, 2);
    buf_addz(&name, "\xc3\xa4");
    add_u32(&name, 0);
    uuid_of(&name, text);
    assert_string_equal(fabric, text);
}

/* 50 bytes are kept of what people read, then hyphens at its ends go. */
static void
test_12_5_cut_before_the_hyphens_go(void **state)
{
    char inventory[64];
    char name[IDENTITY_NAME_MAX];

    (void)state;
    memset(inventory, 'x', sizeof(inventory));
    inventory[47] = '\0'; /* ... x-g-1: the 50th byte is the second hyphen */
    identity_rack_name(str_of(inventory), STR("uid"), STR("gg"), 1, name);
    assert_int_equal(strlen(name), 50 + 13);
    inventory[47] = 'x';
    inventory[48] = '\0';
    identity_rack_name(str_of(inventory), STR("uid"), STR("g"), 1, name);
    assert_int_equal(strlen(name), 50 + 13); /* x...x-g */
    assert_memory_equal(name + 48, "-g-", 3);
    inventory[48] = 'x';
    inventory[49] = '\0';
    identity_rack_name(str_of(inventory), STR("uid"), STR("g"), 1, name);
    assert_int_equal(strlen(name), 49 + 13); /* x...x- was cut, then x...x */
    assert_memory_equal(name + 48, "x-", 2);
    /* Stripped first, the cut would keep 50. */
    assert_int_equal(name[49], '-');
}

/* ---- revisions --------------------------------------------------------- */

/* The canonical text of a profile of two slots, with one member replaced. */
static char *
canonical_with(const char *path, const char *value)
{
    char *text = sim_profile_spec(2);
    json_t *spec = json_text(text);
    struct json_value v;
    struct buf out = {0};
    struct err err;

    free(text);
    json_put(spec, path, json_text(value));
    json_value_init(&v, spec);
    if (canonical_profile(&out, v.root, &err) != 0)
        fail_msg("%s", err.text);
    json_value_fini(&v);
    json_decref(spec);
    return buf_take(&out);
}

static void
test_12_6_numa_node_0(void **state)
{
    const char *slots = "[{\"index\":0,\"pciAddress\":\"0000:01:00.0\","
                        "\"rootComplex\":\"pci0000:00\",\"numaNode\":0,"
                        "\"hostProcessorIndex\":0}]";
    char *text = canonical_with("node.topology.gpuSlots", slots);
    const char *rack;
    struct sim s;
    const struct sim_said *w;

    (void)state;
    assert_null(strstr(text, "numaNode"));
    assert_null(strstr(text, "hostProcessorIndex"));
    free(text);
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    sim_inventory(&s, &(struct sim_inventory){.name = "lab",
                                              .groups = "[" GROUP("a", "1") "]",
                                              .generation = 1});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    rack = s.said[0].name;
    for (size_t i = 0; i < s.count; i++)
        if (s.said[i].type == MSG_RACK_WRITE)
            rack = s.said[i].name;
    w = sim_last(&s, MSG_RACK_WRITE, rack);
    buf_addc((struct buf *)(uintptr_t)&w->body, '\0');
    assert_non_null(memmem(buf_bytes(&w->body), w->body.len,
                           "\"numaNode\":0,\"hostProcessorIndex\":0}", 36));
    sim_fini(&s);
}

static void
test_12_7_angle_brackets_and_ampersand(void **state)
{
    char *text = canonical_with("node.gpus.model", "{\"product\":\"<A> & B\"}");

    (void)state;
    assert_non_null(strstr(text, "\"product\":\"\\u003cA\\u003e \\u0026 B\""));
    free(text);
}

static void
test_12_8_equal_quantities(void **state)
{
    static const char *const same[][3] = {
        {"\"81920Mi\"", "\"80Gi\"", "\"capacity\":\"80Gi\""},
        {"\"1000\"", "\"1k\"", "\"capacity\":\"1k\""},
        {"1000", "\"1k\"", "\"capacity\":\"1k\""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(same); i++) {
        char *one = canonical_with("node.gpus.memory.capacity", same[i][0]);
        char *two = canonical_with("node.gpus.memory.capacity", same[i][1]);

        assert_string_equal(one, two);
        assert_non_null(strstr(one, same[i][2]));
        free(one);
        free(two);
    }
}

/* ---- allocation -------------------------------------------------------- */

struct estate {
    struct pair labels[1];
    struct place_group groups[2];
    struct place_node nodes[2];
    struct place_binding bindings[1];
    struct place_input in;
    struct place_plan plan;
};

/* Two groups of one slot each that select everything, two Nodes, the first of
 * them bound to the only slot of the first group. */
static void
estate_init(struct estate *e)
{
    const struct object_ref lab = {STR("lab"), STR("uid")};

    *e = (struct estate){
        .labels = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)}},
        .groups = {{lab, STR("a"), NULL, 1, 1}, {lab, STR("b"), NULL, 1, 1}},
        .bindings = {{lab, STR("a"), 0, 0, {STR("n1"), STR("u1")}, false}},
    };
    e->nodes[0] = (struct place_node){
        STR("n1"), STR("u1"), 1, false, {e->labels, 1, NULL}};
    e->nodes[1] = (struct place_node){
        STR("n2"), STR("u2"), 2, false, {e->labels, 1, NULL}};
    e->in = (struct place_input){e->groups, 2, e->nodes, 2, e->bindings, 1};
}

static void
plan(struct estate *e)
{
    struct err err;

    if (place(&e->plan, &e->in, &err) != 0)
        fail_msg("%s", err.text);
}

static void
test_12_9_a_slot_ends_overlap(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e);
    plan(&e);
    assert_int_equal(e.plan.retained_count, 1);
    assert_int_equal(e.plan.conflict_count, 1);
    assert_ptr_equal(e.plan.conflicts[0].node, &e.nodes[1]);
    assert_int_equal(e.plan.conflicts[0].group_count, 2);
    place_plan_fini(&e.plan);
    /* Given up, it is one again, and not pending. */
    e.groups[0].racks = 0;
    e.groups[0].nodes_per_rack = 0;
    plan(&e);
    assert_int_equal(e.plan.released_count, 1);
    assert_int_equal(e.plan.conflict_count, 2);
    assert_int_equal(e.plan.pending_count, 0);
    place_plan_fini(&e.plan);
}

static void
test_12_10_a_slot_given_up_is_not_free_yet(void **state)
{
    struct estate e;

    (void)state;
    estate_init(&e);
    e.in.group_count = 1;
    e.nodes[0].terminating = true;
    plan(&e);
    assert_int_equal(e.plan.released_count, 1);
    assert_int_equal(e.plan.assigned_count, 0);
    assert_int_equal(e.plan.pending_count, 1);
    assert_ptr_equal(e.plan.pending[0].node, &e.nodes[1]);
    place_plan_fini(&e.plan);
    e.in.binding_count = 0; /* cleaned */
    plan(&e);
    assert_int_equal(e.plan.assigned_count, 1);
    place_plan_fini(&e.plan);
}

/* ---- admission --------------------------------------------------------- */

static void
test_12_11_budget_before_validity(void **state)
{
    struct admit_inventory v[] = {
        {.ref = {STR("broken"), STR("u1")}, .created = 1, .declared = 64},
        {.ref = {STR("sound"), STR("u2")},
         .created = 2,
         .declared = 1,
         .valid = true,
         .resolved = true,
         .desired = {1, 1, 1}},
    };
    struct admit_verdict verdicts[2];

    (void)state;
    admit(v, 2, (struct capacity){0}, verdicts);
    assert_int_equal(verdicts[0].decision, ADMIT_ASIDE);
    assert_true(verdicts[0].budgeted);
    assert_int_equal(verdicts[1].decision, ADMIT_REJECTED);
    v[0].declared = 63;
    admit(v, 2, (struct capacity){0}, verdicts);
    assert_int_equal(verdicts[1].decision, ADMIT_ACCEPTED);
}

/* Too large by itself: what stands stays.  Rejected among others: it goes. */
static void
test_12_12_too_large_alone_or_among_others(void **state)
{
    static const struct {
        const char *count,
            *more;       /* racks of a, and of b, which is unresolved */
        const char *old; /* what an older inventory declares, or NULL */
        size_t deleted;
    } rows[] = {
        {"100", "1", NULL, 0},
        {"60000", "60000", NULL, 0}, /* 6.1: the sum of counts */
        {"101", "1", NULL, 0},       /* 6.3: 1000 Nodes each */
        {"60", "1", "[" GROUP("a", "60") "]", 1},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        char *groups = mem_printf("[{\"id\":\"a\",\"count\":%s,"
                                  "\"profileRef\":{\"name\":\"p\"}},"
                                  "{\"id\":\"b\",\"count\":%s,"
                                  "\"profileRef\":{\"name\":\"none\"}}]",
                                  rows[i].count, rows[i].more);
        const char *accepted =
            i == 0 ? "True Accepted" : "False CapacityExceeded";
        const char *rack;
        struct sim s;

        sim_init(&s);
        sim_profile(&s, "p", 1, 1000);
        if (rows[i].old != NULL)
            sim_inventory(&s, &(struct sim_inventory){.name = "old",
                                                      .groups = rows[i].old,
                                                      .created = 1,
                                                      .generation = 1});
        sim_inventory(&s, &(struct sim_inventory){.name = "lab",
                                                  .groups = groups,
                                                  .created = 2,
                                                  .generation = 1});
        rack = sim_rack(&s, &(struct sim_rack){
                                .inventory = "lab", .group = "a", .slots = 2});
        sim_synced(&s);
        assert_condition(&s, "lab", "Accepted", accepted);
        assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), rows[i].deleted);
        if (i > 0)
            assert_int_equal(sim_said(&s, MSG_RACK_WRITE, rack), 0);
        sim_fini(&s);
        free(groups);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_12_1_the_version_has_no_length),
        cmocka_unit_test(test_12_2_what_a_rack_name_hashes),
        cmocka_unit_test(test_12_3_serial_after_the_bits),
        cmocka_unit_test(test_12_4_lengths_are_of_bytes),
        cmocka_unit_test(test_12_5_cut_before_the_hyphens_go),
        cmocka_unit_test(test_12_6_numa_node_0),
        cmocka_unit_test(test_12_7_angle_brackets_and_ampersand),
        cmocka_unit_test(test_12_8_equal_quantities),
        cmocka_unit_test(test_12_9_a_slot_ends_overlap),
        cmocka_unit_test(test_12_10_a_slot_given_up_is_not_free_yet),
        cmocka_unit_test(test_12_11_budget_before_validity),
        cmocka_unit_test(test_12_12_too_large_alone_or_among_others),
    };

    return cmocka_run_group_tests_name("placer rules", tests, NULL, NULL);
}
