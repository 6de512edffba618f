/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/last_words.h"

static void
test_the_message_replaces_what_was_there(void **state)
{
    char path[] = "/tmp/mokka-last-words-XXXXXX";
    int fd = mkstemp(path);
    char text[64] = "";

    (void)state;
    assert_int_equal(write(fd, "something longer before", 23), 23);
    last_words(path, "placer died");
    assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), 11);
    assert_string_equal(text, "placer died");
    close(fd);
    unlink(path);
}

static void
test_no_file_is_made(void **state)
{
    char path[] = "/tmp/mokka-last-words-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(path));
    rmdir(path);
    last_words(path, "placer died");
    assert_int_equal(access(path, F_OK), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_message_replaces_what_was_there),
        cmocka_unit_test(test_no_file_is_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
