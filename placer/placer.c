/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/placer.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "placer/decide.h"
#include "placer/status.h"
#include "proto/frame.h"
#include "proto/unpack.h"

void
placer_init(struct placer *p,
            void (*send)(void *arg, uint16_t type, uint32_t id,
                         struct str body),
            void *arg)
{
    *p = (struct placer){.stale = true};
    p->wishes.send = send;
    p->wishes.arg = arg;
}

static void
assumed_free(struct plan_assumed *a)
{
    free(a->rack);
    arena_fini(&a->arena);
    free(a);
}

static void
forget_assumed(struct placer *p, const char *rack)
{
    struct plan_assumed *a = map_remove(&p->assumed, rack);

    if (a == NULL)
        return;
    assumed_free(a);
    p->stale = true;
}

static void
forget_all_assumed(struct placer *p)
{
    struct plan_assumed *a;
    size_t pos = 0;

    while ((a = map_next(&p->assumed, &pos)) != NULL)
        forget_assumed(p, a->rack);
}

static void
unseen_free(struct placer_unseen *u)
{
    free(u->name);
    free(u->uid);
    free(u->version);
    free(u);
}

static void
forget_unseen(struct placer *p)
{
    struct placer_unseen *u;
    size_t pos = 0;

    while ((u = map_next(&p->unseen, &pos)) != NULL) {
        map_remove(&p->unseen, u->name);
        unseen_free(u);
    }
}

void
placer_fini(struct placer *p)
{
    forget_all_assumed(p);
    map_fini(&p->assumed);
    forget_unseen(p);
    map_fini(&p->unseen);
    map_fini(&p->duplicates);
    plan_fini(&p->plan);
    wish_fini(&p->wishes);
    world_fini(&p->world);
}

/* A write is seen when the feed shows its object at that version or later, or
 * another instance of it. */
static bool
is_seen(const struct placer *p, const struct placer_unseen *u)
{
    const struct world_rack *r = world_rack(&p->world, u->name);

    if (r == NULL)
        return false;
    return !str_is(r->o.meta.uid, u->uid) ||
           version_cmp(r->o.meta.version, str_of(u->version)) >= 0;
}

static void
check_unseen(struct placer *p)
{
    struct placer_unseen *u;
    size_t pos = 0;

    while ((u = map_next(&p->unseen, &pos)) != NULL) {
        if (!is_seen(p, u))
            continue;
        map_remove(&p->unseen, u->name);
        unseen_free(u);
    }
}

/* What was assumed of a rack ends when the feed shows the write. */
static void
check_assumed(struct placer *p, const struct world_rack *r)
{
    struct wish w = wish_look(&p->wishes, ACTION_RACK, r->o.meta.name);

    if (w.state == WISH_DONE &&
        version_cmp(r->o.meta.version, str_of(w.version)) >= 0)
        forget_assumed(p, r->o.meta.name.s);
}

static void
check_all_assumed(struct placer *p)
{
    struct plan_assumed *a;
    size_t pos = 0;

    while ((a = map_next(&p->assumed, &pos)) != NULL) {
        const struct world_rack *r = world_rack(&p->world, a->rack);

        if (r != NULL)
            check_assumed(p, r);
    }
}

/* One pass: plan if the model changed, then say what differs. */
static void
work(struct placer *p)
{
    bool began = p->planned != p->term;

    if (p->feeding)
        return; /* the end of the batch follows */
    check_unseen(p);
    if (!p->synced || p->term == 0 || !p->linked || p->unseen.count > 0)
        return;
    check_all_assumed(p);
    if (began)
        p->wishes.send(p->wishes.arg, MSG_PLAN_BEGIN, 0, STR(""));
    if (p->stale) {
        struct plan old = p->plan;

        plan_make(&p->plan, &old, &p->world, &p->assumed);
        p->stale = false;
        if (!p->plan.placed)
            log_error("no plan", F_STR("error", p->plan.why.text));
    }
    p->starved = false;
    decide(p);
    status_decide(p);
    if (began)
        p->wishes.send(p->wishes.arg, MSG_PLAN_END, 0, STR(""));
    p->planned = p->term;
}

static int
on_object(struct placer *p, uint16_t type, uint32_t id,
          const struct value *body, struct err *err)
{
    static const struct {
        uint16_t type;
        enum object_kind kind;
    } kinds[] = {
        {MSG_PROFILE, KIND_PROFILE},
        {MSG_INVENTORY, KIND_INVENTORY},
        {MSG_RACK, KIND_RACK},
        {MSG_NODE, KIND_NODE},
    };

    (void)id;
    p->stale = p->feeding = true;
    for (size_t i = 0; i < nitems(kinds); i++)
        if (kinds[i].type == type)
            return world_put(&p->world, kinds[i].kind, body, err);
    return err_set(err, "no object");
}

static int
on_gone(struct placer *p, uint16_t type, uint32_t id, const struct value *body,
        struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t kind = unpack_int(&u);
    struct str name = unpack_str(&u);
    struct str uid = unpack_str(&u);
    char *key;

    (void)type;
    (void)id;
    if (unpack_end(&u, err) != 0)
        return -1;
    if (kind < 0 || kind >= KIND_COUNT)
        return err_set(err, "kind %d", (int)kind);
    p->stale = p->feeding = true;
    world_remove(&p->world, (enum object_kind)kind, name, uid);
    if (kind != KIND_RACK)
        return 0;
    /* Created and deleted before the feed could show it: nothing to wait for.
     */
    key = mem_dup(name.s, name.n);
    if (world_rack(&p->world, key) == NULL) {
        struct placer_unseen *u2 = map_remove(&p->unseen, key);

        if (u2 != NULL)
            unseen_free(u2);
        if (wish_look(&p->wishes, ACTION_RACK, name).state != WISH_OPEN) {
            wish_drop(&p->wishes, ACTION_RACK, name);
            forget_assumed(p, key);
        }
    }
    free(key);
    return 0;
}

