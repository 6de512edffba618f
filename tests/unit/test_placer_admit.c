/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "placer/admit.h"
#include "placer/capacity.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

/* 8.1 */

static void
assert_capacity(struct capacity c, int64_t racks, int64_t nodes, int64_t gpus)
{
    assert_int_equal(c.racks, racks);
    assert_int_equal(c.nodes, nodes);
    assert_int_equal(c.gpus, gpus);
}

static void
test_8_1_group(void **state)
{
    struct capacity c;
    struct err err;

    (void)state;
    assert_int_equal(capacity_group(&c, STR("g"), 3, 4, 2, &err), 0);
    assert_capacity(c, 3, 12, 24);
    assert_int_equal(capacity_group(&c, STR("g"), 0, 0, 0, &err), 0);
    assert_capacity(c, 0, 0, 0);
    assert_int_equal(capacity_group(&c, STR("g"), 1, INT64_MAX, 1, &err), 0);
    assert_capacity(c, 1, INT64_MAX, INT64_MAX);
}

static void
test_8_1_group_errors(void **state)
{
    static const int64_t bad[][3] = {
        {-1, 1, 1},
        {1, -1, 1},
        {1, 1, -1},
        {2, INT64_MAX, 1},
        {1, INT64_MAX / 2, 3},
        {INT64_MAX, 2, 0},
        {INT64_MIN, 1, 1},
        {0, -1, 1},
    };

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        struct capacity c;
        struct err err;

        assert_int_equal(capacity_group(&c, STR("train"), bad[i][0], bad[i][1],
                                        bad[i][2], &err),
                         -1);
        assert_non_null(strstr(err.text, "train"));
        assert_capacity(c, 0, 0, 0);
    }
}

static void
test_8_1_sum(void **state)
{
    struct capacity sum = {1, 2, INT64_MAX - 3};

    (void)state;
    assert_int_equal(capacity_add(&sum, (struct capacity){1, 1, 3}, NULL), 0);
    assert_capacity(sum, 2, 3, INT64_MAX);
    assert_int_equal(capacity_add(&sum, (struct capacity){0, 0, 1}, NULL), -1);
    assert_int_equal(capacity_add(&sum, (struct capacity){-1, 0, 0}, NULL), -1);
    assert_capacity(sum, 2, 3, INT64_MAX);
    capacity_sub(&sum, (struct capacity){1, 1, 1});
    assert_capacity(sum, 1, 2, INT64_MAX - 1);
}

static void
test_8_1_exceeds(void **state)
{
    const struct capacity c = {5, 5, 5};

    (void)state;
    assert_false(capacity_exceeds(c, c));
    assert_false(capacity_exceeds((struct capacity){4, 4, 4}, c));
    assert_true(capacity_exceeds((struct capacity){6, 4, 4}, c));
    assert_true(capacity_exceeds((struct capacity){4, 6, 4}, c));
    assert_true(capacity_exceeds((struct capacity){4, 4, 6}, c));
}

