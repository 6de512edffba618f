/* SPDX-License-Identifier: Apache-2.0 */
/* The status of inventories and racks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/lab.h"

#define NO_PROFILE(id)                                                         \
    "{\"id\":\"" id "\",\"count\":1,\"profileRef\":{\"name\":\"none\"}}"
#define BAD_PROFILE(id)                                                        \
    "{\"id\":\"" id "\",\"count\":1,\"profileRef\":{\"name\":\"bad\"}}"

static void
begin(struct lab *l, const char *groups)
{
    lab_init(l);
    lab_profile(l, "p", 2);
    lab_inventory(l, "lab", 1, groups);
}

/* Three Nodes of pool x in two racks of two, all as it should be. */
static void
converge(struct lab *l)
{
    begin(l, "[" LAB_POOLED("a", 2, "x") "]");
    lab_node(l, "n1", 1, "x");
    lab_node(l, "n2", 2, "x");
    lab_node(l, "n3", 3, "x");
    lab_start(l);
    lab_quiet(l);
}

static void
assert_inventory(const struct lab *l, const char *type, const char *wanted)
{
    assert_stands(l, KIND_INVENTORY, "lab", type, wanted);
}

static void
assert_ready(struct lab *l, int rack, const char *wanted)
{
    assert_stands(l, KIND_RACK, lab_rack(l, "lab", "a", rack), "Ready", wanted);
}

/* ---- inventories ------------------------------------------------------- */

/* A group that is full and one that is not, one without its profile, a Node
 * bound twice, one bound whose cleanup is not done, and one that is going. */
static void
test_I01_the_numbers(void **state)
{
    struct lab l;

    (void)state;
    begin(
        &l,
        "[" LAB_POOLED("a", 1, "x") "," LAB_POOLED(
            "b", 2,
            "y") ","
                 "{\"id\":\"c\",\"count\":5,\"profileRef\":{\"name\":\"none\"},"
                 "\"placement\":{\"nodeSelector\":{\"matchLabels\":{\"pool\":"
                 "\"z\"}}}}]");
    for (int i = 1; i <= 9; i++) {
        /* n1 n2 n3 in x (two slots), n4 n5 n6 n7 in y (four), n8 n9 in z. */
        char name[] = {'n', (char)('0' + i), '\0'};

        lab_node(&l, name, i, i <= 3 ? "x" : i <= 7 ? "y" : "z");
    }
    lab_start(&l);
    assert_at(&l, KIND_INVENTORY, "lab", "status.capacity",
              "{\"gpus\":6,\"nodes\":6,\"racks\":3}");
    assert_usage(&l, "lab", 9, 6, 0, 1);
    l.held = MSG_NODE_APPLY;
    lab_label(&l, "n4", "pool", "v");          /* bound, not selected */
    lab_label(&l, "n5", LABEL_ELIGIBLE, NULL); /* bound, not in the feed */
    lab_edit(&l, KIND_NODE, "n6", "metadata.deletionTimestamp",
             "\"2026-01-02T03:04:05Z\""); /* bound, terminating */
    lab_settle(&l);
    /* Requested: n1 n2 n3, n6 n7, n8 n9; allocated: all bound but n5. */
    assert_usage(&l, "lab", 7, 5, 1, 1);
    assert_at(&l, KIND_INVENTORY, "lab", "status.rackGroups.1",
              "{\"id\":\"b\",\"profileName\":\"p\","
              "\"capacity\":{\"gpus\":4,\"nodes\":4,\"racks\":2},"
              "\"usage\":{\"requestedNodes\":2,\"allocatedNodes\":3,"
              "\"availableNodes\":1,\"pendingNodes\":0}}");
    assert_at(&l, KIND_INVENTORY, "lab", "status.rackGroups.2",
              "{\"id\":\"c\",\"profileName\":\"none\","
              "\"capacity\":{\"gpus\":0,\"nodes\":0,\"racks\":0},"
              "\"usage\":{\"requestedNodes\":2,\"allocatedNodes\":0,"
              "\"availableNodes\":0,\"pendingNodes\":0}}");
    assert_at(&l, KIND_INVENTORY, "lab", "status.rackGroupsSummary",
              "\"a,b,c\"");
    lab_fini(&l);
}

