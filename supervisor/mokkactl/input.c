/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"

#define PEEK_MAX 65536

struct input {
    int fd;
    struct buf ahead; /* read, but not given out yet */
    size_t bytes;
    int failure;
};

struct input *
input_open(const char *path, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct input *in;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        err_errno(err, "cannot be opened");
        return NULL;
    }
    if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode)) {
        err_set(err, "is no file");
        if (!is_stdin)
            close(fd);
        return NULL;
    }
    in = mem_zalloc(sizeof(*in));
    in->fd = fd;
    return in;
}

void
input_close(struct input *in)
{
    if (in == NULL)
        return;
    if (in->fd != STDIN_FILENO)
        close(in->fd);
    buf_fini(&in->ahead);
    free(in);
}

static ssize_t
read_some(struct input *in, char *room, size_t n)
{
    ssize_t got;

    do
        got = read(in->fd, room, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        in->failure = errno;
    else
        in->bytes += (size_t)got;
    return got;
}

/* Reads on, to be given out later; false at the end. */
static bool
read_ahead(struct input *in)
{
    ssize_t got = read_some(in, buf_room(&in->ahead, 4096), 4096);

    if (got > 0)
        buf_grew(&in->ahead, (size_t)got);
    return got > 0;
}

static void
drop_mark(struct input *in)
{
    while (in->ahead.len < 3 && read_ahead(in))
        ;
    if (in->ahead.len >= 3 &&
        memcmp(buf_bytes(&in->ahead), "\xef\xbb\xbf", 3) == 0)
        buf_drop(&in->ahead, 3);
}

char
input_peek(struct input *in)
{
    size_t at = 0;

    drop_mark(in);
    for (;;) {
        for (; at < in->ahead.len; at++)
            if (strchr(" \t\r\n", buf_bytes(&in->ahead)[at]) == NULL)
                return buf_bytes(&in->ahead)[at];
        if (at >= PEEK_MAX || !read_ahead(in))
            return '\0';
    }
}

ssize_t
input_read(void *arg, char *room, size_t n)
{
    struct input *in = arg;

    if (in->failure != 0)
        return -1;
    if (in->ahead.len == 0)
        return read_some(in, room, n);
    if (n > in->ahead.len)
        n = in->ahead.len;
    memcpy(room, buf_bytes(&in->ahead), n);
    buf_drop(&in->ahead, n);
    return (ssize_t)n;
}

int
input_failure(const struct input *in)
{
    return in->failure;
}

size_t
input_bytes(const struct input *in)
{
    return in->bytes;
}
