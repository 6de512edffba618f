/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/spawn.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/worker.h"

int
spawn_pair(int ends[2], struct err *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
        return 0;
    return err_errno(err, "cannot make a socketpair");
}

int
spawn_locate(const char *name, char path[PATH_MAX], struct err *err)
{
    static const char *const places[] = {"", "../libexec/mokka/"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n <= 0)
        return err_errno(err, "cannot read /proc/self/exe");
    self[n] = '\0';
    slash = strrchr(self, '/');
    slash[1] = '\0';
    for (size_t i = 0; i < nitems(places); i++) {
        if (snprintf(path, PATH_MAX, "%s%s%s", self, places[i], name) <
                PATH_MAX &&
            access(path, X_OK) == 0)
            return 0;
    }
    return err_set(err,
                   "no executable %s in %s or %s../libexec/mokka: install all "
                   "programs of one build together",
                   name, self, self);
}

int
spawn_check(const char *name, struct err *err)
{
    char path[PATH_MAX];

    return spawn_locate(name, path, err);
}

/* In the child: descriptor 3 is the link, then the worker's program. */
static void
become(const char *path, const char *name, int control, pid_t parent)
{
    sigset_t none;
    int nothing;

    /* Also one that is stopped, or that hangs, ends with us. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* it ended before that */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* A group of its own: a terminal's ^C, or a TERM for the group, is the
     * supervisor's to act on, and it stops the workers in their turns. */
    setpgid(0, 0);
    if (control == WORKER_CONTROL_FD)
        fcntl(control, F_SETFD, 0);
    else
        dup2(control, WORKER_CONTROL_FD);
    /* No worker reads what somebody types. */
    nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    /* Whoever started us may have left some open. */
    close_range(WORKER_CONTROL_FD + 1, ~0u, 0);
    execl(path, name, (char *)NULL);
    _exit(127);
}

pid_t
spawn_worker(const char *name, int *control, struct err *err)
{
    char path[PATH_MAX];
    pid_t parent = getpid();
    int ends[2];
    pid_t pid;

    if (spawn_locate(name, path, err) != 0 || spawn_pair(ends, err) != 0)
        return -1;
    pid = fork();
    if (pid == 0)
        become(path, name, ends[1], parent);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_errno(err, "cannot fork for %s", name);
    }
    *control = ends[0];
    return pid;
}
