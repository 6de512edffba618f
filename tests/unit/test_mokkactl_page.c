/* SPDX-License-Identifier: Apache-2.0 */
/* A page is asked for by HTTP; whoever answers may be anybody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/mokkactl/page.h"

/* A server for one client; its process sends that, so often, and ends. */
struct server {
    char address[32];
    pid_t pid;
};

static void
serve(int fd, const char *data, size_t times)
{
    int client = accept(fd, NULL, NULL);
    char asked[256];

    if (client < 0 || read(client, asked, sizeof(asked)) <= 0)
        _exit(1);
    while (times-- > 0)
        if (send(client, data, strlen(data), MSG_NOSIGNAL) < 0)
            _exit(0);
    _exit(0);
}

static struct server
begin(const char *data, size_t times)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct server s;

    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(s.address, sizeof(s.address), "127.0.0.1:%d", ntohs(at.sin_port));
    s.pid = fork();
    if (s.pid == 0)
        serve(fd, data, times);
    close(fd);
    return s;
}

static void
end(const struct server *s)
{
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
}

static void
test_a_page(void **state)
{
    struct server s = begin("HTTP/1.1 200 OK\r\n\r\nnumbers", 1);
    struct buf out = {0};
    struct err err;

    (void)state;
    assert_int_equal(page_get(s.address, "/metrics", &out, &err), 0);
    assert_true(str_is(buf_str(&out), "numbers"));
    buf_fini(&out);
    end(&s);
}

static void
refused(const char *data, size_t times, const char *words)
{
    struct server s = begin(data, times);
    struct buf out = {0};
    struct err err;

    assert_int_equal(page_get(s.address, "/metrics", &out, &err), -1);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
    end(&s);
}

static void
test_what_is_no_page(void **state)
{
    char large[4096];

    (void)state;
    refused("", 1, "the answer is: ");
    refused("220 mail\r\n", 1, "the answer is: 220 mail");
    refused("HTTP/1.1 503 Away\r\n\r\n", 1, "503 Away");
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    refused(large, SIZE_MAX, "larger than 16 MiB");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_page),
        cmocka_unit_test(test_what_is_no_page),
    };

    return cmocka_run_group_tests_name("mokkactl page", tests, NULL, NULL);
}
