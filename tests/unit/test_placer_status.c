/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses (mokka-control 6.1 to 6.4): reasons, numbers and texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"

#define GROUP(id, count, profile, pool)                                        \
    "{\"id\":\"" id "\",\"count\":" #count                                     \
    ",\"profileRef\":{\"name\":\"" profile "\"},"                              \
    "\"placement\":{\"nodeSelector\":{\"matchLabels\":{\"pool\":\"" pool       \
    "\"}}}}"

static void
declare(struct sim *s, const char *name, int64_t created, const char *groups)
{
    sim_inventory(s, &(struct sim_inventory){.name = name,
                                             .groups = groups,
                                             .created = created,
                                             .generation = 1});
}

static void
node(struct sim *s, const char *name, const char *pool)
{
    sim_node(s, &(struct sim_node){.name = name, .pool = pool, .created = 1});
}

/* The status of an object as last said; to be given back. */
struct said {
    struct intent_status i;
    struct arena arena;
};

static void
read_said(struct said *out, const struct sim *s, const char *name)
{
    const struct sim_said *w = sim_last(s, MSG_STATUS_WRITE, name);
    struct unpacked *u = unpack_body(buf_str(&w->body), NULL);

    out->arena = (struct arena){0};
    assert_int_equal(
        intent_status_unpack(&out->i, unpacked_root(u), &out->arena, NULL), 0);
    unpacked_free(u);
}

/* A condition as "Status Reason: message". */
static void
assert_text(struct sim *s, const char *name, const char *type,
            const char *wanted)
{
    struct said said;
    char *text = NULL;

    read_said(&said, s, name);
    for (size_t n = 0; n < said.i.status.conditions.count; n++) {
        const struct condition *c = &said.i.status.conditions.items[n];

        if (str_is(c->type, type))
            text =
                mem_printf("%s %s: %s", c->status.s, c->reason.s, c->message.s);
    }
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
    arena_fini(&said.arena);
}

static void
assert_fields(struct sim *s, const char *name, const char *part)
{
    struct said said;

    read_said(&said, s, name);
    if (strstr(said.i.status.fields.s, part) == NULL)
        fail_msg("no %s in %s", part, said.i.status.fields.s);
    arena_fini(&said.arena);
}

/* The name of a rack of lab. */
static const char *
rack_name(struct sim *s, const char *group, uint32_t index)
{
    const struct object_ref inventory = sim_ref(s, "lab");
    char name[IDENTITY_NAME_MAX];

    identity_rack_name(inventory.name, inventory.uid, str_of(group), index,
                       name);
    return arena_str(&s->arena, str_of(name)).s;
}

/* A rack of lab that stands as it is to be, after the answer to its creation;
 * its name. */
static const char *
standing(struct sim *s, const char *group, int64_t index, const char *n0,
         const char *n1)
{
    const char *name = rack_name(s, group, (uint32_t)index);
    char digest[RACK_DIGEST];

    if (wish_look(&s->p.wishes, ACTION_RACK, str_of(name)).state == WISH_OPEN)
        sim_result(s, sim_last(s, MSG_RACK_WRITE, name), ACTION_RACK,
                   OUTCOME_DONE);

    sim_digest(s, "lab", group, index, digest);
    return sim_rack(s, &(struct sim_rack){.inventory = "lab",
                                          .group = group,
                                          .index = index,
                                          .slots = 2,
                                          .nodes = {n0, n1},
                                          .digest = digest});
}

/* A Node as it is once that slot is projected on it; keys of the projection
 * that somebody else holds. */
