/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ESTATE_H
#define TESTS_UNIT_ESTATE_H

/*
 * For tests only: all that is around a placer, in memory and one step at a
 * time.  An API server that keeps objects and judges every write, an informer
 * that shows them late, a projector that carries out intents, and the links
 * between them, which hold packed frames and lose them when one end dies.
 * Whoever drives it decides what happens next; estate_calm lets everything
 * happen.  Include after cmocka.h.
 */
#include <sha2.h>

#include "common/api.h"
#include "common/assignment.h"
#include "common/cleanup.h"
#include "placer/placer.h"
#include "proto/frame.h"
#include "tests/unit/json_value.h"
#include "tests/unit/seeded.h"

#define ESTATE_GROUPS 4
#define FINALIZER_OTHER "other.example/hold"

/* ---- objects of the server ---------------------------------------------- */

/* What an inventory declares, for its spec and for counting by hand. */
struct declared_group {
    char id[16], profile[16];
    int64_t count;
    int selector; /* of estate_selectors */
};

struct declared_profile {
    int64_t nodes, gpus;
    bool broken;
};

/* An object as it is now; written anew, it is another one. */
struct object {
    struct arena arena;
    enum object_kind kind;
    union {
        struct object_meta meta;
        struct object_profile profile;
        struct object_inventory inventory;
        struct object_rack rack;
        struct object_node node;
    };
    struct str spec; /* JSON; of a rack as it was sent */
    struct declared_profile declared;
    struct declared_group groups[ESTATE_GROUPS];
    size_t group_count;
};

static const char *const estate_selectors[] = {
    NULL,
    "{\"matchLabels\":{\"pool\":\"a\"}}",
    "{\"matchLabels\":{\"pool\":\"b\"}}",
    "{\"matchExpressions\":[{\"key\":\"pool\",\"operator\":\"In\","
    "\"values\":[\"a\",\"b\"]}]}",
    "{\"matchLabels\":{\"nvidia.com/gpu.clique\":\"x\"}}", /* forbidden */
};
#define SELECTOR_FORBIDDEN 4

/* What the informer will hear; body is empty if the object left. */
struct event {
    char *name, *uid;
    char version[24];
    struct buf body;
};

struct events {
    struct event *items;
    size_t next, count, room;
};

/* ---- the other parts ----------------------------------------------------- */

struct wire_frame {
    uint16_t type;
    uint32_t id;
    struct buf body;
};

struct wire {
    struct wire_frame *items;
    size_t next, count, room;
};

/* What an informer holds and has not told yet. */
struct record {
    char *name, *uid;
    struct buf body;
};

struct mark {
    enum object_kind kind;
    bool of_sync;
    char *gone; /* the first uid that left */
    char *key;  /* digit of the kind, name */
};

enum feed_state { FEED_CLOSED, FEED_SYNCING, FEED_LIVE };

struct informer {
    struct map records[KIND_COUNT];
    char as_of[KIND_COUNT][24];
    struct map marks;
    size_t pos; /* of the next mark */
    size_t sync_left;
    bool in_batch;
    enum feed_state state;
    struct moment current; /* the last that the racks are newer than */
    struct moment telling; /* the same, to be told; term 0: nothing is */
};

/* An intent as the projector keeps it. */
struct order {
    uint16_t type;
    uint32_t id;
    struct target target; /* in the arena, as all texts */
    struct arena arena;
    union {
        struct intent_rack rack;
        struct intent_node node;
        struct intent_finalizer finalizer;
        struct intent_status status;
    };
    struct buf content; /* body with uid and version of the target left out */
};

struct answer {
    enum outcome outcome;
    char uid[24], version[24];
};

/* A request on its way, or answered and not told yet. */
enum stage { STAGE_SENT, STAGE_HALF, STAGE_ANSWERED };

struct slot {
    char *key; /* digit of the action, name */
    enum action action;
    struct order *order, *next;
    bool in_flight, orphan, emptied, named;
    bool unsure; /* had no answer, and was not carried out since */
    enum stage stage;
    struct answer answer;
    struct order *stands; /* carried out */
    bool written;
    char uid[24], version[24];
};

struct projector {
    struct map slots;
    uint64_t term; /* of the plan that is carried out */
    bool up, linked, opened;
    int64_t generation;
};

struct estate {
    struct seeded chance;
    /* The API server. */
    struct map objects[KIND_COUNT];
    struct events events[KIND_COUNT];
    int64_t version, uids, clock;
    uint64_t writes, noops, refusals; /* that changed something, nothing, 409 */
    /* Set by who drives it: what a write must be at the moment it is made. */
    void (*judge)(struct estate *e, const struct order *o);
    bool strict;           /* a write that changes nothing is a failure */
    enum object_kind slow; /* its watch lags; KIND_COUNT: none's does */
    /* The others. */
    struct informer informer;
    struct projector projector;
    struct placer placer;
    unsigned most_open;   /* wishes of an action, at most so far */
    uint64_t term, terms; /* 0: does not lead */
    struct wire feed, results, intents;
    struct buf log;
    void *arg;
};

