/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster in memory, and what intents do to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/mem.h"
#include "proto/frame.h"
#include "proto/unpack.h"
#include "supervisor/mokkactl/apply.h"
#include "supervisor/mokkactl/defaults.h"
#include "supervisor/mokkactl/rack_text.h"
#include "supervisor/mokkactl/story.h"

static json_t *
parse(const char *text)
{
    json_error_t error;
    json_t *tree = json_loads(text, JSON_DECODE_ANY, &error);

    if (tree == NULL)
        fail_msg("%s: %s", error.text, text);
    return tree;
}

static int
add(struct cluster *c, const char *kind, const char *text, struct err *err)
{
    static const struct place place = {.file = "file", .line = 7};
    json_t *object = parse(text);
    int rc = cluster_add(c, schema_of(kind), object, &place, err);

    json_decref(object);
    return rc;
}

/* A part of an object as a tree. */
static json_t *
part(const struct cluster *c, unsigned shelf, const char *name, enum part which)
{
    const struct stored *o = cluster_get(c, shelf, name);

    assert_non_null(o);
    return stored_tree(o, which);
}

static void
expect_text(json_t *tree, const char *path, const char *wanted)
{
    assert_string_equal(kube_json_text(tree, path), wanted);
}

/* ---- intents ----------------------------------------------------------- */

struct done {
    struct arena arena;
    struct result result;
};

static void
carry_out(struct done *d, struct cluster *c, uint16_t type, struct buf *body)
{
    struct err err;
    struct unpacked *u = unpack_body(buf_str(body), &err);
    struct order *order;

    assert_non_null(u);
    order = order_new(type, 1, unpacked_root(u), &err);
    if (order == NULL)
        fail_msg("%s", err.text);
    *d = (struct done){0};
    d->result = apply(c, order, &d->arena);
    free(order);
    unpacked_free(u);
    buf_fini(body);
}

static void
expect_end(struct done *d, enum outcome outcome, const char *reason)
{
    if (d->result.outcome != outcome)
        fail_msg("%s: %s", outcome_name(d->result.outcome), d->result.reason.s);
    if (reason != NULL && strstr(d->result.reason.s, reason) == NULL)
        fail_msg("%s", d->result.reason.s);
    arena_fini(&d->arena);
}

static struct target
target_of(const struct cluster *c, unsigned shelf, const char *name,
          char version[32])
{
    const struct stored *o = cluster_get(c, shelf, name);
    json_t *metadata;

    if (o == NULL)
        return (struct target){str_of(name), STR(""), STR("")};
    metadata = stored_tree(o, PART_METADATA);
    snprintf(version, 32, "%s", kube_json_text(metadata, "resourceVersion"));
    json_decref(metadata);
    return (struct target){str_of(name), str_of(o->uid), str_of(version)};
}

/* ---- defaults and twins ------------------------------------------------ */

#define NODE(name, more)                                                       \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"" name  \
    "\",\"labels\":{\"mokka.nvidia.com/sgpu-node\":\"true\"}" more "}}"

static void
test_defaults_are_stated(void **state)
{
    struct cluster *c = cluster_new(0);
    struct err err;
    json_t *m;
    char uid[DEFAULT_UID];

    (void)state;
    assert_int_equal(add(c, "Node", NODE("n-1", ""), &err), 0);
    m = part(c, KIND_NODE, "n-1", PART_METADATA);
    default_uid("Node", "n-1", 0, uid);
    expect_text(m, "uid", uid);
    /* uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_DNS, "plan.mokka.nvidia.com"),
     * "Node/n-1") */
    expect_text(m, "uid", "7ee5aff4-d2cd-5467-80b2-eb1c0dc68465");
    expect_text(m, "creationTimestamp", "2100-01-01T00:00:00Z");
    expect_text(m, "resourceVersion", "1");
    assert_null(json_object_get(m, "generation"));
    json_decref(m);
    default_uid("Node", "n-1", 1, uid);
    assert_string_not_equal(uid, "7ee5aff4-d2cd-5467-80b2-eb1c0dc68465");
    cluster_free(c);
}

