/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_ROLE_H
#define PROTO_ROLE_H

#include <stdbool.h>
#include <stdint.h>

/* Who can stand at an end of a link: the supervisor and the workers of
 * supervisor/topology.def, in its order. */
enum role {
    ROLE_SUPERVISOR,
#define WORKER(role, name, stop, patience) ROLE_##role,
#include "supervisor/topology.def"
    ROLE_COUNT,
    ROLE_USER = ROLE_COUNT /* mokkactl, at the control socket */
};

/* Sets of roles, for routes. */
enum {
    R_SUPERVISOR = 1u << ROLE_SUPERVISOR,
#define WORKER(role, name, stop, patience) R_##role = 1u << ROLE_##role,
#include "supervisor/topology.def"
    R_WORKERS = ((1u << ROLE_COUNT) - 1) & ~1u,
    R_USER = 1u << ROLE_USER
};

/* Descriptors that the supervisor grants. */
enum resource {
    RESOURCE_LEASE_PAGE,
    RESOURCE_LEASE_VIEW,
    RESOURCE_LISTENER,
    RESOURCE_RECORDING,
    RESOURCE_TRACE, /* to each start of every worker (common/trace.h) */
    RESOURCE_COUNT
};

/* The name as in the topology; "supervisor" for ROLE_SUPERVISOR, "mokkactl" for
 * ROLE_USER. */
const char *role_name(enum role role);

/* The supervisor or worker of that name; false if there is none. */
bool role_find(const char *name, enum role *role);

#endif