static void
project(struct sim *s, const char *name, const char *pool, const char *rack,
        int slot, int64_t foreign, const char *rivals)
{
    const struct world_rack *r = world_rack(&s->p.world, rack);
    struct arena arena = {0};
    struct projection w =
        project_wanted(&r->o, &r->o.slots[slot], true, &arena);
    struct object_ref ref = sim_ref(s, name);
    struct pair labels[] = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)},
                            {STR(LABEL_ASSIGNED), STR(LABEL_TRUE)},
                            {STR(LABEL_CLIQUE), str_of(w.clique)},
                            {STR("pool"), str_of(pool)}};
    struct object_node o = {
        .meta = {.name = ref.name,
                 .uid = ref.uid,
                 .version = sim_version(s),
                 .created = 1},
        .annotation = w.annotation,
        .ours = KEY_ALL & ~foreign,
        .foreign = foreign,
        .rivals = str_of(rivals),
    };
    struct buf body = {0};

    pairs_sort(labels, nitems(labels));
    o.meta.labels = (struct pairs){labels, nitems(labels), NULL};
    object_node_pack(&body, &o);
    sim_frame(s, MSG_NODE, 0, &body);
    arena_fini(&arena);
}

/* lab with racks of two slots for pool a, planned; what follows comes in a
 * batch. */
static void
start(struct sim *s, const char *groups)
{
    sim_init(s);
    sim_profile(s, "p", 1, 2);
    declare(s, "lab", 1, groups);
    sim_synced(s);
}

/* ---- 6.1 --------------------------------------------------------------- */

static void
test_status_6_1_matches_count_whether_or_not_a_group_takes_part(void **state)
{
    struct sim s;
    uint64_t asked;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(
        &s, "lab", 1,
        "[" GROUP("a", 1, "none", "a") "," GROUP("b", 1, "p", "b") "," GROUP(
            "c", 1, "none", "b") "," GROUP("d", 1, "none", "a") "]");
    node(&s, "n1", "a");
    node(&s, "n2", "b");
    node(&s, "n3", "b");
    sim_synced(&s);
    /* Distinct Nodes in sum, in each group as they match. */
    assert_fields(&s, "lab", "\"pendingNodes\":0,\"requestedNodes\":3}}");
    assert_fields(&s, "lab",
                  "\"id\":\"a\",\"profileName\":\"none\",\"usage\":{"
                  "\"allocatedNodes\":0,\"availableNodes\":0,"
                  "\"pendingNodes\":0,\"requestedNodes\":1}");
    assert_fields(&s, "lab",
                  "\"id\":\"c\",\"profileName\":\"none\",\"usage\":{"
                  "\"allocatedNodes\":0,\"availableNodes\":0,"
                  "\"pendingNodes\":0,\"requestedNodes\":2}");
    /* One Node more costs its own matches. */
    asked = s.p.alloc.evaluations;
    node(&s, "n4", "a");
    sim_batch(&s);
    assert_int_equal(s.p.alloc.evaluations - asked, 4);
    assert_fields(&s, "lab", "\"pendingNodes\":0,\"requestedNodes\":4}}");
    sim_gone(&s, KIND_NODE, "n1", "n1-uid");
    sim_gone(&s, KIND_NODE, "n2", "n2-uid");
    sim_batch(&s);
    assert_fields(&s, "lab", "\"pendingNodes\":0,\"requestedNodes\":2}}");
    sim_fini(&s);
}

/* I12: more racks than may be written at once are no smaller estate. */
static void
test_status_6_1_racks_not_looked_at_yet_count(void **state)
{
    struct sim s;

    (void)state;
    log_hand_to(sim_quiet, NULL);
    start(&s, "[" GROUP("a", 3000, "p", "a") "]");
    assert_true(s.p.starved);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), WISH_LIMIT);
    assert_int_equal(s.p.tally.inventories[0].wanted, 3000);
    assert_int_equal(s.p.tally.inventories[0].racks[TALLY_PENDING].count, 3000);
    sim_fini(&s);
    log_hand_to(NULL, NULL);
}

/* ---- 6.2 --------------------------------------------------------------- */

