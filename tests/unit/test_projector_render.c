/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "projector/render.h"

/* 2026-01-02T03:04:05.678Z */
#define NOW (INT64_C(1767323045678) * CLOCK_MS)

static void
check_body(struct buf *body, const char *expected)
{
    buf_addc(body, '\0');
    assert_string_equal(buf_bytes(body), expected);
    buf_fini(body);
}

static json_t *
parse(const char *text)
{
    struct err err = {0};
    json_t *object = kube_json_parse(str_of(text), &err);

    if (object == NULL)
        fail_msg("%s", err.text);
    return object;
}

static const struct pair labels[] = {
    {{"mokka.nvidia.com/inventory", 26}, {"lab", 3}},
    {{"mokka.nvidia.com/rack-index", 27}, {"1", 1}},
};
static const struct pair annotations[] = {
    {{"mokka.nvidia.com/inventory-uid", 30}, {"7f0e", 4}},
};
static const struct str finalizers[] = {{"mokka.nvidia.com/rack-cleanup", 29}};
static const struct object_owner owners[] = {
    {{"mokka.nvidia.com/v1alpha1", 25},
     {"SGPUInventory", 13},
     {"lab", 3},
     {"7f0e", 4},
     1,
     0},
    {{"v1", 2}, {"ConfigMap", 9}, {"other \"x\"", 9}, {"u2", 2}, -1, -1},
};

static void
a_rack_is_created_whole(void **state)
{
    const struct intent_rack i = {
        .target.name = STR("lab-train-1"),
        .labels = {labels, 2, NULL},
        .annotations = {annotations, 1, NULL},
        .finalizers = {finalizers, 1},
        .owners = {owners, 2},
        .spec = STR("{\"nodes\":[]}"),
    };
    struct buf body = {0};

    (void)state;
    render_rack(&body, &i);
    check_body(
        &body,
        "{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\",\"kind\":\"SGPURack\","
        "\"metadata\":{\"name\":\"lab-train-1\",\"labels\":{"
        "\"mokka.nvidia.com/inventory\":\"lab\","
        "\"mokka.nvidia.com/rack-index\":\"1\"},\"annotations\":{"
        "\"mokka.nvidia.com/inventory-uid\":\"7f0e\"},\"finalizers\":["
        "\"mokka.nvidia.com/rack-cleanup\"],\"ownerReferences\":["
        "{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\","
        "\"kind\":\"SGPUInventory\",\"name\":\"lab\",\"uid\":\"7f0e\","
        "\"controller\":true,\"blockOwnerDeletion\":false},"
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
        "\"name\":\"other \\\"x\\\"\",\"uid\":\"u2\"}]},"
        "\"spec\":{\"nodes\":[]}}");
}

static void
a_rack_is_updated_in_the_version_seen(void **state)
{
    const struct intent_rack i = {
        .target = {STR("r"), STR("u"), STR("17")},
        .spec = STR("{}"),
    };
    struct buf body = {0};

    (void)state;
    render_rack(&body, &i);
    check_body(
        &body,
        "{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\",\"kind\":\"SGPURack\","
        "\"metadata\":{\"name\":\"r\",\"uid\":\"u\","
        "\"resourceVersion\":\"17\"},\"spec\":{}}");
}

static void
a_rack_is_deleted_in_the_version_seen(void **state)
{
    const struct target t = {STR("r"), STR("u"), STR("17")};
    struct buf body = {0};

    (void)state;
    render_delete(&body, &t);
    check_body(&body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
                      "\"preconditions\":{\"uid\":\"u\","
                      "\"resourceVersion\":\"17\"}}");
}

