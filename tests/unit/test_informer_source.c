/* SPDX-License-Identifier: Apache-2.0 */
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
#include <signal.h>
#include <stdlib.h>

#include "common/kube/config.h"
#include "common/kube/http.h"
#include "common/log.h"
#include "common/mem.h"
#include "informer/source.h"

/* A source against a server that gives prepared answers, one for each request,
 * whatever is asked; what was asked is written down.  It offers no streaming
 * lists, unless told to. */
struct bench {
    struct event_base *base;
    struct evconnlistener *listener;
    struct kube_config config;
    struct kube_client *client;
    struct store *store;
    struct source *source;
    const char *const *answers; /* NULL ends them */
    bool streaming;
    struct buf asked;   /* paths, one a line */
    struct buf told;    /* by the store */
    struct buf reasons; /* each reason once */
    size_t wanted;      /* requests after which the test goes on */
    size_t requests;
};

/* --- the server --- */

#define HEAD(status, type)                                                     \
    "HTTP/1.1 " status "\r\nContent-Type: " type "\r\nConnection: "            \
    "close\r\n\r\n"
#define OK HEAD("200 OK", "application/json")
#define OBJECT(name, version)                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                   \
    "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, more, items)                                             \
    OK "{\"metadata\":{\"resourceVersion\":\"" version                         \
       "\",\"continue\":\"" more "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code, reason, message)                                          \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","       \
    "\"code\":" code ",\"reason\":\"" reason "\",\"message\":\"" message "\"}"

/* An answer that begins so leaves the connection open after it. */
#define HOLD "\1"

static void
on_sent(struct bufferevent *connection, void *arg)
{
    (void)arg;
    bufferevent_free(connection);
}

static void
on_end(struct bufferevent *connection, short what, void *arg)
{
    (void)what;
    (void)arg;
    bufferevent_free(connection);
}

static void
refuse_stream(struct bufferevent *connection)
{
    static const char text[] = HEAD("422 Unprocessable", "application/json")
        STATUS("422", "Invalid", "sendInitialEvents: Forbidden");

    bufferevent_setcb(connection, NULL, on_sent, on_end, NULL);
    bufferevent_write(connection, text, strlen(text));
}

static void
answer(struct bench *b, struct bufferevent *connection)
{
    const char *text = *b->answers;

    b->requests++;
    if (text == NULL)
        return; /* the last request waits for ever */
    b->answers++;
    if (text[0] == HOLD[0]) {
        text++;
        bufferevent_setcb(connection, NULL, NULL, on_end, b);
    } else {
        bufferevent_setcb(connection, NULL, on_sent, on_end, b);
    }
    bufferevent_write(connection, text, strlen(text));
}

static void
on_request(struct bufferevent *connection, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(connection);
    struct bench *b = arg;
    char *line;

    if (evbuffer_search(in, "\r\n\r\n", 4, NULL).pos < 0)
        return;
    line = evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
    assert_int_equal(strncmp(line, "GET ", 4), 0);
    *strrchr(line, ' ') = '\0';
    evbuffer_drain(in, evbuffer_get_length(in));
    if (!b->streaming && strstr(line, "sendInitialEvents") != NULL) {
        refuse_stream(connection);
    } else {
        buf_printf(&b->asked, "%s\n", line + 4);
        answer(b, connection);
    }
    free(line);
}

static void
on_connection(struct evconnlistener *listener, evutil_socket_t fd,
              struct sockaddr *address, int n, void *arg)
{
    struct bench *b = arg;
    struct bufferevent *connection =
        bufferevent_socket_new(b->base, fd, BEV_OPT_CLOSE_ON_FREE);

    (void)listener;
    (void)address;
    (void)n;
    bufferevent_setcb(connection, on_request, NULL, on_end, b);
    bufferevent_enable(connection, EV_READ | EV_WRITE);
}

static int
listen_somewhere(struct bench *b)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);

    b->listener = evconnlistener_new_bind(
        b->base, on_connection, b, LEV_OPT_CLOSE_ON_FREE, -1,
        (struct sockaddr *)&address, sizeof(address));
    assert_non_null(b->listener);
    getsockname(evconnlistener_get_fd(b->listener), (struct sockaddr *)&address,
                &n);
    return ntohs(address.sin_port);
}

