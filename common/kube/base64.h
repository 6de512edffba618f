/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_BASE64_H
#define COMMON_KUBE_BASE64_H

#include "common/buf.h"
#include "common/err.h"
#include "common/str.h"

/* Appends what text stands for to out: the standard alphabet, padded, white
 * space ignored. -1 and err, which never shows the text, if it is malformed;
 * out may then hold a part of it. */
int base64_decode(struct str text, struct buf *out, struct err *err);

#endif