static UNUSED void estate_note(struct estate *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of the history, to be printed if it fails. */
static UNUSED void
estate_note(struct estate *e, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(&e->log, "  %s\n", text);
}

static UNUSED void estate_fail(struct estate *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

static UNUSED void
estate_fail(struct estate *e, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    printf("%.*s=> %s\n", (int)e->log.len, buf_bytes(&e->log), text);
    fail_msg("%s", text);
    abort();
}

/* ---- links --------------------------------------------------------------- */

static UNUSED void
wire_put(struct wire *w, uint16_t type, uint32_t id, struct str body)
{
    struct wire_frame *f;

    if (w->next == w->count)
        w->next = w->count = 0;
    if (w->count == w->room) {
        w->room = w->room * 2 + 16;
        w->items = mem_resize(w->items, w->room, sizeof(*w->items));
    }
    f = &w->items[w->count++];
    *f = (struct wire_frame){.type = type, .id = id};
    buf_adds(&f->body, body);
}

static UNUSED size_t
wire_waiting(const struct wire *w)
{
    return w->count - w->next;
}

/* The other end is gone, and what was on the way with it. */
static UNUSED void
wire_cut(struct wire *w)
{
    while (w->next < w->count)
        buf_fini(&w->items[w->next++].body);
}

static UNUSED void
wire_fini(struct wire *w)
{
    wire_cut(w);
    free(w->items);
}

/* ---- the API server ------------------------------------------------------ */

static UNUSED struct object *
api_get(const struct estate *e, enum object_kind kind, const char *name)
{
    return map_get(&e->objects[kind], name);
}

static UNUSED void
object_free(struct object *o)
{
    if (o == NULL)
        return;
    arena_fini(&o->arena);
    free(o);
}

static UNUSED struct str text_of(struct object *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static UNUSED struct str
text_of(struct object *o, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return arena_str(&o->arena, str_of(text));
}

/* The JSON of a spec, packed. */
static UNUSED struct buf
packed_spec(const struct object *o)
{
    json_t *json = json_text(o->spec.s);
    struct buf out = {0};

    pack_json(&out, json);
    json_decref(json);
    return out;
}

static UNUSED struct buf
api_pack(const struct object *o)
{
    struct buf out = {0};
    struct buf spec = {0};

    switch (o->kind) {
    case KIND_PROFILE:
        spec = packed_spec(o);
        object_profile_pack(&out, &o->profile, buf_str(&spec));
        break;
    case KIND_INVENTORY:
        spec = packed_spec(o);
        object_inventory_pack(&out, &o->inventory, buf_str(&spec));
        break;
    case KIND_RACK:
        object_rack_pack(&out, &o->rack);
        break;
    default:
        object_node_pack(&out, &o->node);
        break;
    }
    buf_fini(&spec);
    return out;
}

/* A copy to be changed and given to api_store. */
static UNUSED struct object *
api_edit(const struct object *old)
{
    struct object *o = mem_zalloc(sizeof(*o));
    struct buf body = api_pack(old);
    struct err err;
    struct unpacked *u = unpack_body(buf_str(&body), &err);
    const struct value *root = unpacked_root(u);
    int rc = -1;

    o->kind = old->kind;
    if (o->kind == KIND_PROFILE)
        rc = object_profile_unpack(&o->profile, root, &o->arena, &err);
    else if (o->kind == KIND_INVENTORY)
        rc = object_inventory_unpack(&o->inventory, root, &o->arena, &err);
    else if (o->kind == KIND_RACK)
        rc = object_rack_unpack(&o->rack, root, &o->arena, &err);
    else
        rc = object_node_unpack(&o->node, root, &o->arena, &err);
    if (rc != 0)
        fail_msg("%s", err.text);
    o->spec = arena_str(&o->arena, old->spec);
    o->declared = old->declared;
    memcpy(o->groups, old->groups, sizeof(o->groups));
    o->group_count = old->group_count;
    unpacked_free(u);
    buf_fini(&body);
    return o;
}

static UNUSED struct object *
api_new(struct estate *e, enum object_kind kind, const char *name)
{
    struct object *o = mem_zalloc(sizeof(*o));

    o->kind = kind;
    o->spec = STR("{}");
    o->meta.name = text_of(o, "%s", name);
    o->meta.uid = text_of(o, "u%d", (int)++e->uids);
    o->meta.generation = 1;
    o->meta.created = e->clock++ / 3;
    if (kind == KIND_INVENTORY)
        o->inventory.status.fields = STR("{}");
    else if (kind == KIND_NODE)
        o->node.annotation = o->node.rivals = STR("");
    else if (kind == KIND_RACK)
        o->rack = (struct object_rack){
            .meta = o->meta,
            .inventory = {STR(""), STR("")},
            .profile = {STR(""), STR("")},
            .revision = STR(""),
            .group = STR(""),
            .fabric = STR(""),
            .digest = STR(""),
            .status.fields = STR("{}"),
        };
    return o;
}

static UNUSED bool
is_labelled(const struct object *node)
{
    const struct str *value = pairs_get(node->meta.labels, STR(LABEL_ELIGIBLE));

    return value != NULL && str_is(*value, LABEL_TRUE);
}

/* Nodes are watched by their label. */
static UNUSED bool
is_watched(const struct object *o)
{
    return o != NULL && (o->kind != KIND_NODE || is_labelled(o));
}

static UNUSED void
add_event(struct estate *e, const struct object *o, bool there)
{
    struct events *log = &e->events[o->kind];
    struct event *event;

    if (log->next == log->count)
        log->next = log->count = 0;
    if (log->count == log->room) {
        log->room = log->room * 2 + 16;
        log->items = mem_resize(log->items, log->room, sizeof(*log->items));
    }
    event = &log->items[log->count++];
    *event = (struct event){.name = mem_strdup(o->meta.name.s),
                            .uid = mem_strdup(o->meta.uid.s)};
    snprintf(event->version, sizeof(event->version), "%d", (int)e->version);
    if (there)
        event->body = api_pack(o);
}

/* Takes over the object, as the news of its name. */
static UNUSED void
api_store(struct estate *e, struct object *o)
{
    struct object *old = api_get(e, o->kind, o->meta.name.s);

    o->meta.version = text_of(o, "%d", (int)++e->version);
    map_put(&e->objects[o->kind], o->meta.name.s, o);
    if (is_watched(o))
        add_event(e, o, true);
    else if (is_watched(old))
        add_event(e, old, false);
    object_free(old);
}

static UNUSED void
api_erase(struct estate *e, enum object_kind kind, const char *name)
{
    struct object *o = map_remove(&e->objects[kind], name);

    e->version++;
    if (is_watched(o))
        add_event(e, o, false);
    object_free(o);
}

static UNUSED struct strs *
finalizers_of(struct object *o)
{
    if (o->kind == KIND_INVENTORY)
        return &o->inventory.finalizers;
    return o->kind == KIND_RACK ? &o->rack.finalizers : NULL;
}

static UNUSED bool
has_finalizer(const struct object *o, const char *finalizer)
{
    const struct strs *list = finalizers_of((struct object *)(uintptr_t)o);

    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (str_is(list->items[i], finalizer))
            return true;
    return false;
}

/* Adds it at the end, or takes it off. */
static UNUSED void
set_finalizer(struct object *o, const char *finalizer, bool present)
{
    struct strs *list = finalizers_of(o);
    struct str *items =
        arena_alloc(&o->arena, (list->count + 1) * sizeof(*items));
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        if (!str_is(list->items[i], finalizer))
            items[count++] = list->items[i];
    if (present)
        items[count++] = text_of(o, "%s", finalizer);
    *list = (struct strs){items, count};
}

/* Stores it, unless it was being deleted and nothing holds it any more. */
static UNUSED void
api_settle(struct estate *e, struct object *o)
{
    const struct strs *list = finalizers_of(o);

    if (!o->meta.deleting || (list != NULL && list->count > 0)) {
        api_store(e, o);
        return;
    }
    api_erase(e, o->kind, o->meta.name.s);
    object_free(o);
}

static UNUSED void
api_delete(struct estate *e, enum object_kind kind, const char *name)
{
    struct object *old = api_get(e, kind, name);
    struct object *o;

    if (old->meta.deleting)
        return;
    o = api_edit(old);
    o->meta.deleting = true;
    api_settle(e, o);
}

/* Sets a label, or takes it off (NULL). */
static UNUSED void
set_label(struct object *o, const char *key, const char *value)
{
    struct pairs *labels = &o->meta.labels;
    struct pair *items =
        arena_alloc(&o->arena, (labels->count + 1) * sizeof(*items));
    size_t count = 0;

    for (size_t i = 0; i < labels->count; i++)
        if (!str_is(labels->items[i].key, key))
            items[count++] = labels->items[i];
    if (value != NULL)
        items[count++] =
            (struct pair){text_of(o, "%s", key), text_of(o, "%s", value)};
    pairs_sort(items, count);
    *labels = (struct pairs){items, count, NULL};
}

static UNUSED const char *
label_of(const struct object *o, const char *key)
{
    const struct str *value = pairs_get(o->meta.labels, str_of(key));

    return value == NULL ? NULL : value->s;
}

/* ---- what people declare ------------------------------------------------- */

static UNUSED void
render_profile(struct object *o)
{
    const struct declared_profile *d = &o->declared;
    struct buf out = {0};

    buf_printf(&out,
               "{\"rack\":{\"nodesPerRack\":%d},\"node\":{\"gpus\":{"
               "\"count\":%d,\"model\":{},\"memory\":{\"capacity\":\"80Gi\"},"
               "\"pci\":{}},\"topology\":{\"gpuSlots\":[",
               d->broken ? 0 : (int)d->nodes, (int)d->gpus);
    for (int i = 0; i < d->gpus; i++)
        buf_printf(&out,
                   "%s{\"index\":%d,\"pciAddress\":\"0000:%02x:00.0\","
                   "\"rootComplex\":\"pci0000:%02x\"}",
                   i == 0 ? "" : ",", i, i, i);
    buf_printf(&out, "]}},\"software\":{\"driverVersion\":\"%d\"}}",
               (int)o->meta.generation);
    o->spec = arena_str(&o->arena, buf_str(&out));
    buf_fini(&out);
}

/* Creates it, or changes its spec. */
static UNUSED void
put_profile(struct estate *e, const char *name, struct declared_profile d)
{
    struct object *old = api_get(e, KIND_PROFILE, name);
    struct object *o =
        old == NULL ? api_new(e, KIND_PROFILE, name) : api_edit(old);

    o->declared = d;
    o->meta.generation += old != NULL;
    render_profile(o);
    api_store(e, o);
}

static UNUSED void
render_inventory(struct object *o)
{
    struct buf out = {0};

    buf_addz(&out, "{\"rackGroups\":[");
    for (size_t i = 0; i < o->group_count; i++) {
        const struct declared_group *g = &o->groups[i];

        buf_printf(&out,
                   "%s{\"id\":\"%s\",\"count\":%d,\"profileRef\":{\"name\":"
                   "\"%s\"}",
                   i == 0 ? "" : ",", g->id, (int)g->count, g->profile);
        if (estate_selectors[g->selector] != NULL)
            buf_printf(&out, ",\"placement\":{\"nodeSelector\":%s}",
                       estate_selectors[g->selector]);
        buf_addc(&out, '}');
    }
    buf_addz(&out, "]}");
    o->spec = arena_str(&o->arena, buf_str(&out));
    buf_fini(&out);
}

static UNUSED void
put_inventory(struct estate *e, const char *name,
              const struct declared_group *groups, size_t count)
{
    struct object *old = api_get(e, KIND_INVENTORY, name);
    struct object *o =
        old == NULL ? api_new(e, KIND_INVENTORY, name) : api_edit(old);

    memcpy(o->groups, groups, count * sizeof(*groups));
    o->group_count = count;
    o->meta.generation += old != NULL;
    render_inventory(o);
    api_store(e, o);
}

/* Creates an eligible Node. */
static UNUSED void
put_node(struct estate *e, const char *name, const char *pool)
{
    struct object *o = api_new(e, KIND_NODE, name);

    set_label(o, LABEL_ELIGIBLE, LABEL_TRUE);
    set_label(o, "pool", pool);
    api_store(e, o);
}

/* Changes a label of an object that is there. */
static UNUSED void
edit_label(struct estate *e, enum object_kind kind, const char *name,
           const char *key, const char *value)
{
    struct object *o = api_edit(api_get(e, kind, name));

    set_label(o, key, value);
    api_store(e, o);
}

/* ---- writes of the projector --------------------------------------------- */

static UNUSED struct answer
answer_of(enum outcome outcome, const struct object *o)
{
    struct answer a = {.outcome = outcome};

    if (o != NULL) {
        snprintf(a.uid, sizeof(a.uid), "%s", o->meta.uid.s);
        snprintf(a.version, sizeof(a.version), "%s", o->meta.version.s);
    }
    return a;
}

/* A Node of which somebody else holds a key, too: an answer told, and was not
 * heard yet when the same was wanted anew (mokka-control 4.1 step 10). */
static UNUSED bool
is_taken(const struct estate *e, const struct order *o)
{
    const struct object *n = api_get(e, KIND_NODE, o->target.name.s);

    return o->type == MSG_NODE_APPLY && n != NULL && n->node.foreign != 0;
}

/* Counts a write; one without a change is a failure where nothing was lost, but
 * for what is taken off a Node unseen. */
static UNUSED void
count_write(struct estate *e, const struct order *o, bool changed)
{
    e->writes += changed;
    e->noops += !changed;
    estate_note(e, "  server: %s %s%s", message_name(o->type), o->target.name.s,
                changed ? "" : " changes nothing");
    if (!changed && e->strict && !is_taken(e, o) &&
        !(o->type == MSG_NODE_APPLY && o->node.release))
        estate_fail(e, "%s of %s changes nothing", message_name(o->type),
                    o->target.name.s);
}

static UNUSED struct answer
done(struct estate *e, const struct order *o, enum object_kind kind)
{
    return answer_of(OUTCOME_DONE, api_get(e, kind, o->target.name.s));
}

static UNUSED json_t *
at(json_t *json, const char *path)
{
    json_t *found = json_at(json, path);

    assert_non_null(found);
    return found;
}

static UNUSED struct str
text_at(struct object *o, json_t *json, const char *path)
{
    return arena_str(&o->arena, str_of(json_string_value(at(json, path))));
}

static UNUSED void
read_slots(struct object *o, json_t *nodes)
{
    size_t count = json_array_size(nodes);
    struct object_slot *slots = arena_alloc(&o->arena, count * sizeof(*slots));
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        slots[i].index = json_integer_value(at(node, "index"));
        slots[i].gpus = (int64_t)json_array_size(at(node, "gpus"));
        slots[i].node = (struct object_ref){STR(""), STR("")};
        if (json_object_get(node, "nodeRef") == NULL)
            continue;
        slots[i].node.name = text_at(o, node, "nodeRef.name");
        slots[i].node.uid = text_at(o, node, "nodeRef.uid");
    }
    o->rack.slots = slots;
    o->rack.slot_count = count;
}

/* The digest of a spec's text without its bindings. */
static UNUSED struct str
digest_of(struct object *o)
{
    char hex[SHA256_DIGEST_STRING_LENGTH];
    struct buf out = {0};
    const char *rest = o->spec.s;
    const char *ref;

    while ((ref = strstr(rest, ",\"nodeRef\":{")) != NULL) {
        buf_add(&out, rest, (size_t)(ref - rest));
        rest = strchr(ref, '}') + 1;
    }
    buf_addz(&out, rest);
    SHA256Data((const uint8_t *)buf_bytes(&out), out.len, hex);
    buf_fini(&out);
    return arena_str(&o->arena, str_of(hex));
}

/* Sets the rack's spec from its text. */
static UNUSED void
read_spec(struct object *o)
{
    struct object_rack *r = &o->rack;
    json_t *spec = json_text(o->spec.s);

    r->inventory.name = text_at(o, spec, "inventoryRef.name");
    r->inventory.uid = text_at(o, spec, "inventoryRef.uid");
    r->profile.name = text_at(o, spec, "profileRef.name");
    r->profile.uid = text_at(o, spec, "profileRef.uid");
    r->profile_generation =
        json_integer_value(at(spec, "profileRef.generation"));
    r->revision = text_at(o, spec, "profileRef.revision");
    r->group = text_at(o, spec, "identity.rackGroup");
    r->index = json_integer_value(at(spec, "identity.rackIndex"));
    r->fabric = text_at(o, spec, "identity.fabricUUID");
    r->clique = json_integer_value(at(spec, "identity.cliqueID"));
    read_slots(o, at(spec, "nodes"));
    r->digest = digest_of(o);
    json_decref(spec);
}

/* The text of a standing rack's slot. */
static UNUSED struct str
slot_text(const struct object *rack, int64_t index)
{
    char head[64];
    const char *at, *end;

    snprintf(head, sizeof(head), "{\"index\":%d,\"", (int)index);
    for (at = strstr(rack->spec.s, "\"nodes\":["); at != NULL;) {
        at = strstr(at + 1, head);
        end = at == NULL ? NULL : strstr(at, "]}");
        if (end != NULL && (strncmp(at + strlen(head), "gpus", 4) == 0 ||
                            strncmp(at + strlen(head), "nodeRef", 7) == 0))
            return (struct str){at, (size_t)(end + 2 - at)};
    }
    fail_msg("%s has no slot %d", rack->meta.name.s, (int)index);
    return STR("");
}

/* The spec with the slots that it only names taken from the rack (7.5). */
static UNUSED struct str
kept_spec(struct object *rack, struct str spec)
{
    struct buf out = {0};
    const char *from = spec.s;

    for (const char *at = from; (at = strstr(at, "{\"index\":")) != NULL;
         at++) {
        char *end;
        long index = strtol(at + strlen("{\"index\":"), &end, 10);

        if (*end != '}')
            continue;
        buf_add(&out, from, (size_t)(at - from));
        buf_adds(&out, slot_text(rack, index));
        from = end + 1;
    }
    buf_addz(&out, from);
    spec = arena_str(&rack->arena, buf_str(&out));
    buf_fini(&out);
    return spec;
}

/* Sets what the intent says; texts are copied. */
static UNUSED void
write_intent(struct object *o, const struct intent_rack *i)
{
    struct buf body = {0};
    struct intent_rack copy;
    struct unpacked *u;

    intent_rack_pack(&body, i);
    u = unpack_body(buf_str(&body), NULL);
    assert_int_equal(
        intent_rack_unpack(&copy, unpacked_root(u), &o->arena, NULL), 0);
    unpacked_free(u);
    buf_fini(&body);
    o->meta.labels = copy.labels;
    o->rack.annotations = copy.annotations;
    o->rack.finalizers = copy.finalizers;
    o->rack.owners = copy.owners;
    o->spec = kept_spec(o, copy.spec);
    read_spec(o);
}

static UNUSED struct answer
create_rack(struct estate *e, const struct order *o)
{
    const struct object *there = api_get(e, KIND_RACK, o->target.name.s);
    struct object *rack;

    if (there != NULL) {
        bool ours = there->rack.owners.count > 0 &&
                    str_eq(there->rack.owners.items[0].uid,
                           o->rack.owners.items[0].uid);

        e->refusals++;
        return answer_of(ours ? OUTCOME_STALE : OUTCOME_CONFLICT, there);
    }
    rack = api_new(e, KIND_RACK, o->target.name.s);
    rack->rack.managed = rack->rack.spec_ours = true;
    write_intent(rack, &o->rack);
    api_store(e, rack);
    count_write(e, o, true);
    return done(e, o, KIND_RACK);
}

static UNUSED bool
same_rack(const struct object *a, const struct object *b)
{
    struct intent_rack x = {.target.name = a->meta.name,
                            .labels = a->meta.labels,
                            .annotations = a->rack.annotations,
                            .finalizers = a->rack.finalizers,
                            .owners = a->rack.owners,
                            .spec = a->spec};
    struct intent_rack y = {.target.name = b->meta.name,
                            .labels = b->meta.labels,
                            .annotations = b->rack.annotations,
                            .finalizers = b->rack.finalizers,
                            .owners = b->rack.owners,
                            .spec = b->spec};
    struct buf p = {0};
    struct buf q = {0};
    bool same;

    intent_rack_pack(&p, &x);
    intent_rack_pack(&q, &y);
    same = str_eq(buf_str(&p), buf_str(&q));
    buf_fini(&p);
    buf_fini(&q);
    return same;
}

static UNUSED struct answer
update_rack(struct estate *e, const struct order *o)
{
    const struct object *old = api_get(e, KIND_RACK, o->target.name.s);
    struct object *rack;
    bool same;

    if (old == NULL)
        return answer_of(OUTCOME_GONE, NULL);
    if (!str_eq(old->meta.uid, o->target.uid) ||
        !str_eq(old->meta.version, o->target.version)) {
        e->refusals++;
        return answer_of(OUTCOME_STALE, NULL);
    }
    rack = api_edit(old);
    write_intent(rack, &o->rack);
    same = same_rack(old, rack);
    count_write(e, o, !same);
    if (same) {
        object_free(rack);
        return done(e, o, KIND_RACK);
    }
    rack->meta.generation += !str_eq(old->spec, rack->spec);
    api_settle(e, rack);
    return done(e, o, KIND_RACK);
}

static UNUSED void
clear_slots(struct object *o)
{
    struct buf out = {0};
    const char *rest = o->spec.s;
    const char *ref;

    while ((ref = strstr(rest, ",\"nodeRef\":{")) != NULL) {
        buf_add(&out, rest, (size_t)(ref - rest));
        rest = strchr(ref, '}') + 1;
    }
    buf_addz(&out, rest);
    o->spec = arena_str(&o->arena, buf_str(&out));
    buf_fini(&out);
    read_spec(o);
}

/* Gone: later than the version that its author saw. */
static UNUSED struct answer
retired(const struct order *o)
{
    struct answer a = {.outcome = OUTCOME_DONE};

    snprintf(a.uid, sizeof(a.uid), "%s", o->target.uid.s);
    snprintf(a.version, sizeof(a.version), "%d", atoi(o->target.version.s) + 1);
    return a;
}

static UNUSED struct answer
look_rack(struct estate *e, const struct order *o)
{
    const struct object *rack = api_get(e, KIND_RACK, o->target.name.s);

    return answer_of(rack == NULL ? OUTCOME_GONE : OUTCOME_DONE, rack);
}

/* The first half: slots cleared, our finalizer off; *more tells if the rack is
 * still to be deleted. */
static UNUSED struct answer
strip_rack(struct estate *e, const struct order *o, bool *more)
{
    const struct object *old = api_get(e, KIND_RACK, o->target.name.s);
    struct object *rack;

    *more = false;
    if (old == NULL || !str_eq(old->meta.uid, o->target.uid))
        return answer_of(OUTCOME_GONE, NULL);
    if (!str_eq(old->meta.version, o->target.version)) {
        e->refusals++;
        return answer_of(OUTCOME_STALE, old);
    }
    rack = api_edit(old);
    clear_slots(rack);
    set_finalizer(rack, FINALIZER_RACK, false);
    rack->meta.generation += !str_eq(old->spec, rack->spec);
    *more = true;
    if (same_rack(old, rack)) {
        object_free(rack);
        return answer_of(OUTCOME_DONE, old);
    }
    count_write(e, o, true);
    api_settle(e, rack);
    return done(e, o, KIND_RACK);
}

static UNUSED struct answer
remove_rack(struct estate *e, const struct order *o, const char *version)
{
    const struct object *old = api_get(e, KIND_RACK, o->target.name.s);

    if (old == NULL || !str_eq(old->meta.uid, o->target.uid))
        return retired(o);
    if (!str_is(old->meta.version, version)) {
        e->refusals++;
        return answer_of(OUTCOME_STALE, old);
    }
    if (!old->meta.deleting)
        count_write(e, o, true);
    api_delete(e, KIND_RACK, o->target.name.s);
    if (api_get(e, KIND_RACK, o->target.name.s) == NULL)
        return retired(o);
    return done(e, o, KIND_RACK);
}

/* Takes the keys off that nobody owns any more. */
static UNUSED void
drop_unowned(struct object *node, int64_t keys)
{
    keys &= ~(node->node.ours | node->node.foreign);
    if (keys & KEY_ASSIGNED)
        set_label(node, LABEL_ASSIGNED, NULL);
    if (keys & KEY_CLIQUE)
        set_label(node, LABEL_CLIQUE, NULL);
    if (keys & KEY_ANNOTATION)
        node->node.annotation = STR("");
}

static UNUSED int64_t
keys_present(const struct object *node)
{
    return (label_of(node, LABEL_ASSIGNED) != NULL ? KEY_ASSIGNED : 0) |
           (label_of(node, LABEL_CLIQUE) != NULL ? KEY_CLIQUE : 0) |
           (node->node.annotation.n > 0 ? KEY_ANNOTATION : 0);
}

/* The keys whose values are not as wanted. */
static UNUSED int64_t
keys_other(const struct object *node, const struct intent_node *i)
{
    const char *assigned = label_of(node, LABEL_ASSIGNED);
    const char *clique = label_of(node, LABEL_CLIQUE);

    return (assigned == NULL || strcmp(assigned, LABEL_TRUE) != 0 ? KEY_ASSIGNED
                                                                  : 0) |
           (clique == NULL || !str_is(i->clique, clique) ? KEY_CLIQUE : 0) |
           (!str_eq(node->node.annotation, i->annotation) ? KEY_ANNOTATION : 0);
}

static UNUSED struct answer
release_node(struct estate *e, const struct order *o, const struct object *old)
{
    struct object *node = api_edit(old);
    int64_t ours = node->node.ours;

    node->node.ours = 0;
    drop_unowned(node, ours);
    count_write(e, o, ours != 0);
    if (ours != 0)
        api_store(e, node);
    else
        object_free(node);
    node = api_get(e, KIND_NODE, o->target.name.s);
    return answer_of(keys_present(node) != 0 ? OUTCOME_CONFLICT : OUTCOME_DONE,
                     node);
}

/* A release that reads the Node first, and finds nothing to take off. */
static UNUSED bool
is_only_looked_at(const struct object *node, const struct order *o)
{
    struct assignment standing = {0};
    struct assignment binding = {0};
    struct arena arena = {0};
    struct cleanup_view view = {
        .names = assignment_decode(&binding, o->node.annotation, &arena,
                                   NULL) == 0 &&
                 assignment_decode(&standing, node->node.annotation, &arena,
                                   NULL) == 0 &&
                 str_eq(standing.rack.uid, binding.rack.uid) &&
                 str_eq(standing.node_uid, binding.node_uid),
        .present = (int)keys_present(node),
        .wrong = (int)(keys_other(node, &o->node) & keys_present(node) &
                       ~(int64_t)KEY_ANNOTATION),
        .ours = (int)node->node.ours,
    };

    arena_fini(&arena);
    return o->node.release && o->target.version.n == 0 &&
           cleanup_judge(&view) == CLEANUP_NONE;
}

static UNUSED struct answer
apply_node(struct estate *e, const struct order *o)
{
    const struct object *old = api_get(e, KIND_NODE, o->target.name.s);
    int64_t other;
    struct object *node;

    if (old == NULL || !str_eq(old->meta.uid, o->target.uid))
        return answer_of(OUTCOME_GONE, NULL);
    if (is_only_looked_at(old, o))
        return answer_of(OUTCOME_DONE, old);
    if (o->node.release)
        return release_node(e, o, old);
    other = keys_other(old, &o->node);
    if ((other & old->node.foreign) != 0) {
        e->refusals++;
        return answer_of(OUTCOME_CONFLICT, NULL);
    }
    count_write(e, o, other != 0 || old->node.ours != KEY_ALL);
    if (other != 0 || old->node.ours != KEY_ALL) {
        node = api_edit(old);
        set_label(node, LABEL_ASSIGNED, LABEL_TRUE);
        set_label(node, LABEL_CLIQUE, o->node.clique.s);
        node->node.annotation = arena_str(&node->arena, o->node.annotation);
        node->node.ours = KEY_ALL;
        api_store(e, node);
        old = node;
    }
    return answer_of(old->node.foreign != 0 ? OUTCOME_CONFLICT : OUTCOME_DONE,
                     old);
}

static UNUSED struct answer
write_finalizer(struct estate *e, const struct order *o)
{
    const struct object *old = api_get(e, KIND_INVENTORY, o->target.name.s);
    struct object *v;

    if (old == NULL || !str_eq(old->meta.uid, o->target.uid))
        return answer_of(OUTCOME_GONE, NULL);
    if (o->finalizer.present && old->meta.deleting)
        return answer_of(OUTCOME_STALE, old);
    if (has_finalizer(old, o->finalizer.finalizer.s) == o->finalizer.present)
        return answer_of(OUTCOME_DONE, old);
    v = api_edit(old);
    set_finalizer(v, o->finalizer.finalizer.s, o->finalizer.present);
    count_write(e, o, true);
    api_settle(e, v);
    v = api_get(e, KIND_INVENTORY, o->target.name.s);
    if (v == NULL)
        return retired(o);
    return answer_of(OUTCOME_DONE, v);
}

static UNUSED struct object_status *
status_of(struct object *o)
{
    return o->kind == KIND_RACK ? &o->rack.status : &o->inventory.status;
}

static UNUSED const struct condition *
condition_of(const struct object_status *s, struct str type)
{
    for (size_t i = 0; i < s->conditions.count; i++)
        if (str_eq(s->conditions.items[i].type, type))
            return &s->conditions.items[i];
    return NULL;
}

static UNUSED bool
same_condition(const struct condition *a, const struct condition *b)
{
    return a != NULL && str_eq(a->status, b->status) &&
           str_eq(a->reason, b->reason) && str_eq(a->message, b->message) &&
           a->observed == b->observed;
}

static UNUSED bool
same_status(const struct object_status *a, const struct object_status *b)
{
    bool same = str_eq(a->fields, b->fields) &&
                a->conditions.count == b->conditions.count;

    for (size_t i = 0; same && i < b->conditions.count; i++)
        same = same_condition(condition_of(a, b->conditions.items[i].type),
                              &b->conditions.items[i]);
    return same;
}

static UNUSED void
copy_status(struct object *o, const struct object_status *from)
{
    struct intent_status i = {
        .target.name = STR("x"), .action = ACTION_RACK_STATUS, .status = *from};
    struct buf body = {0};
    struct unpacked *u;

    intent_status_pack(&body, &i);
    u = unpack_body(buf_str(&body), NULL);
    assert_int_equal(
        intent_status_unpack(&i, unpacked_root(u), &o->arena, NULL), 0);
    *status_of(o) = i.status;
    unpacked_free(u);
    buf_fini(&body);
}

static UNUSED struct answer
write_status(struct estate *e, const struct order *o)
{
    enum object_kind kind =
        o->status.action == ACTION_RACK_STATUS ? KIND_RACK : KIND_INVENTORY;
    struct object *old = api_get(e, kind, o->target.name.s);
    struct object *news;

    if (old == NULL || !str_eq(old->meta.uid, o->target.uid))
        return answer_of(OUTCOME_GONE, NULL);
    if (same_status(status_of(old), &o->status.status))
        return answer_of(OUTCOME_DONE, old);
    news = api_edit(old);
    copy_status(news, &o->status.status);
    count_write(e, o, true);
    api_store(e, news);
    return done(e, o, kind);
}

/* ---- the informer -------------------------------------------------------- */

static UNUSED void
record_free(struct record *r)
{
    free(r->name);
    free(r->uid);
    buf_fini(&r->body);
    free(r);
}

static UNUSED void
mark_free(struct mark *m)
{
    free(m->gone);
    free(m->key);
    free(m);
}

static UNUSED struct mark *
set_mark(struct informer *in, enum object_kind kind, const char *name)
{
    char *key = mem_printf("%d%s", (int)kind, name);
    struct mark *m = map_get(&in->marks, key);

    if (m != NULL) {
        free(key);
        return m;
    }
    m = mem_zalloc(sizeof(*m));
    m->kind = kind;
    m->key = key;
    map_put(&in->marks, key, m);
    in->pos = 0;
    return m;
}

static UNUSED void
drop_marks(struct informer *in)
{
    struct mark *m;
    size_t pos = 0;

    while ((m = map_next(&in->marks, &pos)) != NULL)
        mark_free(m);
    map_fini(&in->marks);
    in->pos = 0;
    in->sync_left = 0;
    in->in_batch = false;
}

static UNUSED void
note_gone(struct informer *in, enum object_kind kind, const struct record *r)
{
    struct mark *m;

    if (in->state == FEED_CLOSED)
        return;
    m = set_mark(in, kind, r->name);
    if (m->gone == NULL)
        m->gone = mem_strdup(r->uid);
}

static UNUSED void
forget_record(struct informer *in, enum object_kind kind, const char *name)
{
    struct record *r = map_remove(&in->records[kind], name);

    if (r == NULL)
        return;
    note_gone(in, kind, r);
    record_free(r);
}

/* Holds what the event shows; takes over its memory. */
static UNUSED void
take_event(struct informer *in, enum object_kind kind, struct event *event)
{
    struct record *r = map_get(&in->records[kind], event->name);

    snprintf(in->as_of[kind], sizeof(in->as_of[kind]), "%s", event->version);
    if (event->body.len == 0 || (r != NULL && strcmp(r->uid, event->uid) != 0))
        forget_record(in, kind, event->name);
    if (event->body.len == 0) {
        free(event->name);
        free(event->uid);
        return;
    }
    r = map_remove(&in->records[kind], event->name);
    if (r != NULL)
        record_free(r);
    r = mem_zalloc(sizeof(*r));
    *r = (struct record){event->name, event->uid, event->body};
    map_put(&in->records[kind], r->name, r);
    if (in->state != FEED_CLOSED)
        set_mark(in, kind, r->name);
}

/* Hears of one more change of that kind; false: there is none. */
static UNUSED bool
informer_hear(struct estate *e, enum object_kind kind)
{
    struct events *log = &e->events[kind];

    if (log->next == log->count)
        return false;
    take_event(&e->informer, kind, &log->items[log->next++]);
    return true;
}

static UNUSED void
send_mark(struct estate *e, struct mark *m)
{
    static const uint16_t types[KIND_COUNT] = {MSG_PROFILE, MSG_INVENTORY,
                                               MSG_RACK, MSG_NODE};
    const struct record *r = map_get(&e->informer.records[m->kind], m->key + 1);
    struct buf body = {0};

    if (m->gone != NULL) {
        pack_array(&body, 3);
        pack_int(&body, m->kind);
        pack_text(&body, m->key + 1);
        pack_text(&body, m->gone);
        wire_put(&e->feed, MSG_GONE, 0, buf_str(&body));
        buf_fini(&body);
    }
    if (r != NULL)
        wire_put(&e->feed, types[m->kind], 0, buf_str(&r->body));
    e->informer.in_batch = true;
    map_remove(&e->informer.marks, m->key);
    e->informer.sync_left -= m->of_sync;
    mark_free(m);
}

static UNUSED void
tell_versions(struct estate *e)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct buf body = {0};

        pack_array(&body, 2);
        pack_int(&body, kind);
        pack_text(&body, e->informer.as_of[kind]);
        wire_put(&e->feed, MSG_AS_OF, 0, buf_str(&body));
        buf_fini(&body);
    }
}

