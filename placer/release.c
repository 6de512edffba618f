/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/release.h"

static const struct {
    const char *name;
    bool revocable, frees;
} releases[RELEASE_COUNT] = {
    [RELEASE_CAPACITY_REJECTED] = {"CapacityRejected", true, true},
    [RELEASE_CAPACITY_SHRINK] = {"CapacityShrink", true, true},
    [RELEASE_GROUP_REMOVED] = {"GroupRemoved", true, true},
    [RELEASE_INVENTORY_DELETING] = {"InventoryDeleting", false, true},
    [RELEASE_NODE_GONE] = {"NodeGone", true, false},
    [RELEASE_NODE_INELIGIBLE] = {"NodeIneligible", true, false},
    [RELEASE_RACK_DELETING] = {"RackDeleting", false, true},
    [RELEASE_SELECTOR_MISMATCH] = {"SelectorMismatch", true, false},
};

const char *
release_name(enum release reason)
{
    return releases[reason].name;
}

bool
release_revocable(enum release reason)
{
    return releases[reason].revocable;
}

bool
release_frees(enum release reason)
{
    return releases[reason].frees;
}
