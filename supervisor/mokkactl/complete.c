/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl completion: scripts for shells, of both programs, from the tables of
 * their options. */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"
#include "supervisor/mokkactl/words.h"

/* Each operand of a command, in turn; false at the end. */
static bool
next_operand(const char **at, size_t *n)
{
    *at += *n;
    *at += strspn(*at, " [].");
    *n = strcspn(*at, " ].");
    return **at != '\0';
}

/* ---- bash -------------------------------------------------------------- */

/*
 * Two functions say what a place may hold: the value of an option, and an
 * operand by its number; the third finds out which place it is.
 */
static const char bash_head[] =
    "# _mokka_value COMMAND OPTION: words of its value; 1: it takes none\n"
    "_mokka_value() {\n"
    "    case \"$1 $2\" in\n";

static const char bash_between[] =
    "    *) return 1 ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# _mokka_place COMMAND NUMBER: words and options of that place\n"
    "_mokka_place() {\n"
    "    case \"$1\" in\n";

static const char bash_tail[] =
    "    esac\n"
    "}\n"
    "\n"
    "# _mokka FIRST COMMAND: completes what begins at word FIRST\n"
    "_mokka() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} i=$1 command=$2 number=1 "
    "option=\n"
    "    for (( ; i < COMP_CWORD; i++ )); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        =) ;;\n"
    "        -*) option=${COMP_WORDS[i]} ;;\n"
    "        *)\n"
    "            _mokka_value \"$command\" \"$option\" ||\n"
    "                number=$((number + 1))\n"
    "            option=\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    [ \"$word\" != = ] || word=\n"
    "    words='' options=''\n"
    "    _mokka_value \"$command\" \"$option\" ||\n"
    "        _mokka_place \"$command\" \"$number\"\n"
    "    if [ -z \"$words\" ] || [ \"${word:0:1}\" = - ]; then\n"
    "        words=$options\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    if [ \"$words\" = FILE ]; then\n"
    "        compopt -o default\n"
    "    else\n"
    "        _mokka_fit \"$words\" \"$word\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_mokkactl() {\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        _mokka 1 mokkactl\n"
    "    else\n"
    "        _mokka 2 \"${COMP_WORDS[1]}\"\n"
    "    fi\n"
    "}\n"
    "# _mokka_fit WORDS WORD: those that begin so; bash 3.2 has no mapfile\n"
    "_mokka_fit() {\n"
    "    local fit\n"
    "    while IFS= read -r fit; do\n"
    "        COMPREPLY+=(\"$fit\")\n"
    "    done < <(compgen -W \"$1\" -- \"$2\")\n"
    "}\n";

static const char bash_use[] = "_control_plane() { _mokka 1 control-plane; }\n"
                               "complete -F _mokkactl mokkactl\n"
                               "complete -F _control_plane control-plane\n";

/* Those of the plugin's own options stand in deploy/kubectl-mokka. */
static const char kubectl_use[] =
    "\n"
    "# kubectl asks as \"kubectl mokka WORD...\" is typed, the last word being "
    "begun: a\n"
    "# line for each word that fits, then what cobra calls a directive.\n"
    "compopt() { directive=0; } # files fit\n"
    "last=${!#} prefix='' directive=4 # files do not\n"
    "case $last in\n"
    "--*=*)\n"
    "    prefix=${last%%=*}=\n"
    "    set -- \"${@:1:$#-1}\" \"${last%%=*}\" \"${last#*=}\"\n"
    "    ;;\n"
    "esac\n"
    "valued='' # the option of the plugin's own that the last word belongs to\n"
    "while [ $# -gt 1 ]; do\n"
    "    case $1 in\n"
    "    -n | --namespace | --lease | --pod | -c | --container | --context | "
    "\\\n"
    "        --cluster | --user | --kubeconfig)\n"
    "        valued=$1\n"
    "        [ $# -gt 2 ] || break\n"
    "        valued=''\n"
    "        shift 2\n"
    "        ;;\n"
    "    -*) shift ;;\n"
    "    *) break ;;\n"
    "    esac\n"
    "done\n"
    "COMPREPLY=()\n"
    "if [ \"$valued\" = --kubeconfig ]; then\n"
    "    directive=0\n"
    "elif [ -z \"$valued\" ] && [ $# -eq 1 ] && [ \"${1:0:1}\" = - ]; then\n"
    "    _mokka_fit '--namespace --lease --pod --container --context --cluster "
    "--user --kubeconfig --help' \"$1\"\n"
    "elif [ -z \"$valued\" ]; then\n"
    "    COMP_WORDS=(mokkactl \"$@\")\n"
    "    COMP_CWORD=$#\n"
    "    _mokkactl\n"
    "fi\n"
    "for word in ${COMPREPLY[@]+\"${COMPREPLY[@]}\"}; do\n"
    "    printf '%s\\n' \"$prefix$word\"\n"
    "done\n"
    "printf ':%s\\n' \"$directive\"\n";

