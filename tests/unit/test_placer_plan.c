/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/unit/placer_sim.h"

#define GROUP(id, count, profile)                                              \
    "{\"id\":\"" id "\",\"count\":" #count ",\"profileRef\":{\"name\":"        \
    "\"" profile "\"}}"

static void
declare(struct sim *s, const char *name, int64_t created, const char *groups)
{
    sim_inventory(s, &(struct sim_inventory){.name = name,
                                             .groups = groups,
                                             .created = created,
                                             .generation = 1});
}

/* n Nodes of so many GPUs. */
static char *
profile_spec(int nodes, int gpus)
{
    json_t *spec;
    json_t *slots = json_array();
    char *text = sim_profile_spec(nodes);

    spec = json_text(text);
    free(text);
    for (int i = 0; i < gpus; i++) {
        text = mem_printf("{\"index\":%d,\"pciAddress\":\"0000:%02x:00.0\","
                          "\"rootComplex\":\"pci0000:00\"}",
                          i, i);
        json_array_append_new(slots, json_text(text));
        free(text);
    }
    json_put(spec, "node.gpus.count", json_integer(gpus));
    json_put(spec, "node.topology.gpuSlots", slots);
    text = json_dumps(spec, JSON_COMPACT);
    json_decref(spec);
    return text;
}

static void
put_profile(struct sim *s, const char *name, int nodes, int gpus)
{
    char *spec = profile_spec(nodes, gpus);

    sim_profile_text(s, name, 1, spec);
    free(spec);
}

/* 6.3: a missing profile and a bad one each cost their group alone. */
static void
test_6_3_not_found_and_invalid(void **state)
{
    struct sim s;
    const struct plan_group *g;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "good", 1, 2);
    sim_profile_text(&s, "bad", 1, "{\"rack\":{\"nodesPerRack\":2000}}");
    declare(&s, "lab", 1,
            "[" GROUP("a", 1, "missing") "," GROUP("b", 1, "bad") "," GROUP(
                "c", 2, "good") "]");
    sim_synced(&s);
    g = sim_group(&s, "lab", "a");
    assert_int_equal(g->issue, PLAN_NOT_FOUND);
    assert_null(g->profile);
    assert_non_null(strstr(g->why.text, "missing"));
    g = sim_group(&s, "lab", "b");
    assert_int_equal(g->issue, PLAN_INVALID);
    assert_null(g->profile);
    assert_non_null(strstr(g->why.text, "bad"));
    assert_non_null(strstr(g->why.text, "1024"));
    g = sim_group(&s, "lab", "c");
    assert_int_equal(g->issue, PLAN_RESOLVED);
    assert_int_equal(strlen(g->profile->revision), 64);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 2);
    assert_int_equal(s.p.plan.racks.count, 2);
    assert_condition(&s, "lab", "Accepted", "True Accepted");
    assert_condition(&s, "lab", "ResolvedRefs", "False InvalidProfile");
    sim_fini(&s);
}

/* It resolves once the profile is there, or is right. */
static void
test_6_3_holds_when_no_issue_remains(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile_text(&s, "p", 1, "{\"rack\":{\"nodesPerRack\":0}}");
    declare(&s, "lab", 1, "[" GROUP("a", 1, "p") "," GROUP("b", 1, "q") "]");
    sim_synced(&s);
    assert_condition(&s, "lab", "ResolvedRefs", "False InvalidProfile");
    sim_forget(&s);
    sim_profile(&s, "p", 2, 2);
    sim_batch(&s);
    assert_condition(&s, "lab", "ResolvedRefs", "False ProfileNotFound");
    sim_forget(&s);
    sim_profile(&s, "q", 1, 2);
    sim_batch(&s);
    assert_condition(&s, "lab", "ResolvedRefs", "True ProfilesResolved");
    sim_gone(&s, KIND_PROFILE, "q", "profile-uid");
    sim_batch(&s);
    assert_int_equal(sim_group(&s, "lab", "b")->issue, PLAN_NOT_FOUND);
    sim_fini(&s);
}

/* What a resolved group or their sum is too large for is refused as a whole. */
static void
test_6_3_capacity(void **state)
{
    static const struct {
        const char *groups;
        const char *accepted;
    } rows[] = {
        {"[" GROUP("a", 100, "p") "]", "True Accepted"},
        {"[" GROUP("a", 101, "p") "]", "False CapacityExceeded"},
        {"[" GROUP("a", 50, "p") "," GROUP("b", 50, "p") "]", "True Accepted"},
        {"[" GROUP("a", 50, "p") "," GROUP("b", 51, "p") "]",
         "False CapacityExceeded"},
        /* Unresolved ones count for nothing here. */
        {"[" GROUP("a", 100, "p") "," GROUP("b", 100, "none") "]",
         "True Accepted"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        bool accepted = rows[i].accepted[0] == 'T';
        struct sim s;

        sim_init(&s);
        sim_profile(&s, "p", 1, 1000);
        sim_node(&s, &(struct sim_node){.name = "n"});
        declare(&s, "lab", 1, rows[i].groups);
        sim_synced(&s);
        assert_condition(&s, "lab", "Accepted", rows[i].accepted);
        assert_int_equal(s.p.plan.racks.count > 0, accepted);
        if (!accepted)
            assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
        sim_fini(&s);
    }
}

/* A rack too large is an issue of the group before any rack is made. */
static void
test_6_3_rack_0_is_rendered(void **state)
{
    struct sim s;
    const struct plan_group *g;

    (void)state;
    sim_init(&s);
    put_profile(&s, "large", 1024, 5);
    put_profile(&s, "fits", 1024, 4);
    declare(&s, "lab", 1,
            "[" GROUP("a", 1, "large") "," GROUP("b", 1, "fits") "]");
    sim_synced(&s);
    g = sim_group(&s, "lab", "a");
    assert_int_equal(g->issue, PLAN_INVALID);
    assert_non_null(strstr(g->why.text, "1048576"));
    assert_int_equal(sim_group(&s, "lab", "b")->issue, PLAN_RESOLVED);
    assert_int_equal(sim_plan(&s, "lab")->desired.nodes, 1024);
    assert_int_equal(s.p.plan.racks.count, 1);
    sim_fini(&s);
}

/* An unresolved group keeps racks and bindings, and takes no Nodes. */
static void
test_6_3_unresolved_groups_stay(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "good", 1, 2);
    sim_node(&s, &(struct sim_node){.name = "n1", .created = 1});
    sim_node(&s, &(struct sim_node){.name = "n2", .created = 2});
    sim_rack(
        &s, &(struct sim_rack){
                .inventory = "lab", .group = "a", .slots = 2, .nodes = {"n1"}});
    declare(&s, "lab", 1, "[" GROUP("a", 1, "missing") "]");
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, NULL), 0);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 0);
    assert_int_equal(sim_said(&s, MSG_NODE_APPLY, NULL), 0);
    sim_fini(&s);
}

