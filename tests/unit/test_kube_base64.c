/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/kube/base64.h"
#include "common/mem.h"

static void
test_what_it_accepts(void **state)
{
    static const struct {
        const char *text, *bytes;
    } cases[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9v\nYmFy\r\n", "foobar"},
        {" Z g = = ", "f"},
        {"+/+/", "\xfb\xff\xbf"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct buf out = {0};
        struct err err;

        assert_int_equal(base64_decode(str_of(cases[i].text), &out, &err), 0);
        assert_true(str_is(buf_str(&out), cases[i].bytes));
        buf_fini(&out);
    }
}

static void
test_what_it_refuses(void **state)
{
    static const char *const cases[] = {
        "Z",     "Zg",       "Zg=",   "Zm9",      "=",       "====", "Z===",
        "Zg==Z", "Zg==Zg==", "Zg===", "Zm8=Zm8=", "Zm=8",    "Zm9-", "Zm9_",
        "Zm9v!", "Zm9v\x80", "-----", "Zg==\x01", "Z\xc3==",
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct buf out = {0};
        struct err err;

        if (base64_decode(str_of(cases[i]), &out, &err) == 0)
            fail_msg("accepted: %s", cases[i]);
        assert_null(strstr(err.text, cases[i]));
        buf_fini(&out);
    }
}

static void
test_nul_is_not_base64(void **state)
{
    struct buf out = {0};
    struct err err;

    (void)state;
    assert_int_equal(base64_decode(STR("Zm9\0"), &out, &err), -1);
    buf_fini(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_accepts),
        cmocka_unit_test(test_what_it_refuses),
        cmocka_unit_test(test_nul_is_not_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