static void
test_8_1_supported(void **state)
{
    static const struct {
        struct capacity c;
        const char *word; /* NULL: supported */
    } rows[] = {
        {{0, 0, 0}, NULL},
        {{100000, 100000, 2147483647}, NULL},
        {{1, 100001, 1}, "100001 Nodes"},
        {{100001, 1, 1}, "100001 racks"},
        {{1, 1, INT64_C(2147483648)}, "2147483648 GPUs"},
        {{-1, 100001, 1}, "negative"},
        {{1, -1, 1}, "negative"},
        {{1, 1, -1}, "negative"},
        {{100001, 100001, INT64_MAX}, "Nodes"},
        {{100001, 1, INT64_MAX}, "racks"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct err err = {""};

        assert_int_equal(capacity_check(rows[i].c, &err),
                         rows[i].word == NULL ? 0 : -1);
        assert_int_equal(capacity_check(rows[i].c, NULL),
                         rows[i].word == NULL ? 0 : -1);
        if (rows[i].word != NULL && strstr(err.text, rows[i].word) == NULL)
            fail_msg("no \"%s\" in: %s", rows[i].word, err.text);
    }
}

/* 8.2, 8.3 */

#define MAX_INVENTORIES 40

struct estate {
    struct admit_inventory inventories[MAX_INVENTORIES];
    struct admit_verdict verdicts[MAX_INVENTORIES];
    size_t count;
    struct capacity total;
};

static struct capacity
capacity_of(const json_t *json)
{
    return (struct capacity){json_int(json, "racks"), json_int(json, "nodes"),
                             json_int(json, "gpus")};
}

static bool
lists(const json_t *list, struct str text)
{
    json_t *item;
    size_t i;

    json_array_foreach(
        list, i, item) if (str_is(text, json_string_value(item))) return true;
    return false;
}

/* What exists of it, and what of that its unresolved groups keep. */
static void
read_live(struct admit_inventory *v, const json_t *row, const json_t *live)
{
    json_t *rack;
    size_t i;

    json_array_foreach(live, i, rack)
    {
        struct capacity c = capacity_of(json_object_get(rack, "capacity"));

        if (!str_eq(v->ref.name, json_str(rack, "name")) ||
            !str_eq(v->ref.uid, json_str(rack, "uid")))
            continue;
        capacity_add(&v->existing, c, NULL);
        if (lists(json_object_get(row, "unresolvedGroups"),
                  json_str(rack, "group")))
            capacity_add(&v->kept, c, NULL);
    }
}

static void
read_estate(struct estate *e, const json_t *in)
{
    const json_t *live = json_object_get(in, "liveRacks");
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(in, "inventories"), i, row)
    {
        struct admit_inventory *v = &e->inventories[e->count++];
        const json_t *resolved = json_object_get(row, "resolved");

        v->ref =
            (struct object_ref){json_str(row, "name"), json_str(row, "uid")};
        v->created = json_int(row, "created");
        v->deleting = json_is_true(json_object_get(row, "deleting"));
        v->declared = json_int(row, "declaredGroups");
        v->valid = !json_is_false(json_object_get(row, "valid"));
        v->resolved = json_is_object(resolved);
        v->desired = capacity_of(resolved);
        read_live(v, row, live);
    }
    json_array_foreach(live, i, row) capacity_add(
        &e->total, capacity_of(json_object_get(row, "capacity")), NULL);
}

static void
test_admission_vector(void **state)
{
    const json_t *out = json_object_get(*state, "output");
    struct estate e = {.count = 0};

    read_estate(&e, json_object_get(*state, "input"));
    admit(e.inventories, e.count, e.total, e.verdicts);
    for (size_t i = 0; i < e.count; i++) {
        const char *wanted = json_str(out, e.inventories[i].ref.name.s).s;

        if (strncmp(wanted, "not-considered", 14) == 0)
            wanted = "aside";
        assert_string_equal(admit_name(e.verdicts[i].decision), wanted);
    }
    assert_int_equal(e.count, json_object_size(out));
}

/* n racks of one Node with one GPU. */
static struct capacity
ones(int64_t n)
{
    return (struct capacity){n, n, n};
}

static struct admit_inventory
inventory(const char *name, int64_t created, int64_t wanted, int64_t existing)
{
    return (struct admit_inventory){
        .ref = {str_of(name), str_of(name)},
        .created = created,
        .declared = 1,
        .valid = true,
        .resolved = true,
        .desired = ones(wanted),
        .existing = ones(existing),
    };
}

static void
assert_decisions(const struct admit_inventory *v, size_t count, int64_t total,
                 const char *wanted)
{
    struct admit_verdict verdicts[MAX_INVENTORIES];
    struct buf got = {0};

    admit(v, count, ones(total), verdicts);
    for (size_t i = 0; i < count; i++)
        buf_printf(&got, "%s%s", i == 0 ? "" : " ",
                   admit_name(verdicts[i].decision));
    buf_addc(&got, '\0');
    assert_string_equal(buf_bytes(&got), wanted);
    buf_fini(&got);
}

