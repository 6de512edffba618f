/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/kube/http.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/fake/https.h"

/*
 * Credentials that change on disk.  The program's clock is the machine's, put
 * forward by as much as a test wants.
 */
static time_t forward;

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ts);

    ts->tv_sec += forward;
    return rc;
}

static struct https https;

struct fixture {
    struct event_base *base;
    struct kube_config config;
    struct kube_client *client;
    char *answer; /* body of the last one, or the error's text */
    int status;
    bool done;
};

static void
on_done(void *arg, const struct kube_response *response)
{
    struct fixture *fx = arg;

    free(fx->answer);
    fx->status = response->status;
    fx->answer = response->status == 0
                     ? mem_strdup(response->err.text)
                     : mem_dup(response->body.s, response->body.n);
    fx->done = true;
}

static char *
in_folder(const char *name)
{
    return mem_printf("%s/%s", https.folder, name);
}

static void
write_file(const char *name, const char *text)
{
    char *path = in_folder(name);
    char *fresh = mem_printf("%s.new", path);
    FILE *out = fopen(fresh, "w");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(rename(fresh, path), 0); /* as the kubelet does */
    free(path);
    free(fresh);
}

static void
copy_file(const char *from, const char *to)
{
    char *path = in_folder(from);
    struct buf text = {0};
    char *copy;

    assert_int_equal(file_read(path, 1 << 20, &text, NULL), 0);
    copy = buf_take(&text);
    write_file(to, copy);
    free(copy);
    free(path);
}

static void
fixture_init(struct fixture *fx, const char *listener)
{
    *fx = (struct fixture){.base = event_base_new()};
    fx->config.server =
        mem_printf("https://localhost:%d", https_port(&https, listener));
    fx->config.ca_file = in_folder("ca.crt");
}

static int
fixture_start(struct fixture *fx, struct err *err)
{
    fx->client = kube_client_new(fx->base, &fx->config, err);
    return fx->client == NULL ? -1 : 0;
}

static void
fixture_fini(struct fixture *fx)
{
    kube_client_free(fx->client);
    kube_config_fini(&fx->config);
    event_base_free(fx->base);
    free(fx->answer);
}

static void
fetch(struct fixture *fx, const char *path)
{
    fx->done = false;
    kube_send(fx->client,
              &(struct kube_request){
                  .method = "GET", .path = path, .done = on_done, .arg = fx});
    while (!fx->done)
        assert_int_equal(event_base_loop(fx->base, EVLOOP_ONCE), 0);
}

static void
assert_answer(struct fixture *fx, const char *text)
{
    if (strstr(fx->answer, text) == NULL)
        fail_msg("answer is: %s", fx->answer);
}

static void
test_C01_token_is_read_again(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("token");
    fx.config.token = mem_strdup("inline");
    write_file("token", "one\n");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    fetch(&fx, "/echo");
    assert_answer(&fx, "\"authorization\": \"Bearer one\"");
    write_file("token", "two");
    fetch(&fx, "/echo");
    assert_answer(&fx, "Bearer one");
    forward += 60;
    fetch(&fx, "/echo");
    assert_answer(&fx, "Bearer two");
    /* Its connection stands: the token goes with each request. */
    assert_answer(&fx, "\"served\": 2");
    fixture_fini(&fx);
}

static void
test_C01_last_good_token_is_kept(void **state)
{
    static const char *const bad[] = {"",       "\n\n",      "a b",
                                      "a\x01z", "a\xc3\xa4", "x\r\nHost: y"};
    struct fixture fx;
    char *path = in_folder("token");

    (void)state;
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("token");
    write_file("token", "good-one");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    for (size_t i = 0; i < nitems(bad); i++) {
        write_file("token", bad[i]);
        forward += 61;
        fetch(&fx, "/echo");
        assert_answer(&fx, "Bearer good-one");
    }
    unlink(path);
    forward += 61;
    fetch(&fx, "/echo");
    assert_answer(&fx, "Bearer good-one");
    write_file("token", "next");
    forward += 61;
    fetch(&fx, "/echo");
    assert_answer(&fx, "Bearer next");
    free(path);
    fixture_fini(&fx);
}

/* The server refuses us: the file is looked at without waiting a minute. */
static void
test_C01_refused_token_is_read_again_soon(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("token");
    write_file("token", "one");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    fetch(&fx, "/status/401");
    assert_int_equal(fx.status, 401);
    write_file("token", "two");
    forward += 1;
    fetch(&fx, "/echo");
    assert_answer(&fx, "Bearer two");
    fixture_fini(&fx);
}

static void
test_C12_long_tokens(void **state)
{
    size_t n = 70000;
    char *token = mem_zalloc(n + 1);
    struct fixture fx;
    char *wanted;

    (void)state;
    memset(token, 't', n);
    wanted = mem_printf("\"Bearer %s\"", token);
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("token");
    write_file("token", token);
    assert_int_equal(fixture_start(&fx, NULL), 0);
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 200);
    assert_answer(&fx, wanted);
    fixture_fini(&fx);
    free(wanted);
    free(token);
}

