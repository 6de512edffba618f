/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "proto/pool.h"
#include "tests/unit/seeded.h"

/* An object with what it keeps. */
struct object {
    char name[16];
    void *room;
    struct pairs kept;
};

static void
keep(struct pool *pool, struct object *o, const char *name,
     const struct pair *items, size_t count)
{
    struct pairs pairs = {items, count, NULL};

    snprintf(o->name, sizeof(o->name), "%s", name);
    o->room = mem_zalloc(pool_room(pairs, str_of(o->name)));
    o->kept = pool_keep(pool, pairs, str_of(o->name), o->room);
}

static void
let_go(struct pool *pool, struct object *o)
{
    pool_let_go(pool, o->kept);
    free(o->room);
    *o = (struct object){0};
}

static void
check(const struct object *o, const struct pair *items, size_t count)
{
    assert_int_equal(o->kept.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct pair *pair = pairs_at(o->kept, i);

        assert_true(pair_eq(pair, &items[i]));
        assert_int_equal(pair->value.s[pair->value.n], '\0');
    }
}

static void
check_empty(struct pool *pool)
{
    assert_int_equal(pool->pairs.count, 0);
    for (size_t i = 0; i < POOL_RECENT; i++)
        assert_null(pool->recent[i]);
    pool_fini(pool);
}

/* Key and value are told apart whatever is in them. */
static void
test_pairs_of_other_cuts_are_others(void **state)
{
    static const struct pair pairs[] = {{STR("a"), STR("b=c")},
                                        {STR("a=b"), STR("c")},
                                        {STR("a=b=c"), STR("")}};
    struct pool pool = {0};
    struct object o;

    (void)state;
    keep(&pool, &o, "n", pairs, nitems(pairs));
    assert_int_equal(pool.pairs.count, nitems(pairs));
    check(&o, pairs, nitems(pairs));
    let_go(&pool, &o);
    check_empty(&pool);
}

/* Nodes that differ in their name and clique share everything else. */
static void
test_H04_what_neighbours_have_in_common_is_kept_once(void **state)
{
    struct pair pairs[] = {{STR("a"), STR("b")},
                           {STR("kubernetes.io/hostname"), STR("")},
                           {STR("kubernetes.io/os"), STR("linux")},
                           {STR(LABEL_CLIQUE), STR("")},
                           {STR("z"), STR("")}};
    const char *const names[] = {"n1", "n2", "n3"};
    const char *const cliques[] = {"c1", "c1", "c2"};
    struct pool pool = {0};
    struct object o[nitems(names)];

    (void)state;
    for (size_t i = 0; i < nitems(names); i++) {
        pairs[1].value = str_of(names[i]);
        pairs[3].value = str_of(cliques[i]);
        keep(&pool, &o[i], names[i], pairs, nitems(pairs));
    }
    for (size_t i = 0; i < nitems(names); i++) {
        pairs[1].value = str_of(names[i]);
        pairs[3].value = str_of(cliques[i]);
        check(&o[i], pairs, nitems(pairs));
        assert_ptr_equal(pairs_at(o[i].kept, 0), pairs_at(o[0].kept, 0));
    }
    /* a, os, z; the key hostname; two cliques */
    assert_int_equal(pool.pairs.count, 6);
    assert_non_null(pool.recent[0]);
    assert_null(pool.recent[1]);
    for (size_t i = 0; i < nitems(names); i++)
        let_go(&pool, &o[i]);
    check_empty(&pool);
}

enum { OBJECTS = 40, KEYS = 8 };

/* Labels by chance, few values, so that lists are shared, and more kinds of
 * them than are remembered. */
static size_t
some_pairs(struct seeded *s, const char *name, struct pair pairs[KEYS])
{
    static const char *const keys[KEYS] = {"a",          "b", "c", "d",
                                           LABEL_CLIQUE, "o", "p", "q"};
    static const char *const values[] = {"x", "y", ""};
    size_t count = 0;

    for (size_t i = 0; i < KEYS; i++) {
        int choice = seeded_below(s, 6);

        if (choice > 3)
            continue;
        pairs[count++] = (struct pair){
            str_of(keys[i]), str_of(choice == 3 ? name : values[choice])};
    }
    return count;
}

static void
test_H04_labels_are_as_they_were_whatever_comes_and_goes(void **state)
{
    struct seeded s = seeded_start("labels");
    struct pool pool = {0};
    struct object objects[OBJECTS] = {{{0}, NULL, {0}}};
    struct pair pairs[OBJECTS][KEYS];
    size_t counts[OBJECTS];

    (void)state;
    for (int round = 0; round < 4000; round++) {
        size_t i = (size_t)seeded_below(&s, OBJECTS);
        char name[16];

        if (objects[i].room != NULL) {
            check(&objects[i], pairs[i], counts[i]);
            let_go(&pool, &objects[i]);
        }
        if (seeded_below(&s, 4) == 0)
            continue;
        snprintf(name, sizeof(name), "n%zu", i);
        counts[i] = some_pairs(&s, name, pairs[i]);
        keep(&pool, &objects[i], name, pairs[i], counts[i]);
        /* What it was made of may go, but for the texts of this test. */
        for (size_t p = 0; p < counts[i]; p++)
            if (str_is(pairs[i][p].value, name))
                pairs[i][p].value = str_of(objects[i].name);
        check(&objects[i], pairs[i], counts[i]);
    }
    for (size_t i = 0; i < OBJECTS; i++)
        if (objects[i].room != NULL) {
            check(&objects[i], pairs[i], counts[i]);
            let_go(&pool, &objects[i]);
        }
    check_empty(&pool);
}

static void
test_a_value_alone(void **state)
{
    struct pool pool = {0};
    const struct pair *a = pool_keep_value(&pool, STR("k"), STR("v"));

    (void)state;
    assert_ptr_equal(pool_keep_value(&pool, STR("k"), STR("v")), a);
    assert_true(str_is(a->value, "v"));
    assert_null(pool_keep_value(&pool, STR("k"), STR("")));
    pool_let_go_value(&pool, NULL);
    pool_let_go_value(&pool, a);
    assert_int_equal(pool.pairs.count, 1);
    pool_let_go_value(&pool, a);
    check_empty(&pool);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_of_other_cuts_are_others),
        cmocka_unit_test(test_H04_what_neighbours_have_in_common_is_kept_once),
        cmocka_unit_test(
            test_H04_labels_are_as_they_were_whatever_comes_and_goes),
        cmocka_unit_test(test_a_value_alone),
    };

    return cmocka_run_group_tests_name("proto pool", tests, NULL, NULL);
}
