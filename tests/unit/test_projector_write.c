/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kube/config.h"
#include "common/kube/http.h"
#include "common/lease_page.h"
#include "common/log.h"
#include "common/mem.h"
#include "projector/shadow.h"
#include "projector/write.h"
#include "proto/frame.h"
#include "proto/unpack.h"

/*
 * The writer with a real HTTP client and a server that answers by rules, in
 * one event loop.
 */

#define MS CLOCK_MS
#define PATIENCE (10 * CLOCK_SECOND)

/* The first rule whose prefix fits and that has answers left is used. */
struct rule {
    const char *prefix; /* of "METHOD path" */
    int status;         /* 0: the connection is closed, -1: no answer ever */
    const char *body;
    const char *header; /* one more line, or NULL */
    int delay;          /* milliseconds */
    int times;          /* -1: always */
};

struct bench;

struct conn {
    LIST_ENTRY(conn) entry;
    struct bench *b;
    struct bufferevent *stream;
    struct event *timer;
    const struct rule *rule; /* of the request being answered */
};

struct bench {
    struct event_base *base;
    /* server */
    struct evconnlistener *listener;
    LIST_HEAD(, conn) conns;
    struct rule rules[8];
    struct buf seen; /* "METHOD path\n" of each request */
    unsigned requests, open, most_open;
    /* writer */
    struct kube_config config;
    struct kube_client *client;
    struct intents *intents;
    struct writer *writer;
    struct shadow *shadow;
    struct lease_page *page;
    unsigned replies[OUTCOME_COUNT];
    unsigned total;
    struct event *tick;
};

static void
conn_free(struct conn *c)
{
    if (c->rule != NULL)
        c->b->open--;
    LIST_REMOVE(c, entry);
    bufferevent_free(c->stream);
    event_free(c->timer);
    free(c);
}

static void
on_answer(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;
    const struct rule *r = c->rule;

    (void)fd;
    (void)what;
    if (r->status == 0) {
        conn_free(c);
        return;
    }
    c->rule = NULL;
    c->b->open--;
    evbuffer_add_printf(bufferevent_get_output(c->stream),
                        "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n%s\r\n%s",
                        r->status, strlen(r->body),
                        r->header == NULL ? "" : r->header, r->body);
}

static const struct rule *
find_rule(struct bench *b, const char *line)
{
    for (size_t i = 0; i < nitems(b->rules); i++) {
        struct rule *r = &b->rules[i];

        if (r->prefix == NULL || r->times == 0 ||
            strncmp(line, r->prefix, strlen(r->prefix)) != 0)
            continue;
        if (r->times > 0)
            r->times--;
        return r;
    }
    fail_msg("no rule for %s", line);
    return NULL;
}

static void
serve(struct conn *c, const char *head)
{
    int length = (int)strcspn(head, "\r");
    char *line = mem_dup(head, (size_t)length);
    struct bench *b = c->b;
    struct timeval delay;

    line[strlen(line) - strlen(" HTTP/1.1")] = '\0';
    buf_printf(&b->seen, "%s\n", line);
    c->rule = find_rule(b, line);
    free(line);
    b->requests++;
    if (++b->open > b->most_open)
        b->most_open = b->open;
    if (c->rule->status < 0)
        return;
    delay = (struct timeval){.tv_usec = c->rule->delay * 1000};
    event_add(c->timer, &delay);
}

/* A request is whole when its body is as long as its header says. */
static void
on_bytes(struct bufferevent *stream, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(stream);
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    struct conn *c = arg;
    const char *field;
    size_t length = 0;
    char *head;

    if (end.pos < 0)
        return;
    head = mem_zalloc((size_t)end.pos + 1);
    evbuffer_copyout(in, head, (size_t)end.pos);
    field = strcasestr(head, "\r\nContent-Length:");
    if (field != NULL)
        length = strtoul(field + 17, NULL, 10);
    length += (size_t)end.pos + 4;
    if (evbuffer_get_length(in) >= length) {
        evbuffer_drain(in, length);
        serve(c, head);
    }
    free(head);
}

static void
on_event(struct bufferevent *stream, short what, void *arg)
{
    (void)stream;
    (void)what;
    conn_free(arg);
}

