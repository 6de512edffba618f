/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/json.h"
#include "common/map.h"
#include "common/mem.h"
#include "informer/resource.h"
#include "supervisor/mokkactl/applied.h"
#include "supervisor/mokkactl/defaults.h"
#include "supervisor/mokkactl/managed.h"
#include "supervisor/mokkactl/node_wire.h"

struct cluster {
    unsigned keep;                 /* CLUSTER_... */
    struct map names[SHELF_COUNT]; /* struct stored that are there */
    struct map uids;
    struct map left[SHELF_COUNT];     /* the last that is gone, by name */
    struct stored **all[SHELF_COUNT]; /* in the order in which they came */
    size_t count[SHELF_COUNT], room[SHELF_COUNT];
    uint64_t version;  /* the last one given out or seen */
    struct map shapes; /* texts */
    struct map files;  /* their names */
    struct store *store;
    struct feed *feed; /* NULL: not open */
    size_t adopted, given;
};

static const char *const shelf_kinds[SHELF_COUNT] = {
    [KIND_PROFILE] = "SGPURackProfile",
    [KIND_INVENTORY] = "SGPUInventory",
    [KIND_RACK] = "SGPURack",
    [KIND_NODE] = "Node",
    [SHELF_POLICY] = "SGPURuntimePolicy",
};

static void
touched(void *arg, const struct store_touch *touch)
{
    struct cluster *c = arg;

    if (c->feed != NULL)
        feed_mark(c->feed, touch);
}

struct cluster *
cluster_new(unsigned keep)
{
    struct cluster *c = mem_zalloc(sizeof(*c));

    c->keep = keep;
    c->store = store_new(touched, c);
    return c;
}

static void
forget_texts(struct map *texts)
{
    size_t pos = 0;
    char *text;

    while ((text = map_next(texts, &pos)) != NULL)
        free(text);
    map_fini(texts);
}

/* The text as one that lives as long as its map. */
static const char *
keep_text(struct map *texts, const char *text)
{
    char *copy = map_get(texts, text);

    if (copy == NULL) {
        copy = mem_strdup(text);
        map_put(texts, copy, copy);
    }
    return copy;
}

void
cluster_free(struct cluster *c)
{
    if (c == NULL)
        return;
    feed_free(c->feed);
    store_free(c->store);
    for (unsigned shelf = 0; shelf < SHELF_COUNT; shelf++) {
        for (size_t i = 0; i < c->count[shelf]; i++)
            stored_free(c->all[shelf][i]);
        free(c->all[shelf]);
        map_fini(&c->names[shelf]);
        map_fini(&c->left[shelf]);
    }
    map_fini(&c->uids);
    forget_texts(&c->shapes);
    forget_texts(&c->files);
    free(c);
}

static unsigned
shelf_of(const struct schema *schema)
{
    unsigned shelf = 0;

    while (strcmp(shelf_kinds[shelf], schema->kind) != 0)
        shelf++;
    return shelf;
}

struct stored *
cluster_get(const struct cluster *c, unsigned shelf, const char *name)
{
    return map_get(&c->names[shelf], name);
}

struct stored *
cluster_next(const struct cluster *c, unsigned shelf, size_t *pos)
{
    return *pos < c->count[shelf] ? c->all[shelf][(*pos)++] : NULL;
}

static void
put_on_shelf(struct cluster *c, struct stored *o)
{
    unsigned shelf = o->shelf;

    if (c->count[shelf] == c->room[shelf]) {
        c->room[shelf] = c->room[shelf] == 0 ? 64 : 2 * c->room[shelf];
        c->all[shelf] =
            mem_resize(c->all[shelf], c->room[shelf], sizeof(struct stored *));
    }
    c->all[shelf][c->count[shelf]++] = o;
}

static void
put_there(struct cluster *c, struct stored *o)
{
    map_put(&c->names[o->shelf], o->name, o);
    map_put(&c->uids, o->uid, o);
}

/* ---- the informer's view ----------------------------------------------- */

/* Extracts what a Node's metadata says. */
static int
extract_metadata(struct record *record, const struct stored *o,
                 const json_t *metadata, struct buf *wire, struct arena *arena,
                 struct err *err)
{
    struct wire_object object = {0};
    struct kube_meta meta;

    if (node_wire(wire, &meta, metadata, o->ours, err) != 0)
        return -1;
    object.meta = &meta;
    return extract_node(record, &object, arena, err);
}

static int
extract_object(struct record *record, const struct stored *o,
               const json_t *tree, struct buf *wire, struct arena *arena,
               struct err *err)
{
    const struct wire_object object = {.json = tree};

