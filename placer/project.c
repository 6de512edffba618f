/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/project.h"

#include <stdio.h>

#include "common/api.h"
#include "common/assignment.h"
#include "common/mem.h"

void
projecting_begin(struct projecting *x, const struct object_rack *rack,
                 bool clique)
{
    const struct assignment a = {
        .inventory = rack->inventory,
        .rack = {rack->meta.name, rack->meta.uid},
        .profile = rack->profile,
        .revision = rack->revision,
        .group = rack->group,
        /* One out of place is never projected; it is cleaned all the same. */
        .rack_index = rack->index < 0 ? 0 : rack->index,
    };

    *x = (struct projecting){.now.annotation = STR("")};
    if (clique)
        snprintf(x->now.clique, sizeof(x->now.clique), "%s.%d", rack->fabric.s,
                 (int)rack->clique);
    if (assignment_begin(&x->text, &a, NULL) == 0)
        x->head = x->text.len;
}

const struct projection *
projecting_slot(struct projecting *x, const struct object_slot *slot)
{
    int64_t index = slot->index < 0 ? 0 : slot->index;

    x->text.len = x->head;
    if (x->head > 0 &&
        assignment_slot(&x->text, index, slot->node.uid, NULL) == 0) {
        buf_addc(&x->text, '\0');
        x->now.annotation = (struct str){buf_bytes(&x->text), x->text.len - 1};
    } else {
        x->now.annotation = STR("");
    }
    return &x->now;
}

void
projecting_end(struct projecting *x)
{
    buf_fini(&x->text);
}

struct projection
project_wanted(const struct object_rack *rack, const struct object_slot *slot,
               bool clique, struct arena *arena)
{
    struct projecting x;
    struct projection wanted;

    projecting_begin(&x, rack, clique);
    wanted = *projecting_slot(&x, slot);
    wanted.annotation = arena_str(arena, wanted.annotation);
    projecting_end(&x);
    return wanted;
}

static int
decode(struct assignment *a, const struct object_node *node,
       struct arena *arena)
{
    return assignment_decode(a, object_node_annotation(node, arena), arena,
                             NULL);
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
        !object_node_says_nothing(node) &&
        (object_node_says(node, binding->annotation) ||
         (decode(&a, node, &arena) == 0 &&
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
    bool carries = decode(&a, node, &arena) == 0 &&
                   str_eq(a.rack.name, rack->meta.name) &&
                   str_eq(a.rack.uid, rack->meta.uid) &&
                   str_eq(a.node_uid, node->meta.uid);

    arena_fini(&arena);
    return carries;
}

static bool
label_differs(const struct object_node *node, struct str key, struct str wanted)
{
    const struct str *value = pairs_get(node->meta.labels, key);

    return value != NULL && !str_eq(*value, wanted);
}

/* The keys that a projection is about. */
static int
keys_of(const struct projection *p)
{
    return p->clique[0] == '\0' ? KEY_ALL & ~KEY_CLIQUE : KEY_ALL;
}

/* The labels on a Node that have another value. */
static int
wrong_labels(const struct object_node *node, const struct projection *wanted)
{
    int wrong = 0;

    if (label_differs(node, STR(LABEL_ASSIGNED), STR(LABEL_TRUE)))
        wrong |= KEY_ASSIGNED;
    if (label_differs(node, STR(LABEL_CLIQUE), str_of(wanted->clique)))
        wrong |= KEY_CLIQUE;
    return wrong & keys_of(wanted);
}

int
project_labels(const struct object_node *node, const struct projection *binding)
{
    int there = 0;

    if (pairs_get(node->meta.labels, STR(LABEL_ASSIGNED)) != NULL)
        there |= KEY_ASSIGNED;
    if (pairs_get(node->meta.labels, STR(LABEL_CLIQUE)) != NULL)
        there |= KEY_CLIQUE;
    return there & keys_of(binding);
}

enum project_state
project_compare(const struct object_node *node, const struct projection *wanted,
                int *keys)
{
    int all = keys_of(wanted);
    int conflict = ((int)node->foreign & all) | wrong_labels(node, wanted);

    if (!object_node_says_nothing(node) && !names(node, wanted))
        conflict |= KEY_ANNOTATION;
    if (keys != NULL)
        *keys = conflict;
    if (conflict != 0)
        return PROJECT_CONFLICT;
    if (project_labels(node, wanted) == (all & ~KEY_ANNOTATION) &&
        object_node_says(node, wanted->annotation) && node->ours == all)
        return PROJECT_STANDS;
    return PROJECT_MISSING;
}

enum cleanup
project_cleanup(const struct object_node *node, const struct object_rack *rack,
                const struct projection *binding)
{
    return cleanup_judge(&(struct cleanup_view){
        .names = project_carries(node, rack),
        .present = object_node_says_nothing(node) ? 0 : KEY_ANNOTATION,
        .wrong = wrong_labels(node, binding),
        .ours = (int)node->ours,
    });
}

bool
project_named_rack(const struct object_node *node, struct arena *arena,
                   struct object_ref *rack)
{
    struct assignment a;

    if ((node->ours & KEY_ANNOTATION) == 0 ||
        (node->foreign & KEY_ANNOTATION) != 0 || decode(&a, node, arena) != 0)
        return false;
    *rack = a.rack;
    return rack->name.n > 0 && rack->uid.n > 0;
}
