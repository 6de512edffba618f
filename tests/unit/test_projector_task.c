/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/kube/http.h"
#include "common/kube/meta.h"
#include "common/mem.h"
#include "projector/render.h"
#include "projector/task.h"
#include "proto/frame.h"
#include "proto/unpack.h"
#include "tests/fake/wire.h"

#define RACKS "/apis/mokka.nvidia.com/v1alpha1/sgpuracks"
#define INVENTORY "/apis/mokka.nvidia.com/v1alpha1/sgpuinventories/i"
#define NODE "/api/v1/nodes/n"
#define MANAGER "?fieldManager=mokka-controller"

/* Bodies of answers. */
#define OBJECT "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"9\"}}"
#define STATUS(reason, details)                                                \
    "{\"kind\":\"Status\",\"reason\":\"" reason                                \
    "\",\"message\":\"text\",\"details\":{" details "}}"
#define CONFLICT STATUS("Conflict", "")

/* An exchange that is expected: the request, and the answer given to it. */
struct exchange {
    const char *request; /* method and path */
    int status;
    const char *body; /* NULL: what node_body made */
};

/* How a task is expected to end. */
struct ending {
    enum verdict verdict;
    enum outcome outcome;
    const char *version, *reason; /* reason: a part of it */
};

static struct order *
order_of(uint16_t type, struct buf *body)
{
    struct err err = {0};
    struct unpacked *u = unpack_body(buf_str(body), &err);
    struct order *order = order_new(type, 1, unpacked_root(u), &err);

    assert_non_null(order);
    unpacked_free(u);
    buf_fini(body);
    return order;
}

static const struct object_owner controllers[] = {
    {{"v1", 2}, {"Other", 5}, {"o", 1}, {"o", 1}, -1, -1},
    {{"mokka.nvidia.com/v1alpha1", 25},
     {"SGPUInventory", 13},
     {"i", 1},
     {"iu", 2},
     1,
     0},
};

