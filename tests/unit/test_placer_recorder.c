/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "placer/recorder.h"

#define MIB (INT64_C(1) << 20)

static int warnings;
static char reason[256];

static void
hear(void *arg, enum log_level level, const char *msg,
     const struct log_field *fields)
{
    (void)arg;
    assert_int_equal(level, LOG_WARN);
    assert_string_equal(msg, "recording ended, the placer goes on");
    assert_string_equal(fields[0].key, "reason");
    snprintf(reason, sizeof(reason), "%s", fields[0].text);
    warnings++;
}

static int
set_up(void **state)
{
    (void)state;
    warnings = 0;
    log_hand_to(hear, NULL);
    return 0;
}

/* A file, and another descriptor for it that the test keeps. */
static int
new_file(int *kept)
{
    int fd = memfd_create("recording", 0);

    *kept = fcntl(fd, F_DUPFD, 0);
    return fd;
}

static struct str
content(int fd)
{
    off_t n = lseek(fd, 0, SEEK_END);
    char *data = mem_zalloc((size_t)n + 1);

    assert_int_equal(pread(fd, data, (size_t)n, 0), n);
    return (struct str){data, (size_t)n};
}

/* The kinds of its records, a letter each; fails if it is not whole. */
static void
assert_kinds(int fd, const char *wanted)
{
    struct str bytes = content(fd);
    struct recording r = {.bytes = bytes, .self = ROLE_PLACER};
    struct record record;
    struct buf kinds = {0};
    struct err err;
    int rc;

    while ((rc = recording_next(&r, &record, &err)) == 1)
        buf_addc(&kinds, (char)record.kind);
    if (rc != 0)
        fail_msg("%s", err.text);
    buf_addc(&kinds, '\0');
    assert_string_equal(buf_bytes(&kinds), wanted);
    buf_fini(&kinds);
    free((char *)bytes.s);
}

static void
take(struct recorder *r, size_t size)
{
    char *body = mem_zalloc(size);
    const struct input in = {
        .kind = RECORDED_TAKEN,
        .peer = ROLE_INFORMER,
        .type = MSG_NODE,
        .bytes = {body, size},
    };

    recorder_take(r, &in);
    free(body);
}

static void
test_what_is_taken_is_in_the_file_before_it_is_acted_on(void **state)
{
    struct recorder r;
    int kept;

    (void)state;
    recorder_begin(&r, new_file(&kept), MIB, 1, 0);
    assert_kinds(kept, "B");
    take(&r, 10);
    assert_kinds(kept, "BT");
    recorder_say(&r, MSG_PLAN_END, 0, STR(""));
    assert_kinds(kept, "BT"); /* they come in bulk */
    recorder_flush(&r);
    assert_kinds(kept, "BTS");
    recorder_take(
        &r, &(struct input){.kind = RECORDED_LOST, .peer = ROLE_INFORMER});
    assert_kinds(kept, "BTSX");
    recorder_fini(&r);
    assert_kinds(kept, "BTSXE");
    assert_int_equal(warnings, 0);
    close(kept);
}

static void
test_what_is_said_does_not_pile_up(void **state)
{
    struct recorder r;
    char *body = mem_zalloc(10000);
    int kept;

    (void)state;
    recorder_begin(&r, new_file(&kept), 100 * MIB, 1, 0);
    for (int i = 0; i < 1000; i++) {
        recorder_say(&r, MSG_RACK_WRITE, 0, (struct str){body, 10000});
        assert_true(r.waiting.len < 80000);
    }
    recorder_fini(&r);
    assert_true(lseek(kept, 0, SEEK_END) > 10000000);
    free(body);
    close(kept);
}

static void
test_one_that_is_off_does_nothing(void **state)
{
    struct recorder r = {0};

    (void)state;
    take(&r, 10);
    recorder_say(&r, MSG_PLAN_END, 0, STR(""));
    recorder_flush(&r);
    recorder_fini(&r);
    assert_null(r.waiting.data);
}

