/* SPDX-License-Identifier: Apache-2.0 */
/* Materialising racks: what the feed tells, what the placer says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/kube/http.h"
#include "projector/task.h"
#include "tests/unit/lab.h"

/* Three Nodes for two racks of two. */
static void
begin(struct lab *l)
{
    lab_init(l);
    lab_profile(l, "p", 2);
    lab_inventory(l, "lab", 1, "[" LAB_GROUP("a", 2) "]");
    lab_node(l, "n3", 3, NULL);
    lab_node(l, "n1", 1, NULL);
    lab_node(l, "n2", 2, NULL);
}

static void
converge(struct lab *l)
{
    begin(l);
    lab_start(l);
    lab_quiet(l);
}

static void
test_M01_racks_are_made_and_filled(void **state)
{
    struct lab l;
    const char *rack;
    char *owner;
    char *uid;

    (void)state;
    begin(&l);
    lab_start(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/a/0 n1 n2\n"
                    "create lab/a/1 n3 -\n"
                    "apply n1 lab/a/0/0\n"
                    "apply n2 lab/a/0/1\n"
                    "apply n3 lab/a/1/0\n");
    rack = lab_rack(&l, "lab", "a", 1);
    uid = mem_printf("\"%s\"", lab_uid(&l, KIND_INVENTORY, "lab"));
    owner = mem_printf("[{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\","
                       "\"kind\":\"SGPUInventory\",\"name\":\"lab\",\"uid\":%s,"
                       "\"controller\":true,\"blockOwnerDeletion\":false}]",
                       uid);
    assert_at(&l, KIND_INVENTORY, "lab", "metadata.finalizers",
              "[\"mokka.nvidia.com/inventory-cleanup\"]");
    assert_at(&l, KIND_RACK, rack, "metadata.finalizers",
              "[\"mokka.nvidia.com/rack-cleanup\"]");
    assert_at(&l, KIND_RACK, rack, "metadata.labels",
              "{\"mokka.nvidia.com/inventory\":\"lab\","
              "\"mokka.nvidia.com/rack-group\":\"a\","
              "\"mokka.nvidia.com/rack-index\":\"1\"}");
    assert_int_equal(
        json_object_size(lab_at(&l, KIND_RACK, rack, "metadata.annotations")),
        1);
    assert_string_equal(
        json_str(lab_at(&l, KIND_RACK, rack, "metadata.annotations"),
                 "mokka.nvidia.com/inventory-uid")
            .s,
        lab_uid(&l, KIND_INVENTORY, "lab"));
    assert_at(&l, KIND_RACK, rack, "metadata.ownerReferences", owner);
    free(owner);
    free(uid);
    lab_fini(&l);
}

/* Neither a new version of every object nor a new placer is a reason. */
static void
test_M02_converged_is_silent(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const char *name;
        json_t *object;

        json_object_foreach(l.objects[kind], name, object)
        {
            assert_non_null(object);
            lab_changed(&l, (enum object_kind)kind, name);
        }
    }
    lab_settle(&l);
    assert_silent(&l);
    lab_restart(&l);
    assert_silent(&l);
    lab_fini(&l);
}

static void
test_M03_a_newcomer_moves_nobody(void **state)
{
    struct lab l;

    (void)state;
    converge(&l);
    lab_node(&l, "n0", 0, NULL); /* sorts before all that are bound */
    lab_settle(&l);
    assert_told(&l, "update lab/a/1 n3 n0\n"
                    "apply n0 lab/a/1/1\n");
    assert_bound(&l, lab_rack(&l, "lab", "a", 0), "n1 n2");
    assert_usage(&l, "lab", 4, 4, 0, 0);
    lab_node(&l, "n00", 0, NULL);
    lab_settle(&l);
    assert_told(&l, "");
    assert_usage(&l, "lab", 5, 4, 0, 1);
    assert_stands(&l, KIND_INVENTORY, "lab", "RequestsSatisfied",
                  "False PendingNodes");
    lab_fini(&l);
}