static void
bash_value(const char *command, const struct ctl_option *o)
{
    printf("    '%s --%s'", command, o->name);
    if (o->letter != '\0')
        printf("|'%s -%c'", command, o->letter);
    printf(") words='%s' ;;\n",
           argument_words(o->argument, strlen(o->argument)).text);
}

static void
bash_values(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);
    const struct flag *f;

    for (size_t i = 0; i < count; i++)
        for (const struct ctl_option *o = commands[i].options; o->name != NULL;
             o++)
            if (o->argument != NULL)
                bash_value(commands[i].name, o);
    f = flags(&count);
    for (size_t i = 0; i < count; i++)
        if (f[i].argument[0] != '\0')
            printf("    'control-plane --%s'|'control-plane -%s') words='%s' "
                   ";;\n",
                   f[i].name, f[i].name,
                   argument_words(f[i].argument, strlen(f[i].argument)).text);
}

static void
bash_place(const struct ctl_command *c)
{
    const char *at = c->operands;
    size_t n = 0;

    printf("    %s)\n        case $2 in\n", c->name);
    for (int number = 1; next_operand(&at, &n); number++)
        printf("        %d) words='%s' ;;\n", number,
               argument_words(at, n).text);
    printf("        esac\n        options='");
    for (const struct ctl_option *o = c->options; o->name != NULL; o++)
        printf("--%s ", o->name);
    printf("--help'\n        ;;\n");
}

static void
bash_places(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);
    const struct flag *f;

    printf("    mokkactl) words='");
    for (size_t i = 0; i < count; i++)
        printf("%s ", commands[i].name);
    printf("--help --version' ;;\n");
    for (size_t i = 0; i < count; i++)
        bash_place(&commands[i]);
    printf("    control-plane) options='");
    f = flags(&count);
    for (size_t i = 0; i < count; i++)
        printf("--%s ", f[i].name);
    printf("--help --version' ;;\n");
}

static void
bash_functions(void)
{
    fputs(bash_head, stdout);
    bash_values();
    fputs(bash_between, stdout);
    bash_places();
    fputs(bash_tail, stdout);
}

static void
print_bash(void)
{
    printf("# completion for bash: source <(mokkactl completion bash)\n\n");
    bash_functions();
    fputs(bash_use, stdout);
}

/* kubectl runs a program of its own for each plugin. */
static void
print_kubectl(void)
{
    printf("#!/usr/bin/env bash\n"
           "# completion of kubectl mokka, for kubectl: mokkactl completion "
           "kubectl >kubectl_complete-mokka, executable, in a folder of PATH\n"
           "\n");
    bash_functions();
    fputs(kubectl_use, stdout);
}

/* ---- zsh --------------------------------------------------------------- */

/* ":WHAT:(words)", as _arguments wants what follows an option or an operand. */
static void
zsh_words(const char *argument, size_t n)
{
    struct words words = argument_words(argument, n);

    printf("':%.*s:", (int)strcspn(argument, ":| ]."), argument);
    if (words.file)
        printf("_files'");
    else if (words.text[0] == '\0')
        printf(" '");
    else if (strchr(words.text, ':') != NULL) /* no descriptions in them */
        printf("{compadd -- %s}'", words.text);
    else
        printf("(%s)'", words.text);
}

/* As _arguments wants it; joint is what may stand before its value. */
static void
zsh_option(const char *name, const char *joint, const char *argument,
           const char *help)
{
    printf(" '%s%s['", name, *argument == '\0' ? "" : joint);
    print_quoted(help, ":[]\\");
    printf("']'");
    if (*argument != '\0')
        zsh_words(argument, strlen(argument));
}

static void
zsh_both(const struct ctl_option *o)
{
    const char *argument = o->argument == NULL ? "" : o->argument;
    const char letter[] = {'-', o->letter, '\0'};
    char *name = mem_printf("--%s", o->name);

    zsh_option(name, "=", argument, o->help);
    if (o->letter != '\0')
        zsh_option(letter, "+", argument, o->help);
    free(name);
}

static void
zsh_flag(const struct flag *f)
{
    char *name = mem_printf("--%s", f->name);

    zsh_option(name, "=", f->argument, f->help);
    free(name);
}

static void
zsh_command(const struct ctl_command *c)
{
    const char *at = c->operands;
    size_t n = 0;

    printf("    %s) _arguments '--help[this text]'", c->name);
    for (const struct ctl_option *o = c->options; o->name != NULL; o++)
        zsh_both(o);
    for (int number = 1; next_operand(&at, &n); number++) {
        if (strncmp(at, "--", n) == 0)
            break;
        printf(" '%d'", number);
        zsh_words(at, n);
    }
    printf(" ;;\n");
}

static void
zsh_commands(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    printf("_mokkactl() {\n"
           "    local -a commands=(\n");
    for (size_t i = 0; i < count; i++) {
        printf("        '%s:'", commands[i].name);
        print_quoted(commands[i].says, "");
        printf("\n");
    }
    printf("    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $words[1] in\n");
    for (size_t i = 0; i < count; i++)
        zsh_command(&commands[i]);
    printf("    esac\n}\n");
}

