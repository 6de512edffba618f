/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More wishes than may be open of one action: what waits for others does not
 * hold up what need not (mokka-control 8: no one starves).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"

enum { RACKS = 60, PER_RACK = 50, NODES = RACKS * PER_RACK };

static void
add_node(struct sim *s, int number)
{
    char name[16];

    snprintf(name, sizeof(name), "n%d", number);
    sim_node(s, &(struct sim_node){.name = name, .pool = "a", .created = 1});
}

/* A rack that stands, with its Nodes bound, none of which carries its
 * assignment; the last one has none. */
static void
add_rack(struct sim *s, int index)
{
    const char *names[PER_RACK];
    char digest[RACK_DIGEST];

    sim_digest(s, "lab", "a", index, digest);
    for (int i = 0; i < PER_RACK; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", index * PER_RACK + i);
        names[i] = index == RACKS ? NULL : arena_str(&s->arena, str_of(name)).s;
    }
    sim_rack(s, &(struct sim_rack){.inventory = "lab",
                                   .group = "a",
                                   .index = index,
                                   .slots = PER_RACK,
                                   .more = names,
                                   .digest = digest});
}

/* There is room in the last rack. */
static void
start(struct sim *s)
{
    char *groups = mem_printf("[{\"id\":\"a\",\"count\":%d,\"profileRef\":{"
                              "\"name\":\"p\"},\"placement\":{\"nodeSelector\":"
                              "{\"matchLabels\":{\"pool\":\"a\"}}}}]",
                              RACKS + 1);

    log_hand_to(sim_quiet, NULL);
    sim_init(s);
    sim_profile(s, "p", 1, PER_RACK);
    sim_inventory(s, &(struct sim_inventory){
                         .name = "lab", .groups = groups, .generation = 1});
    sim_synced(s);
    /* The racks are made. */
    for (size_t i = 0; i < s->count; i++)
        if (s->said[i].type == MSG_RACK_WRITE)
            sim_result(s, &s->said[i], ACTION_RACK, OUTCOME_DONE);
    for (int i = 0; i < NODES; i++)
        add_node(s, i);
    for (int i = 0; i <= RACKS; i++)
        add_rack(s, i);
    sim_forget(s);
    sim_batch(s);
    free(groups);
}

static void
end(struct sim *s)
{
    sim_fini(s);
    log_hand_to(NULL, NULL);
}

static size_t
patches(const struct sim *s)
{
    return sim_said(s, MSG_NODE_APPLY, NULL);
}

static void
rest(struct sim *s, const struct sim_said *w)
{
    struct buf body = {0};

    intent_withdraw_pack(&body, ACTION_NODE, str_of(w->name));
    sim_frame(s, MSG_RESTING, w->id, &body);
}

/* B05: every Node that may be asked for is, none answers: the statuses are said
 * all the same, and a newcomer gets its slot. */
static void
test_B05_nodes_do_not_hold_up_racks(void **state)
{
    struct sim s;

    (void)state;
    start(&s);
    assert_int_equal(patches(&s), WISH_LIMIT);
    assert_true(s.p.parked.count > 0);
    assert_int_equal(s.p.queue.count + s.p.dirty.count, 0);
    assert_int_equal(sim_said(&s, MSG_STATUS_WRITE, NULL), RACKS + 2);
    sim_forget(&s);
    add_node(&s, NODES);
    sim_batch(&s);
    assert_int_equal(sim_said(&s, MSG_RACK_WRITE, NULL), 1);
    assert_int_equal(patches(&s), 0);
    end(&s);
}

/* B05: those that refuse for good are told to rest, and the others have their
 * turn; looks are made for as many as there is room for. */
static void
test_B05_nodes_that_rest_do_not_hold_up_nodes(void **state)
{
    uint64_t examined;
    struct sim s;

    (void)state;
    start(&s);
    examined = s.p.examined;
    for (size_t i = 0; i < s.count && patches(&s) < NODES; i++)
        if (s.said[i].type == MSG_NODE_APPLY)
            rest(&s, &s.said[i]);
    assert_int_equal(patches(&s), NODES);
    assert_int_equal(s.p.parked.count, 0);
    assert_in_range(s.p.examined - examined, 1, RACKS);
    end(&s);
}

/* As soon as there is room the rest is said, each once. */
static void
test_what_waited_is_said_once(void **state)
{
    struct sim s;

    (void)state;
    start(&s);
    for (size_t i = 0; i < s.count; i++)
        if (s.said[i].type == MSG_NODE_APPLY)
            sim_result(&s, &s.said[i], ACTION_NODE, OUTCOME_DONE);
    assert_int_equal(patches(&s), NODES);
    for (size_t i = 0; i < s.count; i++)
        if (s.said[i].type == MSG_NODE_APPLY)
            assert_int_equal(sim_said(&s, MSG_NODE_APPLY, s.said[i].name), 1);
    assert_int_equal(s.p.wishes.loads[ACTION_NODE].count, 0);
    end(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_B05_nodes_do_not_hold_up_racks),
        cmocka_unit_test(test_B05_nodes_that_rest_do_not_hold_up_nodes),
        cmocka_unit_test(test_what_waited_is_said_once),
    };

    return cmocka_run_group_tests_name("placer parked", tests, NULL, NULL);
}
