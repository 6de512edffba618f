/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl man: the manual pages of both programs, from the tables of their
 * options. */
#include <string.h>

#include "common/build.h"
#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"
#include "supervisor/mokkactl/words.h"

#define WIDTH 55 /* where a line ends after the next word; 80 are allowed */

/* Text of a manual page: a line must not begin as a request does, and an empty
 * one is a paragraph; lines that begin with a space stay as they are. */
struct roff {
    bool begin, as_it_is, paragraph; /* the last began just now */
    unsigned column;
};

static void
begin_line(struct roff *r, char c)
{
    if (c == '\n' && !r->as_it_is)
        fputs(".PP", stdout);
    else if (c == ' ' && !r->as_it_is && !r->paragraph)
        fputs(".br\n", stdout);
    else if (c == '.' || c == '\'')
        fputs("\\&", stdout);
}

static void
print_char(struct roff *r, char c)
{
    bool ends = c == ' ' && !r->as_it_is && r->column > WIDTH;

    if (r->begin && r->column == 0)
        begin_line(r, c);
    if (c == '\\')
        fputs("\\e", stdout);
    else if (c == '-')
        fputs("\\-", stdout);
    else if (c != ' ' || !r->begin || r->as_it_is)
        putchar(ends ? '\n' : c);
    r->paragraph = r->begin && (c == '\n' || (c == ' ' && r->paragraph));
    r->column = c == '\n' || ends ? 0 : r->column + 1;
    r->begin = c == '\n' || (r->begin && c == ' ');
}

static void
print_text(const char *text, bool as_it_is)
{
    struct roff r = {.begin = true, .as_it_is = as_it_is};

    for (; *text != '\0'; text++)
        print_char(&r, *text);
    if (!r.begin)
        putchar('\n');
}

static void
print_tagged(const char *name, char letter, const char *argument)
{
    printf(".TP\n\\fB\\-\\-");
    for (; *name != '\0'; name++)
        printf(*name == '-' ? "\\-" : "%c", *name);
    printf("\\fR");
    if (letter != '\0')
        printf(", \\fB\\-%c\\fR", letter);
    printf("%s\\fI%s\\fR\n", *argument == '\0' ? "" : " ", argument);
}

static void
print_command(const struct ctl_command *c)
{
    printf(".SS ");
    if (c->operands[0] == '\0')
        printf("%s\n", c->name);
    else
        printf("\"%s %s\"\n", c->name, c->operands);
    print_text(c->about, false);
    for (const struct ctl_option *o = c->options; o->name != NULL; o++) {
        print_tagged(o->name, o->letter,
                     o->argument == NULL ? "" : o->argument);
        print_text(o->help, false);
    }
    if (c->examples[0] == '\0')
        return;
    printf(".PP\nExamples:\n.PP\n.EX\n");
    print_text(c->examples, true);
    printf(".EE\n");
}

static void
print_mokkactl(void)
{
    size_t count;
    const struct ctl_command *commands = ctl_commands(&count);

    printf(".TH MOKKACTL 1 %s \"mokka %s\"\n", build_date, build_version);
    printf(".SH NAME\nmokkactl \\- look into the Mokka control plane, and "
           "command it\n"
           ".SH SYNOPSIS\n.B mokkactl\n.I COMMAND\n[\\fIOPTION\\fR ...]\n"
           ".SH DESCRIPTION\nAsks a running control plane through its control "
           "socket,\nor the API server through a kubeconfig.\n"
           "In a cluster\n.B kubectl mokka\ntakes its place.\n"
           ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++)
        print_command(&commands[i]);
    printf(".SH \"EXIT STATUS\"\n.TP\n0\nfine\n.TP\n1\nit could not be done, "
           "stderr says why\n");
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < EXITS_MAX && commands[i].exits[j] != NULL; j++)
            printf(".TP\n%.1s\n%s: %s\n", commands[i].exits[j],
                   commands[i].name, commands[i].exits[j] + 2);
    printf(".SH ENVIRONMENT\n.TP\n.B MOKKA_CP_CONTROL_SOCKET\nthe control "
           "socket\n.TP\n.B MOKKA_CP_KUBECONFIG\\fR, \\fBKUBECONFIG\nhow to "
           "reach the API server\n.TP\n.B NO_COLOR\nno colours at a terminal\n"
           ".SH \"SEE ALSO\"\n.BR control\\-plane (8),\n.BR kubectl (1)\n");
}

static void
print_flag(const struct flag *f)
{
    print_tagged(f->name, '\0', f->argument);
    print_text(f->help, false);
    if (f->fallback[0] != '\0') {
        printf("(default ");
        fputs(f->fallback, stdout);
        printf(")\n");
    }
    if (f->environment != NULL)
        printf(".br\nEnvironment:\n.B %s\n", f->environment);
}

static void
print_control_plane(void)
{
    size_t count;
    const struct flag *f = flags(&count);

    printf(".TH CONTROL\\-PLANE 8 %s \"mokka %s\"\n", build_date,
           build_version);
    printf(
        ".SH NAME\ncontrol\\-plane \\- keep racks of simulated GPUs in a "
        "Kubernetes cluster\n"
        ".SH SYNOPSIS\n.B control\\-plane\n[\\fIOPTION\\fR ...]\n"
        ".SH DESCRIPTION\n"
        "Makes SGPURack objects from SGPURackProfile and SGPUInventory "
        "objects, assigns\neligible Nodes to their slots, and puts each "
        "assignment on its Node: two labels\nand one annotation. It runs as a "
        "pod or, with\n.BR \\-\\-kubeconfig ,\nanywhere.\n.PP\n"
        "It is a supervisor with five workers: informer, placer, projector, "
        "elector and\nweb. Each can die at any time; it is started again while "
        "the others keep their\nstate and leadership is not lost.\n"
        ".SH OPTIONS\n"
        "\\fB\\-\\-flag=\\fIvalue\\fR, \\fB\\-\\-flag \\fIvalue\\fR and both "
        "with one hyphen are the same.\nA flag comes before its environment "
        "variable, and an empty variable counts as\nnot set. Times are written "
        "like 15s, 100ms or 1m30s.\n");
    for (size_t i = 0; i < count; i++)
        print_flag(&f[i]);
    printf(".TP\n.BR \\-h , \\ \\-\\-help\nthe same in short\n"
           ".TP\n.B \\-\\-version\nversion, commit and build\n"
           ".SH SIGNALS\n.TP\n.BR SIGTERM , \\ SIGINT\n"
           "stop in order and give the Lease back; a second one more than a "
           "second later\nends it at once\n"
           ".SH \"EXIT STATUS\"\n.TP\n0\nit was stopped by a signal\n.TP\n1\n"
           "it could not start or could not go on; the last line of stderr "
           "says why\n"
           ".SH \"SEE ALSO\"\n.BR mokkactl (1)\n");
}

int
run_man(const struct ctl_args *args)
{
    const char *program = args->count == 0 ? "mokkactl" : args->operands[0];

    if (strcmp(program, "mokkactl") == 0)
        print_mokkactl();
    else if (strcmp(program, "control-plane") == 0)
        print_control_plane();
    else
        return ctl_fail(args,
                        "there is one of mokkactl and one of "
                        "control-plane, but not of %s",
                        program);
    return EXIT_FINE;
}