static void
test_M04_one_request_for_each_missing_rack(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 2);
    lab_inventory(&l, "lab", 1, "[" LAB_GROUP("a", 8) "]");
    lab_edit(&l, KIND_INVENTORY, "lab", "metadata.finalizers",
             "[\"mokka.nvidia.com/inventory-cleanup\"]");
    lab_start(&l);
    assert_told(&l, "create lab/a/0 - -\n"
                    "create lab/a/1 - -\n"
                    "create lab/a/2 - -\n"
                    "create lab/a/3 - -\n"
                    "create lab/a/4 - -\n"
                    "create lab/a/5 - -\n"
                    "create lab/a/6 - -\n"
                    "create lab/a/7 - -\n");
    lab_fini(&l);
}

static void
test_M05_a_name_that_is_no_label_value(void **state)
{
    static const char name[] = "a.dns-1123.subdomain-that-is-longer-than-the-"
                               "sixty-three-bytes-of-a-label";
    struct lab l;
    const char *rack;

    (void)state;
    assert_true(strlen(name) > 63);
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_inventory(&l, name, 1, "[" LAB_GROUP("a", 1) "]");
    lab_start(&l);
    rack = lab_rack(&l, name, "a", 0);
    assert_at(&l, KIND_RACK, rack, "metadata.labels",
              "{\"mokka.nvidia.com/rack-group\":\"a\","
              "\"mokka.nvidia.com/rack-index\":\"0\"}");
    assert_string_equal(
        json_str(lab_at(&l, KIND_RACK, rack, "metadata.annotations"),
                 "mokka.nvidia.com/inventory-uid")
            .s,
        lab_uid(&l, KIND_INVENTORY, name));
    lab_fini(&l);
}

/* Groups share what was compiled, and it stands while the generation does. */
static void
test_M06_one_revision_for_each_profile(void **state)
{
    const struct profile_slot *compiled;
    const char *racks[3];
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_profile(&l, "q", 2);
    lab_edit(&l, KIND_PROFILE, "q", "spec.node.gpus.count", "1");
    lab_inventory(&l, "lab", 1,
                  "[" LAB_GROUP("a", 1) "," LAB_GROUP(
                      "b", 1) ",{\"id\":\"c\","
                              "\"count\":1,\"profileRef\":{\"name\":\"q\"}}]");
    lab_start(&l);
    assert_ptr_equal(sim_group(&l.s, "lab", "a")->profile,
                     sim_group(&l.s, "lab", "b")->profile);
    racks[0] = lab_rack(&l, "lab", "a", 0);
    racks[1] = lab_rack(&l, "lab", "b", 0);
    racks[2] = lab_rack(&l, "lab", "c", 0);
    for (int i = 0; i < 3; i++) {
        json_t *ref = lab_at(&l, KIND_RACK, racks[i], "spec.profileRef");
        const struct world_profile *p =
            world_profile(&l.s.p.world, i == 2 ? "q" : "p");

        assert_string_equal(json_str(ref, "name").s, p->spec.name);
        assert_string_equal(json_str(ref, "uid").s, p->spec.uid);
        assert_int_equal(json_int(ref, "generation"), p->spec.generation);
        assert_string_equal(json_str(ref, "revision").s, p->spec.revision);
    }
    assert_string_not_equal(world_profile(&l.s.p.world, "p")->spec.revision,
                            world_profile(&l.s.p.world, "q")->spec.revision);
    compiled = world_profile(&l.s.p.world, "p")->spec.slots;
    lab_edit(&l, KIND_PROFILE, "p", "metadata.labels", "{\"a\":\"b\"}");
    lab_quiet(&l);
    lab_settle(&l);
    assert_silent(&l);
    assert_ptr_equal(world_profile(&l.s.p.world, "p")->spec.slots, compiled);
    lab_fini(&l);
}

