/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds that no API server would send: Nodes with one uid, racks with slots out
 * of order, twice or beyond all limits, absurd numbers, objects of nobody.  The
 * placer must not crash, what is in order goes on, and the rest is left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"
#include "tests/unit/seeded.h"

#define GROUP(id, count)                                                       \
    "{\"id\":\"" id "\",\"count\":" #count ",\"profileRef\":{\"name\":\"p\"}}"

static void
declare(struct sim *s, int64_t generation, bool deleting, const char *groups)
{
    sim_inventory(s, &(struct sim_inventory){.name = "lab",
                                             .groups = groups,
                                             .created = 1,
                                             .generation = generation,
                                             .deleting = deleting});
}

/* ---- single cases -------------------------------------------------------- */

struct odd_node {
    const char *name, *uid;
};

static void
put_node(struct sim *s, const struct odd_node *n)
{
    static const struct pair labels[] = {
        {STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)}};
    struct object_node o = {
        .meta = {.name = str_of(n->name),
                 .uid = str_of(n->uid),
                 .version = sim_version(s),
                 .labels = {labels, 1, NULL}},
        .annotation = STR(""),
        .rivals = STR(""),
    };
    struct buf body = {0};

    object_node_pack(&body, &o);
    sim_frame(s, MSG_NODE, 0, &body);
}

/* The first one counts, whatever happens to the other. */
static void
test_9_1_two_nodes_with_one_uid(void **state)
{
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 2);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    put_node(&s, &(struct odd_node){"n1", "u"});
    put_node(&s, &(struct odd_node){"n2", "u"});
    put_node(&s, &(struct odd_node){"n3", "v"});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    assert_int_equal(alloc_node(&s.p.alloc, "u")->binding_count, 1);
    assert_true(str_is(alloc_node(&s.p.alloc, "u")->in.name, "n1"));
    assert_int_equal(alloc_node(&s.p.alloc, "v")->binding_count, 1);
    put_node(&s, &(struct odd_node){"n2", "u"});
    sim_batch(&s);
    sim_gone(&s, KIND_NODE, "n2", "u");
    sim_batch(&s);
    assert_true(alloc_node(&s.p.alloc, "u")->present);
    sim_gone(&s, KIND_NODE, "n1", "u");
    sim_batch(&s);
    assert_false(alloc_node(&s.p.alloc, "u")->present);
    sim_fini(&s);
}

struct odd_rack {
    const char *name;
    const char *group;
    int64_t index;
    const struct object_slot *slots;
    size_t slot_count;
};

static void
put_rack(struct sim *s, const struct odd_rack *r)
{
    struct object_ref lab = sim_ref(s, "lab");
    static const struct str finalizers[] = {STR(FINALIZER_RACK)};
    struct object_owner owner = {
        .api_version = STR(API_GROUP_VERSION),
        .kind = STR(API_INVENTORY),
        .name = lab.name,
        .uid = lab.uid,
        .controller = 1,
    };
    char canonical[IDENTITY_NAME_MAX];
    struct object_rack o;
    struct buf body = {0};

    identity_rack_name(lab.name, lab.uid, str_of(r->group), (uint32_t)r->index,
                       canonical);
    o = (struct object_rack){
        .meta = {.name = str_of(r->name != NULL ? r->name : canonical),
                 .uid = STR("rack-uid"),
                 .version = sim_version(s),
                 .generation = 1},
        .finalizers = {finalizers, 1},
        .owners = {&owner, 1},
        .inventory = lab,
        .profile = {STR("p"), STR("profile-uid")},
        .revision = STR("r"),
        .group = str_of(r->group),
        .index = r->index,
        .fabric = STR("f"),
        .slots = r->slots,
        .slot_count = r->slot_count,
        .managed = true,
        .spec_ours = true,
        .digest = STR("d"),
        .status.fields = STR("{}"),
    };
    object_rack_pack(&body, &o);
    sim_frame(s, MSG_RACK, 0, &body);
}

/* Such a rack is left as it is, the inventory shows that it does not stand, and
 * the next one is made. */
