/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/questions.h"
#include "tests/unit/placer_sim.h"

#define POOL_A "{\"nodeSelector\":{\"matchLabels\":{\"pool\":\"a\"}}}"
#define GROUPS                                                                 \
    "[{\"id\":\"g\",\"count\":2,\"profileRef\":{\"name\":\"p\"},"              \
    "\"placement\":" POOL_A "},"                                               \
    "{\"id\":\"h\",\"count\":1,\"profileRef\":{\"name\":\"missing\"},"         \
    "\"placement\":{\"nodeSelector\":{\"matchLabels\":{\"pool\":\"h\"}}}}]"

static char *
why(const struct sim *s, const char *node)
{
    struct buf out = {0};
    struct err err;

    if (question_why(&s->p, str_of(node), &out, &err) != 0)
        fail_msg("%s", err.text);
    return buf_take(&out);
}

/* The first line is that, and the words are in the rest. */
static void
check_why(const struct sim *s, const char *node, const char *first,
          const char *word)
{
    char *text = why(s, node);
    char *wanted = mem_printf("%s: %s", node, first);

    if (strncmp(text, wanted, strlen(wanted)) != 0 ||
        strstr(text, word) == NULL)
        fail_msg("wanted %s and \"%s\", but it is\n%s", wanted, word, text);
    free(text);
    free(wanted);
}

static void
check_known(const struct sim *s, const char *node, bool known)
{
    char *text = why(s, node);

    assert_int_equal(question_why_knows(str_of(node), str_of(text)), known);
    free(text);
}

/* Two racks of two Nodes, the first with n1 and n2. */
static void
begin(struct sim *s)
{
    sim_init(s);
    sim_profile(s, "p", 1, 2);
    sim_inventory(s, &(struct sim_inventory){
                         .name = "lab", .groups = GROUPS, .generation = 1});
    sim_rack(s, &(struct sim_rack){.inventory = "lab",
                                   .group = "g",
                                   .slots = 2,
                                   .nodes = {"n1", "n2"}});
    sim_node(s, &(struct sim_node){.name = "n1", .pool = "a", .created = 1});
}

static void
test_why_of_each_outcome_of_mokka_api_9(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    sim_node(&s, &(struct sim_node){.name = "n2", .pool = "b", .created = 2});
    sim_node(&s, &(struct sim_node){.name = "n3", .pool = "a", .created = 3});
    sim_node(&s, &(struct sim_node){.name = "n4", .pool = "a", .created = 4});
    sim_node(&s, &(struct sim_node){.name = "n5", .pool = "a", .created = 5});
    sim_node(&s, &(struct sim_node){.name = "n6", .pool = "a", .created = 6});
    sim_node(&s, &(struct sim_node){.name = "n7", .created = 7});
    sim_synced(&s);
    check_why(&s, "n1", "assigned, not projected yet", "slot 0 of group lab/g");
    check_why(&s, "n2", "gives its slot up: SelectorMismatch", "mokka-api 9.2");
    check_why(&s, "n3", "gets slot 0 of rack", "");
    check_why(&s, "n5", "pending: group lab/g has no free slot",
              "0 Nodes wait before it");
    check_why(&s, "n6", "pending: group lab/g has no free slot",
              "1 Nodes wait before it");
    check_why(&s, "n7", "not assigned: no group selects it",
              "lab/g does not select it");
    check_why(&s, "n7", "not assigned: no group selects it",
              "lab/h takes no part");
    check_why(&s, "n9",
              "not known: there is no such Node, or it has not the label "
              "mokka.nvidia.com/sgpu-node=true",
              "kubectl label node n9");
    check_known(&s, "n7", true);
    check_known(&s, "n9", false);
    sim_fini(&s);
}

/* The reason is the rack's, as it is when it is retired, and not what placing
 * makes of a group that takes no part. */