/* The placer asks for the racks as they are now: a list. */
static UNUSED void
informer_refresh(struct estate *e)
{
    struct informer *in = &e->informer;
    struct moment moment = placer_asks(&e->placer);

    if (moment.term == 0 || moment_covers(in->telling, moment))
        return;
    if (!moment_covers(in->current, moment)) {
        while (informer_hear(e, KIND_RACK))
            ;
        in->current = moment;
    }
    in->telling = moment;
}

static UNUSED bool
tell_current(struct estate *e)
{
    struct buf body = {0};

    if (e->informer.telling.term == 0)
        return false;
    pack_array(&body, 2);
    pack_moment(&body, e->informer.telling);
    wire_put(&e->feed, MSG_CURRENT, 0, buf_str(&body));
    buf_fini(&body);
    e->informer.telling.term = 0;
    return true;
}

/* The next frame of the feed, with the ends that follow it; false: none. */
static UNUSED bool
informer_tell(struct estate *e)
{
    struct informer *in = &e->informer;
    struct mark *m;
    bool any = in->marks.count > 0 && in->state != FEED_CLOSED;

    if (wire_waiting(&e->feed) == 0)
        informer_refresh(e);

    if (any) {
        m = map_next(&in->marks, &in->pos);
        send_mark(e, m);
    }
    if (in->state == FEED_SYNCING && in->sync_left == 0) {
        in->state = FEED_LIVE;
        in->in_batch = false;
        if (in->marks.count == 0)
            tell_versions(e);
        wire_put(&e->feed, MSG_SYNC_END, 0, STR(""));
        any = true;
    }
    if (in->marks.count == 0 && in->in_batch && in->state == FEED_LIVE) {
        map_fini(&in->marks);
        in->pos = 0;
        in->in_batch = false;
        tell_versions(e);
        wire_put(&e->feed, MSG_BATCH_END, 0, STR(""));
    }
    if (in->marks.count == 0 && in->state == FEED_LIVE)
        any |= tell_current(e);
    return any;
}

