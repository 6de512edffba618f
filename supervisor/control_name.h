/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_CONTROL_NAME_H
#define SUPERVISOR_CONTROL_NAME_H

#include <sys/un.h>

#include "common/err.h"

/*
 * Where the control socket is: "@NAME" stands for an abstract socket (no file;
 * it is found by every process in the same network namespace), anything else
 * for a path.
 */
#define CONTROL_NAME_PREFIX "@mokka/"

struct control_name {
    struct sockaddr_un address;
    unsigned length; /* for bind and connect */
};

/* The address of that text. -1 and err if it is too long. */
int control_name_read(struct control_name *name, const char *text,
                      struct err *err);

/* Whether it is a name at all; for options.def. */
int control_name_check(const char *text, struct err *err);

/* The usual one: that of the Lease. Free with free(). */
char *control_name_of_lease(const char *space, const char *name);

#endif