static void
test_what_is_given_is_kept(void **state)
{
    struct cluster *c = cluster_new(0);
    struct err err;
    json_t *m;

    (void)state;
    assert_int_equal(
        add(c, "Node",
            NODE("n-1", ",\"uid\":\"u\",\"resourceVersion\":\"77\","
                        "\"creationTimestamp\":\"2026-01-02T03:04:05Z\""),
            &err),
        0);
    m = part(c, KIND_NODE, "n-1", PART_METADATA);
    expect_text(m, "uid", "u");
    expect_text(m, "resourceVersion", "77");
    expect_text(m, "creationTimestamp", "2026-01-02T03:04:05Z");
    json_decref(m);
    assert_false(stored_differs(cluster_get(c, KIND_NODE, "n-1")));
    cluster_free(c);
}

static void
read_one(struct cluster *c, const char *kind, const char *text)
{
    static const struct place place = {.file = "/a/list"};
    json_t *object = parse(text);
    struct err err;

    assert_int_equal(cluster_add_read(c, schema_of(kind), object, &place, &err),
                     0);
    json_decref(object);
}

#define READ_NODE                                                              \
    NODE("n-1", ",\"uid\":\"u-1\",\"creationTimestamp\":"                      \
                "\"2020-01-01T00:00:00Z\",\"resourceVersion\":\"9\","          \
                "\"annotations\":{\"mokka.nvidia.com/sgpu-assignment\":"       \
                "\"x\"}")

