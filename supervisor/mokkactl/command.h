/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_COMMAND_H
#define MOKKACTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/err.h"

/*
 * A subcommand as data.  Parsing, --help, the completions of shells and the
 * manual page are all made from these rows (command.c, manual.c).
 */
#define OPTIONS_MAX 8
#define EXITS_MAX 3

/* Values of letter below ' ' are for options without one. */
struct ctl_option {
    const char *name;     /* NULL ends the list */
    char letter;          /* '\0': only the long form */
    const char *argument; /* NULL: a switch */
    const char *help;     /* one line */
};

struct ctl_args;

struct ctl_command {
    const char *name;
    const char *operands; /* "WORKER LEVEL"; a "[" before what may be left out,
                           * "..." at the end for more */
    const char *says;     /* one line, for the list */
    const char *about;    /* paragraphs */
    const char *examples; /* lines, each a command */
    struct ctl_option options[OPTIONS_MAX];
    const char *exits[EXITS_MAX]; /* "2  why" beside 0 and 1 */
    int (*run)(const struct ctl_args *args);
    /* One that reads its arguments itself; the rows above describe it. */
    int (*raw)(int argc, char **argv);
};

struct ctl_args {
    const struct ctl_command *command;
    const char *values[OPTIONS_MAX]; /* of the option in that place; "" for a
                                      * switch that is on; NULL: not given */
    char **operands;                 /* NULL at the end */
    size_t count;
};

/* All of them; *count is how many. */
const struct ctl_command *ctl_commands(size_t *count);

/* Runs argv[0], a subcommand's name. Returns the exit status. */
int ctl_run(const struct ctl_command *command, int argc, char **argv);

/* The value of an option, by its long name; NULL if it was not given. */
const char *ctl_value(const struct ctl_args *args, const char *option);

/* "mokkactl NAME: ..." on stderr; returns EXIT_ERROR. */
int ctl_fail(const struct ctl_args *args, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes "usage: ..." of the command. */
void ctl_usage(const struct ctl_command *command, FILE *out);

/* Writes the options, each on lines of its own. */
void ctl_options(const struct ctl_command *command, FILE *out);

#endif
