/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json_text.h"
#include "projector/render.h"
#include "tests/fake/wire.h"
#include "tests/unit/task_run.h"

/* The tables leave out what is nothing. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* The binding's annotation, and the same of an older profile. */
#define ANN(revision, rack)                                                    \
    "{\"v\":1,\"inventory\":{\"name\":\"i\",\"uid\":\"iu\"},\"rack\":{"        \
    "\"name\":\"r\",\"uid\":\"" rack                                           \
    "\"},\"profile\":{\"name\":\"p\",\"uid\":"                                 \
    "\"pu\",\"revision\":\"" revision                                          \
    "\"},\"rackGroup\":\"g\",\"rackIndex\":0,\"nodeIndex\":3"                  \
    ",\"nodeUID\":\"u\"}"
#define BOUND ANN("new", "ru")
#define OLDER ANN("old", "ru")
#define OTHER ANN("new", "rv")

enum kind {
    APPLY,
    APPLY_NO_CLIQUE,
    RELEASE,
    RELEASE_NO_CLIQUE,
    KEEP,
    UNSEEN,
    STRAY
};

static struct order *
node(enum kind kind)
{
    const struct intent_node i = {
        .target = {STR("n"), STR("u"), kind == UNSEEN ? STR("") : STR("1")},
        .clique = kind == APPLY_NO_CLIQUE || kind == RELEASE_NO_CLIQUE
                      ? STR("")
                      : STR("f.0"),
        .annotation = STR(BOUND),
        .release = kind > APPLY_NO_CLIQUE,
        .keep = kind == KEEP,
        .stray = kind == STRAY,
    };
    struct buf body = {0};

    intent_node_pack(&body, &i);
    return order_of(MSG_NODE_APPLY, &body);
}

/* A Node as it is answered, in protobuf. */
struct node_answer {
    const char *uid, *assigned, *clique, *annotation;
    struct {
        const char *manager, *operation, *version, *subresource, *fields;
    } owners[3];
    const char *name; /* NULL: the one asked for */
};

#define F_LABELS(set) "{\"f:metadata\":{\"f:labels\":{" set "}}}"
#define F_ASSIGNED "\"f:mokka.nvidia.com/sgpu-assigned\":{}"
#define F_CLIQUE "\"f:nvidia.com/gpu.clique\":{}"
#define F_ANNOTATIONS                                                          \
    "\"f:annotations\":{\"f:mokka.nvidia.com/sgpu-assignment\":{}}"
#define F_ALL                                                                  \
    "{\"f:metadata\":{\"f:labels\":{" F_ASSIGNED "," F_CLIQUE                  \
    "}," F_ANNOTATIONS "}}"
#define OURS                                                                   \
    {                                                                          \
        "mokka-controller", "Apply", "v1", NULL, F_ALL                         \
    }

static struct buf
node_body(const struct node_answer *a)
{
    struct buf meta = {0}, object = {0}, body = {0};

    wire_text(&meta, 1, a->name == NULL ? "n" : a->name);
    wire_text(&meta, 5, a->uid == NULL ? "" : a->uid);
    wire_text(&meta, 6, "9");
    wire_entry(&meta, 11, "a", "b");
    if (a->assigned != NULL)
        wire_entry(&meta, 11, LABEL_ASSIGNED, a->assigned);
    if (a->clique != NULL)
        wire_entry(&meta, 11, LABEL_CLIQUE, a->clique);
    if (a->annotation != NULL)
        wire_entry(&meta, 12, ANNOTATION_ASSIGNMENT, a->annotation);
    for (size_t i = 0; i < 3 && a->owners[i].manager != NULL; i++) {
        struct buf owner = {0}, fields = {0};

        wire_text(&owner, 1, a->owners[i].manager);
        wire_text(&owner, 2, a->owners[i].operation);
        wire_text(&owner, 3, a->owners[i].version);
        wire_text(&owner, 6, "FieldsV1");
        wire_text(&fields, 1, a->owners[i].fields);
        wire_message(&owner, 7, &fields);
        if (a->owners[i].subresource != NULL)
            wire_text(&owner, 8, a->owners[i].subresource);
        wire_message(&meta, 17, &owner);
    }
    wire_message(&object, 1, &meta);
    wire_envelope(&body, "meta.k8s.io/v1", "PartialObjectMetadata", &object);
    return body;
}

