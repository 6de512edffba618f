/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PLACER_SIM_H
#define TESTS_UNIT_PLACER_SIM_H

/*
 * For tests only: a placer that leads, and around it the test as its feed and
 * its projector.  What it says is kept until sim_forget.  Include after
 * cmocka.h.
 */
#include <inttypes.h>

#include "common/api.h"
#include "common/log.h"
#include "placer/placer.h"
#include "placer/project.h"
#include "proto/frame.h"
#include "proto/pack.h"
#include "tests/unit/json_value.h"

struct sim_said {
    uint16_t type;
    uint32_t id;
    char *name; /* of the object; "" for PLAN_BEGIN and PLAN_END */
    struct buf body;
};

struct sim {
    struct placer p;
    struct sim_said *said;
    size_t count, room;
    int version; /* of the newest object */
    struct arena arena;
};

/* For log_hand_to: what is logged is not what the test is about. */
static UNUSED void
sim_quiet(void *arg, enum log_level level, const char *msg,
          const struct log_field *fields)
{
    (void)arg;
    (void)level;
    (void)msg;
    (void)fields;
}

static UNUSED void
sim_hear(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct sim *s = arg;
    struct sim_said *w;
    struct unpacked *u = body.n == 0 ? NULL : unpack_body(body, NULL);
    const struct value *root = u == NULL ? NULL : unpacked_root(u);
    struct str name = {NULL, 0};

    if (s->count == s->room) {
        s->room = s->room == 0 ? 64 : s->room * 2;
        s->said = mem_resize(s->said, s->room, sizeof(*s->said));
    }
    w = &s->said[s->count++];
    if (type == MSG_WITHDRAW)
        assert_true(value_str(value_at(root, 1), &name));
    else if (type != MSG_PLAN_BEGIN && type != MSG_PLAN_END)
        assert_true(value_str(value_at(value_at(root, 0), 0), &name));
    *w = (struct sim_said){
        .type = type, .id = id, .name = mem_dup(name.s, name.n)};
    buf_adds(&w->body, body);
    unpacked_free(u);
}

static UNUSED void
sim_forget(struct sim *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->said[i].name);
        buf_fini(&s->said[i].body);
    }
    s->count = 0;
}

/* One frame to it; body is given back. */
static UNUSED void
sim_frame(struct sim *s, uint16_t type, uint32_t id, struct buf *body)
{
    struct unpacked *u = NULL;
    struct err err;

    if (body != NULL && (u = unpack_body(buf_str(body), &err)) == NULL)
        fail_msg("%s: %s", message_name(type), err.text);
    if (placer_frame(&s->p, type, id, u == NULL ? NULL : unpacked_root(u),
                     &err) != 0)
        fail_msg("%s: %s", message_name(type), err.text);
    unpacked_free(u);
    if (body != NULL)
        buf_fini(body);
}

/* The projector's ledger is complete. */
static UNUSED void
sim_ledger(struct sim *s, int64_t number)
{
    struct buf body = {0};

    pack_array(&body, 1);
    pack_int(&body, number);
    sim_frame(s, MSG_WRITTEN_END, 0, &body);
}

static UNUSED void
sim_current(struct sim *s, uint64_t term, uint64_t ledger)
{
    struct buf body = {0};

    pack_array(&body, 2);
    pack_moment(&body, (struct moment){term, ledger});
    sim_frame(s, MSG_CURRENT, 0, &body);
}

/* A term begins, with a model that is known to be current. */
static UNUSED void
sim_term(struct sim *s, uint64_t term)
{
    sim_current(s, term, 1);
    placer_term_began(&s->p, term);
}

/* A snapshot is open; sim_synced ends it. */
static UNUSED void
sim_init(struct sim *s)
{
    *s = (struct sim){.count = 0};
    placer_init(&s->p, sim_hear, s);
    sim_term(s, 1);
    sim_ledger(s, 1);
    sim_frame(s, MSG_SYNC_BEGIN, 0, NULL);
}

static UNUSED void
sim_synced(struct sim *s)
{
    sim_frame(s, MSG_SYNC_END, 0, NULL);
}

static UNUSED void
sim_batch(struct sim *s)
{
    sim_frame(s, MSG_BATCH_END, 0, NULL);
}

static UNUSED void
sim_fini(struct sim *s)
{
    placer_fini(&s->p);
    sim_forget(s);
    free(s->said);
    arena_fini(&s->arena);
}

/* How often an intent of that type was said for an object (NULL: any). */
static UNUSED size_t
sim_said(const struct sim *s, uint16_t type, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        n += s->said[i].type == type &&
             (name == NULL || strcmp(s->said[i].name, name) == 0);
    return n;
}