/* --- the source --- */

static void
on_touched(void *arg, const struct store_touch *touch)
{
    static const char marks[] = "=v~+/-";
    struct bench *b = arg;

    buf_printf(&b->told, "%c%s ", marks[touch->change], touch->name);
}

static bool
has_reason(const struct bench *b, const char *text)
{
    return b->reasons.len > 0 && memmem(buf_bytes(&b->reasons), b->reasons.len,
                                        text, strlen(text)) != NULL;
}

static void
on_changed(void *arg)
{
    struct bench *b = arg;
    const char *reason = b->source == NULL ? "" : source_reason(b->source);

    if (reason[0] != '\0' && !has_reason(b, reason))
        buf_printf(&b->reasons, "%s\n", reason);
}

static void
begin_with(struct bench *b, enum object_kind kind, const char *const *answers,
           bool streaming)
{
    struct err err;

    *b = (struct bench){
        .base = event_base_new(), .answers = answers, .streaming = streaming};
    b->config.server = mem_printf("http://127.0.0.1:%d", listen_somewhere(b));
    b->client = kube_client_new(b->base, &b->config, &err);
    assert_non_null(b->client);
    b->store = store_new(on_touched, b);
    b->source = source_new(b->base, b->client, resource_of(kind), b->store,
                           on_changed, b);
    source_start(b->source);
}

static void
begin(struct bench *b, enum object_kind kind, const char *const *answers)
{
    begin_with(b, kind, answers, false);
}

static void
begin_streaming(struct bench *b, enum object_kind kind,
                const char *const *answers)
{
    begin_with(b, kind, answers, true);
}

static void
turn(struct bench *b)
{
    struct timeval soon = {0, 20000};

    event_base_loopexit(b->base, &soon);
    event_base_loop(b->base, 0);
}

static void
end(struct bench *b)
{
    source_free(b->source);
    kube_client_free(b->client);
    turn(b); /* the server sees the ends of its connections */
    free(b->config.server);
    store_free(b->store);
    evconnlistener_free(b->listener);
    event_base_free(b->base);
    buf_fini(&b->asked);
    buf_fini(&b->told);
    buf_fini(&b->reasons);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    fail_msg("it takes too long");
}

/* Runs until so many requests have come, and what they led to is done. */
static void
run(struct bench *b, size_t requests)
{
    struct timeval limit = {20, 0};
    struct event *late = evtimer_new(b->base, on_late, NULL);

    evtimer_add(late, &limit);
    while (b->requests < requests)
        event_base_loop(b->base, EVLOOP_ONCE);
    for (int i = 0; i < 3; i++)
        turn(b);
    event_free(late);
}

static void
expect(struct buf *buf, const char *expected)
{
    char *text = buf_take(buf);

    assert_string_equal(text, expected);
    free(text);
}

#define PROFILES "/apis/mokka.nvidia.com/v1alpha1/sgpurackprofiles"

/* What was asked, with the random time of a watch left out. */
static void
expect_asked(struct bench *b, const char *expected)
{
    char *text = buf_take(&b->asked);
    struct buf out = {0};

    for (char *line = strtok(text, "\n"); line != NULL;
         line = strtok(NULL, "\n")) {
        char *seconds = strstr(line, "&timeoutSeconds=");

        if (seconds != NULL)
            *seconds = '\0';
        buf_printf(&out, "%s\n",
                   strncmp(line, PROFILES, strlen(PROFILES)) == 0
                       ? line + strlen(PROFILES)
                       : line);
    }
    free(text);
    expect(&out, expected);
}

#define WATCH(version)                                                         \
    "?watch=true&allowWatchBookmarks=true&resourceVersion=" version "\n"

