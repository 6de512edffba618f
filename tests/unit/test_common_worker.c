/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/metrics.h"
#include "common/worker.h"
#include "proto/pack.h"
#include "proto/unpack.h"

/*
 * The elector's role, played by a child of this program: it does what the ops
 * below do, and this side is its supervisor.
 */
struct play {
    struct worker *worker;
    int64_t duration;
    char letters[64]; /* which ops were called */
};

static void
called(struct play *play, char letter)
{
    play->letters[strlen(play->letters)] = letter;
}

/* What was called so far is told as the reason of a report. */
static void
tell(struct play *play)
{
    worker_report(play->worker, true, play->letters, NULL);
}

static int
configure(void *state, struct worker *w, struct err *err)
{
    struct play *play = state;

    play->worker = w;
    called(play, 'c');
    if (strcmp(worker_option(w, "identity"), "bad") == 0)
        return err_set(err, "no use");
    if (worker_option(w, "unknown")[0] == '\0')
        called(play, 'u');
    if (*worker_option(w, "leader-election-retry-period") != '\0')
        play->duration =
            worker_option_duration(w, "leader-election-retry-period");
    return 0;
}

static int
granted(void *state, enum resource resource, int fd, struct err *err)
{
    struct play *play = state;

    (void)err;
    called(play, resource == RESOURCE_LEASE_PAGE && fd >= 0 ? 'g' : '?');
    close(fd);
    return 0;
}

static int
start(void *state, struct err *err)
{
    (void)err;
    called(state, 's');
    return 0;
}

static void
linked(void *state, enum role peer, struct chan *chan)
{
    struct play *play = state;

    called(play, peer == ROLE_PLACER && chan != NULL ? 'l' : '?');
    tell(play);
}

static void
unlinked(void *state, enum role peer)
{
    struct play *play = state;

    called(play, peer == ROLE_PLACER ? 'n' : '?');
    tell(play);
}

static void
stop(void *state)
{
    struct play *play = state;

    called(play, 'p');
    tell(play);
    worker_bye(play->worker);
}

static void
fini(void *state)
{
    struct play *play = state;

    /* The base is still there. */
    if (play->worker != NULL && worker_base(play->worker) == NULL)
        abort();
}

/* From these ids on a CONTEND is reported soon, and then as not ok. */
#define SOON 1000
#define SOON_OK 2000

static int
on_contend(void *state, struct chan *from, struct message *message,
           struct err *err)
{
    struct play *play = state;
    struct worker_fact facts[] = {
        {"duration", play->duration}, {"id", message->id}, {NULL, 0}};

    (void)err;
    if (from != worker_control(play->worker))
        abort();
    if (message->id < SOON)
        worker_report(play->worker, false, play->letters, facts);
    else
        worker_report_soon(play->worker, message->id < SOON_OK, play->letters,
                           facts);
    return 0;
}

static void
measure(void *state, struct metrics *metrics)
{
    (void)state;
    metrics_set(metrics, METRIC_LEADER, 0, 0, 1);
}

#define LINES 20000

/* Some 400 KB. */
static int
answer_much(void *state, const struct str *arguments, struct buf *out,
            struct err *err)
{
    (void)state;
    if (!str_is(arguments[0], "lines"))
        return err_set(err, "no %.*s here", (int)arguments[0].n,
                       arguments[0].s);
    for (int i = 0; i < LINES; i++)
        buf_printf(out, "line number %06d\n", i);
    return 0;
}

static int
child_main(void)
{
    static const struct worker_question questions[] = {
        {"much", 1, answer_much},
    };
    static const struct worker_handler handlers[] = {
        {MSG_CONTEND, on_contend},
    };
    static const struct worker_ops ops = {
        .role = ROLE_ELECTOR,
        .handlers = handlers,
        .handler_count = nitems(handlers),
        .questions = questions,
        .question_count = nitems(questions),
        .configure = configure,
        .granted = granted,
        .start = start,
        .linked = linked,
        .unlinked = unlinked,
        .measure = measure,
        .stop = stop,
        .fini = fini,
    };
    static char name[] = "elector";
    char *argv[] = {name, NULL};
    struct play play = {.worker = NULL};

    return worker_main(1, argv, &ops, &play);
}

