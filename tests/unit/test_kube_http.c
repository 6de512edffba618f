/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/kube/config.h"
#include "common/kube/file.h"
#include "common/kube/http.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/fake/https.h"

static struct https https;

/* A client with a loop of its own, and what its last call came to. */
struct fixture {
    struct event_base *base;
    struct kube_config config;
    struct kube_client *client;
};

/* What happened to one call. */
struct seen {
    struct fixture *fx;
    struct kube_call *call;
    struct kube_response response;
    char content_type[128], method[16], url[256];
    struct buf body; /* collected by us or by the client */
    int done, datas, heads;
    int stop_after;      /* data calls after which data fails or cancels */
    bool cancel;         /* ... cancels */
    struct seen *victim; /* whose call is cancelled, NULL: our own */
};

static int
on_head(void *arg, const struct kube_response *response, struct err *err)
{
    struct seen *seen = arg;

    (void)err;
    seen->heads++;
    assert_in_range(response->status, 200, 299);
    assert_int_equal(response->body.n, 0);
    return 0;
}

static int
on_data(void *arg, struct str bytes, struct err *err)
{
    struct seen *seen = arg;
    struct seen *victim = seen->victim == NULL ? seen : seen->victim;

    seen->datas++;
    buf_adds(&seen->body, bytes);
    if (seen->stop_after == 0 || seen->datas < seen->stop_after)
        return 0;
    if (!seen->cancel)
        return err_set(err, "enough");
    kube_cancel(victim->call);
    victim->call = NULL;
    event_base_loopbreak(seen->fx->base);
    return 0;
}

static void
on_done(void *arg, const struct kube_response *response)
{
    struct seen *seen = arg;

    seen->done++;
    seen->response = *response;
    buf_adds(&seen->body, response->body);
    snprintf(seen->content_type, sizeof(seen->content_type), "%s",
             response->content_type);
    snprintf(seen->method, sizeof(seen->method), "%s", response->method);
    snprintf(seen->url, sizeof(seen->url), "%s", response->url);
    kube_cancel(seen->call); /* must be nothing */
    seen->call = NULL;
    event_base_loopbreak(seen->fx->base);
}

static char *
in_folder(const char *name)
{
    return mem_printf("%s/%s", https.folder, name);
}

/* A configuration that trusts the test's CA; a test changes what it is about
 * before fixture_start. */
static void
fixture_init(struct fixture *fx, const char *listener)
{
    *fx = (struct fixture){.base = event_base_new()};
    fx->config.server =
        mem_printf("https://localhost:%d", https_port(&https, listener));
    fx->config.ca_file = in_folder("ca.crt");
}

static void
fixture_start(struct fixture *fx)
{
    struct err err;

    fx->client = kube_client_new(fx->base, &fx->config, &err);
    if (fx->client == NULL)
        fail_msg("%s", err.text);
}

static void
fixture_fini(struct fixture *fx)
{
    kube_client_free(fx->client);
    kube_config_fini(&fx->config);
    event_base_free(fx->base);
}

static void
replace(char **text, char *with)
{
    free(*text);
    *text = with;
}

static void
seen_fini(struct seen *seen)
{
    buf_fini(&seen->body);
}

/* Starts req with seen watching; no loop yet. */
static void
begin(struct fixture *fx, struct seen *seen, struct kube_request req)
{
    seen->fx = fx;
    req.arg = seen;
    req.done = on_done;
    if (req.method == NULL)
        req.method = "GET";
    seen->call = kube_send(fx->client, &req);
    assert_int_equal(seen->done, 0);
}

static void
wait_for(struct fixture *fx, struct seen *seen)
{
    while (seen->done == 0)
        assert_int_equal(event_base_dispatch(fx->base), 0);
}

/* Runs the loop for so long. */
static void
pass(struct fixture *fx, int ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};

    event_base_loopexit(fx->base, &tv);
    event_base_dispatch(fx->base);
}

static void
fetch(struct fixture *fx, struct seen *seen, struct kube_request req)
{
    *seen = (struct seen){0};
    begin(fx, seen, req);
    wait_for(fx, seen);
}

