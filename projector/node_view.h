/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROJECTOR_NODE_VIEW_H
#define PROJECTOR_NODE_VIEW_H

#include "common/cleanup.h"
#include "common/kube/meta.h"
#include "common/kube/owned.h"
#include "proto/intent.h"

/*
 * A Node in an answer, as far as a projection is concerned: what the three keys
 * say and whose they are.  Sets are bits of enum projected_key.
 */
struct node_view {
    struct kube_meta meta; /* borrowed from the answer, texts below too */
    struct str annotation;
    int present; /* keys that are there; an empty annotation is not */
    int right;   /* those that say what the intent wants */
    bool names;  /* the annotation is of the rack and Node that the intent's
                    is of, whatever the slot (4.4 step 4) */
    struct owned_keys owned;
};

/* Compares the Node with the intent. -1 and err (nothing to free then) if the
 * bytes are no metadata of an object. */
int node_view_read(struct node_view *v, struct str answer,
                   const struct intent_node *i, struct err *err);
/* The same of metadata that was decoded already. */
void node_view_compare(struct node_view *v, const struct intent_node *i);
void node_view_fini(struct node_view *v);

/* The keys that an intent is about. */
int node_view_keys(const struct intent_node *i);

/* What a release of it takes. */
enum cleanup node_view_cleanup(const struct node_view *v,
                               const struct intent_node *i);

/* Of a release that was carried out: the keys that are still there. */
int node_view_kept(const struct node_view *v, const struct intent_node *i);

#endif
