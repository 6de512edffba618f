/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_DEFAULTS_H
#define MOKKACTL_DEFAULTS_H

#include <jansson.h>

#include "supervisor/mokkactl/schema.h"

/*
 * What a server would have set and the input does not have:
 *
 *     uid                the version 5 UUID of "KIND/NAME" in the namespace
 *                        DEFAULT_NAMESPACE, so that it is the same in every run
 *     creationTimestamp  DEFAULT_TIME, after that of whatever exists: who has
 *                        none is not created yet, so others come first
 *     generation         1 (Nodes have none)
 *     resourceVersion    1
 */
#define DEFAULT_TIME "2100-01-01T00:00:00Z"

/* The version 5 UUID of "plan.mokka.nvidia.com" among DNS names. */
#define DEFAULT_NAMESPACE "743185b4-eea9-5e98-9122-e1d4cfce0d3f"

#define DEFAULT_UID 37 /* with the NUL */

/* The uid of an object; again counts those of the same kind and name that were
 * there before it (text is then "KIND/NAME/1", ...). */
void default_uid(const char *kind, const char *name, unsigned again,
                 char uid[DEFAULT_UID]);

/* Puts in what the object's metadata does not have. */
void default_metadata(json_t *object, const struct schema *schema);

#endif