/* A reader is there: a sync begins. */
static UNUSED void
informer_open(struct estate *e)
{
    struct informer *in = &e->informer;

    drop_marks(in);
    in->telling.term = 0;
    in->state = FEED_SYNCING;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const struct record *r;
        size_t pos = 0;

        while ((r = map_next(&in->records[kind], &pos)) != NULL)
            set_mark(in, (enum object_kind)kind, r->name)->of_sync = true;
    }
    in->sync_left = in->marks.count;
    wire_put(&e->feed, MSG_SYNC_BEGIN, 0, STR(""));
}

static UNUSED void
events_clear(struct events *log)
{
    for (; log->next < log->count; log->next++) {
        free(log->items[log->next].name);
        free(log->items[log->next].uid);
        buf_fini(&log->items[log->next].body);
    }
}

static UNUSED void
informer_forget(struct estate *e)
{
    drop_marks(&e->informer);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct record *r;
        size_t pos = 0;

        while ((r = map_next(&e->informer.records[kind], &pos)) != NULL)
            record_free(r);
        map_fini(&e->informer.records[kind]);
    }
    e->informer.state = FEED_CLOSED;
}

/* A list: all that is there now. */
static UNUSED void
informer_list(struct estate *e)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const struct object *o;
        size_t pos = 0;

        events_clear(&e->events[kind]);
        while ((o = map_next(&e->objects[kind], &pos)) != NULL)
            if (is_watched(o)) {
                add_event(e, o, true);
                informer_hear(e, (enum object_kind)kind);
            }
        snprintf(e->informer.as_of[kind], sizeof(e->informer.as_of[kind]), "%d",
                 (int)e->version);
    }
}

