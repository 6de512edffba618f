/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/mem.h"
#include "proto/pack.h"

/* What came in at one end, as text: "NAME(id)" and so on. */
struct end {
    struct chan *chan;
    struct buf log;
    int fd;        /* the descriptor taken last, or -1 */
    bool leave_fd; /* do not take it */
    bool free_in_message, free_in_room, refuse;
    size_t messages, rooms, closes;
    struct err reason;
};

struct fixture {
    struct event_base *base;
    struct end supervisor, elector;
};

static int
on_message(void *arg, struct chan *chan, struct message *message,
           struct err *err)
{
    struct end *end = arg;

    assert_ptr_equal(chan, end->chan);
    end->messages++;
    buf_printf(&end->log, "%s(%u) ", message_name(message->type), message->id);
    if (message->fd >= 0 && !end->leave_fd) {
        end->fd = message->fd;
        message->fd = -1;
    }
    if (end->free_in_message) {
        chan_free(end->chan);
        end->chan = NULL;
    }
    if (end->refuse)
        return err_set(err, "not wanted");
    return 0;
}

static void
on_room(void *arg, struct chan *chan)
{
    struct end *end = arg;

    assert_ptr_equal(chan, end->chan);
    end->rooms++;
    if (end->free_in_room) {
        chan_free(chan);
        end->chan = NULL;
    }
}

static void
on_closed(void *arg, struct chan *chan, const char *reason)
{
    struct end *end = arg;

    assert_ptr_equal(chan, end->chan);
    end->closes++;
    err_set(&end->reason, "%s", reason == NULL ? "" : reason);
    chan_free(chan);
    end->chan = NULL;
}

static const struct chan_ops ops = {on_message, on_room, on_closed};

static int
setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof(*f));
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    f->base = event_base_new();
    f->supervisor.fd = f->elector.fd = -1;
    f->supervisor.chan = chan_new(f->base, fds[0], ROLE_SUPERVISOR,
                                  ROLE_ELECTOR, &ops, &f->supervisor);
    f->elector.chan = chan_new(f->base, fds[1], ROLE_ELECTOR, ROLE_SUPERVISOR,
                               &ops, &f->elector);
    *state = f;
    return 0;
}

static void
end_fini(struct end *end)
{
    chan_free(end->chan);
    buf_fini(&end->log);
    if (end->fd >= 0)
        close(end->fd);
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    end_fini(&f->supervisor);
    end_fini(&f->elector);
    event_base_free(f->base);
    free(f);
    return 0;
}

/* Runs the loop until nothing happens any more. */
static void
settle(const struct fixture *f)
{
    for (int i = 0; i < 50; i++)
        event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void
assert_log(const struct end *end, const char *wanted)
{
    if (!str_is(buf_str(&end->log), wanted))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)end->log.len,
                 buf_str(&end->log).s, wanted);
}

static int
open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* The socket of the elector's end is replaced by bare hands. */
static int
bare_peer(struct fixture *f)
{
    int fds[2];

    chan_free(f->supervisor.chan);
    chan_free(f->elector.chan);
    f->elector.chan = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    f->supervisor.chan = chan_new(f->base, fds[0], ROLE_SUPERVISOR,
                                  ROLE_ELECTOR, &ops, &f->supervisor);
    return fds[1];
}

static void
send_bytes(int fd, const struct buf *bytes)
{
    assert_int_equal(send(fd, buf_str(bytes).s, bytes->len, MSG_NOSIGNAL),
                     (ssize_t)bytes->len);
}

/* Sends bytes with that many copies of descriptor. */
static void
send_with(int fd, struct str bytes, int descriptor, size_t copies)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(16 * sizeof(int))];
    } control = {0};
    struct iovec iov = {(void *)bytes.s, bytes.n};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(copies * sizeof(int)),
    };
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(copies * sizeof(int));
    for (size_t i = 0; i < copies; i++)
        memcpy(CMSG_DATA(c) + i * sizeof(int), &descriptor, sizeof(int));
    assert_int_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), (ssize_t)bytes.n);
}

static void
test_frames_arrive_in_order_both_ways(void **state)
{
    struct fixture *f = *state;

    chan_send(f->supervisor.chan, MSG_CONTEND, 1, STR(""));
    chan_send(f->supervisor.chan, MSG_STOP, 2, STR(""));
    chan_send(f->elector.chan, MSG_READY, 3, STR(""));
    chan_send(f->elector.chan, MSG_BYE, 4, STR(""));
    assert_log(&f->elector, ""); /* nothing happens outside of the loop */
    settle(f);
    assert_log(&f->elector, "CONTEND(1) STOP(2) ");
    assert_log(&f->supervisor, "READY(3) BYE(4) ");
    assert_int_equal(chan_pending(f->supervisor.chan), 0);
    assert_int_equal(chan_peer(f->supervisor.chan), ROLE_ELECTOR);
}

