/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_LAB_OBJECTS_H
#define TESTS_UNIT_LAB_OBJECTS_H

/*
 * For tests only: a placer that leads, and around it what carries out what it
 * says: an API server's objects, as JSON, with an informer and a projector that
 * lose no time.  A test changes objects, lets it settle, and compares what was
 * told with what it should have been.  Include after cmocka.h.
 */
#include <fcntl.h>
#include <unistd.h>

#include "common/log.h"
#include "informer/extract.h"
#include "tests/unit/placer_sim.h"

#define LAB_GROUP(id, count)                                                   \
    "{\"id\":\"" id "\",\"count\":" #count ",\"profileRef\":{\"name\":\"p\"}}"
#define LAB_POOLED(id, count, pool)                                            \
    "{\"id\":\"" id "\",\"count\":" #count                                     \
    ",\"profileRef\":{\"name\":\"p\"},\"placement\":{\"nodeSelector\":{"       \
    "\"matchLabels\":{\"pool\":\"" pool "\"}}}}"

/* An intent that was neither answered nor withdrawn. */
struct lab_asked {
    enum action action;
    uint16_t type;
    uint32_t id;
    char *name;
    struct buf body;
};

struct lab {
    struct sim s;
    json_t *objects[KIND_COUNT]; /* by name; Nodes as lab_node makes them */
    json_t *places;              /* "lab/a/0" by name of a rack */
    json_t *news;                /* [kind, name, uid] that the feed owes */
    struct lab_asked *asked;
    size_t count, room;
    size_t heard;        /* of s.said */
    struct buf told;     /* a line for each intent but statuses */
    struct buf statuses; /* and one for each status */
    uint16_t held;       /* type of intents that wait, or 0 */
    bool lags;           /* the feed has racks to tell of that are not owed */
    int uids;
    int log;
};

/* ---- objects ----------------------------------------------------------- */

static UNUSED json_t *
lab_find(const struct lab *l, enum object_kind kind, const char *name)
{
    return json_object_get(l->objects[kind], name);
}

/* The member, which must be there. */
static UNUSED json_t *
lab_at(const struct lab *l, enum object_kind kind, const char *name,
       const char *path)
{
    json_t *at = json_at(lab_find(l, kind, name), path);

    if (at == NULL)
        fail_msg("%s %s has no %s", object_kind_name(kind), name, path);
    return at;
}

static UNUSED const char *
lab_uid(const struct lab *l, enum object_kind kind, const char *name)
{
    return json_string_value(lab_at(l, kind, name, "metadata.uid"));
}

/* It has changed (or is gone, and had that uid): the feed is to tell. */
static UNUSED void
lab_owe(struct lab *l, enum object_kind kind, const char *name, const char *uid)
{
    json_t *object = lab_find(l, kind, name);

    if (object != NULL)
        json_put(object, "metadata.resourceVersion",
                 json_string(sim_version(&l->s).s));
    json_array_append_new(l->news, json_pack("[iss]", (int)kind, name, uid));
}

static UNUSED void
lab_changed(struct lab *l, enum object_kind kind, const char *name)
{
    lab_owe(l, kind, name, lab_uid(l, kind, name));
}

/* Takes over an object, as a new one unless it has a uid. */
static UNUSED void
lab_put(struct lab *l, enum object_kind kind, json_t *object)
{
    const char *name = json_string_value(json_at(object, "metadata.name"));
    char uid[32];

    snprintf(uid, sizeof(uid), "uid-%d", ++l->uids);
    if (json_at(object, "metadata.uid") == NULL)
        json_put(object, "metadata.uid", json_string(uid));
    if (json_at(object, "metadata.generation") == NULL)
        json_put(object, "metadata.generation", json_integer(1));
    json_object_set_new(l->objects[kind], name, object);
    lab_changed(l, kind, name);
}

static UNUSED void
lab_remove(struct lab *l, enum object_kind kind, const char *name)
{
    char *uid = mem_strdup(lab_uid(l, kind, name));

    json_object_del(l->objects[kind], name);
    lab_owe(l, kind, name, uid);
    free(uid);
}

