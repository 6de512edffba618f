/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/lease_page.h"
#include "common/mem.h"

struct fixture {
    int fd, view;
    struct lease_page *page;       /* the elector's */
    const struct lease_page *seen; /* the projector's */
    struct lease_page *seen_to_free;
};

static int
setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof(*f));
    struct err err = {""};

    f->fd = lease_page_create(&f->view, &err);
    if (f->fd < 0)
        fail_msg("%s", err.text);
    f->page = lease_page_map(f->fd, true, &err);
    f->seen = f->seen_to_free = lease_page_map(f->view, false, &err);
    assert_non_null(f->page);
    assert_non_null(f->seen);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    lease_page_unmap(f->page);
    lease_page_unmap(f->seen_to_free);
    close(f->fd);
    close(f->view);
    free(f);
    return 0;
}

static void
assert_page(const struct fixture *f, uint64_t term, int64_t deadline)
{
    uint64_t got_term;
    int64_t got_deadline;

    lease_page_read(f->seen, &got_term, &got_deadline);
    assert_true(got_term == term);
    assert_true(got_deadline == deadline);
}

static void
test_a_new_page_has_no_term(void **state)
{
    const struct fixture *f = *state;

    assert_page(f, 0, 0);
}

static void
test_what_is_published_is_seen(void **state)
{
    const struct fixture *f = *state;

    lease_page_publish(f->page, 1, 1000);
    assert_page(f, 1, 1000);
    lease_page_publish(f->page, 1, 2000);
    assert_page(f, 1, 2000);
    lease_page_publish(f->page, 1, 0);
    assert_page(f, 1, 0);
    lease_page_publish(f->page, UINT64_MAX, INT64_MAX);
    assert_page(f, UINT64_MAX, INT64_MAX);
}

static void
test_the_next_elector_finds_the_term(void **state)
{
    struct fixture *f = *state;

    lease_page_publish(f->page, 7, 1234);
    lease_page_unmap(f->page);
    f->page = lease_page_map(f->fd, true, NULL);
    assert_non_null(f->page);
    assert_page(f, 7, 1234);
    lease_page_publish(f->page, 7, 5678);
    assert_page(f, 7, 5678);
}

static void
test_the_view_cannot_be_written(void **state)
{
    const struct fixture *f = *state;
    struct err err = {""};

    assert_int_equal(write(f->view, "x", 1), -1);
    assert_int_equal(errno, EBADF);
    assert_null(lease_page_map(f->view, true, &err));
    assert_string_not_equal(err.text, "");
}

static void
test_its_size_is_sealed(void **state)
{
    const struct fixture *f = *state;

    assert_int_equal(ftruncate(f->fd, 0), -1);
    assert_int_equal(ftruncate(f->fd, 1 << 20), -1);
    assert_page(f, 0, 0);
}

static void
test_both_descriptors_close_on_exec(void **state)
{
    const struct fixture *f = *state;

    assert_true(fcntl(f->fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(f->view, F_GETFD) & FD_CLOEXEC);
}

/* Every publication of the child's: the deadline follows from the term. */
static int64_t
deadline_of(uint64_t term)
{
    return (int64_t)(term * 3 + 1);
}

static void
publish_for_ever(struct lease_page *page, uint64_t term)
{
    for (;; term++)
        lease_page_publish(page, term, deadline_of(term));
}

static void
test_a_reader_never_sees_half_a_publication(void **state)
{
    const struct fixture *f = *state;
    pid_t child;
    uint64_t last = 0;

    lease_page_publish(f->page, 1, deadline_of(1));
    child = fork();
    if (child == 0)
        publish_for_ever(f->page, 2);
    for (int i = 0; i < 300000; i++) {
        uint64_t term;
        int64_t deadline;

        lease_page_read(f->seen, &term, &deadline);
        if (term == 0 && deadline == 0)
            continue; /* it never stood still: no term, not a wrong one */
        assert_true(deadline == deadline_of(term));
        assert_true(term >= last);
        last = term;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void
test_a_writer_killed_half_way_leaves_what_it_published_last(void **state)
{
    const struct fixture *f = *state;
    uint64_t last = 1;

    lease_page_publish(f->page, last, deadline_of(last));
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        int64_t deadline;
        uint64_t term;

        if (child == 0)
            publish_for_ever(f->page, last + 1);
        usleep(100 + (useconds_t)i * 7 % 400);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        lease_page_read(f->seen, &term, &deadline);
        assert_true(term >= last);
        assert_true(deadline == deadline_of(term));
        last = term;
    }
    assert_true(last > 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_new_page_has_no_term),
        TEST(test_what_is_published_is_seen),
        TEST(test_the_next_elector_finds_the_term),
        TEST(test_the_view_cannot_be_written),
        TEST(test_its_size_is_sealed),
        TEST(test_both_descriptors_close_on_exec),
        TEST(test_a_reader_never_sees_half_a_publication),
        TEST(test_a_writer_killed_half_way_leaves_what_it_published_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
