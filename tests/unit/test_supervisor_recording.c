/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "proto/recording.h"
#include "supervisor/recording.h"

struct folder {
    char path[40], file[60];
};

static int
set_up(void **state)
{
    struct folder *f = mem_zalloc(sizeof(*f));

    snprintf(f->path, sizeof(f->path), "/tmp/mokka-recording-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->file, sizeof(f->file), "%s/file", f->path);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct folder *f = *state;

    unlink(f->file);
    rmdir(f->path);
    free(f);
    return 0;
}

static void
write_file(const struct folder *f, const char *text)
{
    int fd = open(f->file, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void
assert_file(const struct folder *f, int64_t size, mode_t mode)
{
    struct stat st;

    assert_int_equal(stat(f->file, &st), 0);
    assert_int_equal(st.st_size, size);
    assert_int_equal(st.st_mode & 07777, mode);
}

static void
refused(const char *path, const char *why)
{
    struct err err;

    assert_int_equal(recording_open(path, &err), -1);
    if (strstr(err.text, why) == NULL || strstr(err.text, path) == NULL)
        fail_msg("%s", err.text);
}

static void
test_a_new_file_is_its_owners_alone(void **state)
{
    struct folder *f = *state;
    struct err err;
    mode_t mask = umask(0);
    int fd = recording_open(f->file, &err);

    umask(mask);
    assert_true(fd > 0);
    assert_file(f, 0, 0600);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static void
test_a_recording_is_overwritten_anything_else_is_left_alone(void **state)
{
    struct folder *f = *state;
    struct err err;
    int fd;

    write_file(f, RECORDING_MARK "and so on");
    fd = recording_open(f->file, &err);
    assert_true(fd > 0);
    assert_file(f, 0, 0600);
    close(fd);
    fd = recording_open(f->file, &err); /* one that is empty */
    assert_true(fd > 0);
    close(fd);
    write_file(f, "mokka");
    refused(f->file, "is no recording");
    assert_file(f, 5, 0600);
}

static void
test_one_that_is_in_use_is_left_alone(void **state)
{
    struct folder *f = *state;
    struct err err;
    int fd = recording_open(f->file, &err);

    assert_int_equal(write(fd, RECORDING_MARK, 16), 16);
    refused(f->file, "in use");
    assert_file(f, 16, 0600);
    close(fd);
    fd = recording_open(f->file, &err);
    assert_true(fd > 0);
    close(fd);
}

static void
test_what_is_no_file_is_refused(void **state)
{
    struct folder *f = *state;

    refused("/dev/null", "no regular file");
    refused(f->path, "directory");
    assert_int_equal(mkfifo(f->file, 0600), 0);
    refused(f->file, "no regular file");
    refused("/nonexistent/x", "No such file");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_new_file_is_its_owners_alone,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_recording_is_overwritten_anything_else_is_left_alone, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_is_in_use_is_left_alone,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_file_is_refused, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
