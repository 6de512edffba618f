/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sha1.h>
#include <sha2.h>
#include <string.h>

#include "common/map.h"
#include "placer/identity.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/* All of 3.2 to 3.5 of a vector. */
static void
test_identity_vector(void **state)
{
    const json_t *in = json_object_get(*state, "input");
    const json_t *out = json_object_get(*state, "output");
    struct str uid = json_str(in, "inventoryUID");
    struct str group = json_str(in, "rackGroup");
    uint32_t rack = (uint32_t)json_int(in, "rackIndex");
    char name[IDENTITY_NAME_MAX];
    char fabric[IDENTITY_UUID];
    char clique[IDENTITY_CLIQUE];
    char uuid[IDENTITY_GPU];
    char serial[IDENTITY_SERIAL];
    struct identity_gpus gpus;

    identity_rack_name(json_str(in, "inventoryName"), uid, group, rack, name);
    identity_fabric(uid, group, rack, fabric);
    identity_clique(fabric, clique);
    identity_gpus_init(&gpus, uid, group, rack);
    identity_gpu(&gpus, (uint32_t)json_int(in, "nodeIndex"),
                 (uint32_t)json_int(in, "gpuIndex"), uuid, serial);
    assert_string_equal(name, json_str(out, "rackName").s);
    assert_string_equal(fabric, json_str(out, "fabricUUID").s);
    assert_string_equal(clique, json_str(out, "cliqueLabelValue").s);
    assert_string_equal(uuid, json_str(out, "gpuUUID").s);
    assert_string_equal(serial, json_str(out, "gpuSerial").s);
}

static void
assert_rack_name(const char *inventory, const char *uid, const char *group,
                 uint32_t rack, const char *readable)
{
    char name[IDENTITY_NAME_MAX];
    size_t n = strlen(readable);

    identity_rack_name(str_of(inventory), str_of(uid), str_of(group), rack,
                       name);
    assert_true(strlen(name) <= 63);
    assert_int_equal(strncmp(name, readable, n), 0);
    assert_int_equal(strlen(name), n + (n > 0 ? 13 : 12));
    if (n > 0)
        assert_int_equal(name[n], '-');
    assert_int_equal(strspn(name + strlen(name) - 12, "0123456789abcdef"), 12);
}

/* Inventory, group, index, with hyphens between. */
static void
test_3_5_2_readable(void **state)
{
    (void)state;
    assert_rack_name("lab", "u", "train", 7, "lab-train-7");
    assert_rack_name("lab", "u", "train", 100000, "lab-train-100000");
    assert_rack_name("1", "u", "2", 4294967295u, "1-2-4294967295");
}

/* Lower case, one hyphen for a run, none at the ends. */
static void
test_3_5_3_characters(void **state)
{
    (void)state;
    assert_rack_name("Lab", "u", "Train", 7, "lab-train-7");
    assert_rack_name("a--b..c", "u", "-g-", 0, "a-b-c-g-0");
    assert_rack_name("--", "u", "..", 10, "10");
    assert_rack_name("a_/b", "u", "\xc3\xa4", 4294967295u, "a-b-4294967295");
}