static void
test_a_frame_may_come_byte_by_byte(void **state)
{
    struct fixture *f = *state;
    int peer = bare_peer(f);
    struct buf bytes = {0};

    frame_add(&bytes, MSG_READY, 0, 9, STR("\220"));
    frame_add(&bytes, MSG_BYE, 0, 10, STR("\220"));
    while (bytes.len > 0) {
        assert_int_equal(send(peer, buf_bytes(&bytes), 1, 0), 1);
        buf_drop(&bytes, 1);
        settle(f);
    }
    assert_log(&f->supervisor, "READY(9) BYE(10) ");
    buf_fini(&bytes);
    close(peer);
}

static void
test_a_descriptor_travels_with_its_frame(void **state)
{
    struct fixture *f = *state;
    int pipes[3][2];
    struct stat sent, got;
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, RESOURCE_LEASE_PAGE);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pipe(pipes[i]), 0);
    chan_send(f->supervisor.chan, MSG_CONTEND, 1, STR(""));
    assert_int_equal(chan_send_fd(f->supervisor.chan, MSG_GRANTED,
                                  buf_str(&body), pipes[0][0], NULL),
                     0);
    chan_send(f->supervisor.chan, MSG_CONTEND, 2, STR(""));
    assert_int_equal(chan_send_fd(f->supervisor.chan, MSG_GRANTED,
                                  buf_str(&body), pipes[1][0], NULL),
                     0);
    f->elector.leave_fd = true; /* those it does not take are closed */
    settle(f);
    assert_log(&f->elector, "CONTEND(1) GRANTED(0) CONTEND(2) GRANTED(0) ");
    assert_int_equal(f->elector.fd, -1);
    f->elector.leave_fd = false;
    assert_int_equal(chan_send_fd(f->supervisor.chan, MSG_GRANTED,
                                  buf_str(&body), pipes[2][0], NULL),
                     0);
    settle(f);
    fstat(pipes[2][0], &sent);
    assert_int_equal(fstat(f->elector.fd, &got), 0);
    assert_int_equal(sent.st_ino, got.st_ino);
    assert_true(fcntl(f->elector.fd, F_GETFD) & FD_CLOEXEC);
    for (size_t i = 0; i < 3; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    buf_fini(&body);
}

static void
test_no_descriptor_leaks_when_nobody_takes_it(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};
    int before = open_descriptors();

    pack_array(&body, 1);
    pack_int(&body, RESOURCE_LEASE_PAGE);
    f->elector.leave_fd = true;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(chan_send_fd(f->supervisor.chan, MSG_GRANTED,
                                      buf_str(&body), STDIN_FILENO, NULL),
                         0);
        settle(f);
    }
    assert_int_equal(f->elector.messages, 100);
    assert_int_equal(open_descriptors(), before);
    /* Not sent, not received, not claimed: freed with the chan. */
    for (int i = 0; i < 5; i++)
        assert_int_equal(chan_send_fd(f->supervisor.chan, MSG_GRANTED,
                                      buf_str(&body), STDIN_FILENO, NULL),
                         0);
    chan_free(f->supervisor.chan);
    chan_free(f->elector.chan);
    f->supervisor.chan = f->elector.chan = NULL;
    assert_int_equal(open_descriptors(), before - 2);
    buf_fini(&body);
}

static void
test_descriptors_without_a_flag_are_closed(void **state)
{
    struct fixture *f = *state;
    int peer = bare_peer(f);
    int before = open_descriptors();
    struct buf bytes = {0};

    frame_add(&bytes, MSG_READY, 0, 1, STR("\220"));
    send_with(peer, buf_str(&bytes), STDIN_FILENO, 3);
    settle(f);
    assert_log(&f->supervisor, "READY(1) ");
    assert_int_equal(open_descriptors(), before);
    /* More than a message can have. */
    send_with(peer, buf_str(&bytes), STDIN_FILENO, 16);
    settle(f);
    assert_log(&f->supervisor, "READY(1) READY(1) ");
    assert_int_equal(open_descriptors(), before);
    buf_fini(&bytes);
    close(peer);
}

static void
test_a_flag_without_a_descriptor_ends_the_link(void **state)
{
    struct fixture *f = *state;
    int peer = bare_peer(f);
    struct buf bytes = {0};

    frame_add(&bytes, MSG_READY, FRAME_DESCRIPTOR, 1, STR("\220"));
    send_bytes(peer, &bytes);
    settle(f);
    assert_int_equal(f->supervisor.closes, 1);
    assert_non_null(strstr(f->supervisor.reason.text, "descriptor"));
    buf_fini(&bytes);
    close(peer);
}