static void
test_M07_a_missing_profile_stops_its_group_only(void **state)
{
    struct lab l;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 1);
    lab_inventory(&l, "lab", 1,
                  "[{\"id\":\"a\",\"count\":3,\"profileRef\":{\"name\":"
                  "\"none\"}}," LAB_GROUP("b", 2) "]");
    lab_start(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/b/0 -\n"
                    "create lab/b/1 -\n");
    assert_stands(&l, KIND_INVENTORY, "lab", "ResolvedRefs",
                  "False ProfileNotFound");
    lab_fini(&l);
}

static void
test_M11_selectors_on_projected_labels(void **state)
{
    static const char *const keys[] = {"mokka.nvidia.com/sgpu-assigned",
                                       "nvidia.com/gpu.clique"};

    (void)state;
    for (size_t i = 0; i < nitems(keys); i++) {
        char *selector =
            mem_printf("{\"nodeSelector\":{\"matchExpressions\":[{\"key\":"
                       "\"%s\",\"operator\":\"Exists\"}]}}",
                       keys[i]);
        struct lab l;
        const char *message;

        converge(&l);
        lab_edit(&l, KIND_INVENTORY, "lab", "spec.rackGroups.0.placement",
                 selector);
        lab_settle(&l);
        assert_told(&l, "");
        assert_stands(&l, KIND_INVENTORY, "lab", "Accepted",
                      "False InvalidInventory");
        message = json_string_value(
            lab_at(&l, KIND_INVENTORY, "lab", "status.conditions.0.message"));
        assert_non_null(strstr(message, keys[i]));
        assert_non_null(strstr(message, "group a"));
        free(selector);
        lab_fini(&l);
    }
}

static void
test_M12_a_profile_that_is_made_anew(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    lab_delete(&l, KIND_PROFILE, "p");
    lab_settle(&l);
    assert_told(&l, "");
    assert_stands(&l, KIND_INVENTORY, "lab", "ResolvedRefs",
                  "False ProfileNotFound");
    lab_profile(&l, "p", 2);
    lab_edit(&l, KIND_PROFILE, "p", "spec.node.gpus.memory.capacity",
             "\"2Gi\"");
    lab_settle(&l);
    assert_told(&l, "update lab/a/0 n1 n2\n"
                    "update lab/a/1 n3 -\n"
                    "apply n1 lab/a/0/0\n"
                    "apply n2 lab/a/0/1\n"
                    "apply n3 lab/a/1/0\n");
    rack = lab_rack(&l, "lab", "a", 0);
    assert_string_equal(
        json_string_value(lab_at(&l, KIND_RACK, rack, "spec.profileRef.uid")),
        lab_uid(&l, KIND_PROFILE, "p"));
    lab_fini(&l);
}

static void
test_M13_a_profile_edit_updates_every_rack(void **state)
{
    json_t *before;
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "lab", "a", 0);
    before = json_deep_copy(lab_find(&l, KIND_RACK, rack));
    lab_edit(&l, KIND_PROFILE, "p", "spec.node.gpus.model",
             "{\"product\":\"new\"}");
    lab_settle(&l);
    assert_told(&l, "update lab/a/0 n1 n2\n"
                    "update lab/a/1 n3 -\n"
                    "apply n1 lab/a/0/0\n"
                    "apply n2 lab/a/0/1\n"
                    "apply n3 lab/a/1/0\n");
    assert_int_equal(json_object_size(l.objects[KIND_RACK]), 2);
    assert_true(json_equal(json_at(before, "metadata.uid"),
                           lab_at(&l, KIND_RACK, rack, "metadata.uid")));
    assert_true(json_equal(json_at(before, "spec.nodes"),
                           lab_at(&l, KIND_RACK, rack, "spec.nodes")));
    assert_false(json_equal(json_at(before, "spec.profileRef"),
                            lab_at(&l, KIND_RACK, rack, "spec.profileRef")));
    json_decref(before);
    lab_fini(&l);
}

/* Creates of one group may be on their way together; after the first such
 * answer none of them is sent again until an input changes. */