static void
on_conn(struct evconnlistener *listener, evutil_socket_t fd,
        struct sockaddr *addr, int n, void *arg)
{
    struct conn *c = mem_zalloc(sizeof(*c));

    (void)listener;
    (void)addr;
    (void)n;
    c->b = arg;
    c->stream = bufferevent_socket_new(c->b->base, fd, BEV_OPT_CLOSE_ON_FREE);
    c->timer = event_new(c->b->base, -1, 0, on_answer, c);
    LIST_INSERT_HEAD(&c->b->conns, c, entry);
    bufferevent_setcb(c->stream, on_bytes, NULL, on_event, c);
    bufferevent_enable(c->stream, EV_READ | EV_WRITE);
}

static void
on_reply(void *arg, const struct reply *reply)
{
    struct bench *b = arg;

    b->replies[reply->result.outcome]++;
    b->total++;
}

static void
on_turned(void *arg)
{
    (void)arg;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

static void
listen_anywhere(struct bench *b)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(addr);

    b->listener = evconnlistener_new_bind(
        b->base, on_conn, b, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 64,
        (struct sockaddr *)&addr, sizeof(addr));
    assert_non_null(b->listener);
    getsockname(evconnlistener_get_fd(b->listener), (struct sockaddr *)&addr,
                &n);
    b->config.server = mem_printf("http://127.0.0.1:%d", ntohs(addr.sin_port));
}

static void
make_page(struct bench *b)
{
    struct err err;
    int view, fd = lease_page_create(&view, &err);

    assert_true(fd >= 0);
    b->page = lease_page_map(fd, true, &err);
    assert_non_null(b->page);
    close(fd);
    close(view);
}

static void
make_bench(void **state, struct shadow *shadow)
{
    const struct intents_pace pace = {0, 0};
    const struct timeval tick = {.tv_usec = 2000};
    struct bench *b = mem_zalloc(sizeof(*b));
    struct writer_setup w = {.write_timeout = CLOCK_SECOND,
                             .live_timeout = CLOCK_SECOND,
                             .shadow = shadow,
                             .reply = on_reply,
                             .turned = on_turned,
                             .arg = b};
    struct err err = {0};

    b->shadow = shadow;
    b->base = w.base = event_base_new();
    listen_anywhere(b);
    make_page(b);
    b->client = kube_client_new(b->base, &b->config, &err);
    assert_non_null(b->client);
    b->intents = w.intents = intents_new(&pace);
    b->writer = writer_new(&w);
    writer_client(b->writer, b->client);
    writer_lease(b->writer, b->page);
    b->tick = event_new(b->base, -1, EV_PERSIST, on_tick, NULL);
    event_add(b->tick, &tick);
    *state = b;
}

static int
setup(void **state)
{
    make_bench(state, NULL);
    return 0;
}

static int
setup_shadow(void **state)
{
    make_bench(state, shadow_new());
    return 0;
}

static int
teardown(void **state)
{
    struct bench *b = *state;

    writer_free(b->writer);
    shadow_free(b->shadow);
    kube_client_free(b->client);
    intents_free(b->intents);
    lease_page_unmap(b->page);
    while (!LIST_EMPTY(&b->conns))
        conn_free(LIST_FIRST(&b->conns));
    evconnlistener_free(b->listener);
    event_free(b->tick);
    event_base_free(b->base);
    kube_config_fini(&b->config);
    buf_fini(&b->seen);
    free(b);
    return 0;
}

static void
rules(struct bench *b, const struct rule *list, size_t n)
{
    memcpy(b->rules, list, n * sizeof(*list));
}

#define RULES(b, ...)                                                          \
    rules(b, (const struct rule[]){__VA_ARGS__},                               \
          nitems(((const struct rule[]){__VA_ARGS__})))

/* Turns the loop until *count is n or more. */
static void
until(struct bench *b, const unsigned *count, unsigned n)
{
    int64_t end = clock_now() + PATIENCE;

    while (*count < n && clock_now() < end)
        event_base_loop(b->base, EVLOOP_ONCE);
    if (*count < n)
        fail_msg("%u, not %u, after: %.*s", *count, n, (int)b->seen.len,
                 buf_bytes(&b->seen));
}

