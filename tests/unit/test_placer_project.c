/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/api.h"
#include "common/mem.h"
#include "placer/project.h"
#include "tests/unit/json_value.h"

static const struct object_slot slot = {
    .index = 7, .gpus = 1, .node = {STR("n"), STR("nu")}};

static struct object_rack
make_rack(void)
{
    return (struct object_rack){
        .meta = {.name = STR("lab-a-3"), .uid = STR("ru")},
        .inventory = {STR("lab"), STR("lu")},
        .profile = {STR("p"), STR("pu")},
        .revision = STR("0123"),
        .group = STR("a"),
        .index = 3,
        .fabric = STR("dac3b95f-0326-5b70-a650-659ab13d16d4"),
        .slots = &slot,
        .slot_count = 1,
    };
}

#define CLIQUE "dac3b95f-0326-5b70-a650-659ab13d16d4.0"
#define ANNOTATION(revision)                                                   \
    "{\"v\":1,\"inventory\":{\"name\":\"lab\",\"uid\":\"lu\"},"                \
    "\"rack\":{\"name\":\"lab-a-3\",\"uid\":\"ru\"},"                          \
    "\"profile\":{\"name\":\"p\",\"uid\":\"pu\",\"revision\":\"" revision      \
    "\"},\"rackGroup\":\"a\",\"rackIndex\":3,\"nodeIndex\":7,"                 \
    "\"nodeUID\":\"nu\"}"

/* 4.2: fields and order of the annotation; 3.4: the clique. */
static void
test_4_2_wanted(void **state)
{
    struct object_rack rack = make_rack();
    struct arena arena = {0};
    struct projection p = project_wanted(&rack, &slot, true, &arena);

    (void)state;
    assert_string_equal(p.clique, CLIQUE);
    assert_string_equal(p.annotation.s, ANNOTATION("0123"));
    arena_fini(&arena);
}

/* A Node as it is to be, but for what a test changes. */
struct node {
    struct pair labels[3];
    struct object_node o;
};

static void
set_node(struct node *n, const char *assigned, const char *clique,
         const char *annotation)
{
    size_t count = 0;

    *n = (struct node){.o.ours = KEY_ALL};
    n->labels[count++] = (struct pair){STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)};
    if (assigned != NULL)
        n->labels[count++] =
            (struct pair){STR(LABEL_ASSIGNED), str_of(assigned)};
    if (clique != NULL)
        n->labels[count++] = (struct pair){STR(LABEL_CLIQUE), str_of(clique)};
    pairs_sort(n->labels, count);
    n->o.meta = (struct object_meta){
        .name = STR("n"), .uid = STR("nu"), .labels = {n->labels, count, NULL}};
    n->o.annotation = str_of(annotation);
}

static void
assert_compared(const struct object_node *o, enum project_state wanted,
                int wanted_keys)
{
    struct object_rack rack = make_rack();
    struct arena arena = {0};
    struct projection p = project_wanted(&rack, &slot, true, &arena);
    int keys = -1;

    assert_int_equal(project_compare(o, &p, &keys), wanted);
    assert_int_equal(keys, wanted_keys);
    assert_int_equal(project_compare(o, &p, NULL), wanted);
    arena_fini(&arena);
}

/* 4.3, P02. */
static void
test_4_3_P02_stands(void **state)
{
    struct node n;

    (void)state;
    set_node(&n, "true", CLIQUE, ANNOTATION("0123"));
    assert_compared(&n.o, PROJECT_STANDS, 0);
}

/* P03: exact values, but no ownership, or partial. */
static void
test_P03_values_without_ownership(void **state)
{
    struct node n;

    (void)state;
    for (int ours = 0; ours < KEY_ALL; ours++) {
        set_node(&n, "true", CLIQUE, ANNOTATION("0123"));
        n.o.ours = ours;
        assert_compared(&n.o, PROJECT_MISSING, 0);
    }
}

/* R04: each of the three missing. */
static void
test_R04_missing(void **state)
{
    struct node n;

    (void)state;
    set_node(&n, NULL, CLIQUE, ANNOTATION("0123"));
    assert_compared(&n.o, PROJECT_MISSING, 0);
    set_node(&n, "true", NULL, ANNOTATION("0123"));
    assert_compared(&n.o, PROJECT_MISSING, 0);
    set_node(&n, "true", CLIQUE, "");
    assert_compared(&n.o, PROJECT_MISSING, 0);
    set_node(&n, NULL, NULL, "");
    n.o.ours = 0;
    assert_compared(&n.o, PROJECT_MISSING, 0);
}

/* 4.1 step 6: an annotation of this binding and an older profile is ours. */
static void
test_4_1_older_revision(void **state)
{
    struct node n;

    (void)state;
    set_node(&n, "true", CLIQUE, ANNOTATION("4567"));
    assert_compared(&n.o, PROJECT_MISSING, 0);
}