/* The last of them, or a failure. */
static UNUSED const struct sim_said *
sim_last(const struct sim *s, uint16_t type, const char *name)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->said[i].type == type && strcmp(s->said[i].name, name) == 0)
            return &s->said[i];
    fail_msg("no %s for %s", message_name(type), name);
    return NULL;
}

/* The spec that was last wanted of a rack, to be freed. */
static UNUSED char *
sim_spec(const struct sim *s, const char *rack)
{
    const struct sim_said *w = sim_last(s, MSG_RACK_WRITE, rack);
    struct unpacked *u = unpack_body(buf_str(&w->body), NULL);
    struct arena arena = {0};
    struct intent_rack i;
    char *spec;

    assert_int_equal(intent_rack_unpack(&i, unpacked_root(u), &arena, NULL), 0);
    spec = mem_strdup(i.spec.s);
    unpacked_free(u);
    arena_fini(&arena);
    return spec;
}

static UNUSED struct str
sim_version(struct sim *s)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", ++s->version);
    return arena_str(&s->arena, str_of(text));
}

static UNUSED void
sim_result(struct sim *s, const struct sim_said *w, enum action action,
           enum outcome outcome)
{
    struct buf body = {0};

    result_pack(&body, &(struct result){.action = action,
                                        .outcome = outcome,
                                        .name = str_of(w->name),
                                        .version = sim_version(s)});
    sim_frame(s, MSG_RESULT, w->id, &body);
}

/* Every Node that is to be looked at is as the feed shows it, and clean. */
static UNUSED void
sim_looked(struct sim *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct buf body = {0};

        if (s->said[i].type != MSG_NODE_APPLY)
            continue;
        result_pack(&body, &(struct result){.action = ACTION_NODE,
                                            .outcome = OUTCOME_DONE,
                                            .name = str_of(s->said[i].name),
                                            .version = STR("1")});
        sim_frame(s, MSG_RESULT, s->said[i].id, &body);
    }
}

/* ---- objects ----------------------------------------------------------- */

/* "{...nodesPerRack Nodes of one GPU...}", to be freed. */
static UNUSED char *
sim_profile_spec(int nodes_per_rack)
{
    return mem_printf(
        "{\"rack\":{\"nodesPerRack\":%d},\"node\":{\"gpus\":{\"count\":1,"
        "\"model\":{},\"memory\":{\"capacity\":\"1Gi\"},\"pci\":{}},"
        "\"topology\":{\"gpuSlots\":[{\"index\":0,"
        "\"pciAddress\":\"0000:01:00.0\",\"rootComplex\":\"pci0000:00\"}]}}}",
        nodes_per_rack);
}

static UNUSED void
sim_profile_text(struct sim *s, const char *name, int64_t generation,
                 const char *spec)
{
    struct object_profile o = {
        .meta = {.name = str_of(name),
                 .uid = STR("profile-uid"),
                 .version = sim_version(s),
                 .generation = generation},
    };
    json_t *json = json_text(spec);
    struct buf packed = {0};
    struct buf body = {0};

    pack_json(&packed, json);
    object_profile_pack(&body, &o, buf_str(&packed));
    sim_frame(s, MSG_PROFILE, 0, &body);
    buf_fini(&packed);
    json_decref(json);
}

static UNUSED void
sim_profile(struct sim *s, const char *name, int64_t generation,
            int nodes_per_rack)
{
    char *spec = sim_profile_spec(nodes_per_rack);

    sim_profile_text(s, name, generation, spec);
    free(spec);
}

/* Its uid is its name with "-uid", unless another is given. */
struct sim_inventory {
    const char *name, *uid;
    const char *groups; /* JSON */
    int64_t created, generation;
    bool deleting;
    bool bare; /* without our finalizer */
};

static UNUSED struct object_ref
sim_ref(struct sim *s, const char *name)
{
    char uid[80];

    snprintf(uid, sizeof(uid), "%s-uid", name);
    return (struct object_ref){arena_str(&s->arena, str_of(name)),
                               arena_str(&s->arena, str_of(uid))};
}