static void
test_status_6_2_groups_and_profiles_at_fault_are_named(void **state)
{
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "x", "a") "," GROUP("b", 1, "p", "b") "]");
    assert_text(&s, "lab", "ResolvedRefs",
                "False ProfileNotFound: group a: profile x does not exist");
    assert_text(&s, "lab", "Programmed",
                "False ReferencesUnresolved: no racks can be made of group a");
    declare(
        &s, "many", 2,
        "[" GROUP("a", 1, "x", "a") "," GROUP("b", 1, "x", "b") "," GROUP(
            "c", 1, "y", "c") "," GROUP("d", 1, "z", "d") "," GROUP("e", 1, "z",
                                                                    "e") "]");
    sim_profile_text(&s, "z", 1, "{}");
    sim_batch(&s);
    assert_text(&s, "many", "ResolvedRefs",
                "False InvalidProfile: group a: profile x does not exist; "
                "group b: profile x does not exist; group c: profile y does "
                "not exist and 2 more");
    assert_text(&s, "many", "Programmed",
                "False ReferencesUnresolved: no racks can be made of group a, "
                "b, c and 2 more");
    sim_fini(&s);
}

/* The last write of a rack of lab is refused; its name. */
static const char *
refuse(struct sim *s, enum outcome outcome)
{
    const struct sim_said *w = NULL;
    struct buf body = {0};

    for (size_t i = 0; i < s->count; i++)
        if (s->said[i].type == MSG_RACK_WRITE)
            w = &s->said[i];
    assert_non_null(w);
    result_pack(&body, &(struct result){.action = ACTION_RACK,
                                        .outcome = outcome,
                                        .name = str_of(w->name),
                                        .reason = STR("spec.x: too odd")});
    sim_frame(s, MSG_RESULT, w->id, &body);
    return w->name;
}

static void
test_status_6_2_M14_a_rack_that_the_server_refuses(void **state)
{
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    refuse(&s, OUTCOME_INVALID);
    assert_text(&s, "lab", "ResolvedRefs",
                "False InvalidProfile: group a: profile p: the API server "
                "refuses its racks: spec.x: too odd");
    assert_text(&s, "lab", "Programmed",
                "False ReferencesUnresolved: no racks can be made of group a");
    sim_fini(&s);
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    refuse(&s, OUTCOME_CONFLICT);
    assert_condition(&s, "lab", "Programmed", "False RacksPending");
    assert_condition(&s, "lab", "ResolvedRefs", "True ProfilesResolved");
    sim_fini(&s);
}

static void
test_status_6_2_racks_that_do_not_stand_and_why(void **state)
{
    const struct sim_rack old = {.inventory = "lab",
                                 .group = "a",
                                 .index = 1,
                                 .slots = 2,
                                 .digest = "an older one"};
    const struct sim_rack going = {
        .inventory = "lab", .group = "a", .slots = 2, .deleting = true};
    char *wanted;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 2, "p", "a") "]");
    standing(&s, "a", 0, NULL, NULL);
    sim_batch(&s);
    wanted =
        mem_printf("False RacksPending: racks that stand as declared: 1 of 2; "
                   "not yet: %s (not created yet)",
                   rack_name(&s, "a", 1));
    assert_text(&s, "lab", "Programmed", wanted);
    free(wanted);
    sim_rack(&s, &old);
    sim_rack(&s, &going);
    sim_batch(&s);
    /* lab-a-0-... is before lab-a-1-... */
    wanted =
        mem_printf("False RacksPending: racks that stand as declared: 0 of 2; "
                   "not yet: %s (being deleted), %s (not changed yet)",
                   rack_name(&s, "a", 0), rack_name(&s, "a", 1));
    assert_text(&s, "lab", "Programmed", wanted);
    free(wanted);
    sim_fini(&s);
}

static void
test_status_6_2_racks_of_somebody_else_are_named(void **state)
{
    const char *rack;
    char *wanted;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                           .group = "a",
                                           .slots = 2,
                                           .owner = "other"});
    sim_batch(&s);
    wanted = mem_printf(
        "False RackOwnershipConflict: 1 rack belongs to or was edited by "
        "somebody else: %s (controlled by SGPUInventory other); delete what "
        "stands there, and it is made anew",
        rack);
    assert_text(&s, "lab", "Programmed", wanted);
    free(wanted);
    sim_fini(&s);
}

