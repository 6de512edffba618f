/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_MANAGED_H
#define MOKKACTL_MANAGED_H

#include <jansson.h>

#include "proto/intent.h"

/*
 * What server-side apply by the control plane does to a Node's metadata: the
 * three projected keys and the entry in managedFields that says whose they are
 * (KEY_... of proto/object.h).
 */

/* Sets our keys as the intent says (an empty clique: not that one); returns
 * the set. */
int managed_set(json_t *metadata, const struct intent_node *i);

/* Takes off the keys in the set. */
void managed_clear(json_t *metadata, int set);

/* Makes the entry in managedFields say that these are ours; none: drops it. */
void managed_claim(json_t *metadata, int set);

/* Which keys are there at all. */
int managed_present(const json_t *metadata);

/* FieldsV1 that holds the keys in the set, as JSON text. */
void managed_fields(struct buf *out, int set);

#endif
