/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

static void
test_memory_is_zeroed(void **state)
{
    char *p = mem_zalloc(1000);

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0);
    free(p);
    free(mem_zalloc(0));
}

static void
test_resize_keeps_the_content(void **state)
{
    int *p = mem_resize(NULL, 2, sizeof(*p));

    (void)state;
    p[0] = 1;
    p[1] = 2;
    p = mem_resize(p, 1000, sizeof(*p));
    assert_int_equal(p[0], 1);
    assert_int_equal(p[1], 2);
    free(mem_resize(p, 0, sizeof(*p)));
}

static void
test_copies(void **state)
{
    char *a = mem_dup("a\0b", 3);
    char *b = mem_strdup("text");
    char *c = mem_printf("%s-%d", "x", 7);
    char *d = mem_dup(NULL, 0);

    (void)state;
    assert_memory_equal(a, "a\0b", 4);
    assert_string_equal(b, "text");
    assert_string_equal(c, "x-7");
    assert_string_equal(d, "");
    assert_null(mem_strdup(NULL));
    free(a);
    free(b);
    free(c);
    free(d);
}

/* How a child ends that does this, and its first words on stderr. */
static int
end_of(void (*act)(void), char *words, size_t size)
{
    int out[2];
    int status;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(out), 0);
    child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(out[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(out[1]);
    n = read(out[0], words, size - 1);
    words[n < 0 ? 0 : n] = '\0';
    close(out[0]);
    waitpid(child, &status, 0);
    return status;
}

static void
act_fatal(void)
{
    fatal("bug %d", 7);
}

static void
act_overflow(void)
{
    free(mem_resize(NULL, SIZE_MAX / 2, 3));
}

static void
test_fatal_says_one_line_and_aborts(void **state)
{
    char words[200];
    int status = end_of(act_fatal, words, sizeof(words));

    (void)state;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(words, "fatal: bug 7\n");
}

static void
test_a_product_that_overflows_is_fatal(void **state)
{
    char words[200];
    int status = end_of(act_overflow, words, sizeof(words));

    (void)state;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_memory_equal(words, "fatal: allocation of ", 21);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed),
        cmocka_unit_test(test_resize_keeps_the_content),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_fatal_says_one_line_and_aborts),
        cmocka_unit_test(test_a_product_that_overflows_is_fatal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
