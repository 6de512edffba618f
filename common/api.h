/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_API_H
#define COMMON_API_H

/*
 * The names and limits of the API: what stands in the cluster and what other
 * tools read and write.  They never change, or what was written under the old
 * name would stay behind.  This is their only place in our programs; crds/ and
 * deploy/ repeat those they need.
 */
#define API_GROUP "mokka.nvidia.com"
#define API_VERSION "v1alpha1"
#define API_GROUP_VERSION API_GROUP "/" API_VERSION /* member apiVersion */

#define API_PROFILE "SGPURackProfile"
#define API_INVENTORY "SGPUInventory"
#define API_RACK "SGPURack"
#define API_PROFILES "sgpurackprofiles" /* in paths */
#define API_INVENTORIES "sgpuinventories"
#define API_RACKS "sgpuracks"

/* Who writes racks and what we apply to Nodes. */
#define FIELD_MANAGER "mokka-controller"

/* On Nodes; the first two have this value, and nothing else will do. */
#define LABEL_TRUE "true"
#define LABEL_ELIGIBLE "mokka.nvidia.com/sgpu-node"
#define LABEL_ASSIGNED "mokka.nvidia.com/sgpu-assigned"
#define LABEL_CLIQUE "nvidia.com/gpu.clique"
#define ANNOTATION_ASSIGNMENT "mokka.nvidia.com/sgpu-assignment"

/* On racks. */
#define LABEL_INVENTORY "mokka.nvidia.com/inventory"
#define LABEL_GROUP "mokka.nvidia.com/rack-group"
#define LABEL_INDEX "mokka.nvidia.com/rack-index"
#define ANNOTATION_INVENTORY_UID "mokka.nvidia.com/inventory-uid"

/* Of a condition: Nodes do not carry yet what they are to. */
#define REASON_PROJECTING "ProjectionIncomplete"

#define FINALIZER_INVENTORY "mokka.nvidia.com/inventory-cleanup"
#define FINALIZER_RACK "mokka.nvidia.com/rack-cleanup"

#define MAX_NODES 100000 /* logical Nodes, all inventories */
#define MAX_RACKS 100000 /* all inventories, and of one group */
#define MAX_GROUPS 64    /* declared, all inventories, and of one */
#define MAX_STATUS 2147483647
#define MAX_NODES_PER_RACK 1024
#define MAX_GPUS 64            /* in a Node */
#define MAX_RACK_BYTES 1048576 /* of a rack's spec without bindings */

#define CLIQUE_ID 0

#endif
