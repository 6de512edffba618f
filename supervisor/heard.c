/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/heard.h"

#include <stdlib.h>
#include <string.h>

#include "common/build.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "proto/unpack.h"
#include "supervisor/control.h"
#include "supervisor/process.h"
#include "supervisor/scrape.h"
#include "supervisor/wire.h"

static int
on_hello(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t protocol = unpack_int(&u);
    struct str build = unpack_str(&u);
    struct str name = unpack_str(&u);

    unpack_int(&u); /* its own idea of its pid; a namespace may differ */
    if (unpack_end(&u, err) != 0)
        return -1;
    if (protocol != PROTOCOL_VERSION || !str_is(build, build_id) ||
        !str_is(name, p->row->name)) {
        struct err mismatch;

        err_set(&mismatch,
                "%s is \"%.*s\" of build %.*s, protocol %d; this is build %s, "
                "protocol %d: install all programs of one build together",
                p->row->name, (int)name.n, name.s, (int)build.n, build.s,
                (int)protocol, build_id, PROTOCOL_VERSION);
        if (p->lent)
            return err_set(err, "%s", mismatch.text);
        *p->sup->err = mismatch;
        p->sup->status = 1;
        supervisor_stop(p->sup);
        return 0;
    }
    process_step(p, CHILD_HELLO);
    return 0;
}

/* The kernel is the same for all: what is lacking is said when it is heard for
 * the first time. */
static bool
is_news(const struct supervisor *sup, const char *lacking)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (strcmp(sup->processes[i].lacking.text, lacking) == 0)
            return false;
    return true;
}

static int
on_sandboxed(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    struct str text = unpack_str(&u);
    struct err lacking;

    if (unpack_end(&u, err) != 0)
        return -1;
    err_set(&lacking, "%.*s", (int)text.n, text.s);
    if (lacking.text[0] != '\0' && is_news(p->sup, lacking.text))
        log_warn("the sandbox of workers lacks something",
                 F_STR("lacking", lacking.text), F_STR("worker", p->row->name),
                 F_INT("generation", p->generation));
    p->sandboxed = true;
    p->lacking = lacking;
    return 0;
}

static int
on_ready(struct process *p, struct message *m, struct err *err)
{
    (void)m;
    (void)err;
    process_step(p, CHILD_READY);
    return 0;
}

static int
on_state(struct process *p, struct message *m, struct err *err)
{
    if (health_report(&p->sup->health, p->row->role, m->body, err) != 0)
        return -1;
    /* Once for all the reports that are there. */
    event_active(p->sup->grace, EV_TIMEOUT, 0);
    return 0;
}

static int
on_bye(struct process *p, struct message *m, struct err *err)
{
    (void)p;
    (void)m;
    (void)err;
    return 0; /* the end of the process is what counts */
}

static int
on_failed(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    struct str reason = unpack_str(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    /* What somebody runs by hand ends nobody else. */
    if (p->lent)
        return err_set(err, "%.*s", (int)reason.n, reason.s);
    if (p->sup->status == 0)
        err_set(p->sup->err, "%s: %.*s", p->row->name, (int)reason.n, reason.s);
    p->sup->status = 1;
    supervisor_stop(p->sup);
    return 0;
}

/* The peer broke the protocol: a fresh start is what mends that, and its
 * back-off keeps it from happening at full speed. */
static int
on_link_broken(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t role = unpack_int(&u);
    int64_t generation = unpack_int(&u);
    struct str reason = unpack_str(&u);
    struct process *peer;
    char *text;

    if (unpack_end(&u, err) != 0)
        return -1;
    if (!wire_linked(p->row->role, role))
        return err_set(err, "there is no link to %d", (int)role);
    peer = process_of(p->sup, (enum role)role);
    if (generation != (int64_t)peer->generation)
        return 0; /* that one is gone */
    text = mem_dup(reason.s, reason.n);
    log_error("worker broke the protocol", F_STR("error", text),
              F_STR("toldBy", p->row->name), F_STR("worker", peer->row->name),
              F_INT("generation", peer->generation));
    free(text);
    process_step(peer, CHILD_CUT);
    return 0;
}

/* The cluster is another than the one that they know (it was restored from a
 * backup).  All of them at once: what one still knows would mislead the next
 * start of another. */
static int
on_went_back(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    struct str reason = unpack_str(&u);
    struct supervisor *sup = p->sup;
    char *text;

    if (unpack_end(&u, err) != 0)
        return -1;
    text = mem_dup(reason.s, reason.n);
    log_warn("the cluster went back in time, its readers start anew",
             F_STR("reason", text), F_STR("worker", p->row->name),
             F_INT("generation", p->generation));
    free(text);
    for (size_t i = 0; i < PROCESSES; i++)
        if (wire_has_links(sup->processes[i].row->role))
            process_step(&sup->processes[i], CHILD_AGAIN);
    return 0;
}

static int
on_term_began(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);
    struct buf body = {0};

    if (unpack_end(&u, err) != 0)
        return -1;
    p->sup->term = (uint64_t)term;
    wire_pack_term(&body, p->sup->term);
    wire_broadcast(p->sup, MSG_TERM_BEGAN, buf_str(&body));
    buf_fini(&body);
    return 0;
}

static int
on_term_ended(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t term = unpack_int(&u);
    struct str reason = unpack_str(&u);
    struct buf body = {0};

    if (unpack_end(&u, err) != 0)
        return -1;
    p->sup->term = 0;
    pack_array(&body, 2);
    pack_int(&body, term);
    pack_str(&body, reason);
    wire_broadcast(p->sup, MSG_TERM_ENDED, buf_str(&body));
    buf_fini(&body);
    return 0;
}

static int
on_pong(struct process *p, struct message *m, struct err *err)
{
    (void)m;
    (void)err;
    watchdog_heard(&p->watchdog);
    return 0;
}

static int
on_answer(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    bool last = unpack_bool(&u);
    bool ok = unpack_bool(&u);
    struct str text = unpack_str(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    control_answer(p, m->id, last, ok, text);
    return 0;
}

static int
on_tapped(struct process *p, struct message *m, struct err *err)
{
    struct unpack u = unpack_fields(m->body);
    int64_t peer = unpack_int(&u);
    int64_t lost = unpack_int(&u);
    struct str text = unpack_str(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    control_tapped(p, peer, lost, text);
    return 0;
}

static const struct {
    uint16_t type;
    int (*handle)(struct process *p, struct message *m, struct err *err);
} handlers[] = {
    {MSG_HELLO, on_hello},
    {MSG_SANDBOXED, on_sandboxed},
    {MSG_READY, on_ready},
    {MSG_STATE, on_state},
    {MSG_BYE, on_bye},
    {MSG_LINK_BROKEN, on_link_broken},
    {MSG_FAILED, on_failed},
    {MSG_WENT_BACK, on_went_back},
    {MSG_TERM_BEGAN, on_term_began},
    {MSG_TERM_ENDED, on_term_ended},
    {MSG_MEASURE, scrape_measure},
    {MSG_METRICS, scrape_metrics},
    {MSG_PONG, on_pong},
    {MSG_ANSWER, on_answer},
    {MSG_TAPPED, on_tapped},
};

int
heard(struct process *p, struct message *m, struct err *err)
{
    for (size_t i = 0; i < nitems(handlers); i++)
        if (handlers[i].type == m->type)
            return handlers[i].handle(p, m, err);
    return err_set(err, "no handler for it in the supervisor");
}