static void
test_list_in_pages_then_watch(void **state)
{
    static const char *const answers[] = {
        LIST("10", "more", OBJECT("a", "1") "," OBJECT("b", "2")),
        LIST("10", "", OBJECT("c", "3")),
        OK EVENT("ADDED", OBJECT("d", "11")) EVENT("DELETED", OBJECT("a", "12"))
            EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"20\"}}"),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 4);
    expect(&b.told, "+a +b +c +d -a ");
    /* The watch ended well: the next one starts from the bookmark. */
    expect_asked(&b, "?limit=100\n?limit=100&continue=more\n" WATCH("10")
                         WATCH("20"));
    expect(&b.reasons, "");
    assert_true(store_complete(b.store, KIND_PROFILE));
    /* One as a stream, which was refused, and one in pages. */
    assert_int_equal(source_counts(b.source).lists, 2);
    assert_int_equal(source_counts(b.source).events, 2);
    end(&b);
}

#define STREAM                                                                 \
    "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&"             \
    "resourceVersionMatch=NotOlderThan"
#define BOOKMARK(version)                                                      \
    EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define INITIAL_END(version)                                                   \
    EVENT("BOOKMARK",                                                          \
          "{\"metadata\":{\"resourceVersion\":\"" version                      \
          "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")

static void
test_streaming_list_then_watch_in_one_request(void **state)
{
    static const char *const answers[] = {
        OK EVENT("ADDED", OBJECT("a", "9")) EVENT("ADDED", OBJECT("b", "2"))
            INITIAL_END("10") EVENT("DELETED", OBJECT("a", "11")),
        /* Resumed; then listed again: what stands is not told again. */
        HOLD OK EVENT("ERROR", STATUS("410", "Expired", "too old")),
        OK EVENT("ADDED", OBJECT("b", "2")) EVENT("ADDED", OBJECT("c", "3"))
            BOOKMARK("12") INITIAL_END("13"),
        NULL,
    };
    struct bench b;

    (void)state;
    begin_streaming(&b, KIND_PROFILE, answers);
    run(&b, 4);
    expect(&b.told, "+a +b -a +c ");
    expect_asked(&b, STREAM "\n" WATCH("11") STREAM
                 "&resourceVersion=11\n" WATCH("13"));
    expect(&b.reasons, "");
    assert_int_equal(source_counts(b.source).lists, 2);
    end(&b);
}

