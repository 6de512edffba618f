/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "placer/few.h"
#include "tests/unit/seeded.h"

#define COUNT 200

static void
assert_first(const struct few *few, const char *wanted)
{
    const struct few_item *first[FEW_TOLD];
    size_t n = few_first(few, first);
    char text[100] = "";

    for (size_t i = 0; i < n; i++) {
        strcat(text, first[i]->name);
        strcat(text, " ");
    }
    assert_string_equal(text, wanted);
}

static void
test_the_first_three_are_told_in_order(void **state)
{
    struct few_item items[] = {{"d", 0}, {"b", 0}, {"e", 0}, {"a", 0}};
    struct few few = {0};

    (void)state;
    assert_first(&few, "");
    few_add(&few, &items[0]);
    assert_first(&few, "d ");
    few_add(&few, &items[1]);
    assert_first(&few, "b d ");
    few_add(&few, &items[2]);
    few_add(&few, &items[3]);
    assert_first(&few, "a b d ");
    few_add(&few, &items[3]); /* it is in */
    assert_int_equal(few.count, 4);
    few_remove(&few, &items[1]);
    few_remove(&few, &items[1]);
    assert_int_equal(few.count, 3);
    assert_first(&few, "a d e ");
    few_fini(&few);
}

/* Against a plain list, whatever comes and goes. */
static void
test_it_is_as_a_sorted_list(void **state)
{
    struct seeded dice = seeded_start("few");
    static struct few_item items[COUNT];
    static char names[COUNT][8];
    struct few few = {0};

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "n%03d", i);
        items[i] = (struct few_item){names[i], 0};
    }
    for (int step = 0; step < 20000; step++) {
        int i = (int)(seeded_next(&dice) % COUNT);
        bool add = seeded_next(&dice) % 100 < (step / 4000 % 2 == 0 ? 70 : 20);
        char wanted[100] = "";
        int told = 0;

        if (add)
            few_add(&few, &items[i]);
        else
            few_remove(&few, &items[i]);
        for (int j = 0; j < COUNT && told < FEW_TOLD; j++)
            if (items[j].at != 0) {
                strcat(wanted, names[j]);
                strcat(wanted, " ");
                told++;
            }
        assert_first(&few, wanted);
    }
    few_fini(&few);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_three_are_told_in_order),
        cmocka_unit_test(test_it_is_as_a_sorted_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