static void
test_7_5_slots_that_cannot_be(void **state)
{
    static const struct object_slot twice[] = {{0, 1, {{"n1", 2}, {"u1", 2}}},
                                               {0, 1, {{"n2", 2}, {"u2", 2}}}};
    static const struct object_slot apart[] = {{1, 1, {{"n1", 2}, {"u1", 2}}},
                                               {0, 1, {{NULL, 0}, {NULL, 0}}},
                                               {1, 1, {{"n2", 2}, {"u2", 2}}}};
    static const struct object_slot below[] = {{-1, 1, {{"n1", 2}, {"u1", 2}}}};
    static const struct object_slot beyond[] = {
        {1024, 1, {{"n1", 2}, {"u1", 2}}},
        {INT64_MAX, 1, {{"n2", 2}, {"u2", 2}}},
        {INT64_MIN, 0, {{"n3", 2}, {"u3", 2}}}};
    static const struct {
        const struct object_slot *slots;
        size_t count;
    } rows[] = {{twice, 2}, {apart, 3}, {below, 1}, {beyond, 3}};

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        const struct odd_rack rack = {
            .group = "a", .slots = rows[i].slots, .slot_count = rows[i].count};
        struct sim s;

        sim_init(&s);
        sim_profile(&s, "p", 1, 2);
        declare(&s, 1, false, "[" GROUP("a", 2) "]");
        put_node(&s, &(struct odd_node){"n1", "u1"});
        put_node(&s, &(struct odd_node){"n2", "u2"});
        put_node(&s, &(struct odd_node){"n3", "u3"});
        put_node(&s, &(struct odd_node){"n4", "u4"});
        put_rack(&s, &rack);
        sim_synced(&s);
        sim_looked(&s);
        assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
        assert_condition(&s, "lab", "Programmed", "False RacksPending");
        sim_fini(&s);
    }
}

/* 9.1: two racks on one coordinate: the one of another name goes. */
static void
test_9_1_two_racks_on_one_coordinate(void **state)
{
    static const struct object_slot slots[] = {{0, 1, {{"n1", 2}, {"u1", 2}}}};
    static const struct object_slot others[] = {{0, 1, {{"n2", 2}, {"u2", 2}}}};
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    put_node(&s, &(struct odd_node){"n1", "u1"});
    put_node(&s, &(struct odd_node){"n2", "u2"});
    put_rack(&s,
             &(struct odd_rack){.group = "a", .slots = slots, .slot_count = 1});
    put_rack(
        &s, &(struct odd_rack){
                .name = "odd", .group = "a", .slots = others, .slot_count = 1});
    sim_synced(&s);
    sim_looked(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, "odd"), 1);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, "odd"), 0);
    sim_fini(&s);
}

/* ---- anything ------------------------------------------------------------ */

static const char *const names[] = {"n1", "n2", "n3", ""};
static const int64_t numbers[] = {0, 0,    0,    1,         1,         2,
                                  3, 1023, 1024, INT64_MAX, INT64_MIN, -1};

struct chaos {
    struct sim s;
    struct seeded chance;
    size_t answered;
};

static int
below(struct chaos *c, int n)
{
    return seeded_below(&c->chance, n);
}

static int64_t
number(struct chaos *c)
{
    return numbers[below(c, nitems(numbers))];
}

static const char *
name(struct chaos *c)
{
    return names[below(c, nitems(names))];
}

static void
any_rack(struct chaos *c)
{
    static const char *const groups[] = {"a", "b", "zz", ""};
    struct object_slot slots[4] = {0};
    struct odd_rack r = {.group = groups[below(c, nitems(groups))],
                         .index = number(c),
                         .slots = slots,
                         .slot_count = (size_t)below(c, 5)};

    if (below(c, 4) == 0)
        r.name = "odd";
    for (size_t i = 0; i < r.slot_count; i++)
        slots[i] = (struct object_slot){number(c),
                                        below(c, 2) * INT32_MAX,
                                        {str_of(name(c)), str_of(name(c))}};
    put_rack(&c->s, &r);
}

static void
any_node(struct chaos *c)
{
    put_node(&c->s, &(struct odd_node){names[below(c, 3)], names[below(c, 3)]});
}

static void
any_declaration(struct chaos *c)
{
    static const char *const groups[] = {
        "[]",
        "[" GROUP("a", 1) "]",
        "[" GROUP("a", 2) "," GROUP("b", 1) "]",
        "[" GROUP("a", -1) "]",
        "[" GROUP("a", 99999999999) "]",
        "[" GROUP("a", 1) "," GROUP("a", 1) "]"};

    if (below(c, 3) == 0)
        sim_profile(&c->s, "p", number(c), below(c, 4));
    else
        declare(&c->s, number(c), below(c, 8) == 0,
                groups[below(c, nitems(groups))]);
}

