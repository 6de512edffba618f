/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/kube/path.h"
#include "common/mem.h"

static void
assert_path(const struct kube_path *path, const char *wanted)
{
    struct buf out = {0};
    struct err err;

    assert_int_equal(kube_path_add(&out, path, &err), 0);
    assert_true(str_is(buf_str(&out), wanted));
    buf_fini(&out);
}

static void
test_paths(void **state)
{
    static const struct {
        struct kube_path path;
        const char *wanted;
    } cases[] = {
        {{.version = "v1"}, "/api/v1"},
        {{.group = "", .version = "v1", .resource = "nodes"}, "/api/v1/nodes"},
        {{.version = "v1", .resource = "nodes", .name = "n-1"},
         "/api/v1/nodes/n-1"},
        {{.group = "mokka.nvidia.com",
          .version = "v1alpha1",
          .resource = "sgpuracks",
          .name = "r",
          .subresource = "status"},
         "/apis/mokka.nvidia.com/v1alpha1/sgpuracks/r/status"},
        {{.group = "coordination.k8s.io",
          .version = "v1",
          .namespace = "mokka",
          .resource = "leases",
          .name = "l.x"},
         "/apis/coordination.k8s.io/v1/namespaces/mokka/leases/l.x"},
        {{.version = "v1", .resource = "nodes", .name = "a/b?c%d e\xc3\xa4&="},
         "/api/v1/nodes/a%2Fb%3Fc%25d%20e%C3%A4%26%3D"},
        {{.version = "v1", .resource = "nodes", .name = "../x"},
         "/api/v1/nodes/..%2Fx"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++)
        assert_path(&cases[i].path, cases[i].wanted);
}

/* An empty name would address the whole collection: a DELETE of everything. */
static void
test_pieces_that_address_something_else(void **state)
{
    static const struct kube_path cases[] = {
        {.version = "v1", .resource = "nodes", .name = ""},
        {.version = "v1", .resource = "nodes", .name = "."},
        {.version = "v1", .resource = "nodes", .name = ".."},
        {.version = "v1", .namespace = "", .resource = "leases"},
        {.version = "v1", .resource = ""},
        {.version = "v1", .resource = "nodes", .name = "n", .subresource = ""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct buf out = {0};
        struct err err;

        assert_int_equal(kube_path_add(&out, &cases[i], &err), -1);
        assert_int_equal(out.len, 0);
        buf_fini(&out);
    }
}

static void
test_G08_query_values_are_escaped_whole(void **state)
{
    struct buf out = {0};
    char *text;

    (void)state;
    kube_path_add(&out, &(struct kube_path){.version = "v1", .resource = "x"},
                  NULL);
    kube_path_query(&out, "labelSelector", "a in (b, c),!d,e!=f");
    kube_path_query(&out, "continue", "eyJ2+/=");
    kube_path_query_int(&out, "limit", -500);
    text = buf_take(&out);
    assert_string_equal(
        text, "/api/v1/x?labelSelector=a%20in%20%28b%2C%20c%29%2C%21d%2Ce%21%3D"
              "f&continue=eyJ2%2B%2F%3D&limit=-500");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_pieces_that_address_something_else),
        cmocka_unit_test(test_G08_query_values_are_escaped_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
