/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/release.h"

/* The numbers have the order of the texts. */
static void
test_9_5_order(void **state)
{
    (void)state;
    for (int i = 1; i < RELEASE_COUNT; i++)
        assert_true(strcmp(release_name((enum release)(i - 1)),
                           release_name((enum release)i)) < 0);
}

static void
test_9_6_revocable(void **state)
{
    (void)state;
    for (int i = 0; i < RELEASE_COUNT; i++)
        assert_int_equal(release_revocable((enum release)i),
                         i != RELEASE_RACK_DELETING &&
                             i != RELEASE_INVENTORY_DELETING);
}

static void
test_8_4_frees_capacity(void **state)
{
    (void)state;
    for (int i = 0; i < RELEASE_COUNT; i++)
        assert_int_equal(release_frees((enum release)i),
                         strncmp(release_name((enum release)i), "Node", 4) !=
                                 0 &&
                             i != RELEASE_SELECTOR_MISMATCH);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_9_5_order),
        cmocka_unit_test(test_9_6_revocable),
        cmocka_unit_test(test_8_4_frees_capacity),
    };

    return cmocka_run_group_tests_name("placer release", tests, NULL, NULL);
}
