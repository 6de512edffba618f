/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_HTTPS_H
#define TESTS_FAKE_HTTPS_H

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

/*
 * Runs https.py, which lies beside this file, for the life of a test program.
 * To be included by one test file; it ends the program if the server does not
 * come up.
 */
struct https {
    char folder[64]; /* certificates and keys, and whatever the test writes */
    pid_t pid;
    int in; /* closing it ends the server */
    struct {
        char name[16];
        int port;
    } ports[16];
    size_t n_ports;
};

/* Replaces this (forked) process by the server. */
static void
https_exec(const struct https *https, int in, int out)
{
    char *here = mem_strdup(__FILE__);
    char *script = mem_printf("%s/https.py", dirname(here));

    dup2(in, 0);
    dup2(out, 1);
    execlp("python3", "python3", script, https->folder, (char *)NULL);
    perror("python3");
    _exit(127);
}

static void
https_read_ports(struct https *https, int out)
{
    FILE *lines = fdopen(out, "r");
    char name[16];
    int number;

    while (lines != NULL && fscanf(lines, "%15s %d", name, &number) == 2) {
        if (strcmp(name, "ready") == 0) {
            fclose(lines);
            return;
        }
        strcpy(https->ports[https->n_ports].name, name);
        https->ports[https->n_ports++].port = number;
    }
    fatal("tests/fake/https.py did not start (python3 and openssl needed)");
}

static void
https_start(struct https *https)
{
    int in[2], out[2];

    signal(SIGPIPE, SIG_IGN);
    *https = (struct https){.folder = "/tmp/mokka-https-XXXXXX"};
    if (mkdtemp(https->folder) == NULL || pipe(in) < 0 || pipe(out) < 0)
        fatal("cannot set up the test server");
    https->pid = fork();
    if (https->pid == 0) {
        close(in[1]);
        https_exec(https, in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    https->in = in[1];
    https_read_ports(https, out[0]);
}

static void
https_stop(struct https *https)
{
    char *command = mem_printf("rm -rf %s", https->folder);

    close(https->in);
    waitpid(https->pid, NULL, 0);
    if (system(command) != 0)
        fprintf(stderr, "%s is left over\n", https->folder);
    free(command);
}

static int
https_port(const struct https *https, const char *name)
{
    for (size_t i = 0; i < https->n_ports; i++)
        if (strcmp(https->ports[i].name, name) == 0)
            return https->ports[i].port;
    fatal("no listener %s", name);
}

#endif
