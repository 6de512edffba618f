/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mokkactl: what people do with the control plane from their shell.  The table
 * of subcommands is in commands.c.
 */
#include <stdio.h>
#include <string.h>

#include "common/build.h"
#include "supervisor/mokkactl/command.h"
#include "supervisor/mokkactl/plan.h"

static void
say_usage(FILE *out)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    fputs("usage: mokkactl COMMAND [OPTION...]\n"
          "       mokkactl --help | --version\n\n",
          out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].says);
    fputs("\nmokkactl COMMAND --help tells more of each.\n", out);
}

int
main(int argc, char **argv)
{
    const char *name = argc < 2 ? "" : argv[1];
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return ctl_run(&commands[i], argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        say_usage(stdout);
        return EXIT_FINE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("mokkactl %s (commit %s, build %s)\n", build_version,
               build_commit, build_id);
        return EXIT_FINE;
    }
    if (name[0] != '\0')
        fprintf(stderr, "mokkactl: there is no command %s\n", name);
    say_usage(stderr);
    return EXIT_ERROR;
}
