/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_NAMES_H
#define PLACER_NAMES_H

/*
 * The names and limits of the API that product rules use (mokka-api 0.1).
 * Other tools read and write the same ones: they never change.
 */
#define API_GROUP "mokka.nvidia.com"
#define API_VERSION "mokka.nvidia.com/v1alpha1"
#define KIND_NAME_INVENTORY "SGPUInventory"

#define LABEL_ELIGIBLE "mokka.nvidia.com/sgpu-node" /* on Nodes, "true" */
#define LABEL_ASSIGNED "mokka.nvidia.com/sgpu-assigned"
#define LABEL_CLIQUE "nvidia.com/gpu.clique"
#define ANNOTATION_ASSIGNMENT "mokka.nvidia.com/sgpu-assignment"

#define LABEL_INVENTORY "mokka.nvidia.com/inventory"
#define LABEL_GROUP "mokka.nvidia.com/rack-group"
#define LABEL_INDEX "mokka.nvidia.com/rack-index"
#define ANNOTATION_INVENTORY_UID "mokka.nvidia.com/inventory-uid"

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
