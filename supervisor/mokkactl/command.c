/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"

#define HELP 1 /* what getopt gives for it */
#define FIRST 2

int
ctl_fail(const struct ctl_args *args, const char *fmt, ...)
{
    va_list more;

    fprintf(stderr, "mokkactl %s: ", args->command->name);
    va_start(more, fmt);
    vfprintf(stderr, fmt, more);
    va_end(more);
    fputc('\n', stderr);
    return EXIT_ERROR;
}

const char *
ctl_value(const struct ctl_args *args, const char *option)
{
    for (size_t i = 0; args->command->options[i].name != NULL; i++)
        if (strcmp(args->command->options[i].name, option) == 0)
            return args->values[i];
    fatal("mokkactl %s has no option %s", args->command->name, option);
}

void
ctl_usage(const struct ctl_command *command, FILE *out)
{
    fprintf(out, "usage: mokkactl %s%s%s%s\n", command->name,
            command->operands[0] == '\0' ? "" : " ", command->operands,
            command->options[0].name == NULL ? "" : " [OPTION...]");
}

void
ctl_options(const struct ctl_command *command, FILE *out)
{
    for (const struct ctl_option *o = command->options; o->name != NULL; o++) {
        char left[64];

        snprintf(left, sizeof(left), "%c%c%s--%s%s%s",
                 o->letter == '\0' ? ' ' : '-',
                 o->letter == '\0' ? ' ' : o->letter,
                 o->letter == '\0' ? "  " : ", ", o->name,
                 o->argument == NULL ? "" : " ",
                 o->argument == NULL ? "" : o->argument);
        fprintf(out, "  %-24s %s\n", left, o->help);
    }
    fprintf(out, "  %-24s %s\n", "-h, --help", "this text");
}

static void
show_help(const struct ctl_command *command)
{
    ctl_usage(command, stdout);
    printf("\n%s\n\nOptions:\n", command->about);
    ctl_options(command, stdout);
    if (command->examples[0] != '\0')
        printf("\nExamples:\n%s", command->examples);
    printf("\nExit status: 0 fine; 1 it could not be done, stderr says why");
    for (size_t i = 0; i < EXITS_MAX && command->exits[i] != NULL; i++)
        printf("; %s", command->exits[i]);
    printf(".\n");
}

/* What getopt_long wants; returns the letters. */
static void
make_longs(const struct ctl_command *command, struct option *longs,
           char *letters)
{
    size_t i = 0;

    *letters++ = ':';
    *letters++ = 'h';
    for (; command->options[i].name != NULL; i++) {
        const struct ctl_option *o = &command->options[i];

        longs[i] = (struct option){
            o->name, o->argument == NULL ? no_argument : required_argument,
            NULL, FIRST + (int)i};
        if (o->letter == '\0')
            continue;
        *letters++ = o->letter;
        if (o->argument != NULL)
            *letters++ = ':';
    }
    *letters = '\0';
    longs[i++] = (struct option){"help", no_argument, NULL, HELP};
    longs[i] = (struct option){0};
}

static int
place_of(const struct ctl_command *command, int c)
{
    if (c >= FIRST && c < FIRST + OPTIONS_MAX)
        return c - FIRST;
    for (int i = 0; command->options[i].name != NULL; i++)
        if (command->options[i].letter == c)
            return i;
    return -1;
}

/* One line: what is wrong, and how it is called. */
static int
say_usage(const struct ctl_args *args, const char *wrong, const char *what)
{
    fprintf(stderr, "mokkactl %s: %s%s; ", args->command->name, wrong, what);
    ctl_usage(args->command, stderr);
    return EXIT_ERROR;
}

/* -1: go on; else the exit status. */
static int
read_options(struct ctl_args *args, int argc, char **argv)
{
    struct option longs[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 3];
    int c;

    make_longs(args->command, longs, letters);
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (c == HELP || c == 'h') {
            show_help(args->command);
            return EXIT_FINE;
        }
        if (c == ':' || c == '?') {
            return say_usage(args,
                             c == ':' ? "a value is missing after "
                                      : "there is no option ",
                             argv[optind - 1]);
        }
        args->values[place_of(args->command, c)] = optarg == NULL ? "" : optarg;
    }
    args->operands = argv + optind;
    args->count = (size_t)(argc - optind);
    return -1;
}

/* How many operands there may be; "..." is any number. */
static void
count_operands(const char *text, size_t *least, size_t *most)
{
    bool optional = false;

    *least = *most = 0;
    for (const char *at = text; *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");

        optional = optional || *at == '[';
        if (strncmp(at, "--", n) != 0)
            ++*most;
        if (!optional && strncmp(at, "--", n) != 0)
            ++*least;
        if (n >= 3 && memmem(at, n, "...", 3) != NULL)
            *most = SIZE_MAX;
        at += n;
    }
}

int
ctl_run(const struct ctl_command *command, int argc, char **argv)
{
    struct ctl_args args = {.command = command};
    size_t least, most;
    int status;

    if (command->raw != NULL)
        return command->raw(argc, argv);
    status = read_options(&args, argc, argv);
    if (status >= 0)
        return status;
    count_operands(command->operands, &least, &most);
    if (args.count < least || args.count > most) {
        return say_usage(&args,
                         args.count < least ? "something is missing"
                                            : "too many arguments",
                         "");
    }
    return command->run(&args);
}
