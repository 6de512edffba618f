/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a rack's slots, in words. */
#include <inttypes.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/identity.h"
#include "placer/project.h"
#include "placer/status_work.h"

#define MANAGERS_MAX 100 /* bytes of the names of a key's field managers */

static const struct {
    int key;
    const char *name;
} keys[] = {
    {KEY_ASSIGNED, "label " LABEL_ASSIGNED},
    {KEY_CLIQUE, "label " LABEL_CLIQUE},
    {KEY_ANNOTATION, "annotation " ANNOTATION_ASSIGNMENT},
};

/* How the projection of a slot stands; keys (unless NULL) as project_compare.
 */
static enum project_state
projection_of(struct projecting *x, const struct object_slot *slot,
              const struct world_node *n, int *conflicting)
{
    return project_compare(&n->o, projecting_slot(x, slot), conflicting);
}

static bool
is_doubled(const struct placer *p, const struct object_slot *slot)
{
    const struct alloc_node *a = alloc_node(&p->alloc, slot->node.uid.s);

    return a != NULL && a->binding_count > 1;
}

static bool
has_fault(const struct placer *p, const struct object_rack *rack,
          struct projecting *x, const struct object_slot *slot,
          enum status_slot_fault fault)
{
    const struct world_node *n = world_node_exact(&p->world, &slot->node);

    if (fault == STATUS_BROKEN && tally_repeated(rack, slot))
        return true;
    if (slot->node.name.n == 0)
        return false;
    switch (fault) {
    case STATUS_DOUBLED:
        return is_doubled(p, slot);
    case STATUS_BROKEN:
        return slot->node.uid.n == 0;
    case STATUS_GONE:
        return n == NULL;
    case STATUS_BLOCKED:
        return n != NULL && projection_of(x, slot, n, NULL) == PROJECT_CONFLICT;
    case STATUS_WAITING:
        return n != NULL && projection_of(x, slot, n, NULL) != PROJECT_STANDS;
    }
    return false;
}

static int
binding_cmp(const struct alloc_binding *a, const struct alloc_binding *b)
{
    int order = strcmp(a->rack->name, b->rack->name);

    return order != 0 ? order
                      : (a->in.slot > b->in.slot) - (a->in.slot < b->in.slot);
}

const struct alloc_binding *
status_next_binding(const struct alloc_node *n,
                    const struct alloc_binding *last)
{
    const struct alloc_binding *next = NULL;

    for (const struct alloc_binding *b = n->bindings; b != NULL; b = b->next)
        if ((last == NULL || binding_cmp(b, last) > 0) &&
            (next == NULL || binding_cmp(b, next) < 0))
            next = b;
    return next;
}

/* Where else the Node of a slot is bound. */
static void
add_other(struct buf *out, const struct placer *p,
          const struct object_rack *rack, const struct object_slot *slot)
{
    const struct alloc_node *n = alloc_node(&p->alloc, slot->node.uid.s);
    const struct alloc_binding *b = status_next_binding(n, NULL);

    if (b != NULL && b->in.slot == slot->index &&
        str_is(rack->meta.name, b->rack->name))
        b = status_next_binding(n, b);
    if (b != NULL)
        buf_printf(out, ", also in rack %s slot %" PRId64, b->rack->name,
                   b->in.slot);
}

static void
add_conflict(struct buf *out, struct projecting *x,
             const struct object_slot *slot, const struct world_node *n)
{
    struct str who;
    int conflicting = 0;
    size_t told = 0;

    projection_of(x, slot, n, &conflicting);
    buf_addz(out, " (");
    for (size_t i = 0; i < nitems(keys); i++)
        if (conflicting & keys[i].key) {
            buf_addz(out, told++ == 0 ? "" : ", ");
            buf_addz(out, keys[i].name);
            who = projected_key_managers(n->o.rivals, keys[i].key);
            buf_addz(out, who.n == 0 ? "" : " by ");
            status_add_cut(out, who, MANAGERS_MAX);
        }
    buf_addc(out, ')');
}

static void
add_slot(struct buf *out, const struct placer *p,
         const struct object_rack *rack, struct projecting *x,
         const struct object_slot *slot, enum status_slot_fault fault)
{
    const struct object_ref *node = &slot->node;

    if (fault == STATUS_BROKEN && tally_repeated(rack, slot)) {
        buf_printf(out, "index %" PRId64 " occurs twice", slot->index);
        return;
    }
    buf_printf(out, "Node %.*s", (int)node->name.n, node->name.s);
    if (fault == STATUS_DOUBLED)
        add_other(out, p, rack, slot);
    else if (fault == STATUS_BROKEN)
        buf_printf(out, " in slot %" PRId64 " has no uid", slot->index);
    else if (fault == STATUS_GONE)
        buf_addz(out, world_node(&p->world, node->name.s) == NULL
                          ? ""
                          : " (another one has the name)");
    else if (fault == STATUS_BLOCKED)
        add_conflict(out, x, slot, world_node_exact(&p->world, &slot->node));
}

int64_t
status_add_slots(struct buf *out, const struct placer *p,
                 const struct world_rack *r, enum status_slot_fault fault,
                 size_t *told)
{
    struct projecting x;
    int64_t count = 0;

    placer_projecting(p, &x, &r->o);
    for (size_t i = 0; i < r->o.slot_count; i++) {
        const struct object_slot *slot = &r->o.slots[i];

        if (!has_fault(p, &r->o, &x, slot, fault))
            continue;
        count++;
        if (*told == FEW_TOLD)
            continue;
        buf_addz(out, (*told)++ == 0 ? "" : ", ");
        add_slot(out, p, &r->o, &x, slot, fault);
    }
    projecting_end(&x);
    return count;
}

const struct plan_rack *
status_rightful(const struct placer *p, const struct object_rack *rack)
{
    char name[IDENTITY_NAME_MAX];

    if (rack->index < 0 || rack->index > UINT32_MAX)
        return NULL;
    identity_rack_name(rack->inventory.name, rack->inventory.uid, rack->group,
                       (uint32_t)rack->index, name);
    return str_is(rack->meta.name, name) ? NULL : plan_rack(&p->plan, name);
}

void
status_say_leftover(struct buf *out, const struct placer *p,
                    const struct object_rack *rack)
{
    const struct plan_rack *rightful = status_rightful(p, rack);

    if (rightful != NULL)
        buf_printf(out, "; it goes, since its place is rack %s's",
                   rightful->name);
    else
        buf_addz(out, "; it goes, since it is not declared");
}
