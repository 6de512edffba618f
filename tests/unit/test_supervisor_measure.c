/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/metrics.h"
#include "supervisor/measure.h"

static int64_t
told(const struct metrics *m, enum metric id)
{
    const int64_t *number = metrics_get(m, id, ROLE_PLACER, 0);

    return number == NULL ? -1 : *number;
}

static int64_t
own_cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * CLOCK_SECOND +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void
test_a_process_that_is_there(void **state)
{
    struct metrics *m = metrics_new();
    struct measured p = {.role = ROLE_PLACER,
                         .pid = getpid(),
                         .generation = 3,
                         .started = 12345,
                         .up = true};
    char *memory = mem_zalloc(64 << 20);

    (void)state;
    /* A name that looks like what follows it. */
    prctl(PR_SET_NAME, "a) S 1 2 3");
    memset(memory, 1, 64 << 20);
    while (own_cpu() < CLOCK_SECOND / 10)
        ;
    measure_process(m, &p);
    assert_int_equal(told(m, METRIC_WORKER_UP), 1);
    assert_int_equal(told(m, METRIC_WORKER_GENERATION), 3);
    assert_int_equal(told(m, METRIC_WORKER_RESTARTS), 2);
    assert_int_equal(told(m, METRIC_WORKER_START), 12345);
    assert_in_range(told(m, METRIC_WORKER_CPU), CLOCK_SECOND / 20,
                    own_cpu() + CLOCK_SECOND / 10);
    assert_in_range(told(m, METRIC_WORKER_MEMORY), 64 << 20, 4ll << 30);
    metrics_free(m);
    assert_int_equal(memory[1000], 1);
    free(memory);
}

static void
test_a_process_that_is_gone_has_no_figures(void **state)
{
    struct measured p = {.role = ROLE_PLACER, .generation = 1};
    struct metrics *m = metrics_new();

    (void)state;
    for (p.pid = 0; p.pid < 2 << 22; p.pid += (2 << 22) - 1) {
        metrics_clear(m);
        measure_process(m, &p);
        assert_int_equal(told(m, METRIC_WORKER_UP), 0);
        assert_int_equal(told(m, METRIC_WORKER_RESTARTS), 0);
        assert_int_equal(told(m, METRIC_WORKER_CPU), -1);
        assert_int_equal(told(m, METRIC_WORKER_MEMORY), -1);
    }
    metrics_clear(m);
    p.generation = 0; /* never started */
    p.pid = 0;
    measure_process(m, &p);
    assert_int_equal(told(m, METRIC_WORKER_RESTARTS), 0);
    metrics_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_is_there),
        cmocka_unit_test(test_a_process_that_is_gone_has_no_figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
