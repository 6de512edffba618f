/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/options.h"

/* Reads a command line given as words; NULL ends it. */
static enum options_result
read_words(struct options **options, struct err *err, const char *word, ...)
{
    static char words[16][128]; /* the options borrow their values from it */
    char *argv[16] = {words[0]};
    int argc = 1;
    va_list ap;

    va_start(ap, word);
    for (; word != NULL; word = va_arg(ap, const char *)) {
        snprintf(words[argc], sizeof(words[argc]), "%s", word);
        argv[argc] = words[argc];
        argc++;
    }
    va_end(ap);
    return options_read(options, argc, argv, err);
}

static void
refused(const char *must_name, const char *flag, const char *value)
{
    struct options *options;
    struct err err = {""};

    assert_int_equal(read_words(&options, &err, flag, value, NULL),
                     OPTIONS_BAD);
    if (strstr(err.text, must_name) == NULL || strstr(err.text, flag) == NULL)
        fail_msg("\"%s\" does not name %s and %s", err.text, flag, must_name);
}

/* 2.2 */
static void
test_G01_defaults(void **state)
{
    static const char *const wanted[][2] = {
        {"listen-addr", ":8080"},
        {"log-level", "info"},
        {"log-format", "json"},
        {"shutdown-timeout", "5s"},
        {"kubeconfig", ""},
        {"leader-election-namespace", "default"},
        {"leader-election-name", "control-plane.mokka.nvidia.com"},
        {"leader-election-lease-duration", "15s"},
        {"leader-election-renew-deadline", "10s"},
        {"leader-election-retry-period", "2s"},
        {"workers", "2"},
        {"status-debounce", "100ms"},
        {"status-progress-interval", "1s"},
        {"live-node-get-timeout", "2s"},
        {"project-clique-label", "true"},
        {"kube-api-qps", ""},
        {"kube-api-burst", ""},
    };
    struct options *options;
    struct err err;

    (void)state;
    assert_int_equal(read_words(&options, &err, NULL), OPTIONS_OK);
    for (size_t i = 0; i < nitems(wanted); i++)
        assert_string_equal(options_get(options, wanted[i][0]), wanted[i][1]);
    options_free(options);
}

static void
test_G01_pod_namespace(void **state)
{
    struct options *options;
    struct err err;

    (void)state;
    setenv("POD_NAMESPACE", "mokka", 1);
    assert_int_equal(read_words(&options, &err, NULL), OPTIONS_OK);
    assert_string_equal(options_get(options, "leader-election-namespace"),
                        "mokka");
    options_free(options);
    unsetenv("POD_NAMESPACE");
}

static void
test_2_2_flag_beats_environment_beats_default(void **state)
{
    struct options *options;
    struct err err;

    (void)state;
    setenv("MOKKA_LOG_LEVEL", "warn", 1);
    assert_int_equal(read_words(&options, &err, NULL), OPTIONS_OK);
    assert_string_equal(options_get(options, "log-level"), "warn");
    options_free(options);
    assert_int_equal(read_words(&options, &err, "--log-level=debug", NULL),
                     OPTIONS_OK);
    assert_string_equal(options_get(options, "log-level"), "debug");
    options_free(options);
    /* A flag given with an empty value is empty, not absent. */
    assert_int_equal(read_words(&options, &err, "--log-level", "", NULL),
                     OPTIONS_OK);
    assert_string_equal(options_get(options, "log-level"), "");
    options_free(options);
    unsetenv("MOKKA_LOG_LEVEL");
}

