/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_MOMENT_H
#define PROTO_MOMENT_H

#include "proto/pack.h"
#include "proto/unpack.h"

/*
 * From when on what is written is known: a term of ours, and in it the number
 * of the projector's ledger.  What earlier terms, or projectors that died, have
 * written may be known to nobody; a list that was asked for later shows it.
 */
struct moment {
    uint64_t term;   /* 0: no moment */
    uint64_t ledger; /* rises in a term */
};

/* Is a not earlier than b?  Moments of two terms have no order. */
static inline bool
moment_covers(struct moment a, struct moment b)
{
    return a.term == b.term && a.ledger >= b.ledger;
}

/* Two fields of a body. */
static inline void
pack_moment(struct buf *out, struct moment m)
{
    pack_int(out, (int64_t)m.term);
    pack_int(out, (int64_t)m.ledger);
}

static inline struct moment
unpack_moment(struct unpack *u)
{
    int64_t term = unpack_int(u);
    int64_t ledger = unpack_int(u);

    return (struct moment){(uint64_t)term, (uint64_t)ledger};
}

/* Neither number was negative. */
static inline bool
moment_is_sound(struct moment m)
{
    return m.term <= INT64_MAX && m.ledger <= INT64_MAX;
}

#endif