static void
test_status_6_2_Nodes_that_wait_for_their_assignment(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    node(&s, "n1", "a");
    node(&s, "n2", "a");
    rack = standing(&s, "a", 0, "n1", "n2");
    project(&s, "n2", "a", rack, 1, 0, "");
    sim_batch(&s);
    assert_text(&s, "lab", "Programmed",
                "False ProjectionIncomplete: Nodes that carry their "
                "assignment: 1 of 2; not yet: Node n1");
    assert_text(&s, rack, "Ready",
                "False ProjectionIncomplete: Nodes that carry their "
                "assignment: 1 of 2; not yet: Node n1");
    project(&s, "n1", "a", rack, 0, KEY_CLIQUE | KEY_ASSIGNED,
            "kubelet;gpu-operator,dra;");
    sim_batch(&s);
    assert_text(
        &s, "lab", "Programmed",
        "False NodeMetadataConflict: Nodes that carry their assignment: 1 of "
        "2; on 1 "
        "somebody else holds a label or annotation of it: Node n1 (label "
        "mokka.nvidia.com/sgpu-assigned by kubelet, label "
        "nvidia.com/gpu.clique by gpu-operator,dra); take them off there");
    assert_text(
        &s, rack, "Ready",
        "False NodeMetadataConflict: Nodes that carry their assignment: 1 of "
        "2; somebody else holds a label or annotation: Node n1 (label "
        "mokka.nvidia.com/sgpu-assigned by kubelet, label "
        "nvidia.com/gpu.clique by gpu-operator,dra)");
    project(&s, "n1", "a", rack, 0, 0, "");
    sim_batch(&s);
    assert_text(&s, "lab", "Programmed",
                "True Programmed: every rack stands and every bound Node "
                "carries its assignment");
    assert_text(&s, rack, "Ready",
                "True Ready: every bound Node carries its assignment");
    sim_fini(&s);
}

/* The clique label is no part of what is waited for if it is left to others. */
static void
test_status_6_2_whose_the_clique_label_is_does_not_matter_without(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    s.p.no_clique = true;
    node(&s, "n1", "a");
    node(&s, "n2", "a");
    rack = standing(&s, "a", 0, "n1", "n2");
    project(&s, "n2", "a", rack, 1, KEY_CLIQUE, "gpu-feature-discovery");
    sim_batch(&s);
    assert_text(&s, rack, "Ready",
                "False ProjectionIncomplete: Nodes that carry their "
                "assignment: 1 of 2; not yet: Node n1");
    assert_text(&s, "lab", "Programmed",
                "False ProjectionIncomplete: Nodes that carry their "
                "assignment: 1 of 2; not yet: Node n1");
    sim_fini(&s);
}

static void
test_status_6_2_free_slots_and_the_labels_they_wait_for(void **state)
{
    struct sim s;

    (void)state;
    start(
        &s,
        "[" GROUP(
            "a", 3, "p",
            "a") ",{\"id\":\"b\",\"count\":1,"
                 "\"profileRef\":{\"name\":\"p\"},\"placement\":{"
                 "\"nodeSelector\":{"
                 "\"matchExpressions\":["
                 "{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"y\","
                 "\"x\"]},"
                 "{\"key\":\"tier\",\"operator\":\"NotIn\",\"values\":[\"z\"]},"
                 "{\"key\":\"gpu\",\"operator\":\"Exists\"},"
                 "{\"key\":\"old\",\"operator\":\"DoesNotExist\"}]}}}]");
    assert_text(
        &s, "lab", "RequestsSatisfied",
        "True RequestsSatisfied: every matching Node has a slot; free: 6 slots "
        "of group a (for Nodes with labels mokka.nvidia.com/sgpu-node=true,"
        "pool=a), 2 slots of group b (for Nodes with labels "
        "mokka.nvidia.com/sgpu-node=true,zone in (x,y),tier notin (z),gpu,!old"
        ")");
    sim_fini(&s);
}