static void
turn(struct bench *b, int64_t time)
{
    int64_t end = clock_now() + time;

    while (clock_now() < end)
        event_base_loop(b->base, EVLOOP_ONCE);
}

static void
lead(struct bench *b, uint64_t term)
{
    lease_page_publish(b->page, term, clock_now() + 60 * CLOCK_SECOND);
    writer_plan(b->writer, term);
}

static void
accept_order(struct bench *b, uint16_t type, struct buf *body)
{
    struct err err = {0};
    struct unpacked *u = unpack_body(buf_str(body), &err);
    struct order *order = order_new(type, 1, unpacked_root(u), &err);
    struct reply reply;

    assert_non_null(order);
    unpacked_free(u);
    buf_fini(body);
    if (intents_accept(b->intents, order, clock_now(), &reply))
        on_reply(b, &reply);
    writer_wake(b->writer);
}

static void
want_rack(struct bench *b, unsigned number)
{
    char *name = mem_printf("r%u", number);
    const struct intent_rack i = {.target = {str_of(name), STR("u"), STR("1")},
                                  .spec = STR("{}")};
    struct buf body = {0};

    intent_rack_pack(&body, &i);
    accept_order(b, MSG_RACK_WRITE, &body);
    free(name);
}

static void
want_status(struct bench *b, const char *name)
{
    const struct intent_status i = {
        .target = {str_of(name), STR("u"), STR("1")},
        .action = ACTION_RACK_STATUS,
        .status.fields = STR("{\"a\":1}")};
    struct buf body = {0};

    intent_status_pack(&body, &i);
    accept_order(b, MSG_STATUS_WRITE, &body);
}

static struct writer_state
state_of(const struct bench *b)
{
    struct writer_state state;

    writer_state(b->writer, &state);
    return state;
}

#define OBJECT "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"9\"}}"
#define FORBIDDEN                                                              \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":"               \
    "\"racks is forbidden: User u cannot update resource\"}"

static void
requests_are_made_in_a_term_only(void **state)
{
    struct bench *b = *state;

    RULES(b, {"PUT", 200, OBJECT, NULL, 0, -1});
    want_rack(b, 1);
    turn(b, 50 * MS);
    writer_plan(b->writer, 3); /* but the page says nothing */
    turn(b, 300 * MS);
    assert_int_equal(b->requests, 0);
    lease_page_publish(b->page, 3, clock_now() - 1); /* over already */
    turn(b, 300 * MS);
    assert_int_equal(b->requests, 0);
    /* Found by looking, without any message. */
    lease_page_publish(b->page, 3, clock_now() + 60 * CLOCK_SECOND);
    until(b, &b->replies[OUTCOME_DONE], 1);
    writer_term_ended(b->writer, 2); /* old news */
    want_rack(b, 2);
    until(b, &b->replies[OUTCOME_DONE], 2);
    writer_term_ended(b->writer, 3);
    want_rack(b, 3);
    turn(b, 300 * MS);
    assert_int_equal(b->requests, 2);
    lead(b, 4);
    until(b, &b->replies[OUTCOME_DONE], 3);
    assert_int_equal(state_of(b).writes[ACTION_RACK], 3);
}

static void
a_term_that_ends_between_two_requests(void **state)
{
    struct bench *b = *state;

    RULES(b, {"GET", 200, OBJECT, NULL, 50, -1},
          {"PUT", 200, OBJECT, NULL, 0, -1});
    lead(b, 1);
    want_status(b, "r");
    until(b, &b->requests, 1);
    writer_term_ended(b->writer, 1);
    turn(b, 150 * MS);
    assert_int_equal(b->requests, 1);
    assert_true(intents_settled(b->intents));
    lead(b, 2);
    until(b, &b->replies[OUTCOME_DONE], 1);
    /* Read anew: what was read in the old term is old. */
    assert_int_equal(b->requests, 3);
}

