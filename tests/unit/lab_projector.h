/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_LAB_PROJECTOR_H
#define TESTS_UNIT_LAB_PROJECTOR_H

/*
 * For tests only: what carries out what the placer of a lab says, until all is
 * still.  Include after cmocka.h.
 */
#include "projector/render.h"
#include "tests/unit/lab_objects.h"

/* ---- what it says ------------------------------------------------------ */

static UNUSED void
lab_forget(struct lab *l, size_t i)
{
    free(l->asked[i].name);
    buf_fini(&l->asked[i].body);
    memmove(&l->asked[i], &l->asked[i + 1],
            (--l->count - i) * sizeof(*l->asked));
}

/* The latest intent for an action and object wins. */
static UNUSED void
lab_take(struct lab *l, enum action action, const struct sim_said *said)
{
    for (size_t i = l->count; i-- > 0;)
        if (l->asked[i].action == action &&
            strcmp(l->asked[i].name, said->name) == 0)
            lab_forget(l, i);
    if (said->type == MSG_WITHDRAW)
        return;
    if (l->count == l->room) {
        l->room = l->room == 0 ? 64 : l->room * 2;
        l->asked = mem_resize(l->asked, l->room, sizeof(*l->asked));
    }
    l->asked[l->count] = (struct lab_asked){
        action, said->type, said->id, mem_strdup(said->name), {0}};
    buf_adds(&l->asked[l->count++].body, buf_str(&said->body));
}

static UNUSED void
lab_tell_rack(struct lab *l, const struct intent_rack *i)
{
    json_t *spec = json_text(i->spec.s);
    char *place = mem_printf(
        "%s/%s/%d", json_str(json_at(spec, "inventoryRef"), "name").s,
        json_str(json_at(spec, "identity"), "rackGroup").s,
        (int)json_int(json_at(spec, "identity"), "rackIndex"));

    json_object_set_new(l->places, i->target.name.s, json_string(place));
    buf_printf(&l->told, "%s %s", i->target.uid.n == 0 ? "create" : "update",
               place);
    lab_add_bound(&l->told, spec);
    free(place);
    json_decref(spec);
}

static UNUSED void
lab_tell_node(struct lab *l, const struct intent_node *i)
{
    json_t *a;

    buf_printf(&l->told, "%s %s", i->release ? "release" : "apply",
               i->target.name.s);
    if (i->release)
        return;
    a = json_text(i->annotation.s);
    buf_printf(&l->told, " %s/%s/%d/%d",
               json_str(json_at(a, "inventory"), "name").s,
               json_str(a, "rackGroup").s, (int)json_int(a, "rackIndex"),
               (int)json_int(a, "nodeIndex"));
    json_decref(a);
}

/* What an intent says, as a line; the action that it is for. */
static UNUSED enum action
lab_read(struct lab *l, const struct sim_said *said, const struct value *body,
         struct arena *arena)
{
    const char *place = json_str(l->places, said->name).s;
    struct intent_finalizer finalizer;
    struct intent_status status;
    struct intent_rack rack;
    struct intent_node node;
    enum action action = ACTION_RACK;
    struct str name;
    int rc = 0;

    switch (said->type) {
    case MSG_RACK_WRITE:
        rc = intent_rack_unpack(&rack, body, arena, NULL);
        lab_tell_rack(l, &rack);
        break;
    case MSG_RACK_DELETE:
        buf_printf(&l->told, "delete %s", *place == '\0' ? said->name : place);
        break;
    case MSG_RACK_LOOK:
        buf_printf(&l->told, "look %s", *place == '\0' ? said->name : place);
        break;
    case MSG_NODE_APPLY:
        rc = intent_node_unpack(&node, body, arena, NULL);
        lab_tell_node(l, &node);
        action = ACTION_NODE;
        break;
    case MSG_FINALIZER:
        rc = intent_finalizer_unpack(&finalizer, body, arena, NULL);
        buf_printf(&l->told, "finalizer %s %s", said->name,
                   finalizer.present ? "on" : "off");
        action = ACTION_INVENTORY_FINALIZER;
        break;
    case MSG_STATUS_WRITE:
        rc = intent_status_unpack(&status, body, arena, NULL);
        action = status.action;
        buf_printf(&l->statuses, "%s\n", *place == '\0' ? said->name : place);
        break;
    default:
        rc = intent_withdraw_unpack(&action, &name, body, arena, NULL);
    }
    assert_int_equal(rc, 0);
    if (said->type != MSG_STATUS_WRITE && said->type != MSG_WITHDRAW)
        buf_addc(&l->told, '\n');
    return action;
}

