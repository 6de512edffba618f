/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/metrics.h"
#include "placer/measure.h"
#include "tests/unit/placer_sim.h"

static int64_t
figure(const struct sim *s, enum metric id)
{
    struct metrics *m = metrics_new();
    const int64_t *number;
    int64_t value;

    placer_measure(&s->p, m);
    number = metrics_get(m, id, 0, 0);
    assert_non_null(number);
    value = *number;
    metrics_free(m);
    return value;
}

/* Three Nodes for the two slots of one rack; nothing carried out yet. */
static void
begin(struct sim *s)
{
    sim_init(s);
    sim_profile(s, "p", 1, 2);
    sim_inventory(s, &(struct sim_inventory){
                         .name = "lab",
                         .groups = "[{\"id\":\"a\",\"count\":1,"
                                   "\"profileRef\":{\"name\":\"p\"}}]",
                         .created = 1,
                         .generation = 1});
    sim_inventory(s, &(struct sim_inventory){
                         .name = "odd",
                         .groups = "[{\"id\":\"?\",\"count\":1,"
                                   "\"profileRef\":{\"name\":\"p\"}}]",
                         .created = 2,
                         .generation = 1});
    for (int i = 0; i < 3; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};

        sim_node(s, &(struct sim_node){.name = name, .created = 1});
    }
    sim_synced(s);
}

/* What was said is carried out, though the feed does not show it yet. */
static void
carry_out(struct sim *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct sim_said *w = &s->said[i];

        if (w->type == MSG_RACK_WRITE)
            sim_result(s, w, ACTION_RACK, OUTCOME_DONE);
        else if (w->type == MSG_STATUS_WRITE)
            sim_result(s, w, ACTION_INVENTORY_STATUS, OUTCOME_DONE);
    }
}

static void
test_a_standby_has_no_figures(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    placer_term_ended(&s.p);
    assert_int_equal(figure(&s, METRIC_CONVERGED), 0);
    assert_int_equal(figure(&s, METRIC_NODES_PENDING), 0);
    assert_int_equal(figure(&s, METRIC_INVENTORIES), 0);
    sim_fini(&s);
}

static void
test_it_converges_when_nothing_is_open(void **state)
{
    struct sim s;

    (void)state;
    begin(&s);
    assert_true(figure(&s, METRIC_INTENTS_OPEN) > 0);
    assert_int_equal(figure(&s, METRIC_CONVERGED), 0);
    assert_int_equal(figure(&s, METRIC_INVENTORIES), 2);
    assert_int_equal(figure(&s, METRIC_INVENTORIES_REFUSED), 1);
    assert_int_equal(figure(&s, METRIC_RACKS_WANTED), 1);
    assert_int_equal(figure(&s, METRIC_RACKS_STANDING), 0);
    assert_int_equal(figure(&s, METRIC_NODES_PENDING), 1);
    carry_out(&s);
    assert_int_equal(figure(&s, METRIC_INTENTS_OPEN), 0);
    assert_int_equal(figure(&s, METRIC_CONVERGED), 1);
    /* The middle of a batch is no time to judge. */
    sim_node(&s, &(struct sim_node){.name = "n9", .created = 9});
    assert_int_equal(figure(&s, METRIC_CONVERGED), 0);
    sim_batch(&s);
    assert_int_equal(figure(&s, METRIC_NODES_PENDING), 2);
    sim_fini(&s);
}

static void
test_figures_of_a_rack_that_stands(void **state)
{
    char digest[RACK_DIGEST];
    struct sim s;

    (void)state;
    begin(&s);
    carry_out(&s);
    sim_digest(&s, "lab", "a", 0, digest);
    sim_rack(&s, &(struct sim_rack){.inventory = "lab",
                                    .group = "a",
                                    .slots = 2,
                                    .nodes = {"n1", "n2"},
                                    .digest = digest});
    sim_batch(&s);
    assert_int_equal(figure(&s, METRIC_RACKS_STANDING), 1);
    assert_int_equal(figure(&s, METRIC_NODES_ALLOCATED), 2);
    assert_int_equal(figure(&s, METRIC_NODES_PROJECTED), 0);
    assert_int_equal(figure(&s, METRIC_NODES_BLOCKED), 0);
    assert_int_equal(figure(&s, METRIC_RACKS_CONFLICTING), 0);
    assert_int_equal(figure(&s, METRIC_NODES_CONFLICTING), 0);
    /* While a new snapshot comes, nothing is known to stand. */
    sim_frame(&s, MSG_SYNC_BEGIN, 0, NULL);
    assert_int_equal(figure(&s, METRIC_CONVERGED), 0);
    sim_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_standby_has_no_figures),
        cmocka_unit_test(test_it_converges_when_nothing_is_open),
        cmocka_unit_test(test_figures_of_a_rack_that_stands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
