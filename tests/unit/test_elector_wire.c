/* SPDX-License-Identifier: Apache-2.0 */
/* The requests as a server sees them, and what its answers mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/config.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "supervisor/elector/wire.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/ns/leases"

struct fixture {
    struct event_base *base;
    struct evconnlistener *listener;
    struct kube_config kube;
    struct wire *wire;
    char *request;      /* the last one, whole */
    const char *answer; /* to be given; NULL: none ever */
    struct bufferevent *visitor;
    /* What came out. */
    int answers;
    enum election_outcome outcome;
    char holder[64];
    int64_t retry_after;
    struct err trouble;
};

static void
on_answer(void *arg, const struct election_answer *answer, const char *trouble)
{
    struct fixture *f = arg;

    f->answers++;
    f->outcome = answer->outcome;
    f->retry_after = answer->retry_after;
    if (answer->outcome == ELECTION_RECORD)
        snprintf(f->holder, sizeof(f->holder), "%s", answer->record.holder);
    assert_true((trouble != NULL) == (answer->outcome == ELECTION_FAILED));
    err_set(&f->trouble, "%s", trouble == NULL ? "" : trouble);
}

/* A request is whole when as much of a body came as its header says. */
static bool
is_whole(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    const char *length = strcasestr(text, "Content-Length:");

    return body != NULL &&
           (length == NULL ||
            strlen(body + 4) >=
                (size_t)atoi(length + strlen("Content-Length:")));
}

static void
on_bytes(struct bufferevent *bev, void *arg)
{
    struct fixture *f = arg;
    struct evbuffer *input = bufferevent_get_input(bev);
    size_t n = evbuffer_get_length(input);

    free(f->request);
    f->request = mem_dup((char *)evbuffer_pullup(input, -1), n);
    if (!is_whole(f->request) || f->answer == NULL)
        return;
    evbuffer_drain(input, n);
    bufferevent_write(bev, f->answer, strlen(f->answer));
}

static void
on_visitor(struct evconnlistener *listener, evutil_socket_t fd,
           struct sockaddr *address, int n, void *arg)
{
    struct fixture *f = arg;

