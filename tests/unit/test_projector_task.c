/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/task_run.h"

static const struct object_owner controllers[] = {
    {{"v1", 2}, {"Other", 5}, {"o", 1}, {"o", 1}, -1, -1},
    {{"mokka.nvidia.com/v1alpha1", 25},
     {"SGPUInventory", 13},
     {"i", 1},
     {"iu", 2},
     1,
     0},
};

static const struct pair our_labels[] = {{STR(LABEL_GROUP), STR("g")},
                                         {STR(LABEL_INDEX), STR("0")},
                                         {STR("x"), STR("seen")}};
static const struct str our_finalizers[] = {STR(FINALIZER_RACK)};

/* Of generation 3. */
static struct order *
rack_with(const char *uid, const char *version, const char *spec)
{
    const struct intent_rack i = {
        .target = {STR("r"), str_of(uid), str_of(version)},
        .generation = uid[0] == '\0' ? 0 : 3,
        .labels = {our_labels, 3, NULL},
        .finalizers = {our_finalizers, 1},
        .owners = {controllers, 2},
        .spec = str_of(spec),
    };
    struct buf body = {0};

    intent_rack_pack(&body, &i);
    return order_of(MSG_RACK_WRITE, &body);
}

static struct order *
rack(const char *uid, const char *version)
{
    return rack_with(uid, version, "{\"a\":1}");
}

static struct order *
question(void)
{
    const struct target t = {STR("r"), STR(""), STR("")};
    struct buf body = {0};

    intent_delete_pack(&body, &t);
    return order_of(MSG_RACK_LOOK, &body);
}

static struct order *
deletion(const char *version)
{
    const struct target t = {STR("r"), STR("u"), str_of(version)};
    struct buf body = {0};

    intent_delete_pack(&body, &t);
    return order_of(MSG_RACK_DELETE, &body);
}

static struct order *
finalizer(bool present)
{
    const struct intent_finalizer i = {
        .target = {STR("i"), STR("u"), STR("1")},
        .finalizer = STR("f"),
        .present = present,
    };
    struct buf body = {0};

    intent_finalizer_pack(&body, &i);
    return order_of(MSG_FINALIZER, &body);
}

static struct order *
status(enum action action)
{
    const struct intent_status i = {
        .target = {action == ACTION_RACK_STATUS ? STR("r") : STR("i"), STR("u"),
                   STR("1")},
        .action = action,
        .status.fields = STR("{\"a\":1}"),
    };
    struct buf body = {0};

    intent_status_pack(&body, &i);
    return order_of(MSG_STATUS_WRITE, &body);
}

#define OWNED(kind, name, uid)                                                 \
    "{\"metadata\":{\"uid\":\"x\",\"resourceVersion\":\"7\","                  \
    "\"ownerReferences\":[{\"kind\":\"A\"},{\"apiVersion\":"                   \
    "\"mokka.nvidia.com/v1alpha1\",\"kind\":\"" kind "\",\"name\":\"" name     \
    "\",\"uid\":\"" uid "\",\"controller\":true}]}}"

/* A rack as it is found: whose, of which generation, which spec; MORE of its
 * metadata. */
#define MANAGED(manager)                                                       \
    ",\"managedFields\":[{\"manager\":\"" manager                              \
    "\",\"operation\":\"Update\",\"apiVersion\":\"mokka.nvidia.com/"           \
    "v1alpha1\","                                                              \
    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{}}}]"
#define OURS MANAGED("mokka-controller")
#define FOUND(owner, generation, labels, more, spec)                           \
    "{\"metadata\":{\"name\":\"r\",\"uid\":\"u\",\"resourceVersion\":\"8\","   \
    "\"generation\":" #generation ",\"ownerReferences\":[{\"apiVersion\":"     \
    "\"mokka.nvidia.com/v1alpha1\",\"kind\":\"SGPUInventory\",\"name\":\"i\"," \
    "\"uid\":\"" owner "\",\"controller\":true}],"                             \
    "\"finalizers\":[\"mokka.nvidia.com/rack-cleanup\"],\"labels\":{" labels   \
    "}" more "},\"spec\":" spec "}"
#define WRITTEN_LABELS                                                         \
    "\"mokka.nvidia.com/rack-group\":\"g\","                                   \
    "\"mokka.nvidia.com/rack-index\":\"0\",\"y\":\"theirs\""

