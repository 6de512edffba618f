/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ESTATE_CHECK_H
#define TESTS_UNIT_ESTATE_CHECK_H

/*
 * For tests only: what must be true of an estate, counted by hand from the
 * objects of its API server.  Nothing here looks at the placer's model.
 */
#include "placer/identity.h"
#include "placer/place.h"
#include "tests/unit/estate.h"

enum { CHECK_GROUPS = 64, CHECK_ITEMS = 256 };

/* ---- declarations -------------------------------------------------------- */

static UNUSED struct object_ref
ref_of(const struct object *o)
{
    return (struct object_ref){o->meta.name, o->meta.uid};
}

static UNUSED bool
same_ref(struct object_ref a, struct object_ref b)
{
    return str_eq(a.name, b.name) && str_eq(a.uid, b.uid);
}

static UNUSED bool
is_valid(const struct object *inventory)
{
    for (size_t i = 0; i < inventory->group_count; i++)
        if (inventory->groups[i].selector == SELECTOR_FORBIDDEN)
            return false;
    return true;
}

static UNUSED bool
is_accepted(const struct object *inventory)
{
    return !inventory->meta.deleting && is_valid(inventory);
}

/* The group's profile, or NULL if it has none to work with. */
static UNUSED const struct object *
profile_of(const struct estate *e, const struct declared_group *g)
{
    const struct object *p = api_get(e, KIND_PROFILE, g->profile);

    return p == NULL || p->declared.broken ? NULL : p;
}

static UNUSED const struct declared_group *
group_named(const struct object *inventory, struct str id)
{
    for (size_t i = 0; i < inventory->group_count; i++)
        if (str_is(id, inventory->groups[i].id))
            return &inventory->groups[i];
    return NULL;
}

/* Does a selector match a Node that has the eligibility label? */
static UNUSED bool
selects(int selector, const struct object *node)
{
    const char *pool = label_of(node, "pool");
    bool a = pool != NULL && strcmp(pool, "a") == 0;
    bool b = pool != NULL && strcmp(pool, "b") == 0;

    switch (selector) {
    case 0:
        return true;
    case 1:
        return a;
    case 2:
        return b;
    case 3:
        return a || b;
    default:
        return false;
    }
}

/* ---- racks --------------------------------------------------------------- */

static UNUSED const struct object_owner *
controller_of(const struct object *rack)
{
    for (size_t i = 0; i < rack->rack.owners.count; i++)
        if (rack->rack.owners.items[i].controller == 1)
            return &rack->rack.owners.items[i];
    return NULL;
}

static UNUSED bool
is_controlled(const struct object *rack, struct object_ref inventory)
{
    const struct object_owner *o = controller_of(rack);

    return o != NULL && str_is(o->kind, "SGPUInventory") &&
           same_ref((struct object_ref){o->name, o->uid}, inventory);
}

/* The inventory that owns a rack and is there, or NULL. */
static UNUSED const struct object *
owner_of(const struct estate *e, const struct object *rack)
{
    const struct object *v =
        api_get(e, KIND_INVENTORY, rack->rack.inventory.name.s);

    if (v == NULL || !same_ref(ref_of(v), rack->rack.inventory) ||
        !is_controlled(rack, rack->rack.inventory))
        return NULL;
    return v;
}

static UNUSED const struct object *
rack_at(const struct estate *e, struct object_ref inventory, const char *group,
        int64_t index)
{
    char name[IDENTITY_NAME_MAX];

    identity_rack_name(inventory.name, inventory.uid, str_of(group),
                       (uint32_t)index, name);
    return api_get(e, KIND_RACK, name);
}

/* Is a rack that is to be taken by somebody, or edited by somebody? */
static UNUSED bool
is_rival(const struct object *rack, struct object_ref inventory)
{
    return !is_controlled(rack, inventory) || !rack->rack.spec_ours;
}

static UNUSED bool
is_current(const struct object *rack, const struct object *profile)
{
    return !rack->meta.deleting &&
           same_ref(rack->rack.profile, ref_of(profile)) &&
           rack->rack.profile_generation == profile->meta.generation &&
           (int64_t)rack->rack.slot_count == profile->declared.nodes;
}