static void
test_a_file_takes_the_place_of_what_was_read(void **state)
{
    struct cluster *c = cluster_new(0);
    struct err err;
    json_t *m;

    (void)state;
    read_one(c, "Node", READ_NODE);
    assert_int_equal(cluster_adopted(c), 1);
    assert_int_equal(
        add(c, "Node",
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{"
            "\"name\":\"n-1\",\"labels\":{\"pool\":\"b\"},"
            "\"resourceVersion\":\"3\"}}",
            &err),
        0);
    m = part(c, KIND_NODE, "n-1", PART_METADATA);
    expect_text(m, "uid", "u-1");
    expect_text(m, "resourceVersion", "9");
    expect_text(m, "creationTimestamp", "2020-01-01T00:00:00Z");
    expect_text(json_object_get(m, "labels"), "pool", "b");
    assert_int_equal(json_object_size(json_object_get(m, "labels")), 2);
    assert_int_equal(json_object_size(json_object_get(m, "annotations")), 1);
    json_decref(m);
    assert_int_equal(cluster_given(c), 1);
    assert_int_equal(cluster_adopted(c), 1);
    assert_false(stored_differs(cluster_get(c, KIND_NODE, "n-1")));
    /* Among files it stays an error. */
    assert_int_equal(add(c, "Node", NODE("n-1", ""), &err), -1);
    assert_non_null(strstr(err.text, "take one of them out"));
    cluster_free(c);
}

static void
test_a_file_of_another_object_is_refused(void **state)
{
    struct cluster *c = cluster_new(0);
    struct err err;

    (void)state;
    read_one(c, "Node", READ_NODE);
    assert_int_equal(add(c, "Node", NODE("n-1", ",\"uid\":\"other\""), &err),
                     -1);
    assert_string_equal(err.text,
                        "its uid is other, but the cluster's object of that "
                        "name has u-1: leave metadata.uid out");
    assert_int_equal(add(c, "Node", NODE("n-2", ",\"uid\":\"u-1\""), &err), -1);
    assert_string_equal(err.text, "an object with this uid is in the cluster: "
                                  "Node n-1");
    cluster_free(c);
}

static void
test_twins_are_refused(void **state)
{
    struct cluster *c = cluster_new(0);
    struct err err;

    (void)state;
    assert_int_equal(add(c, "Node", NODE("n-1", ",\"uid\":\"u\""), &err), 0);
    assert_int_equal(add(c, "Node", NODE("n-1", ",\"uid\":\"v\""), &err), -1);
    assert_string_equal(err.text,
                        "the same object was given already: Node n-1 in "
                        "file:7; take one of them out");
    assert_int_equal(add(c, "Node", NODE("n-2", ",\"uid\":\"u\""), &err), -1);
    assert_string_equal(err.text, "an object with this uid was given already: "
                                  "Node n-1 in file:7; take one of them out");
    assert_int_equal(cluster_given(c), 1);
    cluster_free(c);
}

/* Only eligible Nodes are in the feed, but all are in the cluster. */
static void
test_the_selector_of_the_feed(void **state)
{
    struct cluster *c = cluster_new(0);
    struct err err;

    (void)state;
    assert_int_equal(add(c, "Node", NODE("n-1", ""), &err), 0);
    assert_int_equal(add(c, "Node",
                         "{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                         "\"metadata\":{\"name\":\"n-2\"}}",
                         &err),
                     0);
    assert_non_null(cluster_entry(c, KIND_NODE, "n-1"));
    assert_null(cluster_entry(c, KIND_NODE, "n-2"));
    assert_non_null(cluster_get(c, KIND_NODE, "n-2"));
    cluster_free(c);
}

/* ---- Nodes ------------------------------------------------------------- */

static void
node_apply(struct done *d, struct cluster *c, const char *name, bool release)
{
    char version[32];
    struct intent_node i = {
        .target = target_of(c, KIND_NODE, name, version),
        .clique = STR("f.0"),
        .annotation = STR("{\"v\":1}"),
        .release = release,
    };
    struct buf body = {0};

    intent_node_pack(&body, &i);
    carry_out(d, c, MSG_NODE_APPLY, &body);
}

static void
expect_projected(const struct cluster *c, const char *name, bool yes)
{
    json_t *m = part(c, KIND_NODE, name, PART_METADATA);
    json_t *labels = json_object_get(m, "labels");
    json_t *annotations = json_object_get(m, "annotations");

    assert_int_equal(json_object_get(labels, LABEL_ASSIGNED) != NULL, yes);
    assert_int_equal(json_object_get(labels, LABEL_CLIQUE) != NULL, yes);
    assert_int_equal(
        json_object_get(annotations, ANNOTATION_ASSIGNMENT) != NULL, yes);
    json_decref(m);
}

static void
test_a_node_is_projected_and_released(void **state)
{
    struct cluster *c = cluster_new(CLUSTER_BEFORE);
    struct done d;
    struct err err;

    (void)state;
    assert_int_equal(add(c, "Node", NODE("n-1", ""), &err), 0);
    node_apply(&d, c, "n-1", false);
    assert_string_equal(d.result.version.s, "2");
    expect_end(&d, OUTCOME_DONE, "");
    expect_projected(c, "n-1", true);
    assert_true(stored_differs(cluster_get(c, KIND_NODE, "n-1")));
    node_apply(&d, c, "n-1", true);
    expect_end(&d, OUTCOME_DONE, "");
    expect_projected(c, "n-1", false);
    node_apply(&d, c, "n-2", false);
    expect_end(&d, OUTCOME_GONE, NULL);
    cluster_free(c);
}

#define MANAGED(manager, operation, fields)                                    \
    ",\"managedFields\":[{\"manager\":\"" manager                              \
    "\",\"operation\":\"" operation                                            \
    "\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"      \
    "\"f:metadata\":{" fields "}}}]"
#define OWNS_CLIQUE "\"f:labels\":{\"f:nvidia.com/gpu.clique\":{}}"

/* Node n-1, whose clique is gfd's. */
static void
add_with_clique(struct cluster *c, const char *value)
{
    char *text = mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                            "\"metadata\":{\"name\":\"n-1\",\"labels\":{"
                            "\"nvidia.com/gpu.clique\":\"%s\"}" MANAGED(
                                "gfd", "Update", OWNS_CLIQUE) "}}",
                            value);
    struct err err;

    assert_int_equal(add(c, "Node", text, &err), 0);
    free(text);
}

