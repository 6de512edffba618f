/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>

#include "common/kube/meta.h"
#include "common/kube/owned.h"
#include "common/mem.h"
#include "tests/fake/wire.h"

#define ASSIGNED "\"f:mokka.nvidia.com/sgpu-assigned\":{}"
#define CLIQUE "\"f:nvidia.com/gpu.clique\":{}"
#define ANNOTATION "\"f:mokka.nvidia.com/sgpu-assignment\":{}"
#define LABELS(fields) "{\"f:metadata\":{\"f:labels\":{" fields "}}}"
#define ANNOTATIONS(fields) "{\"f:metadata\":{\"f:annotations\":{" fields "}}}"
#define ALL                                                                    \
    "{\"f:metadata\":{\"f:labels\":{" ASSIGNED "," CLIQUE                      \
    "},\"f:annotations\":{" ANNOTATION "}}}"
/* The same in the server's order of keys, and with one more. */
#define SORTED(more)                                                           \
    "{\"f:metadata\":{\"f:annotations\":{" ANNOTATION                          \
    "},\"f:labels\":{" ASSIGNED "," CLIQUE more "}}}"

struct entry {
    const char *manager, *operation, *version, *fields, *subresource;
};

static void
add_entry(struct buf *meta, const struct entry *e, const char *fields_type)
{
    struct buf entry = {0};
    struct buf raw = {0};

    wire_text(&entry, 1, e->manager);
    wire_text(&entry, 2, e->operation);
    wire_text(&entry, 3, e->version);
    wire_text(&entry, 6, fields_type);
    wire_text(&raw, 1, e->fields);
    wire_message(&entry, 7, &raw);
    wire_text(&entry, 8, e->subresource);
    wire_message(meta, 17, &entry);
}

/* Gives the metadata to read; wire is what it borrows from. */
static void
read_keys(struct owned_keys *o, struct buf *meta)
{
    struct kube_meta read;
    struct buf wire = {0};
    struct err err;

    wire_text(meta, 1, "n");
    wire_message(&wire, 1, meta);
    assert_int_equal(kube_meta_decode(&read, buf_str(&wire), &err), 0);
    owned_keys_read(o, &read);
    buf_fini(&wire);
}

static void
assert_rivals(const struct owned_keys *o, const char *wanted)
{
    struct buf out = {0};
    char *text;

    owned_keys_rivals(&out, o);
    text = buf_take(&out);
    assert_string_equal(text, wanted);
    free(text);
}

/* 4.3: main resource, FieldsV1; ours is Apply of v1 by mokka-controller. */
static void
test_4_3_who_owns_the_projected_keys(void **state)
{
    static const struct {
        struct entry entries[4];
        int ours, foreign;
        const char *rivals;
    } rows[] = {
        {{{"mokka-controller", "Apply", "v1", ALL, ""}}, KEY_ALL, 0, ""},
        {{{"mokka-controller", "Apply", "v1", SORTED(""), ""},
          {"a", "Update", "v1", SORTED(",\"f:x\":{}"), ""}},
         KEY_ALL,
         KEY_ALL,
         "a;a;a"},
        {{{"a", "Apply", "v1", SORTED(""), ""}}, 0, KEY_ALL, "a;a;a"},
        {{{"mokka-controller", "Apply", "v1", LABELS(ASSIGNED), ""},
          {"gpu-operator", "Update", "v1", LABELS(CLIQUE), ""}},
         KEY_ASSIGNED,
         KEY_CLIQUE,
         ";gpu-operator;"},
        /* A key can have several owners, and each is named where he owns. */
        {{{"mokka-controller", "Apply", "v1", ALL, ""},
          {"kubectl", "Apply", "v1", LABELS(CLIQUE), ""},
          {"kubectl", "Update", "v1", LABELS(CLIQUE), ""},
          {"zed", "Apply", "v1", ALL, ""}},
         KEY_ALL,
         KEY_ALL,
         "zed;kubectl,zed;zed"},
        /* Neither Update nor another version is our Apply. */
        {{{"mokka-controller", "Update", "v1", ALL, ""}},
         0,
         KEY_ALL,
         "mokka-controller;mokka-controller;mokka-controller"},
        {{{"mokka-controller", "Apply", "v2", LABELS(ASSIGNED), ""}},
         0,
         KEY_ASSIGNED,
         "mokka-controller;;"},
        /* Of no concern: subresources, other places, other keys. */
        {{{"kubelet", "Update", "v1", ALL, "status"},
          {"a", "Update", "v1", ANNOTATIONS(ASSIGNED), ""},
          {"b", "Update", "v1", "{\"f:status\":{" CLIQUE "}}", ""},
          {"c", "Update", "v1",
           LABELS("\"f:mokka.nvidia.com/sgpu-assigned-too\":{}"), ""}},
         0,
         0,
         ""},
        /* Who cannot be read owns what he mentions, and is nobody of ours. */
        {{{"d", "Update", "v1", "junk " ASSIGNED, ""},
          {"mokka-controller", "Apply", "v1", "{" ANNOTATION, ""}},
         0,
         KEY_ASSIGNED | KEY_ANNOTATION,
         "d;;mokka-controller"},
        /* What joins names is no part of one. */
        {{{"a,b;c", "Update", "v1", LABELS(CLIQUE), ""}},
         0,
         KEY_CLIQUE,
         ";a_b_c;"},
    };

    (void)state;
    for (size_t i = 0; i < nitems(rows); i++) {
        struct owned_keys o;
        struct buf meta = {0};

        for (size_t j = 0; j < 4 && rows[i].entries[j].manager != NULL; j++)
            add_entry(&meta, &rows[i].entries[j], "FieldsV1");
        read_keys(&o, &meta);
        assert_int_equal(o.ours, rows[i].ours);
        assert_int_equal(o.foreign, rows[i].foreign);
        assert_rivals(&o, rows[i].rivals);
        owned_keys_fini(&o);
    }
}

