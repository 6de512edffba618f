/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_OBJECTS_H
#define MOKKACTL_OBJECTS_H

#include "placer/questions.h"
#include "supervisor/mokkactl/cluster.h"

/* A question of placer/questions.h with its arguments. */
typedef int objects_question_fn(const struct placer *p,
                                const struct str *arguments, struct buf *out,
                                struct err *err);

/*
 * Adds what the API server has now of profiles, inventories, racks and Nodes
 * (of these only their metadata), read as kubeconfig says (see server_open);
 * nothing is written.  -1 and err; some may have been added then, and what is
 * wrong with single objects is among the problems.
 */
int objects_read(struct cluster *cluster, struct problems *problems,
                 const char *kubeconfig, struct err *err);

/*
 * Asks a placer that holds what the API server has now: profiles, inventories,
 * racks and Nodes are read once, as kubeconfig says (see server_open), and
 * nothing is written.  It knows what a standby knows.  -1 and err.
 */
int objects_ask(const char *kubeconfig, objects_question_fn *question,
                const struct str *arguments, struct buf *out, struct err *err);

#endif