static void
test_2_2_a_flag_has_the_forms_of_the_original(void **state)
{
    static const char *const forms[][2] = {
        {"--log-level=debug", NULL},
        {"--log-level", "debug"},
        {"-log-level=debug", NULL},
        {"-log-level", "debug"},
    };
    static const char *const kinds[][2] = {
        {"listen-addr", "127.0.0.1:1"},
        {"shutdown-timeout", "1m30s"},
        {"leader-election-name", "a.b"},
        {"leader-election-namespace", "n"},
        {"project-clique-label", "false"},
        {"kube-api-qps", "0.5"},
        {"kube-api-burst", "7"},
        {"control-socket", "@x"},
        {"wait", "placer,web"},
        {"record", "/tmp/file"},
    };
    struct options *options;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(forms); i++) {
        assert_int_equal(
            read_words(&options, &err, forms[i][0], forms[i][1], NULL),
            OPTIONS_OK);
        assert_string_equal(options_get(options, "log-level"), "debug");
        options_free(options);
    }
    /* So has each kind of value. */
    for (size_t i = 0; i < nitems(kinds); i++)
        for (int form = 0; form < 4; form++) {
            char *name =
                mem_printf("%s%s%s%s", form % 2 == 0 ? "-" : "--", kinds[i][0],
                           form < 2 ? "=" : "", form < 2 ? kinds[i][1] : "");

            assert_int_equal(read_words(&options, &err, name,
                                        form < 2 ? NULL : kinds[i][1], NULL),
                             OPTIONS_OK);
            assert_string_equal(options_get(options, kinds[i][0]), kinds[i][1]);
            options_free(options);
            free(name);
        }
    /* A value may look like a flag, hold a = or be empty. */
    assert_int_equal(read_words(&options, &err, "-kubeconfig=--a=b",
                                "--pod-name", "-x", "--pod-uid=", NULL),
                     OPTIONS_OK);
    assert_string_equal(options_get(options, "kubeconfig"), "--a=b");
    assert_string_equal(options_get(options, "pod-name"), "-x");
    assert_string_equal(options_get(options, "pod-uid"), "");
    options_free(options);
}

static void
test_2_3_each_bad_value_names_flag_and_value(void **state)
{
    static const char *const bad[][2] = {
        {"--log-level", "loud"},
        {"--log-format", "xml"},
        {"--listen-addr", "8080"},
        {"--listen-addr", "::1:80"},
        {"--listen-addr", ":70000"},
        {"--shutdown-timeout", "5"},
        {"--shutdown-timeout", "-1s"},
        {"--leader-election-name", "Not_A_Name"},
        {"--leader-election-namespace", "a.b"},
        {"--leader-election-lease-duration", "0"},
        {"--leader-election-renew-deadline", "-1s"},
        {"--leader-election-retry-period", "soon"},
        {"--workers", "0"},
        {"--workers", "two"},
        {"--status-debounce", "-1ms"},
        {"--status-progress-interval", "-1s"},
        {"--live-node-get-timeout", "0s"},
        {"--kube-api-qps", "0"},
        {"--kube-api-qps", "-3"},
        {"--kube-api-burst", "0"},
        {"--kube-api-burst", "1.5"},
        {"--project-clique-label", "no"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++)
        refused(bad[i][1], bad[i][0], bad[i][1]);
}

static void
test_2_3_empty_names_are_refused(void **state)
{
    (void)state;
    refused("\"\"", "--leader-election-name", "");
    refused("\"\"", "--leader-election-namespace", "");
    refused("\"\"", "--kube-api-qps", "");
}

static void
test_2_3_durations_against_each_other(void **state)
{
    struct options *options;
    struct err err;

    (void)state;
    refused("10s", "--leader-election-lease-duration", "10s");
    refused("2s", "--leader-election-renew-deadline", "2400ms");
    refused("100ms", "--status-progress-interval", "50ms");
    assert_int_equal(read_words(&options, &err,
                                "--leader-election-renew-deadline", "2401ms",
                                "--status-progress-interval", "0", NULL),
                     OPTIONS_OK);
    assert_int_equal(
        options_duration(options, "leader-election-renew-deadline"),
        2401 * CLOCK_MS);
    options_free(options);
}

static void
test_unknown_flag_and_stray_argument(void **state)
{
    struct options *options;
    struct err err;

    (void)state;
    assert_int_equal(read_words(&options, &err, "--wrokers", "3", NULL),
                     OPTIONS_BAD);
    assert_non_null(strstr(err.text, "--wrokers"));
    assert_int_equal(read_words(&options, &err, "--log-l", "debug", NULL),
                     OPTIONS_BAD);
    assert_non_null(strstr(err.text, "--log-l "));
    assert_int_equal(read_words(&options, &err, "-log-lev=debug", NULL),
                     OPTIONS_BAD);
    assert_non_null(strstr(err.text, "-log-lev=debug"));
    assert_int_equal(read_words(&options, &err, "run", NULL), OPTIONS_BAD);
    assert_non_null(strstr(err.text, "\"run\""));
    assert_int_equal(read_words(&options, &err, "--workers", NULL),
                     OPTIONS_BAD);
    assert_non_null(strstr(err.text, "--workers"));
}

static void
test_workers_that_wait_are_workers(void **state)
{
    static const char *const good[] = {"placer", "web,informer",
                                       "informer,placer,projector,elector,web"};
    static const char *const bad[] = {
        "",
        "supervisor",
        "placer,",
        ",placer",
        "placer web",
        "mokkactl",
        "a-name-that-is-longer-than-any-worker's"};
    struct options *options;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(good); i++) {
        assert_int_equal(read_words(&options, &err, "--wait", good[i], NULL),
                         OPTIONS_OK);
        options_free(options);
    }
    for (size_t i = 0; i < nitems(bad); i++)
        refused("no worker", "--wait", bad[i]);
}

