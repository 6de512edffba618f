/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <inttypes.h>
#include <strings.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/mem.h"

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

/* The whole line goes out; a short write is continued, a reader that is gone
 * is no reason to stop working. */
static void
put(const struct buf *line)
{
    size_t done = 0;

    while (done < line->len) {
        ssize_t n = write(self.fd, buf_bytes(line) + done, line->len - done);

        if (n <= 0)
            return;
        done += (size_t)n;
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