/* Creation, then name, then uid. */
static void
test_8_2_order(void **state)
{
    struct admit_inventory v[] = {
        inventory("b", 1, 60000, 0),
        inventory("a", 2, 60000, 0),
        inventory("c", 1, 60000, 0),
    };

    (void)state;
    assert_decisions(v, 3, 0, "accepted rejected rejected");
    v[0].created = 3;
    assert_decisions(v, 3, 0, "rejected rejected accepted");
    v[0] = v[1] = v[2] = inventory("same", 1, 60000, 0);
    v[0].ref.uid = STR("u2");
    v[1].ref.uid = STR("u1");
    v[2].ref.uid = STR("u10");
    assert_decisions(v, 3, 0, "rejected accepted rejected");
}

/* First fit, by declared groups, whatever else is wrong; 0 and more than 64
 * never. */
static void
test_8_2_1_12_11_budget(void **state)
{
    struct admit_inventory v[] = {
        inventory("a", 1, 1, 0),
        inventory("b", 2, 1, 0),
        inventory("c", 3, 1, 0),
        inventory("d", 4, 1, 0),
    };

    (void)state;
    v[0].declared = 60;
    v[0].valid = false;
    v[1].declared = 5;
    v[2].declared = 4;
    assert_decisions(v, 4, 0, "aside rejected accepted rejected");
    v[0].declared = 65;
    assert_decisions(v, 4, 0, "aside accepted accepted accepted");
    v[1].declared = 0;
    assert_decisions(v, 4, 0, "aside rejected accepted accepted");
    v[1].declared = 64;
    assert_decisions(v, 4, 0, "aside accepted rejected rejected");
    v[1].deleting = true;
    assert_decisions(v, 4, 0, "aside aside accepted accepted");
    v[1].deleting = false;
    v[1].ref.uid = STR("");
    assert_decisions(v, 4, 0, "aside aside accepted accepted");
}

/* The budget is told apart from the decision. */
static void
test_8_2_1_budgeted(void **state)
{
    struct admit_inventory v[] = {
        inventory("a", 1, 1, 0),
        inventory("b", 2, 200000, 0),
        inventory("c", 3, 1, 0),
    };
    struct admit_verdict verdicts[3];

    (void)state;
    v[0].valid = false;
    v[2].declared = 64;
    admit(v, 3, ones(0), verdicts);
    assert_true(verdicts[0].budgeted);
    assert_true(verdicts[1].budgeted);
    assert_int_equal(verdicts[1].decision, ADMIT_REJECTED);
    assert_false(verdicts[2].budgeted);
}

/* Who is no candidate is not decided on its capacity; the target of one that is
 * has what its unresolved groups keep, and its growth is what that exceeds. */
static void
test_8_2_3_candidates(void **state)
{
    struct admit_inventory v[] = {
        inventory("a", 1, 60000, 0),
        inventory("b", 2, 60000, 0),
    };

    (void)state;
    assert_decisions(v, 2, 0, "accepted rejected");
    v[0].valid = false;
    assert_decisions(v, 2, 0, "aside accepted");
    v[0] = inventory("a", 1, 60000, 0);
    v[0].deleting = true;
    assert_decisions(v, 2, 0, "aside accepted");
    /* No resolved group: accepted, and charges nothing but what it has. */
    v[0] = inventory("a", 1, 60000, 0);
    v[0].resolved = false;
    assert_decisions(v, 2, 0, "accepted accepted");
    /* No group in the budget: rejected, and charges nothing. */
    v[0] = inventory("a", 1, 60000, 0);
    v[0].declared = 65;
    assert_decisions(v, 2, 0, "rejected accepted");
    /* 40000 of a resolved group and 20001 kept by an unresolved one. */
    v[0] = inventory("a", 1, 40000, 20001);
    v[0].kept = ones(20001);
    v[1].desired = ones(39999);
    assert_decisions(v, 2, 20001, "accepted accepted");
    v[1].desired = ones(40000);
    assert_decisions(v, 2, 20001, "accepted rejected");
    /* What stands already is no growth: nothing to wait for. */
    v[0] = inventory("a", 1, 40000, 60001);
    v[0].kept = ones(20001);
    assert_decisions(v, 1, 100000, "accepted");
    v[0].desired = ones(40001);
    assert_decisions(v, 1, 100000, "rejected");
    v[0].existing = ones(60000);
    v[0].desired = ones(40000);
    assert_decisions(v, 1, 99999, "accepted");
}

