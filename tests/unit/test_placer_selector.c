/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/selector.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

static int
compile(struct selector *s, const char *text, struct err *err)
{
    struct json_value v;
    int failed;

    *err = (struct err){""};
    json_value_parse(&v, text);
    failed = selector_compile(s, v.root, err);
    json_value_fini(&v);
    assert_int_equal(failed != 0, err->text[0] != '\0');
    return failed;
}

/* Labels as "k=v,k=v" in the order of keys. */
static bool
matches(const struct selector *s, const char *labels)
{
    char *copy = mem_strdup(labels);
    char *rest = copy;
    struct pair items[16];
    size_t count = 0;
    char *item;
    bool yes;

    while (*rest != '\0' && (item = strsep(&rest, ",")) != NULL) {
        char *value = strchr(item, '=');

        *value++ = '\0';
        items[count++] = (struct pair){str_of(item), str_of(value)};
        if (rest == NULL)
            break;
    }
    pairs_sort(items, count);
    yes = selector_match(s, (struct pairs){items, count, NULL});
    free(copy);
    return yes;
}

struct row {
    const char *selector, *labels;
    bool wanted;
};

static void
assert_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct selector s;
        struct err err;

        if (compile(&s, rows[i].selector, &err) != 0)
            fail_msg("%s: %s", rows[i].selector, err.text);
        if (matches(&s, rows[i].labels) != rows[i].wanted)
            fail_msg("%s on %s", rows[i].selector, rows[i].labels);
        selector_fini(&s);
    }
}

#define EXPR(text) "{\"matchExpressions\":[{" text "}]}"
#define ONE(key, op) EXPR("\"key\":\"" key "\",\"operator\":\"" op "\"")
#define LIST(key, op, values)                                                  \
    EXPR("\"key\":\"" key "\",\"operator\":\"" op "\",\"values\":[" values "]")

static void
test_6_2_everything(void **state)
{
    static const struct row rows[] = {
        {"null", "", true},
        {"null", "a=1", true},
        {"{}", "a=1", true},
        {"{\"matchLabels\":{}}", "a=1", true},
        {"{\"matchExpressions\":[]}", "a=1", true},
        {"{\"matchLabels\":{},\"matchExpressions\":[]}", "", true},
        {"{\"matchLabels\":null,\"matchExpressions\":null}", "", true},
        {"{\"matchLabels\":{\"a\":null}}", "", true},
    };
    const struct selector zeroed = {0};

    (void)state;
    assert_rows(rows, nitems(rows));
    assert_true(matches(&zeroed, "a=1"));
}

static void
test_6_2_matching(void **state)
{
    static const struct row rows[] = {
        {"{\"matchLabels\":{\"a\":\"1\"}}", "a=1", true},
        {"{\"matchLabels\":{\"a\":\"1\"}}", "a=2", false},
        {"{\"matchLabels\":{\"a\":\"1\"}}", "b=1", false},
        {"{\"matchLabels\":{\"a\":\"1\"}}", "A=1", false},
        {"{\"matchLabels\":{\"a\":\"\"}}", "a=", true},
        {"{\"matchLabels\":{\"a\":\"\"}}", "", false},
        {"{\"matchLabels\":{\"a\":\"1\",\"b\":\"2\"}}", "a=1,b=2,c=3", true},
        {"{\"matchLabels\":{\"a\":\"1\",\"b\":\"2\"}}", "a=1,b=1", false},
        {LIST("a", "In", "\"1\",\"3\""), "a=3", true},
        {LIST("a", "In", "\"3\",\"1\""), "a=2", false},
        {LIST("a", "In", "\"1\""), "", false},
        {LIST("a", "NotIn", "\"1\",\"3\""), "a=2", true},
        {LIST("a", "NotIn", "\"3\",\"1\""), "a=1", false},
        {LIST("a", "NotIn", "\"1\""), "", true},
        {LIST("a", "NotIn", "\"\""), "a=", false},
        {ONE("a", "Exists"), "a=", true},
        {ONE("a", "Exists"), "b=", false},
        {ONE("a", "DoesNotExist"), "a=", false},
        {ONE("a", "DoesNotExist"), "b=", true},
        {"{\"matchLabels\":{\"a\":\"1\"},\"matchExpressions\":[{\"key\":\"b\","
         "\"operator\":\"Exists\"}]}",
         "a=1", false},
        {"{\"matchLabels\":{\"a\":\"1\"},\"matchExpressions\":[{\"key\":\"b\","
         "\"operator\":\"Exists\"}]}",
         "a=1,b=", true},
    };

    (void)state;
    assert_rows(rows, nitems(rows));
}