static void
any_end(struct chaos *c)
{
    const char *what = name(c);

    sim_gone(&c->s, below(c, 2) == 0 ? KIND_NODE : KIND_RACK,
             below(c, 3) == 0 ? "odd" : what, name(c));
}

/* An answer to something that was said, or to nothing. */
static void
any_result(struct chaos *c)
{
    struct sim *s = &c->s;
    struct buf body = {0};
    size_t i;

    if (s->count == 0)
        return;
    i = (size_t)below(c, (int)s->count);
    result_pack(&body, &(struct result){
                           .action = (enum action)below(c, ACTION_COUNT),
                           .outcome = (enum outcome)below(c, OUTCOME_COUNT),
                           .name = str_of(s->said[i].name),
                           .uid = str_of(name(c)),
                           .version = below(c, 2) == 0 ? STR("") : STR("77"),
                           .reason = STR("")});
    sim_frame(s, MSG_RESULT, s->said[i].id, &body);
}

static void
any_death(struct chaos *c)
{
    if (below(c, 2) == 0) {
        placer_projector_lost(&c->s.p);
        sim_ledger(&c->s, 1);
    } else {
        placer_term_ended(&c->s.p);
        sim_term(&c->s, (uint64_t)c->s.version + 2);
    }
}

/* The sanitizers look on. */
static void
test_any_feed(void **state)
{
    static void (*const acts[])(struct chaos * c) = {
        any_rack,   any_rack,   any_rack,        any_node, any_node,
        any_result, any_result, any_declaration, any_end,  any_death};
    struct seeded first = seeded_start("any feed");
    int histories = seeded_rounds(300);

    (void)state;
    for (int i = 0; i < histories; i++) {
        struct chaos c = {.chance = {first.state + (uint64_t)i}};

        sim_init(&c.s);
        sim_profile(&c.s, "p", 1, 2);
        declare(&c.s, 1, false, "[" GROUP("a", 2) "]");
        sim_synced(&c.s);
        for (int j = 0; j < 40; j++) {
            acts[below(&c, nitems(acts))](&c);
            if (below(&c, 3) == 0)
                sim_batch(&c.s);
        }
        sim_batch(&c.s);
        sim_fini(&c.s);
    }
}

/* 5.6: the inventory that controls a rack is being deleted, and the rack's spec
 * names another one by now. */
static void
test_5_6_a_rack_that_names_another_inventory(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    sim_init(&s); /* without the profile: nothing is made */
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    sim_node(&s, &(struct sim_node){.name = "n1", .created = 1});
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "other",
                                           .owner = "lab",
                                           .name = "odd",
                                           .group = "a",
                                           .slots = 1,
                                           .nodes = {"n1"}});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 0);
    declare(&s, 2, true, "[" GROUP("a", 1) "]");
    sim_batch(&s);
    sim_looked(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 1);
    /* The projector keeps it until the rack is gone. */
    assert_int_equal(sim_said(&s, MSG_FINALIZER, "lab"), 1);
    sim_fini(&s);
}

/* Our finalizer is on it: somebody who deletes it is not kept waiting. */
static void
test_5_6_such_a_rack_can_be_deleted(void **state)
{
    const char *rack;
    struct sim s;

    (void)state;
    sim_init(&s);
    sim_profile(&s, "p", 1, 1);
    declare(&s, 1, false, "[" GROUP("a", 1) "]");
    rack = sim_rack(&s, &(struct sim_rack){.inventory = "other",
                                           .owner = "lab",
                                           .name = "odd",
                                           .group = "a",
                                           .slots = 1,
                                           .deleting = true});
    sim_synced(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_DELETE, rack), 1);
    sim_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_9_1_two_nodes_with_one_uid),
        cmocka_unit_test(test_7_5_slots_that_cannot_be),
        cmocka_unit_test(test_9_1_two_racks_on_one_coordinate),
        cmocka_unit_test(test_5_6_a_rack_that_names_another_inventory),
        cmocka_unit_test(test_5_6_such_a_rack_can_be_deleted),
        cmocka_unit_test(test_any_feed),
    };

    log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    return cmocka_run_group_tests_name("placer odd", tests, NULL, NULL);
}
