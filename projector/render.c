/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/render.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/kube/json.h"
#include "common/mem.h"

/*
 * Writing an object member by member: first is true until one was written.
 */
static void
key(struct buf *out, bool *first, struct str name)
{
    if (!*first)
        buf_addc(out, ',');
    *first = false;
    json_text_string(out, name);
    buf_addc(out, ':');
}

static void
text(struct buf *out, bool *first, const char *name, struct str value)
{
    key(out, first, str_of(name));
    json_text_string(out, value);
}

/* The same, but not if it is empty. */
static void
text_if(struct buf *out, bool *first, const char *name, struct str value)
{
    if (value.n > 0)
        text(out, first, name, value);
}

static void
pairs_if(struct buf *out, bool *first, const char *name, struct pairs pairs)
{
    bool inner = true;

    if (pairs.count == 0)
        return;
    key(out, first, str_of(name));
    buf_addc(out, '{');
    for (size_t i = 0; i < pairs.count; i++) {
        key(out, &inner, pairs.items[i].key);
        json_text_string(out, pairs.items[i].value);
    }
    buf_addc(out, '}');
}

static void
strs_if(struct buf *out, bool *first, const char *name, struct strs strs)
{
    if (strs.count == 0)
        return;
    key(out, first, str_of(name));
    for (size_t i = 0; i < strs.count; i++) {
        buf_addc(out, i == 0 ? '[' : ',');
        json_text_string(out, strs.items[i]);
    }
    buf_addc(out, ']');
}

/* -1 is a flag that is not there. */
static void
flag_if(struct buf *out, bool *first, const char *name, int value)
{
    if (value < 0)
        return;
    key(out, first, str_of(name));
    buf_addz(out, value ? "true" : "false");
}

static void
owner(struct buf *out, const struct object_owner *o)
{
    bool first = true;

    buf_addc(out, '{');
    text(out, &first, "apiVersion", o->api_version);
    text(out, &first, "kind", o->kind);
    text(out, &first, "name", o->name);
    text(out, &first, "uid", o->uid);
    flag_if(out, &first, "controller", o->controller);
    flag_if(out, &first, "blockOwnerDeletion", o->block);
    buf_addc(out, '}');
}

static void
owners_if(struct buf *out, bool *first, struct owners owners)
{
    if (owners.count == 0)
        return;
    key(out, first, STR("ownerReferences"));
    for (size_t i = 0; i < owners.count; i++) {
        buf_addc(out, i == 0 ? '[' : ',');
        owner(out, &owners.items[i]);
    }
    buf_addc(out, ']');
}

void
render_rack(struct buf *out, const struct intent_rack *i)
{
    bool first = true;

    buf_addz(out, "{\"apiVersion\":\"" API_GROUP_VERSION
                  "\",\"kind\":\"" API_RACK "\",\"metadata\":{");
    text(out, &first, "name", i->target.name);
    text_if(out, &first, "uid", i->target.uid);
    text_if(out, &first, "resourceVersion", i->target.version);
    pairs_if(out, &first, "labels", i->labels);
    pairs_if(out, &first, "annotations", i->annotations);
    strs_if(out, &first, "finalizers", i->finalizers);
    owners_if(out, &first, i->owners);
    buf_addz(out, "},\"spec\":");
    buf_adds(out, i->spec);
    buf_addc(out, '}');
}

void
render_delete(struct buf *out, const struct target *target)
{
    bool first = true;

    buf_addz(out, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
                  "\"preconditions\":{");
    text(out, &first, "uid", target->uid);
    text_if(out, &first, "resourceVersion", target->version);
    buf_addz(out, "}}");
}