static void
assert_invalid(const char *text, const char *word)
{
    struct selector s;
    struct err err;

    if (compile(&s, text, &err) == 0)
        fail_msg("valid: %s", text);
    if (strstr(err.text, word) == NULL)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(s.count, 0);
}

#define ASSIGNED "mokka.nvidia.com/sgpu-assigned"
#define CLIQUE "nvidia.com/gpu.clique"

static void
test_6_2_forbidden_keys(void **state)
{
    (void)state;
    assert_invalid("{\"matchLabels\":{\"" ASSIGNED "\":\"true\"}}", ASSIGNED);
    assert_invalid("{\"matchLabels\":{\"" CLIQUE "\":\"true\"}}", CLIQUE);
    assert_invalid(ONE(ASSIGNED, "DoesNotExist"), ASSIGNED);
    assert_invalid(ONE(CLIQUE, "Exists"), CLIQUE);
    assert_invalid("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
                   "\"Exists\"},{\"key\":\"" CLIQUE
                   "\",\"operator\":\"Exists\"}]}",
                   CLIQUE);
    /* Whatever the operator or value, and before other failures. */
    assert_invalid(ONE(CLIQUE, "Nonsense"), CLIQUE);
    assert_invalid("{\"matchLabels\":{\"-\":\"-\",\"" CLIQUE "\":\"-\"}}",
                   CLIQUE);
    /* The assigned label is looked for first, everywhere. */
    assert_invalid("{\"matchLabels\":{\"" CLIQUE
                   "\":\"x\"},\"matchExpressions\":[{\"key\":\"" ASSIGNED
                   "\",\"operator\":\"Exists\"}]}",
                   ASSIGNED);
}

/* Every other key is allowed. */
static void
test_6_2_allowed_keys(void **state)
{
    static const struct row rows[] = {
        {ONE("mokka.nvidia.com/sgpu-node", "Exists"),
         "mokka.nvidia.com/sgpu-node=true", true},
        {ONE("mokka.nvidia.com/inventory", "DoesNotExist"), "", true},
        {ONE("nvidia.com/gpu.cliques", "DoesNotExist"), "", true},
    };

    (void)state;
    assert_rows(rows, nitems(rows));
}

static void
test_6_2_operators(void **state)
{
    static const char *const bad[] = {
        ONE("a", "in"),
        ONE("a", "IN"),
        ONE("a", "Equals"),
        ONE("a", ""),
        ONE("a", "exists"),
        ONE("a", "Gt"),
        ONE("a", "Exists "),
        EXPR("\"key\":\"a\""),
        EXPR("\"key\":\"a\",\"operator\":7"),
    };

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++)
        assert_invalid(bad[i], "operator");
}

static void
test_6_2_values_count(void **state)
{
    (void)state;
    assert_invalid(ONE("a", "In"), "In with 0 values");
    assert_invalid(LIST("a", "NotIn", ""), "NotIn with 0 values");
    assert_invalid(LIST("a", "Exists", "\"x\""), "Exists with 1 values");
    assert_invalid(LIST("a", "DoesNotExist", "\"x\",\"y\""), "2 values");
    assert_invalid(LIST("a", "In", "7"), "no text");
    assert_invalid(EXPR("\"key\":\"a\",\"operator\":\"In\",\"values\":\"x\""),
                   "values");
}

static void
test_6_2_syntax(void **state)
{
    (void)state;
    assert_invalid("{\"matchLabels\":{\"-a\":\"x\"}}", "-a");
    assert_invalid("{\"matchLabels\":{\"a\":\"x y\"}}", "x y");
    assert_invalid("{\"matchLabels\":{\"a\":7}}", "no text");
    assert_invalid(ONE("a/b/c", "Exists"), "a/b/c");
    assert_invalid(ONE("", "Exists"), "key");
    assert_invalid(EXPR("\"operator\":\"Exists\""), "key");
    assert_invalid(LIST("a", "In", "\"ok\",\"-\""), "\"-\"");
    assert_invalid("{\"matchLabels\":[]}", "matchLabels");
    assert_invalid("{\"matchExpressions\":{}}", "matchExpressions");
    assert_invalid("{\"matchExpressions\":[7]}", "key");
    assert_invalid("[]", "object");
    assert_invalid("\"a=b\"", "object");
}

/* The reference: a requirement as plain C, for keys "a" to "c" and values "0"
 * to "2"; 3 is an absent label. */
struct plain {
    int key, op;
    bool values[3];
};

