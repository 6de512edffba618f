/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/project.h"

#include <stdio.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/assignment.h"

struct projection
project_wanted(const struct object_rack *rack, const struct object_slot *slot,
               struct arena *arena)
{
    struct assignment a = {
        .inventory = rack->inventory,
        .rack = {rack->meta.name, rack->meta.uid},
        .profile = rack->profile,
        .revision = rack->revision,
        .group = rack->group,
        .rack_index = rack->index,
        .node_index = slot->index,
        .node_uid = slot->node.uid,
    };
    struct projection wanted = {.annotation = STR("")};
    struct buf text = {0};

    snprintf(wanted.clique, sizeof(wanted.clique), "%s.%d", rack->fabric.s,
             (int)rack->clique);
    if (assignment_encode(&text, &a, NULL) == 0)
        wanted.annotation = arena_str(arena, buf_str(&text));
    buf_fini(&text);
    return wanted;
}

/* Does the annotation name this very binding? */
static bool
names(const struct object_node *node, const struct projection *binding)
{
    struct arena arena = {0};
    struct assignment a;
    struct assignment b;
    /* A binding that cannot be put in words (its index is negative) was never
     * told to a Node. */
    bool same =
        node->annotation.n > 0 &&
        (str_eq(node->annotation, binding->annotation) ||
         (assignment_decode(&a, node->annotation, &arena, NULL) == 0 &&
          assignment_decode(&b, binding->annotation, &arena, NULL) == 0 &&
          assignment_same(&a, &b)));

    arena_fini(&arena);
    return same;
}

bool
project_carries(const struct object_node *node, const struct object_rack *rack)
{
    struct arena arena = {0};
    struct assignment a;
    bool carries = assignment_decode(&a, node->annotation, &arena, NULL) == 0 &&
                   str_eq(a.rack.name, rack->meta.name) &&
                   str_eq(a.rack.uid, rack->meta.uid) &&
                   str_eq(a.node_uid, node->meta.uid);

    arena_fini(&arena);
    return carries;
}

static bool
label_is(const struct object_node *node, struct str key, struct str wanted)
{
    const struct str *value = pairs_get(node->meta.labels, key);

    return value != NULL && str_eq(*value, wanted);
}

static bool
label_differs(const struct object_node *node, struct str key, struct str wanted)
{
    const struct str *value = pairs_get(node->meta.labels, key);

    return value != NULL && !str_eq(*value, wanted);
}

enum project_state
project_compare(const struct object_node *node, const struct projection *wanted,
                int *keys)
{
    struct str clique = str_of(wanted->clique);
    int conflict = (int)node->foreign & KEY_ALL;

    if (label_differs(node, STR(LABEL_ASSIGNED), STR(LABEL_TRUE)))
        conflict |= KEY_ASSIGNED;
    if (label_differs(node, STR(LABEL_CLIQUE), clique))
        conflict |= KEY_CLIQUE;
    if (node->annotation.n > 0 && !names(node, wanted))
        conflict |= KEY_ANNOTATION;
    if (keys != NULL)
        *keys = conflict;
    if (conflict != 0)
        return PROJECT_CONFLICT;
    if (label_is(node, STR(LABEL_ASSIGNED), STR(LABEL_TRUE)) &&
        label_is(node, STR(LABEL_CLIQUE), clique) &&
        str_eq(node->annotation, wanted->annotation) && node->ours == KEY_ALL)
        return PROJECT_STANDS;
    return PROJECT_MISSING;
}
