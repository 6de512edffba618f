/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_DUMP_H
#define INFORMER_DUMP_H

#include "common/buf.h"
#include "informer/store.h"

/* Appends the cache, a line of JSON for each kind, then for each object: the
 * record that its reader gets. */
void dump_store(struct buf *out, const struct store *store);

#endif
