/* SPDX-License-Identifier: Apache-2.0 */
/* The walk and the forms; that the tables say what the API says is proven with
 * the vectors, by tests/process/test_mokkactl.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/mem.h"
#include "supervisor/mokkactl/compact.h"
#include "supervisor/mokkactl/schema_form.h"

static void
add(void *arg, const struct spot *spot, const char *what)
{
    struct buf path = {0};

    spot_add(&path, spot);
    buf_printf(arg, "%.*s %s\n", (int)path.len, buf_str(&path).s, what);
    buf_fini(&path);
}

static void
add_unknown(void *arg, const struct spot *spot)
{
    add(arg, spot, "unknown");
}

static json_t *
parse(const char *text)
{
    json_t *tree = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(tree);
    return tree;
}

/* All that is wrong with an inventory whose members after metadata are so. */
static char *
problems_of(const char *kind, const char *rest)
{
    char *text = mem_printf("{\"apiVersion\":\"v\",\"kind\":\"k\",\"metadata\":"
                            "{\"name\":\"n\"}%s}",
                            rest);
    json_t *tree = parse(text);
    struct buf out = {0};
    const struct schema_report report = {add, add_unknown, &out};

    schema_check(schema_of(kind), tree, &report);
    json_decref(tree);
    free(text);
    return buf_take(&out);
}

static void
expect(const char *kind, const char *rest, const char *wanted)
{
    char *problems = problems_of(kind, rest);

    assert_string_equal(problems, wanted);
    free(problems);
}

static void
test_all_problems_in_their_order(void **state)
{
    (void)state;
    expect("SGPUInventory",
           ",\"spec\":{\"zz\":1,\"rackGroups\":[{\"id\":\"\",\"count\":\"1\","
           "\"profileRef\":{\"name\":\"p\"}},{\"id\":\"b\",\"count\":100001,"
           "\"profileRef\":{}},7,null]},\"yy\":2",
           "spec.zz unknown\n"
           "spec.rackGroups[0].id must have 1 to 63 characters, but has 0\n"
           "spec.rackGroups[0].count must be a whole number, but is a text\n"
           "spec.rackGroups[1].count must be 1 to 100000, but is 100001\n"
           "spec.rackGroups[1].profileRef.name is missing\n"
           "spec.rackGroups[2] must be an object, but is a whole number\n"
           "spec.rackGroups[3] must be an object, but is null\n"
           "yy unknown\n");
    expect("SGPUInventory", "", "spec is missing\n");
    expect("SGPUInventory", ",\"spec\":null", "spec is missing\n");
    expect("Node", ",\"spec\":7,\"status\":{\"a\":[]}", "");
    assert_null(schema_of("Pod"));
}

static void
test_a_rule_names_its_object(void **state)
{
    (void)state;
    expect("SGPURack",
           ",\"spec\":{\"inventoryRef\":{\"name\":\"a\",\"uid\":\"\"},"
           "\"profileRef\":{\"name\":\"p\",\"uid\":\"u\",\"generation\":1,"
           "\"revision\":\"x\"},\"identity\":{\"rackGroup\":\"g\","
           "\"rackIndex\":0,\"fabricUUID\":"
           "\"dac3b95f-0326-5b70-a650-659ab13d16d4\",\"cliqueID\":1},"
           "\"nodes\":[]}",
           "spec.inventoryRef uid must not be empty\n"
           "spec.profileRef.revision must be 64 hex digits in lower case, but "
           "is \"x\"\n"
           "spec.identity.cliqueID must be 0, but is 1\n"
           "spec.nodes must have 1 to 1024 items, but has 0\n");
}

static void
test_metadata(void **state)
{
    json_t *tree = parse(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"A\","
        "\"namespace\":\"x\",\"resourceVersion\":\"1a\",\"labels\":{\"a b\":1,"
        "\"c\":null},\"annotations\":{\"Example.COM/x\":\"any \\n\"},"
        "\"creationTimestamp\":null,\"deletionTimestamp\":\"soon\"}}");
    struct buf out = {0};
    const struct schema_report report = {add, add_unknown, &out};
    char *text;

    (void)state;
    schema_check(schema_of("Node"), tree, &report);
    text = buf_take(&out);
    assert_non_null(strstr(text, "metadata.name must be a DNS name"));
    assert_non_null(strstr(text, "metadata.namespace must be left out"));
    assert_non_null(strstr(text, "metadata.resourceVersion must be a decimal"));
    assert_non_null(strstr(text, "metadata.labels[a b] the key must be"));
    assert_non_null(strstr(text, "metadata.labels[a b] must be a text, but is "
                                 "a whole number"));
    assert_non_null(strstr(text, "metadata.deletionTimestamp must be a time"));
    assert_null(strstr(text, "annotations"));
    assert_null(strstr(text, "creationTimestamp"));
    free(text);
    json_decref(tree);
}

