/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/world.h"

#include <stdlib.h>
#include <string.h>

#include "common/api.h"
#include "common/assignment.h"
#include "common/mem.h"

enum { NODE_TEXTS = 5 };

static void
profile_free(struct world *world, void *record)
{
    struct world_profile *p = record;

    (void)world;
    profile_fini(&p->spec);
    free(p->version);
    free(p);
}

static void
inventory_free(struct world *world, void *record)
{
    struct world_inventory *v = record;

    (void)world;
    inventory_fini(&v->spec);
    arena_fini(&v->arena);
    free(v);
}

static void
rack_free(struct world *world, void *record)
{
    struct world_rack *r = record;

    (void)world;
    arena_fini(&r->arena);
    free(r);
}

static void
node_free(struct world *world, void *record)
{
    struct world_node *n = record;

    pool_let_go(&world->labels, n->o.meta.labels);
    pool_let_go_value(&world->labels, n->head);
    arena_fini(&n->arena);
    free(n);
}

/* Each reads a record; NULL and err if the body is not one. *name is its key
 * and lives in it. */
static void *
profile_read(struct world *world, const struct value *body, const char **name,
             struct err *err)
{
    struct world_profile *p = mem_zalloc(sizeof(*p));
    struct object_profile o;
    struct arena arena = {0};
    int rc = object_profile_unpack(&o, body, &arena, err);

    (void)world;
    if (rc == 0) {
        p->version = mem_strdup(o.meta.version.s);
        profile_compile(&p->spec, &o.meta, o.spec);
        *name = p->spec.name;
    }
    arena_fini(&arena);
    if (rc == 0)
        return p;
    free(p);
    return NULL;
}

static void *
inventory_read(struct world *world, const struct value *body, const char **name,
               struct err *err)
{
    struct world_inventory *v = mem_zalloc(sizeof(*v));

    (void)world;
    if (object_inventory_unpack(&v->o, body, &v->arena, err) != 0) {
        arena_fini(&v->arena);
        free(v);
        return NULL;
    }
    inventory_compile(&v->spec, &v->o.meta, v->o.spec);
    v->o.spec = NULL;
    *name = v->o.meta.name.s;
    return v;
}

/* Racks are many, and read twice: the first time tells how much memory one
 * needs. */
static void *
rack_read(struct world *world, const struct value *body, const char **name,
          struct err *err)
{
    struct world_rack *r = mem_zalloc(sizeof(*r));
    struct arena draft = {0};
    int rc = object_rack_unpack(&r->o, body, &draft, err);

    (void)world;
    if (rc == 0) {
        arena_reserve(&r->arena, arena_used(&draft));
        rc = object_rack_unpack(&r->o, body, &r->arena, err);
    }
    arena_fini(&draft);
    if (rc == 0) {
        *name = r->o.meta.name.s;
        return r;
    }
    rack_free(world, r);
    return NULL;
}

/* What is kept of a Node as texts of its own. */
static void
node_texts(struct object_node *o, struct str *texts[NODE_TEXTS])
{
    struct str *const all[NODE_TEXTS] = {&o->meta.name, &o->meta.uid,
                                         &o->meta.version, &o->annotation,
                                         &o->rivals};

    memcpy(texts, all, sizeof(all));
}

/* A place for these texts, and room for the labels. */
static void
node_reserve(struct arena *arena, struct str *const texts[NODE_TEXTS],
             size_t room)
{
    size_t size = arena_round(room);

    for (size_t i = 0; i < NODE_TEXTS; i++)
        size += texts[i]->n + 1;
    arena_reserve(arena, size);
}

/* Takes what unpacking gave: to memory of its own, and to the pool. */
static void
node_keep(struct world *world, struct world_node *n,
          const struct object_node *from)
{
    struct str *texts[NODE_TEXTS];
    struct pairs labels = from->meta.labels;
    size_t room = pool_room(labels, from->meta.name);
    struct str head = assignment_head(from->annotation);

    n->o = *from;
    n->o.annotation = str_after(from->annotation, head.n);
    n->head = pool_keep_value(&world->labels, STR(ANNOTATION_ASSIGNMENT), head);
    node_texts(&n->o, texts);
    node_reserve(&n->arena, texts, room);
    for (size_t i = 0; i < NODE_TEXTS; i++)
        *texts[i] = arena_str(&n->arena, *texts[i]);
    if (n->head != NULL)
        n->o.shared = n->head->value;
    n->o.meta.labels = pool_keep(&world->labels, labels, n->o.meta.name,
                                 arena_alloc(&n->arena, room));
}

static void *
node_read(struct world *world, const struct value *body, const char **name,
          struct err *err)
{
    struct world_node *n = NULL;
    struct arena draft = {0};
    struct object_node o;

    if (object_node_unpack(&o, body, &draft, err) == 0) {
        n = mem_zalloc(sizeof(*n));
        node_keep(world, n, &o);
        *name = n->o.meta.name.s;
    }
    arena_fini(&draft);
    return n;
}

static bool *
profile_seen(void *record)
{
    return &((struct world_profile *)record)->seen;
}

static bool *
inventory_seen(void *record)
{
    return &((struct world_inventory *)record)->seen;
}

static bool *
rack_seen(void *record)
{
    return &((struct world_rack *)record)->seen;
}

static bool *
node_seen(void *record)
{
    return &((struct world_node *)record)->seen;
}

static struct object_ref
profile_ref(const void *record)
{
    const struct world_profile *p = record;

    return (struct object_ref){str_of(p->spec.name), str_of(p->spec.uid)};
}

