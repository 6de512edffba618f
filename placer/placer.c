/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/placer.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "placer/decide.h"
#include "placer/names.h"
#include "placer/pending.h"
#include "placer/placer_work.h"
#include "placer/status.h"
#include "proto/frame.h"
#include "proto/pack.h"

void
placer_touch(struct placer *p, const char *rack)
{
    if (!p->rebuild)
        names_add(&p->dirty, rack);
}

void
placer_hold(struct placer *p, const char *rack)
{
    names_add(&p->held, rack);
}

void
placer_know(struct placer *p, struct str node)
{
    names_add(&p->known, node.s);
}

void
placer_starve(struct placer *p, enum action action)
{
    p->starved |= 1u << action;
}

void
placer_park(struct placer *p, const char *rack)
{
    names_add(&p->parked, rack);
}

struct projection
placer_projection(const struct placer *p, const struct object_rack *rack,
                  const struct object_slot *slot, struct arena *arena)
{
    return project_wanted(rack, slot, !p->no_clique, arena);
}

void
placer_projecting(const struct placer *p, struct projecting *x,
                  const struct object_rack *rack)
{
    projecting_begin(x, rack, !p->no_clique);
}

static void
touched(void *arg, const char *rack)
{
    placer_touch(arg, rack);
}

/* Takes over the name. */
static void
enqueue(struct placer *p, char *name)
{
    if (map_get(&p->queue, name) != NULL)
        free(name);
    else
        map_put(&p->queue, name, name);
}

const char *
placer_next(struct placer *p)
{
    size_t pos = 0;
    char *name;

    if (p->queue.count == 0) {
        while ((name = map_next(&p->dirty, &pos)) != NULL)
            enqueue(p, name);
        map_fini(&p->dirty);
        pos = 0;
    }
    return map_next(&p->queue, &pos);
}

void
placer_looked(struct placer *p, const char *rack)
{
    free(map_remove(&p->queue, rack));
}

/* Before its ledger the projector takes nothing, and has nothing of ours. */
static void
say(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct placer *p = arg;

    if (p->linked)
        p->send(p->arg, type, id, body);
}

void
placer_init(struct placer *p,
            void (*send)(void *arg, uint16_t type, uint32_t id,
                         struct str body),
            void *arg)
{
    *p = (struct placer){.rebuild = true, .send = send, .arg = arg};
    p->wishes.send = say;
    p->wishes.arg = p;
    p->alloc.touched = touched;
    p->alloc.arg = p;
}

void
placer_stray(struct placer *p, const char *node)
{
    names_add(&p->strays, node);
}

void
placer_vary(struct placer *p, int64_t variant)
{
    p->no_clique = (variant & PLACER_NO_CLIQUE) != 0;
}

int64_t
placer_variant(const struct placer *p)
{
    return p->no_clique ? PLACER_NO_CLIQUE : 0;
}

/* Of all that something happened to, what is settled is forgotten; that may
 * touch others. */
static void
settle_dirty(struct placer *p)
{
    while (p->dirty.count > 0) {
        struct map dirty = p->dirty;
        size_t pos = 0;
        char *name;

        p->dirty = (struct map){0};
        while ((name = map_next(&dirty, &pos)) != NULL) {
            pending_settle(p, name);
            enqueue(p, name);
        }
        map_fini(&dirty);
    }
}

void
placer_fini(struct placer *p)
{
    placer_drop_derived(p);
    pending_fini(p);
    names_fini(&p->strays);
    names_fini(&p->left);
    names_fini(&p->cleaned);
    names_fini(&p->known);
    decide_fini(p);
    plan_unbar(&p->barred);
    free(p->racks_as_of);
    tally_fini(&p->tally);
    plan_fini(&p->plan);
    wish_fini(&p->wishes);
    news_fini(&p->news);
    world_fini(&p->world);
}

static void
say_plan(struct placer *p, uint64_t term)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, (int64_t)term);
    p->wishes.send(p->wishes.arg, MSG_PLAN_BEGIN, 0, buf_str(&body));
    buf_fini(&body);
}

