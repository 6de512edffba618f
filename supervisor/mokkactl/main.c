/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mokkactl: what people do with the control plane from their shell.  A table of
 * subcommands; each has a file of its own.
 */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *says;
} commands[] = {
    {"plan", plan_main,
     "what the control plane would make of objects in files"},
};

static void
say_usage(FILE *out)
{
    fputs("usage: mokkactl COMMAND [OPTION...]\n"
          "       mokkactl --help | --version\n\n",
          out);
    for (size_t i = 0; i < nitems(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].says);
    fputs("\nmokkactl COMMAND --help tells more of each.\n", out);
}

int
main(int argc, char **argv)
{
    const char *name = argc < 2 ? "" : argv[1];

    for (size_t i = 0; i < nitems(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        say_usage(stdout);
        return EXIT_FINE;
    }
    if (strcmp(name, "--version") == 0) {
        puts("mokkactl " MOKKA_VERSION " (build " MOKKA_BUILD_ID ")");
        return EXIT_FINE;
    }
    if (name[0] != '\0')
        fprintf(stderr, "mokkactl: there is no command %s\n", name);
    say_usage(stderr);
    return EXIT_ERROR;
}
