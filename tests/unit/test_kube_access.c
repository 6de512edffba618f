/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/kube/access.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/fake/https.h"

static struct https https;

static const struct kube_right rights[] = {
    {"get patch", "", "nodes", NULL, NULL, NULL},
    {"list update", "mokka.nvidia.com", "sgpuracks", NULL, NULL, NULL},
    {"update", "mokka.nvidia.com", "sgpuracks", "status", NULL, NULL},
    {"update", "coordination.k8s.io", "leases", NULL, "here", "mine"},
};

#define ALL                                                                    \
    "get nodes\n"                                                              \
    "patch nodes\n"                                                            \
    "list sgpuracks.mokka.nvidia.com\n"                                        \
    "update sgpuracks.mokka.nvidia.com\n"                                      \
    "update sgpuracks.mokka.nvidia.com/status\n"                               \
    "update leases.coordination.k8s.io in here named mine\n"

struct fixture {
    struct event_base *base;
    struct kube_config config;
    struct kube_access *access;
    struct buf told; /* what was told, one a line */
};

static char *
in_folder(const char *name)
{
    return mem_printf("%s/%s", https.folder, name);
}

static void
deny(const char *text)
{
    char *path = in_folder("denied");
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    free(path);
}

static char *
asked(void)
{
    char *path = in_folder("asked");
    struct buf text = {0};

    if (file_read(path, 1 << 20, &text, NULL) != 0)
        buf_clear(&text);
    free(path);
    return buf_take(&text);
}

static void
on_told(void *arg, const char *missing)
{
    struct fixture *fx = arg;

    buf_printf(&fx->told, "%s\n", missing);
}

static void
begin(struct fixture *fx, const char *denied)
{
    char *path = in_folder("asked");
    struct err err;

    unlink(path);
    free(path);
    deny(denied);
    *fx = (struct fixture){.base = event_base_new()};
    fx->config.server =
        mem_printf("https://localhost:%d", https_port(&https, "good"));
    fx->config.ca_file = in_folder("ca.crt");
    fx->access = kube_access_new(fx->base, &fx->config, rights, nitems(rights),
                                 on_told, fx, &err);
    assert_non_null(fx->access);
}

static void
end(struct fixture *fx)
{
    kube_access_free(fx->access);
    kube_config_fini(&fx->config);
    event_base_free(fx->base);
    buf_fini(&fx->told);
}

/* Runs until so many bytes were asked for, or told. */
static void
run_until(struct fixture *fx, size_t bytes_asked, size_t bytes_told)
{
    struct timeval tick = {0, 20000};

    for (int i = 0; i < 1000; i++) {
        char *text = asked();
        bool done = strlen(text) >= bytes_asked && fx->told.len >= bytes_told;

        free(text);
        if (done)
            return;
        event_base_loopexit(fx->base, &tick);
        event_base_loop(fx->base, 0);
    }
    fail_msg("it takes too long");
}

static void
expect_asked(const char *expected)
{
    char *text = asked();

    assert_string_equal(text, expected);
    free(text);
}

static void
expect_told(struct fixture *fx, const char *expected)
{
    char *text = buf_take(&fx->told);

    assert_string_equal(text, expected);
    free(text);
}

static void
test_every_verb_is_asked_for_once(void **state)
{
    struct fixture fx;

    (void)state;
    begin(&fx, "");
    run_until(&fx, sizeof(ALL) - 1, 0);
    /* No timer, no connection is left: the loop has nothing to wait for. */
    assert_int_equal(event_base_loop(fx.base, 0), 1);
    expect_asked(ALL);
    expect_told(&fx, "");
    end(&fx);
}

static void
test_what_is_missing_is_named_until_it_is_granted(void **state)
{
    struct fixture fx;

    (void)state;
    begin(&fx, "patch nodes\nlist sgpuracks.mokka.nvidia.com\n"
               "update sgpuracks.mokka.nvidia.com\n"
               "update sgpuracks.mokka.nvidia.com/status\n"
               "update leases.coordination.k8s.io in here named mine\n");
    run_until(&fx, 0, 1);
    expect_told(
        &fx, "not allowed: patch on nodes; list, update on "
             "sgpuracks.mokka.nvidia.com; update on "
             "sgpuracks.mokka.nvidia.com/status; update on "
             "leases.coordination.k8s.io in namespace here; grant it to this "
             "identity\n");
    deny("");
    run_until(&fx, 2 * (sizeof(ALL) - 1), 1);
    expect_asked(ALL ALL);
    expect_told(&fx, "\n");
    assert_int_equal(event_base_loop(fx.base, 0), 1);
    end(&fx);
}

/* What we are not told we cannot name; the requests themselves will tell. */
static void
test_a_server_that_does_not_answer_is_let_be(void **state)
{
    static const char *const refusals[] = {"403", "404", "201"};

    (void)state;
    for (size_t i = 0; i < nitems(refusals); i++) {
        struct fixture fx;

        begin(&fx, refusals[i]);
        assert_int_equal(event_base_loop(fx.base, 0), 1);
        expect_told(&fx, "");
        end(&fx);
    }
}

static void
test_B01_a_server_that_is_busy_is_asked_again(void **state)
{
    static const char *const busy[] = {"429", "503", "401"};

    (void)state;
    for (size_t i = 0; i < nitems(busy); i++) {
        struct timeval soon = {0, 200000};
        struct fixture fx;

        begin(&fx, busy[i]);
        event_base_loopexit(fx.base, &soon);
        event_base_loop(fx.base, 0);
        expect_asked("");
        deny("patch nodes\n");
        run_until(&fx, sizeof(ALL) - 1, 1);
        expect_asked(ALL);
        expect_told(&fx,
                    "not allowed: patch on nodes; grant it to this identity\n");
        end(&fx);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_verb_is_asked_for_once),
        cmocka_unit_test(test_what_is_missing_is_named_until_it_is_granted),
        cmocka_unit_test(test_a_server_that_does_not_answer_is_let_be),
        cmocka_unit_test(test_B01_a_server_that_is_busy_is_asked_again),
    };
    int failed;

    log_to(2);
    https_start(&https);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    https_stop(&https);
    return failed;
}
