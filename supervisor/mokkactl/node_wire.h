/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_NODE_WIRE_H
#define MOKKACTL_NODE_WIRE_H

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/kube/meta.h"

/*
 * Metadata as the API server sends that of Nodes: a PartialObjectMetadata in
 * protobuf.  Appends it to wire, which must be empty, and decodes it again:
 * *meta then has views of wire.  The keys in ours (KEY_...) are said to be
 * owned by us, beside what managedFields says.  -1 and err if it cannot be
 * decoded.
 */
int node_wire(struct buf *wire, struct kube_meta *meta, const json_t *metadata,
              int ours, struct err *err);

#endif
