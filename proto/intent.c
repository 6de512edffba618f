/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/intent.h"

#include "common/mem.h"
#include "proto/fields.h"
#include "proto/pack.h"

const char *
action_name(enum action action)
{
    static const char *const names[ACTION_COUNT] = {
        [ACTION_RACK] = "rack",
        [ACTION_NODE] = "node",
        [ACTION_INVENTORY_FINALIZER] = "inventory finalizer",
        [ACTION_INVENTORY_STATUS] = "inventory status",
        [ACTION_RACK_STATUS] = "rack status",
    };

    return (unsigned)action < ACTION_COUNT ? names[action] : "unknown";
}

const char *
outcome_name(enum outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_DONE] = "done",         [OUTCOME_STALE] = "stale",
        [OUTCOME_GONE] = "gone",         [OUTCOME_INVALID] = "invalid",
        [OUTCOME_CONFLICT] = "conflict", [OUTCOME_KEPT] = "kept",
    };

    return (unsigned)outcome < OUTCOME_COUNT ? names[outcome] : "unknown";
}

static void
put_target(struct buf *out, const struct target *t)
{
    pack_array(out, 3);
    pack_str(out, t->name);
    pack_str(out, t->uid);
    pack_str(out, t->version);
}

static void
get_target(struct unpack *outer, struct target *t, struct arena *arena)
{
    struct unpack u = unpack_fields(unpack_array(outer));

    t->name = fields_get_str(&u, arena);
    t->uid = fields_get_str(&u, arena);
    t->version = fields_get_str(&u, arena);
    if (unpack_end(&u, NULL) != 0 || t->name.n == 0)
        outer->bad = true;
}

static unsigned
get_enum(struct unpack *u, unsigned count)
{
    int64_t number = unpack_int(u);

    if (number >= 0 && number < count)
        return (unsigned)number;
    u->bad = true;
    return 0;
}

void
intent_rack_pack(struct buf *out, const struct intent_rack *i)
{
    pack_array(out, 7);
    put_target(out, &i->target);
    pack_int(out, i->generation);
    fields_put_pairs(out, i->labels);
    fields_put_pairs(out, i->annotations);
    fields_put_strs(out, i->finalizers);
    fields_put_owners(out, i->owners);
    pack_str(out, i->spec);
}

int
intent_rack_unpack(struct intent_rack *i, const struct value *body,
                   struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_target(&u, &i->target, arena);
    i->generation = unpack_int(&u);
    i->labels = fields_get_pairs(&u, arena);
    i->annotations = fields_get_pairs(&u, arena);
    i->finalizers = fields_get_strs(&u, arena);
    i->owners = fields_get_owners(&u, arena);
    i->spec = fields_get_str(&u, arena);
    return unpack_end(&u, err);
}

void
intent_node_pack(struct buf *out, const struct intent_node *i)
{
    pack_array(out, 6);
    put_target(out, &i->target);
    pack_str(out, i->clique);
    pack_str(out, i->annotation);
    pack_bool(out, i->release);
    pack_bool(out, i->keep);
    pack_bool(out, i->stray);
}

int
intent_node_unpack(struct intent_node *i, const struct value *body,
                   struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_target(&u, &i->target, arena);
    i->clique = fields_get_str(&u, arena);
    i->annotation = fields_get_str(&u, arena);
    i->release = unpack_bool(&u);
    i->keep = unpack_bool(&u);
    i->stray = unpack_bool(&u);
    return unpack_end(&u, err);
}

void
intent_finalizer_pack(struct buf *out, const struct intent_finalizer *i)
{
    pack_array(out, 3);
    put_target(out, &i->target);
    pack_str(out, i->finalizer);
    pack_bool(out, i->present);
}

int
intent_finalizer_unpack(struct intent_finalizer *i, const struct value *body,
                        struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_target(&u, &i->target, arena);
    i->finalizer = fields_get_str(&u, arena);
    i->present = unpack_bool(&u);
    return unpack_end(&u, err);
}

