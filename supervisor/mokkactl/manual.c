/* SPDX-License-Identifier: Apache-2.0 */
/* The completions of shells and the manual page, from the table of
 * subcommands. */
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

static const char workers[] = "informer placer projector elector web";

static bool
takes_worker(const struct ctl_command *c)
{
    return strncmp(c->operands, "WORKER", 6) == 0;
}

static void
print_names(const char *between)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    for (size_t i = 0; i < count; i++)
        printf("%s%s", i > 0 ? between : "", commands[i].name);
}

static void
print_long_options(const struct ctl_command *c)
{
    for (const struct ctl_option *o = c->options; o->name != NULL; o++)
        printf("--%s ", o->name);
    printf("--help");
}

static void
print_bash(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    printf(
        "# mokkactl completion for bash: source <(mokkactl completion bash)\n"
        "_mokkactl() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} words\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        words='");
    print_names(" ");
    printf(" --help --version'\n"
           "    else\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < count; i++) {
        printf("        %s) words='", commands[i].name);
        print_long_options(&commands[i]);
        printf("%s%s' ;;\n", takes_worker(&commands[i]) ? " " : "",
               takes_worker(&commands[i]) ? workers : "");
    }
    printf("        esac\n"
           "    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _mokkactl mokkactl\n");
}

/* A text between single quotes of a shell, as zsh's _arguments wants it. */
static void
print_quoted(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == ':' || *text == '[' || *text == ']')
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void
print_zsh_command(const struct ctl_command *c)
{
    printf("        %s) _arguments", c->name);
    for (const struct ctl_option *o = c->options; o->name != NULL; o++) {
        printf(" '--%s%s[", o->name, o->argument == NULL ? "" : "=");
        print_quoted(o->help);
        printf("]%s%s'", o->argument == NULL ? "" : ":",
               o->argument == NULL ? "" : o->argument);
    }
    printf(takes_worker(c) ? " '2:worker:(%s)' '*:file:_files' ;;\n"
                           : " '*:file:_files' ;;\n",
           workers);
}

static void
print_zsh(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    printf("#compdef mokkactl\n"
           "_mokkactl() {\n"
           "    local -a commands=(\n");
    for (size_t i = 0; i < count; i++) {
        printf("        '%s:", commands[i].name);
        print_quoted(commands[i].says);
        printf("'\n");
    }
    printf("    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    case $words[2] in\n");
    for (size_t i = 0; i < count; i++)
        print_zsh_command(&commands[i]);
    printf("    esac\n"
           "}\n"
           "compdef _mokkactl mokkactl\n");
}

int
run_completion(const struct ctl_args *args)
{
    if (strcmp(args->operands[0], "bash") == 0)
        print_bash();
    else if (strcmp(args->operands[0], "zsh") == 0)
        print_zsh();
    else
        return ctl_fail(args, "there is one for bash and one for zsh");
    return EXIT_FINE;
}

/* Text of a manual page: a line must not begin as a request does. */
static void
print_roff(const char *text)
{
    bool begin = true;

    for (; *text != '\0'; text++) {
        if (begin && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        begin = *text == '\n';
    }
    putchar('\n');
}

static void
print_man_command(const struct ctl_command *c)
{
    printf(".SS \"%s %s\"\n", c->name, c->operands);
    print_roff(c->about);
    for (const struct ctl_option *o = c->options; o->name != NULL; o++) {
        printf(".TP\n\\fB\\-\\-%s\\fR", o->name);
        if (o->letter != '\0')
            printf(", \\fB\\-%c\\fR", o->letter);
        printf("%s%s\n", o->argument == NULL ? "" : " ",
               o->argument == NULL ? "" : o->argument);
        print_roff(o->help);
    }
    if (c->examples[0] != '\0') {
        printf(".PP\nExamples:\n.EX\n");
        print_roff(c->examples);
        printf(".EE\n");
    }
}

int
run_man(const struct ctl_args *args)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    (void)args;
    printf(".TH MOKKACTL 1 \"\" \"mokka " MOKKA_VERSION "\"\n"
           ".SH NAME\nmokkactl \\- look into the Mokka control plane, and "
           "command it\n"
           ".SH SYNOPSIS\n.B mokkactl\nCOMMAND [OPTION...]\n"
           ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++)
        print_man_command(&commands[i]);
    printf(".SH \"EXIT STATUS\"\n0 fine; 1 it could not be done, stderr says "
           "why\n");
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < EXITS_MAX && commands[i].exits[j] != NULL; j++)
            printf(".br\n%s: %s\n", commands[i].name, commands[i].exits[j]);
    printf(
        ".SH ENVIRONMENT\nMOKKA_CP_CONTROL_SOCKET: the control socket.\n.br\n"
        "NO_COLOR: no colours at a terminal.\n");
    return EXIT_FINE;
}