static void
creating_a_rack(void **state)
{
#define POST "POST " RACKS MANAGER
#define GET "GET " RACKS "/r"
#define EXISTS                                                                 \
    {                                                                          \
        POST, 409, STATUS("AlreadyExists", "")                                 \
    }
    static const struct {
        struct exchange x[3];
        struct ending ending;
    } rows[] = {
        {{{POST, 201, OBJECT}}, DONE("9")},
        {{{POST, 200, OBJECT}}, DONE("9")},
        {{{POST, 422, STATUS("Invalid", "")}}, ENDS(INVALID)},
        {{{POST, 400, STATUS("BadRequest", "")}}, ENDS(INVALID)},
        {{{POST, 413, "too large"}}, ENDS(INVALID)},
        {{EXISTS, {GET, 200, OWNED("SGPUInventory", "i", "iu")}},
         {VERDICT_ENDED, OUTCOME_STALE, "7", "exists"}},
        /* An earlier try of ours was carried out, its answer lost. */
        {{EXISTS,
          {GET, 200, FOUND("iu", 1, WRITTEN_LABELS, OURS, "{\"a\":1}")}},
         DONE("8")},
        {{EXISTS,
          {GET, 200,
           FOUND("iu", 1, WRITTEN_LABELS, MANAGED("k"), "{\"a\":1}")}},
         ENDS(STALE)},
        {{EXISTS,
          {GET, 200,
           FOUND("iu", 1, WRITTEN_LABELS, ",\"deletionTimestamp\":\"t\"",
                 "{\"a\":1}")}},
         ENDS(STALE)},
        {{EXISTS, {GET, 200, OWNED("SGPUInventory", "i", "other")}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "7", "SGPUInventory i (other)"}},
        {{EXISTS, {GET, 200, OWNED("SGPUInventory", "j", "iu")}},
         ENDS(CONFLICT)},
        {{EXISTS, {GET, 200, OWNED("SGPURack", "i", "iu")}}, ENDS(CONFLICT)},
        {{EXISTS, {GET, 200, OBJECT}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, NULL, "without a controller"}},
        {{EXISTS, {GET, 404, STATUS("NotFound", "")}}, FAILS},
        {{EXISTS, {GET, 200, "junk"}}, FAILS},
        {{EXISTS, {GET, 500, ""}}, FAILS},
        /* The CRD is missing: nothing of this rack's making. */
        {{{POST, 404, "404 page not found"}}, FAILS},
        {{{POST, 409, CONFLICT}}, FAILS},
        {{{POST, 201, "junk"}}, FAILS},
        {{{POST, 201, "{\"metadata\":{\"uid\":\"u\"}}"}}, FAILS},
        {{{POST, 429, ""}}, FAILS},
        {{{POST, 500, ""}}, FAILS},
        {{{POST, 503, ""}}, FAILS},
        {{{POST, 0, ""}}, FAILS},
        {{{POST, 401, ""}}, FAILS},
        {{{POST, 403, ""}}, FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(rack("", ""), rows[i].x, &rows[i].ending);
}

static void
updating_a_rack(void **state)
{
#define PUT "PUT " RACKS "/r" MANAGER
    static const struct {
        struct exchange x[10];
        struct ending ending;
    } rows[] = {
        {{{PUT, 200, OBJECT}}, DONE("9")},
        {{{PUT, 404, STATUS("NotFound", "")}}, ENDS(GONE)},
        {{{PUT, 422, STATUS("Invalid", "")}}, ENDS(INVALID)},
        {{{PUT, 403, ""}}, FAILS},
        {{{PUT, 504, ""}}, FAILS},
        {{{PUT, 0, ""}}, FAILS},
        /* M18: what it was decided from stands. */
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 3, "\"z\":\"new\"", OURS, "{\"a\":0}")},
          {PUT, 200, OBJECT}},
         DONE("9")},
        /* 5.3: an earlier try of ours was carried out, its answer lost. */
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 4, WRITTEN_LABELS, OURS, "{\"a\":1}")}},
         DONE("8")},
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 4, WRITTEN_LABELS, "", "{\"a\":1}")}},
         DONE("8")},
        /* 5.3: the plan was made from another spec. */
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 4, WRITTEN_LABELS, OURS, "{\"a\":2}")}},
         {VERDICT_ENDED, OUTCOME_STALE, "8", "changed"}},
        {{{PUT, 409, CONFLICT},
          {GET, 200,
           FOUND("iu", 3, "", OURS ",\"deletionTimestamp\":\"t\"", "{}")}},
         {VERDICT_ENDED, OUTCOME_STALE, "8", "deleted"}},
        /* 5.5: it is not, or not only, ours any more. */
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 3, "", MANAGED("kubectl"), "{\"a\":0}")}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "8", "edited by somebody else"}},
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("other", 3, "", OURS, "{\"a\":0}")}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "8", "(other)"}},
        {{{PUT, 409, CONFLICT}, {GET, 200, OWNED("a", "b", "c")}}, ENDS(GONE)},
        {{{PUT, 409, CONFLICT}, {GET, 404, STATUS("NotFound", "")}},
         ENDS(GONE)},
        {{{PUT, 409, CONFLICT}, {GET, 200, "junk"}}, FAILS},
        {{{PUT, 409, CONFLICT}, {GET, 0, ""}}, FAILS},
        /* Five tries. */
        {{{PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 3, "", OURS, "{\"a\":0}")},
          {PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 3, "", OURS, "{\"a\":0}")},
          {PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 3, "", OURS, "{\"a\":0}")},
          {PUT, 409, CONFLICT},
          {GET, 200, FOUND("iu", 3, "", OURS, "{\"a\":0}")},
          {PUT, 409, CONFLICT}},
         FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(rack("u", "5"), rows[i].x, &rows[i].ending);
}

