/* SPDX-License-Identifier: Apache-2.0 */
/* The server with real sockets, one event loop on both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/web/http.h"

struct fixture {
    struct event_base *base;
    struct http *http;
    struct sockaddr_in address;
    int64_t stopped_at; /* 0: not */
    bool there;         /* the answer to "/wait" */
};

static int
answer(void *arg, const char *method, const char *path, struct http_answer *out)
{
    const struct fixture *f = arg;

    if (strcmp(path, "/wait") == 0 && !f->there)
        return 0;
    if (strcmp(path, "/405") == 0)
        out->allow = "GET";
    if (strcmp(path, "/text") == 0)
        out->type = "text/plain";
    buf_printf(&out->body, "<%s %s>", method, path);
    return out->allow != NULL ? 405 : 200;
}

static void
stopped(void *arg)
{
    struct fixture *f = arg;

    f->stopped_at = clock_now();
}

static int
setup(void **state)
{
    static const struct http_ops ops = {answer, stopped};
    struct fixture *f = mem_zalloc(sizeof(*f));
    socklen_t n = sizeof(f->address);
    struct err err = {""};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    signal(SIGPIPE, SIG_IGN);
    f->base = event_base_new();
    f->address.sin_family = AF_INET;
    f->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&f->address, n), 0);
    assert_int_equal(listen(fd, 512), 0);
    getsockname(fd, (struct sockaddr *)&f->address, &n);
    f->http = http_new(f->base, fd, &ops, f, &err);
    if (f->http == NULL)
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    http_free(f->http);
    event_base_free(f->base);
    free(f);
    return 0;
}

/* Lets the server work for about ms milliseconds, or until it has nothing to
 * do. */
static void
turn(const struct fixture *f, int ms)
{
    int64_t end = clock_now() + ms * CLOCK_MS;

    do {
        event_base_loop(f->base, EVLOOP_NONBLOCK);
        usleep(500);
    } while (clock_now() < end);
}

static int
dial(const struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(
        connect(fd, (const struct sockaddr *)&f->address, sizeof(f->address)),
        0);
    return fd;
}

static void
put(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
                     (ssize_t)strlen(text));
}

/* Reads up to the end of the connection, at most ms long. *closed tells whether
 * it came. */
static char *
get(const struct fixture *f, int fd, int ms, bool *closed)
{
    int64_t end = clock_now() + ms * CLOCK_MS;
    struct buf text = {0};
    ssize_t n = -1;

    while (n != 0 && clock_now() < end) {
        turn(f, 1);
        n = recv(fd, buf_room(&text, 4096), 4096, MSG_DONTWAIT);
        if (n > 0)
            buf_grew(&text, (size_t)n);
        else if (n < 0 && errno != EAGAIN)
            break;
    }
    *closed = n == 0 || (n < 0 && errno != EAGAIN);
    return buf_take(&text);
}

static void
assert_answer(const struct fixture *f, const char *request, const char *status,
              const char *part)
{
    int fd = dial(f);
    bool closed;
    char *text;

    put(fd, request);
    text = get(f, fd, 2000, &closed);
    if (strncmp(text, status, strlen(status)) != 0 ||
        strstr(text, part) == NULL || !closed)
        fail_msg("%s\ngave %s (%s)", request, text,
                 closed ? "closed" : "still open");
    free(text);
    close(fd);
}