static void
test_4_3_only_FieldsV1_counts(void **state)
{
    static const struct entry e = {"a", "Update", "v1", ALL, ""};
    struct owned_keys o;
    struct buf meta = {0};

    (void)state;
    add_entry(&meta, &e, "FieldsV2");
    read_keys(&o, &meta);
    assert_int_equal(o.ours | o.foreign, 0);
    owned_keys_fini(&o);
}

static void
test_4_3_many_rivals_are_cut_off(void **state)
{
    struct owned_keys o;
    struct buf meta = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "m%03d", i);
        add_entry(&meta,
                  &(struct entry){name, "Update", "v1", LABELS(CLIQUE), ""},
                  "FieldsV1");
    }
    read_keys(&o, &meta);
    assert_int_equal(o.foreign, KEY_CLIQUE);
    assert_in_range(o.rivals[1].len, 1000, 1200);
    owned_keys_fini(&o);
}

#define SPEC(manager, operation, version, more)                                \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation                  \
    "\",\"apiVersion\":\"" version "\",\"fieldsType\":\"FieldsV1\"," more      \
    "\"fieldsV1\":{\"f:spec\":{}}}"
#define V "mokka.nvidia.com/v1alpha1"

/* 5.5: f:spec is mokka-controller's and nobody else's. */
static void
test_5_5_who_owns_the_spec(void **state)
{
    static const struct {
        const char *list;
        bool ours;
    } rows[] = {
        {"[]", false},
        {"[" SPEC("mokka-controller", "Update", V, "") "]", true},
        {"[" SPEC("mokka-controller", "Apply", V, "") "]", true},
        {"[" SPEC("mokka-controller", "Update", V,
                  "") "," SPEC("mokka-controller", "Apply", V, "") "]",
         true},
        {"[" SPEC("mokka-controller", "Update", V,
                  "") "," SPEC("kubectl", "Update", V, "") "]",
         false},
        {"[" SPEC("kubectl", "Update", V, "") "]", false},
        {"[" SPEC("mokka-controller", "Delete", V, "") "]", false},
        /* Not of this resource in this version. */
        {"[" SPEC("mokka-controller", "Update", "mokka.nvidia.com/v2", "") "]",
         false},
        {"[" SPEC("mokka-controller", "Update", V, "") "," SPEC(
             "kubectl", "Update", V, "\"subresource\":\"status\",") "]",
         true},
        /* An entry that is none owns nothing. */
        {"[7,{},{\"fieldsV1\":7}," SPEC("mokka-controller", "Update", V,
                                        "") "]",
         true},
        {"{}", false},
        {"7", false},
    };

    (void)state;
    assert_false(owned_spec(NULL));
    for (size_t i = 0; i < nitems(rows); i++) {
        json_t *list = json_loads(rows[i].list, JSON_DECODE_ANY, NULL);

        assert_non_null(list);
        if (owned_spec(list) != rows[i].ours)
            fail_msg("row %zu", i);
        json_decref(list);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_4_3_who_owns_the_projected_keys),
        cmocka_unit_test(test_4_3_only_FieldsV1_counts),
        cmocka_unit_test(test_4_3_many_rivals_are_cut_off),
        cmocka_unit_test(test_5_5_who_owns_the_spec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