/* 5.3: what others put on the rack since stays, ours is set again. */
static void
test_M18_the_second_try_keeps_what_others_wrote(void **state)
{
    static const struct exchange x[] = {
        {PUT, 409, CONFLICT},
        {GET, 200,
         FOUND("iu", 3,
               "\"mokka.nvidia.com/rack-index\":\"9\","
               "\"mokka.nvidia.com/inventory\":\"old\",\"z\":\"new\"",
               OURS, "{\"a\":0}")}};
    struct order *order = rack("u", "5");
    struct task *t = task_new(order, false);
    char *body;

    (void)state;
    free(order);
    assert_int_equal(task_begin(t), TASK_SEND);
    give(t, &x[0], str_of(x[0].body), "application/json");
    assert_int_equal(task_request(t)->delay, 10 * CLOCK_MS);
    give(t, &x[1], str_of(x[1].body), "application/json");
    body =
        mem_dup(buf_bytes(&task_request(t)->body), task_request(t)->body.len);
    assert_string_equal(
        body,
        "{\"metadata\":{\"name\":\"r\",\"uid\":\"u\",\"resourceVersion\":"
        "\"8\",\"generation\":3,\"ownerReferences\":[{\"apiVersion\":"
        "\"mokka.nvidia.com/v1alpha1\",\"kind\":\"SGPUInventory\",\"name\":"
        "\"i\",\"uid\":\"iu\",\"controller\":true}],\"finalizers\":["
        "\"mokka.nvidia.com/rack-cleanup\"],\"labels\":{"
        "\"mokka.nvidia.com/rack-index\":\"0\",\"z\":\"new\","
        "\"mokka.nvidia.com/rack-group\":\"g\"}},\"spec\":{\"a\":1}}");
    free(body);
    task_free(t);
#undef PUT
}

/* A rack of version 5, with our finalizer and a bound slot. */
#define STANDING                                                               \
    "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"5\","                  \
    "\"finalizers\":[\"x\",\"mokka.nvidia.com/rack-cleanup\"]},"               \
    "\"spec\":{\"nodes\":[{\"index\":0,\"nodeRef\":{\"name\":\"n\"}}]}}"
#define EMPTY(version)                                                         \
    "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"" version              \
    "\"},\"spec\":{\"nodes\":[{\"index\":0}]}}"

/* A slot named by its index alone comes from the live rack, in this version of
 * it. */