static void
test_why_of_racks_that_go_mokka_control_4_5(void **state)
{
    static const char *const slot = "slot 0 of group lab/g";
    struct sim s;

    (void)state;
    begin(&s);
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "g",
                                    .index = 2,
                                    .slots = 2,
                                    .nodes = {"n5"}});
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "gone",
                                    .slots = 2,
                                    .nodes = {"n3"}});
    sim_node(&s, &(struct sim_node){.name = "n5", .pool = "a", .created = 2});
    sim_node(&s, &(struct sim_node){.name = "n3", .pool = "a", .created = 3});
    sim_synced(&s);
    check_why(&s, "n5", "gives its slot up: CapacityShrink", "mokka-api 7.6");
    check_why(&s, "n3", "gives its slot up: GroupRemoved", "mokka-api 7.6");
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "g",
                                    .slots = 2,
                                    .nodes = {"n1", "n2"},
                                    .deleting = true});
    sim_batch(&s);
    check_why(&s, "n1", "gives its slot up: RackDeleting", slot);
    check_why(&s, "n2", "gives its slot up: RackDeleting", "slot 1");
    sim_inventory(&s, &(struct sim_inventory){.name = "lab",
                                              .groups = GROUPS,
                                              .generation = 1,
                                              .deleting = true});
    sim_batch(&s);
    check_why(&s, "n1", "gives its slot up: InventoryDeleting", slot);
    check_why(&s, "n5", "gives its slot up: InventoryDeleting",
              "lab/g takes no part now: its inventory is being deleted");
    sim_fini(&s);
}

static void
test_why_of_a_group_that_takes_no_part_mokka_api_9_6(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    sim_rack(
        &s, &(struct sim_rack){
                .inventory = "lab", .group = "h", .slots = 2, .nodes = {"n5"}});
    sim_node(&s, &(struct sim_node){.name = "n5", .pool = "h", .created = 2});
    sim_synced(&s);
    check_why(&s, "n5", "bound, and left as it is: its group takes no part now",
              "lab/h takes no part: ");
    sim_fini(&s);
}

static void
test_why_of_conflicts(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    sim_node(&s, &(struct sim_node){.name = "n3", .pool = "a", .created = 3});
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "g",
                                    .index = 1,
                                    .slots = 2,
                                    .nodes = {"n1"}});
    sim_inventory(&s,
                  &(struct sim_inventory){
                      .name = "other",
                      .generation = 1,
                      .groups = "[{\"id\":\"x\",\"count\":1,\"profileRef\":{"
                                "\"name\":\"p\"},\"placement\":" POOL_A "}]"});
    sim_synced(&s);
    check_why(&s, "n1", "2 slots name it (DuplicateBinding)", "(index 1)");
    check_why(&s, "n3", "not assigned: 2 groups select it (SelectorOverlap)",
              "other/x selects it");
    sim_fini(&s);
}

static void
test_why_of_a_projection_that_stands(void **state)
{
    const struct object_rack *rack;
    struct arena arena = {0};
    struct projection p;
    struct sim s;
    const char *name;

    (void)state;
    begin(&s);
    name = sim_rack(
        &s, &(struct sim_rack){
                .inventory = "lab", .group = "g", .slots = 2, .nodes = {"n1"}});
    rack = &world_rack(&s.p.world, name)->o;
    p = project_wanted(rack, &rack->slots[0], true, &arena);
    sim_node(&s, &(struct sim_node){.name = "n1",
                                    .pool = "a",
                                    .created = 1,
                                    .assignment = p.annotation.s,
                                    .clique = p.clique});
    sim_synced(&s);
    check_why(&s, "n1", "assigned and projected", LABEL_ASSIGNED "=true: ours");
    sim_node(&s, &(struct sim_node){.name = "n1",
                                    .pool = "a",
                                    .created = 1,
                                    .assignment = p.annotation.s,
                                    .clique = "another"});
    sim_batch(&s);
    check_why(&s, "n1", "assigned, not projected: NodeMetadataConflict",
              LABEL_CLIQUE "=another: ours (in the way)");
    arena_fini(&arena);
    sim_fini(&s);
}

