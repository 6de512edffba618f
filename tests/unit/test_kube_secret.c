/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets are in pages that the kernel leaves out of cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/secret.h"

/* The flags of the mapping that holds an address. */
static void
flags_of(const void *at, char flags[256])
{
    FILE *in = fopen("/proc/self/smaps", "r");
    bool inside = false;
    char line[512];

    assert_non_null(in);
    flags[0] = '\0';
    while (fgets(line, sizeof(line), in) != NULL) {
        uintptr_t begin, end;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            inside = (uintptr_t)at >= begin && (uintptr_t)at < end;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(flags, 256, "%.255s", line);
    }
    fclose(in);
}

static void
test_a_secret_is_left_out_of_cores(void **state)
{
    struct str secret = secret_join(STR("Bearer "), STR("abc"));
    char flags[256];

    (void)state;
    assert_true(str_is(secret, "Bearer abc"));
    assert_int_equal(secret.s[secret.n], '\0');
    flags_of(secret.s, flags);
    assert_non_null(strstr(flags, " dd"));
    secret_drop(&secret);
    assert_null(secret.s);
    secret_drop(&secret);
    secret = secret_keep(STR("x"));
    assert_true(str_is(secret, "x"));
    secret_drop(&secret);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_secret_is_left_out_of_cores),
    };

    return cmocka_run_group_tests_name("kube secret", tests, NULL, NULL);
}