/* The supervisor's side. */
struct child {
    unsigned sandboxed; /* said so often */
    pid_t pid;
    int fd;
    struct buf in;
    struct unpacked *body; /* of the last message */
};

static struct child
child_start(void)
{
    struct child child = {.pid = 0};
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
                     0);
    child.fd = fds[0];
    child.pid = fork();
    if (child.pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);

        close(fds[0]);
        if (fds[1] != 3)
            dup2(fds[1], 3);
        dup2(quiet, STDOUT_FILENO);
        dup2(quiet, STDERR_FILENO);
        _exit(child_main());
    }
    close(fds[1]);
    return child;
}

static void
say(const struct child *child, uint16_t type, uint32_t id, struct str body)
{
    struct buf bytes = {0};

    frame_add(&bytes, type, 0, id, body.n == 0 ? STR("\220") : body);
    assert_int_equal(
        send(child->fd, buf_str(&bytes).s, bytes.len, MSG_NOSIGNAL),
        (ssize_t)bytes.len);
    buf_fini(&bytes);
}

static void
say_with(const struct child *child, uint16_t type, struct str body, int fd)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct buf bytes = {0};
    struct iovec iov;
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct cmsghdr *c;

    frame_add(&bytes, type, FRAME_DESCRIPTOR, 0, body);
    iov = (struct iovec){buf_bytes(&bytes), bytes.len};
    msg.msg_control = &control;
    msg.msg_controllen = sizeof(control);
    c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    assert_int_equal(sendmsg(child->fd, &msg, MSG_NOSIGNAL),
                     (ssize_t)bytes.len);
    buf_fini(&bytes);
}

static uint16_t
hear_any(struct child *child)
{
    struct frame frame;
    struct err err = {""};
    int found;

    unpacked_free(child->body);
    child->body = NULL;
    while ((found = frame_find(&frame, &child->in, ROLE_ELECTOR,
                               ROLE_SUPERVISOR, &err)) == 0) {
        struct pollfd ready = {child->fd, POLLIN, 0};
        ssize_t n;

        assert_int_equal(poll(&ready, 1, 10000), 1);
        n = recv(child->fd, buf_room(&child->in, 4096), 4096, 0);
        if (n <= 0)
            return 0;
        buf_grew(&child->in, (size_t)n);
    }
    if (found < 0)
        fail_msg("%s", err.text);
    child->body = unpack_body((struct str){frame.body, frame.length}, &err);
    assert_non_null(child->body);
    return frame.type;
}

/* After what the last message says was used. */
static void
hear_end(struct child *child)
{
    struct frame frame;

    assert_int_equal(
        frame_find(&frame, &child->in, ROLE_ELECTOR, ROLE_SUPERVISOR, NULL), 1);
    buf_drop(&child->in, FRAME_HEADER + frame.length);
}

/* The next message's type, its body in child->body; 0 at the end.  That it is
 * sandboxed is counted apart. */
static uint16_t
hear(struct child *child)
{
    uint16_t type;

    while ((type = hear_any(child)) == MSG_SANDBOXED) {
        child->sandboxed++;
        hear_end(child);
    }
    return type;
}

static void
assert_hears(struct child *child, uint16_t type)
{
    uint16_t got = hear(child);

    if (got != type)
        fail_msg("%s instead of %s", message_name(got), message_name(type));
    if (type != 0)
        hear_end(child);
}