static void
test_A06_stream_that_breaks_off_is_not_complete(void **state)
{
    static const char *const answers[] = {
        OK EVENT("ADDED", OBJECT("a", "9")) BOOKMARK("10"),
        OK EVENT("ADDED", OBJECT("b", "9")) "{\"type\":\"ADDED\",\"obj",
        LIST("11", "", OBJECT("c", "9")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin_streaming(&b, KIND_PROFILE, answers);
    run(&b, 2);
    assert_false(store_complete(b.store, KIND_PROFILE));
    assert_string_equal(store_version(b.store, KIND_PROFILE), "");
    run(&b, 4);
    /* Twice was enough: pages. */
    expect_asked(&b, STREAM "\n" STREAM "\n?limit=100\n" WATCH("11"));
    expect(&b.told, "+a +b +c -a -b ");
    expect(&b.reasons, "sgpurackprofiles: the streaming list broke off\n"
                       "sgpurackprofiles: the watch broke off in the middle of "
                       "an event\n");
    end(&b);
}

/* Each of them says in its way that streaming lists are not offered: no
 * trouble, nothing to wait for, and not asked for again. */
static void
test_servers_without_streaming_lists_are_read_in_pages(void **state)
{
    static const char *const refusals[] = {
        HEAD("422 Unprocessable", "application/json")
            STATUS("422", "Invalid", "forbidden"),
        HEAD("400 Bad Request", "application/json")
            STATUS("400", "BadRequest", "unknown"),
        HEAD("200 OK", "text/html") "<html>",
        OK EVENT("BOOKMARK", "{\"metadata\":{\"annotations\":{\"k8s.io/"
                             "initial-events-end\":\"true\"}}}"),
        OK EVENT("ERROR", STATUS("422", "Invalid", "forbidden")),
    };

    (void)state;
    for (size_t i = 0; i < nitems(refusals); i++) {
        const char *const answers[] = {
            refusals[i],
            LIST("10", "", OBJECT("a", "1")),
            HOLD OK EVENT("ERROR", STATUS("410", "Expired", "too old")),
            LIST("20", "", OBJECT("a", "1")),
            NULL,
        };
        struct bench b;

        begin_streaming(&b, KIND_PROFILE, answers);
        run(&b, 5);
        expect_asked(
            &b, STREAM "\n?limit=100\n" WATCH(
                    "10") "?limit=100&resourceVersion=10&"
                          "resourceVersionMatch=NotOlderThan\n" WATCH("20"));
        expect(&b.told, "+a ");
        expect(&b.reasons, "");
        end(&b);
    }
}

static void
test_nodes_are_asked_for_by_label_and_as_metadata(void **state)
{
    static const char *const answers[] = {
        HEAD("200 OK", "application/vnd.kubernetes.protobuf") "k8s", NULL};
    struct bench b;

    (void)state;
    begin(&b, KIND_NODE, answers);
    run(&b, 1);
    expect_asked(&b, "/api/v1/nodes?labelSelector=mokka.nvidia.com%2Fsgpu-node"
                     "%3Dtrue&limit=500\n");
    end(&b);
}

static void
test_A01_error_event_in_a_good_watch(void **state)
{
    static const char *const answers[] = {
        LIST("10", "", OBJECT("a", "1")),
        HOLD OK EVENT("ADDED", OBJECT("b", "11"))
            EVENT("ERROR", STATUS("410", "Expired", "too old"))
                EVENT("ADDED", OBJECT("ghost", "99")),
        LIST("30", "", OBJECT("b", "11")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 4);
    expect(&b.told, "+a +b -a ");
    expect_asked(&b,
                 "?limit=100\n" WATCH(
                     "10") "?limit=100&resourceVersion=11&"
                           "resourceVersionMatch=NotOlderThan\n" WATCH("30"));
    end(&b);
}

static void
test_A04_version_too_large(void **state)
{
    static const char *const answers[] = {
        LIST("10", "", OBJECT("a", "1")),
        HEAD("504 Gateway Timeout", "application/json") STATUS(
            "504", "Timeout", "Too large resource version: 10, current: 5"),
        LIST("5", "", OBJECT("a", "1")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 4);
    expect_asked(&b, "?limit=100\n" WATCH("10") "?limit=100\n" WATCH("5"));
    expect(&b.told, "+a ");
    end(&b);
}

static void
test_A08_continue_token_expires(void **state)
{
    static const char *const answers[] = {
        LIST("10", "more", OBJECT("a", "1")),
        HEAD("410 Gone", "application/json")
            STATUS("410", "Expired", "the token is too old"),
        LIST("12", "", OBJECT("b", "1")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 4);
    /* Nothing counted as complete before the second list was. */
    expect(&b.told, "+a +b -a ");
    expect_asked(&b, "?limit=100\n?limit=100&continue=more\n\n" WATCH("12"));
    end(&b);
}

static void
test_cut_in_the_middle_of_an_event(void **state)
{
    static const char *const answers[] = {
        LIST("10", "", OBJECT("a", "1")),
        OK EVENT("ADDED", OBJECT("b", "11")) "{\"type\":\"ADDED\",\"obj",
        OK EVENT("ADDED", OBJECT("c", "12")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 4);
    expect(&b.told, "+a +b +c ");
    expect_asked(&b, "?limit=100\n" WATCH("10") WATCH("11") WATCH("12"));
    expect(&b.reasons, "sgpurackprofiles: the watch broke off in the middle of "
                       "an event\n");
    assert_string_equal(source_reason(b.source), "");
    end(&b);
}

static void
test_A10_list_that_breaks_off_is_made_again(void **state)
{
    static const char *const answers[] = {
        OK "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" OBJECT(
            "a", "1") ",",
        LIST("10", "", OBJECT("b", "1")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 3);
    expect(&b.told, "+a +b -a ");
    expect_asked(&b, "?limit=100\n?limit=100\n" WATCH("10"));
    expect(&b.reasons, "sgpurackprofiles: the list broke off\n");
    end(&b);
}

static void
test_what_it_waits_for_is_said(void **state)
{
    static const char *const answers[] = {
        HEAD("403 Forbidden", "application/json")
            STATUS("403", "Forbidden", "no"),
        HEAD("404 Not Found", "text/plain") "404 page not found\n",
        HEAD("401 Unauthorized", "application/json")
            STATUS("401", "Unauthorized", "Unauthorized"),
        LIST("10", "", ""),
        HEAD("403 Forbidden", "application/json")
            STATUS("403", "Forbidden", "no"),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 6);
    expect(&b.reasons,
           "sgpurackprofiles: 403 Forbidden: no (grant list on "
           "sgpurackprofiles.mokka.nvidia.com to this identity)\n"
           "sgpurackprofiles: not served, install the CRDs\n"
           "sgpurackprofiles: 401 Unauthorized: Unauthorized; check the token "
           "or client certificate\n"
           "sgpurackprofiles: 403 Forbidden: no (grant watch on "
           "sgpurackprofiles.mokka.nvidia.com to this identity)\n");
    expect_asked(&b, "?limit=100\n?limit=100\n?limit=100\n?limit=100\n" WATCH(
                         "10") WATCH("10"));
    end(&b);
}

static void
test_wrong_content_type_is_not_read(void **state)
{
    static const char *const answers[] = {
        HEAD("200 OK", "text/html") "<html>proxy</html>",
        LIST("10", "", OBJECT("a", "1")),
        HEAD("200 OK", "text/html") "<html>proxy</html>",
        LIST("11", "", OBJECT("a", "1")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 5);
    expect(&b.told, "+a ");
    assert_true(
        has_reason(&b, "the answer is text/html instead of application/json"));
    end(&b);
}

static void
test_B01_retry_after_is_obeyed(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\n"
        "Connection: close\r\n\r\n",
        LIST("10", "", OBJECT("a", "1")),
        NULL,
    };
    struct timeval before, after;
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    evutil_gettimeofday(&before, NULL);
    run(&b, 2);
    evutil_gettimeofday(&after, NULL);
    evutil_timersub(&after, &before, &after);
    assert_in_range(after.tv_sec, 2, 3);
    end(&b);
}

static void
test_H02_bad_event_costs_itself(void **state)
{
    static const char *const answers[] = {
        LIST("10", "", OBJECT("a", "1")),
        OK EVENT("ADDED", "{\"n\":1e999}")
            EVENT("ADDED", "{\"metadata\":{\"name\":\"x\",\"uid\":7}}")
                EVENT("ADDED", OBJECT("b", "12")),
        NULL,
    };
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 3);
    expect(&b.told, "+a +b ");
    assert_int_equal(source_counts(b.source).bad, 2);
    end(&b);
}

static void
test_stop_ends_everything(void **state)
{
    static const char *const answers[] = {LIST("10", "", OBJECT("a", "1")),
                                          HOLD OK, NULL};
    struct bench b;

    (void)state;
    begin(&b, KIND_PROFILE, answers);
    run(&b, 2);
    source_stop(b.source);
    assert_false(store_complete(b.store, KIND_PROFILE));
    run(&b, 2);
    assert_int_equal(b.requests, 2);
    end(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_in_pages_then_watch),
        cmocka_unit_test(test_streaming_list_then_watch_in_one_request),
        cmocka_unit_test(test_A06_stream_that_breaks_off_is_not_complete),
        cmocka_unit_test(
            test_servers_without_streaming_lists_are_read_in_pages),
        cmocka_unit_test(test_nodes_are_asked_for_by_label_and_as_metadata),
        cmocka_unit_test(test_A01_error_event_in_a_good_watch),
        cmocka_unit_test(test_A04_version_too_large),
        cmocka_unit_test(test_A08_continue_token_expires),
        cmocka_unit_test(test_cut_in_the_middle_of_an_event),
        cmocka_unit_test(test_A10_list_that_breaks_off_is_made_again),
        cmocka_unit_test(test_what_it_waits_for_is_said),
        cmocka_unit_test(test_wrong_content_type_is_not_read),
        cmocka_unit_test(test_B01_retry_after_is_obeyed),
        cmocka_unit_test(test_H02_bad_event_costs_itself),
        cmocka_unit_test(test_stop_ends_everything),
    };

    signal(SIGPIPE, SIG_IGN);
    log_to(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
