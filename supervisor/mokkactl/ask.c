/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands whose answer is printed as it comes. */
#include <errno.h>
#include <string.h>

#include "common/mem.h"
#include "supervisor/mokkactl/objects.h"
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

/* ---- what the placer knows, and anybody who reads the objects ----------- */

static int
on_assignments(const struct placer *p, const struct str *arguments,
               struct buf *out, struct err *err)
{
    return question_assignments(p, arguments[0], arguments[1], out, err);
}

static int
on_why(const struct placer *p, const struct str *arguments, struct buf *out,
       struct err *err)
{
    return question_why(p, arguments[0], out, err);
}

static bool
collect(void *arg, struct str text)
{
    buf_adds(arg, text);
    return true;
}

static int
ask_objects(const struct ctl_args *args, objects_question_fn *question,
            struct buf *out)
{
    struct str operands[2];
    struct err err;

    for (size_t i = 0; i < args->count; i++)
        operands[i] = str_of(args->operands[i]);
    if (objects_ask(ctl_value(args, "kubeconfig"), question, operands, out,
                    &err) != 0)
        return ctl_fail(args, "%s", err.text);
    return EXIT_FINE;
}

/* A control plane that listens is asked; where there is none (a laptop), or by
 * --kubeconfig, the objects. */
static int
ask_placer(const struct ctl_args *args, const char *name,
           objects_question_fn *question, struct buf *out)
{
    const char *arguments[] = {"placer", name, args->operands[0],
                               args->operands[args->count - 1]};
    const char *where = ctl_value(args, "socket");
    bool objects = ctl_value(args, "kubeconfig") != NULL;

    if (objects && where != NULL)
        return ctl_fail(args, "--socket asks a control plane, --kubeconfig the "
                              "API server: give one of them");
    if (objects || !live_is_there(where))
        return ask_objects(args, question, out);
    return run_command(args, "ask", arguments, args->count + 2, collect, out);
}

/* The same, and prints the answer. */
static int
print_answer(const struct ctl_args *args, const char *name,
             objects_question_fn *question, struct buf *out)
{
    int status = ask_placer(args, name, question, out);

    if (status == EXIT_FINE && !print(NULL, buf_str(out)))
        return ctl_fail(args, "stdout: %s", strerror(errno));
    return status;
}

int
run_assignments(const struct ctl_args *args)
{
    struct buf out = {0};
    int status = print_answer(args, "assignments", on_assignments, &out);

    buf_fini(&out);
    return status;
}

int
run_why(const struct ctl_args *args)
{
    struct buf out = {0};
    int status = print_answer(args, "why", on_why, &out);

    if (status == EXIT_FINE &&
        !question_why_knows(str_of(args->operands[0]), buf_str(&out)))
        status = EXIT_NOT_FINE;
    buf_fini(&out);
    return status;
}

/* ---- the others ---------------------------------------------------------- */

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