static void
test_somebody_elses_value_is_a_conflict(void **state)
{
    struct cluster *c = cluster_new(0);
    struct done d;

    (void)state;
    add_with_clique(c, "x");
    node_apply(&d, c, "n-1", false);
    expect_end(&d, OUTCOME_CONFLICT, "owned: nvidia.com/gpu.clique by gfd");
    assert_false(stored_differs(cluster_get(c, KIND_NODE, "n-1")));
    cluster_free(c);
}

/* A Node that may not be clean is looked at: nothing of the binding is on it,
 * and what somebody else has there stays. */
static void
test_a_look_leaves_what_others_have(void **state)
{
    struct intent_node i = {
        .clique = STR("f.0"), .annotation = STR("{\"v\":1}"), .release = true};
    struct cluster *c = cluster_new(0);
    struct buf body = {0};
    char version[32];
    struct done d;

    (void)state;
    add_with_clique(c, "x");
    i.target = target_of(c, KIND_NODE, "n-1", version);
    i.target.version = STR("");
    intent_node_pack(&body, &i);
    carry_out(&d, c, MSG_NODE_APPLY, &body);
    expect_end(&d, OUTCOME_DONE, "");
    assert_false(stored_differs(cluster_get(c, KIND_NODE, "n-1")));
    cluster_free(c);
}

/* The same value: written, and still a conflict, since both own it then. */
static void
test_a_co_owner_is_a_conflict(void **state)
{
    struct cluster *c = cluster_new(0);
    struct done d;
    json_t *m;

    (void)state;
    add_with_clique(c, "f.0");
    node_apply(&d, c, "n-1", false);
    expect_end(&d, OUTCOME_CONFLICT,
               "also owned: nvidia.com/gpu.clique by gfd");
    m = part(c, KIND_NODE, "n-1", PART_METADATA);
    assert_int_equal(json_array_size(json_object_get(m, "managedFields")), 2);
    json_decref(m);
    node_apply(&d, c, "n-1", true);
    expect_end(&d, OUTCOME_KEPT, "kept on the Node: nvidia.com/gpu.clique");
    m = part(c, KIND_NODE, "n-1", PART_METADATA);
    assert_int_equal(json_array_size(json_object_get(m, "managedFields")), 1);
    assert_null(json_object_get(m, "annotations"));
    assert_int_equal(json_object_size(json_object_get(m, "labels")), 1);
    json_decref(m);
    cluster_free(c);
}

/* kubectl leaves managedFields out unless asked: the assignment is ours then,
 * and what stands already is not written. */
static void
test_an_assignment_without_managed_fields_is_ours(void **state)
{
    struct cluster *c = cluster_new(0);
    struct done d;
    struct err err;

    (void)state;
    assert_int_equal(
        add(c, "Node",
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
            "\"n-1\",\"labels\":{\"mokka.nvidia.com/sgpu-assigned\":\"true\","
            "\"nvidia.com/gpu.clique\":\"f.0\"},\"annotations\":{"
            "\"mokka.nvidia.com/sgpu-assignment\":\"{}\"}}}",
            &err),
        0);
    assert_int_equal(cluster_adopted(c), 1);
    node_apply(&d, c, "n-1", true);
    expect_end(&d, OUTCOME_DONE, "");
    expect_projected(c, "n-1", false);
    cluster_free(c);
}

/* ---- inventories ------------------------------------------------------- */

#define INVENTORY(more)                                                        \
    "{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\",\"kind\":"                  \
    "\"SGPUInventory\",\"metadata\":{\"name\":\"lab\",\"uid\":\"u\"" more      \
    "},\"spec\":{\"rackGroups\":[]}}"

static void
finalizer(struct done *d, struct cluster *c, bool present)
{
    char version[32];
    struct intent_finalizer i = {
        .target = target_of(c, KIND_INVENTORY, "lab", version),
        .finalizer = STR(FINALIZER_INVENTORY),
        .present = present,
    };
    struct buf body = {0};

    intent_finalizer_pack(&body, &i);
    carry_out(d, c, MSG_FINALIZER, &body);
}

