/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe ROLE VICTIM FOLDER [stay | PORT OTHER-PORT [names]]
 *
 * Enters the sandbox as a worker of that role does, then tries what it must not
 * do, and what it must: a line "ATTEMPT ok" or "ATTEMPT ERRNO" for each.
 * VICTIM is a process of the same user.  With PORT it may connect there (not to
 * OTHER-PORT) and read FOLDER/granted/file; FOLDER/other is beyond it.  After
 * "entered LACKING" it waits for a line on stdin.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/sandbox/sandbox.h"

static struct {
    pid_t victim;
    char granted[4096], other[4096], made[4096];
    uint16_t port, other_port;
} at;

static void
say(const char *attempt, long rc)
{
    if (rc == -1)
        printf("%s %s\n", attempt, strerrorname_np(errno));
    else
        printf("%s ok\n", attempt);
    fflush(stdout);
}

#define TRY(expression)                                                        \
    do {                                                                       \
        errno = 0;                                                             \
        say(#expression, (long)(expression));                                  \
    } while (0)

static int
read_file(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 || read(fd, &byte, 1) < 0 ? -1 : close(fd);
}

static int
create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int
list(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
try_files(void)
{
    struct stat st;

    TRY(read_file(at.granted));
    TRY(read_file(at.other));
    TRY(read_file("/etc/shadow"));
    TRY(open("/dev/null", O_RDONLY));
    TRY(open("/proc/1/environ", O_RDONLY));
    TRY(list("/"));
    TRY(create(at.made));
    TRY(open(at.other, O_RDWR));
    TRY(open(at.granted, O_WRONLY | O_TRUNC));
    TRY(truncate(at.other, 0));
    TRY(mkdir(at.made, 0700));
    TRY(unlink(at.other));
    TRY(rename(at.other, at.made));
    TRY(link(at.other, at.made));
    TRY(symlink(at.other, at.made));
    TRY(chmod(at.other, 0777));
    TRY(fchmod(STDOUT_FILENO, 0777));
    TRY(chown(at.other, 1, 1));
    TRY(chdir("/"));
    TRY(chroot("/"));
    TRY(mount("none", "/mnt", "tmpfs", 0, NULL));
    TRY(stat(at.other, &st));
    TRY(ftruncate(STDIN_FILENO, 0)); /* EINVAL: asked, but no file */
    TRY(memfd_create("any", 0));
}

static int
connect_to(int kind, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, kind, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static int
listen_at_all(void)
{
    struct sockaddr_in me = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&me, sizeof(me));
}

static void
try_network(void)
{
    TRY(connect_to(SOCK_STREAM, at.port));
    TRY(connect_to(SOCK_STREAM, at.other_port));
    TRY(connect_to(SOCK_DGRAM, at.port));
    TRY(listen_at_all());
    TRY(socket(AF_UNIX, SOCK_STREAM, 0));
    TRY(socket(AF_INET, SOCK_RAW, 1));
    TRY(socket(AF_PACKET, SOCK_RAW, 0));
    TRY(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    TRY(socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
    TRY(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static long
run_thread(void)
{
    pthread_t thread;
    int rc =
        pthread_create(&thread, NULL, (void *(*)(void *))(void *)getpid, NULL);

    errno = rc;
    return rc != 0 ? -1 : pthread_join(thread, NULL);
}

static long
run_other(void)
{
    char *const arguments[] = {(char[]){"/bin/true"}, NULL};

    return execve(arguments[0], arguments, arguments + 1);
}

static long
make_process(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long
look_into(pid_t pid)
{
    struct iovec here = {&at, 1}, there = {&at, 1};

    return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

static long
wake_by_descriptor(void)
{
    return fcntl(STDIN_FILENO, F_SETOWN, at.victim);
}

static void
try_processes(void)
{
    TRY(run_other());
    TRY(make_process(0));
    TRY(make_process(CLONE_NEWUSER));
    TRY(run_thread());
    TRY(ptrace(PTRACE_ATTACH, at.victim, 0, 0));
    TRY(ptrace(PTRACE_TRACEME, 0, 0, 0));
    TRY(look_into(at.victim));
    TRY(syscall(SYS_pidfd_open, at.victim, 0));
    TRY(kill(at.victim, SIGTERM));
    TRY(kill(getppid(), 0));
    TRY(tgkill(at.victim, at.victim, SIGTERM));
    TRY(wake_by_descriptor());
    TRY(unshare(CLONE_NEWUSER));
    TRY(prctl(PR_SET_DUMPABLE, 1));
    TRY(setuid(1));
}

static long
raise_limit(__rlimit_resource_t which)
{
    struct rlimit limit;

    if (getrlimit(which, &limit) != 0)
        return -1;
    limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
    return setrlimit(which, &limit);
}

static long
limit_other(void)
{
    struct rlimit limit = {1, 1};

    return prlimit(at.victim, RLIMIT_NOFILE, &limit, NULL);
}

static long
run_data(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? 0 : mprotect(page, 4096, PROT_EXEC);
}

static long
map_to_run(void)
{
    return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void
try_machine(void)
{
    TRY(raise_limit(RLIMIT_NOFILE));
    TRY(limit_other());
    TRY(run_data());
    TRY(map_to_run());
    TRY(ioctl(STDIN_FILENO, TIOCSTI, "x"));
    TRY(syscall(SYS_bpf, 0, NULL, 0));
    TRY(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
    TRY(syscall(SYS_io_uring_setup, 1, NULL));
    TRY(syscall(SYS_userfaultfd, 0));
    TRY(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
    TRY(syscall(SYS_init_module, NULL, 0, ""));
    TRY(syscall(SYS_settimeofday, NULL, NULL));
    TRY(syscall(SYS_personality, 0xffffffff));
    TRY(syscall(SYS_setns, -1, 0));
    TRY(syscall(100000));
}

/* What no worker may die of, nor be refused. */
static void
try_harmless(void)
{
    const struct timespec moment = {0, 1};
    struct timespec now;
    char bytes[16];

    TRY(syscall(SYS_getrandom, bytes, sizeof(bytes), 0));
    TRY(syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now));
    TRY(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL));
    TRY(raise(SIGUSR1));
    TRY(sched_yield());
    TRY(munmap(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
               1 << 20));
    TRY(gethostname(bytes, 0) == 0 || errno == ENAMETOOLONG ? 0 : -1);
    TRY(sysconf(_SC_OPEN_MAX));
    TRY(sysconf(_SC_PHYS_PAGES));
}

static struct sandbox *
make_sandbox(int argc, char **argv)
{
    enum role role;
    struct sandbox *box;

    if (argc < 4 || !role_find(argv[1], &role))
        fatal("usage: probe ROLE VICTIM FOLDER [stay | PORT OTHER-PORT "
              "[names]]");
    at.victim = (pid_t)atoi(argv[2]);
    snprintf(at.granted, sizeof(at.granted), "%s/granted/file", argv[3]);
    snprintf(at.other, sizeof(at.other), "%s/other", argv[3]);
    snprintf(at.made, sizeof(at.made), "%s/made", argv[3]);
    box = sandbox_new(role);
    if (argc == 5)
        sandbox_stay(box);
    if (argc < 6)
        return box;
    at.port = (uint16_t)atoi(argv[4]);
    at.other_port = (uint16_t)atoi(argv[5]);
    sandbox_read(box, at.granted);
    sandbox_connect(box, at.port);
    if (argc > 6)
        sandbox_names(box);
    return box;
}

int
main(int argc, char **argv)
{
    struct sandbox *box = make_sandbox(argc, argv);
    struct err lacking;
    char line[16];

    signal(SIGUSR1, SIG_IGN);
    sandbox_enter(box, &lacking);
    sandbox_free(box);
    printf("entered %s\n", lacking.text);
    fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL)
        return 1;
    try_files();
    try_network();
    try_processes();
    try_machine();
    try_harmless();
    printf("lived ok\n");
    return 0;
}
