/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placer process: its links, connected to placer.c.  It has no clock, opens
 * no file and speaks to nobody but the informer, the projector and the
 * supervisor.
 */
#include "common/log.h"
#include "common/mem.h"
#include "common/worker.h"
#include "placer/measure.h"
#include "placer/placer.h"
#include "proto/pack.h"
#include "proto/unpack.h"

struct state {
    struct worker *worker;
    struct placer placer;
    struct chan *projector; /* NULL: not linked */
};

/* The term in which a plan was made, 0: none; readiness hangs on it. */
static uint64_t
planned_term(const struct placer *p)
{
    return p->led == p->term ? p->term : 0;
}

typedef void report_fn(struct worker *w, bool ok, const char *reason,
                       const struct worker_fact *facts);

static void
report_by(const struct state *s, report_fn *say)
{
    const struct placer *p = &s->placer;
    const struct worker_fact facts[] = {
        {"term", (int64_t)planned_term(p)},
        {"profiles", (int64_t)p->world.kinds[KIND_PROFILE].count},
        {"inventories", (int64_t)p->world.kinds[KIND_INVENTORY].count},
        {"racks", (int64_t)p->world.kinds[KIND_RACK].count},
        {"nodes", (int64_t)p->world.kinds[KIND_NODE].count},
        {"wishes_open", p->wishes.open},
        {NULL, 0},
    };

    say(s->worker, p->synced,
        p->synced ? "" : "waiting for the informer's snapshot", facts);
}

static void
report(const struct state *s)
{
    report_by(s, worker_report);
}

static void
send_intent(void *arg, uint16_t type, uint32_t id, struct str body)
{
    const struct state *s = arg;

    if (s->projector != NULL)
        chan_send(s->projector, type, id, body);
}

static int
configure(void *state, struct worker *w, struct err *err)
{
    struct state *s = state;

    (void)err;
    s->worker = w;
    return 0;
}

static int
start(void *state, struct err *err)
{
    (void)err;
    report(state);
    return 0;
}

static void
subscribe(struct chan *informer)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_array(&body, KIND_COUNT);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        pack_int(&body, kind);
    chan_send(informer, MSG_SUBSCRIBE, 0, buf_str(&body));
    buf_fini(&body);
}

static void
linked(void *state, enum role peer, struct chan *chan)
{
    struct state *s = state;

    if (peer == ROLE_INFORMER)
        subscribe(chan);
    else if (peer == ROLE_PROJECTOR)
        s->projector = chan;
}

static void
unlinked(void *state, enum role peer)
{
    struct state *s = state;

    if (peer == ROLE_INFORMER) {
        placer_feed_lost(&s->placer);
    } else if (peer == ROLE_PROJECTOR) {
        s->projector = NULL;
        placer_projector_lost(&s->placer);
    }
    report(s);
}

static int
on_frame(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct state *s = state;
    uint64_t planned = planned_term(&s->placer);
    int rc = placer_frame(&s->placer, m->type, m->id, m->body, err);

    (void)from;
    /* Objects and results come by the thousand; what ends a batch tells. */
    if (planned_term(&s->placer) != planned)
        report(s);
    else if (m->type == MSG_SYNC_END || m->type == MSG_BATCH_END ||
             m->type == MSG_WRITTEN_END)
        report_by(s, worker_report_soon);
    return rc;
}

static int
on_term_began(void *state, struct chan *from, struct message *m,
              struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);
    struct state *s = state;

    (void)from;
    if (unpack_end(&u, err) != 0)
        return -1;
    placer_term_began(&s->placer, (uint64_t)term);
    report(s);
    return 0;
}

static int
on_term_ended(void *state, struct chan *from, struct message *m,
              struct err *err)
{
    struct state *s = state;

    (void)from;
    (void)m;
    (void)err;
    placer_term_ended(&s->placer);
    report(s);
    return 0;
}

static void
measure(void *state, struct metrics *m)
{
    const struct state *s = state;

    placer_measure(&s->placer, m);
}

static const struct worker_handler handlers[] = {
    {MSG_TERM_BEGAN, on_term_began},
    {MSG_TERM_ENDED, on_term_ended},
    {MSG_SYNC_BEGIN, on_frame},
    {MSG_SYNC_END, on_frame},
    {MSG_BATCH_END, on_frame},
    {MSG_PROFILE, on_frame},
    {MSG_INVENTORY, on_frame},
    {MSG_RACK, on_frame},
    {MSG_NODE, on_frame},
    {MSG_GONE, on_frame},
    {MSG_WRITTEN, on_frame},
    {MSG_WRITTEN_END, on_frame},
    {MSG_RESULT, on_frame},
    {MSG_AS_OF, on_frame},
};

static const struct worker_ops ops = {
    .role = ROLE_PLACER,
    .handlers = handlers,
    .handler_count = nitems(handlers),
    .configure = configure,
    .start = start,
    .measure = measure,
    .linked = linked,
    .unlinked = unlinked,
};

int
main(int argc, char **argv)
{
    struct state s = {0};
    int status;

    placer_init(&s.placer, send_intent, &s);
    status = worker_main(argc, argv, &ops, &s);
    placer_fini(&s.placer);
    return status;
}