static void
test_M14_a_create_that_is_invalid(void **state)
{
    struct lab l;

    (void)state;
    begin(&l);
    l.held = MSG_RACK_WRITE;
    lab_start(&l);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/a/0 n1 n2\n"
                    "create lab/a/1 n3 -\n");
    lab_answer(&l, MSG_RACK_WRITE, lab_rack(&l, "lab", "a", 0), OUTCOME_INVALID,
               "");
    lab_settle(&l);
    /* The other is called back, which may have been too late. */
    assert_told(&l, "look lab/a/1\n");
    lab_changed(&l, KIND_INVENTORY, "lab");
    lab_changed(&l, KIND_NODE, "n1");
    lab_settle(&l);
    assert_told(&l, "");
    assert_stands(&l, KIND_INVENTORY, "lab", "ResolvedRefs",
                  "False InvalidProfile");
    l.held = 0;
    lab_edit(&l, KIND_PROFILE, "p", "spec.node.gpus.model",
             "{\"product\":\"new\"}");
    lab_settle(&l);
    assert_told(&l, "create lab/a/0 n1 n2\n"
                    "create lab/a/1 n3 -\n"
                    "apply n1 lab/a/0/0\n"
                    "apply n2 lab/a/0/1\n"
                    "apply n3 lab/a/1/0\n");
    assert_stands(&l, KIND_INVENTORY, "lab", "ResolvedRefs",
                  "True ProfilesResolved");
    lab_fini(&l);
}

/* How the projector takes an answer to an order. */
static struct answer
answer(const struct lab_asked *a, int status, const char *body)
{
    struct unpacked *u = unpack_body(buf_str(&a->body), NULL);
    struct order *order = order_new(a->type, a->id, unpacked_root(u), NULL);
    struct task *task = task_new(order, false);
    const struct kube_response response = {
        .status = status,
        .body = str_of(body),
        .content_type = "application/json",
        .method = "POST",
        .url = "",
    };
    struct answer answer;

    assert_int_equal(task_begin(task), TASK_SEND);
    assert_string_equal(task_request(task)->method, "POST");
    assert_int_equal(task_answered(task, &response, 0), TASK_END);
    answer = *task_answer(task);
    answer.uid = answer.version = answer.reason = STR("");
    task_free(task);
    free(order);
    unpacked_free(u);
    return answer;
}

/* The projector tries again by itself, and says nothing meanwhile. */
static void
test_M15_a_server_in_trouble(void **state)
{
    struct lab l;
    struct answer a;

    (void)state;
    begin(&l);
    l.held = MSG_RACK_WRITE;
    lab_start(&l);
    a = answer(lab_asked(&l, MSG_RACK_WRITE, lab_rack(&l, "lab", "a", 0)), 503,
               "{\"kind\":\"Status\",\"reason\":\"ServiceUnavailable\"}");
    assert_int_equal(a.verdict, VERDICT_FAILED);
    assert_true(a.server);
    assert_told(&l, "finalizer lab on\n"
                    "create lab/a/0 n1 n2\n"
                    "create lab/a/1 n3 -\n");
    assert_stands(&l, KIND_INVENTORY, "lab", "ResolvedRefs",
                  "True ProfilesResolved");
    assert_stands(&l, KIND_INVENTORY, "lab", "Programmed",
                  "False RacksPending");
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "apply n1 lab/a/0/0\n"
                    "apply n2 lab/a/0/1\n"
                    "apply n3 lab/a/1/0\n");
    lab_fini(&l);
}

/* Ours stands already, made by a predecessor with another binding: it is left
 * as it is until the feed shows it, and its binding stays. */