static struct order *
rack_with(const char *uid, const char *version, const char *spec)
{
    const struct intent_rack i = {
        .target = {STR("r"), str_of(uid), str_of(version)},
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
    return rack_with(uid, version, "{}");
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

static struct order *
node(bool release)
{
    const struct intent_node i = {
        .target = {STR("n"), STR("u"), STR("1")},
        .clique = STR("f.0"),
        .annotation = STR("ann"),
        .release = release,
    };
    struct buf body = {0};

    intent_node_pack(&body, &i);
    return order_of(MSG_NODE_APPLY, &body);
}

static enum task_move
give(struct task *t, const struct exchange *x, struct str body,
     const char *content_type)
{
    const struct task_request *request = task_request(t);
    char *line = mem_printf("%s %s", request->method, request->path);
    const struct kube_response response = {
        .status = x->status,
        .body = body,
        .content_type = content_type,
        .method = request->method,
        .url = request->path,
    };
    enum task_move move;

    assert_string_equal(line, x->request);
    assert_int_equal(request->mutates, strncmp(line, "GET", 3) != 0);
    move = task_answered(t, &response, 0);
    free(line);
    return move;
}

/* Runs the order through the exchanges, up to one without a request. */
static struct task *
run(struct order *order, const struct exchange *x, const struct ending *ending,
    struct str node_body)
{
    struct task *t = task_new(order);
    enum task_move move = task_begin(t);
    const struct answer *a;

    free(order);
    for (; x->request != NULL; x++) {
        assert_int_equal(move, TASK_SEND);
        if (x->body != NULL)
            move = give(t, x, str_of(x->body), "application/json");
        else
            move = give(t, x, node_body, KUBE_PROTOBUF);
    }
    assert_int_equal(move, TASK_END);
    a = task_answer(t);
    assert_int_equal(a->verdict, ending->verdict);
    if (a->verdict == VERDICT_ENDED)
        assert_int_equal(a->outcome, ending->outcome);
    if (ending->version != NULL)
        assert_true(str_is(a->version, ending->version));
    if (ending->reason != NULL && strstr(a->reason.s, ending->reason) == NULL)
        fail_msg("reason is: %s", a->reason.s);
    return t;
}

static void
check(struct order *order, const struct exchange *x,
      const struct ending *ending)
{
    task_free(run(order, x, ending, STR("")));
}

#define DONE(version)                                                          \
    {                                                                          \
        VERDICT_ENDED, OUTCOME_DONE, version, NULL                             \
    }
#define ENDS(outcome)                                                          \
    {                                                                          \
        VERDICT_ENDED, OUTCOME_##outcome, NULL, NULL                           \
    }
#define FAILS                                                                  \
    {                                                                          \
        VERDICT_FAILED, 0, NULL, NULL                                          \
    }

#define OWNED(kind, name, uid)                                                 \
    "{\"metadata\":{\"uid\":\"x\",\"resourceVersion\":\"7\","                  \
    "\"ownerReferences\":[{\"kind\":\"A\"},{\"apiVersion\":"                   \
    "\"mokka.nvidia.com/v1alpha1\",\"kind\":\"" kind "\",\"name\":\"" name     \
    "\",\"uid\":\"" uid "\",\"controller\":true}]}}"

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
        struct exchange x[2];
        struct ending ending;
    } rows[] = {
        {{{PUT, 200, OBJECT}}, DONE("9")},
        {{{PUT, 409, CONFLICT}}, ENDS(STALE)},
        {{{PUT, 404, STATUS("NotFound", "")}}, ENDS(GONE)},
        {{{PUT, 422, STATUS("Invalid", "")}}, ENDS(INVALID)},
        {{{PUT, 403, ""}}, FAILS},
        {{{PUT, 504, ""}}, FAILS},
        {{{PUT, 0, ""}}, FAILS},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check(rack("u", "5"), rows[i].x, &rows[i].ending);
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
#define PUT "PUT " INVENTORY
    static const struct {
        bool present;
        struct exchange x[11];
        struct ending ending;
    } rows[] = {
        {true, {{READ, 200, LIVE("")}, {PUT, 200, OBJECT}}, DONE("9")},
        {true, {{READ, 200, LIVE(",\"finalizers\":[\"f\"]")}}, DONE("4")},
        {false, {{READ, 200, LIVE("")}}, DONE("4")},
        {false,
         {{READ, 200, LIVE(",\"finalizers\":[\"f\"]")}, {PUT, 200, OBJECT}},
         DONE("9")},
        {false,
         {{READ, 200,
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
    struct task *t = task_new(order);

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

/* A Node as it is answered, in protobuf. */
struct node_answer {
    const char *uid, *assigned, *clique, *annotation;
    struct {
        const char *manager, *operation, *version, *subresource, *fields;
    } owners[3];
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

    wire_text(&meta, 1, "n");
    wire_text(&meta, 5, a->uid);
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

/* One PATCH, answered with that Node; checks what is told of a conflict. */
static void
check_node(bool release, const struct node_answer *a,
           const struct ending *ending, const char *fields, const char *rivals)
{
    static const struct exchange x[] = {{PATCH, 200, NULL}, {0}};
    struct buf body = node_body(a);
    struct task *t = run(node(release), x, ending, buf_str(&body));

    assert_true(str_is(task_facts(t)->fields, fields));
    assert_true(str_is(task_facts(t)->rivals, rivals));
    task_free(t);
    buf_fini(&body);
}

static void
an_apply_is_looked_at(void **state)
{
    static const struct {
        struct node_answer node;
        struct ending ending;
        const char *fields, *rivals;
    } rows[] = {
        {{"u", "true", "f.0", "ann", {OURS}}, DONE("9"), "", ""},
        /* Others own other things, or the same in another place. */
        {{"u",
          "true",
          "f.0",
          "ann",
          {OURS,
           {"kubelet", "Update", "v1", NULL,
            F_LABELS("\"f:kubernetes.io/hostname\":{}")},
           {"odd", "Update", "v1", "status", F_ALL}}},
         DONE("9"),
         "",
         ""},
        {{"other", "true", "f.0", "ann", {OURS}}, ENDS(GONE), "", ""},
        {{"u",
          "true",
          "f.0",
          "ann",
          {OURS, {"kubectl", "Update", "v1", NULL, F_LABELS(F_CLIQUE)}}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "9",
          "nvidia.com/gpu.clique also owned by kubectl"},
         LABEL_CLIQUE,
         "kubectl"},
        {{"u",
          "true",
          "f.0",
          "ann",
          {OURS,
           {"x", "Apply", "v1", NULL, F_LABELS(F_CLIQUE)},
           {"y", "Update", "v1", NULL, F_LABELS(F_ASSIGNED)}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED "," LABEL_CLIQUE,
         "x,y"},
        /* Our name by another way than Apply is not ours. */
        {{"u",
          "true",
          "f.0",
          "ann",
          {OURS,
           {"mokka-controller", "Update", "v1", NULL, F_LABELS(F_CLIQUE)}}},
         ENDS(CONFLICT),
         LABEL_CLIQUE,
         "mokka-controller"},
        {{"u", "true", "f.0", "other", {OURS}},
         ENDS(CONFLICT),
         ANNOTATION_ASSIGNMENT,
         ""},
        {{"u", "yes", "f.0", "ann", {OURS}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED,
         ""},
        {{"u", "true", NULL, "ann", {OURS}}, ENDS(CONFLICT), LABEL_CLIQUE, ""},
        {{"u", "true", "f.0", "ann", {{0}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED "," LABEL_CLIQUE "," ANNOTATION_ASSIGNMENT,
         ""},
        {{"u",
          "true",
          "f.0",
          "ann",
          {{"mokka-controller", "Apply", "v1", NULL,
            "{\"f:metadata\":{\"f:labels\":{" F_ASSIGNED "," F_CLIQUE "}}}"}}},
         ENDS(CONFLICT),
         ANNOTATION_ASSIGNMENT,
         ""},
        {{"u",
          "true",
          "f.0",
          "ann",
          {OURS, {"bad", "Update", "v1", NULL, "{nvidia.com/gpu.clique"}}},
         FAILS,
         "",
         ""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check_node(false, &rows[i].node, &rows[i].ending, rows[i].fields,
                   rows[i].rivals);
}

static void
a_release_is_looked_at(void **state)
{
    static const struct {
        struct node_answer node;
        struct ending ending;
        const char *fields, *rivals;
    } rows[] = {
        {{"u", NULL, NULL, NULL, {{0}}}, DONE("9"), "", ""},
        {{"other", NULL, NULL, NULL, {{0}}}, ENDS(GONE), "", ""},
        {{"u",
          NULL,
          "f.0",
          NULL,
          {{"kubectl", "Update", "v1", NULL, F_LABELS(F_CLIQUE)}}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, "9",
          "nvidia.com/gpu.clique kept on the Node by kubectl"},
         LABEL_CLIQUE,
         "kubectl"},
        {{"u", "true", NULL, "x", {{0}}},
         ENDS(CONFLICT),
         LABEL_ASSIGNED "," ANNOTATION_ASSIGNMENT,
         ""},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++)
        check_node(true, &rows[i].node, &rows[i].ending, rows[i].fields,
                   rows[i].rivals);
}

#define CAUSE(field, name)                                                     \
    "{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "        \
    "\\\"" name "\\\" using v1\",\"field\":\"" field "\"}"

static void
refused_applies(void **state)
{
    static const struct node_answer same = {.uid = "u"}, other = {.uid = "o"};
    static const struct {
        struct exchange x[3];
        struct ending ending;
        const struct node_answer *look;
    } rows[] = {
        {{{PATCH, 409,
           STATUS("Conflict",
                  "\"causes\":[" CAUSE(".metadata.labels.nvidia.com/gpu.clique",
                                       "gpu-operator") "]")}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, NULL,
          "nvidia.com/gpu.clique owned by gpu-operator"},
         NULL},
        {{{PATCH, 409,
           STATUS("Conflict",
                  "\"causes\":[" CAUSE(
                      ".metadata.annotations.mokka.nvidia.com/"
                      "sgpu-assignment",
                      "a") "," CAUSE(".metadata.labels.x",
                                     "a") "," CAUSE(".metadata.labels.y",
                                                    "b") "]")}},
         {VERDICT_ENDED, OUTCOME_CONFLICT, NULL,
          "mokka.nvidia.com/sgpu-assignment,x,y owned by a,b"},
         NULL},
        /* No field is named: is the Node gone, or is it busy? */
        {{{PATCH, 409, CONFLICT}, {LOOK, 404, STATUS("NotFound", "")}},
         ENDS(GONE),
         NULL},
        {{{PATCH, 409, CONFLICT}, {LOOK, 200, NULL}}, ENDS(GONE), &other},
        {{{PATCH, 409, CONFLICT}, {LOOK, 200, NULL}}, FAILS, &same},
        {{{PATCH, 409, CONFLICT}, {LOOK, 200, "{}"}}, FAILS, NULL},
        {{{PATCH, 409, CONFLICT}, {LOOK, 403, ""}}, FAILS, NULL},
        {{{PATCH, 422,
           STATUS("Invalid", "\"causes\":[{\"field\":\"metadata.uid\"}]")}},
         ENDS(GONE),
         NULL},
        {{{PATCH, 422,
           STATUS("Invalid", "\"causes\":[{\"field\":\"metadata.labels\"}]")}},
         ENDS(INVALID),
         NULL},
        {{{PATCH, 404, STATUS("NotFound", "")}}, ENDS(GONE), NULL},
        {{{PATCH, 404, "404 page not found"}}, FAILS, NULL},
        {{{PATCH, 200, "{}"}}, FAILS, NULL},
        {{{PATCH, 403, ""}}, FAILS, NULL},
        {{{PATCH, 429, ""}}, FAILS, NULL},
        {{{PATCH, 0, ""}}, FAILS, NULL},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct buf body = {0};

        if (rows[i].look != NULL)
            body = node_body(rows[i].look);
        task_free(run(node(false), rows[i].x, &rows[i].ending, buf_str(&body)));
        buf_fini(&body);
    }
}

static void
a_failure_tells_whose_it_is(void **state)
{
    static const struct {
        int status;
        bool server, denied;
    } rows[] = {{0, true, false},    {429, true, false}, {500, false, false},
                {502, true, false},  {503, true, false}, {504, true, false},
                {401, false, false}, {403, false, true}, {418, false, false}};

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        const struct exchange x[] = {
            {"PUT " RACKS "/r" MANAGER, rows[i].status, ""}, {0}};
        static const struct ending ending = FAILS;
        struct task *t = run(rack("u", "5"), x, &ending, STR(""));

        assert_int_equal(task_answer(t)->server, rows[i].server);
        assert_int_equal(task_facts(t)->denied, rows[i].denied);
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
        cmocka_unit_test(updating_a_rack_with_a_slot_kept),
        cmocka_unit_test(looking_at_a_rack),
        cmocka_unit_test(deleting_a_rack),
        cmocka_unit_test(editing_finalizers),
        cmocka_unit_test(writing_statuses),
        cmocka_unit_test(a_second_try_waits_ten_milliseconds),
        cmocka_unit_test(an_apply_is_looked_at),
        cmocka_unit_test(a_release_is_looked_at),
        cmocka_unit_test(refused_applies),
        cmocka_unit_test(a_failure_tells_whose_it_is),
        cmocka_unit_test(names_make_no_other_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
