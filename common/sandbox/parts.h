/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_SANDBOX_PARTS_H
#define COMMON_SANDBOX_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * What sandbox.c puts together, one file for each mechanism.  Each part is
 * entered by itself: -1 and err say what of it is not in force.
 */
struct sandbox {
    unsigned may; /* SANDBOX_... */
    unsigned descriptors;
    int64_t memory; /* bytes; 0: no limit */
    char **files;
    size_t file_count;
    uint16_t *ports;
    size_t port_count;
};

/* No new privileges, and no capabilities; but the one to read files where that
 * takes one. */
int privileges_enter(const struct sandbox *box, struct err *err);

/* RLIMIT_NOFILE and RLIMIT_DATA; limits that are lower already stay. */
int limits_enter(const struct sandbox *box, struct err *err);

int landlock_enter(const struct sandbox *box, struct err *err);

/* What a kernel with that version of Landlock cannot keep from a process that
 * may do that; NULL: nothing. */
const char *landlock_lacks(int version, unsigned may);

int seccomp_enter(const struct sandbox *box, struct err *err);

/* The filter in words, as libseccomp writes it, for the architecture of that
 * libseccomp token (0: this one). */
int seccomp_print(const struct sandbox *box, uint32_t architecture, int fd,
                  struct err *err);

#endif
