/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that people and other programs write: kubeconfig YAML, assignment
 * annotations, quantities, times and durations.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common/assignment.h"
#include "common/clock.h"
#include "common/kube/yaml.h"
#include "common/mem.h"
#include "placer/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What was emitted parses; a binary amount may turn decimal in between, so the
 * fixed point is reached with the second emission. */
static void
run_quantity(struct str text)
{
    struct buf once = {0};
    struct buf twice = {0};
    struct buf thrice = {0};

    if (quantity_canonical(&once, text, NULL) == 0 &&
        (quantity_canonical(&twice, buf_str(&once), NULL) != 0 ||
         quantity_canonical(&thrice, buf_str(&twice), NULL) != 0 ||
         !str_eq(buf_str(&twice), buf_str(&thrice))))
        abort();
    buf_fini(&once);
    buf_fini(&twice);
    buf_fini(&thrice);
}

/* What was decoded encodes to what decodes the same. */
static void
run_assignment(struct str text)
{
    struct arena arena = {0};
    struct buf out = {0};
    struct assignment a;
    struct assignment b;

    if (assignment_decode(&a, text, &arena, NULL) == 0 &&
        assignment_encode(&out, &a, NULL) == 0 &&
        (assignment_decode(&b, buf_str(&out), &arena, NULL) != 0 ||
         !assignment_same(&a, &b)))
        abort();
    buf_fini(&out);
    arena_fini(&arena);
}

static void
run_times(struct str text)
{
    char *copy = mem_dup(text.s, text.n);
    int64_t ns;

    clock_parse(text, &ns, NULL);
    duration_parse(copy, &ns, NULL);
    free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    struct err err;

    run_quantity(text);
    run_assignment(text);
    run_times(text);
    kube_yaml_free(kube_yaml_parse(text, "fuzz", &err));
    return 0;
}
