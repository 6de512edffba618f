/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTO_INTENT_H
#define PROTO_INTENT_H

#include "proto/object.h"

/*
 * What the placer wants written, and what became of it.  An intent stands for
 * one action on one object; a later one for the same action and name takes its
 * place.  It stands until the placer withdraws it, which it does when the feed
 * shows the wish fulfilled.  The frame's id numbers the intents, and a RESULT
 * carries the id of the intent that it answers.
 */
enum action {
    ACTION_RACK,                /* RACK_WRITE or RACK_DELETE */
    ACTION_NODE,                /* NODE_APPLY */
    ACTION_INVENTORY_FINALIZER, /* FINALIZER */
    ACTION_INVENTORY_STATUS,    /* STATUS_WRITE */
    ACTION_RACK_STATUS,         /* STATUS_WRITE */
    ACTION_COUNT
};

/* "rack", "node", ... for logs. */
const char *action_name(enum action action);

/* The object as the placer saw it; uid and version are empty for one that is
 * to be created. */
struct target {
    struct str name, uid, version;
};

struct intent_rack {
    struct target target;
    int64_t generation; /* of the spec that stood; 0 for a new rack */
    struct pairs labels, annotations;
    struct strs finalizers;
    struct owners owners;
    struct str spec; /* JSON text, bindings included */
};

/*
 * The projection of one binding onto its Node (mokka-control 4.1), or its
 * release (4.4).  A release of a Node that its author does not see (the
 * target's version is empty) is decided by a live read, by the same rules.
 */
struct intent_node {
    struct target target;
    /* Value of label nvidia.com/gpu.clique; empty: it is not ours to write, nor
     * to look at. */
    struct str clique;
    /* Value of mokka.nvidia.com/sgpu-assignment: it names the binding. */
    struct str annotation;
    bool release; /* give up our keys instead */
    bool keep;    /* of a release: not the annotation (4.4 step 6) */
    /* Of a release: only if a live read finds no rack of the name and uid in
     * the annotation (4.1 step 6). */
    bool stray;
};

struct intent_finalizer {
    struct target target;
    struct str finalizer;
    bool present; /* to be there, or to be gone */
};

struct intent_status {
    struct target target;
    enum action action; /* ACTION_INVENTORY_STATUS or ACTION_RACK_STATUS */
    struct object_status status;
};

/* News about an object for its users, a Kubernetes Event; no intent: nobody
 * answers it. */
struct intent_event {
    struct target target;
    enum object_kind kind;
    bool warning; /* else normal */
    struct str reason, message, action;
};

/* How an intent ended. A transient failure ends none: the projector goes on
 * trying. */
enum outcome {
    OUTCOME_DONE,     /* stands now; version tells since when */
    OUTCOME_STALE,    /* the object is no longer what the intent assumed */
    OUTCOME_GONE,     /* no object of that name and uid any more */
    OUTCOME_INVALID,  /* refused for its content; sending it again is no use */
    OUTCOME_CONFLICT, /* somebody else owns what would have to be changed */
    OUTCOME_KEPT,     /* released, and others keep keys of it on the Node */
    OUTCOME_COUNT
};

const char *outcome_name(enum outcome outcome);

struct result {
    enum action action;
    enum outcome outcome;
    struct str name, uid, version;
    struct str reason; /* one line for people; empty when done */
};

void intent_rack_pack(struct buf *out, const struct intent_rack *i);
void intent_node_pack(struct buf *out, const struct intent_node *i);
void intent_finalizer_pack(struct buf *out, const struct intent_finalizer *i);
void intent_status_pack(struct buf *out, const struct intent_status *i);
void intent_event_pack(struct buf *out, const struct intent_event *i);
void intent_delete_pack(struct buf *out, const struct target *target);
void intent_withdraw_pack(struct buf *out, enum action action, struct str name);
void result_pack(struct buf *out, const struct result *r);
void written_pack(struct buf *out, enum action action, const struct target *t);

/* All copy to the arena. -1 and err on a body that is not as the catalogue
 * says. */
int intent_rack_unpack(struct intent_rack *i, const struct value *body,
                       struct arena *arena, struct err *err);
int intent_node_unpack(struct intent_node *i, const struct value *body,
                       struct arena *arena, struct err *err);
int intent_finalizer_unpack(struct intent_finalizer *i,
                            const struct value *body, struct arena *arena,
                            struct err *err);
int intent_status_unpack(struct intent_status *i, const struct value *body,
                         struct arena *arena, struct err *err);
int intent_event_unpack(struct intent_event *i, const struct value *body,
                        struct arena *arena, struct err *err);
int intent_delete_unpack(struct target *target, const struct value *body,
                         struct arena *arena, struct err *err);
int intent_withdraw_unpack(enum action *action, struct str *name,
                           const struct value *body, struct arena *arena,
                           struct err *err);
int result_unpack(struct result *r, const struct value *body,
                  struct arena *arena, struct err *err);
int written_unpack(enum action *action, struct target *t,
                   const struct value *body, struct arena *arena,
                   struct err *err);

/* <0, 0, >0: a before, equal to, after b.  resourceVersions of one resource
 * are decimal numbers of any length; one that is no number counts as oldest. */
int version_cmp(struct str a, struct str b);

#endif
