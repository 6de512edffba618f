/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "supervisor/control_name.h"

static void
test_a_name_with_at_is_abstract_and_has_no_NUL_at_its_end(void **state)
{
    struct control_name name;
    struct err err;

    (void)state;
    assert_int_equal(control_name_read(&name, "@mokka/a/b", &err), 0);
    assert_int_equal(name.address.sun_family, AF_UNIX);
    assert_memory_equal(name.address.sun_path, "\0mokka/a/b", 10);
    assert_int_equal(name.length, offsetof(struct sockaddr_un, sun_path) + 10);
}

static void
test_a_path_is_itself(void **state)
{
    struct control_name name;
    struct err err;

    (void)state;
    assert_int_equal(control_name_read(&name, "/run/mokka", &err), 0);
    assert_string_equal(name.address.sun_path, "/run/mokka");
    assert_int_equal(name.length, offsetof(struct sockaddr_un, sun_path) + 11);
}

static void
test_the_usual_name_is_that_of_the_Lease(void **state)
{
    char *text = control_name_of_lease("mokka-system", "control-plane.x");

    (void)state;
    assert_string_equal(text, "@mokka/mokka-system/control-plane.x");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_name_with_at_is_abstract_and_has_no_NUL_at_its_end),
        cmocka_unit_test(test_a_path_is_itself),
        cmocka_unit_test(test_the_usual_name_is_that_of_the_Lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
