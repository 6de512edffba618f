/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/mem.h"
#include "tests/unit/seeded.h"

static void
test_empty(void **state)
{
    struct map map = {0};
    size_t pos = 0;

    (void)state;
    assert_null(map_get(&map, "x"));
    assert_null(map_remove(&map, "x"));
    assert_null(map_next(&map, &pos));
    map_fini(&map);
}

static void
test_put_gives_back_what_stood_there(void **state)
{
    struct map map = {0};
    char one[] = "key";
    char other[] = "key";
    int a, b;

    (void)state;
    assert_null(map_put(&map, one, &a));
    assert_ptr_equal(map_put(&map, other, &b), &a);
    assert_int_equal(map.count, 1);
    one[0] = 'X'; /* borrowed no more */
    assert_ptr_equal(map_get(&map, "key"), &b);
    assert_ptr_equal(map_remove(&map, "key"), &b);
    assert_null(map_get(&map, "key"));
    assert_null(map_remove(&map, "key"));
    assert_int_equal(map.count, 0);
    map_fini(&map);
}

static void
test_keys_of_every_length(void **state)
{
    struct map map = {0};
    static char keys[300][301];

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        memset(keys[i], 'a', i);
        assert_null(map_put(&map, keys[i], keys[i]));
    }
    for (size_t i = 0; i < 300; i++)
        assert_ptr_equal(map_get(&map, keys[i]), keys[i]);
    map_fini(&map);
}

static void
test_walking_gives_the_order_of_insertion(void **state)
{
    static const char *const keys[] = {"d", "a", "c", "b", "e"};
    struct map map = {0};
    size_t pos = 0;

    (void)state;
    for (size_t i = 0; i < nitems(keys); i++)
        map_put(&map, keys[i], (void *)keys[i]);
    map_remove(&map, "c");
    map_put(&map, "a", (void *)keys[1]);
    map_put(&map, "c", (void *)keys[2]);
    assert_string_equal(map_next(&map, &pos), "d");
    assert_string_equal(map_next(&map, &pos), "a");
    assert_string_equal(map_next(&map, &pos), "b");
    assert_string_equal(map_next(&map, &pos), "e");
    assert_string_equal(map_next(&map, &pos), "c");
    assert_null(map_next(&map, &pos));
    assert_null(map_next(&map, &pos));
    map_fini(&map);
}

static void
test_entries_may_be_removed_on_a_walk(void **state)
{
    static char keys[1000][8];
    struct map map = {0};
    size_t seen = 0;
    size_t pos = 0;
    char *key;

    (void)state;
    for (size_t i = 0; i < nitems(keys); i++) {
        snprintf(keys[i], sizeof(keys[i]), "%zu", i);
        map_put(&map, keys[i], keys[i]);
    }
    while ((key = map_next(&map, &pos)) != NULL) {
        assert_ptr_equal(key, keys[seen]);
        seen++;
        assert_ptr_equal(map_remove(&map, key), key);
    }
    assert_int_equal(seen, nitems(keys));
    assert_int_equal(map.count, 0);
    map_fini(&map);
}

static void
test_constant_turnover_does_not_grow(void **state)
{
    static char keys[64][8];
    struct map map = {0};

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        char *key = keys[i % nitems(keys)];

        map_remove(&map, key);
        snprintf(key, sizeof(keys[0]), "%u", i % 9999);
        map_put(&map, key, key);
    }
    assert_true(map.capacity <= 256);
    map_fini(&map);
}

/* The same with a list that is searched from end to end. */

#define KEYS 200

struct pair {
    const char *key;
    void *value;
};

struct naive {
    struct pair pairs[KEYS];
    size_t count;
};

static struct pair *
naive_find(struct naive *n, const char *key)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->pairs[i].key, key) == 0)
            return &n->pairs[i];
    return NULL;
}

static void *
naive_put(struct naive *n, const char *key, void *value)
{
    struct pair *pair = naive_find(n, key);
    void *old = NULL;

    if (pair == NULL)
        pair = &n->pairs[n->count++];
    else
        old = pair->value;
    *pair = (struct pair){key, value};
    return old;
}

static void *
naive_remove(struct naive *n, const char *key)
{
    struct pair *pair = naive_find(n, key);
    void *old;

    if (pair == NULL)
        return NULL;
    old = pair->value;
    n->count--;
    memmove(pair, pair + 1,
            (size_t)(&n->pairs[n->count] - pair) * sizeof(*pair));
    return old;
}

static void
assert_same(struct map *map, struct naive *n)
{
    size_t pos = 0;

    assert_int_equal(map->count, n->count);
    for (size_t i = 0; i < n->count; i++)
        assert_ptr_equal(map_next(map, &pos), n->pairs[i].value);
    assert_null(map_next(map, &pos));
}

static void
test_random_operations_against_a_list(void **state)
{
    static char keys[KEYS][16];
    static char values[1000];
    struct naive naive = {.count = 0};
    struct map map = {0};
    struct seeded s = seeded_start("map");
    int rounds = seeded_rounds(30000);

    (void)state;
    for (size_t i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i * i);
    for (int i = 0; i < rounds; i++) {
        const char *key = keys[seeded_below(&s, KEYS)];
        char *value = &values[seeded_below(&s, sizeof(values))];
        int what = seeded_below(&s, 100);
        const struct pair *pair;

        if (what < (i / 3000 % 2 == 0 ? 60 : 20)) {
            assert_ptr_equal(map_put(&map, key, value),
                             naive_put(&naive, key, value));
        } else if (what < 80) {
            assert_ptr_equal(map_remove(&map, key), naive_remove(&naive, key));
        } else {
            pair = naive_find(&naive, key);
            assert_ptr_equal(map_get(&map, key),
                             pair == NULL ? NULL : pair->value);
        }
        if (i % 97 == 0)
            assert_same(&map, &naive);
    }
    assert_same(&map, &naive);
    map_fini(&map);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_put_gives_back_what_stood_there),
        cmocka_unit_test(test_keys_of_every_length),
        cmocka_unit_test(test_walking_gives_the_order_of_insertion),
        cmocka_unit_test(test_entries_may_be_removed_on_a_walk),
        cmocka_unit_test(test_constant_turnover_does_not_grow),
        cmocka_unit_test(test_random_operations_against_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