static UNUSED void
sim_inventory(struct sim *s, const struct sim_inventory *v)
{
    static const struct str finalizers[] = {STR(FINALIZER_INVENTORY)};
    struct object_ref ref = sim_ref(s, v->name);
    struct object_inventory o = {
        .meta = {.name = ref.name,
                 .uid = v->uid != NULL ? str_of(v->uid) : ref.uid,
                 .version = sim_version(s),
                 .generation = v->generation,
                 .created = v->created,
                 .deleting = v->deleting},
        .finalizers = {finalizers, !v->bare},
        .status.fields = STR("{}"),
    };
    char *spec = mem_printf("{\"rackGroups\":%s}", v->groups);
    json_t *json = json_text(spec);
    struct buf packed = {0};
    struct buf body = {0};

    pack_json(&packed, json);
    object_inventory_pack(&body, &o, buf_str(&packed));
    sim_frame(s, MSG_INVENTORY, 0, &body);
    buf_fini(&packed);
    json_decref(json);
    free(spec);
}

/* Eligible, and with the label pool=POOL unless that is NULL. Its uid is its
 * name with "-uid". assignment is what it carries, or NULL. */
struct sim_node {
    const char *name, *pool, *assignment, *clique;
    int64_t created;
};

static UNUSED void
sim_node(struct sim *s, const struct sim_node *n)
{
    struct pair labels[4] = {{STR(LABEL_ELIGIBLE), STR(LABEL_TRUE)}};
    struct object_ref ref = sim_ref(s, n->name);
    struct object_node o = {
        .meta = {.name = ref.name,
                 .uid = ref.uid,
                 .version = sim_version(s),
                 .created = n->created},
    };
    struct buf body = {0};
    size_t count = 1;

    if (n->pool != NULL)
        labels[count++] = (struct pair){STR("pool"), str_of(n->pool)};
    if (n->assignment != NULL) {
        labels[count++] = (struct pair){STR(LABEL_ASSIGNED), STR(LABEL_TRUE)};
        labels[count++] = (struct pair){STR(LABEL_CLIQUE), str_of(n->clique)};
        o.annotation = str_of(n->assignment);
        o.ours = KEY_ALL;
    }
    pairs_sort(labels, count);
    o.meta.labels = (struct pairs){labels, count, NULL};
    object_node_pack(&body, &o);
    sim_frame(s, MSG_NODE, 0, &body);
}

/*
 * A rack as the control plane writes it, but for what is told.  name NULL: the
 * one of its coordinate.  Slot i is bound to the Node nodes[i], unless NULL.
 */
struct sim_rack {
    const char *inventory, *group, *name;
    int64_t index;
    int slots;
    const char *nodes[4];
    const char *const *more; /* instead of nodes, one for each slot */
    const char *owner;       /* name of another inventory that controls it */
    bool deleting;
    bool bare;            /* without labels and annotations */
    const char *digest;   /* of its spec; NULL: some other */
    const char *revision; /* of its profile; NULL: some other */
};

/* Its name, which lives as long as the simulation. */
static UNUSED const char *
sim_rack(struct sim *s, const struct sim_rack *r)
{
    static const struct str finalizers[] = {STR(FINALIZER_RACK)};
    struct object_ref inventory = sim_ref(s, r->inventory);
    struct object_ref owner_ref =
        sim_ref(s, r->owner == NULL ? r->inventory : r->owner);
    struct object_owner owner = {
        .api_version = STR(API_GROUP_VERSION),
        .kind = STR(API_INVENTORY),
        .name = owner_ref.name,
        .uid = owner_ref.uid,
        .controller = 1,
        .block = 0,
    };
    struct object_slot *slots =
        mem_zalloc((size_t)r->slots * sizeof(struct object_slot));
    char canonical[IDENTITY_NAME_MAX];
    char fabric[IDENTITY_UUID];
    char index[24];
    struct pair labels[] = {{STR(LABEL_INVENTORY), inventory.name},
                            {STR(LABEL_GROUP), str_of(r->group)},
                            {STR(LABEL_INDEX), {NULL, 0}}};
    struct pair annotation = {STR(ANNOTATION_INVENTORY_UID), inventory.uid};
    struct object_rack o;
    struct buf body = {0};

    identity_rack_name(inventory.name, inventory.uid, str_of(r->group),
                       (uint32_t)r->index, canonical);
    identity_fabric(inventory.uid, str_of(r->group), (uint32_t)r->index,
                    fabric);
    snprintf(index, sizeof(index), "%" PRId64, r->index);
    labels[2].value = str_of(index);
    pairs_sort(labels, nitems(labels));
    for (int i = 0; i < r->slots; i++) {
        const char *node = r->more != NULL ? r->more[i]
                           : i < 4         ? r->nodes[i]
                                           : NULL;

        slots[i] = (struct object_slot){.index = i, .gpus = 1};
        if (node != NULL)
            slots[i].node = sim_ref(s, node);
    }
    o = (struct object_rack){
        .meta = {.name = str_of(r->name != NULL ? r->name : canonical),
                 .uid = str_of(r->name != NULL ? r->name : canonical),
                 .version = sim_version(s),
                 .generation = 1,
                 .deleting = r->deleting,
                 .labels = {labels, r->bare ? 0 : nitems(labels), NULL}},
        .annotations = {&annotation, !r->bare, NULL},
        .finalizers = {finalizers, 1},
        .owners = {&owner, 1},
        .inventory = inventory,
        .profile = {STR("p"), STR("profile-uid")},
        .profile_generation = 1,
        .revision = r->revision == NULL ? STR("r") : str_of(r->revision),
        .group = str_of(r->group),
        .index = r->index,
        .fabric = str_of(fabric),
        .slots = slots,
        .slot_count = (size_t)r->slots,
        .managed = true,
        .spec_ours = true,
        .digest = r->digest == NULL ? STR("other") : str_of(r->digest),
        .status.fields = STR("{}"),
    };
    object_rack_pack(&body, &o);
    sim_frame(s, MSG_RACK, 0, &body);
    free(slots);
    return arena_str(&s->arena, o.meta.name).s;
}

