/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_STORY_H
#define MOKKACTL_STORY_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/log.h"
#include "common/map.h"
#include "proto/intent.h"

/*
 * What no object shows of how a plan came about: why slots and racks were given
 * up, which Nodes are in conflict or wait and for whom, what the cluster
 * refused.  All texts live as long as the story.
 */
enum story_conflict_kind {
    STORY_OVERLAP,   /* several groups select it */
    STORY_DUPLICATE, /* several slots bind it */
    STORY_METADATA,  /* somebody else's labels or annotation are in the way */
};

struct story_conflict {
    enum story_conflict_kind kind;
    char *node;
    char *rack; /* METADATA: of the slot that it is bound to */
    char *with; /* groups, slots, or keys and managers */
};

/* A Node that one group selects, without a slot. */
struct story_waiting {
    char *node, *inventory, *group;
};

struct story_refusal {
    enum action action;
    char *name, *reason;
    unsigned times; /* one after another */
};

struct story {
    struct map released;           /* reason by "rack index uid" */
    struct map retired;            /* reason by rack name */
    struct map conflicts;          /* struct story_conflict by Node name */
    struct map refused;            /* struct story_refusal by "action name" */
    struct story_waiting *waiting; /* in the order of the Nodes */
    size_t waiting_count, waiting_room;
    char **unselected; /* Nodes that no group selects, in the same order */
    size_t unselected_count, unselected_room;
    struct arena arena;
};

void story_fini(struct story *s);

/* Takes what matters of the placer's log; a log_take_fn. */
void story_log(void *story, enum log_level level, const char *msg,
               const struct log_field *fields);

void story_refuse(struct story *s, const struct result *result);

/* How often it was refused, without having been carried out since. */
unsigned story_refused(const struct story *s, enum action action,
                       struct str name);

/* The refusal is over: it was carried out after all. */
void story_unrefuse(struct story *s, const struct result *result);

void story_wait(struct story *s, struct str node, struct str inventory,
                struct str group);
void story_unselected(struct story *s, struct str node);
void story_conflict(struct story *s, enum story_conflict_kind kind,
                    struct str node, struct str rack, struct str with);

/* "SelectorOverlap", "DuplicateBinding", "NodeMetadataConflict". */
const char *story_conflict_name(enum story_conflict_kind kind);

/* Why a slot that had this Node was given up, or the whole rack; NULL if it was
 * not told. */
const char *story_released(const struct story *s, const char *rack,
                           int64_t index, struct str uid);
const char *story_retired(const struct story *s, const char *rack);

#endif