static void
test_the_end_of_the_peer_comes_after_its_last_words(void **state)
{
    struct fixture *f = *state;

    chan_send(f->elector.chan, MSG_BYE, 1, STR(""));
    chan_flush(f->elector.chan);
    chan_free(f->elector.chan);
    f->elector.chan = NULL;
    settle(f);
    assert_log(&f->supervisor, "BYE(1) ");
    assert_int_equal(f->supervisor.closes, 1);
    assert_string_equal(f->supervisor.reason.text, "");
}

/* A process that is killed leaves unread input behind: the other end then sees
 * a reset, which is no fault either. */
static void
test_a_reset_is_an_end_without_a_fault(void **state)
{
    struct fixture *f = *state;

    chan_send(f->supervisor.chan, MSG_CONTEND, 1, STR(""));
    chan_flush(f->supervisor.chan);
    chan_free(f->elector.chan);
    f->elector.chan = NULL;
    settle(f);
    assert_int_equal(f->supervisor.closes, 1);
    assert_string_equal(f->supervisor.reason.text, "");
}

struct offence {
    const char *what;
    uint16_t type;
    struct str body;
    uint32_t length; /* claimed; 0: as it is */
    const char *wanted;
};

static void
test_a_peer_that_breaks_a_rule_loses_the_link(void **state)
{
    static const struct offence offences[] = {
        {"unknown type", 999, {"\220", 1}, 0, "unknown type 999"},
        {"route", MSG_CONTEND, {"\220", 1}, 0, "may not send CONTEND"},
        {"route of another worker",
         MSG_GONE,
         {"\220", 1},
         0,
         "may not send GONE"},
        {"length", MSG_READY, {"\220", 1}, 257, "limit is 256"},
        {"huge length", MSG_READY, {"\220", 1}, UINT32_MAX, "limit is 256"},
        {"structure", MSG_READY, {"\335\377\377\377\377", 5}, 0, "READY"},
        {"no body", MSG_READY, {"", 0}, 0, "READY"},
        {"two values", MSG_READY, {"\220\220", 2}, 0, "after its end"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < nitems(offences); i++) {
        int peer = bare_peer(f);
        struct buf bytes = {0};

        frame_add(&bytes, offences[i].type, 0, 1, offences[i].body);
        if (offences[i].length != 0)
            for (int j = 0; j < 4; j++)
                buf_bytes(&bytes)[j] =
                    (char)(offences[i].length >> (24 - 8 * j));
        frame_add(&bytes, MSG_READY, 0, 2, STR("\220"));
        send_bytes(peer, &bytes);
        settle(f);
        assert_int_equal(f->supervisor.closes, i + 1);
        if (strstr(f->supervisor.reason.text, offences[i].wanted) == NULL)
            fail_msg("%s: %s", offences[i].what, f->supervisor.reason.text);
        buf_fini(&bytes);
        close(peer);
    }
    assert_log(&f->supervisor, "");
}

static void
test_a_handler_that_refuses_ends_the_link(void **state)
{
    struct fixture *f = *state;

    f->supervisor.refuse = true;
    chan_send(f->elector.chan, MSG_READY, 1, STR(""));
    chan_send(f->elector.chan, MSG_READY, 2, STR(""));
    settle(f);
    assert_log(&f->supervisor, "READY(1) ");
    assert_int_equal(f->supervisor.closes, 1);
    assert_string_equal(f->supervisor.reason.text, "READY: not wanted");
    assert_int_equal(f->elector.closes, 1);
}

static void
test_freed_inside_message(void **state)
{
    struct fixture *f = *state;

    f->supervisor.free_in_message = true;
    for (int i = 0; i < 10; i++)
        chan_send(f->elector.chan, MSG_READY, 1, STR(""));
    settle(f);
    assert_int_equal(f->supervisor.messages, 1);
    assert_int_equal(f->supervisor.closes, 0);
    assert_int_equal(f->elector.closes, 1);
}

static void
test_freed_inside_message_that_is_refused(void **state)
{
    struct fixture *f = *state;

    f->supervisor.free_in_message = f->supervisor.refuse = true;
    chan_send(f->elector.chan, MSG_READY, 1, STR(""));
    settle(f);
    assert_int_equal(f->supervisor.messages, 1);
    assert_int_equal(f->supervisor.closes, 0);
}

/* Sends until there is no room; the number of frames. */
static int
fill(struct end *from, struct str body)
{
    int sent = 0;

    while (chan_room(from->chan)) {
        chan_send(from->chan, MSG_CONFIG, 0, body);
        assert_true(++sent < 1000);
    }
    return sent;
}

static void
put_bulk(struct buf *body)
{
    static char text[60000];

    memset(text, 'x', sizeof(text));
    pack_str(body, (struct str){text, sizeof(text)});
}

static void
test_room_comes_back_and_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};
    size_t sent;

    put_bulk(&body);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    sent = (size_t)fill(&f->supervisor, buf_str(&body));
    assert_true(chan_pending(f->supervisor.chan) >= 256 << 10);
    assert_true(chan_pending(f->supervisor.chan) < (256 << 10) + 70000);
    assert_int_equal(f->supervisor.rooms, 0);
    settle(f);
    assert_int_equal(f->elector.messages, sent);
    assert_int_equal(f->supervisor.rooms, 1);
    assert_true(chan_room(f->supervisor.chan));
    chan_send(f->supervisor.chan, MSG_CONFIG, 0, buf_str(&body));
    settle(f);
    assert_int_equal(f->supervisor.rooms, 1);
    buf_fini(&body);
}