static UNUSED void
lab_hear(struct lab *l)
{
    for (; l->heard < l->s.count; l->heard++) {
        const struct sim_said *said = &l->s.said[l->heard];
        struct arena arena = {0};
        struct unpacked *u;

        if (said->type == MSG_PLAN_BEGIN || said->type == MSG_PLAN_END ||
            said->type == MSG_EVENT)
            continue;
        u = unpack_body(buf_str(&said->body), NULL);
        lab_take(l, lab_read(l, said, unpacked_root(u), &arena), said);
        unpacked_free(u);
        arena_fini(&arena);
    }
    sim_forget(&l->s);
    l->heard = 0;
}

/* ---- carrying out ------------------------------------------------------ */

/* The object that an intent is about if it is still that one; else how the
 * intent ends. */
static UNUSED json_t *
lab_target(const struct lab *l, enum object_kind kind, const struct target *t,
           enum outcome *outcome)
{
    json_t *object = lab_find(l, kind, t->name.s);

    *outcome = OUTCOME_GONE;
    if (object == NULL || !str_is(t->uid, lab_uid(l, kind, t->name.s)))
        return NULL;
    *outcome = OUTCOME_DONE;
    return object;
}

static UNUSED bool
lab_is_version(json_t *object, struct str version)
{
    return str_eq(json_str(json_at(object, "metadata"), "resourceVersion"),
                  version);
}

static UNUSED json_t *
lab_slot(json_t *rack, int64_t index)
{
    json_t *slot;
    size_t i;

    json_array_foreach(json_at(rack, "spec.nodes"), i, slot)
    {
        if (json_int(slot, "index") == index)
            return slot;
    }
    return NULL;
}

/* Slots that are named by their index only are those that stand. */
static UNUSED void
lab_keep_slots(json_t *object, json_t *old)
{
    json_t *slot;
    size_t i;

    json_array_foreach(json_at(object, "spec.nodes"), i, slot)
    {
        if (json_object_get(slot, "gpus") == NULL)
            json_object_update(slot, lab_slot(old, json_int(slot, "index")));
    }
}

static UNUSED enum outcome
lab_write_rack(struct lab *l, const struct value *body, struct arena *arena)
{
    struct intent_rack i;
    struct buf text = {0};
    enum outcome outcome;
    json_t *old;
    json_t *object;
    char *json;

    assert_int_equal(intent_rack_unpack(&i, body, arena, NULL), 0);
    old = lab_find(l, KIND_RACK, i.target.name.s);
    if (i.target.uid.n == 0 && old != NULL)
        return str_is(i.owners.items[0].uid,
                      json_string_value(
                          json_at(old, "metadata.ownerReferences.0.uid")))
                   ? OUTCOME_STALE
                   : OUTCOME_CONFLICT;
    if (i.target.uid.n > 0) {
        old = lab_target(l, KIND_RACK, &i.target, &outcome);
        if (old == NULL || !lab_is_version(old, i.target.version))
            return old == NULL ? outcome : OUTCOME_STALE;
    }
    render_rack(&text, &i);
    json = buf_take(&text);
    object = json_text(json);
    free(json);
    json_put(object, "metadata.managedFields",
             json_pack("[{s:s,s:s,s:s,s:s,s:{s:{}}}]", "manager", FIELD_MANAGER,
                       "operation", "Update", "apiVersion", API_GROUP_VERSION,
                       "fieldsType", "FieldsV1", "fieldsV1", "f:spec"));
    if (old != NULL) {
        lab_keep_slots(object, old);
        json_put(
            object, "metadata.generation",
            json_integer(
                json_integer_value(json_at(old, "metadata.generation")) +
                !json_equal(json_at(old, "spec"), json_at(object, "spec"))));
        json_object_set(object, "status", json_object_get(old, "status"));
    }
    lab_put(l, KIND_RACK, object);
    return OUTCOME_DONE;
}

