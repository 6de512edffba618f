/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/extract.h"

#include <string.h>

#include "common/api.h"
#include "common/kube/json.h"
#include "common/kube/meta.h"
#include "common/kube/owned.h"
#include "common/mem.h"
#include "informer/convert.h"
#include "informer/digest.h"
#include "informer/reader.h"
#include "proto/check.h"

/* The levels of a body that stand around a spec. */
#define LEVELS_ABOVE_SPEC 1

static void
read_meta(struct reader *r, struct object_meta *m)
{
    m->name = reader_need_text(r, "metadata.name");
    m->uid = reader_need_text(r, "metadata.uid");
    m->version = reader_need_text(r, "metadata.resourceVersion");
    m->generation = reader_number(r, "metadata.generation");
    m->created = reader_time(r, "metadata.creationTimestamp");
    m->deleting = reader_text(r, "metadata.deletionTimestamp").n > 0;
    m->labels = reader_pairs(r, "metadata.labels");
}

/* The spec in msgpack; an empty map where there is none. */
static struct str
read_spec(struct reader *r)
{
    const json_t *spec = reader_object(r, "spec");
    struct str packed = STR("\200");
    struct buf out = {0};

    if (spec == NULL)
        return packed;
    if (convert_msgpack(&out, spec, CHECK_DEPTH - LEVELS_ABOVE_SPEC, r->err) ==
        0) {
        packed.n = out.len;
        packed.s =
            memcpy(arena_alloc(r->arena, out.len), buf_bytes(&out), out.len);
    } else if (!r->bad) {
        err_prefix(r->err, "spec");
        r->bad = true;
    }
    buf_fini(&out);
    return packed;
}

static struct condition
read_condition(struct reader *outer, const json_t *item)
{
    struct reader r = reader_open(outer, item);
    struct condition c = {
        .type = reader_text(&r, "type"),
        .status = reader_text(&r, "status"),
        .reason = reader_text(&r, "reason"),
        .message = reader_text(&r, "message"),
        .observed = reader_number(&r, "observedGeneration"),
    };

    reader_close(outer, &r);
    return c;
}

static struct conditions
read_conditions(struct reader *r)
{
    const json_t *list = reader_list(r, "status.conditions");
    size_t count = json_array_size(list);
    struct condition *items = arena_alloc(r->arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++)
        items[i] = read_condition(r, json_array_get(list, i));
    return (struct conditions){items, count};
}

static struct object_status
read_status(struct reader *r)
{
    const json_t *status = reader_object(r, "status");
    struct object_status out = {STR("{}"), {0}};
    struct buf text = {0};

    if (status == NULL)
        return out;
    convert_canonical(&text, status, "conditions");
    out.fields = arena_str(r->arena, buf_str(&text));
    buf_fini(&text);
    out.conditions = read_conditions(r);
    return out;
}

static struct reader
begin(struct record *record, enum object_kind kind,
      const struct wire_object *object, struct arena *arena, struct err *err)
{
    struct reader r = {object->json, arena, err, false};

    *record = (struct record){.kind = kind};
    read_meta(&r, &record->meta);
    return r;
}

int
extract_profile(struct record *record, const struct wire_object *object,
                struct arena *arena, struct err *err)
{
    struct reader r = begin(record, KIND_PROFILE, object, arena, err);

    record->spec = read_spec(&r);
    return reader_end(&r);
}

int
extract_inventory(struct record *record, const struct wire_object *object,
                  struct arena *arena, struct err *err)
{
    struct reader r = begin(record, KIND_INVENTORY, object, arena, err);

    record->inventory.finalizers = reader_strs(&r, "metadata.finalizers");
    record->spec = read_spec(&r);
    record->inventory.status = read_status(&r);
    return reader_end(&r);
}

static struct owners
read_owners(struct reader *outer)
{
    const json_t *list = reader_list(outer, "metadata.ownerReferences");
    size_t count = json_array_size(list);
    struct object_owner *items =
        arena_alloc(outer->arena, count * sizeof(*items));

    for (size_t i = 0; i < count; i++) {
        struct reader r = reader_open(outer, json_array_get(list, i));

        items[i].api_version = reader_text(&r, "apiVersion");
        items[i].kind = reader_text(&r, "kind");
        items[i].name = reader_text(&r, "name");
        items[i].uid = reader_text(&r, "uid");
        items[i].controller = reader_choice(&r, "controller");
        items[i].block = reader_choice(&r, "blockOwnerDeletion");
        reader_close(outer, &r);
    }
    return (struct owners){items, count};
}

static void
read_slots(struct reader *outer, struct object_rack *rack)
{
    const json_t *list = reader_list(outer, "spec.nodes");
    size_t count = json_array_size(list);
    struct object_slot *slots =
        arena_alloc(outer->arena, count * sizeof(*slots));

    for (size_t i = 0; i < count; i++) {
        struct reader r = reader_open(outer, json_array_get(list, i));

        slots[i].index = reader_number(&r, "index");
        slots[i].gpus = (int64_t)json_array_size(reader_list(&r, "gpus"));
        slots[i].node.name = reader_text(&r, "nodeRef.name");
        slots[i].node.uid = reader_text(&r, "nodeRef.uid");
        reader_close(outer, &r);
    }
    rack->slots = slots;
    rack->slot_count = count;
}

static void
read_managed(struct reader *r, struct object_rack *rack)
{
    const json_t *list = reader_list(r, "metadata.managedFields");

    rack->managed = json_array_size(list) > 0;
    rack->spec_ours = owned_spec(list);
}

static struct object_ref
read_ref(struct reader *r, const char *name, const char *uid)
{
    return (struct object_ref){reader_text(r, name), reader_text(r, uid)};
}

int
extract_rack(struct record *record, const struct wire_object *object,
             struct arena *arena, struct err *err)
{
    struct reader r = begin(record, KIND_RACK, object, arena, err);
    struct object_rack *rack = &record->rack;

    rack->annotations = reader_pairs(&r, "metadata.annotations");
    rack->finalizers = reader_strs(&r, "metadata.finalizers");
    rack->owners = read_owners(&r);
    rack->inventory =
        read_ref(&r, "spec.inventoryRef.name", "spec.inventoryRef.uid");
    rack->profile = read_ref(&r, "spec.profileRef.name", "spec.profileRef.uid");
    rack->profile_generation = reader_number(&r, "spec.profileRef.generation");
    rack->revision = reader_text(&r, "spec.profileRef.revision");
    rack->group = reader_text(&r, "spec.identity.rackGroup");
    rack->index = reader_number(&r, "spec.identity.rackIndex");
    rack->fabric = reader_text(&r, "spec.identity.fabricUUID");
    rack->clique = reader_number(&r, "spec.identity.cliqueID");
    read_slots(&r, rack);
    read_managed(&r, rack);
    rack->digest = digest_rack(&r);
    rack->status = read_status(&r);
    return reader_end(&r);
}

struct identity
extract_identity(const struct wire_object *object)
{
    const struct kube_meta *m = object->meta;

    if (m != NULL)
        return (struct identity){m->name, m->uid, m->resource_version};
    return (struct identity){
        str_of(kube_json_text(object->json, "metadata.name")),
        str_of(kube_json_text(object->json, "metadata.uid")),
        str_of(kube_json_text(object->json, "metadata.resourceVersion")),
    };
}