static void
test_status_6_2_Nodes_that_wait_are_counted_and_the_first_named(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, "lab", 1,
            "[" GROUP("a", 1, "p", "a") "," GROUP("b", 1, "p", "b") "]");
    for (int i = 0; i < 9; i++) {
        char name[8];

        snprintf(name, sizeof(name), "n%d", 8 - i);
        node(&s, name, i == 5 || i == 3 || i == 1 ? "b" : "a");
    }
    sim_synced(&s);
    /* The first two of each have slots. */
    assert_text(
        &s, "lab", "RequestsSatisfied",
        "False PendingNodes: 5 Nodes wait for a free slot: 4 of group a "
        "(n2, n4, n6 and 1 more), 1 of group b (n7); raise the group's "
        "count, or select fewer Nodes");
    sim_fini(&s);
}

static void
test_status_6_2_Nodes_in_conflict_and_with_whom(void **state)
{
    const char *r0;
    const char *r1;
    char *wanted;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 2, "p", "a") "," GROUP("b", 1, "p", "b") "]");
    declare(&s, "other", 2,
            "[" GROUP("x", 1, "p", "b") "," GROUP("y", 1, "p", "b") "]");
    node(&s, "n1", "b");
    node(&s, "m1", "a");
    r0 = standing(&s, "a", 0, "m1", NULL);
    r1 = standing(&s, "a", 1, NULL, "m1");
    sim_batch(&s);
    if (strcmp(r0, r1) > 0) {
        const char *swap = r0;

        r0 = r1;
        r1 = swap;
    }
    wanted = mem_printf(
        "False PlacementConflicts: 2 Nodes are claimed more than once: Node m1 "
        "is bound in rack %s slot 0 and rack %s slot 1; Node n1 is selected by "
        "groups lab/b and other/x and other/y",
        r0, r1);
    assert_text(&s, "lab", "RequestsSatisfied", wanted);
    free(wanted);
    assert_text(&s, "other", "RequestsSatisfied",
                "False PlacementConflicts: 1 Node is claimed more than once: "
                "Node n1 is selected by groups lab/b and other/x and other/y");
    wanted = mem_printf(
        "False DuplicateBindings: bound to another slot, too: Node m1, also in "
        "rack %s slot 1",
        r1);
    assert_text(&s, r0, "Ready", wanted);
    free(wanted);
    sim_fini(&s);
}

/* Two Nodes of one uid, which cannot be: the later is left out, for as long as
 * the other is there. */
static void
test_status_6_2_two_Nodes_of_one_uid(void **state)
{
    struct pair label = {STR("pool"), STR("a")};
    struct pair labels[] = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)}, label};
    struct object_node o = {
        .meta = {.name = STR("n2"),
                 .uid = STR("n1-uid"),
                 .version = STR("77"),
                 .created = 2,
                 .labels = {labels, 2, NULL}},
    };
    struct buf body = {0};
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    node(&s, "n1", "a");
    pairs_sort(labels, 2);
    object_node_pack(&body, &o);
    sim_frame(&s, MSG_NODE, 0, &body);
    sim_batch(&s);
    assert_text(&s, "lab", "RequestsSatisfied",
                "False PlacementConflicts: 1 Node is claimed more than once: "
                "Node n2 is left out, since Node n1 has its uid");
    assert_fields(&s, "lab", "\"requestedNodes\":1}}");
    sim_gone(&s, KIND_NODE, "n1", "n1-uid");
    sim_batch(&s);
    assert_fields(&s, "lab", "\"requestedNodes\":1}}");
    assert_condition(&s, "lab", "RequestsSatisfied", "True RequestsSatisfied");
    sim_fini(&s);
}