/* P04: somebody else owns a key, whatever its value. */
static void
test_P04_foreign_owner(void **state)
{
    static const int keys[] = {KEY_ASSIGNED, KEY_CLIQUE, KEY_ANNOTATION,
                               KEY_ALL};

    (void)state;
    for (size_t i = 0; i < nitems(keys); i++) {
        struct node n;

        set_node(&n, "true", CLIQUE, ANNOTATION("0123"));
        n.o.foreign = keys[i];
        assert_compared(&n.o, PROJECT_CONFLICT, keys[i]);
    }
}

/* P05: other values. */
static void
test_P05_other_values(void **state)
{
    static const char *const annotations[] = {
        "{}",
        "no JSON",
        "{\"v\":2}",
        /* another rack, another uid of it, another slot, another Node */
        "{\"v\":1,\"inventory\":{\"name\":\"lab\",\"uid\":\"lu\"},"
        "\"rack\":{\"name\":\"lab-a-4\",\"uid\":\"ru\"},\"rackGroup\":\"a\","
        "\"rackIndex\":3,\"nodeIndex\":7,\"nodeUID\":\"nu\"}",
        "{\"v\":1,\"inventory\":{\"name\":\"lab\",\"uid\":\"lu\"},"
        "\"rack\":{\"name\":\"lab-a-3\",\"uid\":\"rv\"},\"rackGroup\":\"a\","
        "\"rackIndex\":3,\"nodeIndex\":7,\"nodeUID\":\"nu\"}",
        "{\"v\":1,\"inventory\":{\"name\":\"lab\",\"uid\":\"lu\"},"
        "\"rack\":{\"name\":\"lab-a-3\",\"uid\":\"ru\"},\"rackGroup\":\"a\","
        "\"rackIndex\":3,\"nodeIndex\":6,\"nodeUID\":\"nu\"}",
        "{\"v\":1,\"inventory\":{\"name\":\"lab\",\"uid\":\"lu\"},"
        "\"rack\":{\"name\":\"lab-a-3\",\"uid\":\"ru\"},\"rackGroup\":\"a\","
        "\"rackIndex\":3,\"nodeIndex\":7,\"nodeUID\":\"nv\"}",
    };
    struct node n;

    (void)state;
    set_node(&n, "false", CLIQUE, ANNOTATION("0123"));
    assert_compared(&n.o, PROJECT_CONFLICT, KEY_ASSIGNED);
    set_node(&n, "", "x", ANNOTATION("0123"));
    assert_compared(&n.o, PROJECT_CONFLICT, KEY_ASSIGNED | KEY_CLIQUE);
    for (size_t i = 0; i < nitems(annotations); i++) {
        set_node(&n, "true", CLIQUE, annotations[i]);
        assert_compared(&n.o, PROJECT_CONFLICT, KEY_ANNOTATION);
    }
}

/* 4.4 step 4: of this rack and Node, whatever the slot, the profile and the
 * spelling. */
static void
test_4_4_carries(void **state)
{
    static const struct {
        const char *annotation;
        bool carries;
    } cases[] = {
        {ANNOTATION("0123"), true},
        {ANNOTATION("4567"), true},
        {" " ANNOTATION("0123"), true},
        {"", false},
        {"{}", false},
        {"x", false},
    };
    struct object_rack rack = make_rack();

    (void)state;
    for (size_t i = 0; i < nitems(cases); i++) {
        struct node n;

        set_node(&n, NULL, NULL, cases[i].annotation);
        n.o.meta.uid = slot.node.uid;
        assert_int_equal(project_carries(&n.o, &rack), cases[i].carries);
    }
    rack.index++;
    {
        struct node n;

        set_node(&n, NULL, NULL, ANNOTATION("0123"));
        n.o.meta.uid = slot.node.uid;
        assert_true(project_carries(&n.o, &rack));
        n.o.meta.uid = STR("another");
        assert_false(project_carries(&n.o, &rack));
        n.o.meta.uid = slot.node.uid;
        rack.meta.uid = STR("another");
        assert_false(project_carries(&n.o, &rack));
    }
}

/* A rack that says nonsense wants nothing on its Nodes that could match. */
static void
test_rack_without_uid(void **state)
{
    struct object_rack rack = make_rack();
    struct arena arena = {0};
    struct projection p;
    struct node n;

    (void)state;
    rack.meta.uid = STR("");
    p = project_wanted(&rack, &slot, true, &arena);
    assert_int_equal(p.annotation.n, 0);
    set_node(&n, "true", CLIQUE, ANNOTATION("0123"));
    assert_false(project_carries(&n.o, &rack));
    arena_fini(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_4_2_wanted),
        cmocka_unit_test(test_4_3_P02_stands),
        cmocka_unit_test(test_P03_values_without_ownership),
        cmocka_unit_test(test_R04_missing),
        cmocka_unit_test(test_4_1_older_revision),
        cmocka_unit_test(test_P04_foreign_owner),
        cmocka_unit_test(test_P05_other_values),
        cmocka_unit_test(test_4_4_carries),
        cmocka_unit_test(test_rack_without_uid),
    };

    return cmocka_run_group_tests_name("placer project", tests, NULL, NULL);
}
