/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/wire.h"

#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "proto/pack.h"
#include "supervisor/memory.h"
#include "supervisor/process.h"
#include "supervisor/spawn.h"

static const struct {
    enum role a, b;
} links[] = {
#define LINK(a, b) {ROLE_##a, ROLE_##b},
#include "supervisor/topology.def"
};

static const struct {
    enum role role;
    enum resource resource;
} grants[] = {
#define GRANT(role, resource) {ROLE_##role, RESOURCE_##resource},
#include "supervisor/topology.def"
};

bool
wire_up(const struct process *p)
{
    return p->control != NULL &&
           (p->child.state == CHILD_WIRING || p->child.state == CHILD_RUNNING);
}

bool
wire_hears(const struct process *p, uint16_t type)
{
    return (message_receivers(type) & 1u << p->row->role) != 0;
}

/* Sends a message to every wired worker that may get it. */
void
wire_broadcast(struct supervisor *sup, uint16_t type, struct str body)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &sup->processes[i];

        if (wire_up(p) && wire_hears(p, type))
            chan_send(p->control, type, 0, body);
    }
}

/* The body of TERM_BEGAN. */
void
wire_pack_term(struct buf *out, uint64_t term)
{
    pack_array(out, 1);
    pack_int(out, (int64_t)term);
}

static void
send_config(struct process *p)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, (int64_t)p->generation);
    options_pack(&body, p->sup->options, p->sup->identity,
                 memory_share(p->sup->memory, p->row->role));
    chan_send(p->control, MSG_CONFIG, 0, buf_str(&body));
    buf_fini(&body);
}

/* A worker that cannot be given its descriptors cannot work: it is started
 * anew, later. */
static void
send_fd(struct process *p, uint16_t type, struct str body, int fd)
{
    struct err err;

    if (chan_send_fd(p->control, type, body, fd, &err) == 0)
        return;
    log_error("worker cannot be wired", F_STR("error", err.text),
              F_STR("worker", p->row->name),
              F_INT("generation", p->generation));
    process_step(p, CHILD_CUT);
}

/* What this run does not have is granted to nobody. */
static void
send_grants(struct process *p)
{
    for (size_t i = 0; i < nitems(grants); i++) {
        struct buf body = {0};

        if (grants[i].role != p->row->role ||
            p->sup->resources[grants[i].resource] <= 0)
            continue;
        pack_array(&body, 1);
        pack_int(&body, grants[i].resource);
        send_fd(p, MSG_GRANTED, buf_str(&body),
                p->sup->resources[grants[i].resource]);
        buf_fini(&body);
    }
}

void
wire_close_grants(const struct process *p)
{
    int *resources = p->sup->resources;

    for (size_t i = 0; i < nitems(grants); i++) {
        if (grants[i].role != p->row->role ||
            resources[grants[i].resource] <= 0)
            continue;
        close(resources[grants[i].resource]);
        resources[grants[i].resource] = -1;
    }
}

static void
send_trace(struct process *p)
{
    struct buf body = {0};

    if (p->trace_fd < 0)
        return;
    pack_array(&body, 1);
    pack_int(&body, RESOURCE_TRACE);
    send_fd(p, MSG_GRANTED, buf_str(&body), p->trace_fd);
    buf_fini(&body);
}

static void
send_link(struct process *to, const struct process *peer, int fd)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, peer->row->role);
    pack_int(&body, (int64_t)peer->generation);
    send_fd(to, MSG_LINKED, buf_str(&body), fd);
    buf_fini(&body);
}

static void
link_two(struct process *a, struct process *b)
{
    struct err err;
    int ends[2];

    if (spawn_pair(ends, &err) != 0) {
        log_error("workers cannot be linked", F_STR("error", err.text),
                  F_STR("peer", b->row->name), F_STR("worker", a->row->name),
                  F_INT("generation", a->generation));
        return;
    }
    send_link(a, b, ends[0]);
    send_link(b, a, ends[1]);
    close(ends[0]);
    close(ends[1]);
}

/* Every link whose other end can take it; the others follow when that starts.
 */
static void
send_links(struct process *p)
{
    for (size_t i = 0; i < nitems(links); i++) {
        struct process *a = process_of(p->sup, links[i].a);
        struct process *b = process_of(p->sup, links[i].b);

        if ((a == p || b == p) && wire_up(a) && wire_up(b))
            link_two(a, b);
    }
}

/* What a worker must know that started in the middle of things. */
static void
send_standing(struct process *p)
{
    const struct supervisor *sup = p->sup;
    struct buf body = {0};

    if (sup->term != 0 && wire_hears(p, MSG_TERM_BEGAN)) {
        wire_pack_term(&body, sup->term);
        chan_send(p->control, MSG_TERM_BEGAN, 0, buf_str(&body));
        buf_fini(&body);
    }
    if (sup->contending && wire_hears(p, MSG_CONTEND))
        chan_send(p->control, MSG_CONTEND, 0, STR(""));
    if (wire_hears(p, MSG_READINESS))
        chan_send(p->control, MSG_READINESS, 0, buf_str(&sup->readiness));
}

void
wire_worker(struct process *p)
{
    send_config(p);
    send_trace(p);
    send_grants(p);
    send_links(p);
    chan_send(p->control, MSG_START, 0, STR(""));
    send_standing(p);
}

bool
wire_grants(enum role role, enum resource resource)
{
    for (size_t i = 0; i < nitems(grants); i++)
        if (grants[i].role == role && grants[i].resource == resource)
            return true;
    return false;
}

bool
wire_linked(enum role role, int64_t peer)
{
    for (size_t i = 0; i < nitems(links); i++)
        if ((links[i].a == role && links[i].b == peer) ||
            (links[i].b == role && links[i].a == peer))
            return true;
    return false;
}

bool
wire_has_links(enum role role)
{
    for (size_t i = 0; i < nitems(links); i++)
        if (links[i].a == role || links[i].b == role)
            return true;
    return false;
}
