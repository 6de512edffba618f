/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_RELEASE_H
#define PLACER_RELEASE_H

#include <stdbool.h>

/*
 * Why a binding is given up (mokka-control 4.5).  In the order of the names, so
 * that comparing the numbers compares the texts.
 */
enum release {
    RELEASE_CAPACITY_REJECTED,
    RELEASE_CAPACITY_SHRINK,
    RELEASE_GROUP_REMOVED,
    RELEASE_INVENTORY_DELETING,
    RELEASE_NODE_GONE,
    RELEASE_NODE_INELIGIBLE,
    RELEASE_RACK_DELETING,
    RELEASE_SELECTOR_MISMATCH,
    RELEASE_COUNT
};

/* "CapacityRejected", ... */
const char *release_name(enum release reason);

/* Could a later plan take it back? (9.6) */
bool release_revocable(enum release reason);

/* Does its cleanup free capacity, so that growth waits for it? (8.4) */
bool release_frees(enum release reason);

#endif
