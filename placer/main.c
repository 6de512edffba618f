/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placer process: its links, connected to placer.c, or a recording of what
 * came over them (--replay).  It has no clock, opens no file (that of
 * a recording is granted) and speaks to nobody but the informer, the
 * projector and the supervisor.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/worker.h"
#include "placer/input.h"
#include "placer/measure.h"
#include "placer/questions.h"
#include "placer/recorder.h"
#include "placer/replay.h"
#include "proto/pack.h"

struct state {
    struct worker *worker;
    struct placer placer;
    struct recorder recorder;
    struct chan *informer, *projector; /* NULL: not linked */
    struct moment asked; /* of the informer: to refresh the racks */
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
    struct state *s = arg;

    recorder_say(&s->recorder, type, id, body);
    if (s->projector != NULL)
        chan_send(s->projector, type, id, body);
}

/* The one way in. */
static int
take(struct state *s, const struct input *in, struct err *err)
{
    int rc;

    recorder_take(&s->recorder, in);
    rc = input_apply(&s->placer, in, err);
    recorder_flush(&s->recorder);
    return rc;
}

static int
configure(void *state, struct worker *w, struct err *err)
{
    struct state *s = state;

    (void)err;
    s->worker = w;
    if (strcmp(worker_option(w, "project-clique-label"), "false") == 0)
        placer_vary(&s->placer, PLACER_NO_CLIQUE);
    s->placer.shadow = strcmp(worker_option(w, "shadow"), "true") == 0;
    return 0;
}

