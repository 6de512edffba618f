/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/kube/meta.h"
#include "common/mem.h"
#include "informer/extract.h"
#include "proto/unpack.h"
#include "tests/fake/wire.h"

/* A message PartialObjectMetadata being written. */
struct node {
    struct buf meta;
};

static void
add_time(struct buf *out, unsigned field, uint64_t seconds)
{
    struct buf time = {0};

    wire_number(&time, 1, seconds);
    wire_message(out, field, &time);
}

static struct node
node_new(void)
{
    struct node node = {0};

    wire_text(&node.meta, 1, "n-1");
    wire_text(&node.meta, 5, "u-1");
    wire_text(&node.meta, 6, "42");
    add_time(&node.meta, 8, 1767323045);
    return node;
}

static void
add_manager(struct node *node, const char *manager, const char *operation,
            const char *version, const char *fields, const char *subresource)
{
    struct buf entry = {0}, raw = {0};

    wire_text(&entry, 1, manager);
    wire_text(&entry, 2, operation);
    wire_text(&entry, 3, version);
    wire_text(&entry, 6, "FieldsV1");
    wire_text(&raw, 1, fields);
    wire_message(&entry, 7, &raw);
    wire_text(&entry, 8, subresource);
    wire_message(&node->meta, 17, &entry);
}

/* What is extracted of it, through the body of its message. */
struct result {
    struct arena arena;
    struct buf wire, body;
    struct unpacked *unpacked;
    struct object_node o;
    struct err err;
};

static int
extract(struct result *r, struct node *node)
{
    struct wire_object object = {0};
    struct kube_meta meta;
    struct record record;

    *r = (struct result){0};
    wire_message(&r->wire, 1, &node->meta);
    assert_int_equal(kube_meta_decode(&meta, buf_str(&r->wire), &r->err), 0);
    object.meta = &meta;
    if (extract_node(&record, &object, &r->arena, &r->err) != 0)
        return -1;
    record_pack(&r->body, &record, record.meta.version);
    r->unpacked = unpack_body(buf_str(&r->body), &r->err);
    assert_non_null(r->unpacked);
    assert_int_equal(object_node_unpack(&r->o, unpacked_root(r->unpacked),
                                        &r->arena, &r->err),
                     0);
    return 0;
}

static void
end(struct result *r)
{
    unpacked_free(r->unpacked);
    buf_fini(&r->wire);
    buf_fini(&r->body);
    arena_fini(&r->arena);
}

static void
test_plain_node(void **state)
{
    struct node node = node_new();
    struct result r;

    (void)state;
    wire_entry(&node.meta, 11, "z", "1");
    wire_entry(&node.meta, 11, "a", "");
    wire_entry(&node.meta, 12, "other", "annotation");
    assert_int_equal(extract(&r, &node), 0);
    assert_true(str_is(r.o.meta.name, "n-1"));
    assert_true(str_is(r.o.meta.uid, "u-1"));
    assert_true(str_is(r.o.meta.version, "42"));
    assert_int_equal(r.o.meta.created, 1767323045);
    assert_false(r.o.meta.deleting);
    assert_int_equal(r.o.meta.labels.count, 2);
    assert_true(str_is(r.o.meta.labels.items[0].key, "a"));
    assert_true(str_is(r.o.meta.labels.items[1].value, "1"));
    assert_int_equal(r.o.annotation.n, 0);
    assert_int_equal(r.o.ours, 0);
    assert_int_equal(r.o.foreign, 0);
    assert_int_equal(r.o.rivals.n, 0);
    end(&r);
}

static void
test_deletion_and_annotation(void **state)
{
    struct node node = node_new();
    struct result r;

    (void)state;
    add_time(&node.meta, 9, 1767323046);
    wire_entry(&node.meta, 12, "mokka.nvidia.com/sgpu-assignment", "{}");
    wire_entry(&node.meta, 12, "z", "after");
    assert_int_equal(extract(&r, &node), 0);
    assert_true(r.o.meta.deleting);
    assert_true(str_is(r.o.annotation, "{}"));
    end(&r);
}

/* The reader of the feed wants each key once. */
static void
test_label_sent_twice_counts_once(void **state)
{
    struct node node = node_new();
    struct result r;

    (void)state;
    wire_entry(&node.meta, 11, "a", "1");
    wire_entry(&node.meta, 11, "b", "2");
    wire_entry(&node.meta, 11, "a", "1");
    assert_int_equal(extract(&r, &node), 0);
    assert_int_equal(r.o.meta.labels.count, 2);
    end(&r);
}

#define ASSIGNED "\"f:mokka.nvidia.com/sgpu-assigned\":{}"
#define CLIQUE "\"f:nvidia.com/gpu.clique\":{}"
#define LABELS(fields) "{\"f:metadata\":{\"f:labels\":{" fields "}}}"

/* Whose the keys are is test_kube_owned's; here, that it is told. */
static void
test_who_owns_the_projected_keys(void **state)
{
    struct node node = node_new();
    struct result r;

    (void)state;
    add_manager(&node, "mokka-controller", "Apply", "v1", LABELS(ASSIGNED), "");
    add_manager(&node, "gpu-operator", "Update", "v1", LABELS(CLIQUE), "");
    assert_int_equal(extract(&r, &node), 0);
    assert_int_equal(r.o.ours, KEY_ASSIGNED);
    assert_int_equal(r.o.foreign, KEY_CLIQUE);
    assert_true(str_is(r.o.rivals, ";gpu-operator;"));
    end(&r);
}

static void
test_node_without_a_version_is_refused(void **state)
{
    struct node node = {0};
    struct result r;

    (void)state;
    wire_text(&node.meta, 1, "n-1");
    wire_text(&node.meta, 5, "u-1");
    assert_int_equal(extract(&r, &node), -1);
    assert_string_equal(r.err.text, "metadata.resourceVersion is missing");
    end(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_node),
        cmocka_unit_test(test_deletion_and_annotation),
        cmocka_unit_test(test_label_sent_twice_counts_once),
        cmocka_unit_test(test_who_owns_the_projected_keys),
        cmocka_unit_test(test_node_without_a_version_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