static void
test_require_sandbox_needs_no_value_and_takes_one(void **state)
{
    static const char *const cases[][2] = {
        {"--require-sandbox", "true"},
        {"--require-sandbox=true", "true"},
        {"--require-sandbox=false", "false"},
        {"--log-level=info", "false"},
    };
    struct options *options;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        assert_int_equal(read_words(&options, &err, cases[i][0], NULL),
                         OPTIONS_OK);
        assert_string_equal(options_get(options, "require-sandbox"),
                            cases[i][1]);
        options_free(options);
    }
    assert_int_equal(
        read_words(&options, &err, "--require-sandbox=perhaps", NULL),
        OPTIONS_BAD);
    assert_non_null(strstr(err.text, "must be true or false"));
    /* What follows it is a word of its own. */
    assert_int_equal(
        read_words(&options, &err, "--require-sandbox", "false", NULL),
        OPTIONS_BAD);
    assert_non_null(strstr(err.text, "unexpected argument \"false\""));
}

static void
test_a_shadow_takes_no_lease(void **state)
{
    static const char *const flags[] = {
        "--leader-election-namespace=a",
        "--leader-election-name=a",
        "--leader-election-lease-duration=20s",
        "--leader-election-renew-deadline=9s",
        "--leader-election-retry-period=1s",
    };
    struct options *options;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(flags); i++) {
        char *name = mem_dup(flags[i], strcspn(flags[i], "="));

        assert_int_equal(read_words(&options, &err, "--shadow", flags[i], NULL),
                         OPTIONS_BAD);
        assert_non_null(strstr(err.text, "--shadow takes no Lease"));
        assert_non_null(strstr(err.text, name));
        free(name);
        assert_int_equal(
            read_words(&options, &err, "--shadow=false", flags[i], NULL),
            OPTIONS_OK);
        options_free(options);
    }
    setenv("MOKKA_CP_LEADER_ELECTION_NAME", "a", 1);
    assert_int_equal(read_words(&options, &err, "--shadow", NULL), OPTIONS_BAD);
    assert_non_null(strstr(err.text, "$MOKKA_CP_LEADER_ELECTION_NAME"));
    unsetenv("MOKKA_CP_LEADER_ELECTION_NAME");
    setenv("POD_NAMESPACE", "mokka", 1); /* every pod has one */
    assert_int_equal(read_words(&options, &err, "--shadow", NULL), OPTIONS_OK);
    options_free(options);
    unsetenv("POD_NAMESPACE");
}

static void
test_a_control_socket_is_a_path_or_a_name_that_fits(void **state)
{
    char longest[109] = "@";
    struct options *options;
    struct err err;

    (void)state;
    memset(longest + 1, 'x', 107);
    refused("at most 107 bytes", "--control-socket", longest);
    longest[107] = '\0';
    assert_int_equal(
        read_words(&options, &err, "--control-socket", longest, NULL),
        OPTIONS_OK);
    options_free(options);
    refused("path, or @ and a name", "--control-socket", "");
    refused("path, or @ and a name", "--control-socket", "@");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G01_defaults),
        cmocka_unit_test(test_G01_pod_namespace),
        cmocka_unit_test(test_2_2_flag_beats_environment_beats_default),
        cmocka_unit_test(test_2_2_a_flag_has_the_forms_of_the_original),
        cmocka_unit_test(test_2_3_each_bad_value_names_flag_and_value),
        cmocka_unit_test(test_2_3_empty_names_are_refused),
        cmocka_unit_test(test_2_3_durations_against_each_other),
        cmocka_unit_test(test_unknown_flag_and_stray_argument),
        cmocka_unit_test(test_workers_that_wait_are_workers),
        cmocka_unit_test(test_require_sandbox_needs_no_value_and_takes_one),
        cmocka_unit_test(test_a_shadow_takes_no_lease),
        cmocka_unit_test(test_a_control_socket_is_a_path_or_a_name_that_fits),
    };

    unsetenv("POD_NAMESPACE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
