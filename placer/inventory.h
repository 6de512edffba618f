/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_INVENTORY_H
#define PLACER_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/err.h"
#include "placer/selector.h"
#include "proto/object.h"

/* An SGPUInventory, checked by itself (mokka-api 6.1). */
enum inventory_verdict {
    INVENTORY_VALID,
    INVENTORY_INVALID,  /* one of I1 to I7 */
    INVENTORY_TOO_LARGE /* valid, but its counts exceed 100000 in sum */
};

struct inventory_group {
    struct str id;
    struct str profile; /* name; empty if it has none */
    int64_t count;      /* 0 if it has none or no number */
    struct selector selector;
    bool sound; /* I3, I5, I6, I7 hold; if not, selector may be empty: do not
                 * match by it */
};

struct inventory {
    struct str name, uid; /* NUL-terminated */
    int64_t declared;     /* groups in the spec: the group budget (8.2) */
    enum inventory_verdict verdict;
    struct err issue; /* unless valid: the first failure, naming group, field,
                       * value, limit */

    /* In list order; of an invalid inventory at most the first 64, for its
     * status. Ids may then occur twice. */
    struct inventory_group *groups;
    size_t group_count;
    struct arena arena;
};

/*
 * Compiles what the feed says to *v, which needs no initialisation and is given
 * back with inventory_fini.  Never fails; takes over nothing.
 */
void inventory_compile(struct inventory *v, const struct object_meta *meta,
                       const struct value *spec);

/* Frees what it holds. A zeroed one may be given. */
void inventory_fini(struct inventory *v);

/* The first group with that id, or NULL. */
const struct inventory_group *inventory_group(const struct inventory *v,
                                              struct str id);

#endif