static void
what_is_under_way_at_the_end_is_awaited(void **state)
{
    struct bench *b = *state;

    RULES(b, {"PUT", 200, OBJECT, NULL, 100, -1});
    lead(b, 1);
    want_rack(b, 1);
    until(b, &b->requests, 1);
    want_rack(b, 2);
    writer_stop(b->writer);
    turn(b, 20 * MS);
    assert_false(intents_settled(b->intents));
    until(b, &b->replies[OUTCOME_DONE], 1);
    assert_true(intents_settled(b->intents));
    turn(b, 50 * MS);
    assert_int_equal(b->requests, 1);
}

static void
the_window_bounds_what_is_under_way(void **state)
{
    struct bench *b = *state;

    RULES(b, {"PUT", 200, OBJECT, NULL, 10, -1});
    lead(b, 1);
    for (unsigned i = 0; i < 400; i++)
        want_rack(b, i);
    until(b, &b->replies[OUTCOME_DONE], 400);
    assert_in_range(b->most_open, 8, 64);
    assert_int_equal(b->requests, 400);
    assert_int_equal(state_of(b).requests, 0);
}

static void
a_lost_connection_is_tried_again(void **state)
{
    struct bench *b = *state;

    RULES(b, {"PUT", 0, NULL, NULL, 0, 1}, {"PUT", 200, OBJECT, NULL, 0, -1});
    lead(b, 1);
    want_rack(b, 1);
    until(b, &b->replies[OUTCOME_DONE], 1);
    assert_int_equal(state_of(b).retries, 1);
}

static void
a_silent_server_is_not_waited_for_for_ever(void **state)
{
    struct bench *b = *state;
    int64_t began = clock_now();

    RULES(b, {"PUT", -1, NULL, NULL, 0, 1}, {"PUT", 200, OBJECT, NULL, 0, -1});
    lead(b, 1);
    want_rack(b, 1);
    until(b, &b->replies[OUTCOME_DONE], 1);
    assert_in_range(clock_now() - began, CLOCK_SECOND, 3 * CLOCK_SECOND);
}

static void
retry_after_holds_everything(void **state)
{
    struct bench *b = *state;
    int64_t began = clock_now();

    RULES(b, {"PUT", 429, "", "Retry-After: 1\r\n", 0, 1},
          {"PUT", 200, OBJECT, NULL, 0, -1});
    lead(b, 1);
    want_rack(b, 1);
    until(b, &b->requests, 1);
    turn(b, 20 * MS);
    want_rack(b, 2);
    turn(b, 900 * MS);
    assert_int_equal(b->requests, 1);
    until(b, &b->replies[OUTCOME_DONE], 2);
    assert_true(clock_now() - began >= CLOCK_SECOND);
}

static void
a_refused_right_is_named_and_found_again(void **state)
{
    struct bench *b = *state;
    const char *trouble;

    RULES(b, {"PUT", 403, FORBIDDEN, NULL, 0, 12});
    lead(b, 1);
    want_rack(b, 1);
    until(b, &b->requests, 6);
    turn(b, 20 * MS);
    trouble = state_of(b).trouble;
    assert_non_null(strstr(trouble, "not allowed to update sgpuracks; give"));
    assert_int_equal(b->total, 0);
    /* Once somebody gets through, those that rest are not left resting. */
    RULES(b, {"PUT", 200, OBJECT, NULL, 0, -1});
    want_rack(b, 2);
    until(b, &b->replies[OUTCOME_DONE], 2);
    assert_string_equal(state_of(b).trouble, "");
}

static void
nobody_rests_once_the_server_is_back(void **state)
{
    struct bench *b = *state;
    int64_t back;

    RULES(b, {"PUT", 503, "", NULL, 0, -1});
    lead(b, 1);
    for (unsigned i = 0; i < 20; i++)
        want_rack(b, i);
    turn(b, 1500 * MS);
    assert_int_equal(b->total, 0);
    RULES(b, {"PUT", 200, OBJECT, NULL, 0, -1});
    until(b, &b->replies[OUTCOME_DONE], 1);
    back = clock_now();
    until(b, &b->replies[OUTCOME_DONE], 20);
    assert_true(clock_now() - back < 200 * MS);
}