/* ---- the projector ------------------------------------------------------- */

static UNUSED void
order_free(struct order *o)
{
    if (o == NULL)
        return;
    arena_fini(&o->arena);
    buf_fini(&o->content);
    free(o);
}

static UNUSED int
unpack_order(struct order *o, const struct value *root, struct err *err)
{
    switch (o->type) {
    case MSG_RACK_WRITE:
        return intent_rack_unpack(&o->rack, root, &o->arena, err);
    case MSG_RACK_DELETE:
    case MSG_RACK_LOOK:
        return intent_delete_unpack(&o->target, root, &o->arena, err);
    case MSG_NODE_APPLY:
        return intent_node_unpack(&o->node, root, &o->arena, err);
    case MSG_FINALIZER:
        return intent_finalizer_unpack(&o->finalizer, root, &o->arena, err);
    default:
        return intent_status_unpack(&o->status, root, &o->arena, err);
    }
}

static UNUSED void
pack_content(struct order *o)
{
    struct target *target = &o->rack.target; /* the first member of each */

    o->content.len = 0;
    if (o->type == MSG_RACK_DELETE || o->type == MSG_RACK_LOOK)
        return;
    o->target = *target;
    target->uid = target->version = STR("");
    if (o->type == MSG_RACK_WRITE)
        intent_rack_pack(&o->content, &o->rack);
    else if (o->type == MSG_NODE_APPLY)
        intent_node_pack(&o->content, &o->node);
    else if (o->type == MSG_FINALIZER)
        intent_finalizer_pack(&o->content, &o->finalizer);
    else
        intent_status_pack(&o->content, &o->status);
    *target = o->target;
}