/* The rack goes, or waits for the finalizers of others. */
static UNUSED enum outcome
lab_delete_rack(struct lab *l, const struct value *body, struct arena *arena)
{
    struct target target;
    enum outcome outcome;
    json_t *object;
    json_t *item;
    size_t i;

    assert_int_equal(intent_delete_unpack(&target, body, arena, NULL), 0);
    object = lab_target(l, KIND_RACK, &target, &outcome);
    if (object == NULL || !lab_is_version(object, target.version))
        return object == NULL ? outcome : OUTCOME_STALE;
    json_array_foreach(json_at(object, "metadata.finalizers"), i, item)
    {
        if (strcmp(json_string_value(item), FINALIZER_RACK) == 0)
            break;
    }
    json_array_remove(json_at(object, "metadata.finalizers"), i);
    json_array_foreach(json_at(object, "spec.nodes"), i, item)
    {
        json_object_del(item, "nodeRef");
    }
    lab_delete(l, KIND_RACK, target.name.s);
    return OUTCOME_DONE;
}

/* Puts our keys on a Node, or (clique NULL) takes them off. */
static UNUSED void
lab_project(struct lab *l, const char *name, const char *clique,
            const char *annotation)
{
    json_t *node = lab_find(l, KIND_NODE, name);
    json_t *labels = json_at(node, "metadata.labels");

    if (clique == NULL) {
        json_object_del(labels, LABEL_ASSIGNED);
        json_object_del(labels, LABEL_CLIQUE);
    } else {
        json_object_set_new(labels, LABEL_ASSIGNED, json_string(LABEL_TRUE));
        json_object_set_new(labels, LABEL_CLIQUE, json_string(clique));
    }
    json_put(node, "annotation", json_string(annotation));
    json_put(node, "ours", json_integer(clique == NULL ? 0 : KEY_ALL));
    lab_changed(l, KIND_NODE, name);
}

static UNUSED enum outcome
lab_look_at_rack(struct lab *l, const struct value *body, struct arena *arena)
{
    struct target target;

    assert_int_equal(intent_delete_unpack(&target, body, arena, NULL), 0);
    return lab_find(l, KIND_RACK, target.name.s) == NULL ? OUTCOME_GONE
                                                         : OUTCOME_DONE;
}

static UNUSED enum outcome
lab_apply_node(struct lab *l, const struct value *body, struct arena *arena)
{
    struct intent_node i;
    enum outcome outcome;
    json_t *node;

    assert_int_equal(intent_node_unpack(&i, body, arena, NULL), 0);
    node = lab_target(l, KIND_NODE, &i.target, &outcome);
    if (node == NULL || (i.release && json_int(node, "ours") == 0))
        return outcome;
    if (i.release)
        lab_project(l, i.target.name.s, NULL, "");
    else
        lab_project(l, i.target.name.s, i.clique.s, i.annotation.s);
    return OUTCOME_DONE;
}

static UNUSED enum outcome
lab_edit_finalizer(struct lab *l, const struct value *body, struct arena *arena)
{
    struct intent_finalizer i;
    enum outcome outcome;
    json_t *object;

    assert_int_equal(intent_finalizer_unpack(&i, body, arena, NULL), 0);
    object = lab_target(l, KIND_INVENTORY, &i.target, &outcome);
    if (object == NULL)
        return outcome;
    json_put(object, "metadata.finalizers",
             i.present ? json_pack("[s]", i.finalizer.s) : json_array());
    if (!i.present && json_at(object, "metadata.deletionTimestamp") != NULL)
        lab_remove(l, KIND_INVENTORY, i.target.name.s);
    else
        lab_changed(l, KIND_INVENTORY, i.target.name.s);
    return OUTCOME_DONE;
}

