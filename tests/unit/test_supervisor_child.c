/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "supervisor/child.h"

static enum child_action
run(struct child *child, int64_t *now)
{
    assert_int_equal(child_step(child, CHILD_DUE, *now), CHILD_SPAWN);
    assert_int_equal(child_step(child, CHILD_HELLO, *now), CHILD_WIRE);
    return child_step(child, CHILD_READY, *now);
}

static void
test_start_goes_from_down_to_running(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    assert_int_equal(run(&child, &now), CHILD_ANNOUNCE);
    assert_int_equal(child.state, CHILD_RUNNING);
    assert_int_equal(child.limit, 0);
}

static void
test_first_death_restarts_at_once(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    run(&child, &now);
    assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
    assert_int_equal(child.state, CHILD_DOWN);
    assert_int_equal(child.due, now);
}

static void
test_repeated_deaths_wait_from_start_to_start(void **state)
{
    static const int64_t wanted[] = {0,    100,  200,  400,   800,
                                     1600, 3200, 6400, 10000, 10000};
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        int64_t started = now;

        run(&child, &now);
        assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
        assert_int_equal(child.due, started + wanted[i] * CLOCK_MS);
        now = child.due;
    }
}

static void
test_who_lived_longer_than_the_delay_restarts_at_once(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (int i = 0; i < 4; i++) {
        run(&child, &now);
        now += CLOCK_SECOND;
        child_step(&child, CHILD_EXIT, now);
        assert_int_equal(child.due, now);
    }
}

static void
test_a_minute_of_health_forgets_deaths(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (int i = 0; i < 5; i++) {
        run(&child, &now);
        child_step(&child, CHILD_EXIT, now);
        now = child.due;
    }
    run(&child, &now);
    now += CHILD_HEALTHY;
    child_step(&child, CHILD_EXIT, now);
    assert_int_equal(child.deaths, 1);
}

static void
test_ten_deaths_without_ready_give_up(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (int i = 1; i < CHILD_UNREADY_DEATHS; i++) {
        child_step(&child, CHILD_DUE, now);
        assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
        now = child.due;
    }
    child_step(&child, CHILD_DUE, now);
    assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_GIVE_UP);
    assert_int_equal(child.state, CHILD_ENDED);
}

static void
test_ready_once_resets_the_count_of_unready_deaths(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (int i = 0; i < 3 * CHILD_UNREADY_DEATHS; i++) {
        if (i % 5 == 0)
            run(&child, &now);
        else
            child_step(&child, CHILD_DUE, now);
        assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
        now = child.due;
    }
}

static void
test_late_start_is_killed_then_restarted(void **state)
{
    struct child child = {0};

    (void)state;
    child_step(&child, CHILD_DUE, 1);
    assert_int_equal(child.limit, 1 + CHILD_START_LIMIT);
    assert_int_equal(child_step(&child, CHILD_LATE, child.limit), CHILD_KILL);
    assert_int_equal(child_step(&child, CHILD_HELLO, 2), CHILD_NOTHING);
    assert_int_equal(child_step(&child, CHILD_EXIT, 3), CHILD_RESTART);
}

static void
test_broken_link_is_killed_then_restarted(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    run(&child, &now);
    assert_int_equal(child_step(&child, CHILD_CUT, now), CHILD_KILL);
    assert_int_equal(child_step(&child, CHILD_LEFT, now), CHILD_NOTHING);
    assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
}

static void
test_who_closes_its_link_may_end_by_itself(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    run(&child, &now);
    assert_int_equal(child_step(&child, CHILD_LEFT, now), CHILD_NOTHING);
    assert_int_equal(child.state, CHILD_KILLED);
    assert_int_equal(child.limit, now + CHILD_LEAVE_LIMIT);
    assert_int_equal(child_step(&child, CHILD_LATE, child.limit), CHILD_KILL);
    assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
}

static void
test_stop_in_every_state_ends(void **state)
{
    static const enum child_event paths[][4] = {
        {CHILD_STOP},
        {CHILD_DUE, CHILD_STOP, CHILD_EXIT},
        {CHILD_DUE, CHILD_HELLO, CHILD_STOP, CHILD_EXIT},
    };
    static const size_t lengths[] = {1, 3, 4};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct child child = {0};

        for (size_t j = 0; j < lengths[i]; j++)
            child_step(&child, paths[i][j], 1);
        assert_int_equal(child.state, CHILD_ENDED);
    }
}

static void
test_stop_that_takes_too_long_is_killed(void **state)
{
    struct child child = {.patience = CHILD_STOP_LIMIT};
    int64_t now = CLOCK_SECOND;

    (void)state;
    run(&child, &now);
    assert_int_equal(child_step(&child, CHILD_STOP, now), CHILD_TELL);
    assert_int_equal(child.limit, now + CHILD_STOP_LIMIT);
    assert_int_equal(child_step(&child, CHILD_LATE, child.limit), CHILD_KILL);
    assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_FINISH);
}