static void
test_answers(void **state)
{
    const struct fixture *f = *state;

    assert_answer(f, "GET /a?b=c HTTP/1.1\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 200", "\r\n\r\n<GET /a>");
    assert_answer(f, "GET /a HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "<GET /a>");
    assert_answer(f, "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1",
                  "Content-Type: application/json\r\n");
    assert_answer(f, "POST /405 HTTP/1.1\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 405", "Allow: GET\r\n");
    assert_answer(f, "BREW /x HTTP/1.1\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 200", "< /x>");
    assert_answer(f, "OPTIONS * HTTP/1.1\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 200", "<OPTIONS *>");
}

static void
test_two_requests_on_one_connection(void **state)
{
    const struct fixture *f = *state;

    assert_answer(f,
                  "GET /1 HTTP/1.1\r\n\r\n"
                  "GET /2 HTTP/1.1\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 200", "<GET /2>");
}

static void
test_what_is_no_request_is_refused(void **state)
{
    const struct fixture *f = *state;

    assert_answer(f, "nonsense\r\n\r\n", "HTTP/1.1 400", "");
    assert_answer(f, "POST / HTTP/1.1\r\nContent-Length: 1025\r\n\r\n",
                  "HTTP/1.1 413", "");
    assert_answer(f,
                  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "100000\r\nx",
                  "HTTP/1.1 413", "");
}

static void
test_headers_beyond_8_kib_are_refused(void **state)
{
    const struct fixture *f = *state;
    struct buf request = {0};
    char *text;

    buf_addz(&request, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 200; i++)
        buf_printf(&request,
                   "X-%d: 0123456789012345678901234567890123456789"
                   "\r\n",
                   i);
    buf_addz(&request, "\r\n");
    text = buf_take(&request);
    assert_answer(f, text, "HTTP/1.1 400", "");
    free(text);
}

/* One byte a while keeps the connection busy, but not open. */
static void
test_a_request_has_five_seconds_to_be_complete(void **state)
{
    const struct fixture *f = *state;
    int64_t began = clock_now();
    int dribble = dial(f);
    int silent = dial(f);
    char byte;

    put(dribble, "GET / HTTP/1.1\r\n");
    while (clock_now() - began < 8 * CLOCK_SECOND) {
        turn(f, 100);
        if (send(dribble, "x", 1, MSG_NOSIGNAL) < 0)
            break;
    }
    assert_in_range(clock_now() - began, 5 * CLOCK_SECOND, 7 * CLOCK_SECOND);
    turn(f, 1100);
    assert_int_equal(recv(silent, &byte, 1, MSG_DONTWAIT), 0);
    close(dribble);
    close(silent);
}

static void
test_the_oldest_of_too_many_gives_way(void **state)
{
    const struct fixture *f = *state;
    int fds[200];
    char byte;
    int open_ones = 0;

    for (size_t i = 0; i < nitems(fds); i++) {
        fds[i] = dial(f);
        turn(f, 0);
    }
    turn(f, 50);
    for (size_t i = 0; i < nitems(fds); i++) {
        ssize_t n = recv(fds[i], &byte, 1, MSG_DONTWAIT);

        open_ones += n < 0 && errno == EAGAIN;
        assert_true((n < 0) == (i >= nitems(fds) - 128));
    }
    assert_int_equal(open_ones, 128);
    assert_answer(f, "GET /a HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "<GET /a>");
    for (size_t i = 0; i < nitems(fds); i++)
        close(fds[i]);
    turn(f, 50);
}

static void
test_G06_a_stop_without_connections_is_immediate(void **state)
{
    struct fixture *f = *state;
    int64_t began = clock_now();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    http_stop(f->http, 5 * CLOCK_SECOND);
    assert_int_equal(f->stopped_at, 0); /* from the loop, never from inside */
    turn(f, 100);
    assert_in_range(f->stopped_at, began, began + CLOCK_SECOND / 2);
    assert_int_equal(
        connect(fd, (const struct sockaddr *)&f->address, sizeof(f->address)),
        -1);
    close(fd);
}

static void
test_G06_a_request_that_has_begun_is_answered_after_the_stop(void **state)
{
    struct fixture *f = *state;
    int busy = dial(f);
    int idle = dial(f);
    bool closed;
    char *text;

    put(busy, "GET /late HTTP/1.1\r\n");
    turn(f, 20);
    http_stop(f->http, 5 * CLOCK_SECOND);
    http_stop(f->http, 0);
    text = get(f, idle, 1000, &closed);
    assert_true(closed);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(f->stopped_at, 0);
    put(busy, "\r\n");
    text = get(f, busy, 1000, &closed);
    assert_true(closed);
    assert_non_null(strstr(text, "Connection: close\r\n"));
    assert_non_null(strstr(text, "<GET /late>"));
    free(text);
    turn(f, 100);
    assert_true(f->stopped_at != 0);
    close(busy);
    close(idle);
}

static void
test_G06_patience_has_an_end(void **state)
{
    struct fixture *f = *state;
    int64_t began = clock_now();
    int busy = dial(f);

    put(busy, "GET /never HTTP/1.1\r\n");
    turn(f, 20);
    http_stop(f->http, CLOCK_SECOND / 2);
    turn(f, 700);
    assert_in_range(f->stopped_at, began + CLOCK_SECOND / 2,
                    began + CLOCK_SECOND);
    close(busy);
}

static void
test_freed_with_open_connections(void **state)
{
    struct fixture *f = *state;
    int begun = dial(f);
    int idle = dial(f);

    put(begun, "GET / HT");
    turn(f, 20);
    http_free(f->http);
    f->http = NULL;
    close(begun);
    close(idle);
}

static void
test_the_content_type_is_the_answers(void **state)
{
    const struct fixture *f = *state;

    assert_answer(f, "GET /text HTTP/1.0\r\n\r\n", "HTTP/1.0 200",
                  "Content-Type: text/plain\r\n");
}

static void
test_requests_wait_for_their_answer(void **state)
{
    struct fixture *f = *state;
    int first = dial(f);
    int second = dial(f);
    bool closed;
    char *text;

    put(first, "GET /wait HTTP/1.1\r\n\r\n"
               "GET /next HTTP/1.1\r\nConnection: close\r\n\r\n");
    put(second, "GET /wait HTTP/1.0\r\n\r\n");
    turn(f, 30);
    http_retry(f->http); /* and it still is not there */
    text = get(f, first, 50, &closed);
    assert_string_equal(text, "");
    assert_false(closed);
    free(text);
    assert_answer(f, "GET /other HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "/other");
    f->there = true;
    http_retry(f->http);
    http_retry(f->http);
    text = get(f, first, 1000, &closed);
    assert_true(closed);
    assert_non_null(strstr(text, "<GET /wait>"));
    assert_non_null(strstr(strstr(text, "<GET /wait>"), "<GET /next>"));
    free(text);
    text = get(f, second, 1000, &closed);
    assert_true(closed);
    assert_non_null(strstr(text, "<GET /wait>"));
    free(text);
    close(first);
    close(second);
}

static void
test_a_client_that_waits_may_leave(void **state)
{
    struct fixture *f = *state;
    int stays = dial(f);
    int leaves = dial(f);
    bool closed;
    char *text;

    put(leaves, "GET /wait HTTP/1.1\r\n\r\n");
    put(stays, "GET /wait HTTP/1.0\r\n\r\n");
    turn(f, 30);
    close(leaves);
    turn(f, 30);
    f->there = true;
    http_retry(f->http);
    text = get(f, stays, 1000, &closed);
    assert_non_null(strstr(text, "<GET /wait>"));
    free(text);
    close(stays);
}

static void
test_G06_a_stop_ends_who_waits_in_time(void **state)
{
    struct fixture *f = *state;
    int waits = dial(f);

    put(waits, "GET /wait HTTP/1.1\r\n\r\n");
    turn(f, 30);
    http_stop(f->http, CLOCK_SECOND / 4);
    turn(f, 500);
    assert_true(f->stopped_at != 0);
    f->there = true;
    http_retry(f->http);
    turn(f, 30);
    close(waits);
}

static void
test_freed_while_somebody_waits(void **state)
{
    struct fixture *f = *state;
    int waits = dial(f);

    put(waits, "GET /wait HTTP/1.1\r\n\r\n");
    turn(f, 30);
    http_free(f->http);
    f->http = NULL;
    close(waits);
}

static void
test_a_descriptor_that_is_no_listener(void **state)
{
    static const struct http_ops ops = {answer, stopped};
    struct fixture *f = *state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct err err = {""};

    assert_null(http_new(f->base, fd, &ops, f, &err));
    assert_non_null(strstr(err.text, "is no listening socket"));
    assert_int_equal(close(fd), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_answers),
        TEST(test_two_requests_on_one_connection),
        TEST(test_what_is_no_request_is_refused),
        TEST(test_headers_beyond_8_kib_are_refused),
        TEST(test_a_request_has_five_seconds_to_be_complete),
        TEST(test_the_oldest_of_too_many_gives_way),
        TEST(test_G06_a_stop_without_connections_is_immediate),
        TEST(test_G06_a_request_that_has_begun_is_answered_after_the_stop),
        TEST(test_G06_patience_has_an_end),
        TEST(test_freed_with_open_connections),
        TEST(test_the_content_type_is_the_answers),
        TEST(test_requests_wait_for_their_answer),
        TEST(test_a_client_that_waits_may_leave),
        TEST(test_G06_a_stop_ends_who_waits_in_time),
        TEST(test_freed_while_somebody_waits),
        TEST(test_a_descriptor_that_is_no_listener),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
