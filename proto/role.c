/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/role.h"

#include <string.h>

#include "common/mem.h"

static const char *const names[] = {
    "supervisor",
#define WORKER(role, name, stop, patience) name,
#include "supervisor/topology.def"
};

_Static_assert(nitems(names) == ROLE_COUNT, "one name for each role");

const char *
role_name(enum role role)
{
    if (role == ROLE_USER)
        return "mokkactl";
    return (unsigned)role < ROLE_COUNT ? names[role] : "unknown";
}

bool
role_find(const char *name, enum role *role)
{
    for (unsigned i = 0; i < ROLE_COUNT; i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        *role = (enum role)i;
        return true;
    }
    return false;
}
