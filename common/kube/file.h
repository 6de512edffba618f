/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_FILE_H
#define COMMON_KUBE_FILE_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * Appends the content of the file at path, which may have at most limit bytes,
 * to out.  -1 and err if it cannot be read: it names the path and, where
 * permission is what lacks, who we are and whose the file is.
 */
int file_read(const char *path, size_t limit, struct buf *out, struct err *err);

/* Overwrites what out holds, then frees it: for keys and tokens. */
void file_wipe(struct buf *out);

#endif