/* The Node of a slot if it is watched and this very one. */
static UNUSED const struct object *
bound_node(const struct estate *e, const struct object_slot *slot)
{
    const struct object *n = api_get(e, KIND_NODE, slot->node.name.s);

    return is_watched(n) && same_ref(ref_of(n), slot->node) ? n : NULL;
}

/* ---- projections --------------------------------------------------------- */

/* The annotation of a slot: head, profile, tail. */
static UNUSED void
annotation_parts(const struct object *rack, const struct object_slot *slot,
                 char head[512], char profile[512], char tail[512])
{
    const struct object_rack *r = &rack->rack;

    snprintf(head, 512,
             "{\"v\":1,\"inventory\":{\"name\":\"%s\",\"uid\":\"%s\"},\"rack\":"
             "{\"name\":\"%s\",\"uid\":\"%s\"},\"profile\":{",
             r->inventory.name.s, r->inventory.uid.s, rack->meta.name.s,
             rack->meta.uid.s);
    snprintf(profile, 512, "\"name\":\"%s\",\"uid\":\"%s\",\"revision\":\"%s\"",
             r->profile.name.s, r->profile.uid.s, r->revision.s);
    snprintf(tail, 512,
             "},\"rackGroup\":\"%s\",\"rackIndex\":%d,\"nodeIndex\":%d,"
             "\"nodeUID\":\"%s\"}",
             r->group.s, (int)r->index, (int)slot->index, slot->node.uid.s);
}

/* Does the Node's annotation name this binding, whatever the profile? */
static UNUSED bool
names_binding(const struct object *node, const struct object *rack,
              const struct object_slot *slot)
{
    char head[512], profile[512], tail[512];
    const char *text = node->node.annotation.s;
    size_t n = node->node.annotation.n;

    annotation_parts(rack, slot, head, profile, tail);
    return n > strlen(head) + strlen(tail) &&
           strncmp(text, head, strlen(head)) == 0 &&
           strcmp(text + n - strlen(tail), tail) == 0;
}

/* Does the annotation name this rack, whatever the slot?  Somebody may have
 * moved the rack since. */
static UNUSED bool
names_rack(struct str annotation, const struct object *rack)
{
    char text[256];

    snprintf(text, sizeof(text), "\"rack\":{\"name\":\"%s\",\"uid\":\"%s\"}",
             rack->meta.name.s, rack->meta.uid.s);
    return annotation.n > 0 && strstr(annotation.s, text) != NULL;
}

enum projected { PROJECTED_NOT, PROJECTED_EXACT, PROJECTED_BLOCKED };

/* 4.1 step 6, 4.3. */
static UNUSED enum projected
projected(const struct object *node, const struct object *rack,
          const struct object_slot *slot)
{
    char head[512], profile[512], tail[512], whole[2048], clique[64];
    const char *assigned = label_of(node, LABEL_ASSIGNED);
    const char *other = label_of(node, LABEL_CLIQUE);

    annotation_parts(rack, slot, head, profile, tail);
    snprintf(whole, sizeof(whole), "%s%s%s", head, profile, tail);
    snprintf(clique, sizeof(clique), "%s.0", rack->rack.fabric.s);
    if (node->node.foreign != 0 ||
        (assigned != NULL && strcmp(assigned, "true") != 0) ||
        (other != NULL && strcmp(other, clique) != 0) ||
        (node->node.annotation.n > 0 && !names_binding(node, rack, slot)))
        return PROJECTED_BLOCKED;
    return assigned != NULL && other != NULL &&
                   str_is(node->node.annotation, whole) &&
                   node->node.ours == KEY_ALL
               ? PROJECTED_EXACT
               : PROJECTED_NOT;
}

/* Racks that bind the Node of that uid, slot by slot. */
static UNUSED size_t
times_bound(const struct estate *e, struct str uid)
{
    const struct object *rack;
    size_t count = 0;
    size_t pos = 0;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        for (size_t i = 0; i < rack->rack.slot_count; i++)
            count += str_eq(rack->rack.slots[i].node.uid, uid);
    return count;
}

