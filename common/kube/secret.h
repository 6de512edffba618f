/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_KUBE_SECRET_H
#define COMMON_KUBE_SECRET_H

#include "common/str.h"

/*
 * Texts that no core of ours may hold: in pages of their own, which the kernel
 * leaves out of a core, and which are wiped when they are given back.  Meant
 * for few: each takes a page at least.
 */

/* A copy, with a NUL after it that is not counted. */
struct str secret_keep(struct str text);

/* prefix and text, one after the other, likewise. */
struct str secret_join(struct str prefix, struct str text);

/* Wipes it and gives it back; a zeroed one is fine. */
void secret_drop(struct str *secret);

/* Has libcurl wipe whatever it frees: it copies headers to send them. To be
 * called before anything else of libcurl. */
void secret_from_curl(void);

#endif
