/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_WHICH_LEASE_H
#define MOKKACTL_WHICH_LEASE_H

#include "common/err.h"
#include "supervisor/mokkactl/command.h"

struct server;

/* Which Lease a command is about. */
struct which_lease {
    char *space, *name;
};

/*
 * Finds it; the first that knows decides: --namespace and --lease; the
 * environment of a control plane; the cluster, where one namespace alone has a
 * Lease of that name; the control plane of socket (see live_open); the
 * kubeconfig's context.  -1 and err, with nothing to free, if none of them
 * does, or several namespaces have one.
 */
int which_lease_find(struct which_lease *lease, const struct ctl_args *args,
                     const char *socket, struct server *server,
                     struct err *err);

void which_lease_fini(struct which_lease *lease);

#endif