/* Items that must differ, few or many. */
static void
test_twins(void **state)
{
    (void)state;
    for (size_t count = 2; count <= 40; count += 19) {
        struct buf text = {0};
        char *wanted, *rest;

        buf_addz(&text, ",\"spec\":{\"targetRef\":{\"group\":"
                        "\"mokka.nvidia.com\",\"kind\":\"SGPUInventory\","
                        "\"name\":\"x\",\"rackIndexes\":[");
        for (size_t i = 0; i < count; i++)
            buf_printf(&text, "%zu,", i);
        buf_addz(&text, "1.0]}}");
        rest = buf_take(&text);
        wanted = mem_printf("spec.targetRef.rackIndexes[%zu] is the same as "
                            "item 1; none may come twice\n",
                            count);
        expect("SGPURuntimePolicy", rest, wanted);
        free(wanted);
        free(rest);
    }
}

static void
test_settling(void **state)
{
    json_t *tree = parse(
        "{\"kind\":\"k\",\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":null,"
        "\"b\":\"c\"},\"zz\":1},\"spec\":{\"rackGroups\":[{\"id\":\"a\","
        "\"count\":4.0,\"xx\":{},\"placement\":null,\"profileRef\":{\"name\":"
        "\"p\"}}]},\"status\":{\"yy\":1}}");
    struct buf out = {0};
    char *text;

    (void)state;
    schema_settle(schema_of("SGPUInventory"), tree);
    compact(&out, tree);
    text = buf_take(&out);
    assert_string_equal(
        text, "{\"kind\":\"k\",\"metadata\":{\"name\":\"n\",\"labels\":{\"b\":"
              "\"c\"}},\"spec\":{\"rackGroups\":[{\"id\":\"a\",\"count\":4,"
              "\"profileRef\":{\"name\":\"p\"}}]},\"status\":{}}");
    free(text);
    json_decref(tree);
}

static void
test_forms(void **state)
{
    static const struct {
        const struct form *form;
        const char *text;
        bool fits;
    } rows[] = {
        {&form_pci_address, "0000:1b:00.7", true},
        {&form_pci_address, "0000:1B:00.0", false},
        {&form_pci_address, "0000:1b:00.8", false},
        {&form_pci_address, "0000:1b:00.0\n", false},
        {&form_root_complex, "pci0000:15", true},
        {&form_root_complex, "pci000:15", false},
        {&form_gpu_uuid, "GPU-b4446553-f034-580a-9c5f-b2d72e337288", true},
        {&form_gpu_uuid, "gpu-b4446553-f034-580a-9c5f-b2d72e337288", false},
        {&form_uuid, "DAC3B95F03265b70a650-659ab13d16d4", true},
        {&form_uuid, "dac3b95f--03265b70a650-659ab13d16d4", false},
        {&form_uuid, "dac3b95f-0326-5b70-a650-659ab13d16d", false},
        {&form_performance, "P0", true},
        {&form_performance, "P", false},
        {&form_time, "2026-01-02T03:04:05.6Z", true},
        {&form_time, "2026-01-02", false},
        {&form_condition_type, "Ready", true},
        {&form_condition_type, "a.b/Ready_1.x-y", true},
        {&form_condition_type, "A.b/c", false},
        {&form_condition_type, "a./c", false},
        {&form_condition_type, "/a", false},
        {&form_reason, "A_b,c:d9", true},
        {&form_reason, "A,", false},
        {&form_reason, "9", false},
        {&form_reason, "A_", true},
        {&form_quantity, "80Gi", true},
        {&form_quantity, "-1.5e-3.", true},
        {&form_quantity, ".5", true},
        {&form_quantity, "5.", true},
        {&form_quantity, ".", false},
        {&form_quantity, "1K", false},
        {&form_quantity, "1e", false},
        {&form_quantity, "1e1.5", true},
        {&form_object_name, "a.b-c.9", true},
        {&form_object_name, "a..b", false},
        {&form_object_name, "a-", false},
        {&form_version, "0123456789", true},
        {&form_version, "1234567890123456789", false},
        {&form_version, "", false},
        {&form_annotation_key, "Example.COM/X", true},
        {&form_annotation_key, "a b", false},
        {&form_nothing, "", true},
        {&form_nothing, "x", false},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        if (rows[i].form->fits(str_of(rows[i].text)) != rows[i].fits)
            fail_msg("row %zu: %s", i, rows[i].text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_problems_in_their_order),
        cmocka_unit_test(test_a_rule_names_its_object),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_settling),
        cmocka_unit_test(test_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
