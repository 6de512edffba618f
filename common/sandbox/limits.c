/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "common/sandbox/parts.h"
#include "common/sandbox/sandbox.h"

/* Threads are all that it can make (seccomp), and RLIMIT_NPROC would count
 * strangers of the same user.  Cores are for the system to decide about. */
static int
lower(__rlimit_resource_t resource, rlim_t most, const char *what,
      struct err *err)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return err_errno(err, "%s: no limit", what);
    if (limit.rlim_max <= most)
        return 0;
    limit.rlim_max = most;
    if (limit.rlim_cur > most)
        limit.rlim_cur = most;
    if (setrlimit(resource, &limit) != 0)
        return err_errno(err, "%s: no limit", what);
    return 0;
}

/* The limit counts the stack of each thread that looks up a name, 8 MiB of
 * which a few pages are ever used. */
#define STACKS ((rlim_t)64 << 20)

int
limits_enter(const struct sandbox *box, struct err *err)
{
    if (lower(RLIMIT_NOFILE, box->descriptors, "descriptors", err) != 0)
        return -1;
    if (box->memory == 0)
        return 0;
    return lower(RLIMIT_DATA,
                 (rlim_t)box->memory +
                     ((box->may & SANDBOX_NAMES) != 0 ? STACKS : 0),
                 "memory", err);
}
