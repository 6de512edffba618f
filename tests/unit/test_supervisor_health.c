/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/health.h"

/* Gives the health a STATE with up to two facts. */
static void
tell(struct health *h, enum role role, bool ok, const char *reason,
     const char *fact, int64_t number, const char *fact2, int64_t number2)
{
    struct buf body = {0};
    struct unpacked *u;
    struct err err;

    pack_array(&body, 3);
    pack_bool(&body, ok);
    pack_text(&body, reason);
    pack_map(&body, (fact != NULL) + (fact2 != NULL));
    if (fact != NULL) {
        pack_text(&body, fact);
        pack_int(&body, number);
    }
    if (fact2 != NULL) {
        pack_text(&body, fact2);
        pack_int(&body, number2);
    }
    u = unpack_body(buf_str(&body), &err);
    assert_non_null(u);
    assert_int_equal(health_report(h, role, unpacked_root(u), &err), 0);
    unpacked_free(u);
    buf_fini(&body);
}

static void
synchronise(struct health *h)
{
    tell(h, ROLE_INFORMER, true, "", NULL, 0, NULL, 0);
    tell(h, ROLE_PLACER, true, "", "term", 0, NULL, 0);
}

static void
elect(struct health *h, enum view view, int64_t term)
{
    tell(h, ROLE_ELECTOR, true, "", "view", view, "term", term);
}

static void
not_ready_for(const struct health *h, int64_t now, const char *word)
{
    struct err reason = {""};

    assert_false(health_ready(h, now, &reason));
    assert_non_null(strstr(reason.text, word));
}

static void
test_2_5_not_ready_before_synchronisation(void **state)
{
    struct health h = {0};

    (void)state;
    not_ready_for(&h, 1, "informer");
    assert_false(health_synchronised(&h, 1));
    tell(&h, ROLE_INFORMER, false, "sgpuracks: 403", NULL, 0, NULL, 0);
    not_ready_for(&h, 1, "sgpuracks: 403");
}

static void
test_2_5_not_ready_while_nobody_is_elected(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    assert_true(health_synchronised(&h, 1));
    not_ready_for(&h, 1, "elector");
    elect(&h, VIEW_WAITING, 0);
    not_ready_for(&h, 1, "elector");
}

static void
test_2_5_standby_is_ready(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_STANDBY, 0);
    assert_true(health_ready(&h, 1, NULL));
}

static void
test_L04_leader_is_ready_once_it_planned_in_its_term(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_LEADER, 7);
    h.deadline = 100;
    not_ready_for(&h, 1, "placer");
    tell(&h, ROLE_PLACER, true, "", "term", 6, NULL, 0);
    not_ready_for(&h, 1, "placer");
    tell(&h, ROLE_PLACER, true, "", "term", 7, NULL, 0);
    assert_true(health_ready(&h, 1, NULL));
}

/* Another placer, or another projector, has the plan said again. */
static void
test_7_a_plan_that_is_said_again_changes_nothing(void **state)
{
    struct health h = {.deadline = INT64_MAX};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_LEADER, 7);
    tell(&h, ROLE_PLACER, true, "", "term", 7, NULL, 0);
    tell(&h, ROLE_PLACER, true, "", "term", 0, NULL, 0);
    assert_true(health_ready(&h, 1, NULL));
    health_died(&h, ROLE_PLACER, 1000);
    tell(&h, ROLE_PLACER, false, "waiting", "term", 0, NULL, 0);
    assert_true(health_ready(&h, 1000 + HEALTH_GRACE - 1, NULL));
    not_ready_for(&h, 1000 + HEALTH_GRACE, "waiting");
    tell(&h, ROLE_PLACER, true, "", "term", 0, NULL, 0);
    assert_true(health_ready(&h, 1000 + HEALTH_GRACE, NULL));
    elect(&h, VIEW_LEADER, 8);
    not_ready_for(&h, 1, "no plan in the new term");
}

static void
test_death_of_informer_keeps_readiness_for_ten_seconds(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_STANDBY, 0);
    health_died(&h, ROLE_INFORMER, 1000);
    assert_true(health_ready(&h, 1000 + HEALTH_GRACE - 1, NULL));
    /* Its successor is not synchronised at once: the grace goes on. */
    tell(&h, ROLE_INFORMER, false, "listing nodes", NULL, 0, NULL, 0);
    assert_true(health_ready(&h, 1000 + HEALTH_GRACE - 1, NULL));
    not_ready_for(&h, 1000 + HEALTH_GRACE, "listing nodes");
    tell(&h, ROLE_INFORMER, true, "", NULL, 0, NULL, 0);
    assert_true(health_ready(&h, 1000 + HEALTH_GRACE, NULL));
}

static void
test_repeated_deaths_do_not_renew_the_grace(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_STANDBY, 0);
    health_died(&h, ROLE_PLACER, 1000);
    health_died(&h, ROLE_PLACER, 1000 + HEALTH_GRACE / 2);
    not_ready_for(&h, 1000 + HEALTH_GRACE, "placer");
}

static void
test_the_end_of_a_grace_is_told_in_advance(void **state)
{
    struct health h = {0};

    (void)state;
    assert_true(health_due(&h, 1) == 0); /* nobody was fine yet */
    synchronise(&h);
    assert_true(health_due(&h, 1) == 0);
    health_died(&h, ROLE_PLACER, 2000);
    health_died(&h, ROLE_INFORMER, 1000);
    assert_true(health_due(&h, 2000) == 1000 + HEALTH_GRACE);
    tell(&h, ROLE_INFORMER, true, "", NULL, 0, NULL, 0);
    assert_true(health_due(&h, 3000) == 2000 + HEALTH_GRACE);
    assert_true(health_due(&h, 2000 + HEALTH_GRACE) == 0); /* it is over */
}