static UNUSED struct order *
order_new(const struct wire_frame *f)
{
    struct order *o = mem_zalloc(sizeof(*o));
    struct err err;
    struct unpacked *u = unpack_body(buf_str(&f->body), &err);

    o->type = f->type;
    o->id = f->id;
    if (u == NULL || unpack_order(o, unpacked_root(u), &err) != 0)
        fail_msg("%s: %s", message_name(f->type), err.text);
    unpacked_free(u);
    pack_content(o);
    return o;
}

static UNUSED enum action
action_of(const struct order *o)
{
    switch (o->type) {
    case MSG_RACK_WRITE:
    case MSG_RACK_DELETE:
    case MSG_RACK_LOOK:
        return ACTION_RACK;
    case MSG_NODE_APPLY:
        return ACTION_NODE;
    case MSG_FINALIZER:
        return ACTION_INVENTORY_FINALIZER;
    default:
        return o->status.action;
    }
}

static UNUSED struct slot *
find_slot(struct estate *e, enum action action, const char *name, bool make)
{
    char *key = mem_printf("%d%s", (int)action, name);
    struct slot *s = map_get(&e->projector.slots, key);

    if (s != NULL || !make) {
        free(key);
        return s;
    }
    s = mem_zalloc(sizeof(*s));
    s->key = key;
    s->action = action;
    map_put(&e->projector.slots, key, s);
    return s;
}

/* Frees a slot that holds nothing. */
static UNUSED void
tidy_slot(struct estate *e, struct slot *s)
{
    if (s->order != NULL || s->next != NULL || s->written || s->unsure)
        return;
    map_remove(&e->projector.slots, s->key);
    free(s->key);
    free(s);
}

static UNUSED void
forget_written(struct slot *s)
{
    order_free(s->stands);
    s->stands = NULL;
    s->written = s->unsure = false;
}

static UNUSED void
send_result(struct estate *e, const struct slot *s, uint32_t id,
            const struct answer *a)
{
    struct buf body = {0};

    result_pack(&body, &(struct result){.action = s->action,
                                        .outcome = a->outcome,
                                        .name = str_of(s->key + 1),
                                        .uid = str_of(a->uid),
                                        .version = str_of(a->version),
                                        .reason = str_of("")});
    wire_put(&e->results, MSG_RESULT, id, buf_str(&body));
    buf_fini(&body);
}