static bool
plain_holds(const struct plain *p, const int labels[3])
{
    int value = labels[p->key];

    if (p->op == 0)
        return value < 3 && p->values[value];
    if (p->op == 1)
        return value == 3 || !p->values[value];
    return p->op == 2 ? value < 3 : value == 3;
}

static void
plain_write(const struct plain *p, struct buf *out)
{
    static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist"};
    const char *comma = "";

    buf_printf(out, "{\"key\":\"%c\",\"operator\":\"%s\"", 'a' + p->key,
               ops[p->op]);
    if (p->op < 2) {
        buf_addz(out, ",\"values\":[");
        for (int i = 2; i >= 0; i--)
            if (p->values[i]) {
                buf_printf(out, "%s\"%d\"", comma, i);
                comma = ",";
            }
        buf_addc(out, ']');
    }
    buf_addc(out, '}');
}

static void
random_plain(struct seeded *s, struct plain *p)
{
    *p = (struct plain){.key = seeded_below(s, 3), .op = seeded_below(s, 4)};
    for (int i = 0; i < 3; i++)
        p->values[i] = seeded_below(s, 2) == 0;
    p->values[seeded_below(s, 3)] = true;
}

static void
test_6_2_against_reference(void **state)
{
    struct seeded s = seeded_start("test_6_2_against_reference");

    (void)state;
    for (int i = 0; i < seeded_rounds(2000); i++) {
        struct plain terms[3];
        size_t count = (size_t)seeded_below(&s, 4);
        struct buf text = {0};
        struct selector selector;
        struct err err;

        buf_addz(&text, "{\"matchExpressions\":[");
        for (size_t j = 0; j < count; j++) {
            random_plain(&s, &terms[j]);
            buf_addz(&text, j == 0 ? "" : ",");
            plain_write(&terms[j], &text);
        }
        buf_add(&text, "]}", 3);
        assert_int_equal(compile(&selector, buf_bytes(&text), &err), 0);
        for (int l = 0; l < 64; l++) {
            const int labels[3] = {l & 3, l >> 2 & 3, l >> 4};
            struct pair items[3];
            char values[3][2];
            size_t n = 0;
            bool wanted = true;

            for (int k = 0; k < 3; k++) {
                snprintf(values[k], 2, "%d", labels[k]);
                if (labels[k] < 3)
                    items[n++] =
                        (struct pair){{(const char *[]){"a", "b", "c"}[k], 1},
                                      {values[k], 1}};
            }
            for (size_t j = 0; j < count; j++)
                wanted = wanted && plain_holds(&terms[j], labels);
            if (selector_match(&selector, (struct pairs){items, n, NULL}) !=
                wanted)
                fail_msg("%s on %d", buf_bytes(&text), l);
        }
        selector_fini(&selector);
        buf_fini(&text);
    }
}

static void
test_6_2_text_is_what_kubectl_takes(void **state)
{
    struct selector s;
    struct buf out = {0};
    struct err err;

    (void)state;
    assert_int_equal(
        compile(
            &s,
            "{\"matchLabels\":{\"pool\":\"a\"},\"matchExpressions\":["
            "{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"y\",\"x\"]},"
            "{\"key\":\"tier\",\"operator\":\"NotIn\",\"values\":[\"z\"]},"
            "{\"key\":\"gpu\",\"operator\":\"Exists\"},"
            "{\"key\":\"old\",\"operator\":\"DoesNotExist\"}]}",
            &err),
        0);
    selector_text(&out, &s, 100);
    assert_true(
        str_is(buf_str(&out), ",pool=a,zone in (x,y),tier notin (z),gpu,!old"));
    buf_clear(&out);
    selector_text(&out, &s, 21);
    assert_true(str_is(buf_str(&out), ",pool=a,zone in (x,y),..."));
    buf_clear(&out);
    selector_text(&out, &s, 3);
    assert_true(str_is(buf_str(&out), ",..."));
    selector_fini(&s);
    buf_clear(&out);
    selector_text(&out, &s, 100);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_6_2_everything),
        cmocka_unit_test(test_6_2_matching),
        cmocka_unit_test(test_6_2_forbidden_keys),
        cmocka_unit_test(test_6_2_allowed_keys),
        cmocka_unit_test(test_6_2_operators),
        cmocka_unit_test(test_6_2_values_count),
        cmocka_unit_test(test_6_2_syntax),
        cmocka_unit_test(test_6_2_text_is_what_kubectl_takes),
        cmocka_unit_test(test_6_2_against_reference),
    };

    return cmocka_run_group_tests_name("placer selector", tests, NULL, NULL);
}