static void
a_rate_is_kept(void **state)
{
    struct bench *b = *state;
    int64_t began = clock_now();
    struct err err;

    RULES(b, {"GET", 200, OBJECT, NULL, 0, -1},
          {"PUT", 200, OBJECT, NULL, 0, -1});
    assert_int_equal(writer_rate(b->writer, "20", "2", &err), 0);
    lead(b, 1);
    for (unsigned i = 0; i < 4; i++)
        want_rack(b, i);
    want_status(b, "s");
    want_status(b, "t");
    until(b, &b->replies[OUTCOME_DONE], 6);
    /* Reads count, too: 8 requests, 2 at once. */
    assert_int_equal(b->requests, 8);
    assert_in_range(clock_now() - began, 290 * MS, 2000 * MS);
}

static void
freed_with_requests_under_way(void **state)
{
    struct bench *b = *state;

    RULES(b, {"PUT", -1, NULL, NULL, 0, -1}, {"GET", 200, OBJECT, NULL, 0, -1});
    lead(b, 1);
    want_rack(b, 1);
    want_status(b, "s");
    until(b, &b->requests, 3);
}

static int64_t
would(const struct bench *b, enum action action)
{
    int64_t counts[ACTION_COUNT];

    shadow_count(b->shadow, clock_now() + 2 * SHADOW_STANDS, counts);
    return counts[action];
}

/* It reads what a write hangs on, whatever the page says, and nothing more; its
 * author hears of a rack a second later. */
static void
in_shadow_it_only_reads(void **state)
{
    struct bench *b = *state;
    int64_t began = clock_now();

    RULES(b, {"GET", 200, OBJECT, NULL, 0, -1});
    writer_plan(b->writer, 1);
    want_status(b, "s");
    until(b, &b->replies[OUTCOME_DONE], 1);
    assert_int_equal(would(b, ACTION_RACK_STATUS), 1);
    want_rack(b, 1);
    turn(b, 100 * MS);
    assert_int_equal(would(b, ACTION_RACK), 1);
    assert_int_equal(b->total, 1);
    until(b, &b->replies[OUTCOME_DONE], 2);
    assert_true(clock_now() - began >= CLOCK_SECOND);
    assert_int_equal(b->requests, 1);
    assert_int_equal(state_of(b).writes[ACTION_RACK], 0);
    assert_int_equal(intents_counts(b->intents).written, 0);
}

/* Read anew it stands, or is gone: then nothing would be written. */
static void
in_shadow_a_read_may_tell_that_nothing_is_to_be_written(void **state)
{
    struct bench *b = *state;

    RULES(b, {"GET", 200, OBJECT, NULL, 0, 1},
          {"GET", 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}", NULL, 0,
           -1});
    writer_plan(b->writer, 1);
    want_status(b, "s");
    until(b, &b->replies[OUTCOME_DONE], 1);
    assert_int_equal(would(b, ACTION_RACK_STATUS), 1);
    want_status(b, "s");
    until(b, &b->total, 2);
    assert_int_equal(would(b, ACTION_RACK_STATUS), 0);
}

static void
in_shadow_nothing_is_done_out_of_a_term(void **state)
{
    struct bench *b = *state;

    want_rack(b, 1);
    turn(b, 50 * MS);
    assert_int_equal(would(b, ACTION_RACK), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define SHADOW(f) cmocka_unit_test_setup_teardown(f, setup_shadow, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_are_made_in_a_term_only),
        TEST(a_term_that_ends_between_two_requests),
        TEST(what_is_under_way_at_the_end_is_awaited),
        TEST(the_window_bounds_what_is_under_way),
        TEST(a_lost_connection_is_tried_again),
        TEST(a_silent_server_is_not_waited_for_for_ever),
        TEST(retry_after_holds_everything),
        TEST(a_refused_right_is_named_and_found_again),
        TEST(nobody_rests_once_the_server_is_back),
        TEST(a_rate_is_kept),
        TEST(freed_with_requests_under_way),
        SHADOW(in_shadow_it_only_reads),
        SHADOW(in_shadow_a_read_may_tell_that_nothing_is_to_be_written),
        SHADOW(in_shadow_nothing_is_done_out_of_a_term),
    };

    signal(SIGPIPE, SIG_IGN);
    log_to(STDERR_FILENO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