static void
test_finalizers(void **state)
{
    struct cluster *c = cluster_new(0);
    struct done d;
    struct err err;

    (void)state;
    assert_int_equal(add(c, "SGPUInventory", INVENTORY(""), &err), 0);
    finalizer(&d, c, true);
    expect_end(&d, OUTCOME_DONE, "");
    finalizer(&d, c, true);
    assert_string_equal(d.result.version.s, "2"); /* nothing was written */
    expect_end(&d, OUTCOME_DONE, "");
    finalizer(&d, c, false);
    expect_end(&d, OUTCOME_DONE, "");
    assert_non_null(cluster_get(c, KIND_INVENTORY, "lab"));
    cluster_free(c);
}

/* Who is being deleted leaves with the last finalizer. */
static void
test_the_last_finalizer(void **state)
{
    struct cluster *c = cluster_new(0);
    struct done d;
    struct err err;
    size_t pos = 0;

    (void)state;
    assert_int_equal(
        add(c, "SGPUInventory",
            INVENTORY(",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\","
                      "\"finalizers\":[\"" FINALIZER_INVENTORY "\"]"),
            &err),
        0);
    finalizer(&d, c, false);
    expect_end(&d, OUTCOME_DONE, "");
    assert_null(cluster_get(c, KIND_INVENTORY, "lab"));
    assert_null(cluster_entry(c, KIND_INVENTORY, "lab"));
    assert_true(cluster_next(c, KIND_INVENTORY, &pos)->gone);
    finalizer(&d, c, true);
    expect_end(&d, OUTCOME_GONE, NULL);
    cluster_free(c);
}

static void
test_a_status_keeps_what_stands(void **state)
{
    struct condition condition = {STR("Accepted"), STR("True"), STR("Accepted"),
                                  STR("words"), 1};
    struct cluster *c = cluster_new(0);
    char version[32];
    struct done d;
    struct err err;

    (void)state;
    assert_int_equal(add(c, "SGPUInventory", INVENTORY(""), &err), 0);
    for (int again = 0; again < 2; again++) {
        struct intent_status i = {
            .target = target_of(c, KIND_INVENTORY, "lab", version),
            .action = ACTION_INVENTORY_STATUS,
            .status = {STR("{\"rackGroupsSummary\":\"\"}"), {&condition, 1}},
        };
        struct buf body = {0};
        json_t *status;

        intent_status_pack(&body, &i);
        carry_out(&d, c, MSG_STATUS_WRITE, &body);
        assert_string_equal(d.result.version.s, "2");
        expect_end(&d, OUTCOME_DONE, "");
        status = part(c, KIND_INVENTORY, "lab", PART_STATUS);
        expect_text(json_array_get(json_object_get(status, "conditions"), 0),
                    "lastTransitionTime", DEFAULT_TIME);
        json_decref(status);
    }
    cluster_free(c);
}

/* ---- racks ------------------------------------------------------------- */

#define GPU(index)                                                             \
    "{\"index\":" index ",\"uuid\":\"GPU-b4446553-f034-580a-9c5f-"             \
    "b2d72e337288\",\"serial\":\"03129805513531610634\",\"minorNumber\":"      \
    "0,\"pciAddress\":\"0000:11:00.0\",\"rootComplex\":\"pci0000:10\","        \
    "\"numaNode\":0,\"hostProcessorIndex\":0}"
#define REVISION                                                               \
    "5f880108ae1ca6704ade2edd38d1b87b5a578206cf3c410801a5a8b963cabca2"
#define SPEC_OF(group, index, nodes)                                           \
    "{\"inventoryRef\":{\"name\":\"lab\",\"uid\":\"u\"},\"profileRef\":{"      \
    "\"name\":\"p\",\"uid\":\"pu\",\"generation\":1,\"revision\":\"" REVISION  \
    "\"},\"identity\":{\"rackGroup\":\"" group "\",\"rackIndex\":" index       \
    ",\"fabricUUID\":\"dac3b95f-0326-5b70-a650-659ab13d16d4\",\"cliqueID\":"   \
    "0},\"nodes\":[" nodes "]}"
#define FREE "{\"index\":0,\"gpus\":[" GPU("0") "," GPU("1") "]}"
#define BOUND                                                                  \
    "{\"index\":1,\"nodeRef\":{\"name\":\"n-1\",\"uid\":\"nu\"},\"gpus\":"     \
    "[" GPU("0") "]}"