static void
test_the_limit_holds_and_is_told_once(void **state)
{
    struct recorder r;
    int kept;

    (void)state;
    recorder_begin(&r, new_file(&kept), 3000, 1, 0);
    for (int i = 0; i < 10; i++)
        take(&r, 600);
    assert_false(r.on);
    assert_int_equal(warnings, 1);
    assert_string_equal(reason, "the limit of --record-limit is reached");
    assert_kinds(kept, "BTTTTE");
    assert_true(lseek(kept, 0, SEEK_END) <= 3000);
    recorder_fini(&r);
    assert_kinds(kept, "BTTTTE");
    /* A successor finds no room for anything. */
    recorder_begin(&r, fcntl(kept, F_DUPFD, 0), 1000, 2, 0);
    assert_false(r.on);
    assert_int_equal(warnings, 2);
    assert_kinds(kept, "BTTTTE");
    close(kept);
}

/* Whatever is left when the end comes, the file does not exceed it. */
static void
test_there_is_room_for_the_end(void **state)
{
    (void)state;
    for (size_t size = 1; size < 300; size += 7) {
        struct recorder r;
        int kept;

        recorder_begin(&r, new_file(&kept), 1000, 1, 0);
        for (int i = 0; i < 1000 && r.on; i++)
            take(&r, size);
        assert_false(r.on);
        assert_true(lseek(kept, 0, SEEK_END) <= 1000);
        assert_true(lseek(kept, 0, SEEK_END) > 1000 - 300 - 256);
        close(kept);
    }
}

/* As a disk that is full does: a part is written, then an error comes. */
static void
limit_files(size_t size)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void
test_a_part_of_a_record_does_not_stay(void **state)
{
    struct recorder r;
    char path[] = "/tmp/mokka-recorder-XXXXXX";
    int kept = mkstemp(path);

    (void)state;
    unlink(path);
    recorder_begin(&r, fcntl(kept, F_DUPFD, 0), MIB, 1, 0);
    take(&r, 100);
    limit_files((size_t)r.size + 300);
    take(&r, 1000);
    limit_files(RLIM_INFINITY);
    assert_false(r.on);
    assert_int_equal(warnings, 1);
    assert_string_equal(reason, strerror(EFBIG));
    assert_kinds(kept, "BTE");
    close(kept);
}

static void
test_a_disk_without_room_for_anything(void **state)
{
    struct recorder r;
    int full = open("/dev/full", O_WRONLY);

    (void)state;
    assert_true(full >= 0);
    recorder_begin(&r, full, MIB, 1, 0);
    take(&r, 100);
    recorder_fini(&r);
    assert_int_equal(warnings, 1);
    assert_string_equal(reason, strerror(ENOSPC));
}

static void
test_a_successor_goes_on_where_the_file_ends(void **state)
{
    struct recorder r;
    int kept;
    int fd = new_file(&kept);

    (void)state;
    recorder_begin(&r, fd, MIB, 1, 0);
    take(&r, 100);
    recorder_fini(&r);
    lseek(kept, 0, SEEK_SET);
    recorder_begin(&r, fcntl(kept, F_DUPFD, 0), MIB, 2, 0);
    take(&r, 100);
    recorder_fini(&r);
    assert_kinds(kept, "BTEBTE");
    close(kept);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            test_what_is_taken_is_in_the_file_before_it_is_acted_on, set_up),
        cmocka_unit_test_setup(test_what_is_said_does_not_pile_up, set_up),
        cmocka_unit_test_setup(test_one_that_is_off_does_nothing, set_up),
        cmocka_unit_test_setup(test_the_limit_holds_and_is_told_once, set_up),
        cmocka_unit_test_setup(test_there_is_room_for_the_end, set_up),
        cmocka_unit_test_setup(test_a_part_of_a_record_does_not_stay, set_up),
        cmocka_unit_test_setup(test_a_disk_without_room_for_anything, set_up),
        cmocka_unit_test_setup(test_a_successor_goes_on_where_the_file_ends,
                               set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
