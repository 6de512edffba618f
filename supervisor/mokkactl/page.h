/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_PAGE_H
#define MOKKACTL_PAGE_H

#include "common/buf.h"
#include "common/err.h"

/* Appends to out what a server on this machine answers to GET path. address is
 * host:port as the control plane logs it, "[::]" being this machine. -1 and err
 * if there is no answer within some seconds, or no page, or one that is endless
 * or larger than 16 MiB. */
int page_get(const char *address, const char *path, struct buf *out,
             struct err *err);

#endif