static void
test_death_of_elector_and_projector_changes_nothing(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_STANDBY, 0);
    health_died(&h, ROLE_ELECTOR, 1000);
    health_died(&h, ROLE_PROJECTOR, 1000);
    assert_true(health_ready(&h, 1000 + 10 * HEALTH_GRACE, NULL));
}

static void
test_2_5_a_term_that_was_not_renewed_is_over_at_its_deadline(void **state)
{
    struct health h = {.deadline = 5000};

    (void)state;
    synchronise(&h);
    assert_true(health_due(&h, 1) == 0);
    elect(&h, VIEW_LEADER, 7);
    tell(&h, ROLE_PLACER, true, "", "term", 7, NULL, 0);
    health_died(&h, ROLE_ELECTOR, 1000);
    assert_true(health_ready(&h, 4999, NULL));
    assert_true(health_due(&h, 4999) == 5000);
    not_ready_for(&h, 5000, "not renewed");
    assert_true(health_due(&h, 5000) == 0);
    health_died(&h, ROLE_INFORMER, 1000);
    assert_true(health_due(&h, 4999) == 5000);
}

static void
test_7_a_standby_stays_one_until_the_next_elector_knows(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_STANDBY, 0);
    for (int i = 0; i < 3; i++) {
        health_died(&h, ROLE_ELECTOR, 1000);
        assert_true(health_ready(&h, 1000, NULL));
        elect(&h, VIEW_STOPPED, 0);
        assert_true(health_ready(&h, 1000, NULL));
        elect(&h, VIEW_WAITING, 0);
        assert_true(health_ready(&h, 1000 + HEALTH_GRACE, NULL));
    }
    elect(&h, VIEW_STANDBY, 0);
    /* Now it is the word of the present one that counts. */
    elect(&h, VIEW_WAITING, 0);
    not_ready_for(&h, 1000, "elector");
}

static void
test_7_who_did_not_stand_by_does_not_by_a_restart(void **state)
{
    static const enum view views[] = {VIEW_STOPPED, VIEW_WAITING, VIEW_LEADER};

    (void)state;
    for (size_t i = 0; i < nitems(views); i++) {
        struct health h = {0};

        synchronise(&h);
        elect(&h, views[i], 0);
        health_died(&h, ROLE_ELECTOR, 1000);
        elect(&h, VIEW_WAITING, 0);
        not_ready_for(&h, 1000, "elector");
    }
}

/* No Lease, no deadline: the projector's word counts, for as long as one that
 * is away may have said the last. */
static void
test_a_shadow_is_ready_while_nothing_would_be_written(void **state)
{
    struct health h = {0};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_SHADOW, 0);
    not_ready_for(&h, 1, "projector: starting");
    tell(&h, ROLE_PROJECTOR, true, "", NULL, 0, NULL, 0);
    assert_true(health_ready(&h, 1, NULL));
    assert_int_equal(health_due(&h, 1), 0);
    health_died(&h, ROLE_ELECTOR, 1000);
    assert_true(health_ready(&h, 1000 + HEALTH_GRACE, NULL));
    tell(&h, ROLE_PROJECTOR, false, "would make 1 write", NULL, 0, NULL, 0);
    not_ready_for(&h, 1, "projector: would make 1 write");
    tell(&h, ROLE_PROJECTOR, true, "", NULL, 0, NULL, 0);
    health_died(&h, ROLE_PROJECTOR, 1000);
    assert_true(health_ready(&h, 999 + HEALTH_GRACE, NULL));
    assert_int_equal(health_due(&h, 1000), 1000 + HEALTH_GRACE);
    not_ready_for(&h, 1000 + HEALTH_GRACE, "projector: restarting");
    health_waits(&h, ROLE_PROJECTOR, "held");
    not_ready_for(&h, 1000 + HEALTH_GRACE, "projector: held");
}

static void
test_stopping_is_not_ready(void **state)
{
    struct health h = {.stopping = true};

    (void)state;
    synchronise(&h);
    elect(&h, VIEW_STANDBY, 0);
    not_ready_for(&h, 1, "stopping");
}

static void
test_report_of_wrong_shape_is_refused(void **state)
{
    struct health h = {0};
    struct unpacked *u;
    struct err err;

    (void)state;
    u = unpack_body(STR("\223\303\240\201\241a\241b"), &err);
    assert_non_null(u);
    assert_int_equal(health_report(&h, ROLE_PLACER, unpacked_root(u), &err),
                     -1);
    unpacked_free(u);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_2_5_not_ready_before_synchronisation),
        cmocka_unit_test(test_2_5_not_ready_while_nobody_is_elected),
        cmocka_unit_test(test_2_5_standby_is_ready),
        cmocka_unit_test(test_L04_leader_is_ready_once_it_planned_in_its_term),
        cmocka_unit_test(test_7_a_plan_that_is_said_again_changes_nothing),
        cmocka_unit_test(
            test_death_of_informer_keeps_readiness_for_ten_seconds),
        cmocka_unit_test(test_repeated_deaths_do_not_renew_the_grace),
        cmocka_unit_test(test_the_end_of_a_grace_is_told_in_advance),
        cmocka_unit_test(test_death_of_elector_and_projector_changes_nothing),
        cmocka_unit_test(
            test_2_5_a_term_that_was_not_renewed_is_over_at_its_deadline),
        cmocka_unit_test(
            test_7_a_standby_stays_one_until_the_next_elector_knows),
        cmocka_unit_test(test_7_who_did_not_stand_by_does_not_by_a_restart),
        cmocka_unit_test(test_a_shadow_is_ready_while_nothing_would_be_written),
        cmocka_unit_test(test_stopping_is_not_ready),
        cmocka_unit_test(test_report_of_wrong_shape_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