static void
test_status_6_2_racks_that_are_more_still_there(void **state)
{
    const char *rack;
    const char *more;
    char *wanted;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    rack = standing(&s, "a", 0, NULL, NULL);
    more = sim_rack(
        &s, &(struct sim_rack){
                .inventory = "lab", .group = "a", .name = "copy", .slots = 2});
    sim_batch(&s);
    wanted = mem_printf(
        "True Programmed: every rack stands and every bound Node carries its "
        "assignment; 1 rack more still there: copy (in the place of %s, to be "
        "deleted)",
        rack);
    assert_text(&s, "lab", "Programmed", wanted);
    free(wanted);
    wanted = mem_printf("True Ready: every bound Node carries its assignment; "
                        "it goes, since its place is rack %s's",
                        rack);
    assert_text(&s, more, "Ready", wanted);
    free(wanted);
    sim_inventory(
        &s, &(struct sim_inventory){.name = "lab",
                                    .groups = "[" GROUP("a", 1, "p", "a") "]",
                                    .created = 1,
                                    .generation = 2,
                                    .deleting = true});
    sim_batch(&s);
    wanted = mem_printf("False RacksPending: the inventory is being deleted; 2 "
                        "racks left: copy (to be deleted), %s (to be deleted)",
                        rack);
    assert_text(&s, "lab", "Programmed", wanted);
    free(wanted);
    sim_fini(&s);
}

static void
test_status_6_2_what_does_not_fit_is_told_in_numbers(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1000);
    declare(&s, "old", 1, "[" GROUP("a", 60, "p", "a") "]");
    declare(&s, "lab", 2, "[" GROUP("a", 41, "p", "a") "]");
    sim_synced(&s);
    assert_text(&s, "lab", "Accepted",
                "False CapacityExceeded: inventory lab does not fit: it "
                "declares 1 rack groups with 41000 Nodes; all inventories "
                "together have room for 64 rack groups and 100000 Nodes, and "
                "the oldest that fit come first");
    assert_text(&s, "lab", "Programmed",
                "False CapacityExceeded: the inventory is not accepted");
    assert_text(&s, "lab", "RequestsSatisfied",
                "True RequestsSatisfied: every matching Node has a slot");
    sim_fini(&s);
}

/* A rack whose group has no usable profile now stays, and says nothing of
 * going. */
static void
test_status_6_2_racks_that_stay_though_they_are_not_planned(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    rack = standing(&s, "a", 0, NULL, NULL);
    sim_batch(&s);
    sim_gone(&s, KIND_PROFILE, "p", "profile-uid");
    sim_rack(&s, &(struct sim_rack){
                     .inventory = "lab", .group = "gone", .slots = 2});
    sim_batch(&s);
    assert_text(&s, rack, "Ready",
                "True Ready: every bound Node carries its assignment");
    assert_int_equal(s.p.tally.inventories[0].racks[TALLY_LEFTOVER].count, 1);
    assert_text(&s, rack_name(&s, "gone", 0), "Ready",
                "True Ready: every bound Node carries its assignment; it goes, "
                "since it is not declared");
    sim_fini(&s);
}

/* ---- 6.3 --------------------------------------------------------------- */

static void
test_status_6_3_bindings_that_cannot_be(void **state)
{
    static const struct object_slot slots[] = {
        {0, 1, {STR("n1"), STR("n1-uid")}},
        {0, 1, {STR("n2"), STR("n2-uid")}},
        {1, 1, {STR("n3"), STR("")}},
    };
    struct world_rack *r;
    const char *rack;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    rack = standing(&s, "a", 0, "n1", "n2");
    sim_batch(&s);
    assert_text(&s, rack, "Ready",
                "False InvalidBindings: bound, but not there or not eligible: "
                "Node n1, Node n2");
    assert_fields(&s, rack, "{\"assignedNodes\":2,\"observedGeneration\":1}");
    /* What no API server lets through: one fault, then two. */
    r = (struct world_rack *)world_rack(&s.p.world, rack);
    r->o.slots = slots;
    r->o.slot_count = 2;
    placer_touch(&s.p, rack);
    sim_batch(&s);
    assert_text(&s, rack, "Ready",
                "False InvalidBindings: slots that cannot be: index 0 occurs "
                "twice");
    r->o.slot_count = nitems(slots);
    placer_touch(&s.p, rack);
    sim_batch(&s);
    assert_text(&s, rack, "Ready",
                "False InvalidBindings: slots that cannot be: index 0 occurs "
                "twice, Node n3 in slot 1 has no uid");
    sim_fini(&s);
}

