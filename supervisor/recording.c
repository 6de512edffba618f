/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/recording.h"

/* A regular file of nobody else, empty or a recording. */
static int
check(int fd, const char *path, struct err *err)
{
    char start[RECORDING_MARK_SIZE];
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0)
        return err_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, "%s is no regular file: name one", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(err,
                       "%s is in use by another control plane: name another "
                       "file",
                       path);
    n = pread(fd, start, sizeof(start), 0);
    if (n > 0 && !recording_is((struct str){start, (size_t)n}))
        return err_set(err,
                       "%s is there and is no recording: it is left alone, "
                       "name another file",
                       path);
    return 0;
}

int
recording_open(const char *path, struct err *err)
{
    int fd =
        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

    if (fd < 0)
        return err_errno(err, "%s", path);
    if (check(fd, path, err) == 0) {
        if (ftruncate(fd, 0) == 0 && fchmod(fd, 0600) == 0)
            return fd;
        err_errno(err, "%s", path);
    }
    close(fd);
    return -1;
}
