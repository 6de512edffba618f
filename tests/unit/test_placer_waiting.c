/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/mem.h"
#include "placer/alloc.h"
#include "tests/unit/seeded.h"

enum { NODES = 300, ROUNDS = 200 };

struct crowd {
    struct alloc_node nodes[NODES];
    char names[NODES][16];
    bool waits[NODES];
    struct waiting waiting;
    size_t count;
};

/* Node i is number i of the order. */
static void
crowd_init(struct crowd *c)
{
    *c = (struct crowd){.count = 0};
    for (int i = 0; i < NODES; i++) {
        snprintf(c->names[i], sizeof(c->names[i]), "n%03d", i % 30);
        c->nodes[i].in.created = i / 30;
        c->nodes[i].in.name = str_of(c->names[i]);
        c->nodes[i].in.uid = STR("u");
    }
}

static void
check(struct crowd *c)
{
    size_t at = 0;

    assert_int_equal(c->waiting.count, c->count);
    for (int i = 0; i < NODES; i++)
        if (c->waits[i])
            assert_ptr_equal(waiting_at(&c->waiting, at++), &c->nodes[i]);
}

static void
come(struct crowd *c, int i)
{
    if (c->waits[i])
        return;
    waiting_add(&c->waiting, &c->nodes[i]);
    c->waits[i] = true;
    c->count++;
}

static void
go(struct crowd *c, int i)
{
    if (!c->waits[i])
        return;
    waiting_remove(&c->waiting, &c->nodes[i]);
    c->waits[i] = false;
    c->count--;
}

/* Few or many come, in any order; some leave, mostly from the front. */
static void
test_9_4_order_at_random(void **state)
{
    struct seeded chance = seeded_start("test_9_4_order_at_random");
    static struct crowd c;

    (void)state;
    crowd_init(&c);
    for (int round = 0; round < ROUNDS; round++) {
        int many = seeded_below(&chance, 2) ? NODES : 20;

        for (int i = seeded_below(&chance, many); i > 0; i--)
            come(&c, seeded_below(&chance, NODES));
        for (int i = seeded_below(&chance, many); i > 0; i--)
            go(&c, seeded_below(&chance, NODES));
        for (int i = seeded_below(&chance, NODES / 4); i > 0 && c.count; i--)
            go(&c, (int)(waiting_at(&c.waiting, 0) - c.nodes));
        check(&c);
    }
    waiting_fini(&c.waiting);
}

static void
test_empty_again(void **state)
{
    static struct crowd c;

    (void)state;
    crowd_init(&c);
    for (int i = NODES; i-- > 0;)
        come(&c, i);
    for (int i = 0; i < NODES; i++)
        go(&c, i);
    check(&c);
    come(&c, 5);
    check(&c);
    waiting_fini(&c.waiting);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_9_4_order_at_random),
        cmocka_unit_test(test_empty_again),
    };

    return cmocka_run_group_tests_name("placer waiting", tests, NULL, NULL);
}