static void
test_status_6_3_another_instance_has_the_name(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    start(&s, "[" GROUP("a", 1, "p", "a") "]");
    rack = standing(&s, "a", 0, "n1", NULL);
    sim_batch(&s);
    sim_forget(&s);
    {
        struct pair labels[] = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)},
                                {STR("pool"), STR("a")}};
        struct object_node o = {.meta = {.name = STR("n1"),
                                         .uid = STR("later"),
                                         .version = STR("99"),
                                         .labels = {labels, 2, NULL}}};
        struct buf body = {0};

        pairs_sort(labels, 2);
        object_node_pack(&body, &o);
        sim_frame(&s, MSG_NODE, 0, &body);
        sim_batch(&s);
    }
    assert_text(&s, rack, "Ready",
                "False InvalidBindings: bound, but not there or not eligible: "
                "Node n1 (another one has the name)");
    sim_fini(&s);
}

/* ---- 6.4 --------------------------------------------------------------- */

/* What was said of an object stands, with another text for one condition. */
static void
stand(struct sim *s, const char *groups, const char *type, const char *message)
{
    struct object_ref ref = sim_ref(s, "lab");
    static const struct str finalizers[] = {STR(FINALIZER_INVENTORY)};
    struct condition conditions[4];
    struct buf packed = {0};
    struct buf body = {0};
    struct said said;
    char *spec = mem_printf("{\"rackGroups\":%s}", groups);
    json_t *json = json_text(spec);
    struct object_inventory o = {
        .meta = {.name = ref.name,
                 .uid = ref.uid,
                 .version = sim_version(s),
                 .generation = 1,
                 .created = 1},
        .finalizers = {finalizers, 1},
    };

    read_said(&said, s, "lab");
    o.status = said.i.status;
    assert_int_equal(o.status.conditions.count, 4);
    for (size_t i = 0; i < 4; i++) {
        conditions[i] = o.status.conditions.items[i];
        if (type != NULL && str_is(conditions[i].type, type))
            conditions[i].message = str_of(message);
    }
    o.status.conditions.items = conditions;
    pack_json(&packed, json);
    object_inventory_pack(&body, &o, buf_str(&packed));
    sim_frame(s, MSG_INVENTORY, 0, &body);
    sim_forget(s);
    sim_batch(s);
    arena_fini(&said.arena);
    buf_fini(&packed);
    json_decref(json);
    free(spec);
}

static void
test_status_6_4_what_stands_is_not_said_again(void **state)
{
    const char *groups = "[" GROUP("a", 1, "p", "a") "]";
    struct sim s;

    (void)state;
    start(&s, groups);
    stand(&s, groups, NULL, NULL);
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 0);
    node(&s, "n1", "none of ours");
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 0);
    sim_fini(&s);
}

