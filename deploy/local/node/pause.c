/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the namespaces of a pod: ends when asked, and reaps what is orphaned
 * where the pod shares its processes. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int
main(void)
{
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigwait(&set, &number) == 0 && number == SIGCHLD)
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    return 0;
}
