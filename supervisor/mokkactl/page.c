/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/page.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

#define PATIENCE 5 /* seconds without a byte */
#define WHOLE (20 * CLOCK_SECOND)
#define PAGE_MAX ((size_t)16 << 20)
#define HEAD_END "\r\n\r\n"

/* "[host]:port" or "host:port" to its two parts. */
static int
take_apart(const char *address, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - address);

    if (colon == NULL || n >= size)
        return -1;
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    }
    memcpy(host, address, n);
    host[n] = '\0';
    *port = colon + 1;
    return 0;
}

static int
connect_to(const char *address, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = PATIENCE};
    struct addrinfo *found = NULL;
    const char *port;
    char host[256];
    int fd = -1;

    if (take_apart(address, host, sizeof(host), &port) != 0 ||
        getaddrinfo(host, port, &hints, &found) != 0)
        return err_set(err, "%s is no address", address);
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    }
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        err_errno(err, "%s", address);
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* All until the end, if that comes. */
static int
read_all(int fd, struct buf *in, struct err *err)
{
    int64_t end = clock_now() + WHOLE;
    ssize_t n;

    while ((n = read(fd, buf_room(in, 4096), 4096)) > 0) {
        buf_grew(in, (size_t)n);
        if (in->len > PAGE_MAX)
            return err_set(err,
                           "the answer is larger than %zu MiB: that is "
                           "no page of the control plane",
                           PAGE_MAX >> 20);
        if (clock_now() > end)
            return err_set(err, "the answer was not complete within %d s",
                           (int)(WHOLE / CLOCK_SECOND));
    }
    return n == 0 ? 0 : err_errno(err, "no answer");
}

/* The body of an answer that is fine. */
static int
take_body(struct str answer, struct buf *out, struct err *err)
{
    const char *end =
        memmem(answer.s, answer.n, HEAD_END, sizeof(HEAD_END) - 1);
    size_t head;

    if (end == NULL || answer.n < 12 || memcmp(answer.s + 8, " 200", 4) != 0)
        return err_set(err, "the answer is: %.*s",
                       (int)strcspn(answer.s, "\r\n"), answer.s);
    head = (size_t)(end - answer.s) + sizeof(HEAD_END) - 1;
    buf_adds(out, (struct str){answer.s + head, answer.n - head});
    return 0;
}

int
page_get(const char *address, const char *path, struct buf *out,
         struct err *err)
{
    struct buf text = {0};
    int fd = connect_to(address, err);
    int rc = -1;

    if (fd < 0)
        return -1;
    buf_printf(&text, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
    if (send(fd, buf_bytes(&text), text.len, MSG_NOSIGNAL) !=
        (ssize_t)text.len) {
        err_errno(err, "%s", address);
    } else {
        buf_clear(&text);
        rc = read_all(fd, &text, err);
        buf_addc(&text, '\0'); /* also a text */
        text.len--;
    }
    if (rc == 0)
        rc = take_body(buf_str(&text), out, err);
    buf_fini(&text);
    close(fd);
    return rc;
}