/* Racks of no candidate are charged until they are gone. */
static void
test_8_2_4_fixed(void **state)
{
    struct admit_inventory v[] = {
        inventory("a", 1, 50000, 0),
        inventory("gone-soon", 2, 1, 50001),
    };

    (void)state;
    v[1].deleting = true;
    assert_decisions(v, 2, 50001, "rejected aside");
    assert_decisions(v, 2, 50000, "accepted aside");
    /* An orphan's 60000, on top. */
    v[1].deleting = false;
    v[1].existing = ones(0);
    v[1].desired = ones(1);
    assert_decisions(v, 2, 60000, "rejected accepted");
}

/* No candidate grows before an earlier one that was put off; one that does not
 * grow is ready. */
static void
test_8_3_readiness(void **state)
{
    struct admit_inventory v[] = {
        inventory("a", 1, 50000, 0),
        inventory("b", 2, 10000, 60000),
        inventory("c", 3, 5, 4),
        inventory("d", 4, 4, 4),
    };

    (void)state;
    assert_decisions(v, 4, 60008, "pending accepted pending accepted");
    v[1].existing = ones(40000);
    assert_decisions(v, 4, 40008, "accepted accepted accepted accepted");
}

/* Growth in one member alone is growth, and a peak above the envelope in any
 * member puts it off. */
static void
test_8_3_growth_by_member(void **state)
{
    struct admit_inventory v[] = {inventory("a", 1, 0, 0),
                                  inventory("displaced", 2, 60000, 50001)};
    const struct capacity total = {2, 100001, 50002};
    struct admit_verdict verdicts[2];

    (void)state;
    v[0].existing = (struct capacity){1, 50000, 1};
    v[0].desired = (struct capacity){1, 50000, 2};
    v[1].existing = (struct capacity){1, 50001, 50001};
    admit(v, 2, total, verdicts);
    assert_int_equal(verdicts[0].decision, ADMIT_PENDING);
    assert_int_equal(verdicts[1].decision, ADMIT_REJECTED);
    v[0].desired.gpus = 1;
    admit(v, 2, total, verdicts);
    assert_int_equal(verdicts[0].decision, ADMIT_ACCEPTED);
    /* Fewer racks do not make up for more GPUs. */
    v[0].desired = (struct capacity){0, 49999, 2};
    admit(v, 2, total, verdicts);
    assert_int_equal(verdicts[0].decision, ADMIT_PENDING);
}

/* Sums that cannot be counted do not fit. */
static void
test_8_3_overflow(void **state)
{
    struct admit_inventory v[] = {inventory("a", 1, INT64_MAX, 0),
                                  inventory("b", 2, 1, 0)};

    (void)state;
    v[0].kept = ones(1);
    assert_decisions(v, 2, 1, "rejected accepted");
    v[0].desired = ones(1);
    v[0].kept = ones(0);
    v[0].existing = ones(5);
    assert_decisions(v, 2, INT64_MAX, "rejected rejected");
}

static void
test_8_3_explain(void **state)
{
    struct admit_inventory v = inventory("lab", 1, 1, 1);
    struct err why;

    (void)state;
    admit_explain(&v, &why);
    assert_non_null(strstr(why.text, "lab"));
    assert_non_null(strstr(why.text, "100000"));
    assert_non_null(strstr(why.text, "64"));
    assert_non_null(strstr(why.text, "oldest"));
}

/* The reference: 8.2 and 8.3 word by word, with plain sums of the Nodes. */
static void
reference(const struct admit_inventory *v, int count, int64_t total,
          enum admit_decision *out)
{
    int order[MAX_INVENTORIES];
    bool budgeted[MAX_INVENTORIES] = {false};
    bool candidate[MAX_INVENTORIES];
    bool admitted[MAX_INVENTORIES] = {false};
    bool put_off = false;
    int64_t used = 0;
    int64_t running = total;
    int64_t peak = total;