    if (o->shelf == KIND_NODE)
        return extract_metadata(record, o, json_object_get(tree, "metadata"),
                                wire, arena, err);
    return resource_of((enum object_kind)o->shelf)
        ->extract(record, &object, arena, err);
}

/* As the informer's intake does: held to the selector, then kept. */
static int
take_in(struct cluster *c, const struct record *record, struct err *err)
{
    const struct resource_row *row = resource_of(record->kind);

    if (!resource_selects(row, record->meta.labels)) {
        store_remove(c->store, record->kind, record->meta.name,
                     record->meta.uid);
        return 0;
    }
    return store_put(c->store, record, err) == STORE_REFUSED ? -1 : 0;
}

/* Shows the object to the informer. A rack's tree may be without its spec. */
static int
publish(struct cluster *c, struct stored *o, const json_t *tree,
        struct err *err)
{
    struct arena arena = {0};
    struct buf wire = {0};
    struct record record;
    int rc;

    if (o->shelf >= KIND_COUNT)
        return 0;
    rc = extract_object(&record, o, tree, &wire, &arena, err);
    if (rc == 0 && o->shelf == KIND_RACK) {
        if (json_object_get(tree, "spec") != NULL)
            stored_keep_rack(o, &record.rack);
        else
            stored_graft_rack(o, &record.rack);
    }
    if (rc == 0)
        rc = take_in(c, &record, err);
    buf_fini(&wire);
    arena_fini(&arena);
    return rc;
}

/* ---- objects that are given -------------------------------------------- */

static int
check_twins(const struct cluster *c, unsigned shelf, const char *name,
            const char *uid, struct err *err)
{
    const struct stored *twin = map_get(&c->names[shelf], name);
    const char *what = "the same object";

    if (twin == NULL) {
        twin = map_get(&c->uids, uid);
        what = "an object with this uid";
    }
    if (twin == NULL)
        return 0;
    if (twin->read)
        return err_set(err, "%s is in the cluster: %s %s", what,
                       twin->schema->kind, twin->name);
    return err_set(err,
                   "%s was given already: %s %s in %s:%zu; take one of them "
                   "out",
                   what, twin->schema->kind, twin->name, twin->file,
                   twin->line);
}

static void
see_version(struct cluster *c, const json_t *metadata)
{
    uint64_t version =
        strtoull(kube_json_text(metadata, "resourceVersion"), NULL, 10);

    if (version > c->version)
        c->version = version;
}

/* A Node without managedFields that carries an assignment: nobody else writes
 * that, so it is taken as ours. */
static void
adopt(struct cluster *c, struct stored *o, const json_t *metadata)
{
    int present = managed_present(metadata);

    if (o->shelf != KIND_NODE || o->managed || !(present & KEY_ANNOTATION))
        return;
    o->ours = present;
    c->adopted++;
}

static void
fill_given(struct cluster *c, struct stored *o, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");

    o->managed =
        json_array_size(json_object_get(metadata, "managedFields")) > 0;
    o->brief = o->shelf == KIND_NODE && !(c->keep & CLUSTER_BEFORE);
    adopt(c, o, metadata);
    for (enum part part = 0; part < PARTS; part++)
        if (part == PART_METADATA || o->shelf != KIND_NODE ||
            (c->keep & CLUSTER_WHOLE))
            stored_set_tree(o, part, json_object_get(object, part_name(part)));
    stored_settle(o);
}

/* What it is, where that stands, and that the informer sees it. */
static int
take_given(struct cluster *c, struct stored *o, json_t *object,
           const struct place *place, struct err *err)
{
    fill_given(c, o, object);
    o->file = keep_text(&c->files, place->file);
    o->line = place->line;
    return publish(c, o, object, err);
}

static int
add_new(struct cluster *c, const struct schema *schema, json_t *object,
        bool read, const struct place *place, struct err *err)
{
    json_t *metadata = json_object_get(object, "metadata");
    unsigned shelf = shelf_of(schema);
    const char *name, *uid;
    struct stored *o;

    default_metadata(object, schema);
    name = kube_json_text(metadata, "name");
    uid = kube_json_text(metadata, "uid");
    if (check_twins(c, shelf, name, uid, err) != 0)
        return -1;
    o = stored_new(schema, shelf, name, uid);
    o->read = read;
    if (take_given(c, o, object, place, err) != 0) {
        stored_free(o);
        return -1;
    }
    see_version(c, metadata);
    put_on_shelf(c, o);
    put_there(c, o);
    c->given++;
    return 0;
}

