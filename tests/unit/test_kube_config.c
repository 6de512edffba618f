/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/kube/config.h"
#include "common/kube/yaml.h"
#include "common/mem.h"

static char folder[] = "/tmp/mokka-config-XXXXXX";
static char *file; /* FOLDER/kc */

static void
write_file(const char *path, struct str text)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_int_equal(fwrite(text.s, 1, text.n, out), text.n);
    fclose(out);
}

/* A kubeconfig of one cluster and one user with the given lines in them. */
static char *
kubeconfig(const char *cluster, const char *user)
{
    return mem_printf("apiVersion: v1\n"
                      "kind: Config\n"
                      "current-context: here\n"
                      "contexts:\n"
                      "- name: other\n"
                      "  context: {cluster: nothing, user: nobody}\n"
                      "- context: {cluster: c, user: u}\n"
                      "  name: here\n"
                      "clusters:\n"
                      "- name: c\n"
                      "  cluster:\n"
                      "%s"
                      "users:\n"
                      "- name: u\n"
                      "  user:\n"
                      "%s",
                      cluster, user);
}

#define SERVER "    server: https://h:6443\n"
#define TOKEN "    token: t0\n"

static int
load(struct kube_config *config, const char *cluster, const char *user,
     struct err *err)
{
    char *text = kubeconfig(cluster, user);
    int rc;

    err->text[0] = '\0';
    write_file(file, str_of(text));
    free(text);
    rc = kube_config_load(config, file, err);
    assert_null(strchr(err->text, '\n'));
    return rc;
}

static void
assert_refused(const char *cluster, const char *user, const char *wanted)
{
    struct kube_config config;
    struct err err;

    assert_int_equal(load(&config, cluster, user, &err), -1);
    if (strstr(err.text, wanted) == NULL || strstr(err.text, file) == NULL)
        fail_msg("message is: %s", err.text);
    assert_null(config.server);
}

static void
test_token_and_data(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    assert_int_equal(load(&config,
                          SERVER "    certificate-authority-data: Y2E=\n"
                                 "    tls-server-name: name\n"
                                 "    proxy-url: http://proxy:1\n",
                          TOKEN, &err),
                     0);
    assert_string_equal(config.server, "https://h:6443");
    assert_string_equal(config.ca_data, "ca");
    assert_string_equal(config.tls_server_name, "name");
    assert_string_equal(config.proxy_url, "http://proxy:1");
    assert_string_equal(config.token, "t0");
    assert_null(config.token_file);
    assert_false(config.insecure);
    kube_config_fini(&config);
}

/* The first load's context names none. */
static void
test_the_namespace_of_the_context(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    assert_int_equal(load(&config, SERVER, TOKEN, &err), 0);
    assert_null(config.namespace);
    kube_config_fini(&config);
    write_file(file, STR("current-context: x\n"
                         "contexts: [{name: x, context: {cluster: c, "
                         "namespace: lab}}]\n"
                         "clusters: [{name: c, cluster: {server: h}}]\n"));
    assert_int_equal(kube_config_load(&config, file, &err), 0);
    assert_string_equal(config.namespace, "lab");
    kube_config_fini(&config);
}

static void
test_paths_are_relative_to_the_file(void **state)
{
    struct kube_config config;
    struct err err;
    char *wanted = mem_printf("%s/sub/ca.crt", folder);

    (void)state;
    assert_int_equal(load(&config,
                          SERVER "    certificate-authority: sub/ca.crt\n",
                          "    client-certificate: /abs/c.crt\n"
                          "    client-key: k.key\n"
                          "    tokenFile: t\n",
                          &err),
                     0);
    assert_string_equal(config.ca_file, wanted);
    assert_string_equal(config.cert_file, "/abs/c.crt");
    assert_non_null(strstr(config.key_file, "/k.key"));
    assert_non_null(strstr(config.token_file, "/t"));
    kube_config_fini(&config);
    free(wanted);
}

static void
test_data_wins_over_file_but_for_the_token(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    assert_int_equal(load(&config,
                          SERVER "    certificate-authority: a\n"
                                 "    certificate-authority-data: Y2E=\n",
                          "    client-certificate: c\n"
                          "    client-certificate-data: Y2VydA==\n"
                          "    client-key: k\n"
                          "    client-key-data: a2V5\n" TOKEN
                          "    tokenFile: t\n",
                          &err),
                     0);
    assert_null(config.ca_file);
    assert_null(config.cert_file);
    assert_null(config.key_file);
    assert_string_equal(config.ca_data, "ca");
    assert_string_equal(config.cert_data, "cert");
    assert_string_equal(config.key_data, "key");
    assert_non_null(config.token_file);
    kube_config_fini(&config);
}

