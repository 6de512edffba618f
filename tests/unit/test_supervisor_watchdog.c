/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "supervisor/watchdog.h"

static void
test_who_answers_is_asked_at_each_beat(void **state)
{
    struct watchdog w = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(watchdog_beat(&w, false), WATCHDOG_PING);
        watchdog_heard(&w);
    }
}

static void
test_who_is_silent_for_15_beats_is_found_at_the_next(void **state)
{
    struct watchdog w = {0};

    (void)state;
    assert_int_equal(WATCHDOG_SILENCE * WATCHDOG_BEAT, 15);
    assert_int_equal(watchdog_beat(&w, false), WATCHDOG_PING);
    for (int i = 1; i < 15; i++)
        assert_int_equal(watchdog_beat(&w, false), WATCHDOG_WAIT);
    assert_int_equal(watchdog_beat(&w, false), WATCHDOG_SILENT);
}

static void
test_an_answer_in_the_last_moment_counts(void **state)
{
    struct watchdog w = {0};

    (void)state;
    for (int i = 0; i < 15; i++)
        watchdog_beat(&w, false);
    watchdog_heard(&w);
    assert_int_equal(watchdog_beat(&w, false), WATCHDOG_PING);
}

/* Whoever was excused has the whole time again. */
static void
test_beats_in_a_debugger_do_not_count(void **state)
{
    struct watchdog w = {0};

    (void)state;
    for (int i = 0; i < 15; i++)
        watchdog_beat(&w, false);
    for (int i = 0; i < 100; i++)
        assert_int_not_equal(watchdog_beat(&w, true), WATCHDOG_SILENT);
    for (int i = 0; i < 14; i++)
        assert_int_not_equal(watchdog_beat(&w, false), WATCHDOG_SILENT);
    assert_int_equal(watchdog_beat(&w, false), WATCHDOG_SILENT);
}

static void
test_J10_traced_is_a_tracer_or_a_tracing_stop(void **state)
{
    static const struct {
        const char *status;
        bool traced;
    } rows[] = {
        {"Name:\tplacer\nState:\tS (sleeping)\nTracerPid:\t0\n", false},
        {"Name:\tplacer\nState:\tS (sleeping)\nTracerPid:\t71\n", true},
        {"Name:\tplacer\nState:\tt (tracing stop)\nTracerPid:\t0\n", true},
        {"Name:\tplacer\nState:\tT (stopped)\nTracerPid:\t0\n", false},
        {"Name:\tTracerPid: 9\nState:\tR (running)\nTracerPid:\t0\n", false},
        {"State:\tt", true},
        {"TracerPid:", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        assert_int_equal(watchdog_traced_by(rows[i].status), rows[i].traced);
}

static void
test_a_process_that_is_traced(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(pid, &status, WUNTRACED);
    assert_true(watchdog_traced(pid));
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_false(watchdog_traced(pid));
    assert_false(watchdog_traced(getpid()));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_answers_is_asked_at_each_beat),
        cmocka_unit_test(test_who_is_silent_for_15_beats_is_found_at_the_next),
        cmocka_unit_test(test_an_answer_in_the_last_moment_counts),
        cmocka_unit_test(test_beats_in_a_debugger_do_not_count),
        cmocka_unit_test(test_J10_traced_is_a_tracer_or_a_tracing_stop),
        cmocka_unit_test(test_a_process_that_is_traced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