/* Cut to 50 bytes first, hyphens stripped after; nothing cut at 50. */
static void
test_3_5_4_12_5_cut(void **state)
{
    const char *const a49 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const char *const a46 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    (void)state;
    assert_int_equal(strlen(a49), 49);
    assert_rack_name(a49, "u", "group", 1, a49);
    assert_rack_name(a46, "u", "g", 1,
                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-g-1");
    assert_rack_name(a46, "u", "g", 12,
                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-g-1");
}

/* What people read, a hyphen, the suffix: 63 bytes at most. */
static void
test_3_5_5_put_together(void **state)
{
    char name[IDENTITY_NAME_MAX];
    struct buf long_name = {0};

    (void)state;
    identity_rack_name(STR("lab"), STR("u"), STR("g"), 0, name);
    assert_int_equal(strlen(name), strlen("lab-g-0") + 1 + 12);
    for (int i = 0; i < 253; i++)
        buf_addc(&long_name, 'x');
    identity_rack_name(buf_str(&long_name), STR("u"), STR("g"), 0, name);
    assert_int_equal(strlen(name), 63);
    assert_int_equal(name[50], '-');
    buf_fini(&long_name);
}

/* The suffix hashes UID, group and index, not the inventory's name (nor kind or
 * version). Lookalikes differ by it. */
static void
test_3_5_1_12_2_suffix(void **state)
{
    /* LP("u1") LP("g") U32(258) */
    static const uint8_t bytes[] = {0, 0, 0,   2, 'u', '1', 0, 0,
                                    0, 1, 'g', 0, 0,   1,   2};
    char digest[SHA256_DIGEST_STRING_LENGTH];
    char one[IDENTITY_NAME_MAX];
    char two[IDENTITY_NAME_MAX];

    (void)state;
    SHA256Data(bytes, sizeof(bytes), digest);
    identity_rack_name(STR("a.b"), STR("u1"), STR("g"), 258, one);
    assert_memory_equal(one + strlen(one) - 12, digest, 12);
    identity_rack_name(STR("a.b"), STR("u1"), STR("g"), 0, one);
    identity_rack_name(STR("a-b"), STR("u2"), STR("g"), 0, two);
    assert_memory_equal(one, two, strlen("a-b-g-0-"));
    assert_string_not_equal(one, two);
    identity_rack_name(STR("a-b"), STR("u1"), STR("g"), 0, two);
    assert_string_equal(one, two);
    /* Lengths are in the hash: "u" "1g" is not "u1" "g". */
    identity_rack_name(STR("x"), STR("u"), STR("1g"), 0, two);
    assert_string_not_equal(one + strlen(one) - 12, two + strlen(two) - 12);
}

/* Lengths in names are bytes, not characters. */
static void
test_3_1_12_4_bytes(void **state)
{
    char fabric[IDENTITY_UUID];

    (void)state;
    /* V5("mokka-identity-v1" LP("fabric") LP("\xc3\xbc") LP("g") U32(0)). */
    identity_fabric(STR("\xc3\xbc"), STR("g"), 0, fabric);
    assert_string_equal(fabric, "79cabab3-d537-5577-b4e8-36a2c27e4072");
}

/* The reference: a name put together byte by byte, as 3.1 and 3.2 have it. */

static void
name_u32(struct buf *name, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(name, (char)(n >> shift & 0xff));
}

static void
name_text(struct buf *name, struct str text)
{
    name_u32(name, (uint32_t)text.n);
    buf_adds(name, text);
}

static void
name_of(struct buf *name, const char *kind, struct str uid, struct str group,
        const uint32_t *coordinates, size_t count)
{
    buf_clear(name);
    buf_addz(name, "\xd9\x54\xd6\x17\xe8\x1d\x58\xd0"
                   "\x8f\x22\xf4\x5a\xfd\xa6\x22\x60");
    buf_addz(name, "mokka-identity-v1"); /* no length before it: 12.1 */
    name_text(name, str_of(kind));
    name_text(name, uid);
    name_text(name, group);
    for (size_t i = 0; i < count; i++)
        name_u32(name, coordinates[i]);
}

static void
v5_of(const struct buf *name, uint8_t v5[SHA1_DIGEST_LENGTH],
      char text[IDENTITY_UUID])
{
    SHA1_CTX sha;

    SHA1Init(&sha);
    SHA1Update(&sha, (const uint8_t *)buf_bytes(name), name->len);
    SHA1Final(v5, &sha);
    v5[6] = (uint8_t)(0x50 + v5[6] % 16);
    v5[8] = (uint8_t)(0x80 + v5[8] % 64);
    for (int i = 0, at = 0; i < 16; i++)
        at += sprintf(text + at, "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", v5[i]);
}

static void
test_3_2_12_1_against_reference(void **state)
{
    struct seeded s = seeded_start("test_3_2_12_1_against_reference");
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    struct buf name = {0};

    (void)state;
    for (int i = 0; i < seeded_rounds(500); i++) {
        char texts[2][80];
        struct str parts[2];
        uint32_t at[3] = {(uint32_t)seeded_next(&s), (uint32_t)seeded_next(&s),
                          (uint32_t)seeded_next(&s)};
        uint8_t v5[SHA1_DIGEST_LENGTH];
        uint64_t number = 0;
        struct identity_gpus gpus;
        char fabric[IDENTITY_UUID];
        char uuid[IDENTITY_GPU];
        char serial[IDENTITY_SERIAL];
        char text[IDENTITY_UUID];
        char digits[IDENTITY_SERIAL];

        for (int j = 0; j < 2; j++) {
            parts[j] = (struct str){texts[j], (size_t)seeded_below(&s, 80)};
            for (size_t k = 0; k < parts[j].n; k++)
                texts[j][k] = letters[seeded_below(&s, sizeof(letters) - 1)];
        }
        identity_fabric(parts[0], parts[1], at[0], fabric);
        name_of(&name, "fabric", parts[0], parts[1], at, 1);
        v5_of(&name, v5, text);
        assert_string_equal(fabric, text);
        identity_gpus_init(&gpus, parts[0], parts[1], at[0]);
        identity_gpu(&gpus, at[1], at[2], uuid, serial);
        name_of(&name, "gpu", parts[0], parts[1], at, 3);
        v5_of(&name, v5, text);
        assert_string_equal(uuid + 4, text);
        name_of(&name, "serial", parts[0], parts[1], at, 3);
        v5_of(&name, v5, text);
        for (int j = 0; j < 8; j++)
            number = number * 256 + v5[j];
        snprintf(digits, sizeof(digits), "%020" PRIu64, number);
        assert_string_equal(serial, digits);
    }
    buf_fini(&name);
}

/* Each step of one identity in full. */
static void
test_3_6_worked_example(void **state)
{
    static const uint32_t at[] = {2, 0, 0};
    const struct str uid = STR("inventory-uid-a");
    const struct str group = STR("compute");
    struct identity_gpus gpus;
    struct buf name = {0};
    struct buf inventory = {0};
    struct buf groups = {0};
    char digest[SHA256_DIGEST_STRING_LENGTH];
    char rack[IDENTITY_NAME_MAX];
    char fabric[IDENTITY_UUID];
    char clique[IDENTITY_CLIQUE];
    char uuid[IDENTITY_GPU];
    char serial[IDENTITY_SERIAL];
    char text[IDENTITY_UUID];
    uint8_t v5[SHA1_DIGEST_LENGTH];

    (void)state;
    name_text(&name, uid);
    name_text(&name, group);
    name_u32(&name, 2);
    assert_int_equal(name.len, 4 + 15 + 4 + 7 + 4);
    SHA256Data((const uint8_t *)buf_bytes(&name), name.len, digest);
    assert_memory_equal(digest, "152f2cf61b78", 12);
    identity_rack_name(STR("inventory-a"), uid, group, 2, rack);
    assert_string_equal(rack, "inventory-a-compute-2-152f2cf61b78");
    name_of(&name, "fabric", uid, group, at, 1);
    assert_int_equal(name.len, 16 + 17 + 4 + 6 + 4 + 15 + 4 + 7 + 4);
    v5_of(&name, v5, text);
    assert_string_equal(text, "2c79cf0a-9456-5f4d-aef6-c9dba304466a");
    identity_fabric(uid, group, 2, fabric);
    assert_string_equal(fabric, text);
    identity_clique(fabric, clique);
    assert_string_equal(clique, "2c79cf0a-9456-5f4d-aef6-c9dba304466a.0");
    identity_gpus_init(&gpus, uid, group, 2);
    identity_gpu(&gpus, 0, 0, uuid, serial);
    assert_string_equal(uuid, "GPU-e1fc2f7b-7e71-5cdd-addf-11103758e19f");
    assert_string_equal(serial, "01184543437958700640");
    /* Names longer than the readable part may be. */
    for (int i = 0; i < 8; i++)
        buf_addz(&inventory, "very-long-inventory-");
    for (int i = 0; i < 20; i++)
        buf_addz(&groups, "group");
    identity_rack_name(buf_str(&inventory), uid, buf_str(&groups), 12345, rack);
    assert_string_equal(
        rack, "very-long-inventory-very-long-inventory-very-long-60142d58c4a7");
    buf_fini(&name);
    buf_fini(&inventory);
    buf_fini(&groups);
}

/* Version and variant are in every identity, also before the serial is read. */
static void
test_3_3_12_3_bits(void **state)
{
    struct seeded s = seeded_start("test_3_3_12_3_bits");

    (void)state;
    for (int i = 0; i < seeded_rounds(2000); i++) {
        struct identity_gpus gpus;
        char uuid[IDENTITY_GPU];
        char serial[IDENTITY_SERIAL];
        uint64_t number;

        identity_gpus_init(&gpus, STR("u"), STR("g"),
                           (uint32_t)seeded_next(&s));
        identity_gpu(&gpus, (uint32_t)seeded_below(&s, 1024),
                     (uint32_t)seeded_below(&s, 64), uuid, serial);
        assert_int_equal(strlen(uuid), 40);
        assert_int_equal(uuid[18], '5');
        assert_non_null(strchr("89ab", uuid[23]));
        assert_int_equal(strlen(serial), 20);
        number = strtoull(serial, NULL, 10);
        assert_int_equal(number >> 12 & 15, 5);
    }
}

/* No two GPUs of a rack are alike, nor is a GPU that of another coordinate. */
static void
test_3_4_distinct(void **state)
{
    struct map seen = {0};
    char(*texts)[IDENTITY_GPU] = mem_zalloc(2 * 3 * 4 * sizeof(*texts));
    char serial[IDENTITY_SERIAL];
    size_t n = 0;

    (void)state;
    for (uint32_t rack = 0; rack < 2; rack++) {
        struct identity_gpus gpus;

        identity_gpus_init(&gpus, STR("u"), STR("g"), rack);
        for (uint32_t i = 0; i < 12; i++, n++) {
            identity_gpu(&gpus, i / 4, i % 4, texts[n], serial);
            assert_null(map_put(&seen, texts[n], texts));
        }
    }
    map_fini(&seen);
    free(texts);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_3_5_2_readable),
        cmocka_unit_test(test_3_5_3_characters),
        cmocka_unit_test(test_3_5_4_12_5_cut),
        cmocka_unit_test(test_3_5_5_put_together),
        cmocka_unit_test(test_3_6_worked_example),
        cmocka_unit_test(test_3_5_1_12_2_suffix),
        cmocka_unit_test(test_3_1_12_4_bytes),
        cmocka_unit_test(test_3_2_12_1_against_reference),
        cmocka_unit_test(test_3_3_12_3_bits),
        cmocka_unit_test(test_3_4_distinct),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "identity.json", "identity", "test_3_2_3_4_3_5_",
                test_identity_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer identity");
}
