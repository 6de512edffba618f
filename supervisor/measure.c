/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/metrics.h"

/* Reads /proc/PID/stat from behind the program's name, which may hold anything;
 * false if the process is gone. */
static bool
read_stat(pid_t pid, char *text, size_t size)
{
    char path[32];
    ssize_t n;
    char *end;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    end = strrchr(text, ')');
    if (end == NULL)
        return false;
    memmove(text, end + 1, strlen(end + 1) + 1);
    return true;
}

/* CPU time in clock ticks (fields 14 and 15) and resident pages (24). */
static bool
find_use(pid_t pid, unsigned long long *ticks, long long *pages)
{
    unsigned long long user, kernel;
    char text[1024];

    if (!read_stat(pid, text, sizeof(text)) ||
        sscanf(text,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d "
               "%*d %*d %*d %*d %*u %*u %lld",
               &user, &kernel, pages) != 3)
        return false;
    *ticks = user + kernel;
    return true;
}

void
measure_process(struct metrics *m, const struct measured *p)
{
    int64_t starts = (int64_t)p->generation;
    unsigned long long ticks;
    long long pages;

    metrics_set(m, METRIC_WORKER_UP, p->role, 0, p->up);
    metrics_set(m, METRIC_WORKER_GENERATION, p->role, 0, starts);
    metrics_set(m, METRIC_WORKER_RESTARTS, p->role, 0,
                starts > 0 ? starts - 1 : 0);
    if (p->pid <= 0 || !find_use(p->pid, &ticks, &pages))
        return;
    metrics_set(m, METRIC_WORKER_START, p->role, 0, p->started);
    metrics_set(m, METRIC_WORKER_CPU, p->role, 0,
                (int64_t)ticks * (CLOCK_SECOND / sysconf(_SC_CLK_TCK)));
    metrics_set(m, METRIC_WORKER_MEMORY, p->role, 0,
                pages * sysconf(_SC_PAGESIZE));
}