static void
test_nobody_who_did_not_ask_is_told_of_room(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};

    put_bulk(&body);
    for (int i = 0; i < 20; i++)
        chan_send(f->supervisor.chan, MSG_CONFIG, 0, buf_str(&body));
    settle(f);
    assert_int_equal(f->elector.messages, 20);
    assert_int_equal(f->supervisor.rooms, 0);
    buf_fini(&body);
}

static void
test_freed_inside_room(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};

    put_bulk(&body);
    f->supervisor.free_in_room = true;
    fill(&f->supervisor, buf_str(&body));
    settle(f);
    assert_int_equal(f->supervisor.rooms, 1);
    assert_null(f->supervisor.chan);
    assert_int_equal(f->elector.closes, 1);
    buf_fini(&body);
}

/* Two that write to each other without reading must not wait for each other. */
static void
test_two_full_directions_do_not_block(void **state)
{
    struct fixture *f = *state;
    struct buf down = {0};
    struct buf up = {0};

    put_bulk(&down);
    pack_array(&up, 3);
    pack_bool(&up, true);
    pack_str(&up, (struct str){buf_bytes(&down) + 5, 10000});
    pack_map(&up, 0);
    for (int i = 0; i < 200; i++) {
        chan_send(f->supervisor.chan, MSG_CONFIG, 0, buf_str(&down));
        chan_send(f->elector.chan, MSG_STATE, 0, buf_str(&up));
    }
    for (int i = 0; i < 20; i++)
        settle(f);
    assert_int_equal(f->supervisor.messages, 200);
    assert_int_equal(f->elector.messages, 200);
    buf_fini(&down);
    buf_fini(&up);
}

/* A talkative peer gets a turn, not the whole process. */
static void
test_one_turn_reads_a_bounded_amount(void **state)
{
    struct fixture *f = *state;
    struct buf bytes = {0};
    int peer = bare_peer(f);
    ssize_t n;

    fcntl(peer, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 5000; i++)
        frame_add(&bytes, MSG_READY, 0, 1, STR("\220"));
    do
        n = send(peer, buf_str(&bytes).s, bytes.len, MSG_NOSIGNAL);
    while (n > 0);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_in_range(f->supervisor.messages, 1, 16 * (64 << 10) / 13 + 1);
    buf_fini(&bytes);
    close(peer);
}

static void
test_drain_takes_all_that_a_dead_peer_said(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 1000; i++)
        chan_send(f->elector.chan, MSG_READY, 1, STR(""));
    chan_flush(f->elector.chan);
    chan_free(f->elector.chan);
    f->elector.chan = NULL;
    chan_drain(f->supervisor.chan);
    assert_int_equal(f->supervisor.messages, 1000);
    assert_int_equal(f->supervisor.closes, 1);
    assert_null(f->supervisor.chan);
}

static void
test_nothing_to_free(void **state)
{
    (void)state;
    chan_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_frames_arrive_in_order_both_ways),
        TEST(test_a_frame_may_come_byte_by_byte),
        TEST(test_a_descriptor_travels_with_its_frame),
        TEST(test_no_descriptor_leaks_when_nobody_takes_it),
        TEST(test_descriptors_without_a_flag_are_closed),
        TEST(test_a_flag_without_a_descriptor_ends_the_link),
        TEST(test_the_end_of_the_peer_comes_after_its_last_words),
        TEST(test_a_reset_is_an_end_without_a_fault),
        TEST(test_a_peer_that_breaks_a_rule_loses_the_link),
        TEST(test_a_handler_that_refuses_ends_the_link),
        TEST(test_freed_inside_message),
        TEST(test_freed_inside_message_that_is_refused),
        TEST(test_room_comes_back_and_is_told_once),
        TEST(test_nobody_who_did_not_ask_is_told_of_room),
        TEST(test_freed_inside_room),
        TEST(test_two_full_directions_do_not_block),
        TEST(test_one_turn_reads_a_bounded_amount),
        TEST(test_drain_takes_all_that_a_dead_peer_said),
        cmocka_unit_test(test_nothing_to_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