#define GET(fx, seen, ...) fetch(fx, seen, (struct kube_request){__VA_ARGS__})

static bool
holds(const struct seen *seen, const char *text)
{
    struct str body = buf_str(&seen->body);

    return memmem(body.s, body.n, text, strlen(text)) != NULL;
}

/* The call failed, and its message holds all the texts. */
static void
assert_failed(const struct seen *seen, const char *a, const char *b)
{
    const char *text = seen->response.err.text;

    assert_int_equal(seen->response.status, 0);
    if (strstr(text, a) == NULL || strstr(text, b) == NULL)
        fail_msg("message is: %s", text);
    assert_null(strchr(text, '\n'));
}

static void
test_get(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo/x%2Fy?a=b%3Dc");
    assert_int_equal(seen.response.status, 200);
    assert_string_equal(seen.content_type, "application/json");
    assert_string_equal(seen.method, "GET");
    assert_non_null(strstr(seen.url, "/echo/x%2Fy?a=b%3Dc"));
    assert_true(holds(&seen, "\"target\": \"/echo/x%2Fy?a=b%3Dc\""));
    assert_true(holds(&seen, "\"user-agent\": \"mokka/control-plane\""));
    assert_true(holds(&seen, "\"accept\": \"application/json\""));
    assert_false(holds(&seen, "content-type"));
    assert_false(holds(&seen, "authorization"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_methods_and_bodies(void **state)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    char method[32];
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (size_t i = 0; i < nitems(methods); i++) {
        GET(&fx, &seen, .method = methods[i], .path = "/echo",
            .accept = "text/x", .content_type = "text/y",
            .body = STR("the body"));
        snprintf(method, sizeof(method), "\"method\": \"%s\"", methods[i]);
        assert_true(holds(&seen, method));
        assert_true(holds(&seen, "\"body\": \"the body\""));
        assert_true(holds(&seen, "\"accept\": \"text/x\""));
        assert_true(holds(&seen, "\"content-type\": \"text/y\""));
        assert_false(holds(&seen, "\"expect\""));
        seen_fini(&seen);
    }
    GET(&fx, &seen, .method = "DELETE", .path = "/echo");
    assert_true(holds(&seen, "\"method\": \"DELETE\""));
    assert_false(holds(&seen, "content-type"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* A body of 3 MiB, as large as the API server takes. */
static void
test_large_body_sent(void **state)
{
    size_t n = (size_t)3 << 20;
    char *body = mem_zalloc(n);
    struct fixture fx;
    struct seen seen;

    (void)state;
    memset(body, 'b', n);
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .method = "PUT", .path = "/status/200", .body = {body, n},
        .timeout = 10 * CLOCK_SECOND);
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    free(body);
    fixture_fini(&fx);
}

/* Nothing negotiates the protocol up, and nobody asks for compression. */
static void
test_I05_A23_http_1_1_without_compression(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_true(holds(&seen, "\"alpn\": \"http/1.1\""));
    assert_false(holds(&seen, "accept-encoding"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_A23_compressed_without_being_asked(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/gzip?n=5");
    assert_int_equal(seen.response.status, 200);
    assert_true(str_is(buf_str(&seen.body), "zzzzz"));
    seen_fini(&seen);
    /* Small on the way, large in the end: the cap is of what it becomes. */
    GET(&fx, &seen, .path = "/gzip?n=9000000");
    assert_failed(&seen, "https://localhost:", "larger than");
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/gzip?as=unheard-of");
    assert_failed(&seen, "https://localhost:", "cannot be undone");
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_B03_connection_close_is_obeyed(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/last");
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/echo");
    assert_int_equal(seen.response.status, 200);
    assert_true(holds(&seen, "\"served\": 0"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* A peer that is gone is noticed by the kernel, in half a minute. */
static void
test_A16_half_open_connections(void **state)
{
    struct fixture fx;
    struct seen seen;
    int found = 0;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    for (int fd = 3; fd < 256; fd++) {
        int ms = 0, on = 0, idle = 0;
        socklen_t n = sizeof(ms);

        if (getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &n) < 0)
            continue;
        getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &n);
        getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &n);
        assert_int_equal(ms, 30000);
        assert_int_equal(on, 1);
        assert_int_equal(idle, 15);
        found++;
    }
    assert_int_equal(found, 1);
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* No descriptor left: the call fails, and later ones work again. */
static void
test_I03_out_of_descriptors(void **state)
{
    struct rlimit before, none;
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){3, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    GET(&fx, &seen, .path = "/echo", .timeout = 10 * CLOCK_SECOND);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_failed(&seen, "https://localhost:", "");
    assert_false(seen.response.sent);
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/echo");
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_connection_is_kept(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (int i = 0; i < 3; i++) {
        char served[32];

        GET(&fx, &seen, .path = "/echo");
        snprintf(served, sizeof(served), "\"served\": %d", i);
        assert_true(holds(&seen, served));
        seen_fini(&seen);
    }
    fixture_fini(&fx);
}

/* A kept connection that the server has closed costs no request. */
static void
test_closed_connection_is_replaced(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/dropreused");
    assert_int_equal(seen.response.status, 200);
    assert_true(holds(&seen, "\"served\": 0"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_statuses_are_answers(void **state)
{
    static const int codes[] = {201, 400, 401, 403, 404, 409, 410, 422, 500};
    struct fixture fx;
    struct seen seen;
    char path[32];

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (size_t i = 0; i < nitems(codes); i++) {
        snprintf(path, sizeof(path), "/status/%d", codes[i]);
        GET(&fx, &seen, .path = path, .data = on_data, .head = on_head);
        assert_int_equal(seen.response.status, codes[i]);
        assert_int_equal(seen.datas, codes[i] == 201 ? 1 : 0);
        assert_int_equal(seen.heads, codes[i] == 201 ? 1 : 0);
        assert_true(holds(&seen, "as asked for"));
        seen_fini(&seen);
    }
    fixture_fini(&fx);
}

static void
test_B01_retry_after(void **state)
{
    static const struct {
        const char *path;
        int64_t seconds;
    } cases[] = {
        {"/status/429?retry=1", 1},
        {"/status/503?retry=7", 7},
        {"/status/429?retry=999999999", 3600},
        {"/status/429", 0},
        {"/status/429?retry=soon", 0},
    };
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (size_t i = 0; i < nitems(cases); i++) {
        GET(&fx, &seen, .path = cases[i].path);
        assert_int_equal(seen.response.retry_after,
                         cases[i].seconds * CLOCK_SECOND);
        seen_fini(&seen);
    }
    fixture_fini(&fx);
}

static void
test_redirects_are_not_followed(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/redirect");
    assert_int_equal(seen.response.status, 302);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_body_is_capped(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/large?n=1000", .max_body = 1000);
    assert_int_equal(seen.response.status, 200);
    assert_int_equal(seen.body.len, 1000);
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/large?n=1001", .max_body = 1000);
    assert_failed(&seen, "https://localhost:", "larger than 1000 bytes");
    assert_true(seen.response.sent);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_stream(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/stream?n=5&ms=20", .data = on_data,
        .head = on_head);
    assert_int_equal(seen.response.status, 200);
    assert_int_equal(seen.heads, 1);
    assert_true(seen.datas >= 5);
    assert_true(holds(&seen, "{\"line\":0}\n{\"line\":1}\n"));
    assert_true(holds(&seen, "{\"line\":4}\n"));
    assert_int_equal(seen.response.body.n, 0);
    assert_string_equal(seen.content_type, "application/json;stream=watch");
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_chunks_of_one_byte(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/bytes?n=2000", .data = on_data);
    assert_int_equal(seen.response.status, 200);
    assert_int_equal(seen.body.len, 2000);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_data_can_end_the_call(void **state)
{
    struct fixture fx;
    struct seen seen = {.stop_after = 2};

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    begin(&fx, &seen,
          (struct kube_request){.path = "/stream?n=50&ms=10", .data = on_data});
    wait_for(&fx, &seen);
    assert_int_equal(seen.datas, 2);
    assert_failed(&seen, "enough", "");
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_I02_cancel_from_data(void **state)
{
    struct fixture fx;
    struct seen seen = {.stop_after = 2, .cancel = true};

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    begin(&fx, &seen,
          (struct kube_request){.path = "/stream?n=50&ms=10", .data = on_data});
    pass(&fx, 400);
    assert_int_equal(seen.datas, 2);
    assert_int_equal(seen.done, 0);
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* One call's data cancels another that runs. */
static void
test_I02_cancel_another_from_data(void **state)
{
    struct fixture fx;
    struct seen victim = {0};
    struct seen seen = {.stop_after = 2, .cancel = true, .victim = &victim};

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    begin(&fx, &victim,
          (struct kube_request){.path = "/stream?n=50&ms=10", .data = on_data});
    while (victim.datas == 0)
        event_base_loop(fx.base, EVLOOP_ONCE);
    begin(&fx, &seen,
          (struct kube_request){.path = "/stream?n=5&ms=10", .data = on_data});
    wait_for(&fx, &seen);
    assert_int_equal(victim.done, 0);
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    seen_fini(&victim);
    fixture_fini(&fx);
}

static void
test_cancel_before_start_and_while_running(void **state)
{
    struct fixture fx;
    struct seen early = {0}, late = {0};

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    begin(&fx, &early, (struct kube_request){.path = "/echo"});
    kube_cancel(early.call);
    begin(&fx, &late, (struct kube_request){.path = "/slow?ms=500"});
    pass(&fx, 100);
    kube_cancel(late.call);
    pass(&fx, 600);
    assert_int_equal(early.done + late.done, 0);
    kube_cancel(NULL);
    fixture_fini(&fx);
}

/* Freeing the client ends what runs, without callbacks. */
static void
test_free_with_calls_running(void **state)
{
    struct seen seen[3] = {0};
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (size_t i = 0; i < nitems(seen); i++)
        begin(&fx, &seen[i], (struct kube_request){.path = "/slow?ms=300"});
    pass(&fx, 100);
    begin(&fx, &seen[0], (struct kube_request){.path = "/echo"});
    fixture_fini(&fx);
    for (size_t i = 0; i < nitems(seen); i++)
        assert_int_equal(seen[i].done, 0);
}

static void
test_many_at_once(void **state)
{
    enum { N = 40 };
    struct seen *seen = mem_zalloc(N * sizeof(*seen));
    struct fixture fx;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (int round = 0; round < 2; round++) {
        memset(seen, 0, N * sizeof(*seen));
        for (int i = 0; i < N; i++)
            begin(&fx, &seen[i], (struct kube_request){.path = "/slow?ms=50"});
        for (int i = 0; i < N; i++) {
            wait_for(&fx, &seen[i]);
            assert_int_equal(seen[i].response.status, 200);
            /* The second round finds all connections kept. */
            assert_int_equal(holds(&seen[i], "\"served\": 0"), round == 0);
            seen_fini(&seen[i]);
        }
    }
    free(seen);
    fixture_fini(&fx);
}

static void
test_whole_timeout(void **state)
{
    int64_t began = clock_now();
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/slow?ms=3000", .timeout = CLOCK_SECOND / 5);
    assert_failed(&seen, "https://localhost:", "no answer came within 0.2 s");
    assert_true(seen.response.sent);
    seen_fini(&seen);
    /* Bytes do not move the whole limit. */
    GET(&fx, &seen, .path = "/stream?n=100&ms=20", .data = on_data,
        .timeout = CLOCK_SECOND / 5);
    assert_failed(&seen, "not complete within 0.2 s", "");
    seen_fini(&seen);
    assert_true(clock_now() - began < 10 * CLOCK_SECOND);
    fixture_fini(&fx);
}

/* A process that is stopped after it has made a request, and goes on when that
 * may not be sent any more. */
static void
test_D04_nothing_is_sent_when_its_time_is_over(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (int i = 0; i < 2; i++) { /* on a new connection, and on a kept one */
        seen = (struct seen){0};
        begin(&fx, &seen,
              (struct kube_request){
                  .path = "/slow?ms=3000",
                  .timeout = CLOCK_SECOND / 20,
              });
        usleep(100000);
        wait_for(&fx, &seen);
        assert_failed(&seen, "https://localhost:", "");
        assert_false(seen.response.sent);
        seen_fini(&seen);
        GET(&fx, &seen, .path = "/echo");
        assert_int_equal(seen.response.status, 200);
        seen_fini(&seen);
    }
    fixture_fini(&fx);
}

static void
test_I07_idle_timeout(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    /* 1.5 s in all, never silent for 1. */
    GET(&fx, &seen, .path = "/stream?n=50&ms=30", .data = on_data,
        .idle_timeout = CLOCK_SECOND);
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/stall?n=2", .data = on_data,
        .idle_timeout = 3 * CLOCK_SECOND / 10);
    assert_failed(&seen, "silent in the middle of its answer", "0.3 s");
    assert_true(holds(&seen, "chunk\nchunk\n"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* An answer counts only when it ended as announced. */
static void
test_A10_cut_answers(void **state)
{
    static const char *const paths[] = {"/cut?n=10", "/cutchunk?n=3"};
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (size_t i = 0; i < nitems(paths); i++) {
        GET(&fx, &seen, .path = paths[i]);
        assert_failed(&seen, "https://localhost:", "lost");
        assert_true(seen.response.sent);
        assert_int_equal(seen.body.len, 0);
        seen_fini(&seen);
        GET(&fx, &seen, .path = paths[i], .data = on_data);
        assert_failed(&seen, "lost", "");
        assert_true(seen.datas > 0);
        seen_fini(&seen);
    }
    GET(&fx, &seen, .path = "/reset");
    assert_failed(&seen, "https://localhost:", "connection was");
    assert_true(seen.response.sent);
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/drop");
    assert_failed(&seen, "https://localhost:", "before the answer");
    assert_true(seen.response.sent);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_refused(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "dead");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_failed(&seen, "https://localhost:", "connection refused");
    assert_false(seen.response.sent);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_unknown_host(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    replace(&fx.config.server, mem_strdup("https://no-such.invalid:6443"));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo", .timeout = 20 * CLOCK_SECOND);
    assert_failed(&seen, "https://no-such.invalid:6443", "resolved");
    assert_false(seen.response.sent);
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* Something takes connections but never speaks. */
static void
test_mute_server(void **state)
{
    int64_t began = clock_now();
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "mute");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_failed(&seen, "https://localhost:", "no connection in time");
    assert_false(seen.response.sent);
    assert_true(clock_now() - began < 20 * CLOCK_SECOND);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_certificates(void **state)
{
    static const struct {
        const char *listener, *ca, *text;
    } cases[] = {
        {"good", "otherca.crt", "certificate-authority"},
        {"other", "ca.crt", "for another name"},
        {"stale", "ca.crt", "expired"},
    };
    struct fixture fx;
    struct seen seen;

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        fixture_init(&fx, cases[i].listener);
        replace(&fx.config.ca_file, in_folder(cases[i].ca));
        fixture_start(&fx);
        GET(&fx, &seen, .path = "/echo");
        assert_failed(&seen, "https://localhost:", cases[i].text);
        assert_false(seen.response.sent);
        seen_fini(&seen);
        fixture_fini(&fx);
    }
}

static void
test_insecure_only_when_said(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "other");
    replace(&fx.config.ca_file, NULL);
    fx.config.insecure = true;
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_tls_server_name(void **state)
{
    struct fixture fx;
    struct seen seen;
    char host[64];

    (void)state;
    fixture_init(&fx, "other");
    replace(&fx.config.tls_server_name, mem_strdup("other.example"));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    if (seen.response.status != 200)
        fail_msg("%s", seen.response.err.text);
    snprintf(host, sizeof(host), "\"host\": \"localhost:%d\"",
             https_port(&https, "other"));
    assert_true(holds(&seen, host));
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_C09_ipv6_address(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "six");
    replace(&fx.config.server,
            mem_printf("https://[::1]:%d", https_port(&https, "six")));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    if (seen.response.status != 200)
        fail_msg("%s", seen.response.err.text);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_ca_as_data(void **state)
{
    struct fixture fx;
    struct buf text = {0};
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    assert_int_equal(file_read(fx.config.ca_file, 65536, &text, NULL), 0);
    replace(&fx.config.ca_data, buf_take(&text));
    replace(&fx.config.ca_file, NULL);
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_client_certificate(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "client");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo"); /* none given: TLS 1.3 says so late */
    assert_failed(&seen, "https://localhost:", "");
    seen_fini(&seen);
    fixture_fini(&fx);

    fixture_init(&fx, "client");
    replace(&fx.config.cert_file, in_folder("user.crt"));
    replace(&fx.config.key_file, in_folder("user.key"));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    if (seen.response.status != 200)
        fail_msg("%s", seen.response.err.text);
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* A key that is not the certificate's. */
static void
test_client_key_of_another(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "client");
    replace(&fx.config.cert_file, in_folder("user.crt"));
    replace(&fx.config.key_file, in_folder("good.key"));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_failed(&seen, "https://localhost:", "belong together");
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_plain_http(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "plain");
    replace(&fx.config.server,
            mem_printf("http://127.0.0.1:%d", https_port(&https, "plain")));
    replace(&fx.config.ca_file, NULL);
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_not_an_api_server(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "text"); /* https to a port that speaks http */
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_failed(&seen, "https://localhost:", "TLS");
    seen_fini(&seen);
    fixture_fini(&fx);
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/junk");
    assert_failed(&seen, "https://localhost:", "does not speak HTTP");
    seen_fini(&seen);
    fixture_fini(&fx);
}

static void
test_C10_no_proxy_from_the_environment(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    setenv("HTTPS_PROXY", "http://127.0.0.1:9", 1);
    setenv("https_proxy", "http://127.0.0.1:9", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:9", 1);
    setenv("NO_PROXY", "*", 1);
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_int_equal(seen.response.status, 200);
    seen_fini(&seen);
    fixture_fini(&fx);
    /* The one of the configuration is used, whatever NO_PROXY says; TLS goes
     * through it to the server. */
    fixture_init(&fx, "good");
    replace(&fx.config.proxy_url,
            mem_printf("http://127.0.0.1:%d", https_port(&https, "proxy")));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/stream?n=2", .data = on_data, .head = on_head);
    assert_int_equal(seen.response.status, 200);
    assert_int_equal(seen.heads, 1);
    seen_fini(&seen);
    fixture_fini(&fx);
    fixture_init(&fx, "good");
    replace(&fx.config.proxy_url,
            mem_printf("http://127.0.0.1:%d", https_port(&https, "dead")));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    assert_failed(&seen, "https://localhost:", "connection refused");
    seen_fini(&seen);
    fixture_fini(&fx);
    unsetenv("HTTPS_PROXY");
    unsetenv("https_proxy");
    unsetenv("ALL_PROXY");
    unsetenv("NO_PROXY");
}

/* After three refusals in a row the connection is left behind. */
static void
test_B04_refusals_bring_a_new_connection(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/echo");
    seen_fini(&seen);
    pass(&fx, 2100);
    for (int i = 0; i < 3; i++) {
        GET(&fx, &seen, .path = "/status/429");
        seen_fini(&seen);
    }
    GET(&fx, &seen, .path = "/echo");
    assert_true(holds(&seen, "\"served\": 0"));
    seen_fini(&seen);
    GET(&fx, &seen, .path = "/echo");
    assert_true(holds(&seen, "\"served\": 1"));
    seen_fini(&seen);
    fixture_fini(&fx);
}

/* A client with a stream open and nothing to do uses no CPU. */
static void
test_I01_I08_idle_streams_cost_nothing(void **state)
{
    struct rusage before, after;
    struct seen seen[3] = {0};
    struct fixture fx;
    int64_t used;

    (void)state;
    fixture_init(&fx, "good");
    fixture_start(&fx);
    for (size_t i = 0; i < nitems(seen); i++)
        begin(&fx, &seen[i],
              (struct kube_request){.path = "/stall?n=1",
                                    .data = on_data,
                                    .idle_timeout = 60 * CLOCK_SECOND});
    pass(&fx, 300);
    getrusage(RUSAGE_SELF, &before);
    pass(&fx, 1000);
    getrusage(RUSAGE_SELF, &after);
    timersub(&after.ru_utime, &before.ru_utime, &after.ru_utime);
    timersub(&after.ru_stime, &before.ru_stime, &after.ru_stime);
    used = after.ru_utime.tv_usec + after.ru_stime.tv_usec;
    assert_true(used < 50000);
    for (size_t i = 0; i < nitems(seen); i++) {
        kube_cancel(seen[i].call);
        seen_fini(&seen[i]);
    }
    fixture_fini(&fx);
}

static void
test_server_must_be_a_url(void **state)
{
    static const struct {
        const char *server, *text;
    } cases[] = {
        {"ftp://localhost", "must start with https://"},
        {"https://", "no URL"},
        {"https://fd00::1:6443", "no URL"},
        {"https://user:secret@localhost", "no user name"},
        {"https://localhost/?a=b", "query"},
    };
    struct fixture fx;
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        fixture_init(&fx, "good");
        replace(&fx.config.server, mem_strdup(cases[i].server));
        fx.client = kube_client_new(fx.base, &fx.config, &err);
        assert_null(fx.client);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].server, err.text);
        assert_null(strstr(err.text, "secret"));
        fixture_fini(&fx);
    }
}

/* A server behind a path, as some distributions have it. */
static void
test_server_with_a_path(void **state)
{
    struct fixture fx;
    struct seen seen;

    (void)state;
    fixture_init(&fx, "good");
    replace(&fx.config.server, mem_printf("https://localhost:%d/k8s/c1",
                                          https_port(&https, "good")));
    fixture_start(&fx);
    GET(&fx, &seen, .path = "/api/v1/nodes");
    assert_true(holds(&seen, "\"target\": \"/k8s/c1/api/v1/nodes\""));
    seen_fini(&seen);
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
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_methods_and_bodies),
        cmocka_unit_test(test_large_body_sent),
        cmocka_unit_test(test_I05_A23_http_1_1_without_compression),
        cmocka_unit_test(test_A23_compressed_without_being_asked),
        cmocka_unit_test(test_B03_connection_close_is_obeyed),
        cmocka_unit_test(test_A16_half_open_connections),
        cmocka_unit_test(test_I03_out_of_descriptors),
        cmocka_unit_test(test_connection_is_kept),
        cmocka_unit_test(test_closed_connection_is_replaced),
        cmocka_unit_test(test_statuses_are_answers),
        cmocka_unit_test(test_B01_retry_after),
        cmocka_unit_test(test_redirects_are_not_followed),
        cmocka_unit_test(test_body_is_capped),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_chunks_of_one_byte),
        cmocka_unit_test(test_data_can_end_the_call),
        cmocka_unit_test(test_I02_cancel_from_data),
        cmocka_unit_test(test_I02_cancel_another_from_data),
        cmocka_unit_test(test_cancel_before_start_and_while_running),
        cmocka_unit_test(test_free_with_calls_running),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_whole_timeout),
        cmocka_unit_test(test_D04_nothing_is_sent_when_its_time_is_over),
        cmocka_unit_test(test_I07_idle_timeout),
        cmocka_unit_test(test_A10_cut_answers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_unknown_host),
        cmocka_unit_test(test_mute_server),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_insecure_only_when_said),
        cmocka_unit_test(test_tls_server_name),
        cmocka_unit_test(test_C09_ipv6_address),
        cmocka_unit_test(test_ca_as_data),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_client_key_of_another),
        cmocka_unit_test(test_plain_http),
        cmocka_unit_test(test_not_an_api_server),
        cmocka_unit_test(test_C10_no_proxy_from_the_environment),
        cmocka_unit_test(test_B04_refusals_bring_a_new_connection),
        cmocka_unit_test(test_I01_I08_idle_streams_cost_nothing),
        cmocka_unit_test(test_server_must_be_a_url),
        cmocka_unit_test(test_server_with_a_path),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
