/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

/* Of each worker, and of the supervisor: libraries, stacks, what is empty. */
#define BASE ((int64_t)8 << 20)

/* A share of less is no life. */
#define LEAST ((int64_t)10 << 20)

/* Version 1 has a number where there is no limit. */
#define NO_LIMIT ((int64_t)1 << 60)

#define SANDBOX(role, may, descriptors, memory) +(memory)
enum {
    PERCENTS = 0
#include "supervisor/topology.def"
};
_Static_assert(PERCENTS <= 100, "the shares of memory are of one whole");

static const int percents[ROLE_COUNT] = {
#define SANDBOX(role, may, descriptors, memory) [ROLE_##role] = memory,
#include "supervisor/topology.def"
};

static bool
read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The lower of limit (0: none) and what that file says, if anything. */
static int64_t
lower(int64_t limit, const char *path)
{
    char text[64];
    int64_t found;

    if (!read_text(path, text, sizeof(text)))
        return limit;
    found = strtoll(text, NULL, 10); /* "max" is 0 */
    if (found <= 0 || found >= NO_LIMIT || (limit != 0 && limit < found))
        return limit;
    return found;
}

/* Of a group and those that it is in.  In a container the path may be the
 * node's, and the container's own group the root of what is seen. */
static int64_t
group_limit(const char *root, const char *tree, const char *group,
            const char *file)
{
    char folder[PATH_MAX], path[PATH_MAX];
    int64_t limit = 0;

    snprintf(folder, sizeof(folder), "%s", group);
    for (;;) {
        char *slash = strrchr(folder, '/');

        if (snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s/%s", root, tree,
                     folder, file) < (int)sizeof(path))
            limit = lower(limit, path);
        if (folder[0] == '\0')
            return limit;
        if (slash == NULL)
            slash = folder;
        *slash = '\0';
    }
}

/* How many the kernel has killed, by the file of the group, or of the root that
 * a container sees; the groups above have others' in theirs. */
static int64_t
group_kills(const char *root, const char *tree, const char *group,
            const char *file)
{
    const char *const folders[] = {group, ""};
    char path[PATH_MAX], text[1024];

    for (size_t i = 0; i < nitems(folders); i++) {
        const char *at;

        if (snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s/%s", root, tree,
                     folders[i], file) >= (int)sizeof(path) ||
            !read_text(path, text, sizeof(text)))
            continue;
        at = strstr(text, "oom_kill ");
        return at == NULL ? 0 : strtoll(at + strlen("oom_kill "), NULL, 10);
    }
    return 0;
}

/* A number of the group that counts for memory, of either version; 0: there is
 * none. */
static int64_t
of_group(const char *root,
         int64_t (*read)(const char *root, const char *tree, const char *group,
                         const char *file),
         const char *file, const char *file_of_1)
{
    char path[PATH_MAX], text[8192];
    int64_t found = 0;
    char *rest = text;
    char *line;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (!read_text(path, text, sizeof(text)))
        return 0;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *kind = strchr(line, ':');
        char *group = kind == NULL ? NULL : strchr(kind + 1, ':');

        if (group == NULL)
            continue;
        *group++ = '\0';
        if (kind[1] == '\0')
            found = read(root, "", group, file);
        else if (strcmp(kind + 1, "memory") == 0)
            found = read(root, "/memory", group, file_of_1);
        if (found != 0)
            break;
    }
    return found;
}

int64_t
memory_limit(const char *root)
{
    return of_group(root, group_limit, "memory.max", "memory.limit_in_bytes");
}

int64_t
memory_kills(const char *root)
{
    return of_group(root, group_kills, "memory.events", "memory.oom_control");
}

int64_t
memory_share(int64_t limit, enum role role)
{
    int64_t rest = limit - BASE * ROLE_COUNT;
    int64_t share = BASE + rest / 100 * percents[role];

    for (unsigned i = 0; i < ROLE_COUNT; i++)
        if (percents[i] > 0 && BASE + rest / 100 * percents[i] < LEAST)
            return 0;
    return limit == 0 ? 0 : share;
}
