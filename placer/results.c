/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/placer_work.h"

#include "common/log.h"
#include "placer/decide.h"
#include "placer/names.h"
#include "placer/pending.h"
#include "proto/frame.h"
#include "proto/unpack.h"

int
placer_on_written(struct placer *p, uint16_t type, uint32_t id,
                  const struct value *body, struct err *err)
{
    struct arena arena = {0};
    enum action action;
    struct target t;
    int rc = written_unpack(&action, &t, body, &arena, err);

    (void)type;
    (void)id;
    if (rc == 0)
        pending_note(p, action, &t);
    arena_fini(&arena);
    return rc;
}

int
placer_on_written_end(struct placer *p, uint16_t type, uint32_t id,
                      const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t ledger = unpack_int(&u);

    (void)type;
    (void)id;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (ledger <= 0)
        return err_set(err, "there is no such ledger");
    p->ledger = (uint64_t)ledger;
    if (p->born == 0)
        p->born = p->ledger;
    p->linked = true;
    p->planned = 0;
    pending_noted(p);
    placer_work(p);
    return 0;
}

/* Is it worth asking again for something that was held back? */
static bool
has_room(const struct placer *p)
{
    for (unsigned i = 0; i < ACTION_COUNT; i++)
        if ((p->starved & 1u << i) != 0 &&
            wish_has_room(&p->wishes, (enum action)i))
            return true;
    return decide_may_unpark(p);
}

/* Whether a result lets something go on that no later frame of the feed would:
 * the echo of a write brings its own. */
static bool
matters(const struct placer *p, const struct result *r)
{
    const struct world_node *node = world_node(&p->world, r->name.s);
    const struct world_rack *rack = world_rack(&p->world, r->name.s);
    const struct world_inventory *v = world_inventory(&p->world, r->name.s);

    if (r->outcome != OUTCOME_DONE || has_room(p))
        return true;
    switch (r->action) {
    case ACTION_RACK:
        return version_cmp(rack == NULL ? str_of(p->racks_as_of)
                                        : rack->o.meta.version,
                           r->version) >= 0;
    case ACTION_NODE:
        return node == NULL ||
               version_cmp(node->o.meta.version, r->version) >= 0;
    case ACTION_INVENTORY_FINALIZER:
        return v != NULL && version_cmp(v->o.meta.version, r->version) >= 0;
    default:
        return false;
    }
}

/* Nothing of ours is on a Node that the feed does not show. */
static void
note_clean(struct placer *p, const struct result *r)
{
    const struct object_ref node = {r->name, r->uid};
    struct wish w = wish_look(&p->wishes, ACTION_NODE, r->name);

    if (w.basis[0] != '\0' || r->uid.n == 0 ||
        world_node_exact(&p->world, &node) != NULL ||
        (r->outcome != OUTCOME_DONE && r->outcome != OUTCOME_GONE))
        return;
    names_add(&p->cleaned, r->uid.s);
    wish_drop(&p->wishes, ACTION_NODE, r->name);
}

/* The API server does not take a rack: its group waits for another profile. */
static void
bar_group(struct placer *p, const struct result *r)
{
    struct wish w = wish_look(&p->wishes, ACTION_RACK, r->name);
    const struct plan_rack *rack;

    if (r->outcome != OUTCOME_INVALID || w.type != MSG_RACK_WRITE || p->rebuild)
        return;
    rack = plan_rack(&p->plan, r->name.s);
    if (rack == NULL)
        return;
    plan_bar(&p->barred, rack->group, r->reason);
    placer_drop_derived(p);
}

/* The racks that a result may let go on. */
static void
touch_result(struct placer *p, const struct result *r)
{
    if (r->action == ACTION_RACK || r->action == ACTION_RACK_STATUS) {
        placer_touch(p, r->name.s);
    } else if (r->action == ACTION_NODE) {
        note_clean(p, r);
        for (const struct alloc_binding *b = alloc_named(&p->alloc, r->name.s);
             b != NULL; b = b->named)
            placer_touch(p, b->rack->name);
    }
}

int
placer_on_result(struct placer *p, uint16_t type, uint32_t id,
                 const struct value *body, struct err *err)
{
    struct arena arena = {0};
    struct result r;
    int rc = result_unpack(&r, body, &arena, err);

    (void)type;
    if (rc == 0 && wish_result(&p->wishes, id, &r)) {
        touch_result(p, &r);
        if (r.action == ACTION_RACK)
            bar_group(p, &r);
        if (r.outcome != OUTCOME_DONE)
            log_debug("intent refused", F_STR("action", action_name(r.action)),
                      F_STR("name", r.name.s),
                      F_STR("outcome", outcome_name(r.outcome)),
                      F_STR("reason", r.reason.s));
        if (matters(p, &r))
            placer_work(p);
    }
    arena_fini(&arena);
    return rc;
}

int
placer_on_resting(struct placer *p, uint16_t type, uint32_t id,
                  const struct value *body, struct err *err)
{
    struct arena arena = {0};
    enum action action;
    struct str name;
    int rc = intent_withdraw_unpack(&action, &name, body, &arena, err);

    (void)type;
    if (rc == 0 && wish_rest(&p->wishes, id, action, name) && has_room(p))
        placer_work(p);
    arena_fini(&arena);
    return rc;
}
