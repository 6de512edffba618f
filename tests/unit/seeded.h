/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SEEDED_H
#define TESTS_UNIT_SEEDED_H

/*
 * For property tests: random numbers from a seed, which is printed, so that a
 * failure can be had again with TEST_SEED=N.  TEST_ROUNDS multiplies the work.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SEEDED_UNUSED __attribute__((unused))

struct seeded {
    uint64_t state;
};

static SEEDED_UNUSED struct seeded
seeded_start(const char *what)
{
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0)
                                 : (uint64_t)time(NULL) & 0xffffffff;

    printf("%s: TEST_SEED=%" PRIu64 "\n", what, seed);
    return (struct seeded){seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
}

static SEEDED_UNUSED int
seeded_rounds(int rounds)
{
    const char *text = getenv("TEST_ROUNDS");

    return text != NULL ? rounds * atoi(text) : rounds;
}

/* splitmix64 */
static SEEDED_UNUSED uint64_t
seeded_next(struct seeded *s)
{
    uint64_t x = s->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* 0 to n-1. */
static SEEDED_UNUSED int
seeded_below(struct seeded *s, int n)
{
    return (int)(seeded_next(s) % (uint64_t)n);
}

#endif
