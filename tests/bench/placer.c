/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the placer alone costs: it plans an estate from nothing and sees it
 * through, then single Nodes among all change.  Three sizes in one run, so that
 * what grows with the estate, and what does not, can be seen.  Times are CPU
 * time of its one thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "tests/unit/placer_sim.h"

enum { PER_RACK = 100, CHANGES = 200 };

struct bench {
    struct sim sim;
    int nodes;
    int64_t spent;  /* nanoseconds of CPU in the placer since the last part */
    size_t heard;   /* of what it said, what was answered */
    uint64_t looks; /* racks looked at until then */
    char (*names)[16];
};

/* ---- figures ----------------------------------------------------------- */

static double
megabytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return (double)(info.uordblks + info.hblkhd) / 1e6;
}

/* Ends a part: what it took, and the memory now, over what was there before. */
static void
part(struct bench *b, const char *what, double before)
{
    printf("  %-34s %9.3f ms  %6.1f MB  %7" PRIu64 " racks looked at\n", what,
           (double)b->spent / 1e6, megabytes() - before,
           b->sim.p.examined - b->looks);
    b->spent = 0;
    b->looks = b->sim.p.examined;
}

/* ---- frames; packing them does not count ------------------------------- */

/* Of this one thread, whatever else the machine does. */
static int64_t
cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
begin(struct bench *b)
{
    b->spent -= cpu_now();
}

static void
end(struct bench *b)
{
    b->spent += cpu_now();
}

/* Body (NULL: none) is given back. */
static void
give(struct bench *b, uint16_t type, uint32_t id, struct buf *body)
{
    begin(b);
    sim_frame(&b->sim, type, id, body);
    end(b);
}

/* Node i, in a pool; projected or bare. */
static void
give_node(struct bench *b, int i, const char *pool, const struct intent_node *p)
{
    struct pair labels[5] = {
        {STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)},
        {STR("pool"), str_of(pool)},
        {STR("kubernetes.io/hostname"), str_of(b->names[i])},
    };
    char uid[24];
    char version[16];
    struct object_node o = {.meta = {.name = str_of(b->names[i])}};
    struct buf body = {0};
    size_t count = 3;

    snprintf(uid, sizeof(uid), "%s-uid", b->names[i]);
    snprintf(version, sizeof(version), "%d", ++b->sim.version);
    o.meta.uid = str_of(uid);
    o.meta.version = str_of(version);
    if (p != NULL) {
        labels[count++] = (struct pair){STR(LABEL_ASSIGNED), STR(LABEL_TRUE)};
        labels[count++] = (struct pair){STR(LABEL_CLIQUE), p->clique};
        o.annotation = p->annotation;
        o.ours = KEY_ALL;
    }
    pairs_sort(labels, count);
    o.meta.labels = (struct pairs){labels, count, NULL};
    object_node_pack(&body, &o);
    give(b, MSG_NODE, 0, &body);
}

static void
give_rack(struct bench *b, int index)
{
    const char *nodes[PER_RACK];
    char digest[RACK_DIGEST];

    for (int i = 0; i < PER_RACK; i++)
        nodes[i] = b->names[index * PER_RACK + i];
    sim_digest(&b->sim, "lab", "all", index, digest);
    begin(b);
    sim_rack(&b->sim, &(struct sim_rack){.inventory = "lab",
                                         .group = "all",
                                         .index = index,
                                         .slots = PER_RACK,
                                         .more = nodes,
                                         .digest = digest});
    end(b);
}

static void
give_answer(struct bench *b, const struct sim_said *said)
{
    static const enum action actions[] = {
        [MSG_RACK_WRITE - MSG_RACK_WRITE] = ACTION_RACK,
        [MSG_NODE_APPLY - MSG_RACK_WRITE] = ACTION_NODE,
        [MSG_STATUS_WRITE - MSG_RACK_WRITE] = ACTION_RACK_STATUS,
    };
    enum action action = actions[said->type - MSG_RACK_WRITE];

    if (action == ACTION_RACK_STATUS && strcmp(said->name, "lab") == 0)
        action = ACTION_INVENTORY_STATUS;
    begin(b);
    sim_result(&b->sim, said, action, OUTCOME_DONE);
    end(b);
}