void
intent_event_pack(struct buf *out, const struct intent_event *i)
{
    pack_array(out, 6);
    put_target(out, &i->target);
    pack_int(out, i->kind);
    pack_bool(out, i->warning);
    pack_str(out, i->reason);
    pack_str(out, i->message);
    pack_str(out, i->action);
}

int
intent_event_unpack(struct intent_event *i, const struct value *body,
                    struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_target(&u, &i->target, arena);
    i->kind = (enum object_kind)get_enum(&u, KIND_COUNT);
    i->warning = unpack_bool(&u);
    i->reason = fields_get_str(&u, arena);
    i->message = fields_get_str(&u, arena);
    i->action = fields_get_str(&u, arena);
    return unpack_end(&u, err);
}

void
intent_status_pack(struct buf *out, const struct intent_status *i)
{
    pack_array(out, 4);
    put_target(out, &i->target);
    pack_int(out, i->action);
    pack_str(out, i->status.fields);
    fields_put_conditions(out, i->status.conditions);
}

int
intent_status_unpack(struct intent_status *i, const struct value *body,
                     struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_target(&u, &i->target, arena);
    i->action = (enum action)get_enum(&u, ACTION_COUNT);
    i->status.fields = fields_get_str(&u, arena);
    i->status.conditions = fields_get_conditions(&u, arena);
    if (i->action != ACTION_INVENTORY_STATUS && i->action != ACTION_RACK_STATUS)
        u.bad = true;
    return unpack_end(&u, err);
}

void
intent_delete_pack(struct buf *out, const struct target *target)
{
    pack_array(out, 1);
    put_target(out, target);
}

int
intent_delete_unpack(struct target *target, const struct value *body,
                     struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    get_target(&u, target, arena);
    return unpack_end(&u, err);
}

void
intent_withdraw_pack(struct buf *out, enum action action, struct str name)
{
    pack_array(out, 2);
    pack_int(out, action);
    pack_str(out, name);
}

int
intent_withdraw_unpack(enum action *action, struct str *name,
                       const struct value *body, struct arena *arena,
                       struct err *err)
{
    struct unpack u = unpack_fields(body);

    *action = (enum action)get_enum(&u, ACTION_COUNT);
    *name = fields_get_str(&u, arena);
    return unpack_end(&u, err);
}

void
result_pack(struct buf *out, const struct result *r)
{
    pack_array(out, 6);
    pack_int(out, r->action);
    pack_int(out, r->outcome);
    pack_str(out, r->name);
    pack_str(out, r->uid);
    pack_str(out, r->version);
    pack_str(out, r->reason);
}

int
result_unpack(struct result *r, const struct value *body, struct arena *arena,
              struct err *err)
{
    struct unpack u = unpack_fields(body);

    r->action = (enum action)get_enum(&u, ACTION_COUNT);
    r->outcome = (enum outcome)get_enum(&u, OUTCOME_COUNT);
    r->name = fields_get_str(&u, arena);
    r->uid = fields_get_str(&u, arena);
    r->version = fields_get_str(&u, arena);
    r->reason = fields_get_str(&u, arena);
    return unpack_end(&u, err);
}

void
written_pack(struct buf *out, enum action action, const struct target *t)
{
    pack_array(out, 2);
    pack_int(out, action);
    put_target(out, t);
}

int
written_unpack(enum action *action, struct target *t, const struct value *body,
               struct arena *arena, struct err *err)
{
    struct unpack u = unpack_fields(body);

    *action = (enum action)get_enum(&u, ACTION_COUNT);
    get_target(&u, t, arena);
    return unpack_end(&u, err);
}

static struct str
significant(struct str version)
{
    for (size_t i = 0; i < version.n; i++)
        if (version.s[i] < '0' || version.s[i] > '9')
            return STR("");
    while (version.n > 0 && version.s[0] == '0') {
        version.s++;
        version.n--;
    }
    return version;
}

int
version_cmp(struct str a, struct str b)
{
    struct str x = significant(a);
    struct str y = significant(b);

    if (x.n != y.n)
        return x.n < y.n ? -1 : 1;
    return str_cmp(x, y);
}