/* Somebody deletes it: it waits for its finalizers. */
static UNUSED void
lab_delete(struct lab *l, enum object_kind kind, const char *name)
{
    json_t *object = lab_find(l, kind, name);

    assert_non_null(object);
    if (json_array_size(json_at(object, "metadata.finalizers")) == 0) {
        lab_remove(l, kind, name);
        return;
    }
    json_put(object, "metadata.deletionTimestamp",
             json_string("2026-01-02T03:04:05Z"));
    lab_changed(l, kind, name);
}

/* Somebody changes a member; one of the spec is a new generation. */
static UNUSED void
lab_edit(struct lab *l, enum object_kind kind, const char *name,
         const char *path, const char *text)
{
    json_t *object = lab_find(l, kind, name);
    json_int_t generation =
        json_integer_value(lab_at(l, kind, name, "metadata.generation"));

    json_put(object, path, text == NULL ? NULL : json_text(text));
    if (strncmp(path, "spec", 4) == 0)
        json_put(object, "metadata.generation", json_integer(generation + 1));
    lab_changed(l, kind, name);
}

static UNUSED void
lab_profile(struct lab *l, const char *name, int nodes_per_rack)
{
    char *spec = sim_profile_spec(nodes_per_rack);

    lab_put(l, KIND_PROFILE,
            json_pack("{s:{s:s},s:o}", "metadata", "name", name, "spec",
                      json_text(spec)));
    free(spec);
}

/* created is the second of a minute. */
static UNUSED void
lab_inventory(struct lab *l, const char *name, int created, const char *groups)
{
    char *time = mem_printf("2026-01-01T00:00:%02dZ", created);

    lab_put(l, KIND_INVENTORY,
            json_pack("{s:{s:s,s:s},s:{s:o}}", "metadata", "name", name,
                      "creationTimestamp", time, "spec", "rackGroups",
                      json_text(groups)));
    free(time);
}

/* An eligible Node, in a pool unless that is NULL. */
static UNUSED void
lab_node(struct lab *l, const char *name, int created, const char *pool)
{
    json_t *labels = json_pack("{s:s}", LABEL_ELIGIBLE, LABEL_TRUE);

    if (pool != NULL)
        json_object_set_new(labels, "pool", json_string(pool));
    lab_put(l, KIND_NODE,
            json_pack("{s:{s:s,s:o},s:i,s:s,s:i,s:i}", "metadata", "name", name,
                      "labels", labels, "created", created, "annotation", "",
                      "ours", 0, "foreign", 0));
}

/* value NULL takes the label off. */
static UNUSED void
lab_label(struct lab *l, const char *node, const char *key, const char *value)
{
    json_t *labels = lab_at(l, KIND_NODE, node, "metadata.labels");

    if (value == NULL)
        json_object_del(labels, key);
    else
        json_object_set_new(labels, key, json_string(value));
    lab_changed(l, KIND_NODE, node);
}

/* The name of a rack, which lives as long as the lab. */
static UNUSED const char *
lab_rack(struct lab *l, const char *inventory, const char *group, int index)
{
    char name[IDENTITY_NAME_MAX];
    char *place = mem_printf("%s/%s/%d", inventory, group, index);

    identity_rack_name(str_of(inventory),
                       str_of(lab_uid(l, KIND_INVENTORY, inventory)),
                       str_of(group), (uint32_t)index, name);
    json_object_set_new(l->places, name, json_string(place));
    free(place);
    return arena_str(&l->s.arena, str_of(name)).s;
}

/* Another rack with the spec of one that stands, under a name of its own. */
static UNUSED void
lab_copy_rack(struct lab *l, const char *from, const char *name)
{
    json_t *copy = json_deep_copy(lab_find(l, KIND_RACK, from));

    json_put(copy, "metadata.name", json_string(name));
    json_put(copy, "metadata.uid", NULL);
    lab_put(l, KIND_RACK, copy);
}

