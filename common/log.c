/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/mem.h"

/* So long a line waits for who reads the log; then it is lost, and so is at
 * once what follows until somebody reads again. */
#define PATIENCE (100 * CLOCK_MS)

/* Room for the lines of a moment in which nobody reads. */
#define PIPE_SIZE (1 << 20)

/* A process has one log, as it has one stdout. */
static struct {
    const char *worker;
    uint64_t generation;
    enum log_level level;
    enum log_format format;
    int fd;
    log_take_fn *take;
    void *arg;
    bool holding;
    struct buf held;
    bool stalled;    /* nobody read for as long as a line waits */
    int64_t lost;    /* lines, since then */
    struct buf rest; /* of a line that went out in part */
} self = {.worker = "control-plane", .level = LOG_INFO, .fd = STDOUT_FILENO};

static const struct {
    const char *name;
    enum log_level level;
} names[] = {
    {"debug", LOG_DEBUG}, {"info", LOG_INFO},    {"warn", LOG_WARN},
    {"error", LOG_ERROR}, {"warning", LOG_WARN}, {"", LOG_INFO},
};

bool
log_level_parse(const char *text, enum log_level *level)
{
    for (size_t i = 0; i < nitems(names); i++) {
        if (strcasecmp(text, names[i].name) != 0)
            continue;
        *level = names[i].level;
        return true;
    }
    return false;
}

bool
log_format_parse(const char *text, enum log_format *format)
{
    bool plain = strcasecmp(text, "plain") == 0;

    if (!plain && *text != '\0' && strcasecmp(text, "json") != 0)
        return false;
    *format = plain ? LOG_PLAIN : LOG_JSON;
    return true;
}

void
log_setup(const char *worker, uint64_t generation, enum log_level level,
          enum log_format format)
{
    self.worker = worker;
    self.generation = generation;
    self.level = level;
    self.format = format;
}

void
log_set_level(enum log_level level)
{
    self.level = level;
}

void
log_to(int fd)
{
    self.fd = fd;
}

void
log_hand_to(log_take_fn *take, void *arg)
{
    self.take = take;
    self.arg = arg;
}

static void
add_json(struct buf *line, const struct log_field *field)
{
    buf_addc(line, ',');
    json_text_string(line, str_of(field->key));
    buf_addc(line, ':');
    if (field->text != NULL)
        json_text_string(line, str_of(field->text));
    else
        buf_printf(line, "%" PRId64, field->number);
}

/* Text that could be taken for more than one value, or for orders to a
 * terminal. */
static bool
needs_quotes(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f || *at == '"' ||
            *at == '=')
            return true;
    return *text == '\0';
}

static void
add_plain(struct buf *line, const struct log_field *field)
{
    buf_printf(line, " %s=", field->key);
    if (field->text == NULL)
        buf_printf(line, "%" PRId64, field->number);
    else if (needs_quotes(field->text))
        json_text_string(line, str_of(field->text));
    else
        buf_addz(line, field->text);
}

/* A descriptor of our own for a pipe: what is set on the one that we were given
 * is set for others who share it, and so is done only if there is no other way.
 */
static void
unblock(int fd)
{
    char path[32];
    struct stat st;
    int own;

    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (own < 0) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        return;
    }
    fcntl(own, F_SETPIPE_SZ, PIPE_SIZE);
    dup2(own, fd);
    close(own);
}

void
log_unblock(void)
{
    unblock(STDOUT_FILENO);
    unblock(STDERR_FILENO);
}

/* Whether something can be written before that moment. */
static bool
has_room(int64_t until)
{
    struct pollfd p = {.fd = self.fd, .events = POLLOUT};
    int64_t left = until - clock_now();

    return poll(&p, 1, left > 0 ? (int)(left / CLOCK_MS) + 1 : 0) > 0;
}

/* Writes what it can of the bytes, and takes that out of them; false if
 * somebody has to read first. */
static bool
drain(struct str *bytes)
{
    int64_t until = clock_now() + (self.stalled ? 0 : PATIENCE);

    while (bytes->n > 0) {
        ssize_t n;

        if (!has_room(until))
            return false;
        n = write(self.fd, bytes->s, bytes->n);
        if (n < 0 && errno == EAGAIN && clock_now() >= until)
            return false;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0) /* a reader that is gone is no reason to stop working */
            bytes->n = 0;
        else
            *bytes = (struct str){bytes->s + n, bytes->n - (size_t)n};
    }
    return true;
}

/* What is left of the line before goes out first. */
static bool
drain_rest(void)
{
    struct str rest = buf_str(&self.rest);
    bool done = drain(&rest);

    if (done)
        buf_clear(&self.rest);
    else
        buf_drop(&self.rest, self.rest.len - rest.n);
    return done;
}

static void
tell_lost(void)
{
    int64_t lost = self.lost;

    self.lost = 0;
    self.stalled = false;
    if (lost > 0)
        log_warn("lines of the log are lost: nobody read it",
                 F_INT("lines", lost));
}

/* The whole line goes out, sooner or later, or nothing of it. */
static void
put(const struct buf *line)
{
    struct str bytes = buf_str(line);

    if (self.stalled && drain_rest() && has_room(0))
        tell_lost();
    if (self.stalled || !drain(&bytes)) {
        self.stalled = true;
        if (bytes.n == line->len)
            self.lost++;
        else
            buf_adds(&self.rest, bytes);
    }
}

void
log_hold(void)
{
    self.holding = true;
}

void
log_let_go(void)
{
    self.holding = false;
    if (self.held.len > 0)
        put(&self.held);
    log_drop();
}

void
log_drop(void)
{
    self.holding = false;
    buf_fini(&self.held);
}

void
log_write(enum log_level level, const char *msg, const struct log_field *fields)
{
    void (*add)(struct buf *, const struct log_field *) =
        self.format == LOG_JSON ? add_json : add_plain;
    const struct log_field own[] = {
        F_STR("worker", self.worker),
        F_INT("generation", self.generation),
    };
    struct buf line = {0};
    char now[CLOCK_TEXT];
    bool named = false;

    if (level < self.level)
        return;
    if (self.take != NULL) {
        self.take(self.arg, level, msg, fields);
        return;
    }
    clock_format(clock_wall(), CLOCK_MILLIS, now);
    if (self.format == LOG_JSON) {
        buf_printf(&line, "{\"level\":\"%s\",\"time\":\"%s\",\"msg\":",
                   names[level].name, now);
        json_text_string(&line, str_of(msg));
    } else {
        buf_printf(&line, "%s %-5s %s", now, names[level].name, msg);
    }
    for (; fields->key != NULL; fields++) {
        if (*fields->key == '\0')
            continue;
        named = named || strcmp(fields->key, "worker") == 0;
        add(&line, fields);
    }
    if (!named) {
        add(&line, &own[0]);
        add(&line, &own[1]);
    }
    buf_addz(&line, self.format == LOG_JSON ? "}\n" : "\n");
    if (self.holding)
        buf_adds(&self.held, buf_str(&line));
    else
        put(&line);
    buf_fini(&line);
}