/* A STATE whose reason, the letters, is this. */
static void
assert_letters(struct child *child, const char *letters)
{
    struct unpack u;
    struct str reason;

    assert_int_equal(hear(child), MSG_STATE);
    u = unpack_fields(unpacked_root(child->body));
    unpack_bool(&u);
    reason = unpack_str(&u);
    if (!str_is(reason, letters))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)reason.n, reason.s,
                 letters);
    hear_end(child);
}

static int
child_end(struct child *child)
{
    int status;

    unpacked_free(child->body);
    buf_fini(&child->in);
    if (child->fd >= 0)
        close(child->fd);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
say_config(const struct child *child, const char *identity)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, 5);
    pack_map(&body, 3);
    pack_text(&body, "identity");
    pack_text(&body, identity);
    pack_text(&body, "leader-election-retry-period");
    pack_text(&body, "1500ms");
    pack_text(&body, "log-level");
    pack_text(&body, "error");
    say(child, MSG_CONFIG, 0, buf_str(&body));
    buf_fini(&body);
}

static void
say_granted(const struct child *child)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, RESOURCE_LEASE_PAGE);
    say_with(child, MSG_GRANTED, buf_str(&body), STDIN_FILENO);
    buf_fini(&body);
}

/* The other end of a new link to the placer. */
static int
say_linked(const struct child *child)
{
    struct buf body = {0};
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    pack_array(&body, 2);
    pack_int(&body, ROLE_PLACER);
    pack_int(&body, 1);
    say_with(child, MSG_LINKED, buf_str(&body), fds[1]);
    buf_fini(&body);
    close(fds[1]);
    return fds[0];
}

static void
test_hello_names_protocol_build_role_and_process(void **state)
{
    struct child child = child_start();
    struct unpack u;

    (void)state;
    assert_int_equal(hear(&child), MSG_HELLO);
    u = unpack_fields(unpacked_root(child.body));
    assert_int_equal(unpack_int(&u), PROTOCOL_VERSION);
    assert_true(str_is(unpack_str(&u), build_id));
    assert_true(str_is(unpack_str(&u), "elector"));
    assert_int_equal(unpack_int(&u), child.pid);
    assert_int_equal(unpack_end(&u, NULL), 0);
    assert_int_equal(child_end(&child), 0);
}

static void
test_the_whole_life_in_its_order(void **state)
{
    struct child child = child_start();

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "id");
    say_granted(&child);
    say(&child, MSG_START, 0, STR(""));
    assert_hears(&child, MSG_READY);
    assert_int_equal(child.sandboxed, 1);
    say(&child, MSG_STOP, 0, STR(""));
    assert_letters(&child, "cugsp");
    assert_hears(&child, MSG_BYE);
    assert_hears(&child, 0);
    assert_int_equal(child_end(&child), 0);
}

static void
test_a_report_carries_facts_and_is_not_repeated(void **state)
{
    struct child child = child_start();
    const struct value *facts;
    struct unpack u;
    int64_t number;

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "id");
    say(&child, MSG_CONTEND, 6, STR(""));
    say(&child, MSG_CONTEND, 6, STR(""));
    say(&child, MSG_CONTEND, 7, STR(""));
    for (int id = 6; id <= 7; id++) {
        assert_int_equal(hear(&child), MSG_STATE);
        u = unpack_fields(unpacked_root(child.body));
        assert_false(unpack_bool(&u));
        assert_true(str_is(unpack_str(&u), "cu"));
        facts = unpack_map(&u);
        assert_int_equal(unpack_end(&u, NULL), 0);
        assert_true(value_int(value_get(facts, "duration"), &number));
        assert_int_equal(number, 1500 * CLOCK_MS);
        assert_true(value_int(value_get(facts, "id"), &number));
        assert_int_equal(number, id);
        hear_end(&child);
    }
    assert_int_equal(child_end(&child), 0);
}

