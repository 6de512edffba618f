/* SPDX-License-Identifier: Apache-2.0 */
/* mokkactl lend: a worker of a live control plane, run by hand. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/worker.h"
#include "supervisor/mokkactl/plan.h"
#include "supervisor/mokkactl/run.h"
#include "supervisor/spawn.h"

/* Becomes COMMAND... WORKER, with the link where a worker has it. */
static int
become(const struct ctl_args *args, int link, const char *program)
{
    char **command = mem_resize(NULL, args->count + 1, sizeof(*command));
    size_t n = args->count - 1;

    memcpy(command, args->operands + 1, n * sizeof(*command));
    command[n++] = (char *)program;
    command[n] = NULL;
    if (dup2(link, WORKER_CONTROL_FD) < 0)
        return ctl_fail(args, "no descriptor for the link: %s",
                        strerror(errno));
    signal(SIGPIPE, SIG_DFL);
    execvp(command[0], command);
    ctl_fail(args, "cannot run %s: %s", command[0], strerror(errno));
    free(command);
    return EXIT_ERROR;
}

int
run_lend(const struct ctl_args *args)
{
    const char *arguments[] = {args->operands[0]};
    char program[PATH_MAX];
    struct live_reply reply;
    struct live *live;
    struct err err;
    int status;

    if (spawn_locate(args->operands[0], program, &err) != 0)
        return ctl_fail(args, "%s", err.text);
    live = run_open(args);
    if (live == NULL)
        return EXIT_ERROR;
    if (live_command(live, "lend", arguments, 1, NULL, NULL, &reply, &err) !=
        0) {
        live_close(live);
        return ctl_fail(args, "%s", err.text);
    }
    if (reply.ok && reply.fd >= 0)
        status = become(args, reply.fd, program);
    else
        status =
            ctl_fail(args, "%.*s", (int)reply.text.len, buf_bytes(&reply.text));
    live_reply_fini(&reply);
    live_close(live);
    return status;
}
