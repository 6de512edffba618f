/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work is proportional to the change, not to the estate: 50 Nodes in each of 60
 * racks stand as declared, and something happens to one of them.  (More Nodes
 * than wishes may be open.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit/estate.h"

enum { RACKS = 60, PER_RACK = 50 };

struct fixture {
    struct estate e;
    uint64_t examined, evaluations, writes;
};

static void
node_name(char name[16], int number)
{
    snprintf(name, 16, "n%d", number);
}

static int
build(void **state)
{
    struct fixture *f = mem_zalloc(sizeof(*f));
    struct declared_group groups[] = {{"a", "p", RACKS - 1, 1},
                                      {"b", "p", 1, 2}};
    char name[16];

    estate_init(&f->e, 1);
    put_profile(&f->e, "p", (struct declared_profile){PER_RACK, 1, false});
    put_inventory(&f->e, "lab", groups, 2);
    for (int i = 0; i < RACKS * PER_RACK; i++) {
        node_name(name, i);
        put_node(&f->e, name, i < PER_RACK ? "b" : "a");
    }
    estate_calm(&f->e);
    buf_fini(&f->e.log);
    *state = f;
    return 0;
}

static int
destroy(void **state)
{
    struct fixture *f = *state;

    estate_fini(&f->e);
    free(f);
    return 0;
}

static void
mark(struct fixture *f)
{
    estate_calm(&f->e);
    f->examined = f->e.placer.examined;
    f->evaluations = f->e.placer.alloc.evaluations;
    f->writes = f->e.writes + f->e.noops;
}

/* The placer hears of what happened; what it says waits on its link. */
static void
tell(struct fixture *f)
{
    while (informer_run(&f->e))
        while (placer_hear(&f->e, &f->e.feed))
            ;
}

static void
assert_work(const struct fixture *f, uint64_t examined, uint64_t evaluations)
{
    assert_in_range(f->e.placer.examined - f->examined, 0, examined);
    assert_in_range(f->e.placer.alloc.evaluations - f->evaluations, 0,
                    evaluations);
}

static size_t
said(const struct fixture *f, uint16_t type)
{
    const struct wire *w = &f->e.intents;
    size_t count = 0;

    for (size_t i = w->next; i < w->count; i++)
        count += w->items[i].type == type;
    return count;
}

static void
assert_silent(const struct fixture *f)
{
    assert_int_equal(wire_waiting(&f->e.intents), 0);
}

static void
test_all_is_bound_and_projected(void **state)
{
    struct fixture *f = *state;
    struct estate *e = &f->e;
    const struct object *o;
    size_t bound = 0;
    size_t pos = 0;

    mark(f);
    assert_int_equal(e->objects[KIND_RACK].count, RACKS);
    while ((o = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        for (size_t i = 0; i < o->rack.slot_count; i++)
            bound += o->rack.slots[i].node.name.n > 0;
    assert_int_equal(bound, RACKS * PER_RACK);
    for (pos = 0; (o = map_next(&e->objects[KIND_NODE], &pos)) != NULL;)
        assert_int_equal(o->node.ours, KEY_ALL);
    /* M04: each rack was created once; nothing was written in vain. */
    assert_int_equal(e->noops, 0);
    assert_int_equal(e->refusals, 0);
}

/* M02, M22: the same objects once more. */
static void
test_M22_nothing_changed(void **state)
{
    struct fixture *f = *state;
    struct informer *in = &f->e.informer;

    mark(f);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const struct record *r;
        size_t pos = 0;

        for (int i = 0; i < 5; i++)
            if ((r = map_next(&in->records[kind], &pos)) != NULL)
                set_mark(in, (enum object_kind)kind, r->name);
    }
    tell(f);
    assert_silent(f);
    assert_work(f, 10, 0);
}

/* C05, E02: what others write on a Node, and the echo of a projection. */
static void
test_C05_echo_asks_no_selector(void **state)
{
    struct fixture *f = *state;
    struct object *n;

    mark(f);
    n = api_edit(api_get(&f->e, KIND_NODE, "n2711"));
    api_store(&f->e, n);
    tell(f);
    assert_silent(f);
    assert_work(f, 1, 0);
    n = api_edit(api_get(&f->e, KIND_NODE, "n2711"));
    set_label(n, LABEL_ASSIGNED, NULL);
    n->node.ours &= ~KEY_ASSIGNED;
    api_store(&f->e, n);
    tell(f);
    assert_work(f, 2, 0);
    assert_int_equal(said(f, MSG_NODE_APPLY), 1);
    assert_int_equal(said(f, MSG_RACK_WRITE), 0);
    estate_calm(&f->e);
    assert_work(f, 6, 0);
}

/* W12: what happens to a Node and changes no number puts no status in words;
 * what does, and what is wrong, does. */
static void
test_W12_a_status_that_stands_is_not_put_in_words_again(void **state)
{
    struct fixture *f = *state;
    struct object *n;
    uint64_t rendered;

    mark(f);
    rendered = f->e.placer.tally.rendered;
    for (int i = 0; i < 5; i++) {
        n = api_edit(api_get(&f->e, KIND_NODE, "n2711"));
        set_label(n, "example.com/a", i % 2 == 0 ? "b" : NULL);
        api_store(&f->e, n);
        tell(f);
    }
    assert_silent(f);
    assert_int_equal(f->e.placer.tally.rendered, rendered);
    n = api_edit(api_get(&f->e, KIND_NODE, "n2711"));
    set_label(n, LABEL_ASSIGNED, NULL);
    n->node.ours &= ~KEY_ASSIGNED;
    api_store(&f->e, n);
    tell(f);
    assert_int_equal(f->e.placer.tally.rendered, rendered + 1);
    assert_int_equal(said(f, MSG_STATUS_WRITE), 2);
    estate_calm(&f->e);
}

/* M23: one Node loses its label: that rack, one cleanup, and no write of the
 * rack before it is acknowledged. */
static void
test_M23_one_node_loses_its_label(void **state)
{
    struct fixture *f = *state;
    struct estate *e = &f->e;

    mark(f);
    edit_label(e, KIND_NODE, "n2711", "pool", "c");
    tell(f);
    assert_work(f, 2, 2);
    assert_int_equal(said(f, MSG_NODE_APPLY), 1);
    assert_int_equal(said(f, MSG_RACK_WRITE), 0);
    while (projector_hear(e))
        ;
    projector_run(e);
    while (placer_hear(e, &e->results))
        ;
    assert_int_equal(said(f, MSG_RACK_WRITE), 0);
    tell(f);
    assert_int_equal(said(f, MSG_RACK_WRITE), 1);
    estate_calm(e);
    assert_work(f, 12, 2);
    edit_label(e, KIND_NODE, "n2711", "pool", "a");
    estate_calm(e);
    assert_work(f, 24, 4);
}

/* A Node for which there is no room: no rack is looked at. */
static void
test_no_room(void **state)
{
    struct fixture *f = *state;

    mark(f);
    put_node(&f->e, "late", "a");
    tell(f);
    assert_work(f, 0, 2);
    assert_int_equal(said(f, MSG_RACK_WRITE), 0);
    assert_int_equal(said(f, MSG_STATUS_WRITE), 1);
    api_erase(&f->e, KIND_NODE, "late");
    estate_calm(&f->e);
}

/* One that is replaced: its slot is given up and taken, in its rack. */
static void
test_D11_one_node_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct estate *e = &f->e;

    mark(f);
    api_erase(e, KIND_NODE, "n2711");
    put_node(e, "n2711", "a");
    tell(f);
    assert_work(f, 2, 2);
    estate_calm(e);
    assert_work(f, 20, 2);
    assert_int_equal(api_get(e, KIND_NODE, "n2711")->node.ours, KEY_ALL);
    assert_int_equal(e->noops, 0);
}

/* A rack that others write on. */
static void
test_one_rack_changes(void **state)
{
    struct fixture *f = *state;
    const struct object *rack;
    size_t pos = 0;

    mark(f);
    rack = map_next(&f->e.objects[KIND_RACK], &pos);
    edit_label(&f->e, KIND_RACK, rack->meta.name.s, "note", "x");
    tell(f);
    assert_silent(f);
    assert_work(f, 2, 0);
}

/* M02, S05: a new placer says nothing, nor one whose informer is new. */
static void
test_M02_restarts(void **state)
{
    struct fixture *f = *state;

    mark(f);
    estate_restart_placer(&f->e);
    estate_calm(&f->e);
    estate_restart_informer(&f->e);
    estate_calm(&f->e);
    estate_kill_projector(&f->e, false);
    estate_start_projector(&f->e);
    estate_calm(&f->e);
    estate_end_term(&f->e);
    estate_begin_term(&f->e);
    estate_calm(&f->e);
    assert_int_equal(f->e.writes + f->e.noops, f->writes);
}

/* Never more than so many wishes without a result (hear_intent looks), and
 * whatever had to wait is said in the end. */
static void
test_limit_of_open_wishes(void **state)
{
    struct fixture *f = *state;
    struct estate *e = &f->e;

    mark(f);
    e->most_open = 0;
    put_profile(e, "p", (struct declared_profile){PER_RACK, 1, false});
    tell(f);
    assert_int_equal(said(f, MSG_RACK_WRITE), RACKS);
    assert_int_equal(e->most_open, RACKS);
    /* Each Node gets an annotation with the new revision. */
    estate_calm(e);
    assert_int_equal(e->most_open, WISH_LIMIT);
    assert_int_equal(e->placer.wishes.open, 0);
    assert_int_equal(e->placer.dirty.count + e->placer.queue.count, 0);
    assert_int_equal(e->noops, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_bound_and_projected),
        cmocka_unit_test(test_M22_nothing_changed),
        cmocka_unit_test(test_C05_echo_asks_no_selector),
        cmocka_unit_test(
            test_W12_a_status_that_stands_is_not_put_in_words_again),
        cmocka_unit_test(test_M23_one_node_loses_its_label),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_D11_one_node_is_replaced),
        cmocka_unit_test(test_one_rack_changes),
        cmocka_unit_test(test_M02_restarts),
        cmocka_unit_test(test_limit_of_open_wishes),
    };

    log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    return cmocka_run_group_tests_name("placer bounds", tests, build, destroy);
}