/* A file's object in the place of the server's. */
static int
replace(struct cluster *c, struct stored *o, json_t *object,
        const struct place *place, struct err *err)
{
    if (applied(object, o, err) != 0)
        return -1;
    c->adopted -= o->ours != 0;
    o->ours = 0;
    o->read = false;
    stored_forget_rack(o);
    return take_given(c, o, object, place, err);
}

int
cluster_add(struct cluster *c, const struct schema *schema, json_t *object,
            const struct place *place, struct err *err)
{
    struct stored *standing = cluster_get(
        c, shelf_of(schema), kube_json_text(object, "metadata.name"));

    if (standing != NULL && standing->read)
        return replace(c, standing, object, place, err);
    return add_new(c, schema, object, false, place, err);
}

int
cluster_add_read(struct cluster *c, const struct schema *schema, json_t *object,
                 const struct place *place, struct err *err)
{
    return add_new(c, schema, object, true, place, err);
}

/* ---- writes ------------------------------------------------------------ */

struct stored *
cluster_make(struct cluster *c, unsigned shelf, const char *name)
{
    const struct stored *left = map_get(&c->left[shelf], name);
    unsigned again = left == NULL ? 0 : left->again + 1;
    char uid[DEFAULT_UID];
    struct stored *o;

    default_uid(shelf_kinds[shelf], name, again, uid);
    o = stored_new(schema_of(shelf_kinds[shelf]), shelf, name, uid);
    o->again = again;
    return o;
}

static bool
leaves(const json_t *metadata)
{
    return json_object_get(metadata, "deletionTimestamp") != NULL &&
           json_array_size(json_object_get(metadata, "finalizers")) == 0;
}

void
cluster_remove(struct cluster *c, struct stored *o)
{
    o->gone = true;
    map_remove(&c->names[o->shelf], o->name);
    map_remove(&c->uids, o->uid);
    map_put(&c->left[o->shelf], o->name, o);
    if (o->shelf < KIND_COUNT)
        store_remove(c->store, (enum object_kind)o->shelf, str_of(o->name),
                     str_of(o->uid));
}

/* What a rack's spec says is known unless it has just changed; a Node's tells
 * nothing. */
static bool
needs_spec(const struct stored *o)
{
    return o->shelf != KIND_NODE && (o->shelf != KIND_RACK || o->rack == NULL);
}

static int
show(struct cluster *c, struct stored *o, json_t *metadata, json_t *spec,
     struct err *err)
{
    json_t *tree = json_object();
    json_t *status = stored_tree(o, PART_STATUS);
    int rc;

    json_object_set(tree, "metadata", metadata);
    if (needs_spec(o))
        json_object_set_new(tree, "spec",
                            spec != NULL ? json_incref(spec)
                                         : stored_tree(o, PART_SPEC));
    if (status != NULL)
        json_object_set_new(tree, "status", status);
    rc = publish(c, o, tree, err);
    json_decref(tree);
    return rc;
}

int
cluster_commit(struct cluster *c, struct stored *o, json_t *metadata,
               json_t *spec, struct err *err)
{
    bool is_new = o->writes++ == 0 && o->file == NULL;
    char version[24];
    int rc = 0;

    snprintf(version, sizeof(version), "%" PRIu64, ++c->version);
    json_object_set_new(metadata, "resourceVersion", json_string(version));
    stored_set_tree(o, PART_METADATA, metadata);
    if (is_new)
        put_on_shelf(c, o);
    if (!is_new && leaves(metadata))
        cluster_remove(c, o);
    else
        rc = show(c, o, metadata, spec, err);
    if (is_new && rc == 0)
        put_there(c, o);
    else if (is_new)
        o->gone = true;
    return rc;
}

bool
cluster_knows_shape(const struct cluster *c, const char *shape)
{
    return map_get(&c->shapes, shape) != NULL;
}

void
cluster_learn_shape(struct cluster *c, const char *shape)
{
    keep_text(&c->shapes, shape);
}

/* ---- the feed ---------------------------------------------------------- */

const struct store_entry *
cluster_entry(const struct cluster *c, enum object_kind kind, const char *name)
{
    return store_get(c->store, kind, name);
}

const struct store *
cluster_store(const struct cluster *c)
{
    return c->store;
}

void
cluster_open(struct cluster *c, const struct feed_link *link)
{
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        store_end(c->store, (enum object_kind)kind, false, NULL);
    c->feed = feed_new(c->store, link);
    feed_open(c->feed, (1u << KIND_COUNT) - 1);
}

void
cluster_pump(struct cluster *c)
{
    feed_pump(c->feed);
}

size_t
cluster_adopted(const struct cluster *c)
{
    return c->adopted;
}

size_t
cluster_given(const struct cluster *c)
{
    return c->given;
}