/* Some objects refuse for long. */
static UNUSED void
send_resting(struct estate *e, const struct slot *s, uint32_t id)
{
    struct buf body = {0};

    intent_withdraw_pack(&body, s->action, str_of(s->key + 1));
    wire_put(&e->results, MSG_RESTING, id, buf_str(&body));
    buf_fini(&body);
}

/* Whether it was carried out already, later than its author saw. */
static UNUSED bool
stands_already(const struct slot *s, const struct order *o)
{
    const struct order *stands = s->stands;

    return stands != NULL && stands->type == o->type &&
           str_eq(buf_str(&stands->content), buf_str(&o->content)) &&
           (str_eq(o->target.uid, stands->target.uid) ||
            str_is(o->target.uid, s->uid)) &&
           version_cmp(o->target.version, str_of(s->version)) < 0;
}

/* Gives the order to a slot with nothing in flight. */
static UNUSED void
queue_order(struct estate *e, struct slot *s, struct order *o)
{
    struct answer a = {.outcome = OUTCOME_DONE};

    order_free(s->order);
    s->order = o;
    if (!stands_already(s, o)) {
        if (o->id % 7 == 0)
            send_resting(e, s, o->id);
        return;
    }
    snprintf(a.uid, sizeof(a.uid), "%s", s->uid);
    snprintf(a.version, sizeof(a.version), "%s", s->version);
    send_result(e, s, o->id, &a);
    order_free(o);
    s->order = NULL;
}

static UNUSED void
accept_order(struct estate *e, struct order *o)
{
    struct slot *s = find_slot(e, action_of(o), o->target.name.s, true);

    s->named = true;
    s->emptied = false;
    if (s->in_flight) {
        order_free(s->next);
        s->next = o;
    } else {
        queue_order(e, s, o);
    }
}

static UNUSED void
empty_slot(struct estate *e, struct slot *s)
{
    order_free(s->next);
    s->next = NULL;
    if (s->in_flight) {
        s->emptied = true;
        return;
    }
    order_free(s->order);
    s->order = NULL;
    forget_written(s);
    tidy_slot(e, s);
}

static UNUSED void
take_withdraw(struct estate *e, const struct wire_frame *f)
{
    struct arena arena = {0};
    enum action action;
    struct unpacked *u = unpack_body(buf_str(&f->body), NULL);
    struct str name;
    struct slot *s;

    assert_int_equal(
        intent_withdraw_unpack(&action, &name, unpacked_root(u), &arena, NULL),
        0);
    s = find_slot(e, action, name.s, false);
    if (s != NULL)
        empty_slot(e, s);
    unpacked_free(u);
    arena_fini(&arena);
}

static UNUSED void
plan_begin(struct estate *e, const struct wire_frame *f)
{
    struct unpacked *body = unpack_body(buf_str(&f->body), NULL);
    struct unpack u = unpack_fields(unpacked_root(body));
    struct slot *s;
    size_t pos = 0;

    e->projector.term = (uint64_t)unpack_int(&u);
    unpacked_free(body);
    while ((s = map_next(&e->projector.slots, &pos)) != NULL)
        s->named = false;
}

/* Nobody waits for what is in these slots any more: what was carried out, or
 * may have been, stays known. */
static UNUSED void
orphan_slots(struct estate *e, bool named)
{
    struct slot *s;
    size_t pos = 0;

    while ((s = map_next(&e->projector.slots, &pos)) != NULL) {
        if (s->named && !named)
            continue;
        order_free(s->next);
        s->next = NULL;
        if (s->in_flight) {
            s->orphan = true;
            continue;
        }
        order_free(s->order);
        s->order = NULL;
        tidy_slot(e, s);
    }
}

/* One frame of the placer reaches the projector; false: none is on its way. */
static UNUSED bool
projector_hear(struct estate *e)
{
    struct wire_frame f;

    if (wire_waiting(&e->intents) == 0 || !e->projector.linked)
        return false;
    f = e->intents.items[e->intents.next++];
    if (!e->projector.opened)
        estate_fail(e, "%s before WRITTEN_END", message_name(f.type));
    if (f.type == MSG_WITHDRAW)
        take_withdraw(e, &f);
    else if (f.type == MSG_PLAN_BEGIN)
        plan_begin(e, &f);
    else if (f.type == MSG_PLAN_END)
        orphan_slots(e, false);
    else
        accept_order(e, order_new(&f));
    buf_fini(&f.body);
    return true;
}

/* Actions on one object share a lane. */
static UNUSED bool
is_lane_busy(struct estate *e, const struct slot *s)
{
    static const enum action other[ACTION_COUNT] = {
        [ACTION_RACK] = ACTION_RACK_STATUS,
        [ACTION_RACK_STATUS] = ACTION_RACK,
        [ACTION_NODE] = ACTION_NODE,
        [ACTION_INVENTORY_FINALIZER] = ACTION_INVENTORY_STATUS,
        [ACTION_INVENTORY_STATUS] = ACTION_INVENTORY_FINALIZER,
    };
    const struct slot *same = find_slot(e, other[s->action], s->key + 1, false);

    return s->in_flight || (same != NULL && same->in_flight);
}

static UNUSED bool
may_send(struct estate *e, const struct slot *s)
{
    return e->projector.up && e->term != 0 && e->projector.term == e->term &&
           s->order != NULL && !is_lane_busy(e, s);
}

static UNUSED void
send_order(struct slot *s)
{
    order_free(s->stands);
    s->stands = NULL;
    s->in_flight = true;
    s->stage = STAGE_SENT;
}

/* The server carries out a request, or the first half of it. */
static UNUSED void
execute(struct estate *e, struct slot *s)
{
    struct order *o = s->order;
    bool more = false;

    if (e->judge != NULL)
        e->judge(e, o);
    if (o->type == MSG_RACK_DELETE && s->stage == STAGE_SENT)
        s->answer = strip_rack(e, o, &more);
    else if (o->type == MSG_RACK_DELETE)
        s->answer = remove_rack(e, o, s->answer.version);
    else if (o->type == MSG_RACK_LOOK)
        s->answer = look_rack(e, o);
    else if (o->type == MSG_RACK_WRITE)
        s->answer =
            o->target.uid.n == 0 ? create_rack(e, o) : update_rack(e, o);
    else if (o->type == MSG_NODE_APPLY)
        s->answer = apply_node(e, o);
    else if (o->type == MSG_FINALIZER)
        s->answer = write_finalizer(e, o);
    else
        s->answer = write_status(e, o);
    if (s->answer.outcome != OUTCOME_DONE)
        estate_note(e, "  server: %s %s is %s", message_name(o->type),
                    o->target.name.s, outcome_name(s->answer.outcome));
    if (s->answer.uid[0] == '\0')
        snprintf(s->answer.uid, sizeof(s->answer.uid), "%s", o->target.uid.s);
    s->stage = more ? STAGE_HALF : STAGE_ANSWERED;
}

static UNUSED void
remember_written(struct slot *s, struct order *o)
{
    forget_written(s);
    s->stands = o;
    s->written = true;
    snprintf(s->uid, sizeof(s->uid), "%s", s->answer.uid);
    snprintf(s->version, sizeof(s->version), "%s", s->answer.version);
}

/* A new placer hears what was written for the old one. */
static UNUSED void
open_ledger(struct estate *e)
{
    struct buf ledger = {0};
    struct slot *s;
    size_t pos = 0;

    if (!e->projector.linked || e->projector.opened)
        return;
    while ((s = map_next(&e->projector.slots, &pos)) != NULL)
        if (s->in_flight)
            return;
    e->projector.opened = true;
    for (pos = 0; (s = map_next(&e->projector.slots, &pos)) != NULL;) {
        struct buf body = {0};

        if (!s->written && !s->unsure)
            continue;
        written_pack(&body, s->action,
                     &(struct target){str_of(s->key + 1),
                                      str_of(s->unsure ? "" : s->uid),
                                      str_of(s->unsure ? "" : s->version)});
        wire_put(&e->results, MSG_WRITTEN, 0, buf_str(&body));
        buf_fini(&body);
    }
    pack_array(&ledger, 1);
    pack_int(&ledger, e->projector.generation);
    wire_put(&e->results, MSG_WRITTEN_END, 0, buf_str(&ledger));
    buf_fini(&ledger);
}

