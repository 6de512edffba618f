/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_LAB_H
#define TESTS_UNIT_LAB_H

/*
 * For tests only: a lab, and questions about what was told in it and what
 * stands.  Include after cmocka.h.
 */
#include "tests/unit/lab_projector.h"

/* Forgets what was told so far. */
static UNUSED void
lab_quiet(struct lab *l)
{
    buf_clear(&l->told);
    buf_clear(&l->statuses);
}

/* All that was told since, statuses apart, is just this. */
static UNUSED void
assert_told(struct lab *l, const char *wanted)
{
    char *told = buf_take(&l->told);

    assert_string_equal(told, wanted);
    free(told);
}

/* Nothing was, statuses included. */
static UNUSED void
assert_silent(struct lab *l)
{
    char *statuses = buf_take(&l->statuses);

    assert_told(l, "");
    assert_string_equal(statuses, "");
    free(statuses);
}

static UNUSED void
assert_bound(const struct lab *l, const char *rack, const char *wanted)
{
    struct buf out = {0};
    char *bound;

    lab_add_bound(&out, lab_at(l, KIND_RACK, rack, "spec"));
    bound = buf_take(&out);
    assert_string_equal(bound + 1, wanted);
    free(bound);
}

/* "True Programmed", as it stands. */
static UNUSED void
assert_stands(const struct lab *l, enum object_kind kind, const char *name,
              const char *type, const char *wanted)
{
    char *found = NULL;
    json_t *c;
    size_t i;

    json_array_foreach(lab_at(l, kind, name, "status.conditions"), i, c)
    {
        if (str_is(json_str(c, "type"), type))
            found = mem_printf("%s %s", json_str(c, "status").s,
                               json_str(c, "reason").s);
    }
    assert_string_equal(found == NULL ? "" : found, wanted);
    free(found);
}

/* What is at a path equals the JSON text. */
static UNUSED void
assert_at(const struct lab *l, enum object_kind kind, const char *name,
          const char *path, const char *text)
{
    char *found = json_dumps(lab_at(l, kind, name, path),
                             JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    json_t *json = json_text(text);
    char *wanted =
        json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

    assert_string_equal(found, wanted);
    json_decref(json);
    free(wanted);
    free(found);
}

/* requested, allocated, available, pending */
static UNUSED void
assert_usage(const struct lab *l, const char *inventory, int requested,
             int allocated, int available, int pending)
{
    json_t *u = lab_at(l, KIND_INVENTORY, inventory, "status.usage");

    assert_int_equal(json_int(u, "requestedNodes"), requested);
    assert_int_equal(json_int(u, "allocatedNodes"), allocated);
    assert_int_equal(json_int(u, "availableNodes"), available);
    assert_int_equal(json_int(u, "pendingNodes"), pending);
}

/* How often the log has that text. */
static UNUSED int
lab_logged(const struct lab *l, const char *text)
{
    struct buf all = {0};
    char piece[4096];
    off_t at = 0;
    ssize_t n;
    int count = 0;

    while ((n = pread(l->log, piece, sizeof(piece), at)) > 0) {
        buf_add(&all, piece, (size_t)n);
        at += n;
    }
    buf_addc(&all, '\0');
    for (const char *found = buf_bytes(&all);
         (found = strstr(found, text)) != NULL; found += strlen(text))
        count++;
    buf_fini(&all);
    return count;
}

/* Why a rack was retired last, by the log. */
static UNUSED void
assert_retired(const struct lab *l, const char *rack, const char *reason)
{
    char *line = mem_printf(
        "\"rack retired\",\"rack\":\"%s\",\"reason\":\"%s\"", rack, reason);

    if (lab_logged(l, line) == 0)
        fail_msg("%s is not retired as %s", rack, reason);
    free(line);
}

#endif