void
render_node(struct buf *out, const struct intent_node *i)
{
    const struct pair annotation = {STR(ANNOTATION_ASSIGNMENT), i->annotation};
    const struct pair labels[] = {{STR(LABEL_ASSIGNED), STR(LABEL_TRUE)},
                                  {STR(LABEL_CLIQUE), i->clique}};
    bool first = true;

    buf_addz(out, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{");
    text(out, &first, "name", i->target.name);
    text(out, &first, "uid", i->target.uid);
    if (!i->release) {
        pairs_if(out, &first, "labels",
                 (struct pairs){labels, i->clique.n == 0 ? 1 : 2});
        pairs_if(out, &first, "annotations", (struct pairs){&annotation, 1});
    }
    buf_addz(out, "}}");
}

static int
dump_bytes(const char *bytes, size_t n, void *out)
{
    buf_add(out, bytes, n);
    return 0;
}

static void
dump(struct buf *out, const json_t *object)
{
    if (json_dump_callback(object, dump_bytes, out, JSON_COMPACT) != 0)
        fatal("an object that was parsed cannot be written");
}

/* The first slot that is named by its index alone, in text that starts at from:
 * where its braces open and close, or NULL.  No text of a spec looks like this
 * inside quotes, where the quotes of the name would be escaped. */
static const char *
find_kept(const char *from, const char *end, const char **close, int64_t *index)
{
    static const char open[] = "{\"index\":";
    const size_t n = sizeof(open) - 1;

    for (const char *at = from; at + n < end; at++) {
        const char *digit = at + n;

        if (memcmp(at, open, n) != 0)
            continue;
        for (*index = 0; digit < end && *digit >= '0' && *digit <= '9' &&
                         *index < MAX_NODES_PER_RACK;
             digit++)
            *index = *index * 10 + *digit - '0';
        *close = digit;
        if (digit > at + n && digit < end && *digit == '}')
            return at;
    }
    return NULL;
}

bool
render_keeps(struct str spec)
{
    const char *close;
    int64_t index;

    return spec.n > 0 &&
           find_kept(spec.s, spec.s + spec.n, &close, &index) != NULL;
}

static const json_t *
live_slot(const json_t *live, int64_t index)
{
    const json_t *nodes = kube_json_at(live, "spec.nodes");
    json_t *node;
    size_t i;

    json_array_foreach((json_t *)nodes, i, node)
    {
        const json_t *own = json_object_get(node, "index");

        if (json_is_integer(own) && json_integer_value(own) == index)
            return node;
    }
    return NULL;
}

int
render_kept(struct buf *out, struct str spec, const json_t *live,
            struct err *err)
{
    const char *from = spec.s;
    const char *end = spec.s + spec.n;
    const char *at, *close;
    int64_t index;

    if (!render_keeps(spec))
        return 0;
    while ((at = find_kept(from, end, &close, &index)) != NULL) {
        const json_t *slot = live_slot(live, index);

        if (slot == NULL)
            return err_set(err, "the live rack has no node index %" PRId64,
                           index);
        buf_add(out, from, (size_t)(at - from));
        dump(out, slot);
        from = close + 1;
    }
    buf_add(out, from, (size_t)(end - from));
    return 1;
}

/* A copy to be changed: it shares what is below metadata and status with the
 * live object. Who wrote which field is the server's to say. */
static json_t *
copy_live(const json_t *live, struct err *err)
{
    json_t *metadata = NULL;
    json_t *copy;

    if (kube_json_object(live, "metadata", &metadata, err) != 1) {
        err_set(err, "an object without metadata");
        return NULL;
    }
    copy = json_copy((json_t *)live);
    metadata = json_copy(metadata);
    json_object_del(metadata, "managedFields");
    json_object_set_new(copy, "metadata", metadata);
    return copy;
}

static int
string_is(const json_t *value, struct str text_)
{
    return json_is_string(value) && str_is(text_, json_string_value(value));
}

static json_t *
new_string(struct str value)
{
    json_t *string = json_stringn(value.s, value.n);

    return string != NULL ? string : json_string("");
}

/* The live list without the finalizer; *there tells whether it was in it. */
static json_t *
finalizers_without(const json_t *live, struct str finalizer, bool *there)
{
    const json_t *list = kube_json_at(live, "metadata.finalizers");
    json_t *copy = json_array();
    json_t *item;
    size_t i;

    *there = false;
    json_array_foreach((json_t *)list, i, item)
    {
        if (string_is(item, finalizer))
            *there = true;
        else
            json_array_append(copy, item);
    }
    return copy;
}

int
render_finalizer(struct buf *out, const json_t *live,
                 const struct intent_finalizer *i, struct err *err)
{
    json_t *copy = copy_live(live, err);
    json_t *list;
    bool there;

    if (copy == NULL)
        return -1;
    list = finalizers_without(live, i->finalizer, &there);
    if (i->present)
        json_array_append_new(list, new_string(i->finalizer));
    json_object_set_new(json_object_get(copy, "metadata"), "finalizers", list);
    if (there != i->present)
        dump(out, copy);
    json_decref(copy);
    return there != i->present;
}

/* Gives a copy a spec of its own: what is changed in it is not in the live
 * object then. */
static void
own_spec(json_t *copy)
{
    json_t *spec = json_deep_copy(json_object_get(copy, "spec"));

    if (spec != NULL)
        json_object_set_new(copy, "spec", spec);
}

/* Takes the binding off every slot; true if there was one. */
static bool
clear_slots(json_t *rack)
{
    json_t *nodes = kube_json_at(rack, "spec.nodes");
    bool any = false;
    json_t *slot;
    size_t i;

    json_array_foreach(nodes, i, slot)
    {
        if (json_object_del(slot, "nodeRef") == 0)
            any = true;
    }
    return any;
}

int
render_retired(struct buf *out, const json_t *live, struct err *err)
{
    json_t *copy = copy_live(live, err);
    json_t *list;
    bool there;

    if (copy == NULL)
        return -1;
    list = finalizers_without(live, STR(FINALIZER_RACK), &there);
    json_object_set_new(json_object_get(copy, "metadata"), "finalizers", list);
    own_spec(copy);
    if (clear_slots(copy))
        there = true;
    if (there)
        dump(out, copy);
    json_decref(copy);
    return there;
}

/* The live condition of that type, or NULL. */
static const json_t *
find_condition(const json_t *conditions, struct str type)
{
    json_t *item;
    size_t i;

    json_array_foreach((json_t *)conditions, i, item)
    {
        if (string_is(json_object_get(item, "type"), type))
            return item;
    }
    return NULL;
}

/* What both the time and the text of a standing condition depend on. */
static bool
same_verdict(const json_t *standing, const struct condition *c)
{
    return string_is(json_object_get(standing, "status"), c->status) &&
           string_is(json_object_get(standing, "reason"), c->reason);
}

static json_t *
transition_time(const json_t *standing, const struct condition *c, int64_t wall)
{
    json_t *time = json_object_get(standing, "lastTransitionTime");
    char now[CLOCK_TEXT];

    if (json_is_string(time) && same_verdict(standing, c))
        return json_incref(time);
    clock_format(wall, CLOCK_SECONDS, now);
    return json_string(now);
}

static json_t *
message(const json_t *standing, const struct condition *c)
{
    json_t *text_ = json_object_get(standing, "message");
    json_t *observed = json_object_get(standing, "observedGeneration");

    if (json_is_string(text_) && same_verdict(standing, c) &&
        str_is(c->status, "True") && json_is_integer(observed) &&
        json_integer_value(observed) == c->observed)
        return json_incref(text_);
    return new_string(c->message);
}

static json_t *
new_condition(const json_t *standing, const struct condition *c, int64_t wall)
{
    json_t *object = json_object();

    json_object_set_new(object, "lastTransitionTime",
                        transition_time(standing, c, wall));
    json_object_set_new(object, "message", message(standing, c));
    json_object_set_new(object, "observedGeneration",
                        json_integer(c->observed));
    json_object_set_new(object, "reason", new_string(c->reason));
    json_object_set_new(object, "status", new_string(c->status));
    json_object_set_new(object, "type", new_string(c->type));
    return object;
}

static int
by_type(const void *a, const void *b)
{
    const struct condition *const *x = a;
    const struct condition *const *y = b;

    return str_cmp((*x)->type, (*y)->type);
}

static json_t *
new_conditions(const json_t *live, struct conditions wanted, int64_t wall)
{
    const json_t *standing = kube_json_at(live, "status.conditions");
    const struct condition **sorted =
        mem_zalloc((wanted.count + 1) * sizeof(struct condition *));
    json_t *list = json_array();

    for (size_t i = 0; i < wanted.count; i++)
        sorted[i] = &wanted.items[i];
    qsort(sorted, wanted.count, sizeof(struct condition *), by_type);
    for (size_t i = 0; i < wanted.count; i++)
        json_array_append_new(
            list, new_condition(find_condition(standing, sorted[i]->type),
                                sorted[i], wall));
    free(sorted);
    return list;
}

static json_t *
new_status(const json_t *live, const struct object_status *wanted, int64_t wall,
           struct err *err)
{
    json_t *status = kube_json_parse(wanted->fields, err);

    if (status != NULL && !json_is_object(status)) {
        json_decref(status);
        status = NULL;
        err_set(err, "not an object");
    }
    if (status == NULL) {
        err_prefix(err, "fields of the wanted status");
        return NULL;
    }
    if (wanted->conditions.count > 0)
        json_object_set_new(status, "conditions",
                            new_conditions(live, wanted->conditions, wall));
    return status;
}

int
render_status(struct buf *out, const json_t *live,
              const struct object_status *wanted, int64_t wall, struct err *err)
{
    json_t *copy = copy_live(live, err);
    json_t *status;
    bool differs;

    if (copy == NULL)
        return -1;
    status = new_status(live, wanted, wall, err);
    if (status == NULL) {
        json_decref(copy);
        return -1;
    }
    differs = !json_equal(status, json_object_get(live, "status"));
    json_object_set_new(copy, "status", status);
    if (differs)
        dump(out, copy);
    json_decref(copy);
    return differs;
}
