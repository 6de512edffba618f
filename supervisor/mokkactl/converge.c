/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/converge.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"
#include "common/mem.h"
#include "placer/placer.h"
#include "proto/frame.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/mokkactl/apply.h"

/* No object needs more writes than a handful, and no turn is without any but
 * the last ones: beyond these it goes round in circles. */
#define WRITES_MAX 100
#define IDLE_TURNS_MAX 100

/* An intent that is refused so often in a row will be for ever: it is left
 * open, so that the rest can settle. */
#define REFUSALS_MAX 5

/* An order and its place in a queue. */
struct queued {
    char *key; /* action, name */
    struct order *order;
};

/* What became of one. */
struct answer {
    uint32_t id;
    struct buf body; /* of its RESULT */
};

struct run {
    struct cluster *c;
    struct placer placer;
    struct map now;   /* struct queued by key */
    struct map later; /* statuses */
    struct converge_figures *figures;
    struct story *story;
    size_t done, idle; /* in this turn; turns without one done */
    struct err err;    /* the first failure; empty: none */
};

static void
fail(struct run *run, const struct err *err)
{
    if (run->err.text[0] == '\0')
        run->err = *err;
}

/* ---- what the placer says ---------------------------------------------- */

static char *
key_of(enum action action, struct str name)
{
    return mem_printf("%d %.*s", (int)action, (int)name.n, name.s);
}

static void
queued_free(struct queued *q)
{
    if (q == NULL)
        return;
    free(q->order);
    free(q->key);
    free(q);
}

static struct map *
queue_of(struct run *run, enum action action)
{
    return action == ACTION_RACK_STATUS || action == ACTION_INVENTORY_STATUS
               ? &run->later
               : &run->now;
}

static void
enqueue(struct run *run, uint16_t type, uint32_t id, const struct value *body)
{
    struct queued *q = mem_zalloc(sizeof(*q));
    struct err err;

    q->order = order_new(type, id, body, &err);
    if (q->order == NULL) {
        fail(run, &err);
        free(q);
        return;
    }
    q->key = key_of(q->order->action, q->order->target.name);
    queued_free(map_put(queue_of(run, q->order->action), q->key, q));
}

static void
withdraw(struct run *run, const struct value *body)
{
    struct arena arena = {0};
    enum action action;
    struct str name;
    char *key;

    if (intent_withdraw_unpack(&action, &name, body, &arena, NULL) == 0) {
        key = key_of(action, name);
        queued_free(map_remove(queue_of(run, action), key));
        free(key);
    }
    arena_fini(&arena);
}

/* A frame from the placer. It cannot be answered at once: the placer is in the
 * middle of its work. */
static void
said(void *arg, uint16_t type, uint32_t id, struct str bytes)
{
    struct run *run = arg;
    struct unpacked *body;
    struct err err;

    if (type == MSG_PLAN_BEGIN || type == MSG_PLAN_END || type == MSG_EVENT)
        return;
    body = unpack_body(bytes, &err);
    if (body == NULL)
        fail(run, &err);
    else if (type == MSG_WITHDRAW)
        withdraw(run, unpacked_root(body));
    else
        enqueue(run, type, id, unpacked_root(body));
    unpacked_free(body);
}

/* ---- what the placer is told ------------------------------------------- */

static void
tell(struct run *run, uint16_t type, uint32_t id, struct str bytes)
{
    struct unpacked *body = NULL;
    int64_t began = clock_now();
    struct err err;

    if (bytes.n > 0) {
        body = unpack_body(bytes, &err);
        if (body == NULL)
            fail(run, &err);
    }
    if (bytes.n > 0 && body == NULL)
        return;
    if (placer_frame(&run->placer, type, id,
                     body == NULL ? NULL : unpacked_root(body), &err) != 0)
        fail(run, &err);
    unpacked_free(body);
    began = clock_now() - began;
    run->figures->placing += began;
    if (began > run->figures->longest)
        run->figures->longest = began;
}

/* Nothing was written, and what the files say is all there is. */
static void
tell_current(struct run *run, struct moment moment)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, (int64_t)moment.ledger);
    tell(run, MSG_WRITTEN_END, 0, buf_str(&body));
    buf_clear(&body);
    pack_array(&body, 2);
    pack_moment(&body, moment);
    tell(run, MSG_CURRENT, 0, buf_str(&body));
    buf_fini(&body);
}

static bool
has_room(void *arg)
{
    (void)arg;
    return true;
}

static void
fed(void *arg, uint16_t type, struct str body)
{
    tell(arg, type, 0, body);
}

/* ---- turns ------------------------------------------------------------- */

static void
note_refusal(struct run *run, const struct result *result)
{
    if (result->outcome == OUTCOME_INVALID ||
        result->outcome == OUTCOME_CONFLICT)
        story_refuse(run->story, result);
    else
        story_unrefuse(run->story, result);
}

static void
check_writes(struct run *run, const struct order *order)
{
    static const unsigned shelves[ACTION_COUNT] = {
        [ACTION_RACK] = KIND_RACK,
        [ACTION_NODE] = KIND_NODE,
        [ACTION_INVENTORY_FINALIZER] = KIND_INVENTORY,
        [ACTION_INVENTORY_STATUS] = KIND_INVENTORY,
        [ACTION_RACK_STATUS] = KIND_RACK,
    };
    unsigned shelf = shelves[order->action];
    char *name = mem_dup(order->target.name.s, order->target.name.n);
    const struct stored *o = cluster_get(run->c, shelf, name);
    struct err err;

    if (o != NULL && o->writes > WRITES_MAX) {
        err_set(&err,
                "the plan does not settle: %s %s was written %u times, the "
                "last time as %s",
                o->schema->kind, o->name, o->writes,
                action_name(order->action));
        fail(run, &err);
    }
    free(name);
}