/* A Node as the intent wants it. */
static void
echo_node(struct bench *b, const struct sim_said *said)
{
    struct arena arena = {0};
    struct intent_node i;
    struct unpacked *u = unpack_body(buf_str(&said->body), NULL);

    assert_int_equal(intent_node_unpack(&i, unpacked_root(u), &arena, NULL), 0);
    give_node(b, atoi(said->name + strlen("sim-")), "lab", &i);
    unpacked_free(u);
    arena_fini(&arena);
}

/* Carries out what was said, and what is said on that. */
static void
carry_out(struct bench *b)
{
    for (; b->heard < b->sim.count; b->heard++) {
        const struct sim_said said = b->sim.said[b->heard];

        if (said.type != MSG_RACK_WRITE && said.type != MSG_NODE_APPLY &&
            said.type != MSG_STATUS_WRITE)
            continue;
        give_answer(b, &said);
        if (said.type == MSG_NODE_APPLY)
            echo_node(b, &said);
    }
    sim_forget(&b->sim);
    b->heard = 0;
    arena_fini(&b->sim.arena);
}

/* ---- one estate -------------------------------------------------------- */

static void
declare(struct bench *b)
{
    char *groups = mem_printf(
        "[{\"id\":\"all\",\"count\":%d,\"profileRef\":{\"name\":\"p\"},"
        "\"placement\":{\"nodeSelector\":{\"matchLabels\":"
        "{\"pool\":\"lab\"}}}}]",
        b->nodes / PER_RACK);

    sim_profile(&b->sim, "p", 1, PER_RACK);
    sim_inventory(&b->sim, &(struct sim_inventory){.name = "lab",
                                                   .groups = groups,
                                                   .generation = 1});
    free(groups);
}

/* Single Nodes leave the pool and come back. */
static void
change(struct bench *b)
{
    uint64_t most = 0;
    int64_t longest = 0;

    for (int i = 0; i < CHANGES; i++) {
        uint64_t before = b->sim.p.examined;
        int64_t spent = b->spent;

        give_node(b, (int)((int64_t)i * b->nodes / CHANGES), "none", NULL);
        give(b, MSG_BATCH_END, 0, NULL);
        if (b->sim.p.examined - before > most)
            most = b->sim.p.examined - before;
        if (b->spent - spent > longest)
            longest = b->spent - spent;
        sim_forget(&b->sim);
    }
    printf("  %-34s %9.3f ms on average, %.3f at most; %" PRIu64
           " racks looked at, at most\n",
           "one Node leaves its pool", (double)b->spent / CHANGES / 1e6,
           (double)longest / 1e6, most);
}

static void
run(int nodes)
{
    struct bench b = {.nodes = nodes};
    double before;

    b.names = mem_zalloc((size_t)nodes * sizeof(*b.names));
    for (int i = 0; i < nodes; i++)
        snprintf(b.names[i], sizeof(b.names[i]), "sim-%06d", i);
    before = megabytes();
    printf("%d Nodes, %d racks\n", nodes, nodes / PER_RACK);
    sim_init(&b.sim);
    declare(&b);
    for (int i = 0; i < nodes; i++)
        give_node(&b, i, "lab", NULL);
    arena_fini(&b.sim.arena);
    part(&b, "read the snapshot", before);
    give(&b, MSG_SYNC_END, 0, NULL);
    carry_out(&b);
    part(&b, "plan: every rack with its Nodes", before);
    for (int i = 0; i < nodes / PER_RACK; i++)
        give_rack(&b, i);
    do {
        give(&b, MSG_BATCH_END, 0, NULL);
        carry_out(&b);
    } while (b.sim.p.queue.count > 0 || b.sim.p.parked.count > 0 ||
             b.sim.p.starved);
    part(&b, "project, count: all converged", before);
    give(&b, MSG_BATCH_END, 0, NULL);
    part(&b, "nothing changes", before);
    change(&b);
    sim_fini(&b.sim);
    free(b.names);
}

int
main(void)
{
    log_setup("placer", 0, LOG_ERROR, LOG_PLAIN);
    for (int nodes = 1000; nodes <= 100000; nodes *= 10)
        run(nodes);
    return 0;
}