/* ---- the plan ------------------------------------------------------------ */

struct lists {
    struct selector selectors[nitems(estate_selectors)];
    struct place_group groups[CHECK_GROUPS];
    struct place_node *nodes;
    struct place_binding *bindings;
    struct place_input in;
    struct place_plan plan;
};

static UNUSED void
list_groups(struct lists *l, const struct estate *e)
{
    const struct object *v;
    size_t pos = 0;

    while ((v = map_next(&e->objects[KIND_INVENTORY], &pos)) != NULL)
        for (size_t i = 0; is_accepted(v) && i < v->group_count; i++) {
            const struct declared_group *g = &v->groups[i];
            const struct object *p = profile_of(e, g);

            if (p == NULL)
                continue;
            l->groups[l->in.group_count++] = (struct place_group){
                .inventory = ref_of(v),
                .id = str_of(g->id),
                .selector = &l->selectors[g->selector],
                .racks = g->count,
                .nodes_per_rack = p->declared.nodes,
            };
        }
}

static UNUSED void
list_nodes(struct lists *l, const struct estate *e)
{
    const struct map *nodes = &e->objects[KIND_NODE];
    const struct object *n;
    size_t pos = 0;

    l->nodes = mem_zalloc(nodes->count * sizeof(*l->nodes));
    while ((n = map_next(nodes, &pos)) != NULL)
        if (is_watched(n))
            l->nodes[l->in.node_count++] =
                (struct place_node){.name = n->meta.name,
                                    .uid = n->meta.uid,
                                    .created = n->meta.created,
                                    .terminating = n->meta.deleting,
                                    .labels = n->meta.labels};
}

/* Is its name not that of the coordinate that its spec names? */
static UNUSED bool
is_misnamed(const struct estate *e, const struct object *rack)
{
    return rack->rack.index < 0 ||
           rack_at(e, rack->rack.inventory, rack->rack.group.s,
                   rack->rack.index) != rack;
}

