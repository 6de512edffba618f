/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_SANDBOX_SANDBOX_H
#define COMMON_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/role.h"

/*
 * Takes from a worker what its row in supervisor/topology.def does not leave
 * it, for the rest of its life: privileges and capabilities, descriptors and
 * memory (rlimits), files and TCP ports (Landlock), system calls (seccomp).  A
 * call that is refused fails with EPERM; nobody is killed for it.
 *
 * What is granted on the way in is what a worker may open later.  Descriptors
 * that it holds, or is given, stay of use.
 */
struct sandbox;

/* What a row may leave. */
enum sandbox_may {
    SANDBOX_NOTHING = 0,
    SANDBOX_CONNECT = 1 << 0, /* to TCP ports, and read files, as told below */
    SANDBOX_ACCEPT = 1 << 1,  /* connections on a socket that it was granted */
    SANDBOX_RECORD = 1 << 2,  /* cut a file that it was granted */
    SANDBOX_NAMES = 1 << 3,   /* look up names; never in a row */
};

/* Of the row of that role. */
struct sandbox *sandbox_new(enum role role);
void sandbox_free(struct sandbox *box); /* NULL is fine */

/* For those that may connect.  The file can be read again later, whatever it
 * has been replaced by meanwhile; so can all that lies beside it. */
void sandbox_read(struct sandbox *box, const char *file);
void sandbox_connect(struct sandbox *box, uint16_t port);

/* Names are looked up, which takes a thread and UDP. */
void sandbox_names(struct sandbox *box);

/* It connects to nothing after all. */
void sandbox_stay(struct sandbox *box);

/* At most so many bytes of memory; 0: no limit. */
void sandbox_memory(struct sandbox *box, int64_t bytes);

/* Of a process that has no threads yet.  lacking says what is not in force and
 * why, one line, or is empty. */
void sandbox_enter(const struct sandbox *box, struct err *lacking);

#endif
