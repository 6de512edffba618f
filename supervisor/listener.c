/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128
#define HOST_TEXT 256

/* Cuts "host:port" in two; the host of ":port" is empty, brackets go. */
static int
cut(const char *address, char host[HOST_TEXT], const char **port,
    struct err *err)
{
    const char *colon = strrchr(address, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - address);
    char *end;

    if (colon == NULL || n >= HOST_TEXT)
        return err_set(err, "must be host:port or :port");
    if (strtoul(colon + 1, &end, 10) > 65535 || *end != '\0' ||
        end == colon + 1 || colon[1] < '0' || colon[1] > '9')
        return err_set(err, "the port must be a number from 0 to 65535");
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    } else if (memchr(address, ':', n) != NULL) {
        return err_set(err, "an IPv6 address needs brackets, [::1]:8080");
    }
    memcpy(host, address, n);
    host[n] = '\0';
    *port = colon + 1;
    return 0;
}

int
listener_check(const char *address, struct err *err)
{
    char host[HOST_TEXT];
    const char *port;

    return cut(address, host, &port, err);
}

static int
listen_at(const struct addrinfo *ai)
{
    int fd =
        socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    int off = 0;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* ":port" means both families, as in Go. */
    if (ai->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

static void
name_actual(int fd, char *actual, unsigned size)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);
    char host[HOST_TEXT];
    char port[16];

    if (getsockname(fd, (struct sockaddr *)&at, &n) == 0 &&
        getnameinfo((struct sockaddr *)&at, n, host, sizeof(host), port,
                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(actual, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
                 port);
}

int
listener_open(const char *address, char *actual, unsigned size, struct err *err)
{
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
    };
    struct addrinfo *found;
    char host[HOST_TEXT];
    const char *port;
    int fd = -1;
    int rc;

    if (cut(address, host, &port, err) != 0)
        return -1;
    rc = getaddrinfo(host[0] == '\0' ? NULL : host, port, &hints, &found);
    if (rc != 0)
        return err_set(err, "%s: %s", address, gai_strerror(rc));
    /* IPv6 first: its wildcard takes both families. */
    for (const struct addrinfo *ai = found; ai != NULL && fd < 0;
         ai = ai->ai_next)
        if (host[0] != '\0' || ai->ai_family == AF_INET6)
            fd = listen_at(ai);
    for (const struct addrinfo *ai = found; ai != NULL && fd < 0;
         ai = ai->ai_next)
        fd = listen_at(ai);
    freeaddrinfo(found);
    if (fd < 0)
        return err_errno(err, "cannot listen on %s", address);
    name_actual(fd, actual, size);
    return fd;
}
