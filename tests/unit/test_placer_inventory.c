/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/inventory.h"
#include "tests/unit/json_value.h"

static const struct object_meta meta = {
    .name = STR("lab"),
    .uid = STR("lab-uid"),
};

static void
compile(struct inventory *v, const struct object_meta *m, const char *spec)
{
    struct json_value value;

    json_value_parse(&value, spec);
    inventory_compile(v, m, value.root);
    json_value_fini(&value);
    assert_int_equal(v->verdict == INVENTORY_VALID, v->issue.text[0] == '\0');
}

/* The verdict on groups, and words of the issue. */
static void
assert_verdict(const char *groups, enum inventory_verdict verdict,
               const char *const *words)
{
    char *spec = mem_printf("{\"rackGroups\":[%s]}", groups);
    struct inventory v;

    compile(&v, &meta, spec);
    if (v.verdict != verdict)
        fail_msg("%s: %d, %s", groups, v.verdict, v.issue.text);
    for (; *words != NULL; words++)
        if (strstr(v.issue.text, *words) == NULL)
            fail_msg("no \"%s\" in: %s", *words, v.issue.text);
    inventory_fini(&v);
    free(spec);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_WORDS ((const char *const[]){NULL})
#define GROUP(id, count, profile)                                              \
    "{\"id\":\"" id "\",\"count\":" count                                      \
    ",\"profileRef\":{\"name\":\"" profile "\"}}"
#define PLACED(id, selector)                                                   \
    "{\"id\":\"" id "\",\"count\":1,\"profileRef\":{\"name\":\"p\"},"          \
    "\"placement\":{\"nodeSelector\":" selector "}}"

static void
assert_valid(const char *groups)
{
    assert_verdict(groups, INVENTORY_VALID, NO_WORDS);
}

static void
assert_invalid(const char *groups, const char *const *words)
{
    assert_verdict(groups, INVENTORY_INVALID, words);
}

static void
test_6_1_valid(void **state)
{
    struct inventory v;

    (void)state;
    compile(&v, &meta,
            "{\"rackGroups\":[" PLACED(
                "b", "{\"matchLabels\":{\"x\":\"1\"}}") "," GROUP("a", "3",
                                                                  "q") "]}");
    assert_int_equal(v.verdict, INVENTORY_VALID);
    assert_string_equal(v.name.s, "lab");
    assert_string_equal(v.uid.s, "lab-uid");
    assert_int_equal(v.declared, 2);
    assert_int_equal(v.group_count, 2);
    assert_true(str_is(v.groups[0].id, "b"));
    assert_true(str_is(v.groups[0].profile, "p"));
    assert_int_equal(v.groups[0].count, 1);
    assert_int_equal(v.groups[0].selector.count, 1);
    assert_true(v.groups[0].sound);
    assert_int_equal(v.groups[1].count, 3);
    assert_int_equal(v.groups[1].selector.count, 0);
    assert_ptr_equal(inventory_group(&v, STR("a")), &v.groups[1]);
    assert_null(inventory_group(&v, STR("c")));
    inventory_fini(&v);
    inventory_fini(&v);
}

/* No groups at all passes here. */
static void
test_6_1_no_groups(void **state)
{
    static const char *const specs[] = {"{}", "null", "{\"rackGroups\":[]}",
                                        "{\"rackGroups\":null}"};

    (void)state;
    for (size_t i = 0; i < nitems(specs); i++) {
        struct inventory v;

        compile(&v, &meta, specs[i]);
        assert_int_equal(v.verdict, INVENTORY_VALID);
        assert_int_equal(v.declared, 0);
        inventory_fini(&v);
    }
}

static void
test_6_1_i1_name_uid(void **state)
{
    static const struct object_meta bad[] = {
        {.name = STR(""), .uid = STR("u")}, {.name = STR("n"), .uid = STR("")}};

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        struct inventory v;

        compile(&v, &bad[i], "{\"rackGroups\":[]}");
        assert_int_equal(v.verdict, INVENTORY_INVALID);
        assert_non_null(strstr(v.issue.text, i == 0 ? "name" : "uid"));
        inventory_fini(&v);
    }
}

static char *
groups(int n, int count)
{
    struct buf text = {0};

    for (int i = 0; i < n; i++)
        buf_printf(&text,
                   "%s{\"id\":\"g%d\",\"count\":%d,\"profileRef\":"
                   "{\"name\":\"p\"}}",
                   i == 0 ? "" : ",", i, count);
    return buf_take(&text);
}

static void
test_6_1_i2_groups(void **state)
{
    char *most = groups(64, 1);
    char *more = groups(65, 1);
    char *spec = mem_printf("{\"rackGroups\":[%s]}", more);
    struct inventory v;

    (void)state;
    assert_valid(most);
    assert_invalid(more, WORDS("65", "64"));
    /* The budget counts what is declared. */
    compile(&v, &meta, spec);
    assert_int_equal(v.declared, 65);
    assert_int_equal(v.group_count, 64);
    inventory_fini(&v);
    free(spec);
    free(more);
    free(most);
}