static void
test_C08_plugins_are_refused_with_a_remedy(void **state)
{
    (void)state;
    assert_refused(SERVER, "    exec: {command: aws}\n", "tokenFile");
    assert_refused(SERVER, "    exec: {command: aws}\n", ":16: exec: ");
    assert_refused(SERVER, "    auth-provider: {name: gcp}\n", "tokenFile");
    assert_refused(SERVER, "    username: admin\n", "tokenFile");
    assert_refused(SERVER, "    password: x\n", "tokenFile");
    assert_refused(SERVER, TOKEN "    as: root\n", "acting as another");
}

static void
test_servers(void **state)
{
    static const struct {
        const char *line, *server;
    } cases[] = {
        {"    server: https://h:6443/\n", "https://h:6443"},
        {"    server: h:6443\n", "https://h:6443"},
        {"    server: http://localhost:8080\n", "http://localhost:8080"},
        {"    server: https://[fd00::1]:6443\n", "https://[fd00::1]:6443"},
        {"    server: https://h/k8s/clusters/c-1\n",
         "https://h/k8s/clusters/c-1"},
    };
    struct kube_config config;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        assert_int_equal(load(&config, cases[i].line, TOKEN, &err), 0);
        assert_string_equal(config.server, cases[i].server);
        kube_config_fini(&config);
    }
    assert_refused("    server: \"\"\n", TOKEN, "no server");
    assert_refused("    tls-server-name: x\n", TOKEN,
                   "this cluster has no server");
    assert_refused("    server: [a]\n", TOKEN, ":12: server must be a text");
}

static void
test_insecure_must_be_said(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    assert_int_equal(load(&config,
                          SERVER "    insecure-skip-tls-verify: true\n", TOKEN,
                          &err),
                     0);
    assert_true(config.insecure);
    kube_config_fini(&config);
    assert_int_equal(load(&config,
                          SERVER "    insecure-skip-tls-verify: false\n", TOKEN,
                          &err),
                     0);
    assert_false(config.insecure);
    kube_config_fini(&config);
    assert_refused(SERVER "    insecure-skip-tls-verify: yes\n", TOKEN,
                   "true or false");
    assert_refused(SERVER "    insecure-skip-tls-verify: true\n"
                          "    certificate-authority: ca\n",
                   TOKEN, "exclude each other");
}

static void
test_base64_that_is_none(void **state)
{
    (void)state;
    assert_refused(SERVER "    certificate-authority-data: \"!!\"\n", TOKEN,
                   "kc:13: certificate-authority-data: byte 1 is not base64");
    assert_refused(SERVER, "    client-key-data: YQ\n",
                   "kc:16: client-key-data: base64 ends");
}

/* What else a user's section may hold. */
static void
test_user_without_credentials(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    assert_int_equal(load(&config, SERVER, "    {}\n", &err), 0);
    assert_null(config.token);
    kube_config_fini(&config);
    assert_int_equal(load(&config, SERVER,
                          "    token: \"\"\n    exec: null\n"
                          "    tokenFile:\n",
                          &err),
                     0);
    assert_null(config.token);
    assert_null(config.token_file);
    kube_config_fini(&config);
}

static void
assert_text_refused(const char *text, const char *wanted)
{
    struct kube_config config;
    struct err err;

    write_file(file, str_of(text));
    assert_int_equal(kube_config_load(&config, file, &err), -1);
    if (strstr(err.text, wanted) == NULL || strstr(err.text, file) == NULL)
        fail_msg("message is: %s", err.text);
}

static void
test_missing_pieces_are_named(void **state)
{
    (void)state;
    assert_text_refused("", "no current-context");
    assert_text_refused("current-context: \"\"\n", "no current-context");
    assert_text_refused("current-context: x\n", "no context \"x\"");
    assert_text_refused("current-context: x\ncontexts: 7\n",
                        "no context \"x\"");
    assert_text_refused("current-context: x\n"
                        "contexts: [{name: x, context: {cluster: c}}]\n",
                        "no cluster \"c\"");
    assert_text_refused("current-context: x\n"
                        "contexts: [{name: x, context: {user: c}}]\n",
                        ":2: context \"x\" has no cluster");
    assert_text_refused(
        "current-context: x\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: https://h}}]\n",
        "no user \"u\"");
    assert_text_refused("- a\n- b\n", "no current-context");
}