/* The projector hears the answer, or (again) that there was none: it is tried
 * once more, if somebody still waits for it. */
static UNUSED void
finish(struct estate *e, struct slot *s, bool again)
{
    bool current = s->next == NULL && !s->orphan && !s->emptied;
    struct order *o = s->order;
    struct order *next = s->next;

    s->in_flight = false;
    s->next = NULL;
    s->unsure |= again;
    if (!again || !current) {
        s->order = NULL;
        if (!again && current && e->projector.linked)
            send_result(e, s, o->id, &s->answer);
        if (!again && s->answer.outcome == OUTCOME_DONE)
            remember_written(s, o);
        else
            order_free(o);
    }
    if (s->emptied)
        forget_written(s);
    s->emptied = s->orphan = false;
    if (next != NULL)
        queue_order(e, s, next);
    tidy_slot(e, s);
    open_ledger(e);
}

static UNUSED void
drop_slots(struct estate *e)
{
    struct slot *s;
    size_t pos = 0;

    while ((s = map_next(&e->projector.slots, &pos)) != NULL) {
        order_free(s->order);
        order_free(s->next);
        order_free(s->stands);
        free(s->key);
        free(s);
    }
    map_fini(&e->projector.slots);
}

/* ---- the placer and its links -------------------------------------------- */

/* With TEST_TRACE, what the placer hears and says is in the history, too. */
static UNUSED void
trace(struct estate *e, const char *how, uint16_t type, struct str body)
{
    struct buf text = {0};

    if (getenv("TEST_TRACE") == NULL)
        return;
    for (size_t i = 0; i < body.n && i < 1800; i++)
        buf_addc(&text, body.s[i] < ' ' || body.s[i] > '~' ? ' ' : body.s[i]);
    estate_note(e, "      %s %s %.*s", how, message_name(type), (int)text.len,
                text.len == 0 ? "" : buf_bytes(&text));
    buf_fini(&text);
}

static UNUSED void
hear_intent(void *arg, uint16_t type, uint32_t id, struct str body)
{
    struct estate *e = arg;

    trace(e, "says", type, body);
    /* News for people is nothing to this projector. */
    if (e->projector.linked && type != MSG_EVENT)
        wire_put(&e->intents, type, id, body);
    for (int i = 0; i < ACTION_COUNT; i++) {
        unsigned open = e->placer.wishes.loads[i].count;

        if (open > e->most_open)
            e->most_open = open;
        if (open > WISH_LIMIT)
            estate_fail(e, "%u wishes of an action are open", open);
    }
}

static UNUSED void
give_frame(struct placer *p, const struct wire_frame *f)
{
    struct unpacked *u = NULL;
    struct err err;

    if (f->body.len > 0 && (u = unpack_body(buf_str(&f->body), &err)) == NULL)
        fail_msg("%s: %s", message_name(f->type), err.text);
    if (placer_frame(p, f->type, f->id, u == NULL ? NULL : unpacked_root(u),
                     &err) != 0)
        fail_msg("%s: %s", message_name(f->type), err.text);
    unpacked_free(u);
}

/* One frame of that link reaches the placer; false: none is on its way. */
static UNUSED bool
placer_hear(struct estate *e, struct wire *w)
{
    struct wire_frame f;

    if (wire_waiting(w) == 0)
        return false;
    f = w->items[w->next++];
    trace(e, "hears", f.type, buf_str(&f.body));
    give_frame(&e->placer, &f);
    buf_fini(&f.body);
    return true;
}

static UNUSED void
link_projector(struct estate *e)
{
    e->projector.linked = true;
    e->projector.opened = false;
    open_ledger(e);
}

static UNUSED void
cut_projector(struct estate *e)
{
    wire_cut(&e->intents);
    wire_cut(&e->results);
    e->projector.linked = e->projector.opened = false;
}

static UNUSED void
estate_begin_term(struct estate *e)
{
    e->term = ++e->terms;
    placer_term_began(&e->placer, e->term);
}

static UNUSED void
estate_end_term(struct estate *e)
{
    e->term = 0;
    placer_term_ended(&e->placer);
    while (projector_hear(e))
        ;
}

/* A new placer; the informer and the projector go on. */
static UNUSED void
estate_restart_placer(struct estate *e)
{
    placer_fini(&e->placer);
    wire_cut(&e->feed);
    cut_projector(e);
    orphan_slots(e, true);
    placer_init(&e->placer, hear_intent, e);
    informer_open(e);
    if (e->projector.up)
        link_projector(e);
    if (e->term != 0)
        placer_term_began(&e->placer, e->term);
}

/* A new informer lists everything. */
static UNUSED void
estate_restart_informer(struct estate *e)
{
    wire_cut(&e->feed);
    placer_feed_lost(&e->placer);
    informer_forget(e);
    informer_list(e);
    informer_open(e);
    e->informer.current = (struct moment){0};
    if (placer_is_current(&e->placer))
        e->informer.current = e->placer.current;
}

/* The projector is gone; what it had sent may have been carried out. */
static UNUSED void
estate_kill_projector(struct estate *e, bool carried_out)
{
    struct slot *s;
    size_t pos = 0;

    while (carried_out && (s = map_next(&e->projector.slots, &pos)) != NULL)
        if (s->in_flight && s->stage == STAGE_SENT &&
            seeded_below(&e->chance, 2) == 0)
            execute(e, s);
    drop_slots(e);
    cut_projector(e);
    e->projector.up = false;
    e->projector.term = 0;
    placer_projector_lost(&e->placer);
}

static UNUSED void
estate_start_projector(struct estate *e)
{
    e->projector.up = true;
    e->projector.generation++;
    link_projector(e);
}

static UNUSED void
estate_init(struct estate *e, uint64_t seed)
{
    *e = (struct estate){.chance = {seed},
                         .projector = {.up = true, .generation = 1}};
    placer_init(&e->placer, hear_intent, e);
    informer_list(e);
    informer_open(e);
    link_projector(e);
    estate_begin_term(e);
}

static UNUSED void
estate_fini(struct estate *e)
{
    placer_fini(&e->placer);
    drop_slots(e);
    wire_fini(&e->feed);
    wire_fini(&e->results);
    wire_fini(&e->intents);
    informer_forget(e);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct object *o;
        size_t pos = 0;

        while ((o = map_next(&e->objects[kind], &pos)) != NULL)
            object_free(o);
        map_fini(&e->objects[kind]);
        events_clear(&e->events[kind]);
        free(e->events[kind].items);
    }
    buf_fini(&e->log);
}

/* ---- letting it run ------------------------------------------------------ */

/* Every request is sent, carried out and answered; true if there was one. */
static UNUSED bool
projector_run(struct estate *e)
{
    struct slot *s;
    size_t pos = 0;
    bool any = false;

    while ((s = map_next(&e->projector.slots, &pos)) != NULL) {
        if (may_send(e, s))
            send_order(s);
        if (!s->in_flight)
            continue;
        while (s->stage != STAGE_ANSWERED)
            execute(e, s);
        finish(e, s, false);
        any = true;
    }
    return any;
}

static UNUSED bool
informer_run(struct estate *e)
{
    bool any = false;

    for (int kind = 0; kind < KIND_COUNT; kind++)
        while (informer_hear(e, (enum object_kind)kind))
            any = true;
    while (informer_tell(e))
        any = true;
    return any;
}

/* Lets everything happen until nothing does; it must come to an end. */
static UNUSED void
estate_calm(struct estate *e)
{
    bool any = true;

    for (int turn = 0; any; turn++) {
        any = informer_run(e);
        while (placer_hear(e, &e->feed))
            any = true;
        while (projector_hear(e))
            any = true;
        any |= projector_run(e);
        while (placer_hear(e, &e->results))
            any = true;
        if (turn == 2000)
            estate_fail(e, "it does not come to rest");
    }
}

#endif
