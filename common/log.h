/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The process's log: one line an event on stdout, in one write, so that lines
 * of several processes do not mix.  Keys: level, time, msg, the fields in the
 * order given, worker, generation (mokka-control 9); a line about another
 * worker gives these two itself.  Values never hold secrets; callers log names,
 * counts and reasons.
 */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_JSON, LOG_PLAIN };

/* "debug", "info", "warn" or "warning", "error", any case; "" is info.
 * false leaves *level alone. */
bool log_level_parse(const char *text, enum log_level *level);

/* "json" or "plain", any case; "" is json. false leaves *format alone. */
bool log_format_parse(const char *text, enum log_format *format);

/* Says who writes. worker must stay valid; to be called before the first
 * line and again when the generation is known. */
void log_setup(const char *worker, uint64_t generation, enum log_level level,
               enum log_format format);

/* Sees to it that a pipe whose reader is slow, or reads no more, does not stop
 * us, nor whom we start: for stdout and stderr, before the first line.  A line
 * then waits for 100 ms at most; after that lines are lost until somebody
 * reads, and their number is said.  What is no pipe is asked before each line.
 */
void log_unblock(void);

/* From now on, lines of that level and above are written. */
void log_set_level(enum log_level level);

/* Writes the lines to fd instead of stdout (a replayer's stdout is data). */
void log_to(int fd);

/* From now on lines are kept, until they are let go in their order, or dropped.
 * Without a hold both do nothing. */
void log_hold(void);
void log_let_go(void);
void log_drop(void);

struct log_field;

/* Gives each line of that level or above to take instead of writing it, for a
 * program that is no worker and tells its user in its own way; NULL: writes
 * again. */
typedef void log_take_fn(void *arg, enum log_level level, const char *msg,
                         const struct log_field *fields);
void log_hand_to(log_take_fn *take, void *arg);

struct log_field {
    const char *key;  /* NULL ends the list; "": left out */
    const char *text; /* a string, or NULL for number */
    int64_t number;
};

/* A text field; NULL is "". */
static inline struct log_field
log_text(const char *key, const char *value)
{
    return (struct log_field){key, value == NULL ? "" : value, 0};
}

/* The same, left out if there is nothing in it. */
static inline struct log_field
log_some(const char *key, const char *value)
{
    return log_text(value == NULL || *value == '\0' ? "" : key, value);
}

#define F_STR(key, value) log_text(key, value)
#define F_SOME(key, value) log_some(key, value)
#define F_INT(key, value) ((struct log_field){key, NULL, (int64_t)(value)})

void log_write(enum log_level level, const char *msg,
               const struct log_field *fields);

#define LOG_AT(level, msg, ...)                                                \
    log_write(level, msg,                                                      \
              (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})
#define log_debug(...) LOG_AT(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) LOG_AT(LOG_INFO, __VA_ARGS__)
#define log_warn(...) LOG_AT(LOG_WARN, __VA_ARGS__)
#define log_error(...) LOG_AT(LOG_ERROR, __VA_ARGS__)

#endif