#define PATCH "PATCH " NODE MANAGER "&force=false"
#define LOOK "GET " NODE

#define RACK "GET " RACKS "/r"
#define NOT_FOUND STATUS("NotFound", "")
#define BODY                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\","   \
    "\"uid\":\"u\""
#define RELEASED BODY "}}"

#define OWNER(name, fields)                                                    \
    {                                                                          \
        name, "Update", "v1", NULL, fields                                     \
    }
#define F_ANNOTATION "{\"f:metadata\":{" F_ANNOTATIONS "}}"

/* A task, the Nodes that answer its requests in turn, and what is told. */
struct row {
    enum kind kind;
    struct exchange x[4];
    struct node_answer nodes[2];
    struct ending ending;
    const char *fields, *rivals; /* NULL: nothing */
    bool kept;                   /* told of an earlier attempt */
};

static void
check_row(const struct row *row)
{
    struct buf bodies[2] = {node_body(&row->nodes[0]),
                            node_body(&row->nodes[1])};
    const struct str answers[2] = {buf_str(&bodies[0]), buf_str(&bodies[1])};
    struct task *t =
        run_again(node(row->kind), row->x, &row->ending, answers, row->kept);

    if (!str_is(task_facts(t)->fields, row->fields == NULL ? "" : row->fields))
        fail_msg("fields: %s", task_facts(t)->fields.s);
    if (!str_is(task_facts(t)->rivals, row->rivals == NULL ? "" : row->rivals))
        fail_msg("rivals: %s", task_facts(t)->rivals.s);
    task_free(t);
    buf_fini(&bodies[0]);
    buf_fini(&bodies[1]);
}

#define CHECK_ROWS(rows)                                                       \
    for (size_t row = 0; row < nitems(rows); row++)                            \
    check_row(&(rows)[row])
#define PATCHED                                                                \
    {                                                                          \
        {                                                                      \
            PATCH, 200, NULL                                                   \
        }                                                                      \
    }