static void
carry_out(struct run *run, const struct order *order, struct answer *answer)
{
    struct arena arena = {0};
    struct result result = apply(run->c, order, &arena);

    answer->id = order->id;
    result_pack(&answer->body, &result);
    note_refusal(run, &result);
    run->done += result.outcome == OUTCOME_DONE;
    run->figures->intents++;
    check_writes(run, order);
    arena_fini(&arena);
}

/* All that is in the queue: first everything is applied, then the results are
 * told, and last the feed shows the changes. */
static void
take_turn(struct run *run, struct map *queue)
{
    struct map taken = *queue;
    struct answer *answers = mem_zalloc(taken.count * sizeof(*answers));
    size_t count = 0, pos = 0;
    struct queued *q;

    *queue = (struct map){0};
    while ((q = map_next(&taken, &pos)) != NULL) {
        if (story_refused(run->story, q->order->action, q->order->target.name) <
            REFUSALS_MAX)
            carry_out(run, q->order, &answers[count++]);
        map_remove(&taken, q->key);
        queued_free(q);
    }
    map_fini(&taken);
    for (size_t i = 0; i < count; i++) {
        tell(run, MSG_RESULT, answers[i].id, buf_str(&answers[i].body));
        buf_fini(&answers[i].body);
    }
    free(answers);
    cluster_pump(run->c);
}

static void
check_progress(struct run *run)
{
    struct err err;

    run->figures->turns++;
    run->idle = run->done > 0 ? 0 : run->idle + 1;
    run->done = 0;
    if (run->idle <= IDLE_TURNS_MAX)
        return;
    err_set(&err,
            "the plan does not settle: after %zu turns the same is "
            "refused again and again",
            run->figures->turns);
    fail(run, &err);
}

static void
settle(struct run *run)
{
    while (run->err.text[0] == '\0') {
        struct map *queue = run->now.count > 0 ? &run->now : &run->later;

        if (queue->count == 0)
            break;
        take_turn(run, queue);
        check_progress(run);
    }
}

static void
drop(struct map *queue)
{
    struct queued *q;
    size_t pos = 0;

    while ((q = map_next(queue, &pos)) != NULL) {
        map_remove(queue, q->key);
        queued_free(q);
    }
    map_fini(queue);
}

/* ---- what is left ------------------------------------------------------ */

static void
add_group(struct buf *list, const struct place_group *g)
{
    buf_printf(list, "%s%.*s/%.*s", list->len > 0 ? ", " : "",
               (int)g->inventory.name.n, g->inventory.name.s, (int)g->id.n,
               g->id.s);
}

static void
tell_overlap(struct run *run, struct str name, const struct alloc_node *n)
{
    const struct alloc *alloc = &run->placer.alloc;
    struct buf list = {0};

    for (size_t i = 0; i < alloc->group_count; i++)
        if (n->matches & (uint64_t)1 << i)
            add_group(&list, &alloc->groups[i].in);
    story_conflict(run->story, STORY_OVERLAP, name, STR(""), buf_str(&list));
    buf_fini(&list);
}

static void
tell_duplicate(struct run *run, struct str name, const struct alloc_node *n)
{
    struct buf list = {0};

    for (const struct alloc_binding *b = n->bindings; b != NULL; b = b->next)
        buf_printf(&list, "%s%s slot %d", list.len > 0 ? ", " : "",
                   b->rack->name, (int)b->in.slot);
    story_conflict(run->story, STORY_DUPLICATE, name, STR(""), buf_str(&list));
    buf_fini(&list);
}

static void
tell_node(struct run *run, struct str name, const struct alloc_node *n)
{
    switch (n->state) {
    case ALLOC_WAITING:
    case ALLOC_HELD:
        story_wait(run->story, name, n->group->in.inventory.name,
                   n->group->in.id);
        break;
    case ALLOC_OVERLAP:
        tell_overlap(run, name, n);
        break;
    case ALLOC_DUPLICATE:
        tell_duplicate(run, name, n);
        break;
    case ALLOC_IDLE:
        if (n->eligible && n->matches == 0)
            story_unselected(run->story, name);
        break;
    case ALLOC_BOUND:
        break;
    }
}

/* Nodes without a slot, and those that have too many. */
static void
tell_nodes(struct run *run)
{
    const struct store_entry *e;
    size_t pos = 0;

    while ((e = store_next(cluster_store(run->c), KIND_NODE, &pos)) != NULL) {
        char *uid = mem_dup(e->uid.s, e->uid.n);
        const struct alloc_node *n = alloc_node(&run->placer.alloc, uid);

        if (n != NULL)
            tell_node(run, str_of(e->name), n);
        free(uid);
    }
}

int
converge(struct cluster *c, struct story *story,
         struct converge_figures *figures, struct err *err)
{
    struct run run = {.c = c, .story = story, .figures = figures};
    const struct feed_link link = {has_room, fed, &run};

    *figures = (struct converge_figures){0};
    log_setup("mokkactl", 0, LOG_DEBUG, LOG_PLAIN);
    log_hand_to(story_log, story);
    placer_init(&run.placer, said, &run);
    tell_current(&run, (struct moment){1, 1});
    placer_term_began(&run.placer, 1);
    cluster_open(c, &link);
    settle(&run);
    tell_nodes(&run);
    placer_fini(&run.placer);
    log_hand_to(NULL, NULL);
    drop(&run.now);
    drop(&run.later);
    *err = run.err;
    return run.err.text[0] == '\0' ? 0 : -1;
}
