/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands whose answer is printed as it comes. */
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"

struct live *
run_open(const struct ctl_args *args)
{
    struct err err;
    struct live *live = live_open(ctl_value(args, "socket"), &err);

    if (live == NULL)
        ctl_fail(args, "%s", err.text);
    return live;
}

int
run_command(const struct ctl_args *args, const char *name,
            const char *const *arguments, size_t count, live_piece_fn *show,
            void *arg)
{
    struct live *live = run_open(args);
    int status = EXIT_FINE;
    struct live_reply reply;
    struct err err;

    if (live == NULL)
        return EXIT_ERROR;
    if (live_command(live, name, arguments, count, show, arg, &reply, &err) !=
        0) {
        status = ctl_fail(args, "%s", err.text);
    } else {
        if (!reply.ok)
            status = ctl_fail(args, "%.*s", (int)reply.text.len,
                              buf_bytes(&reply.text));
        live_reply_fini(&reply);
    }
    live_close(live);
    return status;
}

/* A reader that has seen enough (head) ends it. */
static bool
print(void *arg, struct str text)
{
    (void)arg;
    return fwrite(text.s, 1, text.n, stdout) == text.n && fflush(stdout) == 0;
}

static int
run_and_print(const struct ctl_args *args, const char *name,
              const char *const *arguments, size_t count)
{
    return run_command(args, name, arguments, count, print, NULL);
}

int
run_assignments(const struct ctl_args *args)
{
    const char *arguments[] = {"placer", "assignments", args->operands[0],
                               args->operands[1]};

    return run_and_print(args, "ask", arguments, nitems(arguments));
}

int
run_why(const struct ctl_args *args)
{
    const char *arguments[] = {"placer", "why", args->operands[0]};

    return run_and_print(args, "ask", arguments, nitems(arguments));
}

int
run_dump(const struct ctl_args *args)
{
    const char *arguments[] = {args->operands[0], "dump"};

    return run_and_print(args, "ask", arguments, nitems(arguments));
}

int
run_log(const struct ctl_args *args)
{
    const char *arguments[] = {args->operands[0], "log", args->operands[1]};

    return run_and_print(args, "ask", arguments, nitems(arguments));
}

/* hold, continue, restart: the command of that name, with its worker. */
int
run_simple(const struct ctl_args *args)
{
    const char *arguments[] = {args->operands[0]};

    return run_and_print(args, args->command->name, arguments, 1);
}