static void
test_a_link_that_ends_is_told_and_its_successor_too(void **state)
{
    struct child child = child_start();
    int first, second;

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "id");
    first = say_linked(&child);
    assert_letters(&child, "cul");
    close(first);
    assert_letters(&child, "culn");
    first = say_linked(&child);
    assert_letters(&child, "culnl");
    second = say_linked(&child); /* before the end of the old one was read */
    assert_letters(&child, "culnln");
    assert_letters(&child, "culnlnl");
    close(first);
    close(second);
    assert_letters(&child, "culnlnln");
    assert_int_equal(child_end(&child), 0);
}

static void
test_a_peer_that_breaks_a_rule_loses_its_link_and_is_told_of(void **state)
{
    struct child child = child_start();
    int link;

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "id");
    link = say_linked(&child);
    assert_letters(&child, "cul");
    assert_int_equal(write(link, "garbage garbage garbage", 23), 23);
    assert_hears(&child, MSG_LINK_BROKEN);
    assert_letters(&child, "culn");
    close(link);
    say(&child, MSG_STOP, 0, STR(""));
    assert_letters(&child, "culnp");
    assert_hears(&child, MSG_BYE);
    assert_int_equal(child_end(&child), 0);
}

static void
test_a_configuration_that_cannot_work_is_told(void **state)
{
    struct child child = child_start();
    struct unpack u;

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "bad");
    assert_int_equal(hear(&child), MSG_FAILED);
    u = unpack_fields(unpacked_root(child.body));
    assert_true(str_is(unpack_str(&u), "no use"));
    hear_end(&child);
    assert_hears(&child, 0);
    assert_int_equal(child_end(&child), 1);
}

static void
test_a_supervisor_that_is_gone_ends_the_worker(void **state)
{
    struct child child = child_start();

    (void)state;
    assert_hears(&child, MSG_HELLO);
    close(child.fd);
    child.fd = -1;
    assert_int_equal(child_end(&child), 0);
}

/* Each ends the process with status 1. */
static void
test_a_supervisor_that_breaks_a_rule_ends_the_worker(void **state)
{
    static const uint16_t types[] = {
        MSG_START,     /* before CONFIG */
        MSG_READINESS, /* for another */
        MSG_GRANTED,   /* without its descriptor, and fields */
        MSG_CONFIG,    /* without its fields */
    };

    (void)state;
    for (size_t i = 0; i < nitems(types); i++) {
        struct child child = child_start();

        assert_hears(&child, MSG_HELLO);
        say(&child, types[i], 0, STR(""));
        assert_hears(&child, 0);
        assert_int_equal(child_end(&child), 1);
    }
}

/* A STATE with this "id" among its facts. */
static void
assert_reports(struct child *child, bool ok, int64_t id)
{
    struct unpack u;
    int64_t told = -1;

    assert_int_equal(hear(child), MSG_STATE);
    u = unpack_fields(unpacked_root(child->body));
    assert_int_equal(unpack_bool(&u), ok);
    unpack_str(&u);
    value_int(value_get(unpack_map(&u), "id"), &told);
    assert_int_equal(told, id);
    hear_end(child);
}

static void
test_facts_that_change_often_are_told_once_a_second(void **state)
{
    struct child child = child_start();

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "me");
    say(&child, MSG_CONTEND, SOON, STR("")); /* the first at once */
    assert_reports(&child, true, SOON);
    for (uint32_t id = SOON + 1; id < SOON + 50; id++)
        say(&child, MSG_CONTEND, id, STR(""));
    say(&child, MSG_MEASURE, 0, STR(""));
    assert_hears(&child, MSG_METRICS);
    assert_reports(&child, true, SOON + 49); /* and that alone */
    /* What is no fact is told at once, and with it what waits. */
    say(&child, MSG_CONTEND, SOON + 50, STR(""));
    say(&child, MSG_CONTEND, SOON_OK, STR(""));
    assert_reports(&child, false, SOON_OK);
    say(&child, MSG_CONTEND, SOON_OK + 1, STR(""));
    say(&child, MSG_CONTEND, SOON_OK, STR("")); /* as it was */
    say(&child, MSG_STOP, 0, STR(""));
    assert_hears(&child, MSG_STATE);
    assert_hears(&child, MSG_BYE);
    assert_hears(&child, 0);
    assert_int_equal(child_end(&child), 0);
}