/* The file of --record or mokkactl record, from the first input on. */
static int
granted(void *state, enum resource resource, int fd, struct err *err)
{
    struct state *s = state;
    int64_t mebibytes = atoll(worker_option(s->worker, "record-limit"));

    if (resource != RESOURCE_RECORDING) {
        close(fd);
        return err_set(err, "resource %d was not asked for", (int)resource);
    }
    /* A file that may not grow is an error of write(), not the end of us. */
    signal(SIGXFSZ, SIG_IGN);
    recorder_begin(&s->recorder, fd, mebibytes << 20,
                   worker_generation(s->worker), placer_variant(&s->placer));
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
subscribe(const struct state *s)
{
    const struct placer *p = &s->placer;
    struct moment none = {0};
    struct buf body = {0};

    pack_array(&body, 3);
    pack_array(&body, KIND_COUNT);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        pack_int(&body, kind);
    pack_moment(&body, placer_is_current(p) ? p->current : none);
    chan_send(s->informer, MSG_SUBSCRIBE, 0, buf_str(&body));
    buf_fini(&body);
}

/* Once for each moment and informer. */
static void
ask_refresh(struct state *s)
{
    struct moment moment = placer_asks(&s->placer);
    struct buf body = {0};

    if (moment.term == 0 || moment_covers(s->asked, moment) ||
        s->informer == NULL)
        return;
    s->asked = moment;
    pack_array(&body, 2);
    pack_moment(&body, moment);
    chan_send(s->informer, MSG_REFRESH, 0, buf_str(&body));
    buf_fini(&body);
}

static void
linked(void *state, enum role peer, struct chan *chan)
{
    struct state *s = state;
    struct err err;

    take(s, &(struct input){.kind = RECORDED_LINKED, .peer = peer}, &err);
    if (peer == ROLE_INFORMER) {
        s->informer = chan;
        s->asked.term = 0;
        subscribe(s);
    } else if (peer == ROLE_PROJECTOR) {
        s->projector = chan;
    }
    ask_refresh(s);
}

static void
unlinked(void *state, enum role peer)
{
    struct state *s = state;
    struct err err;

    if (peer == ROLE_PROJECTOR)
        s->projector = NULL;
    else if (peer == ROLE_INFORMER)
        s->informer = NULL;
    take(s, &(struct input){.kind = RECORDED_LOST, .peer = peer}, &err);
    report(s);
}

static int
on_frame(void *state, struct chan *from, struct message *m, struct err *err)
{
    struct state *s = state;
    const struct input in = {
        .kind = RECORDED_TAKEN,
        .peer = chan_peer(from),
        .type = m->type,
        .id = m->id,
        .bytes = m->bytes,
        .body = m->body,
    };
    uint64_t planned = planned_term(&s->placer);
    int rc = take(s, &in, err);

    ask_refresh(s);
    /* Objects and results come by the thousand; what ends a batch tells. */
    if (m->type == MSG_TERM_BEGAN || m->type == MSG_TERM_ENDED ||
        planned_term(&s->placer) != planned)
        report(s);
    else if (m->type == MSG_SYNC_END || m->type == MSG_BATCH_END ||
             m->type == MSG_WRITTEN_END)
        report_by(s, worker_report_soon);
    return rc;
}

static void
fini(void *state)
{
    struct state *s = state;

    recorder_fini(&s->recorder);
}

static void
measure(void *state, struct metrics *m)
{
    const struct state *s = state;

    placer_measure(&s->placer, m);
}

static const struct worker_handler handlers[] = {
    {MSG_TERM_BEGAN, on_frame}, {MSG_TERM_ENDED, on_frame},
    {MSG_SYNC_BEGIN, on_frame}, {MSG_SYNC_END, on_frame},
    {MSG_BATCH_END, on_frame},  {MSG_PROFILE, on_frame},
    {MSG_INVENTORY, on_frame},  {MSG_RACK, on_frame},
    {MSG_NODE, on_frame},       {MSG_GONE, on_frame},
    {MSG_WRITTEN, on_frame},    {MSG_WRITTEN_END, on_frame},
    {MSG_RESULT, on_frame},     {MSG_RESTING, on_frame},
    {MSG_AS_OF, on_frame},      {MSG_CURRENT, on_frame},
};

/* ---- questions --------------------------------------------------------- */

static int
on_assignments(void *state, const struct str *arguments, struct buf *out,
               struct err *err)
{
    const struct state *s = state;

    return question_assignments(&s->placer, arguments[0], arguments[1], out,
                                err);
}

static int
on_why(void *state, const struct str *arguments, struct buf *out,
       struct err *err)
{
    const struct state *s = state;

    return question_why(&s->placer, arguments[0], out, err);
}

static int
on_dump(void *state, const struct str *arguments, struct buf *out,
        struct err *err)
{
    const struct state *s = state;

    (void)arguments;
    return question_dump(&s->placer, out, err);
}

/* "on BYTES", or "off REASON" if recording ended by itself. */
static int
on_recording(void *state, const struct str *arguments, struct buf *out,
             struct err *err)
{
    const struct recorder *r = &((const struct state *)state)->recorder;

    (void)arguments;
    (void)err;
    if (r->on)
        buf_printf(out, "on %" PRId64 "\n", r->size);
    else
        buf_printf(out, "off %s\n", r->why);
    return 0;
}

static int
on_end_recording(void *state, const struct str *arguments, struct buf *out,
                 struct err *err)
{
    struct state *s = state;

    (void)arguments;
    (void)out;
    (void)err;
    recorder_end(&s->recorder, "it was asked to end");
    return 0;
}

static const struct worker_question questions[] = {
    {"assignments", 2, on_assignments},
    {"why", 1, on_why},
    {"dump", 0, on_dump},
    {"recording", 0, on_recording},
    {"end-recording", 0, on_end_recording},
};

static const struct worker_ops ops = {
    .role = ROLE_PLACER,
    .handlers = handlers,
    .handler_count = nitems(handlers),
    .questions = questions,
    .question_count = nitems(questions),
    .configure = configure,
    .granted = granted,
    .start = start,
    .measure = measure,
    .linked = linked,
    .unlinked = unlinked,
    .fini = fini,
};

int
main(int argc, char **argv)
{
    struct state s = {0};
    int status;

    if (argc > 1)
        return replay_command(argc, argv);
    placer_init(&s.placer, send_intent, &s);
    status = worker_main(argc, argv, &ops, &s);
    placer_fini(&s.placer);
    return status;
}
