/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_HEALTH_H
#define SUPERVISOR_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "proto/role.h"

struct value;

/*
 * What the workers report, and what follows for the whole: is this replica
 * ready (mokka-control 2.5), and may the elector contend.  Pure: times are
 * passed in.
 *
 * Ready = informer and placer are synchronised AND this replica stands by, or
 * leads and has planned in the present term.  An informer or placer that was
 * fine and is away for less than ten seconds changes nothing; the absence of
 * the others never does: a standby stays one until the next elector has found
 * out, and a leader for as long as the lease page grants the term.  In shadow
 * there is no Lease: it is ready while the projector says that nothing would be
 * written.
 */
#define HEALTH_GRACE INT64_C(10000000000)
#define HEALTH_FACTS 32

struct fact {
    char name[32];
    int64_t number;
};

struct report {
    bool ok;
    char reason[512]; /* why it is not ok */
    struct fact facts[HEALTH_FACTS];
    unsigned count;
    int64_t lost; /* it was ok until then and is not again; 0 otherwise */
};

struct health {
    struct report reports[ROLE_COUNT];
    int64_t deadline; /* of the term, as the lease page has it; 0: none. Set by
                         the owner before each question */
    int64_t planned;  /* the last term that the placer has planned in */
    bool stood_by;    /* the elector before the present one did */
    bool stopping;
};

/* Values of the elector's fact "view". */
enum view {
    VIEW_STOPPED,
    VIEW_WAITING,
    VIEW_STANDBY,
    VIEW_LEADER,
    VIEW_SHADOW
};

/* Takes the body of a STATE. -1 and err if it is not one. */
int health_report(struct health *health, enum role role,
                  const struct value *body, struct err *err);

/* The worker died at now; what it said last stands for the grace. */
void health_died(struct health *health, enum role role, int64_t now);

/* What keeps a worker that is not ok from its work, until it reports itself. */
void health_waits(struct health *health, enum role role, const char *reason);

/* Informer and placer are synchronised: the elector may contend. */
bool health_synchronised(const struct health *health, int64_t now);

/* Whether this replica is ready; if not, reason says what it waits for. */
bool health_ready(const struct health *health, int64_t now, struct err *reason);

/* When the first of the graces that run at now is over, or the term, which may
 * change the answers above without any report; 0: none runs. */
int64_t health_due(const struct health *health, int64_t now);

/* The body of READINESS. */
void health_pack(struct buf *out, const struct health *health, int64_t now);

#endif