static UNUSED void
list_bindings(struct lists *l, const struct estate *e)
{
    const struct object *rack;
    size_t room = 0;
    size_t pos = 0;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        room += rack->rack.slot_count;
    l->bindings = mem_zalloc(room * sizeof(*l->bindings));
    for (pos = 0; (rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL;) {
        const struct object_rack *r = &rack->rack;

        for (size_t i = 0; owner_of(e, rack) != NULL && i < r->slot_count; i++)
            if (r->slots[i].node.name.n > 0)
                l->bindings[l->in.binding_count++] =
                    (struct place_binding){.inventory = r->inventory,
                                           .group = r->group,
                                           .rack = r->index,
                                           .slot = r->slots[i].index,
                                           .stray = is_misnamed(e, rack),
                                           .node = r->slots[i].node};
    }
}

static UNUSED void
lists_init(struct lists *l, const struct estate *e)
{
    struct err err;

    *l = (struct lists){0};
    for (size_t i = 0; i < nitems(estate_selectors); i++) {
        struct json_value v = {0};

        if (estate_selectors[i] != NULL)
            json_value_parse(&v, estate_selectors[i]);
        selector_compile(&l->selectors[i], v.root, &err);
        json_value_fini(&v);
    }
    list_groups(l, e);
    list_nodes(l, e);
    list_bindings(l, e);
    l->in.groups = l->groups;
    l->in.nodes = l->nodes;
    l->in.bindings = l->bindings;
    if (place(&l->plan, &l->in, &err) != 0)
        fail_msg("%s", err.text);
}

static UNUSED void
lists_fini(struct lists *l)
{
    place_plan_fini(&l->plan);
    for (size_t i = 0; i < nitems(estate_selectors); i++)
        selector_fini(&l->selectors[i]);
    free(l->nodes);
    free(l->bindings);
}

/* ---- status, by the definitions of mokka-control 6 ----------------------- */

struct count {
    int64_t racks, nodes, gpus;
    int64_t requested, allocated, available, pending;
};

static UNUSED void
add_count(struct count *sum, const struct count *c)
{
    sum->racks += c->racks;
    sum->nodes += c->nodes;
    sum->gpus += c->gpus;
    sum->allocated += c->allocated;
    sum->available += c->available;
    sum->pending += c->pending;
}

static UNUSED struct count
count_group(const struct estate *e, const struct lists *l,
            const struct object *v, const struct declared_group *g)
{
    const struct object *p = profile_of(e, g);
    const struct object *o;
    struct count c = {0};
    size_t pos = 0;

    if (p != NULL) {
        c.racks = g->count;
        c.nodes = c.racks * p->declared.nodes;
        c.gpus = c.nodes * p->declared.gpus;
    }
    while ((o = map_next(&e->objects[KIND_NODE], &pos)) != NULL)
        c.requested += is_watched(o) && selects(g->selector, o);
    for (pos = 0; (o = map_next(&e->objects[KIND_RACK], &pos)) != NULL;)
        for (size_t i = 0; owner_of(e, o) == v && i < o->rack.slot_count; i++)
            c.allocated += str_is(o->rack.group, g->id) &&
                           bound_node(e, &o->rack.slots[i]) != NULL;
    c.available = c.nodes > c.allocated ? c.nodes - c.allocated : 0;
    for (size_t i = 0; i < l->plan.pending_count; i++)
        c.pending += same_ref(l->plan.pending[i].group->inventory, ref_of(v)) &&
                     str_is(l->plan.pending[i].group->id, g->id);
    return c;
}

static UNUSED void
print_count(struct buf *out, const struct count *c, const char *between)
{
    buf_printf(out,
               "\"capacity\":{\"gpus\":%d,\"nodes\":%d,\"racks\":%d}%s"
               "\"usage\":{\"allocatedNodes\":%d,\"availableNodes\":%d,"
               "\"pendingNodes\":%d,\"requestedNodes\":%d}",
               (int)c->gpus, (int)c->nodes, (int)c->racks, between,
               (int)c->allocated, (int)c->available, (int)c->pending,
               (int)c->requested);
}

/* Distinct Nodes that some group selects. */
static UNUSED int64_t
count_requested(const struct estate *e, const struct object *v)
{
    const struct object *n;
    int64_t count = 0;
    size_t pos = 0;

    while ((n = map_next(&e->objects[KIND_NODE], &pos)) != NULL) {
        bool any = false;

        for (size_t i = 0; i < v->group_count; i++)
            any |= selects(v->groups[i].selector, n);
        count += is_watched(n) && any;
    }
    return count;
}

/* Groups are declared in the order of their ids. */
static UNUSED struct count
print_inventory(struct buf *out, const struct estate *e, const struct lists *l,
                const struct object *v)
{
    struct count sum = {.requested = count_requested(e, v)};
    struct buf groups = {0};
    struct buf middle = {0};
    struct buf ids = {0};
    char *text;

    for (size_t i = 0; i < v->group_count; i++) {
        struct count c = count_group(e, l, v, &v->groups[i]);
        char names[128];

        snprintf(names, sizeof(names), ",\"id\":\"%s\",\"profileName\":\"%s\",",
                 v->groups[i].id, v->groups[i].profile);
        buf_addz(&groups, i == 0 ? "{" : ",{");
        print_count(&groups, &c, names);
        buf_addc(&groups, '}');
        buf_printf(&ids, "%s%s", i == 0 ? "" : ",", v->groups[i].id);
        add_count(&sum, &c);
    }
    buf_addz(&middle, ",\"rackGroups\":[");
    buf_adds(&middle, buf_str(&groups));
    buf_addz(&middle, "],\"rackGroupsSummary\":\"");
    buf_adds(&middle, buf_str(&ids));
    buf_addz(&middle, "\",");
    text = buf_take(&middle);
    buf_addc(out, '{');
    print_count(out, &sum, text);
    buf_addc(out, '}');
    free(text);
    buf_fini(&groups);
    buf_fini(&ids);
    return sum;
}

/* What is wrong with profiles: "" nothing. */
static UNUSED const char *
unresolved(const struct estate *e, const struct object *v)
{
    const char *reason = "";

    for (size_t i = 0; i < v->group_count; i++) {
        const struct object *p = api_get(e, KIND_PROFILE, v->groups[i].profile);

        if (p == NULL && *reason == '\0')
            reason = "ProfileNotFound";
        else if (p != NULL && p->declared.broken)
            reason = "InvalidProfile";
    }
    return reason;
}

struct standing {
    bool rival, missing, blocked;
    int64_t projected;
};

static UNUSED struct standing
look_at_racks(const struct estate *e, const struct object *v)
{
    struct standing s = {0};
    const struct object *o;
    size_t pos = 0;

    for (size_t i = 0; i < v->group_count; i++) {
        const struct object *p = profile_of(e, &v->groups[i]);

        for (int64_t j = 0; p != NULL && j < v->groups[i].count; j++) {
            o = rack_at(e, ref_of(v), v->groups[i].id, j);
            s.rival |= o != NULL && is_rival(o, ref_of(v));
            s.missing |= o == NULL || !is_current(o, p);
        }
    }
    while ((o = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        for (size_t i = 0; owner_of(e, o) == v && i < o->rack.slot_count; i++) {
            const struct object_slot *slot = &o->rack.slots[i];
            const struct object *n = bound_node(e, slot);

            if (n == NULL)
                continue;
            s.blocked |= projected(n, o, slot) == PROJECTED_BLOCKED;
            s.projected += projected(n, o, slot) == PROJECTED_EXACT &&
                           group_named(v, o->rack.group) != NULL;
        }
    return s;
}

static UNUSED const char *
programmed(const struct estate *e, const struct object *v,
           const struct count *sum)
{
    struct standing s = look_at_racks(e, v);

    if (!is_valid(v))
        return "InvalidInventory";
    if (*unresolved(e, v) != '\0')
        return "ReferencesUnresolved";
    if (s.rival)
        return "RackOwnershipConflict";
    if (s.missing)
        return "RacksPending";
    if (s.projected < sum->allocated && s.blocked)
        return "NodeMetadataConflict";
    return s.projected != sum->allocated ? "ProjectionIncomplete"
                                         : "Programmed";
}

static UNUSED const char *
satisfied(const struct lists *l, const struct object *v,
          const struct count *sum)
{
    for (size_t i = 0; i < l->plan.conflict_count; i++) {
        const struct place_conflict *c = &l->plan.conflicts[i];

        for (size_t j = 0; j < c->group_count; j++)
            if (same_ref(c->groups[j]->inventory, ref_of(v)))
                return "PlacementConflicts";
        for (size_t j = 0; j < c->binding_count; j++)
            if (same_ref(c->bindings[j]->inventory, ref_of(v)))
                return "PlacementConflicts";
    }
    return sum->pending > 0 ? "PendingNodes" : "RequestsSatisfied";
}

static UNUSED void
check_condition(struct estate *e, const struct object *o, const char *type,
                const char *reason, const char *when_true)
{
    const struct object_status *s =
        o->kind == KIND_RACK ? &o->rack.status : &o->inventory.status;
    const struct condition *c = condition_of(s, str_of(type));

    if (c == NULL || !str_is(c->reason, reason) ||
        !str_is(c->status, strcmp(reason, when_true) == 0 ? "True" : "False") ||
        c->observed != o->meta.generation)
        estate_fail(
            e, "%s: %s is %s %s (%d), must be %s (%d)", o->meta.name.s, type,
            c == NULL ? "" : c->status.s, c == NULL ? "" : c->reason.s,
            c == NULL ? 0 : (int)c->observed, reason, (int)o->meta.generation);
}

static UNUSED void
check_fields(struct estate *e, const struct object *o, struct str got,
             struct buf *wanted)
{
    if (!str_eq(got, buf_str(wanted)))
        estate_fail(e, "%s: status is\n%s\nmust be\n%.*s", o->meta.name.s,
                    got.s, (int)wanted->len, buf_bytes(wanted));
    buf_fini(wanted);
}

static UNUSED void
check_inventory_status(struct estate *e, const struct lists *l,
                       const struct object *v)
{
    struct buf fields = {0};
    struct count sum = print_inventory(&fields, e, l, v);
    const char *missing = unresolved(e, v);

    check_fields(e, v, v->inventory.status.fields, &fields);
    assert_int_equal(v->inventory.status.conditions.count, 4);
    check_condition(e, v, "Accepted",
                    is_valid(v) ? "Accepted" : "InvalidInventory", "Accepted");
    check_condition(e, v, "ResolvedRefs",
                    *missing == '\0' ? "ProfilesResolved" : missing,
                    "ProfilesResolved");
    check_condition(e, v, "Programmed", programmed(e, v, &sum), "Programmed");
    check_condition(e, v, "RequestsSatisfied", satisfied(l, v, &sum),
                    "RequestsSatisfied");
}

static UNUSED const char *
readiness(const struct estate *e, const struct object *rack, int64_t *bound)
{
    int64_t exact = 0;
    bool twice = false;
    bool gone = false;
    bool blocked = false;

    *bound = 0;
    for (size_t i = 0; i < rack->rack.slot_count; i++) {
        const struct object_slot *slot = &rack->rack.slots[i];
        const struct object *n;

        if (slot->node.name.n == 0)
            continue;
        ++*bound;
        twice |= times_bound(e, slot->node.uid) > 1;
        n = bound_node(e, slot);
        gone |= n == NULL;
        if (n == NULL)
            continue;
        exact += projected(n, rack, slot) == PROJECTED_EXACT;
        blocked |= projected(n, rack, slot) == PROJECTED_BLOCKED;
    }
    if (twice)
        return "DuplicateBindings";
    if (gone)
        return "InvalidBindings";
    if (exact == *bound)
        return "Ready";
    return blocked ? "NodeMetadataConflict" : "ProjectionIncomplete";
}

static UNUSED void
check_rack_status(struct estate *e, const struct object *rack)
{
    int64_t bound;
    const char *reason = readiness(e, rack, &bound);
    struct buf fields = {0};

    buf_printf(&fields, "{\"assignedNodes\":%d,\"observedGeneration\":%d}",
               (int)bound, (int)rack->meta.generation);
    check_fields(e, rack, rack->rack.status.fields, &fields);
    check_condition(e, rack, "Ready", reason, "Ready");
}

static UNUSED void
check_statuses(struct estate *e, const struct lists *l)
{
    const struct object *o;
    size_t pos = 0;

    while ((o = map_next(&e->objects[KIND_INVENTORY], &pos)) != NULL)
        if (!o->meta.deleting)
            check_inventory_status(e, l, o);
    for (pos = 0; (o = map_next(&e->objects[KIND_RACK], &pos)) != NULL;)
        if (owner_of(e, o) != NULL && !o->meta.deleting)
            check_rack_status(e, o);
}

/* ---- the end ------------------------------------------------------------- */

/* Do these groups take part in allocation now? */
static UNUSED bool
is_active(const struct estate *e, const struct object *v, struct str group)
{
    const struct declared_group *g = group_named(v, group);

    return is_accepted(v) && g != NULL && profile_of(e, g) != NULL;
}

/* Nothing that could be done is left to be done. */
static UNUSED void
check_plan(struct estate *e, const struct lists *l)
{
    for (size_t i = 0; i < l->plan.released_count; i++) {
        const struct place_binding *b = l->plan.released[i].binding;
        const struct object *v =
            api_get(e, KIND_INVENTORY, b->inventory.name.s);
        const struct object *rack =
            rack_at(e, b->inventory, b->group.s, b->rack);
        const struct declared_group *g = group_named(v, b->group);

        if (rack != NULL && !rack->rack.spec_ours)
            continue;
        if (is_valid(v) ? g != NULL && profile_of(e, g) == NULL : true)
            continue;
        estate_fail(e, "%s is still bound to %s %d %d: %s", b->node.name.s,
                    b->group.s, (int)b->rack, (int)b->slot,
                    release_name(l->plan.released[i].reason));
    }
    for (size_t i = 0; i < l->plan.assigned_count; i++) {
        const struct place_assigned *a = &l->plan.assigned[i];
        const struct object *rack =
            rack_at(e, a->group->inventory, a->group->id.s, a->rack);

        if (rack == NULL ||
            (!rack->meta.deleting && !is_rival(rack, a->group->inventory)))
            estate_fail(e, "%s is not bound to %s %d %d yet", a->node->name.s,
                        a->group->id.s, (int)a->rack, (int)a->slot);
    }
}

static UNUSED bool
has_any_rack(const struct estate *e, const struct object *inventory)
{
    const struct object *rack;
    size_t pos = 0;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        if (owner_of(e, rack) == inventory)
            return true;
    return false;
}

/* Racks: those that are to be, and no others. */
static UNUSED void
check_racks(struct estate *e)
{
    const struct object *o;
    size_t pos = 0;

    while ((o = map_next(&e->objects[KIND_INVENTORY], &pos)) != NULL) {
        if (o->meta.deleting && has_finalizer(o, FINALIZER_INVENTORY) &&
            !has_any_rack(e, o))
            estate_fail(e, "inventory %s is still there", o->meta.name.s);
        for (size_t i = 0; is_accepted(o) && i < o->group_count; i++)
            for (int64_t j = 0; j < o->groups[i].count; j++)
                if (profile_of(e, &o->groups[i]) != NULL &&
                    rack_at(e, ref_of(o), o->groups[i].id, j) == NULL)
                    estate_fail(e, "%s has no rack %s %d", o->meta.name.s,
                                o->groups[i].id, (int)j);
    }
    for (pos = 0; (o = map_next(&e->objects[KIND_RACK], &pos)) != NULL;) {
        const struct object *v = owner_of(e, o);
        const struct declared_group *g =
            v == NULL ? NULL : group_named(v, o->rack.group);

        if (controller_of(o) == NULL || (v != NULL && !is_valid(v)))
            continue;
        if (o->meta.deleting && has_finalizer(o, FINALIZER_RACK))
            estate_fail(e, "rack %s is still held", o->meta.name.s);
        if (v == NULL && !has_finalizer(o, FINALIZER_OTHER))
            estate_fail(e, "rack %s has no inventory", o->meta.name.s);
        if (v != NULL && !o->meta.deleting &&
            (g == NULL || o->rack.index >= g->count) &&
            (g == NULL || profile_of(e, g) != NULL))
            estate_fail(e, "rack %s is still there", o->meta.name.s);
    }
}

/* A Node that a binding keeps carries it, and no other carries anything. */
static UNUSED void
check_node(struct estate *e, const struct object *n)
{
    const struct object *rack;
    size_t pos = 0;
    bool named = false;

    while ((rack = map_next(&e->objects[KIND_RACK], &pos)) != NULL)
        for (size_t i = 0; i < rack->rack.slot_count; i++) {
            const struct object_slot *slot = &rack->rack.slots[i];
            const struct object *v = owner_of(e, rack);
            enum projected state;

            if (!same_ref(slot->node, ref_of(n)))
                continue;
            state = projected(n, rack, slot);
            named |= names_rack(n->node.annotation, rack);
            if (v != NULL && is_active(e, v, rack->rack.group) &&
                rack->rack.spec_ours && is_watched(n) && !n->meta.deleting &&
                state == PROJECTED_NOT)
                estate_fail(e, "%s does not carry its slot %d of %s",
                            n->meta.name.s, (int)slot->index,
                            rack->meta.name.s);
        }
    if (!named && n->node.ours != 0)
        estate_fail(e, "%s carries what no slot binds: %s", n->meta.name.s,
                    n->node.annotation.s);
}

static UNUSED void
check_nodes(struct estate *e)
{
    const struct object *n;
    size_t pos = 0;

    while ((n = map_next(&e->objects[KIND_NODE], &pos)) != NULL)
        check_node(e, n);
}

/* ---- a placer that comes anew -------------------------------------------- */

struct fresh {
    struct estate *e;
    size_t begins, ends;
};

static UNUSED void
hear_fresh(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct fresh *f = arg;
    struct wire_frame frame = {.type = type, .id = id};
    struct order *o;

    f->begins += type == MSG_PLAN_BEGIN;
    f->ends += type == MSG_PLAN_END;
    if (type == MSG_PLAN_BEGIN || type == MSG_PLAN_END || type == MSG_WITHDRAW)
        return;
    buf_adds(&frame.body, body);
    o = order_new(&frame);
    buf_fini(&frame.body);
    if (type == MSG_NODE_APPLY && o->node.release) {
        const struct object *n = api_get(f->e, KIND_NODE, o->target.name.s);

        if (!is_watched(n) || is_only_looked_at(n, o)) {
            order_free(o);
            return;
        }
    }
    estate_fail(f->e, "a new placer would say %s for %s", message_name(type),
                o->target.name.s);
}

/* It has nothing to say, but that Nodes are to be clean that it does not see,
 * or that look so. */
static UNUSED void
check_fresh(struct estate *e)
{
    static const uint16_t types[KIND_COUNT] = {MSG_PROFILE, MSG_INVENTORY,
                                               MSG_RACK, MSG_NODE};
    struct fresh fresh = {.e = e};
    struct wire_frame ledger = {.type = MSG_WRITTEN_END};
    struct placer p;

    pack_array(&ledger.body, 1);
    pack_int(&ledger.body, 1);
    placer_init(&p, hear_fresh, &fresh);
    p.current = (struct moment){1, 1};
    placer_term_began(&p, 1);
    give_frame(&p, &ledger);
    buf_fini(&ledger.body);
    give_frame(&p, &(struct wire_frame){.type = MSG_SYNC_BEGIN});
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const struct object *o;
        size_t pos = 0;

        while ((o = map_next(&e->objects[kind], &pos)) != NULL) {
            struct wire_frame frame = {.type = types[kind]};

            if (!is_watched(o))
                continue;
            frame.body = api_pack(o);
            give_frame(&p, &frame);
            buf_fini(&frame.body);
        }
    }
    give_frame(&p, &(struct wire_frame){.type = MSG_SYNC_END});
    assert_int_equal(fresh.begins, 1);
    assert_int_equal(fresh.ends, 1);
    placer_fini(&p);
}

/* The placer under test knows that all is done. */
static UNUSED void
check_placer(struct estate *e)
{
    const struct placer *p = &e->placer;

    if (p->dirty.count + p->queue.count + p->parked.count > 0 || p->starved ||
        p->wishes.open > 0 || p->pending.count > 0 || p->noted.count > 0)
        estate_fail(e,
                    "left in the placer: %zu dirty, %u wishes, %zu pending, "
                    "%zu noted",
                    p->dirty.count + p->queue.count + p->parked.count,
                    p->wishes.open, p->pending.count, p->noted.count);
}

/* What was asked and is fulfilled is forgotten, on both sides: what is left was
 * refused, is said of a Node that is not seen, or had no answer before somebody
 * else took a key of the Node. */
static UNUSED void
check_wishes(struct estate *e)
{
    const struct slot *s;
    size_t pos = 0;

    while ((s = map_next(&e->projector.slots, &pos)) != NULL) {
        struct wish w =
            wish_look(&e->placer.wishes, s->action, str_of(s->key + 1));

        if (s->action != ACTION_NODE ||
            (is_watched(api_get(e, KIND_NODE, s->key + 1)) &&
             w.state != WISH_LOST))
            estate_fail(e, "left in the projector: %s %s, in state %d",
                        action_name(s->action), s->key + 1, w.state);
    }
}

/* All that must be true when nothing happens any more. */
static UNUSED void
check_end(struct estate *e)
{
    struct lists l;

    lists_init(&l, e);
    check_racks(e);
    check_plan(e, &l);
    check_nodes(e);
    check_statuses(e, &l);
    check_placer(e);
    check_wishes(e);
    lists_fini(&l);
    check_fresh(e);
}

#endif