static void
test_6_1_i3_id(void **state)
{
    static const char *const bad[] = {"", "A", "a.b", "-a", "a-", "a b", "a/b"};
    const char *const id63 =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    char *text;

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        text = mem_printf("{\"id\":\"%s\",\"count\":1,\"profileRef\":{\"name\":"
                          "\"p\"}}",
                          bad[i]);
        assert_invalid(text, WORDS("id", bad[i]));
        free(text);
    }
    assert_invalid("{\"id\":7,\"count\":1,\"profileRef\":{\"name\":\"p\"}}",
                   WORDS("id"));
    assert_invalid("7", WORDS("id"));
    text = mem_printf("{\"id\":\"%s\",\"count\":1,\"profileRef\":{\"name\":"
                      "\"p\"}}",
                      id63);
    assert_valid(text);
    free(text);
    text = mem_printf("{\"id\":\"%sa\",\"count\":1,\"profileRef\":{\"name\":"
                      "\"p\"}}",
                      id63);
    assert_invalid(text, WORDS("63"));
    free(text);
}

static void
test_6_1_i4_twice(void **state)
{
    (void)state;
    assert_invalid(
        GROUP("a", "1", "p") "," GROUP("b", "1", "p") "," GROUP("a", "1", "p"),
        WORDS("group a", "twice"));
    /* Before the count of that group. */
    assert_invalid(GROUP("a", "1", "p") "," GROUP("a", "0", ""),
                   WORDS("group a", "twice"));
}

static void
test_6_1_i5_count(void **state)
{
    (void)state;
    assert_valid(GROUP("a", "100000", "p"));
    assert_invalid(GROUP("a", "100001", "p"),
                   WORDS("group a", "count 100001", "100000"));
    assert_invalid(GROUP("a", "0", "p"), WORDS("group a", "count 0"));
    assert_invalid(GROUP("a", "-1", "p"), WORDS("group a", "count -1"));
    assert_invalid("{\"id\":\"a\",\"profileRef\":{\"name\":\"p\"}}",
                   WORDS("group a", "count 0"));
    assert_invalid(GROUP("a", "\"1\"", "p"), WORDS("group a", "count"));
}

static void
test_6_1_i6_profile(void **state)
{
    (void)state;
    assert_invalid(GROUP("a", "1", ""), WORDS("group a", "profileRef.name"));
    assert_invalid("{\"id\":\"a\",\"count\":1}",
                   WORDS("group a", "profileRef.name"));
}

static void
test_6_1_i7_selector(void **state)
{
    (void)state;
    assert_valid(PLACED("a", "null"));
    assert_valid(PLACED("a", "{}"));
    assert_invalid(PLACED("a", "{\"matchLabels\":{\"nvidia.com/gpu.clique\":"
                               "\"x\"}}"),
                   WORDS("group a", "nvidia.com/gpu.clique"));
    assert_invalid("{\"id\":\"a\",\"count\":1,\"profileRef\":{\"name\":\"p\"},"
                   "\"placement\":[]}",
                   WORDS("group a", "placement"));
}

/* First failure in list order; within a group I3 to I7. */
static void
test_6_1_order(void **state)
{
    (void)state;
    assert_invalid(PLACED("a", "[]") "," GROUP("B", "0", ""),
                   WORDS("group a", "selector"));
    assert_invalid(GROUP("a", "0", "") "," GROUP("B", "1", "p"),
                   WORDS("group a", "count 0"));
    assert_invalid("{\"id\":\"a\",\"count\":1,\"placement\":{\"nodeSelector\":"
                   "[]}}",
                   WORDS("profileRef.name"));
    assert_invalid(GROUP("A", "0", ""), WORDS("id"));
}

/* The sum is told apart, and looked at only if all else holds. */
static void
test_6_1_12_12_sum(void **state)
{
    char *all = groups(64, 100000);

    (void)state;
    assert_valid(GROUP("a", "99999", "p") "," GROUP("b", "1", "p"));
    assert_verdict(GROUP("a", "99999", "p") "," GROUP("b", "2", "p"),
                   INVENTORY_TOO_LARGE, WORDS("100001", "100000"));
    assert_verdict(all, INVENTORY_TOO_LARGE, WORDS("6400000"));
    assert_invalid(GROUP("a", "100000", "p") "," GROUP("b", "1", ""),
                   WORDS("profileRef"));
    free(all);
}

/* For the status of an invalid inventory. */
static void
test_6_1_unsound_groups(void **state)
{
    struct inventory v;

    (void)state;
    compile(
        &v, &meta,
        "{\"rackGroups\":[" GROUP("a", "0", "p") "," PLACED(
            "b", "{\"matchLabels\":{\"x\":\"1\"}}") "," PLACED("c", "[]") "]}");
    assert_int_equal(v.verdict, INVENTORY_INVALID);
    assert_non_null(strstr(v.issue.text, "group a"));
    assert_false(v.groups[0].sound);
    assert_true(v.groups[1].sound);
    assert_int_equal(v.groups[1].selector.count, 1);
    assert_false(v.groups[2].sound);
    inventory_fini(&v);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_6_1_valid),
        cmocka_unit_test(test_6_1_no_groups),
        cmocka_unit_test(test_6_1_i1_name_uid),
        cmocka_unit_test(test_6_1_i2_groups),
        cmocka_unit_test(test_6_1_i3_id),
        cmocka_unit_test(test_6_1_i4_twice),
        cmocka_unit_test(test_6_1_i5_count),
        cmocka_unit_test(test_6_1_i6_profile),
        cmocka_unit_test(test_6_1_i7_selector),
        cmocka_unit_test(test_6_1_order),
        cmocka_unit_test(test_6_1_12_12_sum),
        cmocka_unit_test(test_6_1_unsound_groups),
    };

    return cmocka_run_group_tests_name("placer inventory", tests, NULL, NULL);
}
