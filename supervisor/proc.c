/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

bool
proc_read(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

/* Processor time is fields 14 and 15 of its stat, resident pages 24. */
bool
proc_usage(pid_t pid, struct proc_usage *usage)
{
    unsigned long long user, kernel;
    char text[1024];
    long long pages;
    const char *end;

    if (!proc_read(pid, "stat", text, sizeof(text)))
        return false;
    end = strrchr(text, ')'); /* the program's name may hold anything */
    if (end == NULL || sscanf(end + 1,
                              " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                              "%llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %lld",
                              &user, &kernel, &pages) != 3)
        return false;
    usage->cpu =
        (int64_t)(user + kernel) * (CLOCK_SECOND / sysconf(_SC_CLK_TCK));
    usage->resident = pages * sysconf(_SC_PAGESIZE);
    return true;
}