    for (int i = 0; i < count; i++) {
        int at = 0;

        for (int j = 0; j < count; j++)
            at += v[j].created * 100 + v[j].ref.name.s[0] <
                  v[i].created * 100 + v[i].ref.name.s[0];
        order[at] = i;
    }
    for (int i = 0; i < count; i++) {
        const struct admit_inventory *x = &v[order[i]];

        if (!x->deleting && x->declared > 0 && used + x->declared <= 64) {
            budgeted[order[i]] = true;
            used += x->declared;
        }
    }
    for (int i = 0; i < count; i++) {
        candidate[i] = budgeted[i] && v[i].valid && v[i].resolved;
        if (candidate[i])
            running -= v[i].existing.nodes;
    }
    for (int i = 0; i < count; i++) {
        int64_t target = v[order[i]].desired.nodes + v[order[i]].kept.nodes;

        if (candidate[order[i]] && running + target <= 100000) {
            admitted[order[i]] = true;
            running += target;
        }
    }
    for (int i = 0; i < count; i++) {
        const struct admit_inventory *x = &v[order[i]];
        int64_t growth = x->desired.nodes + x->kept.nodes - x->existing.nodes;
        enum admit_decision *d = &out[order[i]];

        if (x->deleting || !x->valid)
            *d = ADMIT_ASIDE;
        else if (!budgeted[order[i]] ||
                 (candidate[order[i]] && !admitted[order[i]]))
            *d = ADMIT_REJECTED;
        else if (!candidate[order[i]] || growth <= 0)
            *d = ADMIT_ACCEPTED;
        else if (put_off || peak + growth > 100000)
            *d = ADMIT_PENDING, put_off = true;
        else
            *d = ADMIT_ACCEPTED, peak += growth;
    }
}

static int64_t
random_inventory(struct seeded *s, struct admit_inventory *v, const char *name)
{
    int64_t kept = seeded_below(s, 3) == 0 ? seeded_below(s, 20000) : 0;

    *v = inventory(name, seeded_below(s, 4), seeded_below(s, 60000),
                   kept + (seeded_below(s, 2) ? seeded_below(s, 50000) : 0));
    v->kept = ones(kept);
    v->declared = seeded_below(s, 25);
    v->deleting = seeded_below(s, 8) == 0;
    v->valid = seeded_below(s, 8) != 0;
    v->resolved = seeded_below(s, 8) != 0;
    return v->existing.nodes;
}

static void
test_8_3_against_reference(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct seeded s = seeded_start("test_8_3_against_reference");

    (void)state;
    for (int i = 0; i < seeded_rounds(20000); i++) {
        struct admit_inventory v[nitems(names)];
        struct admit_verdict got[nitems(names)];
        enum admit_decision wanted[nitems(names)];
        int count = 1 + seeded_below(&s, nitems(names));
        int64_t total = seeded_below(&s, 3) == 0 ? seeded_below(&s, 9000) : 0;

        for (int j = 0; j < count; j++)
            total += random_inventory(&s, &v[j], names[j]);
        reference(v, count, total, wanted);
        admit(v, (size_t)count, ones(total), got);
        for (int j = 0; j < count; j++)
            if (got[j].decision != wanted[j])
                fail_msg("round %d, %s: %s, not %s", i, names[j],
                         admit_name(got[j].decision), admit_name(wanted[j]));
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_8_1_group),
        cmocka_unit_test(test_8_1_group_errors),
        cmocka_unit_test(test_8_1_sum),
        cmocka_unit_test(test_8_1_exceeds),
        cmocka_unit_test(test_8_1_supported),
        cmocka_unit_test(test_8_2_order),
        cmocka_unit_test(test_8_2_1_12_11_budget),
        cmocka_unit_test(test_8_2_1_budgeted),
        cmocka_unit_test(test_8_2_3_candidates),
        cmocka_unit_test(test_8_2_4_fixed),
        cmocka_unit_test(test_8_3_readiness),
        cmocka_unit_test(test_8_3_growth_by_member),
        cmocka_unit_test(test_8_3_overflow),
        cmocka_unit_test(test_8_3_explain),
        cmocka_unit_test(test_8_3_against_reference),
    };
    struct test_table table = {.count = 0};

    add_vectors(&table, "admission.json", NULL, "test_8_2_8_3_",
                test_admission_vector);
    add_tests(&table, tests, nitems(tests));
    return run_table(&table, "placer admit");
}