static void
test_M16_a_create_meets_a_rack_of_ours(void **state)
{
    struct lab l;
    const char *rack;
    json_t *standing;

    (void)state;
    lab_init(&l);
    lab_profile(&l, "p", 2);
    lab_inventory(&l, "lab", 1, "[" LAB_GROUP("a", 1) "]");
    lab_node(&l, "n2", 2, NULL);
    lab_start(&l);
    lab_quiet(&l);
    rack = lab_rack(&l, "lab", "a", 0);
    standing = json_incref(lab_find(&l, KIND_RACK, rack));
    lab_node(&l, "n1", 1, NULL);
    json_object_del(l.objects[KIND_RACK], rack);
    l.held = MSG_RACK_WRITE;
    lab_restart(&l);
    assert_told(&l, "create lab/a/0 n1 n2\n");
    l.lags = true;
    json_put(standing, "metadata.resourceVersion",
             json_string(sim_version(&l.s).s));
    json_object_set_new(l.objects[KIND_RACK], rack, standing);
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "");
    assert_bound(&l, rack, "n2 -");
    l.lags = false;
    lab_changed(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_told(&l, "update lab/a/0 n2 n1\n"
                    "apply n1 lab/a/0/1\n");
    lab_fini(&l);
}

/* Somebody put a label on the rack meanwhile: the write is made again, once,
 * and keeps it. */
static void
test_M18_a_conflict_with_the_same_spec(void **state)
{
    struct lab l;
    const char *rack;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "lab", "a", 1);
    l.held = MSG_RACK_WRITE;
    lab_node(&l, "n4", 4, NULL);
    lab_settle(&l);
    assert_told(&l, "update lab/a/1 n3 n4\n");
    json_object_set_new(lab_at(&l, KIND_RACK, rack, "metadata.labels"),
                        "theirs", json_string("x"));
    json_put(lab_find(&l, KIND_RACK, rack), "metadata.resourceVersion",
             json_string(sim_version(&l.s).s));
    l.held = 0;
    lab_settle(&l);
    assert_told(&l, "");
    lab_changed(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_told(&l, "update lab/a/1 n3 n4\n"
                    "apply n4 lab/a/1/1\n");
    assert_string_equal(
        json_str(lab_at(&l, KIND_RACK, rack, "metadata.labels"), "theirs").s,
        "x");
    lab_fini(&l);
}

static void
test_M24_a_deleted_rack_is_made_again(void **state)
{
    struct lab l;
    const char *rack;
    char *uid;

    (void)state;
    converge(&l);
    rack = lab_rack(&l, "lab", "a", 0);
    uid = mem_strdup(lab_uid(&l, KIND_RACK, rack));
    lab_delete(&l, KIND_RACK, rack);
    lab_settle(&l);
    assert_told(&l, "release n1\n"
                    "release n2\n"
                    "delete lab/a/0\n"
                    "create lab/a/0 n1 n2\n"
                    "apply n1 lab/a/0/0\n"
                    "apply n2 lab/a/0/1\n");
    assert_string_not_equal(lab_uid(&l, KIND_RACK, rack), uid);
    assert_retired(&l, rack, "RackDeleting");
    free(uid);
    lab_fini(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M01_racks_are_made_and_filled),
        cmocka_unit_test(test_M02_converged_is_silent),
        cmocka_unit_test(test_M03_a_newcomer_moves_nobody),
        cmocka_unit_test(test_M04_one_request_for_each_missing_rack),
        cmocka_unit_test(test_M05_a_name_that_is_no_label_value),
        cmocka_unit_test(test_M06_one_revision_for_each_profile),
        cmocka_unit_test(test_M07_a_missing_profile_stops_its_group_only),
        cmocka_unit_test(test_M11_selectors_on_projected_labels),
        cmocka_unit_test(test_M12_a_profile_that_is_made_anew),
        cmocka_unit_test(test_M13_a_profile_edit_updates_every_rack),
        cmocka_unit_test(test_M14_a_create_that_is_invalid),
        cmocka_unit_test(test_M15_a_server_in_trouble),
        cmocka_unit_test(test_M16_a_create_meets_a_rack_of_ours),
        cmocka_unit_test(test_M18_a_conflict_with_the_same_spec),
        cmocka_unit_test(test_M24_a_deleted_rack_is_made_again),
    };

    return cmocka_run_group_tests_name("scenarios M", tests, NULL, NULL);
}
