/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl record: a recording of a worker that runs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"
#include "supervisor/recording.h"

#define LOOK_MS 250 /* between two looks at what came */
#define SECONDS_MAX (7 * 24 * 3600)

/*
 * The worker must never wait for whoever reads: it writes to a file, and what
 * goes to stdout is copied from there.  That file is in memory, what was copied
 * is taken out of it.
 */
struct record {
    const struct ctl_args *args;
    struct live *live;
    int fd;
    bool to_stdout;
    off_t copied;
    int64_t end; /* clock_now(); 0: none */
    sigset_t signals;
};

/* Until whoever reads stdout takes more; -1 and errno: a signal came first. */
static int
wait_room(const struct record *r)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    const struct timespec now = {0};

    while (poll(&out, 1, LOOK_MS) == 0) {
        if (sigtimedwait(&r->signals, NULL, &now) > 0) {
            errno = EINTR;
            return -1;
        }
    }
    return 0;
}

/* A pipe that has room takes PIPE_BUF without making us wait. */
static int
write_all(const struct record *r, const char *bytes, size_t n)
{
    while (n > 0) {
        size_t part = n < PIPE_BUF ? n : PIPE_BUF;
        ssize_t written;

        if (wait_room(r) != 0)
            return -1;
        written = write(STDOUT_FILENO, bytes, part);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

/* Whether whoever read stdout has left; nothing need be written to see it. */
static bool
reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* What came since the last time; -1 and errno: nobody reads it any more, or it
 * is to end before somebody does. */
static int
copy(struct record *r)
{
    char bytes[1 << 16];
    ssize_t n;

    if (!r->to_stdout)
        return 0;
    if (reader_left()) {
        errno = EPIPE;
        return -1;
    }
    while ((n = pread(r->fd, bytes, sizeof(bytes), r->copied)) > 0) {
        if (write_all(r, bytes, (size_t)n) != 0)
            return -1;
        r->copied += n;
    }
    /* Where that cannot be, the file keeps it. */
    (void)!fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                     r->copied);
    return 0;
}

/* 0, or -1 and err: the control plane is gone. reply is to be finished. */
static int
ask(struct record *r, const char *question, struct live_reply *reply,
    struct err *err)
{
    const char *arguments[] = {r->args->operands[0], question};

    return live_command(r->live, "ask", arguments, nitems(arguments), NULL,
                        NULL, reply, err);
}

/* -1 and err if it does not record any more; a worker that cannot answer now
 * goes on when it is back. */
static int
still_records(struct record *r, struct err *err)
{
    struct live_reply reply;
    struct str text;
    int rc = 0;

    if (ask(r, "recording", &reply, err) != 0)
        return -1;
    text = buf_str(&reply.text);
    if (reply.ok && text.n > 4 && memcmp(text.s, "off ", 4) == 0)
        rc = err_set(err, "%.*s", (int)text.n - 5, text.s + 4);
    live_reply_fini(&reply);
    return rc;
}

static bool
is_over(const struct record *r)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * CLOCK_MS};

    return sigtimedwait(&r->signals, NULL, &look) > 0 ||
           (r->end != 0 && clock_now() >= r->end);
}

/* Until it is to end, or does; the exit status. */
static int
follow(struct record *r)
{
    struct live_reply reply;
    struct err err;

    while (!is_over(r)) {
        if (copy(r) != 0)
            return ctl_fail(r->args, "stdout: %s", strerror(errno));
        if (still_records(r, &err) != 0) {
            copy(r);
            return ctl_fail(r->args, "recording ended: %s", err.text);
        }
    }
    if (ask(r, "end-recording", &reply, &err) != 0)
        return ctl_fail(r->args, "%s", err.text);
    live_reply_fini(&reply);
    if (copy(r) != 0)
        return ctl_fail(r->args, "stdout: %s", strerror(errno));
    return EXIT_FINE;
}

/* A command about the worker; fd is -1 or goes with it. The exit status. */
static int
command(const struct record *r, const char *name, int fd)
{
    const char *arguments[] = {r->args->operands[0]};
    struct live_reply reply;
    int status = EXIT_FINE;
    struct err err;
    int rc =
        fd < 0 ? live_command(r->live, name, arguments, 1, NULL, NULL, &reply,
                              &err)
               : live_command_fd(r->live, name, arguments, 1, fd, &reply, &err);

    if (rc != 0)
        return ctl_fail(r->args, "%s", err.text);
    if (!reply.ok)
        status = ctl_fail(r->args, "%.*s", (int)reply.text.len,
                          buf_bytes(&reply.text));
    live_reply_fini(&reply);
    return status;
}

/* 0, or -1 if the text is no number of seconds. */
static int
read_seconds(const char *text, int64_t *end)
{
    char *rest;
    long n;

    if (text == NULL)
        return 0;
    n = strtol(text, &rest, 10);
    if (*rest != '\0' || n < 1 || n > SECONDS_MAX)
        return -1;
    *end = clock_now() + n * CLOCK_SECOND;
    return 0;
}

/* The file, or -1 and err. */
static int
open_file(struct record *r, struct err *err)
{
    const char *file = r->args->operands[1];

    r->to_stdout = strcmp(file, "-") == 0;
    if (!r->to_stdout) {
        r->fd = recording_open(file, err);
        return r->fd < 0 && errno == EROFS
                   ? err_set(err,
                             "%s: nothing can be written here, as in a pod: "
                             "name - and redirect stdout",
                             file)
                   : -(r->fd < 0);
    }
    r->fd = memfd_create("recording", MFD_CLOEXEC);
    return r->fd < 0 ? err_errno(err, "no file in memory") : 0;
}

/* The file is opened only once nothing is in the way: that empties it.  Until
 * the worker runs again, which may take long, ^C ends us. */
static int
run(struct record *r)
{
    struct err err;

    if (command(r, "may-record", -1) != EXIT_FINE)
        return EXIT_ERROR;
    if (open_file(r, &err) != 0)
        return ctl_fail(r->args, "%s", err.text);
    if (command(r, "record", r->fd) != EXIT_FINE)
        return EXIT_ERROR;
    sigprocmask(SIG_BLOCK, &r->signals, NULL);
    fprintf(stderr, "mokkactl record: %s is recorded%s\n", r->args->operands[0],
            r->end == 0 ? ", until ^C" : "");
    return follow(r);
}

int
run_record(const struct ctl_args *args)
{
    struct record r = {.args = args, .fd = -1};
    const char *seconds = ctl_value(args, "seconds");
    int status;

    if (read_seconds(seconds, &r.end) != 0)
        return ctl_fail(args,
                        "--seconds must be a number from 1 to %d, but is "
                        "%s",
                        SECONDS_MAX, seconds);
    sigemptyset(&r.signals);
    sigaddset(&r.signals, SIGINT);
    sigaddset(&r.signals, SIGTERM);
    sigaddset(&r.signals, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    r.live = run_open(args);
    status = r.live == NULL ? EXIT_ERROR : run(&r);
    live_close(r.live);
    if (r.fd >= 0)
        close(r.fd);
    return status;
}