/* 4.1 step 10: the Node in the answer is looked at. */
static void
test_P09_an_apply_is_looked_at(void **state)
{
    static const struct row rows[] = {
        {APPLY, PATCHED, {{"u", "true", "f.0", BOUND, {OURS}}}, DONE("9")},
        /* Others own other things, or the same in another place. */
        {APPLY,
         PATCHED,
         {{"u",
           "true",
           "f.0",
           BOUND,
           {OURS,
            OWNER("kubelet", F_LABELS("\"f:kubernetes.io/hostname\":{}")),
            {"odd", "Update", "v1", "status", F_ALL}}}},
         DONE("9")},
        {APPLY,
         PATCHED,
         {{"u",
           "true",
           "f.0",
           BOUND,
           {OURS, OWNER("kubectl", F_LABELS(F_CLIQUE))}}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "9",
          "also owned: nvidia.com/gpu.clique by kubectl"},
         LABEL_CLIQUE,
         LABEL_CLIQUE " by kubectl"},
        /* Each key by itself. */
        {APPLY,
         PATCHED,
         {{"u",
           "true",
           "f.0",
           BOUND,
           {OURS,
            {"x", "Apply", "v1", NULL, F_LABELS(F_CLIQUE)},
            OWNER("y", F_LABELS(F_ASSIGNED "," F_CLIQUE))}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED "," LABEL_CLIQUE,
         LABEL_ASSIGNED " by y; " LABEL_CLIQUE " by x,y"},
        /* Our name by another way than Apply is not ours. */
        {APPLY,
         PATCHED,
         {{"u",
           "true",
           "f.0",
           BOUND,
           {OURS, OWNER("mokka-controller", F_LABELS(F_CLIQUE))}}},
         ENDS(CONFLICT),
         LABEL_CLIQUE,
         LABEL_CLIQUE " by mokka-controller"},
        {APPLY,
         PATCHED,
         {{"u", "true", "f.0", OLDER, {OURS}}},
         ENDS(CONFLICT),
         ANNOTATION_ASSIGNMENT,
         NULL},
        {APPLY,
         PATCHED,
         {{"u", "yes", "f.0", BOUND, {OURS}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED,
         NULL},
        {APPLY,
         PATCHED,
         {{"u", "true", NULL, BOUND, {OURS}}},
         ENDS(CONFLICT),
         LABEL_CLIQUE,
         NULL},
        {APPLY,
         PATCHED,
         {{"u", "true", "f.0", BOUND, {{0}}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED "," LABEL_CLIQUE "," ANNOTATION_ASSIGNMENT,
         NULL},
        {APPLY,
         PATCHED,
         {{"u",
           "true",
           "f.0",
           BOUND,
           {{"mokka-controller", "Apply", "v1", NULL,
             F_LABELS(F_ASSIGNED "," F_CLIQUE)}}}},
         ENDS(CONFLICT),
         ANNOTATION_ASSIGNMENT,
         NULL},
        /* A field set that is not readable owns what it mentions. */
        {APPLY,
         PATCHED,
         {{"u", "true", "f.0", BOUND, {OURS, OWNER("bad", "{" F_CLIQUE)}}},
         ENDS(CONFLICT),
         LABEL_CLIQUE,
         LABEL_CLIQUE " by bad"},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* P10: another name, another uid, nothing: an error, tried again. */
static void
test_P10_answers_about_others(void **state)
{
    static const struct row rows[] = {
        {APPLY,
         PATCHED,
         {{"other", "true", "f.0", BOUND, {OURS}}},
         {VERDICT_FAILED, 0, NULL, "another instance"}},
        {APPLY,
         PATCHED,
         {{"u", .name = "m"}},
         {VERDICT_FAILED, 0, NULL, "another Node, m"}},
        {RELEASE, PATCHED, {{"u", .name = "m"}}, FAILS},
        {APPLY, {{PATCH, 200, ""}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 200, "{}"}}, {{0}}, FAILS},
        {RELEASE, {{PATCH, 200, ""}}, {{0}}, FAILS},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* DESIGN 12: the clique label is left to another owner. */
static void
test_12_without_the_clique_label(void **state)
{
    static const struct row rows[] = {
        {APPLY_NO_CLIQUE,
         PATCHED,
         {{"u",
           "true",
           "theirs",
           BOUND,
           {OURS, OWNER("gpu-operator", F_LABELS(F_CLIQUE))}}},
         DONE("9")},
        {APPLY_NO_CLIQUE,
         PATCHED,
         {{"u",
           "true",
           "theirs",
           BOUND,
           {OURS, OWNER("x", F_LABELS(F_ASSIGNED))}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED,
         LABEL_ASSIGNED " by x"},
        {RELEASE_NO_CLIQUE,
         PATCHED,
         {{"u",
           NULL,
           "theirs",
           NULL,
           {OWNER("gpu-operator", F_LABELS(F_CLIQUE))}}},
         DONE("9")},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* 4.4 steps 8 and 9. */
static void
test_K06_a_release_is_looked_at(void **state)
{
    static const struct row rows[] = {
        {RELEASE, PATCHED, {{"u", NULL, NULL, NULL, {{0}}}}, DONE("9")},
        {RELEASE, PATCHED, {{"other", NULL, NULL, NULL, {{0}}}}, ENDS(GONE)},
        /* Another binding's is not ours to judge. */
        {RELEASE, PATCHED, {{"u", NULL, NULL, OTHER, {{0}}}}, DONE("9")},
        {RELEASE,
         PATCHED,
         {{"u", NULL, "f.0", NULL, {OWNER("kubectl", F_LABELS(F_CLIQUE))}}},
         {VERDICT_ENDED, OUTCOME_KEPT, "9",
          "kept on the Node: nvidia.com/gpu.clique by kubectl"},
         LABEL_CLIQUE,
         LABEL_CLIQUE " by kubectl"},
        {RELEASE,
         PATCHED,
         {{"u", "true", NULL, OLDER, {{0}}}},
         ENDS(KEPT),
         LABEL_ASSIGNED "," ANNOTATION_ASSIGNMENT,
         NULL},
        {KEEP,
         PATCHED,
         {{"u", NULL, "x", BOUND, {OURS}}},
         ENDS(KEPT),
         LABEL_CLIQUE "," ANNOTATION_ASSIGNMENT,
         NULL},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* 4.4 steps 2 to 9 for a Node that the feed does not show. */
static void
test_4_4_a_node_outside_the_feed(void **state)
{
    static const struct row rows[] = {
        {UNSEEN, {{LOOK, 404, NOT_FOUND}}, {{0}}, ENDS(GONE)},
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"other", "true", "f.0", BOUND, {OURS}}},
         ENDS(GONE)},
        /* K08 */
        {UNSEEN, {{LOOK, 0, ""}}, {{0}}, FAILS},
        {UNSEEN, {{LOOK, 403, ""}}, {{0}}, FAILS},
        {UNSEEN, {{LOOK, 404, "404 page not found"}}, {{0}}, FAILS},
        {UNSEEN, {{LOOK, 200, "{}"}}, {{0}}, FAILS},
        /* Nothing of the binding is on it: left alone. */
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", NULL, NULL, NULL, {{0}}}},
         DONE("9")},
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", "true", "f.0", OTHER, {OURS}}},
         DONE("9")},
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", "true", "f.0", "junk", {OURS}}},
         DONE("9")},
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", "true", "f.0", NULL, {OWNER("x", F_ALL)}}},
         DONE("9")},
        /* It is. */
        {UNSEEN,
         {{LOOK, 200, NULL}, {PATCH, 200, NULL}},
         {{"u", "true", "f.0", OLDER, {OURS}}, {"u", NULL, NULL, NULL, {{0}}}},
         DONE("9")},
        {UNSEEN,
         {{LOOK, 200, NULL}, {PATCH, 409, CONFLICT}, {LOOK, 404, NOT_FOUND}},
         {{"u", "true", "f.0", BOUND, {OURS}}},
         ENDS(GONE)},
        /* K04: after the one PATCH others keep it; looked at again and again.
         */
        {UNSEEN,
         {{LOOK, 200, NULL}, {PATCH, 200, NULL}},
         {{"u", "true", "f.0", BOUND, {OURS, OWNER("x", F_ANNOTATION)}},
          {"u", NULL, NULL, BOUND, {OWNER("x", F_ANNOTATION)}}},
         {VERDICT_FAILED, 0, NULL, "kept on the Node"},
         ANNOTATION_ASSIGNMENT,
         ANNOTATION_ASSIGNMENT " by x"},
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", NULL, NULL, BOUND, {OWNER("x", F_ANNOTATION)}}},
         FAILS,
         ANNOTATION_ASSIGNMENT,
         ANNOTATION_ASSIGNMENT " by x",
         true},
        /* K05 */
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", NULL, NULL, NULL, {{0}}}},
         DONE("9"),
         NULL,
         NULL,
         true},
        /* Labels that others kept while the annotation went. */
        {UNSEEN,
         {{LOOK, 200, NULL}},
         {{"u", NULL, "f.0", NULL, {OWNER("x", F_LABELS(F_CLIQUE))}}},
         FAILS,
         LABEL_CLIQUE,
         LABEL_CLIQUE " by x",
         true},
        /* K03: our label goes, our annotation stays. */
        {UNSEEN,
         {{LOOK, 200, NULL}, {PATCH, 200, NULL}},
         {{"u",
           "true",
           "x",
           OLDER,
           {{"mokka-controller", "Apply", "v1", NULL, F_ALL}}},
          {"u", NULL, "x", OLDER, {OURS}}},
         FAILS,
         LABEL_CLIQUE "," ANNOTATION_ASSIGNMENT,
         NULL},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* What is sent to a Node that the feed does not show. */
static void
check_sent(const struct node_answer *found, const char *wanted)
{
    static const struct exchange look = {LOOK, 200, NULL};
    struct buf answer = node_body(found);
    struct order *order = node(UNSEEN);
    struct task *t = task_new(order, false);
    char *body;

    free(order);
    assert_int_equal(task_begin(t), TASK_SEND);
    assert_true(task_request(t)->live);
    assert_int_equal(give(t, &look, buf_str(&answer), KUBE_PROTOBUF),
                     TASK_SEND);
    assert_string_equal(task_request(t)->method, "PATCH");
    body =
        mem_dup(buf_bytes(&task_request(t)->body), task_request(t)->body.len);
    assert_string_equal(body, wanted);
    free(body);
    task_free(t);
    buf_fini(&answer);
}

static void
test_K03_the_annotation_stays_as_it_is(void **state)
{
    static const struct node_answer plain = {"u", "true", "f.0", OLDER, {OURS}};
    static const struct node_answer wrong = {"u", "true", "x", OLDER, {OURS}};
    static const struct node_answer alone = {
        "u",
        "true",
        "f.0",
        NULL,
        {{"mokka-controller", "Apply", "v1", NULL, F_LABELS(F_ASSIGNED)}}};
    struct buf kept = {0};
    char *text;

    (void)state;
    check_sent(&plain, RELEASED);
    check_sent(&alone, RELEASED);
    buf_addz(&kept, BODY ",\"annotations\":{\"" ANNOTATION_ASSIGNMENT "\":");
    json_text_string(&kept, STR(OLDER));
    buf_addz(&kept, "}}}");
    text = buf_take(&kept);
    check_sent(&wrong, text);
    free(text);
}

#define HOLDING(uid, node)                                                     \
    "{\"metadata\":{\"uid\":\"" uid "\"},\"spec\":{\"nodes\":[{\"index\":0},"  \
    "{\"index\":1,\"nodeRef\":{\"name\":\"n\",\"uid\":\"" node "\"}}]}}"

/* 4.1 step 6: a left-over is one only if no rack holds what it says. */
static void
test_4_1_6_left_overs(void **state)
{
    static const struct row rows[] = {
        {STRAY,
         {{RACK, 404, NOT_FOUND}, {PATCH, 200, NULL}},
         {{"u", NULL, NULL, NULL, {{0}}}},
         DONE("9")},
        {STRAY,
         {{RACK, 200, "{\"metadata\":{\"uid\":\"another\"}}"},
          {PATCH, 200, NULL}},
         {{"u", NULL, NULL, NULL, {{0}}}},
         DONE("9")},
        /* Somebody took the binding off. */
        {STRAY,
         {{RACK, 200, HOLDING("ru", "other")}, {PATCH, 200, NULL}},
         {{"u", NULL, NULL, NULL, {{0}}}},
         DONE("9")},
        {STRAY,
         {{RACK, 200, HOLDING("ru", "u")}},
         {{0}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "", "that binds it"}},
        {STRAY, {{RACK, 404, "404 page not found"}}, {{0}}, FAILS},
        {STRAY, {{RACK, 0, ""}}, {{0}}, FAILS},
    };

    (void)state;
    CHECK_ROWS(rows);
}

#define CAUSE(field, name)                                                     \
    "{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "        \
    "\\\"" name "\\\" using v1\",\"field\":\"" field "\"}"
#define CAUSES(list) STATUS("Conflict", "\"causes\":[" list "]")
#define UID_CAUSE STATUS("Invalid", "\"causes\":[{\"field\":\"metadata.uid\"}]")

/* 4.1 steps 8 and 9, 4.4 step 8. */
static void
test_4_1_9_refused_applies(void **state)
{
    static const struct row rows[] = {
        /* P12, F02: no field is named: is the Node gone, or is it busy? */
        {APPLY,
         {{PATCH, 409, CONFLICT}, {LOOK, 404, NOT_FOUND}},
         {{0}},
         ENDS(GONE)},
        {APPLY,
         {{PATCH, 409, CONFLICT}, {LOOK, 200, NULL}},
         {{"o"}},
         ENDS(GONE)},
        {APPLY, {{PATCH, 409, CONFLICT}, {LOOK, 200, NULL}}, {{"u"}}, FAILS},
        {APPLY, {{PATCH, 409, CONFLICT}, {LOOK, 200, "{}"}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 409, CONFLICT}, {LOOK, 403, ""}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 422, UID_CAUSE}}, {{0}}, ENDS(GONE)},
        {RELEASE, {{PATCH, 422, UID_CAUSE}}, {{0}}, ENDS(GONE)},
        {APPLY, {{PATCH, 404, NOT_FOUND}}, {{0}}, ENDS(GONE)},
        /* Whatever else is said no to may be said yes to later. */
        {APPLY,
         {{PATCH, 422,
           STATUS("Invalid",
                  "\"causes\":[{\"field\":\"metadata.annotations\"}]")}},
         {{0}},
         FAILS},
        {APPLY, {{PATCH, 400, ""}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 403, ""}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 404, "404 page not found"}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 413, ""}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 429, ""}}, {{0}}, FAILS},
        {APPLY, {{PATCH, 0, ""}}, {{0}}, FAILS},
        /* A conflict that is over at the next try. */
        {APPLY,
         {{PATCH, 409,
           CAUSES(CAUSE(".metadata.labels.nvidia.com/gpu.clique", "x"))},
          {PATCH, 200, NULL}},
         {{"u", "true", "f.0", BOUND, {OURS}}},
         DONE("9")},
        {RELEASE,
         {{PATCH, 409,
           CAUSES(
               CAUSE(".metadata.annotations.mokka.nvidia.com/sgpu-assignment",
                     "x"))}},
         {{0}},
         FAILS,
         ANNOTATION_ASSIGNMENT,
         ANNOTATION_ASSIGNMENT " by x"},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* A conflict that stays is tried five times, 5 ms apart at first and twice as
 * long each further time; then it is told, each key with its manager. */
static void
test_4_1_9_a_conflict_is_retried_with_back_off(void **state)
{
    static const struct exchange x = {
        PATCH, 409,
        CAUSES(CAUSE(".metadata.labels.nvidia.com/gpu.clique",
                     "gpu-operator") "," CAUSE(".metadata.labels.x", "a"))};
    struct order *order = node(APPLY);
    struct task *t = task_new(order, false);

    (void)state;
    free(order);
    assert_int_equal(task_begin(t), TASK_SEND);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(give(t, &x, str_of(x.body), "application/json"),
                         TASK_SEND);
        assert_int_equal(task_request(t)->delay, 5 * CLOCK_MS << i);
    }
    assert_int_equal(give(t, &x, str_of(x.body), "application/json"), TASK_END);
    assert_int_equal(task_answer(t)->verdict, VERDICT_ENDED);
    assert_int_equal(task_answer(t)->outcome, OUTCOME_CONFLICT);
    assert_true(str_is(task_facts(t)->fields, LABEL_CLIQUE ",x"));
    assert_true(
        str_is(task_facts(t)->rivals, LABEL_CLIQUE " by gpu-operator; x by a"));
    task_free(t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P09_an_apply_is_looked_at),
        cmocka_unit_test(test_P10_answers_about_others),
        cmocka_unit_test(test_12_without_the_clique_label),
        cmocka_unit_test(test_K06_a_release_is_looked_at),
        cmocka_unit_test(test_4_4_a_node_outside_the_feed),
        cmocka_unit_test(test_K03_the_annotation_stays_as_it_is),
        cmocka_unit_test(test_4_1_6_left_overs),
        cmocka_unit_test(test_4_1_9_refused_applies),
        cmocka_unit_test(test_4_1_9_a_conflict_is_retried_with_back_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
