/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/world.h"

#include <stdlib.h>

#include "common/mem.h"

static void
profile_free(void *record)
{
    struct world_profile *p = record;

    profile_fini(&p->spec);
    free(p->version);
    free(p);
}

static void
inventory_free(void *record)
{
    struct world_inventory *v = record;

    inventory_fini(&v->spec);
    arena_fini(&v->arena);
    free(v);
}

static void
rack_free(void *record)
{
    struct world_rack *r = record;

    arena_fini(&r->arena);
    free(r);
}

static void
node_free(void *record)
{
    struct world_node *n = record;

    arena_fini(&n->arena);
    free(n);
}

/* Each reads a record; NULL and err if the body is not one. *name is its key
 * and lives in it. */
static void *
profile_read(const struct value *body, const char **name, struct err *err)
{
    struct world_profile *p = mem_zalloc(sizeof(*p));
    struct object_profile o;
    struct arena arena = {0};
    int rc = object_profile_unpack(&o, body, &arena, err);

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
inventory_read(const struct value *body, const char **name, struct err *err)
{
    struct world_inventory *v = mem_zalloc(sizeof(*v));

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

static void *
rack_read(const struct value *body, const char **name, struct err *err)
{
    struct world_rack *r = mem_zalloc(sizeof(*r));

    *name = NULL;
    if (object_rack_unpack(&r->o, body, &r->arena, err) == 0) {
        *name = r->o.meta.name.s;
        return r;
    }
    rack_free(r);
    return NULL;
}

static void *
node_read(const struct value *body, const char **name, struct err *err)
{
    struct world_node *n = mem_zalloc(sizeof(*n));

    *name = NULL;
    if (object_node_unpack(&n->o, body, &n->arena, err) == 0) {
        *name = n->o.meta.name.s;
        return n;
    }
    node_free(n);
    return NULL;
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

static const struct kind {
    void *(*read)(const struct value *body, const char **name, struct err *err);
    void (*free)(void *record);
    bool *(*seen)(void *record);
    struct object_ref (*ref)(const void *record);
} kinds[KIND_COUNT] = {
    [KIND_PROFILE] = {profile_read, profile_free, profile_seen, profile_ref},
    [KIND_INVENTORY] = {inventory_read, inventory_free, inventory_seen,
                        inventory_ref},
    [KIND_RACK] = {rack_read, rack_free, rack_seen, rack_ref},
    [KIND_NODE] = {node_read, node_free, node_seen, node_ref},
};

int
world_put(struct world *world, enum object_kind kind, const struct value *body,
          struct err *err)
{
    const char *name;
    void *record = kinds[kind].read(body, &name, err);
    void *old;

    if (record == NULL)
        return err_prefix(err, "%s", object_kind_name(kind));
    *kinds[kind].seen(record) = true;
    old = map_put(&world->kinds[kind], name, record);
    if (old != NULL)
        kinds[kind].free(old);
    return 0;
}

void
world_remove(struct world *world, enum object_kind kind, struct str name,
             struct str uid)
{
    char *key = mem_dup(name.s, name.n);
    void *record = map_get(&world->kinds[kind], key);

    if (record != NULL && str_eq(kinds[kind].ref(record).uid, uid)) {
        map_remove(&world->kinds[kind], key);
        kinds[kind].free(record);
    }
    free(key);
}

void
world_sync_begin(struct world *world)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;
        void *record;

        while ((record = map_next(&world->kinds[kind], &pos)) != NULL)
            *kinds[kind].seen(record) = false;
    }
}

void
world_sync_end(struct world *world)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;
        void *record;

        while ((record = map_next(&world->kinds[kind], &pos)) != NULL) {
            if (*kinds[kind].seen(record))
                continue;
            map_remove(&world->kinds[kind], kinds[kind].ref(record).name.s);
            kinds[kind].free(record);
        }
    }
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

void
world_fini(struct world *world)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t pos = 0;
        void *record;

        while ((record = map_next(&world->kinds[kind], &pos)) != NULL)
            kinds[kind].free(record);
        map_fini(&world->kinds[kind]);
    }
}