static void
test_metrics_are_told_when_asked_for(void **state)
{
    struct child child = child_start();
    struct metrics *m = metrics_new();
    const int64_t *number;
    enum role from;
    struct err err;

    (void)state;
    assert_hears(&child, MSG_HELLO);
    say_config(&child, "me");
    assert_int_equal(hear_any(&child), MSG_SANDBOXED);
    hear_end(&child);
    say(&child, MSG_MEASURE, 0, STR(""));
    assert_int_equal(hear(&child), MSG_METRICS);
    assert_int_equal(metrics_unpack(m, &from, unpacked_root(child.body), &err),
                     0);
    hear_end(&child);
    assert_int_equal(from, ROLE_ELECTOR);
    assert_int_equal(*metrics_get(m, METRIC_LEADER, 0, 0), 1);
    /* Its control link: HELLO and SANDBOXED went out, CONFIG and MEASURE came
     * in. */
    assert_int_equal(*metrics_get(m, METRIC_LINK_SENT, ROLE_SUPERVISOR, 0), 2);
    assert_int_equal(*metrics_get(m, METRIC_LINK_RECEIVED, ROLE_SUPERVISOR, 0),
                     2);
    number = metrics_get(m, METRIC_LINK_SENT_BYTES, ROLE_SUPERVISOR, 0);
    assert_in_range(*number, 30, 200);
    number = metrics_get(m, METRIC_LINK_RECEIVED_BYTES, ROLE_SUPERVISOR, 0);
    assert_in_range(*number, 50, 200);
    assert_int_equal(
        *metrics_get(m, METRIC_LINK_QUEUED_BYTES, ROLE_SUPERVISOR, 0), 0);
    assert_null(metrics_get(m, METRIC_LINK_SENT, ROLE_PLACER, 0));
    metrics_free(m);
    say(&child, MSG_STOP, 0, STR(""));
    assert_hears(&child, MSG_STATE);
    assert_hears(&child, MSG_BYE);
    assert_hears(&child, 0);
    assert_int_equal(child_end(&child), 0);
}

static void
test_it_does_not_run_by_hand(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);

        dup2(quiet, STDERR_FILENO);
        dup2(quiet, 3);
        _exit(child_main());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void
ask(const struct child *child, uint32_t id, const char *name,
    const char *argument)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_text(&body, name);
    pack_array(&body, argument != NULL);
    if (argument != NULL)
        pack_text(&body, argument);
    say(child, MSG_ASK, id, buf_str(&body));
    buf_fini(&body);
}

/* An ANSWER: whether it is the last piece; its text is added. */
static bool
hear_answer(struct child *child, bool *ok, struct buf *text)
{
    struct unpack u;
    bool last;

    assert_int_equal(hear(child), MSG_ANSWER);
    u = unpack_fields(unpacked_root(child->body));
    last = unpack_bool(&u);
    *ok = unpack_bool(&u);
    buf_adds(text, unpack_str(&u));
    assert_int_equal(unpack_end(&u, NULL), 0);
    hear_end(child);
    return last;
}

static struct child
child_configured(void)
{
    struct child child = child_start();

    assert_hears(&child, MSG_HELLO);
    say_config(&child, "good");
    return child;
}

static void
test_a_ping_is_answered(void **state)
{
    struct child child = child_configured();

    (void)state;
    for (int i = 0; i < 3; i++) {
        say(&child, MSG_PING, 0, STR(""));
        assert_hears(&child, MSG_PONG);
    }
    close(child.fd);
    child.fd = -1;
    assert_int_equal(child_end(&child), 0);
}