static void
updating_a_rack_with_a_slot_kept(void **state)
{
#define READ "GET " RACKS "/r"
#define PUT "PUT " RACKS "/r" MANAGER
#define KEEPS(index)                                                           \
    "{\"nodes\":[{\"index\":0,\"gpus\":[]},{\"index\":" index "}]}"
    static const struct {
        const char *spec;
        struct exchange x[3];
        struct ending ending;
    } rows[] = {
        {KEEPS("0"), {{READ, 200, STANDING}, {PUT, 200, OBJECT}}, DONE("9")},
        {KEEPS("7"), {{READ, 200, STANDING}}, ENDS(INVALID)},
        {KEEPS("0"),
         {{READ, 200, EMPTY("6")}},
         {VERDICT_ENDED, OUTCOME_STALE, "6", NULL}},
        {KEEPS("0"), {{READ, 404, STATUS("NotFound", "")}}, ENDS(GONE)},
        {KEEPS("0"), {{READ, 200, "junk"}}, FAILS},
        {KEEPS("0"), {{READ, 500, ""}}, FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(rack_with("u", "5", rows[i].spec), rows[i].x, &rows[i].ending);
#undef PUT
#undef READ
}

static void
looking_at_a_rack(void **state)
{
#define READ "GET " RACKS "/r"
    static const struct {
        struct exchange x[2];
        struct ending ending;
    } rows[] = {
        {{{READ, 200, OBJECT}}, DONE("9")},
        {{{READ, 404, STATUS("NotFound", "")}}, ENDS(GONE)},
        {{{READ, 404, "404 page not found"}}, FAILS},
        {{{READ, 500, ""}}, FAILS},
        {{{READ, 0, ""}}, FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(question(), rows[i].x, &rows[i].ending);
#undef READ
}

static void
deleting_a_rack(void **state)
{
#define READ "GET " RACKS "/r"
#define PUT "PUT " RACKS "/r" MANAGER
#define DELETE "DELETE " RACKS "/r"
    static const struct {
        const char *version;
        struct exchange x[4];
        struct ending ending;
    } rows[] = {
        /* Slots and finalizer first; gone after the version deleted. */
        {"5",
         {{READ, 200, STANDING},
          {PUT, 200, OBJECT},
          {DELETE, 200, STATUS("", "")}},
         DONE("10")},
        /* Nothing to take off. */
        {"41",
         {{READ, 200, EMPTY("41")}, {DELETE, 200, STATUS("", "")}},
         DONE("42")},
        {"1999",
         {{READ, 200, EMPTY("1999")}, {DELETE, 200, STATUS("", "")}},
         DONE("2000")},
        {"99", {{READ, 200, EMPTY("99")}, {DELETE, 200, ""}}, DONE("100")},
        /* Somebody's finalizer keeps it. */
        {"5", {{READ, 200, EMPTY("5")}, {DELETE, 200, OBJECT}}, DONE("9")},
        {"5", {{READ, 200, EMPTY("5")}, {DELETE, 202, OBJECT}}, DONE("9")},
        /* Ours was the last one. */
        {"5",
         {{READ, 200, STANDING},
          {PUT, 200, OBJECT},
          {DELETE, 404, STATUS("NotFound", "")}},
         DONE("10")},
        {"5",
         {{READ, 200, STANDING}, {PUT, 404, STATUS("NotFound", "")}},
         DONE("6")},
        /* Not what its author saw. */
        {"4",
         {{READ, 200, STANDING}},
         {VERDICT_ENDED, OUTCOME_STALE, "5", "changed"}},
        {"5", {{READ, 200, STANDING}, {PUT, 409, CONFLICT}}, ENDS(STALE)},
        {"5", {{READ, 200, EMPTY("5")}, {DELETE, 409, CONFLICT}}, ENDS(STALE)},
        {"5", {{READ, 404, STATUS("NotFound", "")}}, ENDS(GONE)},
        {"5", {{READ, 200, OWNED("a", "b", "c")}}, ENDS(GONE)},
        {"5", {{READ, 200, "junk"}}, FAILS},
        {"5", {{READ, 0, ""}}, FAILS},
        {"5", {{READ, 200, STANDING}, {PUT, 500, ""}}, FAILS},
        {"5", {{READ, 200, STANDING}, {PUT, 200, "junk"}}, FAILS},
        {"5", {{READ, 200, EMPTY("5")}, {DELETE, 500, ""}}, FAILS},
        {"5", {{READ, 200, EMPTY("5")}, {DELETE, 0, ""}}, FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(deletion(rows[i].version), rows[i].x, &rows[i].ending);
#undef READ
#undef PUT
}

#define LIVE(more)                                                             \
    "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"4\"" more "}}"

static void
editing_finalizers(void **state)
{
#define READ "GET " INVENTORY
#define LIST                                                                   \
    "GET " RACKS "?labelSelector=mokka.nvidia.com%2Finventory%3Di&limit=500"
#define NONE "{\"items\":[]}"
#define PUT "PUT " INVENTORY
    static const struct {
        bool present;
        struct exchange x[11];
        struct ending ending;
    } rows[] = {
        {true, {{READ, 200, LIVE("")}, {PUT, 200, OBJECT}}, DONE("9")},
        {true, {{READ, 200, LIVE(",\"finalizers\":[\"f\"]")}}, DONE("4")},
        {false, {{LIST, 200, NONE}, {READ, 200, LIVE("")}}, DONE("4")},
        {false,
         {{LIST, 200, NONE},
          {READ, 200, LIVE(",\"finalizers\":[\"f\"]")},
          {PUT, 200, OBJECT}},
         DONE("9")},
        /* D06: a rack that nobody has seen yet keeps the finalizer. */
        {false,
         {{LIST, 200,
           "{\"items\":[" OWNED("SGPUInventory", "i", "v") "," OWNED(
               "SGPUInventory", "i", "u") "]}"}},
         {VERDICT_FAILED, 0, NULL, "still there"}},
        /* Of another inventory, or of one that had this name before. */
        {false,
         {{LIST, 200,
           "{\"items\":[" OWNED("SGPUInventory", "i", "v") "," OWNED(
               "SGPUInventory", "j", "u") "," OWNED("SGPURack", "i", "u") "]}"},
          {READ, 200, LIVE("")}},
         DONE("4")},
        /* A08: there is more than one page. */
        {false,
         {{LIST, 200, "{\"metadata\":{\"continue\":\"a b\"},\"items\":[]}"},
          {LIST "&continue=a%20b", 200,
           "{\"items\":[" OWNED("SGPUInventory", "i", "u") "]}"}},
         FAILS},
        {false,
         {{LIST, 200, "{\"metadata\":{\"continue\":\"a\"},\"items\":[]}"},
          {LIST "&continue=a", 410, STATUS("Expired", "")}},
         FAILS},
        {false, {{LIST, 404, STATUS("NotFound", "")}}, FAILS},
        {false, {{LIST, 403, ""}}, FAILS},
        {false, {{LIST, 0, ""}}, FAILS},
        {false, {{LIST, 200, "junk"}}, FAILS},
        {false, {{LIST, 200, "{\"items\":7}"}}, FAILS},
        {false,
         {{LIST, 200, NONE},
          {READ, 200,
           LIVE(",\"finalizers\":[\"f\"],\"deletionTimestamp\":\"t\"")},
          {PUT, 200, OBJECT}},
         DONE("9")},
        {true,
         {{READ, 200, LIVE(",\"deletionTimestamp\":\"t\"")}},
         {VERDICT_ENDED, OUTCOME_STALE, "4", "deleted"}},
        {true, {{READ, 404, STATUS("NotFound", "")}}, ENDS(GONE)},
        {true, {{READ, 200, OWNED("a", "b", "c")}}, ENDS(GONE)},
        {true, {{READ, 200, "junk"}}, FAILS},
        {true, {{READ, 200, "{}"}}, ENDS(GONE)},
        {true, {{READ, 0, ""}}, FAILS},
        {true,
         {{READ, 200, LIVE("")}, {PUT, 404, STATUS("NotFound", "")}},
         ENDS(GONE)},
        {true, {{READ, 200, LIVE("")}, {PUT, 422, ""}}, ENDS(INVALID)},
        {true, {{READ, 200, LIVE("")}, {PUT, 0, ""}}, FAILS},
        /* Another writer: read again, five times at most. */
        {true,
         {{READ, 200, LIVE("")},
          {PUT, 409, CONFLICT},
          {READ, 200, LIVE(",\"finalizers\":[\"x\"]")},
          {PUT, 200, OBJECT}},
         DONE("9")},
        {true,
         {{READ, 200, LIVE("")},
          {PUT, 409, CONFLICT},
          {READ, 200, LIVE("")},
          {PUT, 409, CONFLICT},
          {READ, 200, LIVE("")},
          {PUT, 409, CONFLICT},
          {READ, 200, LIVE("")},
          {PUT, 409, CONFLICT},
          {READ, 200, LIVE("")},
          {PUT, 409, CONFLICT}},
         FAILS},
        {true,
         {{READ, 200, LIVE("")},
          {PUT, 409, CONFLICT},
          {READ, 404, STATUS("NotFound", "")}},
         ENDS(GONE)},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(finalizer(rows[i].present), rows[i].x, &rows[i].ending);
#undef READ
#undef PUT
}

static void
writing_statuses(void **state)
{
#define EQUAL                                                                  \
    "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"4\"},"                 \
    "\"status\":{\"a\":1}}"
    static const struct {
        enum action action;
        struct exchange x[5];
        struct ending ending;
    } rows[] = {
        {ACTION_INVENTORY_STATUS,
         {{"GET " INVENTORY, 200, LIVE("")},
          {"PUT " INVENTORY "/status", 200, OBJECT}},
         DONE("9")},
        {ACTION_RACK_STATUS,
         {{"GET " RACKS "/r", 200, LIVE("")},
          {"PUT " RACKS "/r/status", 200, OBJECT}},
         DONE("9")},
        /* What stands is not written. */
        {ACTION_RACK_STATUS, {{"GET " RACKS "/r", 200, EQUAL}}, DONE("4")},
        {ACTION_RACK_STATUS,
         {{"GET " RACKS "/r", 200, LIVE("")},
          {"PUT " RACKS "/r/status", 409, CONFLICT},
          {"GET " RACKS "/r", 200, EQUAL}},
         DONE("4")},
        {ACTION_RACK_STATUS,
         {{"GET " RACKS "/r", 200, OWNED("a", "b", "c")}},
         ENDS(GONE)},
        {ACTION_RACK_STATUS,
         {{"GET " RACKS "/r", 404, STATUS("NotFound", "")}},
         ENDS(GONE)},
        {ACTION_RACK_STATUS,
         {{"GET " RACKS "/r", 200, LIVE("")},
          {"PUT " RACKS "/r/status", 422, ""}},
         ENDS(INVALID)},
        {ACTION_RACK_STATUS,
         {{"GET " RACKS "/r", 200, LIVE("")},
          {"PUT " RACKS "/r/status", 403, ""}},
         FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(status(rows[i].action), rows[i].x, &rows[i].ending);
}

static void
a_second_try_waits_ten_milliseconds(void **state)
{
    static const struct exchange x[] = {{"GET " INVENTORY, 200, LIVE("")},
                                        {"PUT " INVENTORY, 409, CONFLICT}};
    struct order *order = finalizer(true);
    struct task *t = task_new(order, false);

    (void)state;
    free(order);
    assert_int_equal(task_begin(t), TASK_SEND);
    assert_int_equal(task_request(t)->delay, 0);
    give(t, &x[0], str_of(x[0].body), "application/json");
    assert_int_equal(task_request(t)->delay, 0);
    give(t, &x[1], str_of(x[1].body), "application/json");
    assert_int_equal(task_request(t)->delay, 10 * CLOCK_MS);
    task_free(t);
}

static void
a_failure_tells_whose_it_is(void **state)
{
    static const struct {
        int status;
        const char *body;
        bool server, denied;
    } rows[] = {
        {0, "", true, false},
        {429, "", true, false},
        {500, "", false, false},
        {502, "", true, false},
        {503, "", true, false},
        {504, "", true, false},
        {401, "", false, false},
        {418, "", false, false},
        {403,
         "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"racks "
         "is forbidden: User \\\"u\\\" cannot update resource\"}",
         false, true},
        /* B05: admission says no; no ClusterRole would help. */
        {403,
         "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":"
         "\"admission webhook \\\"w\\\" denied the request\"}",
         false, false},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        const struct exchange x[] = {
            {"PUT " RACKS "/r" MANAGER, rows[i].status, rows[i].body}, {0}};
        static const struct ending ending = FAILS;
        struct task *t = run(rack("u", "5"), x, &ending);

        assert_int_equal(task_answer(t)->server, rows[i].server);
        assert_int_equal(task_answer(t)->denied, rows[i].denied);
        task_free(t);
    }
}

static void
names_make_no_other_path(void **state)
{
    static const struct ending ending = ENDS(INVALID);
    static const struct exchange none[] = {{0}};
    static const char *const bad[] = {".", ".."};

    (void)state;
    for (size_t i = 0; i < nitems(bad); i++) {
        const struct target t = {str_of(bad[i]), STR("u"), STR("1")};
        struct buf body = {0};

        intent_delete_pack(&body, &t);
        check(order_of(MSG_RACK_DELETE, &body), none, &ending);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating_a_rack),
        cmocka_unit_test(updating_a_rack),
        cmocka_unit_test(test_M18_the_second_try_keeps_what_others_wrote),
        cmocka_unit_test(updating_a_rack_with_a_slot_kept),
        cmocka_unit_test(looking_at_a_rack),
        cmocka_unit_test(deleting_a_rack),
        cmocka_unit_test(editing_finalizers),
        cmocka_unit_test(writing_statuses),
        cmocka_unit_test(a_second_try_waits_ten_milliseconds),
        cmocka_unit_test(a_failure_tells_whose_it_is),
        cmocka_unit_test(names_make_no_other_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