static void
test_status_6_4_a_true_text_of_somebody_else_is_kept_ours_is_renewed(
    void **state)
{
    const char *groups = "[" GROUP("a", 1, "p", "a") "]";
    struct sim s;

    (void)state;
    start(&s, groups);
    stand(&s, groups, "RequestsSatisfied", "all requests are satisfied");
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 0);
    sim_fini(&s);
    start(&s, groups);
    stand(&s, groups, "RequestsSatisfied",
          "every matching Node has a slot now");
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 0);
    sim_fini(&s);
    start(&s, groups);
    stand(&s, groups, "RequestsSatisfied",
          "every matching Node has a slot; free: 9 slots of group a");
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 1);
    assert_text(&s, "lab", "RequestsSatisfied",
                "True RequestsSatisfied: every matching Node has a slot; free: "
                "2 slots of group a (for Nodes with labels "
                "mokka.nvidia.com/sgpu-node=true,pool=a)");
    sim_fini(&s);
    /* A False one is ours to word, and so is one of another generation. */
    start(&s, groups);
    stand(&s, groups, "Programmed", "racks are pending");
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, "lab"), 1);
    sim_fini(&s);
}

/* The same estate, told in another order, has the same statuses: a restart
 * writes none. */
static void
test_status_6_4_texts_do_not_depend_on_the_order_of_events(void **state)
{
    char *texts[2] = {NULL, NULL};

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct said said;
        struct buf all = {0};
        struct sim s;

        start(&s, "[" GROUP("a", 1, "p", "a") "," GROUP("b", 1, "p", "b") "]");
        declare(&s, "other", 2, "[" GROUP("x", 1, "p", "b") "]");
        for (int i = 0; i < 30; i++) {
            char name[8];

            snprintf(name, sizeof(name), "n%02d", turn == 0 ? i : 29 - i);
            node(&s, name, "b");
        }
        if (turn == 1)
            for (int i = 0; i < 30; i += 7) {
                char name[8];

                snprintf(name, sizeof(name), "n%02d", i);
                node(&s, name, "a");
                sim_batch(&s);
                node(&s, name, "b");
            }
        sim_batch(&s);
        read_said(&said, &s, "lab");
        buf_adds(&all, said.i.status.fields);
        for (size_t i = 0; i < said.i.status.conditions.count; i++)
            buf_adds(&all, said.i.status.conditions.items[i].message);
        texts[turn] = buf_take(&all);
        assert_non_null(strstr(texts[turn], "Node n02 is selected by groups "
                                            "lab/b and other/x and 27 more"));
        arena_fini(&said.arena);
        sim_fini(&s);
    }
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_status_6_1_matches_count_whether_or_not_a_group_takes_part),
        cmocka_unit_test(test_status_6_1_racks_not_looked_at_yet_count),
        cmocka_unit_test(
            test_status_6_2_groups_and_profiles_at_fault_are_named),
        cmocka_unit_test(test_status_6_2_M14_a_rack_that_the_server_refuses),
        cmocka_unit_test(test_status_6_2_racks_that_do_not_stand_and_why),
        cmocka_unit_test(test_status_6_2_racks_of_somebody_else_are_named),
        cmocka_unit_test(test_status_6_2_Nodes_that_wait_for_their_assignment),
        cmocka_unit_test(
            test_status_6_2_whose_the_clique_label_is_does_not_matter_without),
        cmocka_unit_test(
            test_status_6_2_free_slots_and_the_labels_they_wait_for),
        cmocka_unit_test(
            test_status_6_2_Nodes_that_wait_are_counted_and_the_first_named),
        cmocka_unit_test(test_status_6_2_Nodes_in_conflict_and_with_whom),
        cmocka_unit_test(test_status_6_2_two_Nodes_of_one_uid),
        cmocka_unit_test(test_status_6_2_racks_that_are_more_still_there),
        cmocka_unit_test(test_status_6_2_what_does_not_fit_is_told_in_numbers),
        cmocka_unit_test(
            test_status_6_2_racks_that_stay_though_they_are_not_planned),
        cmocka_unit_test(test_status_6_3_bindings_that_cannot_be),
        cmocka_unit_test(test_status_6_3_another_instance_has_the_name),
        cmocka_unit_test(test_status_6_4_what_stands_is_not_said_again),
        cmocka_unit_test(
            test_status_6_4_a_true_text_of_somebody_else_is_kept_ours_is_renewed),
        cmocka_unit_test(
            test_status_6_4_texts_do_not_depend_on_the_order_of_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
