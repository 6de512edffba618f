/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_INPUT_H
#define MOKKACTL_INPUT_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/* A file, or stdin, that is read piece by piece. */
struct input;

/* path "-" is stdin. NULL and err if it cannot be opened or is no file. */
struct input *input_open(const char *path, struct err *err);

/* NULL is fine. */
void input_close(struct input *in);

/* The first byte that is no space, which stays to be read; 0 if there is none
 * (within the first 64 KiB).  A byte order mark of UTF-8 is taken away. */
char input_peek(struct input *in);

/* Reads at most n bytes to room: their number, 0 at the end, -1 if reading
 * failed (see input_failure). in is a struct input. */
ssize_t input_read(void *in, char *room, size_t n);

/* What errno was when reading failed; 0 if it did not. */
int input_failure(const struct input *in);

/* All that was read so far. */
size_t input_bytes(const struct input *in);

#endif