#define SPEC SPEC_OF("g", "0", FREE "," BOUND)

static void
rack_write(struct done *d, struct cluster *c, const char *name,
           const struct target *target, const char *spec)
{
    const struct object_owner owner = {
        STR(API_GROUP_VERSION), STR(API_INVENTORY), STR("lab"), STR("u"), 1, 0};
    const struct str finalizers[] = {STR(FINALIZER_RACK)};
    char version[32];
    struct intent_rack i = {
        .target =
            target != NULL ? *target : target_of(c, KIND_RACK, name, version),
        .finalizers = {finalizers, 1},
        .owners = {&owner, 1},
        .spec = str_of(spec),
    };
    struct buf body = {0};

    intent_rack_pack(&body, &i);
    carry_out(d, c, MSG_RACK_WRITE, &body);
}

static void
test_a_rack_is_created_and_changed(void **state)
{
    struct cluster *c = cluster_new(0);
    struct target stale, none = {STR("r"), STR(""), STR("")};
    char version[32];
    struct done d;
    json_t *m;

    (void)state;
    rack_write(&d, c, "r", NULL, SPEC);
    expect_end(&d, OUTCOME_DONE, "");
    m = part(c, KIND_RACK, "r", PART_METADATA);
    assert_int_equal(json_integer_value(json_object_get(m, "generation")), 1);
    expect_text(m, "creationTimestamp", DEFAULT_TIME);
    json_decref(m);
    assert_string_equal(cluster_get(c, KIND_RACK, "r")->now[PART_SPEC], SPEC);
    stale = target_of(c, KIND_RACK, "r", version);
    rack_write(&d, c, "r", NULL, SPEC_OF("g", "0", FREE));
    expect_end(&d, OUTCOME_DONE, "");
    m = part(c, KIND_RACK, "r", PART_METADATA);
    assert_int_equal(json_integer_value(json_object_get(m, "generation")), 2);
    json_decref(m);
    rack_write(&d, c, "r", &stale, SPEC);
    expect_end(&d, OUTCOME_STALE, "it has changed");
    rack_write(&d, c, "r", &none, SPEC);
    expect_end(&d, OUTCOME_STALE, "it exists already");
    cluster_free(c);
}

static void
test_a_rack_that_a_server_refuses(void **state)
{
    struct cluster *c = cluster_new(0);
    struct done d;

    (void)state;
    rack_write(&d, c, "r", NULL, SPEC_OF("g", "-1", FREE));
    expect_end(&d, OUTCOME_INVALID,
               "spec.identity.rackIndex: must be 0 or more, but is -1");
    assert_null(cluster_get(c, KIND_RACK, "r"));
    cluster_free(c);
}

static void
test_a_name_that_is_taken(void **state)
{
    struct target none = {STR("r"), STR(""), STR("")};
    struct cluster *c = cluster_new(0);
    struct done d;
    struct err err;

    (void)state;
    assert_int_equal(add(c, "SGPURack",
                         "{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\","
                         "\"kind\":\"SGPURack\",\"metadata\":{\"name\":\"r\","
                         "\"ownerReferences\":[{\"apiVersion\":\"x\",\"kind\":"
                         "\"SGPUInventory\",\"name\":\"other\",\"uid\":\"o\","
                         "\"controller\":true}]},\"spec\":" SPEC "}",
                         &err),
                     0);
    rack_write(&d, c, "r", &none, SPEC);
    expect_end(&d, OUTCOME_CONFLICT,
               "the name is taken by a rack of SGPUInventory other (o)");
    cluster_free(c);
}

