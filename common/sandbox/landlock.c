/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/sandbox/parts.h"
#include "common/sandbox/sandbox.h"

/*
 * The kernel's interface, by versions: 1 files (Linux 5.13), 2 links across
 * folders (5.19), 3 truncation (6.2), 4 TCP (6.7), 5 ioctl of devices (6.10), 6
 * abstract sockets and signals (6.12).  The header may be older than the kernel
 * that we meet.
 */
enum { LANDLOCK_TCP_VERSION = 4, LANDLOCK_SCOPE_VERSION = 6 };

#define FS_ALL_1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define FS_REFER (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL_DEV (UINT64_C(1) << 15)
#define NET_BIND_TCP (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)
#define RULE_NET_PORT 2

struct ruleset {
    uint64_t fs, net, scoped;
};

struct port_rule {
    uint64_t access, port;
};

/* What the kernel lets us forbid, and how much of the struct it knows. */
static size_t
forbid_all(int version, struct ruleset *all)
{
    *all = (struct ruleset){.fs = FS_ALL_1};
    if (version >= 2)
        all->fs |= FS_REFER;
    if (version >= 3)
        all->fs |= FS_TRUNCATE;
    if (version >= LANDLOCK_TCP_VERSION)
        all->net = NET_BIND_TCP | NET_CONNECT_TCP;
    if (version >= 5)
        all->fs |= FS_IOCTL_DEV;
    if (version >= LANDLOCK_SCOPE_VERSION)
        all->scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL;
    return version >= LANDLOCK_SCOPE_VERSION ? sizeof(*all)
           : version >= LANDLOCK_TCP_VERSION ? offsetof(struct ruleset, scoped)
                                             : offsetof(struct ruleset, net);
}

/* The rest of what older versions cannot do is refused by seccomp as well. */
const char *
landlock_lacks(int version, unsigned may)
{
    if (version < LANDLOCK_TCP_VERSION && (may & SANDBOX_CONNECT) != 0)
        return "Landlock of this kernel cannot limit TCP ports (Linux 6.7 can)";
    return NULL;
}

static int
add_path(int rules, const char *path, uint64_t access, struct err *err)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access};
    int rc;

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return 0; /* what is not there cannot be read either */
    rc = (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
                      &rule, 0);
    close(rule.parent_fd);
    return rc == 0 ? 0 : err_errno(err, "Landlock: %s", path);
}

/* A rule is about what is there now, and a file that is replaced is another:
 * so it is for the folder, unless that is the root. */
static int
add_folder_of(int rules, const char *file, struct err *err)
{
    const char *slash = strrchr(file, '/');
    char *folder;
    int rc;

    if (slash == file)
        return add_path(rules, file, LANDLOCK_ACCESS_FS_READ_FILE, err);
    folder =
        slash == NULL ? mem_strdup(".") : mem_dup(file, (size_t)(slash - file));
    rc = add_path(rules, folder, LANDLOCK_ACCESS_FS_READ_FILE, err);
    free(folder);
    return rc;
}

/* A folder that is a link is replaced as well, by one to a folder beside it. */
static int
add_linked_folder(int rules, const char *file, struct err *err)
{
    const char *slash = strrchr(file, '/');
    char target[1];
    char *folder;
    int rc = 0;

    if (slash == NULL || slash == file)
        return 0;
    folder = mem_dup(file, (size_t)(slash - file));
    if (readlink(folder, target, sizeof(target)) >= 0)
        rc = add_folder_of(rules, folder, err);
    free(folder);
    return rc;
}

/* Where it is named, and where it lies. */
static int
add_file(int rules, const char *file, struct err *err)
{
    char real[PATH_MAX];

    if (add_folder_of(rules, file, err) != 0 ||
        add_linked_folder(rules, file, err) != 0)
        return -1;
    if (realpath(file, real) == NULL)
        return 0;
    return add_folder_of(rules, real, err);
}

static int
add_port(int rules, uint16_t port, struct err *err)
{
    struct port_rule rule = {NET_CONNECT_TCP, port};

    if (syscall(SYS_landlock_add_rule, rules, RULE_NET_PORT, &rule, 0) == 0)
        return 0;
    return err_errno(err, "Landlock: port %u", port);
}

/* The kernel writes a core as if the process did.  Where one is to be written
 * to a file, its folder stays open to that; of itself the process can create
 * nothing, that is seccomp's to refuse. */
static int
add_core(int rules, uint64_t all, struct err *err)
{
    const uint64_t access = all & (LANDLOCK_ACCESS_FS_WRITE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | FS_TRUNCATE);
    char pattern[PATH_MAX] = "";
    struct rlimit limit;
    char *slash;
    ssize_t n;
    int fd;

    if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur == 0)
        return 0;
    fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, pattern, sizeof(pattern) - 1);
    close(fd);
    if (n <= 0 || pattern[0] == '|' || pattern[0] == '@')
        return 0;
    slash = strrchr(pattern, '/');
    if (slash == NULL)
        return add_path(rules, ".", access, err);
    slash[slash == pattern ? 1 : 0] = '\0';
    return add_path(rules, pattern, access, err);
}

static int
add_rules(const struct sandbox *box, int rules, const struct ruleset *all,
          struct err *err)
{
    if (add_core(rules, all->fs, err) != 0)
        return -1;
    for (size_t i = 0; i < box->file_count; i++)
        if (add_file(rules, box->files[i], err) != 0)
            return -1;
    for (size_t i = 0; i < box->port_count && all->net != 0; i++)
        if (add_port(rules, box->ports[i], err) != 0)
            return -1;
    return 0;
}

static int
refused(struct err *err)
{
    if (errno == ENOSYS)
        return err_set(err, "no Landlock: this kernel has none (Linux 5.13 "
                            "and later do)");
    if (errno == EOPNOTSUPP)
        return err_set(err, "no Landlock: the node did not turn it on at its "
                            "start (lsm=landlock,...)");
    if (errno == EPERM)
        return err_set(err, "no Landlock: the container's seccomp profile "
                            "refuses its calls");
    return err_errno(err, "no Landlock");
}

int
landlock_enter(const struct sandbox *box, struct err *err)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset all;
    const char *lacks;
    size_t size;
    int rules, rc;

    if (version < 1)
        return refused(err);
    size = forbid_all((int)version, &all);
    rules = (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
    if (rules < 0)
        return refused(err);
    rc = add_rules(box, rules, &all, err);
    if (rc == 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        rc = refused(err);
    close(rules);
    if (rc != 0)
        return -1;
    lacks = landlock_lacks((int)version, box->may);
    return lacks == NULL ? 0 : err_set(err, "%s", lacks);
}
