/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/sandbox/parts.h"
#include "common/sandbox/sandbox.h"

/* What these tests build is loaded and tried by process/test_sandbox.py. */

static const uint32_t architectures[] = {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64};

/* The filter of that worker in words, to be freed. */
static char *
filter_of(unsigned may, uint32_t architecture)
{
    const struct sandbox box = {.may = may};
    FILE *file = tmpfile();
    struct err err;
    char *text;
    long n;

    assert_non_null(file);
    if (seccomp_print(&box, architecture, fileno(file), &err) != 0)
        fail_msg("%s", err.text);
    fseek(file, 0, SEEK_END);
    n = ftell(file);
    rewind(file);
    text = mem_zalloc((size_t)n + 1);
    assert_int_equal(fread(text, 1, (size_t)n, file), n);
    fclose(file);
    return text;
}

static bool
names(const char *filter, const char *call)
{
    char comment[64];

    snprintf(comment, sizeof(comment), "# filter for syscall \"%s\"", call);
    return strstr(filter, comment) != NULL;
}

static void
test_the_filter_can_be_made_for_each_architecture(void **state)
{
    (void)state;
    for (size_t i = 0; i < nitems(architectures); i++) {
        bool x86 = architectures[i] == SCMP_ARCH_X86_64;
        char *text = filter_of(SANDBOX_CONNECT, architectures[i]);

        assert_non_null(strstr(text, x86 ? "arch x86_64" : "arch aarch64"));
        assert_null(strstr(text, x86 ? "arch aarch64" : "arch x86_64"));
        /* By the numbers of that architecture. */
        assert_non_null(
            strstr(text, x86 ? "\"openat\" (257)" : "\"openat\" (56)"));
        assert_non_null(strstr(text, x86 ? "\"epoll_pwait\" (281)"
                                         : "\"epoll_pwait\" (22)"));
        assert_non_null(strstr(text, "action KILL_PROCESS"));
        free(text);
    }
}

static void
test_nobody_can_start_trace_or_reach_another_process(void **state)
{
    static const char *const calls[] = {
        "execve",         "execveat",     "fork",
        "vfork",          "ptrace",       "process_vm_writev",
        "kill",           "pidfd_getfd",  "bpf",
        "io_uring_setup", "keyctl",       "unshare",
        "mount",          "memfd_create", "fchmod",
        "setrlimit",      "prctl",        "listen",
        "unlinkat"};
    static const unsigned powers[] = {SANDBOX_NOTHING, SANDBOX_RECORD,
                                      SANDBOX_ACCEPT,
                                      SANDBOX_CONNECT | SANDBOX_NAMES};

    (void)state;
    for (size_t p = 0; p < nitems(powers); p++) {
        char *text = filter_of(powers[p], 0);

        for (size_t i = 0; i < nitems(calls); i++)
            if (names(text, calls[i]))
                fail_msg("%s is allowed", calls[i]);
        free(text);
    }
}

static void
test_each_power_brings_its_own_calls(void **state)
{
    static const struct {
        unsigned may;
        const char *call;
    } cases[] = {
        {SANDBOX_RECORD, "ftruncate"}, {SANDBOX_ACCEPT, "accept4"},
        {SANDBOX_CONNECT, "connect"},  {SANDBOX_CONNECT, "openat"},
        {SANDBOX_NAMES, "sendmmsg"},   {SANDBOX_NAMES, "bind"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        for (unsigned may = SANDBOX_CONNECT; may <= SANDBOX_NAMES; may <<= 1) {
            char *text = filter_of(may, 0);

            if (names(text, cases[i].call) != (may == cases[i].may))
                fail_msg("%s with %u", cases[i].call, may);
            free(text);
        }
    }
}

static void
test_a_signal_goes_to_the_process_itself_only(void **state)
{
    char *text = filter_of(SANDBOX_NOTHING, 0);
    char *rule = strstr(text, "# filter for syscall \"tgkill\"");
    char self[32];

    (void)state;
    assert_non_null(rule);
    *strstr(rule + 1, "# ") = '\0';
    snprintf(self, sizeof(self), "== %d)", (int)getpid());
    assert_non_null(strstr(rule, self));
    free(text);
}

static void
test_what_a_version_of_Landlock_cannot_do_is_named(void **state)
{
    (void)state;
    for (int version = 1; version < 9; version++) {
        assert_null(landlock_lacks(version, SANDBOX_NOTHING));
        assert_null(landlock_lacks(version, SANDBOX_ACCEPT));
        assert_int_equal(landlock_lacks(version, SANDBOX_CONNECT) == NULL,
                         version >= 4);
    }
    assert_non_null(strstr(landlock_lacks(3, SANDBOX_CONNECT), "6.7"));
}

static void
test_every_worker_has_its_row(void **state)
{
    (void)state;
    for (unsigned role = ROLE_SUPERVISOR + 1; role < ROLE_COUNT; role++)
        sandbox_free(sandbox_new((enum role)role));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_filter_can_be_made_for_each_architecture),
        cmocka_unit_test(test_nobody_can_start_trace_or_reach_another_process),
        cmocka_unit_test(test_each_power_brings_its_own_calls),
        cmocka_unit_test(test_a_signal_goes_to_the_process_itself_only),
        cmocka_unit_test(test_what_a_version_of_Landlock_cannot_do_is_named),
        cmocka_unit_test(test_every_worker_has_its_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
