/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/arena.h"
#include "common/mem.h"

static void
test_pieces_are_zeroed_aligned_and_apart(void **state)
{
    struct arena arena = {0};
    unsigned char *pieces[600];

    (void)state;
    for (size_t i = 0; i < nitems(pieces); i++) {
        pieces[i] = arena_alloc(&arena, i);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < i; j++)
            assert_int_equal(pieces[i][j], 0);
        memset(pieces[i], (int)(i % 255 + 1), i);
    }
    for (size_t i = 0; i < nitems(pieces); i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(pieces[i][j], i % 255 + 1);
    arena_fini(&arena);
    arena_fini(&arena);
}

static void
test_a_large_piece(void **state)
{
    struct arena arena = {0};
    char *large = arena_alloc(&arena, 1 << 20);

    (void)state;
    memset(large, 1, 1 << 20);
    memset(arena_alloc(&arena, 10), 2, 10);
    assert_int_equal(large[(1 << 20) - 1], 1);
    arena_fini(&arena);
}

static void
test_texts_are_copied_and_end_with_a_nul(void **state)
{
    struct arena arena = {0};
    char text[] = "abcdef";
    struct str copy = arena_str(&arena, (struct str){text + 1, 3});
    struct str empty = arena_str(&arena, (struct str){NULL, 0});

    (void)state;
    memset(text, 'x', 6);
    assert_int_equal(copy.n, 3);
    assert_string_equal(copy.s, "bcd");
    assert_int_equal(empty.n, 0);
    assert_string_equal(empty.s, "");
    arena_fini(&arena);
}

static void
test_it_can_be_used_again(void **state)
{
    struct arena arena = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_string_equal(arena_str(&arena, STR("again")).s, "again");
        arena_fini(&arena);
        assert_null(arena.blocks);
    }
}

/* What fitted one arena fits another that was made for just that much. */
static void
fill(struct arena *arena)
{
    for (size_t i = 1; i < 400; i++) {
        char *piece = arena_alloc(arena, i % 7 * 5);

        memset(piece, 1, i % 7 * 5);
        assert_string_equal(arena_str(arena, STR("some text")).s, "some text");
    }
}

static void
test_one_that_fits(void **state)
{
    struct arena draft = {0};
    struct arena arena = {0};
    const void *only;

    (void)state;
    assert_int_equal(arena_used(&draft), 0);
    fill(&draft);
    arena_reserve(&arena, arena_used(&draft));
    only = arena.blocks;
    fill(&arena);
    assert_ptr_equal(arena.blocks, only);
    assert_int_equal(arena_used(&arena), arena_used(&draft));
    arena_alloc(&arena, 1);
    assert_ptr_not_equal(arena.blocks, only);
    arena_fini(&arena);
    arena_fini(&draft);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(test_a_large_piece),
        cmocka_unit_test(test_texts_are_copied_and_end_with_a_nul),
        cmocka_unit_test(test_it_can_be_used_again),
        cmocka_unit_test(test_one_that_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