void
placer_left(struct placer *p, const char *node)
{
    if (wish_look(&p->wishes, ACTION_NODE, str_of(node)).state != WISH_NONE)
        names_add(&p->left, node);
}

/* Of Nodes that no rack binds any more nothing is wanted. */
static void
settle_left(struct placer *p)
{
    size_t pos = 0;
    const char *name;

    while ((name = map_next(&p->left, &pos)) != NULL)
        if (alloc_named(&p->alloc, name) == NULL)
            wish_drop(&p->wishes, ACTION_NODE, str_of(name));
    names_fini(&p->left);
}

static void
tell_plan(const struct placer *p)
{
    log_debug(
        "allocation planned", F_INT("inventories", p->plan.inventory_count),
        F_INT("groups", p->alloc.group_count), F_INT("intents", p->wishes.open),
        F_INT("pendingNodes", alloc_all_pending(&p->alloc)),
        F_INT("conflictedNodes", alloc_all_conflicts(&p->alloc)));
}

/* One pass: say what differs between wanted and standing. */
static void
plan(struct placer *p)
{
    if (!p->rebuild && p->recharged && plan_readmit(&p->plan))
        placer_drop_derived(p);
    p->recharged = false;
    if (p->rebuild) {
        placer_drop_derived(p);
        placer_rebuild(p);
    }
    decide_held(p);
    settle_dirty(p);
    settle_left(p);
    decide(p);
    status_inventories(p);
    p->led = p->term;
    tell_plan(p);
}

/* A new link, or a new term, is opened with a plan in brackets. */
void
placer_work(struct placer *p)
{
    bool began = p->planned != p->term;

    /* In the middle of a batch: its end follows. */
    if (p->feeding || !p->synced || p->term == 0 || !p->linked)
        return;
    if (began)
        say_plan(p, p->term);
    p->starved = 0;
    p->wishes.missed = false;
    p->wishes.wary = !placer_is_current(p);
    if (pending_ledger(p))
        plan(p);
    if (began)
        p->wishes.send(p->wishes.arg, MSG_PLAN_END, 0, STR(""));
    p->planned = p->term;
}

static const struct {
    uint16_t type;
    placer_handler *handle;
} handlers[] = {
    {MSG_SYNC_BEGIN, placer_on_sync_begin},
    {MSG_SYNC_END, placer_on_sync_end},
    {MSG_BATCH_END, placer_on_batch_end},
    {MSG_AS_OF, placer_on_as_of},
    {MSG_CURRENT, placer_on_current},
    {MSG_PROFILE, placer_on_object},
    {MSG_INVENTORY, placer_on_object},
    {MSG_RACK, placer_on_object},
    {MSG_NODE, placer_on_object},
    {MSG_GONE, placer_on_gone},
    {MSG_WRITTEN, placer_on_written},
    {MSG_WRITTEN_END, placer_on_written_end},
    {MSG_RESULT, placer_on_result},
    {MSG_RESTING, placer_on_resting},
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

/* What came of open wishes must be asked: everything is looked at. */
void
placer_projector_lost(struct placer *p)
{
    p->linked = false;
    p->planned = 0;
    wish_lose(&p->wishes, false);
    placer_drop_derived(p);
}

void
placer_term_began(struct placer *p, uint64_t term)
{
    if (p->term == term)
        return;
    if (p->term != 0)
        placer_term_ended(p);
    p->term = term;
    placer_work(p);
}

bool
placer_is_current(const struct placer *p)
{
    return moment_covers(p->current, (struct moment){p->term, p->born});
}

struct moment
placer_asks(const struct placer *p)
{
    return (struct moment){p->wishes.missed ? p->term : 0, p->ledger};
}

void
placer_term_ended(struct placer *p)
{
    p->wishes.missed = false;
    p->term = 0;
    p->planned = 0;
    wish_lose(&p->wishes, true);
    names_fini(&p->cleaned);
    names_fini(&p->known);
    plan_unbar(&p->barred);
    placer_drop_derived(p);
    say_plan(p, 0);
    say(p, MSG_PLAN_END, 0, STR(""));
}