/* The next piece comes only when it is asked for, whole lines each. */
static void
test_a_long_answer_comes_in_pieces(void **state)
{
    struct child child = child_configured();
    struct buf text = {0};
    int pieces = 1;
    bool ok;

    (void)state;
    ask(&child, 7, "much", "lines");
    while (!hear_answer(&child, &ok, &text)) {
        assert_int_equal(buf_bytes(&text)[text.len - 1], '\n');
        say(&child, MSG_PING, 0, STR(""));
        assert_hears(&child, MSG_PONG);
        say(&child, MSG_GO_ON, 7, STR(""));
        pieces++;
    }
    assert_true(ok);
    assert_int_equal(pieces, 6);
    assert_int_equal(text.len, LINES * 19);
    buf_fini(&text);
    close(child.fd);
    child.fd = -1;
    assert_int_equal(child_end(&child), 0);
}

static void
test_answers_side_by_side_and_one_that_is_forgotten(void **state)
{
    struct child child = child_configured();
    struct buf first = {0}, second = {0};
    bool ok;

    (void)state;
    ask(&child, 1, "much", "lines");
    ask(&child, 2, "much", "lines");
    assert_false(hear_answer(&child, &ok, &first));
    assert_false(hear_answer(&child, &ok, &second));
    say(&child, MSG_FORGET, 1, STR(""));
    say(&child, MSG_GO_ON, 1, STR(""));
    say(&child, MSG_GO_ON, 9, STR(""));
    say(&child, MSG_GO_ON, 2, STR(""));
    assert_false(hear_answer(&child, &ok, &second));
    assert_int_equal(child.in.len, 0);
    assert_int_equal(second.len, 2 * first.len);
    buf_fini(&first);
    buf_fini(&second);
    close(child.fd); /* with an answer half given */
    child.fd = -1;
    assert_int_equal(child_end(&child), 0);
}

static void
test_questions_without_an_answer_say_why(void **state)
{
    static const struct {
        const char *name, *argument, *says;
    } rows[] = {
        {"much", "bread", "no bread here"},
        {"much", NULL, "it knows log, much"},
        {"bake", NULL, "no answer to \"bake\""},
        {"log", "loud", "must be debug, info, warn or error"},
        {"log", "", "must be debug"},
    };
    struct child child = child_configured();

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct buf text = {0};
        bool ok;

        ask(&child, 1, rows[i].name, rows[i].argument);
        assert_true(hear_answer(&child, &ok, &text));
        assert_false(ok);
        if (memmem(buf_bytes(&text), text.len, rows[i].says,
                   strlen(rows[i].says)) == NULL)
            fail_msg("%.*s", (int)text.len, buf_bytes(&text));
        buf_fini(&text);
    }
    close(child.fd);
    child.fd = -1;
    assert_int_equal(child_end(&child), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_names_protocol_build_role_and_process),
        cmocka_unit_test(test_the_whole_life_in_its_order),
        cmocka_unit_test(test_a_report_carries_facts_and_is_not_repeated),
        cmocka_unit_test(test_a_link_that_ends_is_told_and_its_successor_too),
        cmocka_unit_test(
            test_a_peer_that_breaks_a_rule_loses_its_link_and_is_told_of),
        cmocka_unit_test(test_a_configuration_that_cannot_work_is_told),
        cmocka_unit_test(test_a_supervisor_that_is_gone_ends_the_worker),
        cmocka_unit_test(test_a_supervisor_that_breaks_a_rule_ends_the_worker),
        cmocka_unit_test(test_facts_that_change_often_are_told_once_a_second),
        cmocka_unit_test(test_metrics_are_told_when_asked_for),
        cmocka_unit_test(test_it_does_not_run_by_hand),
        cmocka_unit_test(test_a_ping_is_answered),
        cmocka_unit_test(test_a_long_answer_comes_in_pieces),
        cmocka_unit_test(test_answers_side_by_side_and_one_that_is_forgotten),
        cmocka_unit_test(test_questions_without_an_answer_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