static int
on_sync_begin(struct placer *p, uint16_t type, uint32_t id,
              const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    if (p->syncing)
        return err_set(err, "a sync is open already");
    p->syncing = p->feeding = true;
    world_sync_begin(&p->world);
    return 0;
}

static int
on_sync_end(struct placer *p, uint16_t type, uint32_t id,
            const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    if (!p->syncing)
        return err_set(err, "no sync is open");
    p->syncing = p->feeding = false;
    p->synced = p->stale = true;
    world_sync_end(&p->world);
    work(p);
    return 0;
}

static int
on_batch_end(struct placer *p, uint16_t type, uint32_t id,
             const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    (void)err;
    p->feeding = p->syncing;
    work(p);
    return 0;
}

static int
on_written(struct placer *p, uint16_t type, uint32_t id,
           const struct value *body, struct err *err)
{
    struct arena arena = {0};
    enum action action;
    struct target t;
    int rc = written_unpack(&action, &t, body, &arena, err);

    (void)type;
    (void)id;
    if (rc == 0 && action == ACTION_RACK) {
        struct placer_unseen *u = mem_zalloc(sizeof(*u));
        struct placer_unseen *old;

        u->name = mem_dup(t.name.s, t.name.n);
        u->uid = mem_dup(t.uid.s, t.uid.n);
        u->version = mem_dup(t.version.s, t.version.n);
        old = map_put(&p->unseen, u->name, u);
        if (old != NULL)
            unseen_free(old);
    }
    arena_fini(&arena);
    return rc;
}

static int
on_written_end(struct placer *p, uint16_t type, uint32_t id,
               const struct value *body, struct err *err)
{
    (void)type;
    (void)id;
    (void)body;
    (void)err;
    p->linked = true;
    p->planned = 0;
    work(p);
    return 0;
}

/* Whether a result lets something go on that no later frame of the feed would:
 * the echo of a write brings its own. */
static bool
matters(const struct placer *p, const struct result *r)
{
    const struct world_node *node = world_node(&p->world, r->name.s);
    const struct world_rack *rack = world_rack(&p->world, r->name.s);
    const struct world_inventory *v = world_inventory(&p->world, r->name.s);

    if (r->outcome != OUTCOME_DONE ||
        (p->starved && p->wishes.open <= WISH_LIMIT / 2))
        return true;
    switch (r->action) {
    case ACTION_RACK:
        return rack == NULL ||
               version_cmp(rack->o.meta.version, r->version) >= 0;
    case ACTION_NODE:
        return node == NULL ||
               version_cmp(node->o.meta.version, r->version) >= 0;
    case ACTION_INVENTORY_FINALIZER:
        return v != NULL && version_cmp(v->o.meta.version, r->version) >= 0;
    default:
        return false;
    }
}

static int
on_result(struct placer *p, uint16_t type, uint32_t id,
          const struct value *body, struct err *err)
{
    struct arena arena = {0};
    struct result r;
    int rc = result_unpack(&r, body, &arena, err);

    (void)type;
    if (rc == 0 && wish_result(&p->wishes, id, &r)) {
        if (r.action == ACTION_RACK && r.outcome != OUTCOME_DONE)
            forget_assumed(p, r.name.s);
        if (r.outcome != OUTCOME_DONE)
            log_debug("intent refused", F_STR("action", action_name(r.action)),
                      F_STR("name", r.name.s),
                      F_STR("outcome", outcome_name(r.outcome)),
                      F_STR("reason", r.reason.s));
        if (matters(p, &r))
            work(p);
    }
    arena_fini(&arena);
    return rc;
}

static const struct {
    uint16_t type;
    int (*handle)(struct placer *p, uint16_t type, uint32_t id,
                  const struct value *body, struct err *err);
} handlers[] = {
    {MSG_SYNC_BEGIN, on_sync_begin}, {MSG_SYNC_END, on_sync_end},
    {MSG_BATCH_END, on_batch_end},   {MSG_PROFILE, on_object},
    {MSG_INVENTORY, on_object},      {MSG_RACK, on_object},
    {MSG_NODE, on_object},           {MSG_GONE, on_gone},
    {MSG_WRITTEN, on_written},       {MSG_WRITTEN_END, on_written_end},
    {MSG_RESULT, on_result},
};

int
placer_frame(struct placer *p, uint16_t type, uint32_t id,
             const struct value *body, struct err *err)
{
    for (size_t i = 0; i < nitems(handlers); i++)
        if (handlers[i].type == type)
            return handlers[i].handle(p, type, id, body, err);
    return err_set(err, "no message for the placer");
}

void
placer_feed_lost(struct placer *p)
{
    p->syncing = false;
}

void
placer_projector_lost(struct placer *p)
{
    p->linked = false;
    p->planned = 0;
    forget_unseen(p);
    wish_forget(&p->wishes, false);
}

void
placer_term_began(struct placer *p, uint64_t term)
{
    if (p->term == term)
        return;
    p->term = term;
    work(p);
}

void
placer_term_ended(struct placer *p)
{
    p->term = 0;
    p->planned = 0;
    wish_forget(&p->wishes, true);
    forget_all_assumed(p);
    if (!p->linked)
        return;
    p->wishes.send(p->wishes.arg, MSG_PLAN_BEGIN, 0, STR(""));
    p->wishes.send(p->wishes.arg, MSG_PLAN_END, 0, STR(""));
}