static UNUSED enum outcome
lab_write_status(struct lab *l, const struct value *body, struct arena *arena)
{
    struct intent_status i;
    enum object_kind kind;
    enum outcome outcome;
    json_t *object;
    json_t *status;
    json_t *list;

    assert_int_equal(intent_status_unpack(&i, body, arena, NULL), 0);
    kind = i.action == ACTION_RACK_STATUS ? KIND_RACK : KIND_INVENTORY;
    object = lab_target(l, kind, &i.target, &outcome);
    if (object == NULL)
        return outcome;
    status = json_text(i.status.fields.s);
    list = json_array();
    for (size_t j = 0; j < i.status.conditions.count; j++) {
        const struct condition *c = &i.status.conditions.items[j];

        json_array_append_new(
            list, json_pack("{s:s,s:s,s:s,s:s,s:I}", "type", c->type.s,
                            "status", c->status.s, "reason", c->reason.s,
                            "message", c->message.s, "observedGeneration",
                            (json_int_t)c->observed));
    }
    json_object_set_new(status, "conditions", list);
    json_put(object, "status", status);
    lab_changed(l, kind, i.target.name.s);
    return OUTCOME_DONE;
}

/* Ends an intent with a RESULT. */
static UNUSED void
lab_end(struct lab *l, size_t at, enum outcome outcome, const char *uid,
        const char *version)
{
    struct lab_asked *a = &l->asked[at];
    struct buf body = {0};
    uint32_t id = a->id;

    result_pack(&body, &(struct result){.action = a->action,
                                        .outcome = outcome,
                                        .name = str_of(a->name),
                                        .uid = str_of(uid),
                                        .version = str_of(version),
                                        .reason = STR("")});
    lab_forget(l, at);
    sim_frame(&l->s, MSG_RESULT, id, &body);
    lab_hear(l);
}

/* The version that an answer tells: of the object as it is now, or of its
 * deletion. */
static UNUSED const char *
lab_version(struct lab *l, enum action action, const char *name)
{
    static const enum object_kind kinds[] = {
        [ACTION_RACK] = KIND_RACK,
        [ACTION_NODE] = KIND_NODE,
        [ACTION_INVENTORY_FINALIZER] = KIND_INVENTORY,
        [ACTION_INVENTORY_STATUS] = KIND_INVENTORY,
        [ACTION_RACK_STATUS] = KIND_RACK,
    };
    json_t *object = lab_find(l, kinds[action], name);
    struct str version = object == NULL ? sim_version(&l->s)
                                        : json_str(json_at(object, "metadata"),
                                                   "resourceVersion");

    return arena_str(&l->s.arena, version).s;
}

static UNUSED void
lab_carry_out(struct lab *l, size_t at)
{
    static const struct {
        uint16_t type;
        enum outcome (*act)(struct lab *l, const struct value *body,
                            struct arena *arena);
    } acts[] = {
        {MSG_RACK_WRITE, lab_write_rack},
        {MSG_RACK_DELETE, lab_delete_rack},
        {MSG_RACK_LOOK, lab_look_at_rack},
        {MSG_NODE_APPLY, lab_apply_node},
        {MSG_FINALIZER, lab_edit_finalizer},
        {MSG_STATUS_WRITE, lab_write_status},
    };
    const struct lab_asked *a = &l->asked[at];
    struct unpacked *u = unpack_body(buf_str(&a->body), NULL);
    const struct value *body = unpacked_root(u);
    enum outcome outcome = OUTCOME_COUNT;
    struct arena arena = {0};
    struct str uid = {NULL, 0};
    const char *version = "";

    value_str(value_at(value_at(body, 0), 1), &uid);
    uid = arena_str(&l->s.arena, uid);
    for (size_t i = 0; i < nitems(acts); i++)
        if (acts[i].type == a->type)
            outcome = acts[i].act(l, body, &arena);
    assert_int_not_equal(outcome, OUTCOME_COUNT);
    /* Of a rack that was to be created, whose name was taken, it is told. */
    if (outcome == OUTCOME_DONE || (a->action == ACTION_RACK && uid.n == 0))
        version = lab_version(l, a->action, a->name);
    lab_end(l, at, outcome, uid.s, version);
    unpacked_free(u);
    arena_fini(&arena);
}

/* The first intent that is not held back, statuses last: they wait for quiet.
 * count if there is none. */