static struct object_ref
inventory_ref(const void *record)
{
    const struct world_inventory *v = record;

    return (struct object_ref){v->o.meta.name, v->o.meta.uid};
}

static struct object_ref
rack_ref(const void *record)
{
    const struct world_rack *r = record;

    return (struct object_ref){r->o.meta.name, r->o.meta.uid};
}

static struct object_ref
node_ref(const void *record)
{
    const struct world_node *n = record;

    return (struct object_ref){n->o.meta.name, n->o.meta.uid};
}

/* Each swaps the contents of two records, so that the old one holds the news
 * at its address and the new one what is to be freed. */
static void
profile_swap(void *a, void *b)
{
    struct world_profile *x = a;
    struct world_profile *y = b;
    struct world_profile old = *x;

    *x = *y;
    *y = old;
    if (x->spec.generation == y->spec.generation &&
        strcmp(x->spec.uid, y->spec.uid) == 0) {
        struct profile spec = x->spec;

        x->spec = y->spec;
        y->spec = spec;
    }
}

static void
inventory_swap(void *a, void *b)
{
    struct world_inventory *x = a;
    struct world_inventory *y = b;
    struct world_inventory old = *x;

    *x = *y;
    *y = old;
    if (x->o.meta.generation == y->o.meta.generation &&
        str_eq(x->o.meta.uid, y->o.meta.uid)) {
        struct inventory spec = x->spec;

        x->spec = y->spec;
        y->spec = spec;
    }
}

static void
rack_swap(void *a, void *b)
{
    struct world_rack old = *(struct world_rack *)a;

    *(struct world_rack *)a = *(struct world_rack *)b;
    *(struct world_rack *)b = old;
}

static void
node_swap(void *a, void *b)
{
    struct world_node old = *(struct world_node *)a;

    *(struct world_node *)a = *(struct world_node *)b;
    *(struct world_node *)b = old;
}

static const struct kind {
    void *(*read)(struct world *world, const struct value *body,
                  const char **name, struct err *err);
    void (*free)(struct world *world, void *record);
    bool *(*seen)(void *record);
    struct object_ref (*ref)(const void *record);
    void (*swap)(void *a, void *b);
} kinds[KIND_COUNT] = {
    [KIND_PROFILE] = {profile_read, profile_free, profile_seen, profile_ref,
                      profile_swap},
    [KIND_INVENTORY] = {inventory_read, inventory_free, inventory_seen,
                        inventory_ref, inventory_swap},
    [KIND_RACK] = {rack_read, rack_free, rack_seen, rack_ref, rack_swap},
    [KIND_NODE] = {node_read, node_free, node_seen, node_ref, node_swap},
};

void *
world_read(struct world *world, enum object_kind kind, const struct value *body,
           const char **name, struct err *err)
{
    void *record = kinds[kind].read(world, body, name, err);

    if (record == NULL)
        err_prefix(err, "%s", object_kind_name(kind));
    return record;
}

void
world_put(struct world *world, enum object_kind kind, const char *name,
          void *record)
{
    void *old = map_get(&world->kinds[kind], name);

    if (old == NULL) {
        *kinds[kind].seen(record) = true;
        map_put(&world->kinds[kind], name, record);
        return;
    }
    kinds[kind].swap(old, record);
    *kinds[kind].seen(old) = true;
    /* The key is borrowed from the record, and the text moved. */
    map_put(&world->kinds[kind], kinds[kind].ref(old).name.s, old);
    kinds[kind].free(world, record);
}

struct object_ref
world_ref(enum object_kind kind, const void *record)
{
    return kinds[kind].ref(record);
}

void
world_remove(struct world *world, enum object_kind kind, const char *name)
{
    void *record = map_remove(&world->kinds[kind], name);

    if (record != NULL)
        kinds[kind].free(world, record);
}

void
world_unsee(struct world *world)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;
        void *record;

        while ((record = map_next(&world->kinds[kind], &pos)) != NULL)
            *kinds[kind].seen(record) = false;
    }
}

bool
world_seen(enum object_kind kind, void *record)
{
    return *kinds[kind].seen(record);
}

const struct world_profile *
world_profile(const struct world *world, const char *name)
{
    return map_get(&world->kinds[KIND_PROFILE], name);
}

const struct world_inventory *
world_inventory(const struct world *world, const char *name)
{
    return map_get(&world->kinds[KIND_INVENTORY], name);
}

const struct world_rack *
world_rack(const struct world *world, const char *name)
{
    return map_get(&world->kinds[KIND_RACK], name);
}

const struct world_node *
world_node(const struct world *world, const char *name)
{
    return map_get(&world->kinds[KIND_NODE], name);
}

const struct world_node *
world_node_exact(const struct world *world, const struct object_ref *ref)
{
    const struct world_node *node = world_node(world, ref->name.s);

    return node != NULL && str_eq(node->o.meta.uid, ref->uid) ? node : NULL;
}

bool
world_has_finalizer(const struct world_inventory *v)
{
    for (size_t i = 0; i < v->o.finalizers.count; i++)
        if (str_is(v->o.finalizers.items[i], FINALIZER_INVENTORY))
            return true;
    return false;
}

void
world_fini(struct world *world)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;
        void *record;

        while ((record = map_next(&world->kinds[kind], &pos)) != NULL)
            kinds[kind].free(world, record);
        map_fini(&world->kinds[kind]);
    }
    pool_fini(&world->labels);
}
