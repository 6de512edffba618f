/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_MANAGED_H
#define MOKKACTL_MANAGED_H

#include <jansson.h>
#include <stdbool.h>

#include "proto/intent.h"

/*
 * What server-side apply by the control plane does to a Node's metadata: the
 * three projected keys and the entry in managedFields that says whose they are
 * (KEY_... of proto/object.h).
 */

/* Sets our keys as the intent says (an empty clique: not that one). */
void managed_apply(json_t *metadata, const struct intent_node *i);

/* Takes off the keys in the set that are ours alone, and our entry. */
void managed_release(json_t *metadata, int ours_alone);

/* A Node without managedFields that carries an assignment: its keys are taken
 * as ours. false if it carries none. */
bool managed_adopt(json_t *metadata);

#endif