/* $KUBECONFIG may name several files: the first that has a thing decides. */
static void
test_several_files(void **state)
{
    char *second = mem_printf("%s/second", folder);
    char *path = mem_printf("/nonexistent/x:%s::%s", file, second);
    char *none = mem_printf("/nonexistent/x:/nonexistent/y");
    struct kube_config config;
    struct err err;

    (void)state;
    write_file(file, STR("current-context: x\n"
                         "contexts: [{name: x, context: {cluster: c, "
                         "user: u}}]\n"
                         "users: [{name: u, user: {token: first}}]\n"));
    write_file(second, STR("current-context: y\n"
                           "clusters: [{name: c, cluster: {server: "
                           "'https://h', certificate-authority: ca}}]\n"
                           "users: [{name: u, user: {token: second}}]\n"));
    assert_int_equal(kube_config_load(&config, path, &err), 0);
    assert_string_equal(config.server, "https://h");
    assert_string_equal(config.token, "first");
    assert_non_null(strstr(config.ca_file, folder));
    kube_config_fini(&config);
    write_file(second, STR("clusters: [a"));
    assert_int_equal(kube_config_load(&config, path, &err), -1);
    assert_non_null(strstr(err.text, second));
    assert_int_equal(kube_config_load(&config, none, &err), -1);
    assert_non_null(strstr(err.text, none));
    unlink(second);
    free(second);
    free(path);
    free(none);
}

/* A colon in the name of a file that exists is just that. */
static void
test_colon_in_a_name(void **state)
{
    char *path = mem_printf("%s/a:b", folder);
    char *text = kubeconfig(SERVER, TOKEN);
    struct kube_config config;

    (void)state;
    write_file(path, str_of(text));
    assert_int_equal(kube_config_load(&config, path, NULL), 0);
    kube_config_fini(&config);
    unlink(path);
    free(path);
    free(text);
}

