/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "supervisor/memory.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

/* Puts a file, and the folders to it, under root. */
static void
put(const char *root, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", root, name);
    int fd;

    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    free(path);
}

static int
set_up(void **state)
{
    char path[] = "/tmp/mokka-memory-XXXXXX";

    assert_non_null(mkdtemp(path));
    *state = mem_strdup(path);
    return 0;
}

static int
tear_down(void **state)
{
    char *command = mem_printf("rm -r %s", (char *)*state);

    assert_int_equal(system(command), 0);
    free(command);
    free(*state);
    return 0;
}

static void
test_nothing_is_known_without_control_groups(void **state)
{
    assert_int_equal(memory_limit(*state), 0);
    put(*state, "proc/self/cgroup", "0::/\n");
    assert_int_equal(memory_limit(*state), 0);
    put(*state, "sys/fs/cgroup/memory.max", "max\n");
    assert_int_equal(memory_limit(*state), 0);
}

static void
test_kills_of_the_own_group_are_counted(void **state)
{
    assert_int_equal(memory_kills(*state), 0);
    put(*state, "proc/self/cgroup", "0::/kubepods/pod1/c1\n");
    put(*state, "sys/fs/cgroup/memory.events", "oom 9\noom_kill 3\n");
    assert_int_equal(memory_kills(*state), 3); /* of the root, in a container */
    put(*state, "sys/fs/cgroup/kubepods/pod1/memory.events", "oom_kill 7\n");
    put(*state, "sys/fs/cgroup/kubepods/pod1/c1/memory.events",
        "low 0\nhigh 0\nmax 4\noom 2\noom_kill 1\noom_group_kill 0\n");
    assert_int_equal(memory_kills(*state), 1);
    put(*state, "proc/self/cgroup", "5:memory:/a\n");
    put(*state, "sys/fs/cgroup/memory/a/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    assert_int_equal(memory_kills(*state), 2);
}

static void
test_a_container_sees_its_limit_at_the_root(void **state)
{
    put(*state, "proc/self/cgroup", "0::/\n");
    put(*state, "sys/fs/cgroup/memory.max", "1073741824\n");
    assert_int_equal(memory_limit(*state), GIB);
}

static void
test_the_lowest_of_all_groups_counts(void **state)
{
    put(*state, "proc/self/cgroup", "0::/kubepods/pod1/c1\n");
    put(*state, "sys/fs/cgroup/kubepods/pod1/c1/memory.max", "max\n");
    put(*state, "sys/fs/cgroup/kubepods/pod1/memory.max", "536870912\n");
    put(*state, "sys/fs/cgroup/kubepods/memory.max", "1073741824\n");
    assert_int_equal(memory_limit(*state), 512 * MIB);
}

static void
test_version_1_has_a_tree_for_memory_and_a_number_for_none(void **state)
{
    put(*state, "proc/self/cgroup", "12:pids:/x\n4:memory:/docker/abc\n0::/\n");
    put(*state, "sys/fs/cgroup/memory/memory.limit_in_bytes",
        "9223372036854771712\n");
    assert_int_equal(memory_limit(*state), 0);
    /* The path is the node's, what is seen is the container's. */
    put(*state, "sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
    assert_int_equal(memory_limit(*state), 256 * MIB);
}

static int64_t
sum(int64_t limit)
{
    int64_t total = 0;

    for (unsigned role = ROLE_SUPERVISOR + 1; role < ROLE_COUNT; role++)
        total += memory_share(limit, (enum role)role);
    return total;
}

static void
test_all_shares_together_stay_below_the_limit(void **state)
{
    static const int64_t limits[] = {132 * MIB, 300 * MIB, 512 * MIB,
                                     GIB,       64 * GIB,  INT64_C(1) << 59};

    (void)state;
    for (size_t i = 0; i < nitems(limits); i++) {
        assert_true(sum(limits[i]) > limits[i] / 2);
        assert_true(sum(limits[i]) <= limits[i] - 8 * MIB);
        for (unsigned role = ROLE_SUPERVISOR + 1; role < ROLE_COUNT; role++)
            assert_true(memory_share(limits[i], (enum role)role) >= 10 * MIB);
    }
}

static void
test_no_limit_and_one_that_is_too_small_are_not_shared(void **state)
{
    (void)state;
    assert_int_equal(sum(0), 0);
    assert_int_equal(sum(64 * MIB), 0);
    assert_int_equal(sum(110 * MIB), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        WITH_ROOT(test_nothing_is_known_without_control_groups),
        WITH_ROOT(test_kills_of_the_own_group_are_counted),
        WITH_ROOT(test_a_container_sees_its_limit_at_the_root),
        WITH_ROOT(test_the_lowest_of_all_groups_counts),
        WITH_ROOT(test_version_1_has_a_tree_for_memory_and_a_number_for_none),
        cmocka_unit_test(test_all_shares_together_stay_below_the_limit),
        cmocka_unit_test(
            test_no_limit_and_one_that_is_too_small_are_not_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