/* Somebody binds a Node a second time: both slots count. */
static void
test_I01_a_node_bound_twice(void **state)
{
    struct lab l;
    char *ref;

    (void)state;
    converge(&l);
    ref = mem_printf("{\"name\":\"n1\",\"uid\":\"%s\"}",
                     lab_uid(&l, KIND_NODE, "n1"));
    lab_edit(&l, KIND_RACK, lab_rack(&l, "lab", "a", 1), "spec.nodes.1.nodeRef",
             ref);
    lab_settle(&l);
    assert_usage(&l, "lab", 3, 4, 0, 0);
    assert_inventory(&l, "RequestsSatisfied", "False PlacementConflicts");
    free(ref);
    lab_fini(&l);
}

static void
test_I03_selectors_that_overlap(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "[" LAB_POOLED("a", 1, "x") "," LAB_GROUP("b", 1) "]");
    lab_node(&l, "n1", 1, "x");
    lab_node(&l, "n2", 2, "x");
    lab_node(&l, "n3", 3, NULL);
    lab_start(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/b/0 n3 -\n"
                    "create lab/a/0 - -\n"
                    "apply n3 lab/b/0/0\n");
    assert_usage(&l, "lab", 3, 1, 3, 0);
    assert_inventory(&l, "RequestsSatisfied", "False PlacementConflicts");
    assert_non_null(
        strchr(json_string_value(lab_at(&l, KIND_INVENTORY, "lab",
                                        "status.conditions.2.message")),
               '2'));
    lab_fini(&l);
}