static char *
assignments(const struct sim *s, const char *name, const char *uid)
{
    struct buf out = {0};
    struct err err;

    assert_int_equal(
        question_assignments(&s->p, str_of(name), str_of(uid), &out, &err), 0);
    return buf_take(&out);
}

static void
test_C08_assignments_are_exact_and_sorted(void **state)
{
    const char *first, *second;
    char *text, *wanted;
    struct sim s;

    (void)state;
    begin(&s);
    second =
        sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                        .group = "g",
                                        .name = "z",
                                        .index = 1,
                                        .slots = 4,
                                        .nodes = {"n3", NULL, NULL, "n3"}});
    first = sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                            .group = "h",
                                            .name = "a",
                                            .slots = 1,
                                            .nodes = {"n3"}});
    sim_synced(&s);
    wanted = mem_printf("%s\ta\th\t0\t0\n%s\tz\tg\t1\t0\n%s\tz\tg\t1\t3\n",
                        first, second, second);
    text = assignments(&s, "n3", "n3-uid");
    assert_string_equal(text, wanted);
    free(text);
    free(wanted);
    text = assignments(&s, "n3", "n1-uid");
    assert_string_equal(text, "");
    free(text);
    text = assignments(&s, "n", "n3-uid");
    assert_string_equal(text, "");
    free(text);
    sim_fini(&s);
}

static void
test_C08_nothing_is_answered_before_the_snapshot_or_without_arguments(
    void **state)
{
    struct buf out = {0};
    struct err err;
    struct sim s;

    (void)state;
    begin(&s);
    assert_int_equal(
        question_assignments(&s.p, STR("n1"), STR("n1-uid"), &out, &err), -1);
    assert_non_null(strstr(err.text, "not ready"));
    assert_int_equal(question_why(&s.p, STR("n1"), &out, &err), -1);
    assert_non_null(strstr(err.text, "not ready"));
    sim_synced(&s);
    assert_int_equal(question_assignments(&s.p, STR(""), STR("u"), &out, &err),
                     -1);
    assert_int_equal(question_assignments(&s.p, STR("n"), STR(""), &out, &err),
                     -1);
    assert_int_equal(out.len, 0);
    sim_fini(&s);
}

/* Questions are put to a standby, too, and change nothing. */
static void
test_a_standby_answers_and_says_nothing_to_the_projector(void **state)
{
    struct buf out = {0};
    struct err err;
    struct sim s;

    (void)state;
    begin(&s);
    placer_term_ended(&s.p);
    sim_synced(&s);
    sim_forget(&s);
    check_why(&s, "n1", "assigned, not projected yet",
              "the leader: this replica stands by");
    assert_int_equal(question_dump(&s.p, &out, &err), 0);
    assert_non_null(memmem(buf_bytes(&out), out.len, "\"n1-uid\"", 8));
    assert_int_equal(s.count, 0);
    buf_fini(&out);
    sim_fini(&s);
}

/* Nothing is written yet, and it is not the placer that is waited for. */
static void
test_why_of_a_term_that_has_not_seen_the_racks(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    placer_term_began(&s.p, s.p.term + 1);
    sim_synced(&s);
    check_why(&s, "n1", "assigned, not projected yet",
              "the informer, to list the racks once in this term");
    sim_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_of_each_outcome_of_mokka_api_9),
        cmocka_unit_test(test_why_of_racks_that_go_mokka_control_4_5),
        cmocka_unit_test(test_why_of_a_group_that_takes_no_part_mokka_api_9_6),
        cmocka_unit_test(test_why_of_conflicts),
        cmocka_unit_test(test_why_of_a_projection_that_stands),
        cmocka_unit_test(test_C08_assignments_are_exact_and_sorted),
        cmocka_unit_test(
            test_C08_nothing_is_answered_before_the_snapshot_or_without_arguments),
        cmocka_unit_test(
            test_a_standby_answers_and_says_nothing_to_the_projector),
        cmocka_unit_test(test_why_of_a_term_that_has_not_seen_the_racks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