/* A rack that comes again under its name is another one. */
static void
test_a_rack_is_deleted_and_comes_again(void **state)
{
    struct cluster *c = cluster_new(0);
    struct buf body = {0};
    struct target target;
    char version[32];
    char *first;
    struct done d;

    (void)state;
    rack_write(&d, c, "r", NULL, SPEC);
    expect_end(&d, OUTCOME_DONE, "");
    first = mem_strdup(cluster_get(c, KIND_RACK, "r")->uid);
    target = target_of(c, KIND_RACK, "r", version);
    intent_delete_pack(&body, &target);
    carry_out(&d, c, MSG_RACK_DELETE, &body);
    expect_end(&d, OUTCOME_DONE, "");
    assert_null(cluster_get(c, KIND_RACK, "r"));
    rack_write(&d, c, "r", NULL, SPEC);
    expect_end(&d, OUTCOME_DONE, "");
    assert_string_not_equal(cluster_get(c, KIND_RACK, "r")->uid, first);
    free(first);
    cluster_free(c);
}

/* Others' finalizers keep it. */
static void
test_a_deleted_rack_that_stays(void **state)
{
    struct cluster *c = cluster_new(0);
    struct buf body = {0};
    struct target target;
    char version[32];
    struct done d;
    struct err err;
    json_t *tree;

    (void)state;
    assert_int_equal(add(c, "SGPURack",
                         "{\"apiVersion\":\"mokka.nvidia.com/v1alpha1\","
                         "\"kind\":\"SGPURack\",\"metadata\":{\"name\":\"r\","
                         "\"finalizers\":[\"x/y\",\"" FINALIZER_RACK
                         "\"]},\"spec\":" SPEC "}",
                         &err),
                     0);
    target = target_of(c, KIND_RACK, "r", version);
    intent_delete_pack(&body, &target);
    carry_out(&d, c, MSG_RACK_DELETE, &body);
    expect_end(&d, OUTCOME_DONE, "");
    tree = part(c, KIND_RACK, "r", PART_METADATA);
    expect_text(tree, "deletionTimestamp", DEFAULT_TIME);
    json_decref(tree);
    tree = part(c, KIND_RACK, "r", PART_SPEC);
    assert_null(json_object_get(
        json_array_get(json_object_get(tree, "nodes"), 1), "nodeRef"));
    json_decref(tree);
    cluster_free(c);
}

/* ---- the short way to a rack's record ---------------------------------- */

static const struct store_entry *
entry_of(struct cluster *c, const char *name)
{
    const struct store_entry *e = cluster_entry(c, KIND_RACK, name);

    assert_non_null(e);
    return e;
}

/* The second rack of a shape goes the short way; the informer must see the
 * same as by the long one. */
static void
test_racks_of_one_shape(void **state)
{
    static const char *const specs[] = {SPEC_OF("g", "0", FREE),
                                        SPEC_OF("g", "1", FREE "," BOUND)};
    struct cluster *quick = cluster_new(0);
    struct cluster *slow = cluster_new(0);
    struct buf bodies[2] = {{0}};
    struct done d;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rack_write(&d, quick, i == 0 ? "a" : "b", NULL, specs[i]);
        expect_end(&d, OUTCOME_DONE, "");
    }
    /* Another version first, so that both have the same. */
    rack_write(&d, slow, "a", NULL, SPEC_OF("other", "0", FREE));
    expect_end(&d, OUTCOME_DONE, "");
    rack_write(&d, slow, "b", NULL, specs[1]);
    expect_end(&d, OUTCOME_DONE, "");
    store_body(entry_of(quick, "b"), &bodies[0]);
    store_body(entry_of(slow, "b"), &bodies[1]);
    assert_true(str_eq(buf_str(&bodies[0]), buf_str(&bodies[1])));
    buf_fini(&bodies[0]);
    buf_fini(&bodies[1]);
    cluster_free(quick);
    cluster_free(slow);
}

static void
test_texts_of_another_form_are_left_alone(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        " " SPEC,
        SPEC " ",
        SPEC_OF("g", "0", ""),
        SPEC_OF("g\\u0061", "0", FREE),
        SPEC_OF("g", "-1", FREE),
        SPEC_OF("g", "0", FREE " "),
        SPEC_OF("g", "0", "{\"gpus\":[],\"index\":0}"),
        SPEC_OF("g", "123456789012345678", FREE),
    };
    struct arena arena = {0};
    struct object_rack rack;

    (void)state;
    assert_true(rack_text_read(&rack, str_of(SPEC), &arena));
    for (size_t i = 0; i < nitems(texts); i++)
        if (rack_text_read(&rack, str_of(texts[i]), &arena))
            fail_msg("%s", texts[i]);
    for (size_t n = 0; n < strlen(SPEC); n++)
        assert_false(rack_text_read(&rack, (struct str){SPEC, n}, &arena));
    arena_fini(&arena);
}