static void
print_zsh(void)
{
    size_t count;
    const struct flag *f = flags(&count);

    printf("#compdef mokkactl control-plane\n"
           "# completion for zsh: source <(mokkactl completion zsh)\n");
    zsh_commands();
    printf("_control_plane() {\n    _arguments '--help[this text]' "
           "'--version[version and build]'");
    for (size_t i = 0; i < count; i++)
        zsh_flag(&f[i]);
    printf("\n}\ncompdef _mokkactl mokkactl\n"
           "compdef _control_plane control-plane\n");
}

/* ---- fish -------------------------------------------------------------- */

static void
fish_help(const char *help)
{
    printf(" -d ");
    print_quoted(help, "\\");
    printf("\n");
}

/* What follows an option or stands as an operand. */
static void
fish_words(const char *argument, size_t n)
{
    struct words words = argument_words(argument, n);

    if (words.file)
        printf(" -F");
    else if (words.text[0] != '\0')
        printf(" -a '%s'", words.text);
}

static void
fish_option(const char *start, const char *name, const char *argument)
{
    printf("%s -l %s", start, name);
    if (*argument == '\0')
        return;
    printf(" -r");
    if (!argument_words(argument, strlen(argument)).file)
        printf(" -f");
    fish_words(argument, strlen(argument));
}

static void
fish_operands(const struct ctl_command *c)
{
    const char *at = c->operands;
    size_t n = 0;

    for (int number = 1; next_operand(&at, &n); number++) {
        if (argument_words(at, n).text[0] == '\0')
            continue;
        printf("complete -c mokkactl -n '_mokka_place %s %d'", c->name, number);
        fish_words(at, n);
        printf("\n");
    }
}

static void
fish_command(const struct ctl_command *c)
{
    char start[128];

    printf("complete -c mokkactl -n __fish_use_subcommand -a %s", c->name);
    fish_help(c->says);
    snprintf(start, sizeof(start),
             "complete -c mokkactl -n '__fish_seen_subcommand_from %s'",
             c->name);
    for (const struct ctl_option *o = c->options; o->name != NULL; o++) {
        fish_option(start, o->name, o->argument == NULL ? "" : o->argument);
        if (o->letter != '\0')
            printf(" -s %c", o->letter);
        fish_help(o->help);
    }
    fish_operands(c);
}

/* The options of a command that a value follows, as patterns of a case. */
static void
fish_valued(const struct ctl_command *c)
{
    for (const struct ctl_option *o = c->options; o->name != NULL; o++) {
        if (o->argument == NULL)
            continue;
        printf(" '%s --%s'", c->name, o->name);
        if (o->letter != '\0')
            printf(" '%s -%c'", c->name, o->letter);
    }
}

/* The value of an option is no operand. */
static void
fish_place(const struct ctl_command *commands, size_t count)
{
    printf("function _mokka_place # COMMAND NUMBER: is that operand's place?\n"
           "    set -l words\n"
           "    set -l valued\n"
           "    for word in (commandline -opc)[2..]\n"
           "        if set -q valued[1]\n"
           "            set -e valued[1]\n"
           "            continue\n"
           "        end\n"
           "        switch \"$argv[1] $word\"\n"
           "            case");
    for (size_t i = 0; i < count; i++)
        fish_valued(&commands[i]);
    printf("\n"
           "                set valued yes\n"
           "            case '* -*'\n"
           "            case '*'\n"
           "                set -a words $word\n"
           "        end\n"
           "    end\n"
           "    test (count $words) -eq $argv[2]\n"
           "    and test \"$words[1]\" = $argv[1]\n"
           "end\n");
}

static void
print_fish(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);
    const struct flag *f;

    printf("# completion for fish: mokkactl completion fish | source\n");
    fish_place(commands, count);
    printf("complete -c mokkactl -f\n"
           "complete -c mokkactl -n __fish_use_subcommand -l version\n"
           "complete -c mokkactl -l help -s h\n");
    for (size_t i = 0; i < count; i++)
        fish_command(&commands[i]);
    printf("complete -c control-plane -f\n"
           "complete -c control-plane -l version\n"
           "complete -c control-plane -l help -s h\n");
    f = flags(&count);
    for (size_t i = 0; i < count; i++) {
        fish_option("complete -c control-plane", f[i].name, f[i].argument);
        fish_help(f[i].help);
    }
}

/* ---- command ----------------------------------------------------------- */

int
run_completion(const struct ctl_args *args)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {
        {"bash", print_bash},
        {"zsh", print_zsh},
        {"fish", print_fish},
        {"kubectl", print_kubectl},
    };

    for (size_t i = 0; i < nitems(shells); i++)
        if (strcmp(args->operands[0], shells[i].name) == 0) {
            shells[i].print();
            return EXIT_FINE;
        }
    return ctl_fail(
        args, "there is one for bash, zsh, fish and kubectl, but not for %s",
        args->operands[0]);
}