static void
test_missing_file(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    assert_int_equal(kube_config_load(&config, "/nonexistent/kc", &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/kc: No such file"));
}

/* uid 0 may read anything, so it becomes somebody else for this. */
static void
test_C04_unreadable_file(void **state)
{
    struct kube_config config;
    uid_t uid = geteuid();
    struct err err;

    (void)state;
    write_file(file, STR("x"));
    chmod(folder, 0755);
    chmod(file, 0);
    if (uid == 0 && seteuid(65534) < 0)
        skip();
    assert_int_equal(kube_config_load(&config, file, &err), -1);
    assert_int_equal(seteuid(uid), 0);
    chmod(file, 0600);
    if (strstr(err.text, "mode 0000") == NULL ||
        strstr(err.text, "we are uid") == NULL)
        fail_msg("message is: %s", err.text);
}

static void
test_C11_hostile_yaml(void **state)
{
    struct buf deep = {0}, many = {0};
    char *text;

    (void)state;
    assert_text_refused("a: &x [1]\nb: *x\n", ":2: aliases");
    assert_text_refused("a: 1\nb: 2\na: 3\n", ":3: the key \"a\" comes twice");
    assert_text_refused("? [a]\n: b\n", ":1: a key must be");
    assert_text_refused("a: [1\n", "not YAML");
    assert_text_refused("a: 1\n---\nb: 2\n", "second document");
    assert_text_refused("a: \"\\0\"\n", "NUL");
    assert_text_refused("a: \xff\n", "not YAML");
    for (int i = 0; i < 40; i++)
        buf_addc(&deep, '[');
    text = buf_take(&deep);
    assert_text_refused(text, "too deeply");
    free(text);
    for (int i = 0; i < 20000; i++)
        buf_addz(&many, "- x\n");
    text = buf_take(&many);
    assert_text_refused(text, "too many values");
    free(text);
}

static void
test_C11_large_file(void **state)
{
    size_t n = ((size_t)1 << 20) + 1;
    char *text = mem_zalloc(n + 1);

    (void)state;
    memset(text, '#', n);
    assert_text_refused(text, "larger than 1048576 bytes");
    free(text);
}

static void
test_yaml_tree(void **state)
{
    struct err err;
    struct kube_yaml *root = kube_yaml_parse(
        STR("a: {b: [x, ~, \"null\"]}\n# c\nd: |\n  two\n  lines\n"), "name",
        &err);
    const struct kube_yaml *list;

    (void)state;
    assert_non_null(root);
    list = kube_yaml_get(kube_yaml_get(root, "a"), "b");
    assert_int_equal(list->kind, KUBE_YAML_LIST);
    assert_int_equal(list->n_items, 3);
    assert_string_equal(list->items[0]->text, "x");
    assert_true(list->items[1]->plain_null);
    assert_false(list->items[2]->plain_null);
    assert_string_equal(kube_yaml_get(root, "d")->text, "two\nlines\n");
    assert_int_equal(kube_yaml_get(root, "d")->line, 3);
    assert_null(kube_yaml_get(root, "nothing"));
    assert_null(kube_yaml_get(list, "nothing"));
    assert_null(kube_yaml_get(NULL, "nothing"));
    kube_yaml_free(root);
    kube_yaml_free(NULL);
}

static void
test_in_cluster(void **state)
{
    static const struct {
        const char *host, *server;
    } cases[] = {
        {"10.0.0.1", "https://10.0.0.1:443"},
        {"kubernetes.default.svc", "https://kubernetes.default.svc:443"},
    };
    char *token = mem_printf("%s/token", folder);
    char *ca = mem_printf("%s/ca.crt", folder);
    struct kube_config config;
    struct err err;

    (void)state;
    write_file(token, STR("t"));
    for (size_t i = 0; i < nitems(cases); i++) {
        assert_int_equal(
            kube_config_in_cluster(&config, cases[i].host, "443", folder, &err),
            0);
        assert_string_equal(config.server, cases[i].server);
        assert_string_equal(config.token_file, token);
        assert_string_equal(config.ca_file, ca);
        kube_config_fini(&config);
    }
    unlink(token);
    assert_int_equal(
        kube_config_in_cluster(&config, "10.0.0.1", "443", folder, &err), -1);
    assert_non_null(strstr(err.text, "automountServiceAccountToken"));
    free(token);
    free(ca);
}

static void
test_C09_ipv6_service_host(void **state)
{
    static const char *const hosts[] = {"fd00::1", "[fd00::1]"};
    char *token = mem_printf("%s/token", folder);
    struct kube_config config;
    struct err err;

    (void)state;
    write_file(token, STR("t"));
    for (size_t i = 0; i < nitems(hosts); i++) {
        assert_int_equal(
            kube_config_in_cluster(&config, hosts[i], "443", folder, &err), 0);
        assert_string_equal(config.server, "https://[fd00::1]:443");
        kube_config_fini(&config);
    }
    unlink(token);
    free(token);
}

static void
test_outside_of_a_cluster(void **state)
{
    struct kube_config config;
    struct err err;

    (void)state;
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(kube_config_load(&config, "", &err), -1);
    assert_non_null(strstr(err.text, "--kubeconfig"));
    assert_int_equal(kube_config_load(&config, NULL, &err), -1);
    kube_config_fini(&config);
}

static int
start(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    file = mem_printf("%s/kc", folder);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    unlink(file);
    free(file);
    return rmdir(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_and_data),
        cmocka_unit_test(test_the_namespace_of_the_context),
        cmocka_unit_test(test_paths_are_relative_to_the_file),
        cmocka_unit_test(test_data_wins_over_file_but_for_the_token),
        cmocka_unit_test(test_C08_plugins_are_refused_with_a_remedy),
        cmocka_unit_test(test_servers),
        cmocka_unit_test(test_insecure_must_be_said),
        cmocka_unit_test(test_base64_that_is_none),
        cmocka_unit_test(test_user_without_credentials),
        cmocka_unit_test(test_missing_pieces_are_named),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_colon_in_a_name),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_C04_unreadable_file),
        cmocka_unit_test(test_C11_hostile_yaml),
        cmocka_unit_test(test_C11_large_file),
        cmocka_unit_test(test_yaml_tree),
        cmocka_unit_test(test_in_cluster),
        cmocka_unit_test(test_C09_ipv6_service_host),
        cmocka_unit_test(test_outside_of_a_cluster),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
