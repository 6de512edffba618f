/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/crash.h"
#include "common/mem.h"
#include "common/trace.h"
#include "proto/frame.h"

static struct trace *
make(int *fd)
{
    struct err err;
    struct trace *t;

    *fd = trace_create(&err);
    assert_true(*fd >= 0);
    t = trace_map(*fd, true, &err);
    assert_non_null(t);
    return t;
}

static void
done(struct trace *t, int fd)
{
    trace_unmap(t);
    close(fd);
}

static void
test_a_fresh_trace_holds_nothing(void **state)
{
    struct trace_frame frames[4];
    struct trace_crash crash;
    int fd;
    struct trace *t = make(&fd);

    (void)state;
    assert_int_equal(trace_last(t, frames, 4), 0);
    trace_crash(t, &crash);
    assert_int_equal(crash.signal, 0);
    assert_int_equal(crash.depth, 0);
    done(t, fd);
}

static void
test_the_last_frames_are_there_oldest_first(void **state)
{
    struct trace_frame frames[TRACE_FRAMES];
    int fd;
    struct trace *t = make(&fd);

    (void)state;
    for (uint32_t i = 1; i <= 1000; i++)
        trace_note(t, ROLE_PLACER, i % 2 == 0, MSG_NODE, i, STR("body"));
    assert_int_equal(trace_last(t, frames, 3), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(frames[i].id, 998 + i);
        assert_int_equal(frames[i].number, 998 + i);
        assert_int_equal(frames[i].out, i % 2 == 0);
        assert_int_equal(frames[i].peer, ROLE_PLACER);
        assert_int_equal(frames[i].type, MSG_NODE);
        assert_int_equal(frames[i].length, 4);
        assert_memory_equal(frames[i].body.s, "body", 4);
    }
    assert_int_equal(trace_last(t, frames, TRACE_FRAMES), TRACE_FRAMES);
    assert_int_equal(frames[0].id, 1000 - TRACE_FRAMES + 1);
    done(t, fd);
}

static void
test_a_long_body_is_cut_and_its_length_told(void **state)
{
    static char body[TRACE_BODY + 1000];
    struct trace_frame frame;
    int fd;
    struct trace *t = make(&fd);

    (void)state;
    memset(body, 'x', sizeof(body));
    trace_note(t, ROLE_WEB, false, MSG_READINESS, 0,
               (struct str){body, sizeof(body)});
    assert_int_equal(trace_last(t, &frame, 1), 1);
    assert_int_equal(frame.length, sizeof(body));
    assert_int_equal(frame.body.n, TRACE_BODY);
    done(t, fd);
}

/* What a dying worker left may be anything; looking at it must be safe. */
static void
test_any_bytes_can_be_looked_at(void **state)
{
    struct trace_frame frames[TRACE_FRAMES];
    struct trace_crash crash;
    int fd;
    struct trace *t = make(&fd);
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    volatile char sum = 0;

    (void)state;
    for (unsigned seed = 0; seed < 200; seed++) {
        unsigned char *bytes = (unsigned char *)t;

        srand(seed);
        for (size_t i = 0; i < size; i++)
            bytes[i] = seed == 0 ? 0xff : (unsigned char)rand();
        for (unsigned i = trace_last(t, frames, TRACE_FRAMES); i > 0; i--)
            for (size_t j = 0; j < frames[i - 1].body.n; j++)
                sum = (char)(sum + frames[i - 1].body.s[j]);
        trace_crash(t, &crash);
        assert_in_range(crash.depth, 0, TRACE_STACK);
    }
    done(t, fd);
}

static void
test_its_size_cannot_be_changed(void **state)
{
    int fd;
    struct trace *t = make(&fd);
    struct err err;

    (void)state;
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_null(trace_map(STDIN_FILENO, false, &err));
    done(t, fd);
}

__attribute__((noinline)) static void
crash_by(int number)
{
    if (number == SIGABRT)
        abort();
    else
        kill(getpid(), number);
    pause();
}

/* A child that crashes dies of that signal, and its trace says where. */
static void
crash_in_child(int number, struct trace_crash *crash)
{
    int fd, status;
    struct trace *t = make(&fd);
    pid_t pid = fork();

    if (pid == 0) {
        signal(number, SIG_DFL); /* a sanitizer's own handler */
        crash_watch(t);
        crash_by(number);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
    trace_crash(t, crash);
    done(t, fd);
}

static void
test_J09_a_crash_is_noted_with_signal_and_place(void **state)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

    (void)state;
    for (size_t i = 0; i < nitems(numbers); i++) {
        struct trace_crash crash;
        bool inside = false;

        crash_in_child(numbers[i], &crash);
        assert_int_equal(crash.signal, numbers[i]);
        assert_true(crash.depth > 1);
        for (unsigned j = 0; j < crash.depth; j++)
            inside = inside || crash.stack[j].inside;
        assert_true(inside);
    }
}

static void
test_unwatched_nothing_is_noted(void **state)
{
    struct trace_crash crash;
    int fd, status;
    struct trace *t = make(&fd);
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        crash_watch(t);
        crash_unwatch();
        abort();
    }
    waitpid(pid, &status, 0);
    assert_int_equal(WTERMSIG(status), SIGABRT);
    trace_crash(t, &crash);
    assert_int_equal(crash.signal, 0);
    done(t, fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fresh_trace_holds_nothing),
        cmocka_unit_test(test_the_last_frames_are_there_oldest_first),
        cmocka_unit_test(test_a_long_body_is_cut_and_its_length_told),
        cmocka_unit_test(test_any_bytes_can_be_looked_at),
        cmocka_unit_test(test_its_size_cannot_be_changed),
        cmocka_unit_test(test_J09_a_crash_is_noted_with_signal_and_place),
        cmocka_unit_test(test_unwatched_nothing_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