/* ---- the story --------------------------------------------------------- */

static void
test_the_story_is_told_by_the_log(void **state)
{
    struct story s = {0};
    const struct story_conflict *f;

    (void)state;
    log_setup("test", 0, LOG_DEBUG, LOG_PLAIN);
    log_hand_to(story_log, &s);
    log_info("node released", F_STR("rack", "r"), F_INT("nodeIndex", 3),
             F_STR("nodeUID", "u"), F_STR("reason", "NodeGone"));
    log_debug("rack retired", F_STR("rack", "q"),
              F_STR("reason", "GroupRemoved"));
    log_warn("metadata conflict blocks projection", F_STR("node", "n"),
             F_STR("rack", "r"), F_STR("fields", "a,b"),
             F_STR("managers", "a by gfd"));
    log_info("something else");
    log_hand_to(NULL, NULL);
    assert_string_equal(story_released(&s, "r", 3, STR("u")), "NodeGone");
    assert_null(story_released(&s, "r", 3, STR("v")));
    assert_string_equal(story_released(&s, "q", 0, STR("v")), "GroupRemoved");
    assert_string_equal(story_retired(&s, "q"), "GroupRemoved");
    f = map_get(&s.conflicts, "n");
    assert_string_equal(f->with, "a,b (a by gfd)");
    assert_string_equal(story_conflict_name(f->kind), "NodeMetadataConflict");
    story_fini(&s);
}

static void
test_refusals_are_counted(void **state)
{
    struct story s = {0};
    struct result r = {.action = ACTION_RACK,
                       .outcome = OUTCOME_INVALID,
                       .name = STR("r"),
                       .reason = STR("why")};

    (void)state;
    assert_int_equal(story_refused(&s, ACTION_RACK, STR("r")), 0);
    story_refuse(&s, &r);
    story_refuse(&s, &r);
    assert_int_equal(story_refused(&s, ACTION_RACK, STR("r")), 2);
    assert_int_equal(story_refused(&s, ACTION_NODE, STR("r")), 0);
    story_unrefuse(&s, &r);
    assert_int_equal(story_refused(&s, ACTION_RACK, STR("r")), 0);
    story_fini(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_stated),
        cmocka_unit_test(test_what_is_given_is_kept),
        cmocka_unit_test(test_a_file_takes_the_place_of_what_was_read),
        cmocka_unit_test(test_a_file_of_another_object_is_refused),
        cmocka_unit_test(test_twins_are_refused),
        cmocka_unit_test(test_the_selector_of_the_feed),
        cmocka_unit_test(test_a_node_is_projected_and_released),
        cmocka_unit_test(test_a_look_leaves_what_others_have),
        cmocka_unit_test(test_somebody_elses_value_is_a_conflict),
        cmocka_unit_test(test_a_co_owner_is_a_conflict),
        cmocka_unit_test(test_an_assignment_without_managed_fields_is_ours),
        cmocka_unit_test(test_finalizers),
        cmocka_unit_test(test_the_last_finalizer),
        cmocka_unit_test(test_a_status_keeps_what_stands),
        cmocka_unit_test(test_a_rack_is_created_and_changed),
        cmocka_unit_test(test_a_rack_that_a_server_refuses),
        cmocka_unit_test(test_a_name_that_is_taken),
        cmocka_unit_test(test_a_rack_is_deleted_and_comes_again),
        cmocka_unit_test(test_a_deleted_rack_that_stays),
        cmocka_unit_test(test_racks_of_one_shape),
        cmocka_unit_test(test_texts_of_another_form_are_left_alone),
        cmocka_unit_test(test_the_story_is_told_by_the_log),
        cmocka_unit_test(test_refusals_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
