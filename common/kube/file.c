/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its mode says so; what else stands in the way it cannot say. */
static bool
may_be_read(const struct stat *st)
{
    unsigned bit = st->st_uid == geteuid()   ? S_IRUSR
                   : st->st_gid == getegid() ? S_IRGRP
                                             : S_IROTH;

    return (st->st_mode & bit) != 0;
}

static int
open_failed(const char *path, struct err *err)
{
    struct stat st;
    int saved = errno;

    if (saved == EACCES && stat(path, &st) == 0 && may_be_read(&st))
        return err_set(err,
                       "%s: out of reach, though its mode allows us to read "
                       "it: if its folder was replaced since this worker "
                       "started, mokkactl restart WORKER mends that",
                       path);
    if (saved == EACCES && stat(path, &st) == 0)
        return err_set(err,
                       "%s: not readable: we are uid %u, gid %u; the file has "
                       "uid %u, gid %u, mode %04o (in a pod: set fsGroup)",
                       path, (unsigned)geteuid(), (unsigned)getegid(),
                       (unsigned)st.st_uid, (unsigned)st.st_gid,
                       (unsigned)st.st_mode & 07777);
    errno = saved;
    return err_errno(err, "%s", path);
}

static int
read_all(int fd, const char *path, size_t limit, struct buf *out,
         struct err *err)
{
    size_t total = 0;
    struct stat st;
    ssize_t n;

    /* Room for all at once: growing would leave copies of a secret behind. */
    if (fstat(fd, &st) == 0 && st.st_size > 0 && (size_t)st.st_size <= limit)
        buf_room(out, (size_t)st.st_size + 16384);
    while ((n = read(fd, buf_room(out, 16384), 16384)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, "%s", path);
        buf_grew(out, (size_t)n);
        total += (size_t)n;
        if (total > limit)
            return err_set(err, "%s: larger than %zu bytes", path, limit);
    }
    return 0;
}

int
file_read(const char *path, size_t limit, struct buf *out, struct err *err)
{
    /* O_NONBLOCK: a path that names a pipe must not stop the event loop. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc;

    if (fd < 0)
        return open_failed(path, err);
    rc = read_all(fd, path, limit, out, err);
    close(fd);
    return rc;
}

void
file_wipe(struct buf *out)
{
    if (out->data != NULL)
        explicit_bzero(out->data, out->cap);
    buf_fini(out);
}