static void
a_node_is_applied_with_its_uid_and_our_keys(void **state)
{
    struct intent_node i = {
        .target = {STR("n"), STR("u"), STR("9")},
        .clique = STR("f.0"),
        .annotation = STR("{\"v\":1,\"a\":\"<&>\"}"),
    };
    struct buf body = {0};

    (void)state;
    render_node(&body, &i);
    check_body(&body,
               "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{"
               "\"name\":\"n\",\"uid\":\"u\",\"labels\":{"
               "\"mokka.nvidia.com/sgpu-assigned\":\"true\","
               "\"nvidia.com/gpu.clique\":\"f.0\"},\"annotations\":{"
               "\"mokka.nvidia.com/sgpu-assignment\":"
               "\"{\\\"v\\\":1,\\\"a\\\":\\\"\\u003c\\u0026\\u003e\\\"}\"}}}");
    i.clique = STR("");
    render_node(&body, &i);
    check_body(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{"
                      "\"name\":\"n\",\"uid\":\"u\",\"labels\":{"
                      "\"mokka.nvidia.com/sgpu-assigned\":\"true\"},"
                      "\"annotations\":{\"mokka.nvidia.com/sgpu-assignment\":"
                      "\"{\\\"v\\\":1,\\\"a\\\":\\\"\\u003c\\u0026\\u003e\\\"}"
                      "\"}}}");
}

static void
a_release_names_the_node_and_nothing_else(void **state)
{
    const struct intent_node i = {
        .target = {STR("n"), STR("u"), STR("9")},
        .clique = STR("f.0"),
        .annotation = STR("x"),
        .release = true,
    };
    struct buf body = {0};

    (void)state;
    render_node(&body, &i);
    check_body(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{"
                      "\"name\":\"n\",\"uid\":\"u\"}}");
}

#define LIVE_INVENTORY(list)                                                   \
    "{\"apiVersion\":\"a/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"i\","    \
    "\"uid\":\"u\",\"resourceVersion\":\"5\"" list                             \
    ",\"labels\":{\"x\":\"y\"},\"managedFields\":[{\"manager\":\"m\"}]},"      \
    "\"spec\":{\"z\":1,\"a\":1.5,\"future\":[null]},\"status\":{\"s\":2}}"

#define SENT_INVENTORY(before, after)                                          \
    "{\"apiVersion\":\"a/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"i\","    \
    "\"uid\":\"u\",\"resourceVersion\":\"5\"" before                           \
    ",\"labels\":{\"x\":\"y\"}" after "},"                                     \
    "\"spec\":{\"z\":1,\"a\":1.5,\"future\":[null]},\"status\":{\"s\":2}}"

static void
finalizers_are_changed_one_by_one(void **state)
{
    static const struct {
        const char *live;
        bool present;
        const char *body; /* NULL: as wanted already */
    } rows[] = {
        {LIVE_INVENTORY(""), true,
         SENT_INVENTORY("", ",\"finalizers\":[\"f\"]")},
        {LIVE_INVENTORY(",\"finalizers\":[\"a\",\"b\"]"), true,
         SENT_INVENTORY(",\"finalizers\":[\"a\",\"b\",\"f\"]", "")},
        {LIVE_INVENTORY(",\"finalizers\":[\"a\",\"f\",\"b\"]"), true, NULL},
        {LIVE_INVENTORY(",\"finalizers\":[\"a\",\"f\",\"b\"]"), false,
         SENT_INVENTORY(",\"finalizers\":[\"a\",\"b\"]", "")},
        {LIVE_INVENTORY(",\"finalizers\":[\"f\"]"), false,
         SENT_INVENTORY(",\"finalizers\":[]", "")},
        {LIVE_INVENTORY(",\"finalizers\":[\"a\"]"), false, NULL},
        {LIVE_INVENTORY(""), false, NULL},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        const struct intent_finalizer f = {.finalizer = STR("f"),
                                           .present = rows[i].present};
        json_t *live = parse(rows[i].live);
        struct buf body = {0};
        struct err err;

        assert_int_equal(render_finalizer(&body, live, &f, &err),
                         rows[i].body != NULL);
        check_body(&body, rows[i].body == NULL ? "" : rows[i].body);
        json_decref(live);
    }
}

static void
what_is_no_object_is_refused(void **state)
{
    const struct intent_finalizer f = {.finalizer = STR("f")};
    static const char *const bad[] = {"[]", "{}", "{\"metadata\":3}", "null"};

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        const struct object_status wanted = {.fields = STR("{}")};
        json_t *live = parse(bad[i]);
        struct buf body = {0};
        struct err err = {0};

        assert_int_equal(render_finalizer(&body, live, &f, &err), -1);
        assert_int_not_equal(err.text[0], '\0');
        assert_int_equal(render_status(&body, live, &wanted, NOW, &err), -1);
        assert_int_equal(body.len, 0);
        json_decref(live);
    }
}

/* Renders onto a live object with that status ("" : none); the status sent, or
 * NULL if nothing is to be sent. */
static char *
merge(const char *live_status, const struct object_status *wanted)
{
    char *text = mem_printf(
        "{\"kind\":\"K\",\"metadata\":{\"name\":\"r\",\"managedFields\":[]},"
        "\"spec\":{\"x\":1}%s%s}",
        *live_status == '\0' ? "" : ",\"status\":", live_status);
    json_t *live = parse(text);
    struct buf body = {0};
    struct err err = {0};
    int differs = render_status(&body, live, wanted, NOW, &err);
    static const char head[] = "{\"kind\":\"K\",\"metadata\":{\"name\":\"r\"},"
                               "\"spec\":{\"x\":1},\"status\":";

    free(text);
    json_decref(live);
    if (differs == 0) {
        buf_fini(&body);
        return NULL;
    }
    assert_int_equal(differs, 1);
    assert_memory_equal(buf_bytes(&body), head, sizeof(head) - 1);
    buf_drop(&body, sizeof(head) - 1);
    text = buf_take(&body);
    text[strlen(text) - 1] = '\0';
    return text;
}

#define COND(time, message, gen, reason, status, type)                         \
    "{\"lastTransitionTime\":\"" time "\",\"message\":\"" message              \
    "\",\"observedGeneration\":" gen ",\"reason\":\"" reason                   \
    "\",\"status\":\"" status "\",\"type\":\"" type "\"}"

static void
condition_times_and_texts(void **state)
{
    static const struct condition wanted_true = {
        {"Ready", 5}, {"True", 4}, {"Ready", 5}, {"ours", 4}, 3};
    static const struct condition wanted_free = {
        {"Ready", 5}, {"True", 4}, {"Ready", 5}, {"ours; free: 1", 13}, 3};
    static const struct condition wanted_false = {
        {"Ready", 5}, {"False", 5}, {"Partial", 7}, {"1 of 2", 6}, 3};
#define OLD "2025-01-01T00:00:00Z"
#define NEW "2026-01-02T03:04:05Z"
#define ST(cond) "{\"a\":1,\"conditions\":[" cond "]}"
    static const struct {
        const struct condition *wanted;
        const char *live;
        const char *sent; /* NULL: nothing */
    } rows[] = {
        /* New. */
        {&wanted_true, "",
         ST(COND(NEW, "ours", "3", "Ready", "True", "Ready"))},
        {&wanted_true, "{\"conditions\":null}",
         ST(COND(NEW, "ours", "3", "Ready", "True", "Ready"))},
        /* Stands. */
        {&wanted_true, ST(COND(OLD, "ours", "3", "Ready", "True", "Ready")),
         NULL},
        {&wanted_false,
         ST(COND(OLD, "1 of 2", "3", "Partial", "False", "Ready")), NULL},
        /* True with reason and generation as ours keeps its text ... */
        {&wanted_true, ST(COND(OLD, "theirs", "3", "Ready", "True", "Ready")),
         NULL},
        /* ... but not a text of ours that is out of date ... */
        {&wanted_true,
         ST(COND(OLD, "ours; free: 2", "3", "Ready", "True", "Ready")),
         ST(COND(OLD, "ours", "3", "Ready", "True", "Ready"))},
        {&wanted_free, ST(COND(OLD, "ours", "3", "Ready", "True", "Ready")),
         ST(COND(OLD, "ours; free: 1", "3", "Ready", "True", "Ready"))},
        {&wanted_free,
         ST(COND(OLD, "ours; free: 2", "3", "Ready", "True", "Ready")),
         ST(COND(OLD, "ours; free: 1", "3", "Ready", "True", "Ready"))},
        {&wanted_free,
         ST(COND(OLD, "ours too; free: 2", "3", "Ready", "True", "Ready")),
         NULL},
        /* ... and of another generation it does not; the time stays. */
        {&wanted_true, ST(COND(OLD, "theirs", "2", "Ready", "True", "Ready")),
         ST(COND(OLD, "ours", "3", "Ready", "True", "Ready"))},
        /* A text that is not True's changes, without a transition. */
        {&wanted_false,
         ST(COND(OLD, "0 of 2", "3", "Partial", "False", "Ready")),
         ST(COND(OLD, "1 of 2", "3", "Partial", "False", "Ready"))},
        /* Another reason, another status: a transition. */
        {&wanted_true, ST(COND(OLD, "ours", "3", "Other", "True", "Ready")),
         ST(COND(NEW, "ours", "3", "Ready", "True", "Ready"))},
        {&wanted_false,
         ST(COND(OLD, "1 of 2", "3", "Partial", "True", "Ready")),
         ST(COND(NEW, "1 of 2", "3", "Partial", "False", "Ready"))},
        /* Types that are not ours any more are dropped. */
        {&wanted_true,
         ST(COND(OLD, "x", "3", "X", "True",
                 "Gone") "," COND(OLD, "ours", "3", "Ready", "True", "Ready")),
         ST(COND(OLD, "ours", "3", "Ready", "True", "Ready"))},
        /* Other fields count. */
        {&wanted_true,
         "{\"a\":2,\"conditions\":[" COND(OLD, "ours", "3", "Ready", "True",
                                          "Ready") "]}",
         ST(COND(OLD, "ours", "3", "Ready", "True", "Ready"))},
        /* Whatever stands there, it does no harm. */
        {&wanted_true, ST("7,null,{\"type\":\"Ready\"},{}"),
         ST(COND(NEW, "ours", "3", "Ready", "True", "Ready"))},
        {&wanted_true, "\"text\"",
         ST(COND(NEW, "ours", "3", "Ready", "True", "Ready"))},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        const struct object_status wanted = {STR("{\"a\":1}"),
                                             {rows[i].wanted, 1}};
        char *sent = merge(rows[i].live, &wanted);

        if (rows[i].sent == NULL)
            assert_null(sent);
        else
            assert_string_equal(sent, rows[i].sent);
        free(sent);
    }
}

static void
conditions_are_sorted_by_type(void **state)
{
    static const struct condition list[] = {
        {{"Z", 1}, {"True", 4}, {"R", 1}, {"", 0}, 1},
        {{"A", 1}, {"True", 4}, {"R", 1}, {"", 0}, 1},
        {{"M", 1}, {"True", 4}, {"R", 1}, {"", 0}, 1},
    };
    const struct object_status wanted = {STR("{}"), {list, 3}};
    char *sent = merge("", &wanted);

    (void)state;
    assert_string_equal(
        sent, "{\"conditions\":[" COND(NEW, "", "1", "R", "True", "A") "," COND(
                  NEW, "", "1", "R", "True", "M") "," COND(NEW, "", "1", "R",
                                                           "True", "Z") "]}");
    free(sent);
}

static void
a_status_without_conditions_has_none(void **state)
{
    const struct object_status wanted = {STR("{\"n\":0}"), {NULL, 0}};
    char *sent = merge("", &wanted);

    (void)state;
    assert_string_equal(sent, "{\"n\":0}");
    free(sent);
    assert_null(merge("{\"n\":0}", &wanted));
}

/* 7.5: only what is an index and nothing else, and never inside a text. */
static void
slots_that_stay_come_from_the_live_rack(void **state)
{
    static const char live[] =
        "{\"spec\":{\"nodes\":[{\"index\":0},{\"index\":12,\"nodeRef\":"
        "{\"name\":\"n\",\"uid\":\"u\"},\"gpus\":[{\"index\":3}]}]}}";
    static const struct {
        const char *spec, *merged; /* NULL: as it was */
    } rows[] = {
        {"{\"nodes\":[{\"index\":0,\"gpus\":[]},{\"index\":12}]}",
         "{\"nodes\":[{\"index\":0,\"gpus\":[]},{\"index\":12,\"nodeRef\":{"
         "\"name\":\"n\",\"uid\":\"u\"},\"gpus\":[{\"index\":3}]}]}"},
        {"[{\"index\":12},{\"index\":0}]",
         "[{\"index\":12,\"nodeRef\":{\"name\":\"n\",\"uid\":\"u\"},\"gpus\":"
         "[{\"index\":3}]},{\"index\":0}]"},
        {"{\"nodes\":[{\"index\":12,\"gpus\":[]}]}", NULL},
        {"{\"name\":\"{\\\"index\\\":12}\"}", NULL},
        {"[{\"index\":}]", NULL},
        {"[{\"index\":12", NULL},
        {"{\"index\":", NULL},
        {"", NULL},
    };
    json_t *object = parse(live);
    struct buf out = {0};
    struct err err;

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        assert_int_equal(render_keeps(str_of(rows[i].spec)),
                         rows[i].merged != NULL);
        assert_int_equal(render_kept(&out, str_of(rows[i].spec), object, &err),
                         rows[i].merged != NULL);
        if (rows[i].merged != NULL)
            check_body(&out, rows[i].merged);
    }
    assert_int_equal(render_kept(&out, STR("[{\"index\":5}]"), object, &err),
                     -1);
    assert_int_equal(render_kept(&out,
                                 STR("[{\"index\":99999999999999999999}]"),
                                 object, &err),
                     0);
    buf_fini(&out);
    json_decref(object);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rack_is_created_whole),
        cmocka_unit_test(a_rack_is_updated_in_the_version_seen),
        cmocka_unit_test(slots_that_stay_come_from_the_live_rack),
        cmocka_unit_test(a_rack_is_deleted_in_the_version_seen),
        cmocka_unit_test(a_node_is_applied_with_its_uid_and_our_keys),
        cmocka_unit_test(a_release_names_the_node_and_nothing_else),
        cmocka_unit_test(finalizers_are_changed_one_by_one),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(condition_times_and_texts),
        cmocka_unit_test(conditions_are_sorted_by_type),
        cmocka_unit_test(a_status_without_conditions_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