/* Somebody else's rack of that name. */
static UNUSED void
lab_foreign_rack(struct lab *l, const char *name)
{
    lab_put(l, KIND_RACK,
            json_pack("{s:{s:s,s:[{s:s,s:s,s:s,s:s,s:b}],s:[{s:s,s:s,s:s,s:s,s:"
                      "{s:{}}}]},s:{s:{s:s,s:s},s:{s:s,s:s,s:i,s:s},s:{s:s,s:"
                      "i,s:s,s:i},s:[{s:i,s:[]}]}}",
                      "metadata", "name", name, "ownerReferences", "apiVersion",
                      API_GROUP_VERSION, "kind", API_INVENTORY, "name", "other",
                      "uid", "other-uid", "controller", 1, "managedFields",
                      "manager", "someone", "operation", "Update", "apiVersion",
                      API_GROUP_VERSION, "fieldsType", "FieldsV1", "fieldsV1",
                      "f:spec", "spec", "inventoryRef", "name", "other", "uid",
                      "other-uid", "profileRef", "name", "p", "uid", "u",
                      "generation", 1, "revision", "r", "identity", "rackGroup",
                      "a", "rackIndex", 0, "fabricUUID", "f", "cliqueID", 0,
                      "nodes", "index", 0, "gpus"));
}

/* "n1 -": whom a rack binds, slot by slot. */
static UNUSED void
lab_add_bound(struct buf *out, const json_t *spec)
{
    json_t *slot;
    size_t i;

    json_array_foreach(json_object_get(spec, "nodes"), i, slot)
    {
        const json_t *ref = json_object_get(slot, "nodeRef");

        buf_printf(out, " %s", ref == NULL ? "-" : json_str(ref, "name").s);
    }
}

/* ---- the feed ---------------------------------------------------------- */

/* False if it is not eligible. */
static UNUSED bool
lab_node_pack(struct buf *out, json_t *node)
{
    const json_t *texts = json_at(node, "metadata.labels");
    struct pair labels[8];
    struct object_node o = {
        .meta = {.name = json_str(json_at(node, "metadata"), "name"),
                 .uid = json_str(json_at(node, "metadata"), "uid"),
                 .version =
                     json_str(json_at(node, "metadata"), "resourceVersion"),
                 .created = json_int(node, "created"),
                 .deleting =
                     json_at(node, "metadata.deletionTimestamp") != NULL},
        .annotation = json_str(node, "annotation"),
        .ours = json_int(node, "ours"),
        .foreign = json_int(node, "foreign"),
    };
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)texts, key, value)
    {
        assert_true(count < nitems(labels));
        labels[count++] =
            (struct pair){str_of(key), str_of(json_string_value(value))};
    }
    pairs_sort(labels, count);
    o.meta.labels = (struct pairs){labels, count, NULL};
    object_node_pack(out, &o);
    return str_is(json_str(texts, LABEL_ELIGIBLE), LABEL_TRUE);
}

static UNUSED void
lab_object_pack(struct buf *out, enum object_kind kind, json_t *object)
{
    static extract_fn *const extract[] = {extract_profile, extract_inventory,
                                          extract_rack};
    const struct wire_object wire = {.json = object};
    struct arena arena = {0};
    struct record record;
    struct err err;

    if (extract[kind](&record, &wire, &arena, &err) != 0)
        fail_msg("%s", err.text);
    record_pack(out, &record, record.meta.version);
    arena_fini(&arena);
}

/* Tells how an object is now; uid is that of one that is gone. A Node that is
 * not eligible is not in the feed. */
static UNUSED void
lab_show(struct lab *l, enum object_kind kind, const char *name,
         const char *uid)
{
    json_t *object = lab_find(l, kind, name);
    bool there = object != NULL;
    struct buf body = {0};

    if (there && kind == KIND_NODE)
        there = lab_node_pack(&body, object);
    else if (there)
        lab_object_pack(&body, kind, object);
    if (there)
        sim_frame(&l->s, record_message(kind), 0, &body);
    else
        sim_gone(&l->s, kind, name, uid);
    buf_fini(&body);
}

static UNUSED void
lab_tell_as_of(struct lab *l)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_int(&body, KIND_RACK);
    pack_str(&body, sim_version(&l->s));
    sim_frame(&l->s, MSG_AS_OF, 0, &body);
}

/* Tells what it owes. */
static UNUSED void
lab_feed(struct lab *l)
{
    json_t *item;
    size_t i;

    json_array_foreach(l->news, i, item)
    {
        enum object_kind kind =
            (enum object_kind)json_integer_value(json_array_get(item, 0));

        lab_show(l, kind, json_string_value(json_array_get(item, 1)),
                 json_string_value(json_array_get(item, 2)));
    }
    json_array_clear(l->news);
    if (!l->lags)
        lab_tell_as_of(l);
}

#endif
