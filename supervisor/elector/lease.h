/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELECTOR_LEASE_H
#define ELECTOR_LEASE_H

#include <stdint.h>

#include "common/err.h"

struct json_t;

/* An absent time, or one that nanoseconds since 1970 cannot hold. */
#define LEASE_NO_TIME INT64_MIN

/* What a Lease says, as far as an election needs it. */
struct lease_record {
    const char *holder; /* "": nobody */
    int64_t duration;   /* whole seconds, as the holder asked; 0: not said */
    int64_t acquired;   /* wall times */
    int64_t renewed;
    int64_t transitions; /* 0 if not said */
};

/* Reads the Lease; holder is borrowed from it.  -1 and err if it is no Lease
 * or a field is of another type. */
int lease_read(const struct json_t *lease, struct lease_record *record,
               struct err *err);

/* The same of an item of a list, which does not say its kind. */
int lease_read_item(const struct json_t *lease, struct lease_record *record,
                    struct err *err);

/* A new Lease with the record in it, to be created. */
struct json_t *lease_new(const char *namespace, const char *name,
                         const struct lease_record *record);

/*
 * A copy of live with the record in its spec, to be sent as an update.  All
 * else stays as it is there: fields that we do not know, and the
 * resourceVersion, so that the update fails if anybody wrote in between.  A
 * time that the record does not have stays, too.
 */
struct json_t *lease_with(const struct json_t *live,
                          const struct lease_record *record);

#endif