/* 8.2.1: an inventory that is not valid uses the budget all the same. */
static void
test_8_2_1_budget_before_validity(void **state)
{
    struct sim s;
    struct buf groups = {0};
    char *text;

    (void)state;
    sim_init(&s);
    for (int i = 0; i < 64; i++)
        buf_printf(&groups,
                   "%c{\"id\":\"Not A Label %d\",\"count\":1,\"profileRef\":{"
                   "\"name\":\"p\"}}",
                   i == 0 ? '[' : ',', i);
    buf_addc(&groups, ']');
    text = buf_take(&groups);
    sim_profile(&s, "p", 1, 1);
    declare(&s, "old", 1, text);
    declare(&s, "young", 2, "[" GROUP("a", 1, "p") "]");
    sim_synced(&s);
    assert_condition(&s, "young", "Accepted", "False CapacityExceeded");
    sim_gone(&s, KIND_INVENTORY, "old", "old-uid");
    sim_batch(&s);
    assert_condition(&s, "young", "Accepted", "True Accepted");
    free(text);
    sim_fini(&s);
}

/* 8.2.2: which racks are charged, and to whom. */
static void
test_8_2_2_what_stands(void **state)
{
    struct sim s;
    const struct plan_inventory *v;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, "lab", 1,
            "[" GROUP("a", 1, "p") "," GROUP("b", 1, "missing") "]");
    /* As stored, not as the profile says: 3 slots. */
    sim_rack(&s,
             &(struct sim_rack){.inventory = "lab", .group = "a", .slots = 3});
    sim_rack(&s,
             &(struct sim_rack){.inventory = "lab", .group = "b", .slots = 4});
    /* Of a group that is not declared. */
    sim_rack(&s,
             &(struct sim_rack){.inventory = "lab", .group = "c", .slots = 5});
    /* Of an inventory that is no more: in the total. */
    sim_rack(&s,
             &(struct sim_rack){.inventory = "gone", .group = "a", .slots = 6});
    /* Its controller is not its inventoryRef: nowhere. */
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "a",
                                    .index = 1,
                                    .slots = 7,
                                    .owner = "other"});
    sim_synced(&s);
    v = sim_plan(&s, "lab");
    assert_int_equal(s.p.plan.total.racks, 4);
    assert_int_equal(s.p.plan.total.nodes, 3 + 4 + 5 + 6);
    assert_int_equal(s.p.plan.total.gpus, 3 + 4 + 5 + 6);
    assert_int_equal(v->existing.racks, 3);
    assert_int_equal(v->existing.nodes, 3 + 4 + 5);
    assert_int_equal(v->kept.racks, 1);
    assert_int_equal(v->kept.nodes, 4);
    sim_fini(&s);
}

/* An existing rack of another instance is not this inventory's. */
static void
test_8_2_2_another_instance(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, "lab", 1, "[" GROUP("a", 1, "p") "]");
    sim_rack(&s,
             &(struct sim_rack){.inventory = "lab", .group = "a", .slots = 2});
    sim_synced(&s);
    assert_int_equal(sim_plan(&s, "lab")->existing.racks, 1);
    /* The same name comes again with another uid. */
    sim_inventory(&s,
                  &(struct sim_inventory){.name = "lab",
                                          .uid = "new-uid",
                                          .groups = "[" GROUP("a", 1, "p") "]",
                                          .created = 2,
                                          .generation = 1});
    sim_batch(&s);
    assert_int_equal(sim_plan(&s, "lab")->existing.racks, 0);
    assert_int_equal(s.p.plan.total.racks, 1);
    sim_fini(&s);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_6_3_not_found_and_invalid),
        cmocka_unit_test(test_6_3_holds_when_no_issue_remains),
        cmocka_unit_test(test_6_3_capacity),
        cmocka_unit_test(test_6_3_rack_0_is_rendered),
        cmocka_unit_test(test_6_3_unresolved_groups_stay),
        cmocka_unit_test(test_8_2_1_budget_before_validity),
        cmocka_unit_test(test_8_2_2_what_stands),
        cmocka_unit_test(test_8_2_2_another_instance),
    };

    return cmocka_run_group_tests_name("placer plan", tests, NULL, NULL);
}
