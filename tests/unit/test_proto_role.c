/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/role.h"
#include <cmocka.h>

static void
test_every_role_is_found_by_its_name(void **state)
{
    enum role role;

    (void)state;
    for (unsigned i = 0; i < ROLE_COUNT; i++) {
        assert_true(role_find(role_name((enum role)i), &role));
        assert_int_equal(role, i);
    }
    assert_string_equal(role_name(ROLE_SUPERVISOR), "supervisor");
    assert_string_equal(role_name(ROLE_USER), "mokkactl");
}

static void
test_names_that_nobody_has(void **state)
{
    enum role role = ROLE_WEB;

    (void)state;
    assert_false(role_find("", &role));
    assert_false(role_find("webb", &role));
    assert_false(role_find("Web", &role));
    assert_int_equal(role, ROLE_WEB);
    assert_string_equal(role_name(ROLE_COUNT + 1), "unknown");
    assert_string_equal(role_name((enum role) - 1), "unknown");
}

static void
test_the_set_of_workers_is_all_but_the_supervisor(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROLE_COUNT; i++)
        assert_int_equal((R_WORKERS & 1u << i) != 0, i != ROLE_SUPERVISOR);
    assert_int_equal(R_WORKERS >> ROLE_COUNT, 0);
    assert_int_equal(R_ELECTOR, 1u << ROLE_ELECTOR);
    assert_int_equal(R_USER & (R_WORKERS | R_SUPERVISOR), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_role_is_found_by_its_name),
        cmocka_unit_test(test_names_that_nobody_has),
        cmocka_unit_test(test_the_set_of_workers_is_all_but_the_supervisor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
