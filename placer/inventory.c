/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of an inventory (mokka-api 6.1).  The first failure counts:
 *
 *   I1        name and uid are not empty
 *   I2        at most 64 groups
 *   I3, I4    group by group: the id is a DNS label, and new,
 *   I5          the count is 1 to 100000
 *   I6          profileRef.name is not empty
 *   I7          the placement selector is valid
 *
 * then the sum of all counts, which is told apart: it must not exceed 100000.
 * No group at all is valid (but never admitted).
 */
#include "placer/inventory.h"

#include <inttypes.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/label.h"
#include "proto/unpack.h"

static struct str
text(const struct value *object, const char *key)
{
    struct str s = STR("");

    value_str(value_get(object, key), &s);
    return s;
}

static const struct value *
list(const struct value *object, const char *key)
{
    const struct value *v = value_get(object, key);

    return v != NULL && value_kind(v) == VALUE_ARRAY ? v : NULL;
}

/* I3, I5 to I7 of one group, which is filled as far as it can be. */
static int
compile_group(struct inventory *v, struct inventory_group *g,
              const struct value *group, struct err *err)
{
    const struct value *placement = value_get(group, "placement");
    struct err why;
    int wrong;

    g->id = arena_str(&v->arena, text(group, "id"));
    g->profile =
        arena_str(&v->arena, text(value_get(group, "profileRef"), "name"));
    value_int(value_get(group, "count"), &g->count);
    wrong = selector_compile(&g->selector, value_get(placement, "nodeSelector"),
                             &why);
    if (!label_dns(g->id))
        return err_set(err,
                       "rack group \"%.*s\": id is no DNS label of at "
                       "most 63 bytes",
                       g->id.n > 80 ? 80 : (int)g->id.n, g->id.s);
    if (g->count < 1 || g->count > MAX_RACKS)
        err_set(err, "count %" PRId64 ", must be 1 to %d", g->count, MAX_RACKS);
    else if (g->profile.n == 0)
        err_set(err, "profileRef.name is empty");
    else if (placement != NULL && value_kind(placement) != VALUE_MAP)
        err_set(err, "placement is no object");
    else if (wrong != 0)
        *err = why;
    else
        return 0;
    return err_prefix(err, "rack group %s", g->id.s);
}

/* All groups (the first 64) are compiled, for status; the first failure of
 * them stays in err. */
static int
compile_groups(struct inventory *v, const struct value *groups, struct err *err)
{
    int failed = 0;

    for (size_t i = 0; i < v->group_count; i++) {
        struct inventory_group *g = &v->groups[i];
        const struct inventory_group *same;
        struct err why;
        int wrong = compile_group(v, g, value_at(groups, i), &why);

        g->sound = wrong == 0;
        same = inventory_group(v, g->id);
        if (same != g && label_dns(g->id))
            wrong =
                err_set(&why, "rack group %s: its id occurs twice", g->id.s);
        if (wrong != 0 && failed == 0) {
            *err = why;
            failed = -1;
        }
    }
    return failed;
}

/* I1, I2. */
static int
check_whole(const struct inventory *v, struct err *err)
{
    if (v->name.n == 0 || v->uid.n == 0)
        return err_set(err, "the inventory has no %s",
                       v->name.n == 0 ? "name" : "uid");
    if (v->declared > MAX_GROUPS)
        return err_set(err,
                       "spec.rackGroups: %" PRId64 " groups, the limit "
                       "is %d",
                       v->declared, MAX_GROUPS);
    return 0;
}

/* Of a valid one, so that no sum overflows. */
static int
check_sum(const struct inventory *v, struct err *err)
{
    int64_t sum = 0;

    for (size_t i = 0; i < v->group_count; i++)
        sum += v->groups[i].count;
    if (sum > MAX_RACKS)
        return err_set(err,
                       "spec.rackGroups: counts of %" PRId64 " racks in "
                       "sum, the limit is %d",
                       sum, MAX_RACKS);
    return 0;
}

void
inventory_compile(struct inventory *v, const struct object_meta *meta,
                  const struct value *spec)
{
    const struct value *groups = list(spec, "rackGroups");
    struct err why;
    int failed;

    *v = (struct inventory){.verdict = INVENTORY_INVALID};
    v->name = arena_str(&v->arena, meta->name);
    v->uid = arena_str(&v->arena, meta->uid);
    v->declared = groups == NULL ? 0 : (int64_t)value_count(groups);
    v->group_count =
        v->declared > MAX_GROUPS ? MAX_GROUPS : (size_t)v->declared;
    v->groups = arena_alloc(&v->arena, v->group_count * sizeof(*v->groups));
    failed = compile_groups(v, groups, &why);
    if (check_whole(v, &v->issue) != 0)
        return;
    if (failed != 0)
        v->issue = why;
    else if (check_sum(v, &v->issue) != 0)
        v->verdict = INVENTORY_TOO_LARGE;
    else
        v->verdict = INVENTORY_VALID;
}

void
inventory_fini(struct inventory *v)
{
    for (size_t i = 0; i < v->group_count; i++)
        selector_fini(&v->groups[i].selector);
    arena_fini(&v->arena);
    *v = (struct inventory){0};
}

const struct inventory_group *
inventory_group(const struct inventory *v, struct str id)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (str_eq(v->groups[i].id, id))
            return &v->groups[i];
    return NULL;
}