static void
assert_start_refused(struct fixture *fx, const char *wanted)
{
    struct err err;

    assert_int_equal(fixture_start(fx, &err), -1);
    if (strstr(err.text, wanted) == NULL)
        fail_msg("message is: %s", err.text);
    fixture_fini(fx);
}

static void
test_C12_C04_tokens_refused_at_start(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("token");
    write_file("token", "secret\x01tail");
    assert_start_refused(&fx, "/token: byte 7 is a control character");
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("token");
    write_file("token", "\n");
    assert_start_refused(&fx, "/token: it is empty");
    fixture_init(&fx, "good");
    fx.config.token_file = in_folder("no-such-token");
    assert_start_refused(&fx, "no-such-token: No such file");
    fixture_init(&fx, "good");
    fx.config.token = mem_strdup("a b");
    assert_start_refused(&fx, "token: in the kubeconfig: byte 2");
}

static void
test_certificates_refused_at_start(void **state)
{
    static const char *const bad[] = {
        "not PEM",
        "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB",
        "-----BEGIN CERTIFICATE-----",
    };
    struct fixture fx;

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        fixture_init(&fx, "good");
        free(fx.config.ca_file);
        fx.config.ca_file = in_folder("bad.crt");
        write_file("bad.crt", bad[i]);
        assert_start_refused(&fx, "certificate authority: ");
    }
    fixture_init(&fx, "good");
    fx.config.cert_file = in_folder("user.crt");
    assert_start_refused(&fx, "go together");
    fixture_init(&fx, "good");
    fx.config.cert_file = in_folder("user.crt");
    fx.config.key_file = in_folder("user.crt");
    assert_start_refused(&fx, "client key: ");
}

/* The trust of a running client follows the file; a file that does not parse
 * changes nothing. */
static void
test_C05_ca_is_read_again(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    free(fx.config.ca_file);
    fx.config.ca_file = in_folder("bundle.crt");
    copy_file("otherca.crt", "bundle.crt");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 0);
    assert_answer(&fx, "certificate-authority");
    copy_file("ca.crt", "bundle.crt");
    forward += 1; /* distrust alone makes it look again soon */
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 200);
    write_file("bundle.crt", "half a fi");
    forward += 61;
    fetch(&fx, "/last"); /* the next request needs a new connection */
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 200);
    assert_answer(&fx, "\"served\": 0");
    fixture_fini(&fx);
}

/* No connection made under the old identity carries a request of the new. */
static void
test_C07_new_client_certificate_new_connections(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "client");
    fx.config.cert_file = in_folder("my.crt");
    fx.config.key_file = in_folder("my.key");
    copy_file("user.crt", "my.crt");
    copy_file("user.key", "my.key");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    fetch(&fx, "/echo");
    fetch(&fx, "/echo");
    assert_answer(&fx, "\"served\": 1");
    copy_file("good.crt", "my.crt");
    copy_file("good.key", "my.key");
    forward += 61;
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 200);
    assert_answer(&fx, "\"served\": 0");
    fetch(&fx, "/echo");
    assert_answer(&fx, "\"served\": 1");
    fixture_fini(&fx);
}

/* Caught between the renewal of certificate and key. */
static void
test_half_rotated_pair_recovers(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "client");
    fx.config.cert_file = in_folder("my.crt");
    fx.config.key_file = in_folder("my.key");
    copy_file("user.crt", "my.crt");
    copy_file("user.key", "my.key");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    copy_file("good.crt", "my.crt");
    forward += 61;
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 0);
    copy_file("good.key", "my.key");
    forward += 1;
    fetch(&fx, "/echo");
    assert_int_equal(fx.status, 200);
    fixture_fini(&fx);
}

static void
test_B04_connections_grow_old(void **state)
{
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    assert_int_equal(fixture_start(&fx, NULL), 0);
    for (int i = 0; i < 4; i++) { /* used all the time, so never idle */
        fetch(&fx, "/echo");
        forward += 90;
    }
    assert_answer(&fx, "\"served\": 3");
    fetch(&fx, "/echo");
    assert_answer(&fx, "\"served\": 0");
    fixture_fini(&fx);
}

static int
start(void **state)
{
    (void)state;
    log_to(2);
    https_start(&https);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    https_stop(&https);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C01_token_is_read_again),
        cmocka_unit_test(test_C01_last_good_token_is_kept),
        cmocka_unit_test(test_C01_refused_token_is_read_again_soon),
        cmocka_unit_test(test_C12_long_tokens),
        cmocka_unit_test(test_C12_C04_tokens_refused_at_start),
        cmocka_unit_test(test_certificates_refused_at_start),
        cmocka_unit_test(test_C05_ca_is_read_again),
        cmocka_unit_test(test_C07_new_client_certificate_new_connections),
        cmocka_unit_test(test_half_rotated_pair_recovers),
        cmocka_unit_test(test_B04_connections_grow_old),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