static UNUSED size_t
lab_next(const struct lab *l)
{
    size_t found = l->count;

    for (size_t i = l->count; i-- > 0;)
        if (l->asked[i].type != l->held &&
            (found == l->count || l->asked[i].type != MSG_STATUS_WRITE ||
             l->asked[found].type == MSG_STATUS_WRITE))
            found = i;
    return found;
}

/* The feed tells what has changed. */
static UNUSED void
lab_batch(struct lab *l)
{
    lab_feed(l);
    sim_batch(&l->s);
    lab_hear(l);
}

/* Tells what has changed and carries out what is asked, until all is still. */
static UNUSED void
lab_settle(struct lab *l)
{
    int rounds = 0;

    lab_batch(l);
    for (size_t at; (at = lab_next(l)) < l->count; lab_batch(l)) {
        bool statuses = l->asked[at].type == MSG_STATUS_WRITE;
        size_t left = l->count;

        if (++rounds > 500)
            fail_msg("it never ends: %.400s", buf_take(&l->told));
        while (left-- > 0 && at < l->count &&
               statuses == (l->asked[at].type == MSG_STATUS_WRITE)) {
            lab_carry_out(l, at);
            at = lab_next(l);
        }
    }
}

/* The one intent of a type that waits for that object. */
static UNUSED struct lab_asked *
lab_asked(const struct lab *l, uint16_t type, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->asked[i].type == type && strcmp(l->asked[i].name, name) == 0)
            return &l->asked[i];
    fail_msg("no %s for %s waits", message_name(type), name);
    return NULL;
}

/* It is carried out, held back or not. */
static UNUSED void
lab_carry(struct lab *l, uint16_t type, const char *name)
{
    lab_carry_out(l, (size_t)(lab_asked(l, type, name) - l->asked));
}

/* It is answered so, and nothing else happens. */
static UNUSED void
lab_answer(struct lab *l, uint16_t type, const char *name, enum outcome outcome,
           const char *version)
{
    lab_end(l, (size_t)(lab_asked(l, type, name) - l->asked), outcome, "",
            version);
}

/* ---- the lab ----------------------------------------------------------- */

static UNUSED void
lab_log(struct lab *l)
{
    char path[] = "/tmp/test_scenario.XXXXXX";

    l->log = mkstemp(path);
    assert_true(l->log >= 0);
    unlink(path);
    log_to(l->log);
    log_setup("placer", 1, LOG_DEBUG, LOG_JSON);
}

/* A snapshot is open; the first lab_settle after lab_start ends it. */
static UNUSED void
lab_init(struct lab *l)
{
    *l = (struct lab){.places = json_object(), .news = json_array()};
    for (int i = 0; i < KIND_COUNT; i++)
        l->objects[i] = json_object();
    lab_log(l);
    sim_init(&l->s);
}

static UNUSED void
lab_start(struct lab *l)
{
    lab_feed(l);
    sim_synced(&l->s);
    lab_hear(l);
    lab_settle(l);
}

/* Another placer takes over; what was asked is dropped. */
static UNUSED void
lab_restart(struct lab *l)
{
    while (l->count > 0)
        lab_forget(l, 0);
    placer_fini(&l->s.p);
    placer_init(&l->s.p, sim_hear, &l->s);
    sim_term(&l->s, 2);
    sim_ledger(&l->s, 1);
    sim_frame(&l->s, MSG_SYNC_BEGIN, 0, NULL);
    json_array_clear(l->news);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const char *name;
        json_t *object;

        json_object_foreach(l->objects[kind], name, object)
            lab_show(l, (enum object_kind)kind, name,
                     lab_uid(l, (enum object_kind)kind, name));
    }
    lab_start(l);
}

static UNUSED void
lab_fini(struct lab *l)
{
    while (l->count > 0)
        lab_forget(l, l->count - 1);
    free(l->asked);
    for (int i = 0; i < KIND_COUNT; i++)
        json_decref(l->objects[i]);
    json_decref(l->places);
    json_decref(l->news);
    buf_fini(&l->told);
    buf_fini(&l->statuses);
    sim_fini(&l->s);
    log_to(1);
    log_setup("placer", 1, LOG_INFO, LOG_JSON);
    close(l->log);
}

#endif