static void
test_held_it_waits_after_HELLO_for_as_long_as_it_takes(void **state)
{
    struct child child = {.hold = true};

    (void)state;
    child_step(&child, CHILD_DUE, 1);
    assert_int_equal(child_step(&child, CHILD_HELLO, 2), CHILD_NOTHING);
    assert_int_equal(child.state, CHILD_HELD);
    assert_int_equal(child.limit, 0);
    assert_int_equal(child_step(&child, CHILD_LATE, 3), CHILD_NOTHING);
    child.hold = false;
    assert_int_equal(child_step(&child, CHILD_GO, 4), CHILD_WIRE);
    assert_int_equal(child.limit, 4 + CHILD_START_LIMIT);
    assert_int_equal(child_step(&child, CHILD_READY, 5), CHILD_ANNOUNCE);
}

static void
test_a_held_one_stops_dies_and_is_let_go_when_not_there(void **state)
{
    struct child child = {.hold = true};

    (void)state;
    assert_int_equal(child_step(&child, CHILD_GO, 1), CHILD_NOTHING);
    child_step(&child, CHILD_DUE, 1);
    child_step(&child, CHILD_HELLO, 1);
    assert_int_equal(child_step(&child, CHILD_EXIT, 2), CHILD_RESTART);
    child_step(&child, CHILD_DUE, 2);
    child_step(&child, CHILD_HELLO, 2);
    assert_int_equal(child_step(&child, CHILD_STOP, 3), CHILD_KILL);
    assert_int_equal(child_step(&child, CHILD_EXIT, 3), CHILD_FINISH);
}

static void
test_silent_it_is_aborted_and_killed_if_that_does_not_end_it(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    assert_int_equal(child_step(&child, CHILD_SILENT, now), CHILD_NOTHING);
    run(&child, &now);
    assert_int_equal(child_step(&child, CHILD_SILENT, now), CHILD_ABORT);
    assert_int_equal(child.limit, now + CHILD_CORE_LIMIT);
    assert_int_equal(child_step(&child, CHILD_LATE, child.limit), CHILD_KILL);
    assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
    assert_int_equal(child.deaths, 1);
}

static void
test_a_restart_that_was_asked_for_is_no_death(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (int i = 0; i < 3 * CHILD_UNREADY_DEATHS; i++) {
        if (i % 2 == 0)
            run(&child, &now);
        else
            child_step(&child, CHILD_DUE, now);
        assert_int_equal(child_step(&child, CHILD_AGAIN, now), CHILD_KILL);
        assert_int_equal(child_step(&child, CHILD_EXIT, now), CHILD_RESTART);
        assert_int_equal(child.due, now);
        assert_int_equal(child.deaths, 0);
    }
    /* The next one that nobody asked for is. */
    run(&child, &now);
    child_step(&child, CHILD_EXIT, now);
    assert_int_equal(child.deaths, 1);
}

static void
test_a_restart_ends_a_pause_between_deaths(void **state)
{
    struct child child = {0};
    int64_t now = CLOCK_SECOND;

    (void)state;
    for (int i = 0; i < 6; i++) {
        run(&child, &now);
        child_step(&child, CHILD_EXIT, now);
        now = child.due;
    }
    assert_int_equal(child_step(&child, CHILD_AGAIN, now - 1), CHILD_SPAWN);
    assert_int_equal(child.state, CHILD_STARTING);
}

static void
test_ended_takes_no_event(void **state)
{
    (void)state;
    for (int e = 0; e < CHILD_EVENTS; e++) {
        struct child child = {.state = CHILD_ENDED};

        assert_int_equal(child_step(&child, (enum child_event)e, 1),
                         CHILD_NOTHING);
        assert_int_equal(child.state, CHILD_ENDED);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_goes_from_down_to_running),
        cmocka_unit_test(test_first_death_restarts_at_once),
        cmocka_unit_test(test_repeated_deaths_wait_from_start_to_start),
        cmocka_unit_test(test_who_lived_longer_than_the_delay_restarts_at_once),
        cmocka_unit_test(test_a_minute_of_health_forgets_deaths),
        cmocka_unit_test(test_ten_deaths_without_ready_give_up),
        cmocka_unit_test(test_ready_once_resets_the_count_of_unready_deaths),
        cmocka_unit_test(test_late_start_is_killed_then_restarted),
        cmocka_unit_test(test_broken_link_is_killed_then_restarted),
        cmocka_unit_test(test_who_closes_its_link_may_end_by_itself),
        cmocka_unit_test(test_stop_in_every_state_ends),
        cmocka_unit_test(test_stop_that_takes_too_long_is_killed),
        cmocka_unit_test(test_ended_takes_no_event),
        cmocka_unit_test(
            test_held_it_waits_after_HELLO_for_as_long_as_it_takes),
        cmocka_unit_test(
            test_a_held_one_stops_dies_and_is_let_go_when_not_there),
        cmocka_unit_test(
            test_silent_it_is_aborted_and_killed_if_that_does_not_end_it),
        cmocka_unit_test(test_a_restart_that_was_asked_for_is_no_death),
        cmocka_unit_test(test_a_restart_ends_a_pause_between_deaths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