static void
test_I07_profiles_missing_or_invalid(void **state)
{
    static const struct {
        const char *groups, *reason;
    } rows[] = {
        {"[" LAB_GROUP("a", 1) "," NO_PROFILE("b") "]",
         "False ProfileNotFound"},
        {"[" LAB_GROUP("a", 1) "," BAD_PROFILE("b") "]",
         "False InvalidProfile"},
        {"[" NO_PROFILE("a") "," BAD_PROFILE("b") "]", "False InvalidProfile"},
        {"[" BAD_PROFILE("a") "," NO_PROFILE("b") "]", "False InvalidProfile"},
        {"[" LAB_GROUP("a", 1) "]", "True ProfilesResolved"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        bool resolved = i + 1 == nitems(rows);
        struct lab l;

        begin(&l, rows[i].groups);
        lab_profile(&l, "bad", 2);
        lab_edit(&l, KIND_PROFILE, "bad", "spec.node.gpus.count", "7");
        lab_start(&l);
        assert_inventory(&l, "ResolvedRefs", rows[i].reason);
        assert_inventory(&l, "Programmed",
                         resolved ? "True Programmed"
                                  : "False ReferencesUnresolved");
        lab_fini(&l);
    }
}

/* A rack that is missing, one that is going, and those of an older revision. */
static void
test_I08_racks_that_do_not_stand(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "lab", "a", 0);
    l.held = MSG_RACK_WRITE;
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups.0.count", "3");
    lab_settle(&l);
    assert_told(&l, "create lab/a/2 - -\n");
    assert_inventory(&l, "Programmed", "False RacksPending");
    l.held = 0;
    lab_settle(&l);
    assert_inventory(&l, "Programmed", "True Programmed");
    l.held = MSG_NODE_APPLY;
    lab_delete(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_inventory(&l, "Programmed", "False RacksPending");
    l.held = 0;
    lab_settle(&l);
    assert_inventory(&l, "Programmed", "True Programmed");
    l.held = MSG_RACK_WRITE;
    lab_edit(&l, KIND_PROFILE, "p", "spec.node.gpus.model",
             "{\"product\":\"new\"}");
    lab_settle(&l);
    assert_inventory(&l, "Programmed", "False RacksPending");
    l.held = 0;
    lab_settle(&l);
    assert_inventory(&l, "Programmed", "True Programmed");
    lab_fini(&l);
}

static void
test_I09_nodes_that_do_not_carry_it(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    l.held = MSG_NODE_APPLY;
    lab_project(&l, "n1", NULL, "");
    lab_settle(&l);
    assert_told(&l, "apply n1 lab/a/0/0\n");
    assert_inventory(&l, "Programmed", "False ProjectionIncomplete");
    lab_edit(&l, KIND_NODE, "n1", "foreign", "1");
    lab_answer(&l, MSG_NODE_APPLY, "n1", OUTCOME_CONFLICT, "");
    lab_settle(&l);
    assert_told(&l, "");
    assert_inventory(&l, "Programmed", "False NodeMetadataConflict");
    lab_fini(&l);
}

static void
test_I10_all_is_fine(void **state)
{
    static const char *const types[] = {"Accepted", "Programmed",
                                        "RequestsSatisfied", "ResolvedRefs"};
    json_t *conditions;
    json_t *c;
    struct lab l;
    size_t i;

    (void)state;
    converge(&l);
    lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups.0.count", "3");
    lab_settle(&l);
    conditions = lab_at(&l, KIND_INVENTORY, "lab", "status.conditions");
    assert_int_equal(json_array_size(conditions), nitems(types));
    json_array_foreach(conditions, i, c)
    {
        assert_string_equal(json_str(c, "type").s, types[i]);
        assert_string_equal(json_str(c, "status").s, "True");
        assert_int_equal(json_int(c, "observedGeneration"), 2);
    }
    assert_at(&l, KIND_INVENTORY, "lab", "metadata.generation", "2");
    lab_fini(&l);
}

/* ---- racks ------------------------------------------------------------- */

/* Ahead of a slot whose Node is not there, and of one that is blocked. */
static void
test_R03_a_node_in_two_racks(void **state)
{
    struct lab l;
    char *ref;

    (void)state;
    converge(&l);
    ref = mem_printf("{\"name\":\"n1\",\"uid\":\"%s\"}",
                     lab_uid(&l, KIND_NODE, "n1"));
    l.held = MSG_RACK_WRITE;
    lab_edit(&l, KIND_RACK, lab_rack(&l, "lab", "a", 1), "spec.nodes.1.nodeRef",
             ref);
    lab_remove(&l, KIND_NODE, "n2");
    lab_edit(&l, KIND_NODE, "n1", "foreign", "4");
    lab_settle(&l);
    assert_ready(&l, 0, "False DuplicateBindings");
    assert_ready(&l, 1, "False DuplicateBindings");
    free(ref);
    lab_fini(&l);
}

static void
test_R03_without_its_like(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    l.held = MSG_NODE_APPLY;
    lab_remove(&l, KIND_NODE, "n2");
    lab_edit(&l, KIND_NODE, "n1", "foreign", "4");
    lab_settle(&l);
    assert_ready(&l, 0, "False InvalidBindings");
    assert_ready(&l, 1, "True Ready");
    lab_fini(&l);
}

/* The annotation with a part of it replaced, of the same binding or not. */
static void
edit_annotation(struct lab *l, const char *path, const char *value)
{
    json_t *node = lab_find(l, KIND_NODE, "n1");
    json_t *a = json_text(json_str(node, "annotation").s);
    char *text;

    json_put(a, path, json_string(value));
    text = json_dumps(a, JSON_COMPACT);
    json_put(node, "annotation", json_string(text));
    free(text);
    json_decref(a);
}

static void
unset_assigned(struct lab *l)
{
    lab_label(l, "n1", LABEL_ASSIGNED, NULL);
}

static void
unset_clique(struct lab *l)
{
    lab_label(l, "n1", LABEL_CLIQUE, NULL);
}

static void
other_clique(struct lab *l)
{
    lab_label(l, "n1", LABEL_CLIQUE, "other.0");
}

static void
unset_annotation(struct lab *l)
{
    lab_edit(l, KIND_NODE, "n1", "annotation", "\"\"");
}

static void
other_rack(struct lab *l)
{
    edit_annotation(l, "rack.uid", "other");
}

static void
other_node(struct lab *l)
{
    edit_annotation(l, "nodeUID", "other");
}

static void
other_revision(struct lab *l)
{
    edit_annotation(l, "profile.revision", "other");
}

static void
own_less(struct lab *l)
{
    lab_edit(l, KIND_NODE, "n1", "ours", "3");
}

static void
co_own(struct lab *l)
{
    lab_edit(l, KIND_NODE, "n1", "foreign", "4");
}

#define INCOMPLETE "False ProjectionIncomplete"
#define CONFLICT "False NodeMetadataConflict"
#define APPLY "apply n1 lab/a/0/0\n"

static void
test_R04_what_a_node_may_lack(void **state)
{
    static const struct {
        void (*edit)(struct lab *l);
        const char *reason, *told;
    } rows[] = {
        {unset_assigned, INCOMPLETE, APPLY},
        {unset_clique, INCOMPLETE, APPLY},
        {unset_annotation, INCOMPLETE, APPLY},
        {other_revision, INCOMPLETE, APPLY},
        {own_less, INCOMPLETE, APPLY},
        {other_clique, CONFLICT, ""},
        /* Left over from a rack that is gone: it is cleaned first. */
        {other_rack, CONFLICT, "release n1\n"},
        {other_node, CONFLICT, ""},
        {co_own, CONFLICT, ""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct lab l;

        converge(&l);
        l.held = MSG_NODE_APPLY;
        rows[i].edit(&l);
        lab_changed(&l, KIND_NODE, "n1");
        lab_settle(&l);
        assert_ready(&l, 0, rows[i].reason);
        assert_ready(&l, 1, "True Ready");
        assert_told(&l, rows[i].told);
        lab_fini(&l);
    }
}

static void
test_R05_an_error_of_the_past(void **state)
{
    json_t *exact;
    struct lab l;

    (void)state;
    converge(&l);
    exact = json_deep_copy(lab_find(&l, KIND_NODE, "n1"));
    l.held = MSG_NODE_APPLY;
    lab_project(&l, "n1", NULL, "");
    lab_settle(&l);
    assert_ready(&l, 0, "False ProjectionIncomplete");
    lab_answer(&l, MSG_NODE_APPLY, "n1", OUTCOME_CONFLICT, "");
    lab_settle(&l);
    lab_put(&l, KIND_NODE, exact);
    lab_settle(&l);
    assert_ready(&l, 0, "True Ready");
    assert_inventory(&l, "Programmed", "True Programmed");
    lab_fini(&l);
}

static void
test_R06_a_rack_without_bindings(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    begin(&l, "[" LAB_GROUP("a", 1) "]");
    lab_start(&l);
    rack = lab_rack(&l, "lab", "a", 0);
    assert_ready(&l, 0, "True Ready");
    assert_at(&l, KIND_RACK, rack, "status.assignedNodes", "0");
    assert_at(&l, KIND_RACK, rack, "status.observedGeneration", "1");
    lab_fini(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_I01_the_numbers),
        cmocka_unit_test(test_I01_a_node_bound_twice),
        cmocka_unit_test(test_I03_selectors_that_overlap),
        cmocka_unit_test(test_I07_profiles_missing_or_invalid),
        cmocka_unit_test(test_I08_racks_that_do_not_stand),
        cmocka_unit_test(test_I09_nodes_that_do_not_carry_it),
        cmocka_unit_test(test_I10_all_is_fine),
        cmocka_unit_test(test_R03_a_node_in_two_racks),
        cmocka_unit_test(test_R03_without_its_like),
        cmocka_unit_test(test_R04_what_a_node_may_lack),
        cmocka_unit_test(test_R05_an_error_of_the_past),
        cmocka_unit_test(test_R06_a_rack_without_bindings),
    };

    return cmocka_run_group_tests_name("scenarios I, R", tests, NULL, NULL);
}
