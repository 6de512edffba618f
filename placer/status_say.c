/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of an inventory's conditions. */
#include <inttypes.h>

#include "common/api.h"
#include "placer/status_work.h"

#define REASON_MAX 200   /* bytes of what the API server said */
#define SELECTOR_MAX 300 /* bytes of a selector */

/* "1 rack", "2 racks". */
void
status_add_count(struct buf *out, int64_t n, const char *what)
{
    buf_printf(out, "%" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

void
status_add_more(struct buf *out, size_t told, int64_t total)
{
    if (total > (int64_t)told)
        buf_printf(out, " and %" PRId64 " more", total - (int64_t)told);
}

/* What comes before item i of a list. */
static void
add_comma(struct buf *out, size_t i)
{
    buf_addz(out, i == 0 ? "" : ", ");
}

void
status_add_cut(struct buf *out, struct str text, size_t width)
{
    bool cut = text.n > width;

    while (cut && width > 0 && ((unsigned char)text.s[width] & 0xc0) == 0x80)
        width--;
    buf_adds(out, (struct str){text.s, cut ? width : text.n});
    buf_addz(out, cut ? "..." : "");
}

/* ---- references -------------------------------------------------------- */

void
status_say_issues(struct buf *out, const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;
    size_t told = 0;
    int64_t total = 0;

    for (size_t i = 0; i < v->group_count; i++) {
        const struct plan_group *g = &v->groups[i];

        if (g->issue == PLAN_RESOLVED || total++ >= FEW_TOLD)
            continue;
        buf_addz(out, told++ == 0 ? "" : "; ");
        buf_addz(out, g->why.text);
    }
    status_add_more(out, told, total);
}

void
status_say_unresolved(struct buf *out, const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;
    size_t told = 0;
    int64_t total = 0;

    buf_addz(out, "no racks can be made of group ");
    for (size_t i = 0; i < v->group_count; i++) {
        const struct plan_group *g = &v->groups[i];

        if (g->issue == PLAN_RESOLVED || total++ >= FEW_TOLD)
            continue;
        add_comma(out, told++);
        buf_adds(out, g->spec->id);
    }
    status_add_more(out, told, total);
}

/* ---- racks ------------------------------------------------------------- */

/* Whose finalizers hold a rack that is being deleted. */
static void
add_holders(struct buf *out, const struct object_rack *rack)
{
    size_t told = 0;

    for (size_t i = 0; i < rack->finalizers.count && told < FEW_TOLD; i++) {
        struct str name = rack->finalizers.items[i];

        if (str_is(name, FINALIZER_RACK))
            continue;
        buf_addz(out, told++ == 0 ? ", held by finalizer " : ", ");
        buf_adds(out, name);
    }
}

/* Why a rack does not stand as declared. */
static void
add_pending(struct buf *out, const struct placer *p, const struct tally_rack *t)
{
    const struct world_rack *have = world_rack(&p->world, t->name);
    struct wish w = wish_look(&p->wishes, ACTION_RACK, str_of(t->name));

    if (w.state == WISH_REFUSED && w.reason[0] != '\0') {
        buf_addz(out, "refused: ");
        status_add_cut(out, str_of(w.reason), REASON_MAX);
    } else if (have == NULL) {
        buf_addz(out, "not created yet");
    } else if (have->o.meta.deleting) {
        buf_addz(out, "being deleted");
        add_holders(out, &have->o);
    } else {
        buf_addz(out, "not changed yet");
    }
}

static void
add_rival(struct buf *out, const struct placer *p, const struct tally_rack *t)
{
    const struct world_rack *have = world_rack(&p->world, t->name);
    const struct plan_rack *wanted = plan_rack(&p->plan, t->name);
    const struct object_owner *o = rack_controller(have->o.owners);

    if (o != NULL &&
        rack_controlled(have->o.owners, plan_ref(wanted->group->inventory)))
        buf_addz(out, "another field manager has edited its spec");
    else if (o != NULL)
        buf_printf(out, "controlled by %.*s %.*s", (int)o->kind.n, o->kind.s,
                   (int)o->name.n, o->name.s);
    else
        buf_addz(out, "controlled by nobody");
}

/* Why a rack that is not to be is still there. */
static void
add_leftover(struct buf *out, const struct placer *p,
             const struct tally_rack *t)
{
    const struct world_rack *have = world_rack(&p->world, t->name);
    const struct plan_rack *rightful = status_rightful(p, &have->o);

    if (rightful != NULL)
        buf_printf(out, "in the place of %s, ", rightful->name);
    if (t->bound > 0) {
        status_add_count(out, t->bound, "Node");
        buf_addz(out, " to be released");
    } else if (have->o.meta.deleting) {
        buf_addz(out, "being deleted");
        add_holders(out, &have->o);
    } else {
        buf_addz(out, "to be deleted");
    }
}

/* The first racks of a cause, each with what add says of it. */
static void
add_racks(struct buf *out, const struct placer *p, const struct numbers *n,
          enum tally_cause cause,
          void (*add)(struct buf *out, const struct placer *p,
                      const struct tally_rack *t))
{
    const struct few *racks = &n->tally->racks[cause];
    const struct few_item *first[FEW_TOLD];
    size_t told = few_first(racks, first);

    for (size_t i = 0; i < told; i++) {
        const struct tally_item *item = (const struct tally_item *)first[i];

        add_comma(out, i);
        buf_printf(out, "%s (", item->rack->name);
        add(out, p, item->rack);
        buf_addc(out, ')');
    }
    status_add_more(out, told, (int64_t)racks->count);
}

void
status_say_rivals(struct buf *out, const struct placer *p,
                  const struct numbers *n)
{
    int64_t count = (int64_t)n->tally->racks[TALLY_RIVAL].count;

    status_add_count(out, count, "rack");
    buf_printf(out, " %s to or %s edited by somebody else: ",
               count == 1 ? "belongs" : "belong", count == 1 ? "was" : "were");
    add_racks(out, p, n, TALLY_RIVAL, add_rival);
    buf_addz(out, "; delete what stands there, and it is made anew");
}

static void
say_deleting(struct buf *out, const struct placer *p, const struct numbers *n)
{
    buf_addz(out, "the inventory is being deleted; ");
    status_add_count(out, (int64_t)n->tally->racks[TALLY_LEFTOVER].count,
                     "rack");
    buf_addz(out, " left");
    if (n->tally->racks[TALLY_LEFTOVER].count == 0)
        return;
    buf_addz(out, ": ");
    add_racks(out, p, n, TALLY_LEFTOVER, add_leftover);
}

void
status_say_pending(struct buf *out, const struct placer *p,
                   const struct numbers *n)
{
    if (n->inventory->world->o.meta.deleting) {
        say_deleting(out, p, n);
        return;
    }
    if (n->inventory->verdict.decision != ADMIT_ACCEPTED) {
        buf_addz(out, "waits for capacity that racks of others, which are to "
                      "go, still take");
        return;
    }
    buf_printf(out,
               "racks that stand as declared: %" PRId64 " of %" PRId64
               "; not yet: ",
               n->tally->standing, n->tally->wanted);
    add_racks(out, p, n, TALLY_PENDING, add_pending);
}

/* ---- projection -------------------------------------------------------- */

/* The first Nodes with that fault, of the first racks that have any. */
static void
add_nodes(struct buf *out, const struct placer *p, const struct few *racks,
          enum status_slot_fault fault, int64_t total)
{
    const struct few_item *first[FEW_TOLD];
    size_t count = few_first(racks, first);
    size_t told = 0;

    for (size_t i = 0; i < count; i++) {
        const struct world_rack *r = world_rack(&p->world, first[i]->name);

        if (r != NULL && told < FEW_TOLD)
            status_add_slots(out, p, r, fault, &told);
    }
    status_add_more(out, told, total);
}

static void
add_projected(struct buf *out, const struct numbers *n)
{
    buf_printf(out,
               "Nodes that carry their assignment: %" PRId64 " of %" PRId64,
               n->projected, n->sum.allocated);
}

void
status_say_blocked(struct buf *out, const struct placer *p,
                   const struct numbers *n)
{
    add_projected(out, n);
    buf_printf(out,
               "; on %" PRId64 " somebody else holds a label or "
               "annotation of it: ",
               n->tally->blocked);
    add_nodes(out, p, &n->tally->racks[TALLY_BLOCKED], STATUS_BLOCKED,
              n->tally->blocked);
    buf_addz(out, "; take them off there");
}

void
status_say_unprojected(struct buf *out, const struct placer *p,
                       const struct numbers *n)
{
    add_projected(out, n);
    buf_addz(out, "; not yet: ");
    add_nodes(out, p, &n->tally->racks[TALLY_WAITING], STATUS_WAITING,
              n->sum.allocated - n->projected);
}

void
status_say_programmed(struct buf *out, const struct placer *p,
                      const struct numbers *n)
{
    int64_t left = (int64_t)n->tally->racks[TALLY_LEFTOVER].count;

    buf_addz(out,
             "every rack stands and every bound Node carries its assignment");
    if (left == 0)
        return;
    buf_addz(out, "; ");
    status_add_count(out, left, "rack");
    buf_addz(out, " more still there: ");
    add_racks(out, p, n, TALLY_LEFTOVER, add_leftover);
}

/* ---- requests ---------------------------------------------------------- */

static void
add_overlap(struct buf *out, const struct placer *p, const struct alloc_node *n)
{
    size_t told = 0;
    int64_t total = 0;

    buf_addz(out, " is selected by groups ");
    for (uint64_t m = n->matches; m != 0; m &= m - 1) {
        const struct alloc_group *g = &p->alloc.groups[__builtin_ctzll(m)];

        if (total++ >= FEW_TOLD)
            continue;
        buf_addz(out, told++ == 0 ? "" : " and ");
        buf_printf(out, "%.*s/%.*s", (int)g->in.inventory.name.n,
                   g->in.inventory.name.s, (int)g->in.id.n, g->in.id.s);
    }
    status_add_more(out, told, total);
}

static void
add_duplicate(struct buf *out, const struct alloc_node *n)
{
    const struct alloc_binding *last = NULL;
    size_t told = 0;

    buf_addz(out, " is bound in ");
    while (told < FEW_TOLD && (last = status_next_binding(n, last)) != NULL) {
        buf_addz(out, told++ == 0 ? "" : " and ");
        buf_printf(out, "rack %s slot %" PRId64, last->rack->name,
                   last->in.slot);
    }
    status_add_more(out, told, (int64_t)n->binding_count);
}

/* The first Node, by name, that has another's uid. */
static void
add_twins(struct buf *out, const struct placer *p, int64_t count)
{
    const struct alloc_twin *first = NULL;
    const struct alloc_node *other;
    const struct alloc_twin *t;
    size_t pos = 0;

    while ((t = map_next(&p->alloc.twins, &pos)) != NULL)
        if (first == NULL || strcmp(t->name, first->name) < 0)
            first = t;
    other = alloc_node(&p->alloc, first->in.uid.s);
    buf_printf(out, "Node %s is left out, since Node %.*s has its uid",
               first->name, (int)other->in.name.n, other->in.name.s);
    status_add_more(out, 1, count);
}

void
status_say_conflicts(struct buf *out, const struct placer *p,
                     const struct numbers *n)
{
    const struct few_item *first[FEW_TOLD];
    size_t told = few_first(&p->alloc.culprits[n->number], first);
    int64_t total = n->conflicts + n->twins;

    status_add_count(out, total, "Node");
    buf_printf(out, " %s claimed more than once: ", total == 1 ? "is" : "are");
    for (size_t i = 0; i < told; i++) {
        const struct alloc_claim *c = (const struct alloc_claim *)first[i];

        buf_addz(out, i == 0 ? "Node " : "; Node ");
        /* Its name ends with the uid. */
        buf_add(out, c->item.name, strcspn(c->item.name, " "));
        if (c->node->state == ALLOC_OVERLAP)
            add_overlap(out, p, c->node);
        else
            add_duplicate(out, c->node);
    }
    status_add_more(out, told, n->conflicts);
    if (n->twins == 0)
        return;
    buf_addz(out, told == 0 ? "" : "; ");
    add_twins(out, p, n->twins);
}

/* The Nodes that wait longest among those that get no slot now. */
static void
add_group_waiting(struct buf *out, struct alloc_group *g)
{
    size_t from = alloc_assignable(g);
    size_t told = 0;

    for (; from + told < g->waiting.count && told < FEW_TOLD; told++) {
        const struct alloc_node *n = waiting_at(&g->waiting, from + told);

        add_comma(out, told);
        buf_adds(out, n->in.name);
    }
    status_add_more(out, told, (int64_t)(g->waiting.count - from));
    if (g->held > 0)
        buf_printf(out, "%s%zu until an old binding is cleaned up",
                   told == 0 ? "" : ", ", g->held);
}

void
status_say_waiting(struct buf *out, const struct placer *p,
                   const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;
    size_t told = 0;
    int64_t total = 0;

    status_add_count(out, n->sum.pending, "Node");
    buf_printf(out,
               " %s for a free slot: ", n->sum.pending == 1 ? "waits" : "wait");
    for (size_t i = 0; i < v->group_count; i++) {
        const struct plan_group *g = &v->groups[i];

        if (n->groups[i].pending == 0 || total++ >= FEW_TOLD)
            continue;
        add_comma(out, told++);
        buf_printf(out, "%" PRId64 " of group %.*s (", n->groups[i].pending,
                   (int)g->spec->id.n, g->spec->id.s);
        add_group_waiting(out,
                          alloc_group(&p->alloc, plan_ref(v), g->spec->id));
        buf_addc(out, ')');
    }
    status_add_more(out, told, total);
    buf_addz(out, "; raise the group's count, or select fewer Nodes");
}

void
status_say_satisfied(struct buf *out, const struct numbers *n)
{
    const struct plan_inventory *v = n->inventory;
    size_t told = 0;
    int64_t total = 0;

    buf_addz(out, "every matching Node has a slot");
    for (size_t i = 0; i < v->group_count; i++) {
        const struct plan_group *g = &v->groups[i];

        if (n->groups[i].available == 0 || !plan_allocates(g) ||
            total++ >= FEW_TOLD)
            continue;
        buf_addz(out, told++ == 0 ? "; free: " : ", ");
        status_add_count(out, n->groups[i].available, "slot");
        buf_printf(out, " of group %.*s (for Nodes with labels %s=%s",
                   (int)g->spec->id.n, g->spec->id.s, LABEL_ELIGIBLE,
                   LABEL_TRUE);
        selector_text(out, &g->spec->selector, SELECTOR_MAX);
        buf_addc(out, ')');
    }
    status_add_more(out, told, total);
}