static UNUSED void
sim_gone(struct sim *s, enum object_kind kind, const char *name,
         const char *uid)
{
    struct buf body = {0};

    pack_array(&body, 3);
    pack_int(&body, kind);
    pack_text(&body, name);
    pack_text(&body, uid);
    sim_frame(s, MSG_GONE, 0, &body);
}

/* Group id of an inventory's plan, or a failure. */
static UNUSED const struct plan_group *
sim_group(struct sim *s, const char *inventory, const char *id)
{
    for (size_t i = 0; i < s->p.plan.inventory_count; i++) {
        const struct plan_inventory *v = &s->p.plan.inventories[i];

        for (size_t j = 0; j < v->group_count; j++)
            if (str_is(plan_ref(v).name, inventory) &&
                str_is(v->groups[j].spec->id, id))
                return &v->groups[j];
    }
    fail_msg("no group %s of %s", id, inventory);
    return NULL;
}

/* The digest of a rack of that group as it is to be. */
static UNUSED void
sim_digest(struct sim *s, const char *inventory, const char *id, int64_t index,
           char digest[RACK_DIGEST])
{
    const struct plan_group *g = sim_group(s, inventory, id);
    const struct rack_input in = {
        .inventory = plan_ref(g->inventory),
        .group = g->spec->id,
        .index = index,
        .count = g->spec->count,
        .profile = g->profile,
    };
    struct rack_facts facts;
    struct err err;

    if (rack_render(&facts, NULL, &in, NULL, &err) != 0)
        fail_msg("%s", err.text);
    memcpy(digest, facts.digest, RACK_DIGEST);
}

static UNUSED const struct plan_inventory *
sim_plan(struct sim *s, const char *inventory)
{
    for (size_t i = 0; i < s->p.plan.inventory_count; i++)
        if (str_is(plan_ref(&s->p.plan.inventories[i]).name, inventory))
            return &s->p.plan.inventories[i];
    fail_msg("no inventory %s", inventory);
    return NULL;
}

/* Its condition of that type, as last said: "Status Reason". */
static UNUSED char *
sim_condition(struct sim *s, const char *inventory, const char *type)
{
    const struct sim_said *w = NULL;
    struct intent_status i;
    struct arena arena = {0};
    struct unpacked *u;
    char *found = NULL;

    for (size_t n = 0; n < s->count; n++)
        if (s->said[n].type == MSG_STATUS_WRITE &&
            strcmp(s->said[n].name, inventory) == 0)
            w = &s->said[n];
    if (w == NULL)
        fail_msg("no status of %s", inventory);
    u = unpack_body(buf_str(&w->body), NULL);
    assert_int_equal(intent_status_unpack(&i, unpacked_root(u), &arena, NULL),
                     0);
    for (size_t n = 0; n < i.status.conditions.count; n++) {
        const struct condition *c = &i.status.conditions.items[n];

        if (str_is(c->type, type))
            found = mem_printf("%s %s", c->status.s, c->reason.s);
    }
    unpacked_free(u);
    arena_fini(&arena);
    return found;
}

#define assert_condition(sim, inventory, type, wanted)                         \
    do {                                                                       \
        char *condition_ = sim_condition(sim, inventory, type);                \
                                                                               \
        assert_string_equal(condition_, wanted);                               \
        free(condition_);                                                      \
    } while (0)

#endif
