/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate admission (mokka-api 8.2, 8.3).
 *
 * All steps walk the inventories in the order creation, name, uid.
 *
 *   Budget     of 64 groups, by the declared ones, first fit; without uid or
 *              deleting: passed by.  Validity plays no part, so a broken
 *              inventory uses it too.
 *   Candidate  budgeted, not deleting, valid, with a resolved group.
 *   Target     what a candidate is charged: its resolved groups as declared and
 *              its unresolved ones as they exist.
 *   Fixed      all racks that exist, less those of candidates.
 *   Admission  from fixed on, each candidate whose target still fits, whole or
 *              not at all; a later, smaller one may fit.
 *   Readiness  from what exists on: an admitted one that does not grow is
 *              ready; one that grows is if its growth fits and no earlier one
 *              was put off.  So room is claimed only after it was given back.
 *
 * A sum that cannot be counted does not fit.
 */
#include "placer/admit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"

/* An inventory on its way through the steps. */
struct row {
    const struct admit_inventory *in;
    struct admit_verdict *out;
    struct capacity target;
    bool candidate, admitted;
};

const char *
admit_name(enum admit_decision decision)
{
    static const char *const decisions[ADMIT_COUNT] = {
        [ADMIT_ACCEPTED] = "accepted",
        [ADMIT_PENDING] = "pending",
        [ADMIT_REJECTED] = "rejected",
        [ADMIT_ASIDE] = "aside",
    };

    return decisions[decision];
}

int
admit_cmp(const struct admit_inventory *a, const struct admit_inventory *b)
{
    int order = (a->created > b->created) - (a->created < b->created);

    if (order == 0)
        order = str_cmp(a->ref.name, b->ref.name);
    return order != 0 ? order : str_cmp(a->ref.uid, b->ref.uid);
}

static int
compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    return admit_cmp(x->in, y->in);
}

/* a + b into *sum; false if that cannot be counted or is not supported. */
static bool
fits(struct capacity a, struct capacity b, struct capacity *sum)
{
    *sum = a;
    return capacity_add(sum, b, NULL) == 0 && capacity_check(*sum, NULL) == 0;
}

static int64_t
more(int64_t wanted, int64_t now)
{
    return wanted > now ? wanted - now : 0;
}

static void
budget(struct row *rows, size_t count)
{
    int64_t left = MAX_GROUPS;

    for (size_t i = 0; i < count; i++) {
        const struct admit_inventory *in = rows[i].in;

        if (in->ref.uid.n == 0 || in->deleting || in->declared < 1 ||
            in->declared > left)
            continue;
        rows[i].out->budgeted = true;
        left -= in->declared;
    }
}

/* Marks them, sums their targets, and takes what they have off *fixed. */
static void
pick_candidates(struct row *rows, size_t count, struct capacity *fixed)
{
    for (size_t i = 0; i < count; i++) {
        struct row *r = &rows[i];

        if (!r->out->budgeted || !r->in->valid || !r->in->resolved)
            continue;
        r->candidate = true;
        r->target = r->in->desired;
        if (capacity_add(&r->target, r->in->kept, NULL) != 0)
            r->target = (struct capacity){INT64_MAX, INT64_MAX, INT64_MAX};
        capacity_sub(fixed, r->in->existing);
    }
}

static void
admit_candidates(struct row *rows, size_t count, struct capacity running)
{
    struct capacity sum;

    for (size_t i = 0; i < count; i++) {
        if (!rows[i].candidate || !fits(running, rows[i].target, &sum))
            continue;
        rows[i].admitted = true;
        running = sum;
    }
}

/* Decides the admitted ones. */
static void
ready(struct row *rows, size_t count, struct capacity peak)
{
    bool put_off = false;

    for (size_t i = 0; i < count; i++) {
        const struct capacity *want = &rows[i].target;
        const struct capacity *have = &rows[i].in->existing;
        struct capacity sum;

        if (!rows[i].admitted || !capacity_exceeds(*want, *have))
            continue;
        if (put_off || !fits(peak,
                             (struct capacity){more(want->racks, have->racks),
                                               more(want->nodes, have->nodes),
                                               more(want->gpus, have->gpus)},
                             &sum)) {
            put_off = true;
            rows[i].out->decision = ADMIT_PENDING;
        } else {
            peak = sum;
        }
    }
}

/* What can be said of one by itself. */
static enum admit_decision
decision(const struct row *r)
{
    if (r->in->ref.uid.n == 0 || r->in->deleting || !r->in->valid)
        return ADMIT_ASIDE;
    if (!r->out->budgeted || (r->candidate && !r->admitted))
        return ADMIT_REJECTED;
    return ADMIT_ACCEPTED;
}

void
admit(const struct admit_inventory *inventories, size_t count,
      struct capacity total, struct admit_verdict *verdicts)
{
    struct row *rows = mem_zalloc(count * sizeof(*rows));
    struct capacity fixed = total;

    for (size_t i = 0; i < count; i++) {
        verdicts[i] = (struct admit_verdict){ADMIT_ASIDE, false};
        rows[i] = (struct row){.in = &inventories[i], .out = &verdicts[i]};
    }
    qsort(rows, count, sizeof(*rows), compare_rows);
    budget(rows, count);
    pick_candidates(rows, count, &fixed);
    admit_candidates(rows, count, fixed);
    for (size_t i = 0; i < count; i++)
        rows[i].out->decision = decision(&rows[i]);
    ready(rows, count, total);
    free(rows);
}

void
admit_explain(const struct admit_inventory *v, struct err *why)
{
    err_set(why,
            "inventory %.*s does not fit: it declares %" PRId64
            " rack groups with %" PRId64 " Nodes; all inventories together "
            "have room for %d rack groups and %d Nodes, and the oldest that "
            "fit come first",
            (int)v->ref.name.n, v->ref.name.s, v->declared, v->desired.nodes,
            MAX_GROUPS, MAX_NODES);
}