    (void)listener;
    (void)address;
    (void)n;
    if (f->visitor != NULL)
        bufferevent_free(f->visitor);
    f->visitor = bufferevent_socket_new(f->base, fd, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(f->visitor, on_bytes, NULL, NULL, f);
    bufferevent_enable(f->visitor, EV_READ | EV_WRITE);
}

static int
setup(void **state)
{
    static const struct wire_config config = {"ns", "the-lease", CLOCK_SECOND};
    struct fixture *f = mem_zalloc(sizeof(*f));
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof(address);
    struct err err = {""};

    signal(SIGPIPE, SIG_IGN);
    f->base = event_base_new();
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->listener = evconnlistener_new_bind(
        f->base, on_visitor, f, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
        -1, (struct sockaddr *)&address, n);
    assert_non_null(f->listener);
    getsockname(evconnlistener_get_fd(f->listener), (struct sockaddr *)&address,
                &n);
    f->kube.server = mem_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
    f->wire = wire_new(f->base, &f->kube, &config, on_answer, f, &err);
    if (f->wire == NULL)
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    wire_free(f->wire);
    if (f->visitor != NULL)
        bufferevent_free(f->visitor);
    evconnlistener_free(f->listener);
    event_base_free(f->base);
    kube_config_fini(&f->kube);
    free(f->request);
    free(f);
    return 0;
}

static const struct lease_record ours = {
    .holder = "us",
    .duration = 15,
    .acquired = 0,
    .renewed = 0,
    .transitions = 3,
};

/* Sends, and runs the loop until the answer is there. */
static void
ask(struct fixture *f, enum election_verb verb, const char *answer)
{
    int before = f->answers;
    int64_t end = clock_now() + 5 * CLOCK_SECOND;

    f->answer = answer;
    wire_send(f->wire, verb, &ours);
    assert_int_equal(f->answers, before); /* never from inside */
    while (f->answers == before && clock_now() < end)
        event_base_loop(f->base, EVLOOP_ONCE);
    assert_int_equal(f->answers, before + 1);
}

#define HEAD(status) "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n"
#define LEASE_BODY                                                             \
    "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"77\"},"           \
    "\"spec\":{\"holderIdentity\":\"them\",\"strategy\":\"new\"}}"

static char *
answer_with(const char *head, const char *body)
{
    return mem_printf("%sContent-Length: %zu\r\n\r\n%s", head, strlen(body),
                      body);
}

static void
ask_with(struct fixture *f, enum election_verb verb, const char *head,
         const char *body)
{
    char *answer = answer_with(head, body);

    ask(f, verb, answer);
    free(answer);
}

static json_t *
sent_body(const struct fixture *f)
{
    struct err err = {""};
    json_t *json =
        kube_json_parse(str_of(strstr(f->request, "\r\n\r\n") + 4), &err);

    if (json == NULL)
        fail_msg("%s\n%s", err.text, f->request);
    return json;
}

static void
assert_request_line(const struct fixture *f, const char *wanted)
{
    if (strncmp(f->request, wanted, strlen(wanted)) != 0)
        fail_msg("%s\nis not %s", f->request, wanted);
}

static void
test_a_read(void **state)
{
    struct fixture *f = *state;

    ask_with(f, ELECTION_GET, HEAD("200 OK"), LEASE_BODY);
    assert_request_line(f, "GET " PATH "/the-lease HTTP/1.1\r\n");
    assert_int_equal(f->outcome, ELECTION_RECORD);
    assert_string_equal(f->holder, "them");
}

static void
test_a_create(void **state)
{
    struct fixture *f = *state;
    json_t *body;

    ask_with(f, ELECTION_CREATE, HEAD("201 Created"), LEASE_BODY);
    assert_request_line(f, "POST " PATH " HTTP/1.1\r\n");
    assert_int_equal(f->outcome, ELECTION_RECORD);
    body = sent_body(f);
    assert_string_equal(kube_json_text(body, "metadata.name"), "the-lease");
    assert_string_equal(kube_json_text(body, "metadata.namespace"), "ns");
    assert_string_equal(kube_json_text(body, "spec.holderIdentity"), "us");
    json_decref(body);
}

static void
test_D07_an_update_goes_by_what_was_read_last(void **state)
{
    struct fixture *f = *state;
    json_t *body;

    ask_with(f, ELECTION_GET, HEAD("200 OK"), LEASE_BODY);
    ask_with(f, ELECTION_UPDATE, HEAD("200 OK"),
             "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"78\"},"
             "\"spec\":{\"holderIdentity\":\"us\"}}");
    assert_request_line(f, "PUT " PATH "/the-lease HTTP/1.1\r\n");
    assert_string_equal(f->holder, "us");
    body = sent_body(f);
    assert_string_equal(kube_json_text(body, "metadata.resourceVersion"), "77");
    assert_string_equal(kube_json_text(body, "spec.strategy"), "new");
    assert_string_equal(kube_json_text(body, "spec.holderIdentity"), "us");
    json_decref(body);
    /* A refused one changes nothing of that. */
    ask_with(f, ELECTION_UPDATE, HEAD("409 Conflict"), "{}");
    assert_int_equal(f->outcome, ELECTION_CONFLICT);
    body = sent_body(f);
    assert_string_equal(kube_json_text(body, "metadata.resourceVersion"), "78");
    json_decref(body);
    ask_with(f, ELECTION_UPDATE, HEAD("409 Conflict"), "{}");
    body = sent_body(f);
    assert_string_equal(kube_json_text(body, "metadata.resourceVersion"), "78");
    json_decref(body);
}

#define NOT_FOUND                                                              \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","       \
    "\"reason\":\"NotFound\",\"message\":\"not there\",\"code\":404}"
#define FORBIDDEN                                                              \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","       \
    "\"reason\":\"Forbidden\",\"message\":\"no right\",\"code\":403}"

struct meaning {
    enum election_verb verb;
    const char *head, *body;
    enum election_outcome outcome;
    const char *trouble;
};

static void
test_what_answers_mean(void **state)
{
    static const struct meaning meanings[] = {
        {ELECTION_GET, HEAD("404 Not Found"), NOT_FOUND, ELECTION_ABSENT, ""},
        {ELECTION_UPDATE, HEAD("404 Not Found"), NOT_FOUND, ELECTION_ABSENT,
         ""},
        {ELECTION_CREATE, HEAD("404 Not Found"), NOT_FOUND, ELECTION_FAILED,
         "not there"},
        {ELECTION_GET, HEAD("404 Not Found"), "<html>proxy</html>",
         ELECTION_FAILED, "404"},
        {ELECTION_CREATE, HEAD("409 Conflict"), "{}", ELECTION_CONFLICT, ""},
        {ELECTION_UPDATE, HEAD("409 Conflict"), "{}", ELECTION_CONFLICT, ""},
        {ELECTION_GET, HEAD("409 Conflict"), "{}", ELECTION_FAILED, "409"},
        {ELECTION_GET, HEAD("403 Forbidden"), FORBIDDEN, ELECTION_FAILED,
         "leases.coordination.k8s.io in namespace ns: 403 on GET; grant get, "
         "create and update there (no right)"},
        {ELECTION_CREATE, HEAD("403 Forbidden"), FORBIDDEN, ELECTION_FAILED,
         "403 on POST"},
        {ELECTION_UPDATE, HEAD("401 Unauthorized"), "{}", ELECTION_FAILED,
         "PUT Lease ns/the-lease: 401"},
        {ELECTION_UPDATE, HEAD("500 Oops"), "{}", ELECTION_FAILED, "500"},
        {ELECTION_GET, HEAD("302 Found") "Location: /x\r\n", "",
         ELECTION_FAILED, "302"},
        {ELECTION_GET, HEAD("200 OK"), "{\"kind\":\"Pod\"}", ELECTION_FAILED,
         "GET Lease ns/the-lease: the answer is no Lease but \"Pod\""},
        {ELECTION_GET, HEAD("200 OK"), "not JSON", ELECTION_FAILED,
         "GET Lease ns/the-lease: "},
        {ELECTION_GET, HEAD("200 OK"), "", ELECTION_FAILED, "GET Lease"},
    };
    struct fixture *f = *state;

    ask_with(f, ELECTION_GET, HEAD("200 OK"), LEASE_BODY);
    for (size_t i = 0; i < nitems(meanings); i++) {
        const struct meaning *m = &meanings[i];

        ask_with(f, m->verb, m->head, m->body);
        if (f->outcome != m->outcome ||
            strstr(f->trouble.text, m->trouble) == NULL)
            fail_msg("%zu: outcome %d, \"%s\"", i, f->outcome, f->trouble.text);
    }
}

static void
test_retry_after_is_passed_on(void **state)
{
    struct fixture *f = *state;

    ask_with(f, ELECTION_GET,
             HEAD("429 Too Many Requests") "Retry-After: 3\r\n", "{}");
    assert_int_equal(f->outcome, ELECTION_FAILED);
    assert_true(f->retry_after == 3 * CLOCK_SECOND);
}

static void
test_a_server_that_says_nothing_is_given_up(void **state)
{
    struct fixture *f = *state;
    int64_t began = clock_now();

    ask(f, ELECTION_GET, NULL);
    assert_int_equal(f->outcome, ELECTION_FAILED);
    assert_in_range(clock_now() - began, CLOCK_SECOND * 9 / 10,
                    CLOCK_SECOND * 2);
}

static void
test_nothing_is_told_of_a_request_that_was_cancelled(void **state)
{
    struct fixture *f = *state;
    int64_t end = clock_now() + CLOCK_SECOND * 3 / 2;

    f->answer = NULL;
    wire_cancel(f->wire);
    wire_send(f->wire, ELECTION_GET, NULL);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    wire_cancel(f->wire);
    while (clock_now() < end)
        event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->answers, 0);
    ask_with(f, ELECTION_GET, HEAD("200 OK"), LEASE_BODY);
    assert_string_equal(f->holder, "them");
}

static void
test_freed_with_a_request_under_way(void **state)
{
    struct fixture *f = *state;

    f->answer = NULL;
    wire_send(f->wire, ELECTION_GET, NULL);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    wire_free(f->wire);
    f->wire = NULL;
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->answers, 0);
}

static void
test_names_that_would_address_something_else(void **state)
{
    static const struct wire_config bad[] = {
        {"", "l", 1}, {"ns", "", 1}, {"..", "l", 1}, {"ns", ".", 1}};
    struct fixture *f = *state;

    for (size_t i = 0; i < nitems(bad); i++) {
        struct err err = {""};

        assert_null(wire_new(f->base, &f->kube, &bad[i], on_answer, f, &err));
        assert_string_not_equal(err.text, "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_read),
        TEST(test_a_create),
        TEST(test_D07_an_update_goes_by_what_was_read_last),
        TEST(test_what_answers_mean),
        TEST(test_retry_after_is_passed_on),
        TEST(test_a_server_that_says_nothing_is_given_up),
        TEST(test_nothing_is_told_of_a_request_that_was_cancelled),
        TEST(test_freed_with_a_request_under_way),
        TEST(test_names_that_would_address_something_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
