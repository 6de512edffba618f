/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_PROFILE_H
#define PLACER_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/object.h"

/*
 * An SGPURackProfile, checked and reduced to what racks are made of
 * (mokka-api 4, 5).
 */
#define PROFILE_REVISION 65 /* 64 hex digits and NUL */

/* A GPU's place in every Node. */
struct profile_slot {
    int32_t index;
    char pci[13];  /* 0000:11:00.0 */
    char root[11]; /* pci0000:10 */
    int32_t numa, host_cpu;
};

struct profile {
    char *name, *uid;
    int64_t generation;
    bool valid;
    struct err
        issue; /* if not: the first failure, naming field, value, limit */

    /* Of a valid one: */
    char revision[PROFILE_REVISION];
    int32_t nodes_per_rack;     /* 1..1024 */
    int32_t gpus;               /* per Node, 1..64; as many slots */
    struct profile_slot *slots; /* sorted by index: 0, 1, ... */
};

/*
 * Compiles what the feed says to *p, which needs no initialisation and is
 * given back with profile_fini.  Never fails: a bad spec (rules P1 to P14, a
 * wrong type anywhere, a quantity that does not parse) makes a profile that is
 * not valid.  Takes over nothing.  Time is linear in the spec.
 */
void profile_compile(struct profile *p, const struct object_meta *meta,
                     const struct value *spec);

/* Frees what it holds. A zeroed one may be given. */
void profile_fini(struct profile *p);

#endif
