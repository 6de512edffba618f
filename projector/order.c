/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/order.h"

#include <stdlib.h>

#include "common/api.h"
#include "common/mem.h"
#include "common/sip.h"
#include "proto/frame.h"
#include "proto/unpack.h"

static int
read_rack(union intent *intent, const struct value *body, struct arena *arena,
          struct err *err)
{
    return intent_rack_unpack(&intent->rack, body, arena, err);
}

static void
put_rack(struct buf *out, const union intent *intent)
{
    intent_rack_pack(out, &intent->rack);
}

static int
read_target(union intent *intent, const struct value *body, struct arena *arena,
            struct err *err)
{
    return intent_delete_unpack(&intent->target, body, arena, err);
}

static void
put_target(struct buf *out, const union intent *intent)
{
    intent_delete_pack(out, &intent->target);
}

static int
read_finalizer(union intent *intent, const struct value *body,
               struct arena *arena, struct err *err)
{
    return intent_finalizer_unpack(&intent->finalizer, body, arena, err);
}

static void
put_finalizer(struct buf *out, const union intent *intent)
{
    intent_finalizer_pack(out, &intent->finalizer);
}

static int
read_node(union intent *intent, const struct value *body, struct arena *arena,
          struct err *err)
{
    return intent_node_unpack(&intent->node, body, arena, err);
}

static void
put_node(struct buf *out, const union intent *intent)
{
    intent_node_pack(out, &intent->node);
}

static int
read_status(union intent *intent, const struct value *body, struct arena *arena,
            struct err *err)
{
    return intent_status_unpack(&intent->status, body, arena, err);
}

static void
put_status(struct buf *out, const union intent *intent)
{
    intent_status_pack(out, &intent->status);
}

struct form {
    uint16_t type;
    enum action action; /* of a status, the message itself says which */
    int (*read)(union intent *intent, const struct value *body,
                struct arena *arena, struct err *err);
    void (*put)(struct buf *out, const union intent *intent);
};

static const struct form *
find_form(uint16_t type)
{
    static const struct form forms[] = {
        {MSG_RACK_WRITE, ACTION_RACK, read_rack, put_rack},
        {MSG_RACK_DELETE, ACTION_RACK, read_target, put_target},
        {MSG_RACK_LOOK, ACTION_RACK, read_target, put_target},
        {MSG_FINALIZER, ACTION_INVENTORY_FINALIZER, read_finalizer,
         put_finalizer},
        {MSG_NODE_APPLY, ACTION_NODE, read_node, put_node},
        {MSG_STATUS_WRITE, ACTION_COUNT, read_status, put_status},
    };

    for (size_t i = 0; i < nitems(forms); i++)
        if (forms[i].type == type)
            return &forms[i];
    fatal("message %u carries no intent", (unsigned)type);
}

static struct str
copy_text(char **at, struct str text)
{
    struct str copy = {*at, text.n};

    if (text.n > 0)
        memcpy(*at, text.s, text.n);
    (*at)[text.n] = '\0';
    *at += text.n + 1;
    return copy;
}

/* One block: the struct, then its texts. */
static struct order *
make_order(const struct target *target, struct str content)
{
    struct order *w = mem_zalloc(sizeof(*w) + target->name.n + target->uid.n +
                                 target->version.n + content.n + 4);
    char *at = (char *)(w + 1);

    w->target.name = copy_text(&at, target->name);
    w->target.uid = copy_text(&at, target->uid);
    w->target.version = copy_text(&at, target->version);
    w->content = copy_text(&at, content);
    return w;
}

static uint64_t
essence_of(uint16_t type, const union intent *intent, struct str content)
{
    static const struct sip seed; /* whoever aims at it gains nothing */
    struct str text = content;

    if (type == MSG_RACK_LOOK || type == MSG_RACK_DELETE)
        return 0;
    if (type == MSG_RACK_WRITE)
        text = intent->rack.spec;
    return sip_hash(&seed, text.s, text.n) | 1;
}

static bool
is_passing(const struct intent_status *status)
{
    const struct conditions *all = &status->status.conditions;

    for (size_t i = 0; i < all->count; i++)
        if (str_is(all->items[i].reason, REASON_PROJECTING))
            return status->action == ACTION_RACK_STATUS;
    return false;
}

struct order *
order_new(uint16_t type, uint32_t id, const struct value *body, struct err *err)
{
    const struct form *form = find_form(type);
    struct arena arena = {0};
    struct buf content = {0};
    union intent intent = {0};
    struct order *order = NULL;

    if (form->read(&intent, body, &arena, err) == 0) {
        struct target target = intent.target;

        intent.target.uid = intent.target.version = STR("");
        form->put(&content, &intent);
        order = make_order(&target, buf_str(&content));
        order->type = type;
        order->id = id;
        order->essence = essence_of(type, &intent, order->content);
        order->action =
            type == MSG_STATUS_WRITE ? intent.status.action : form->action;
        order->passing = type == MSG_STATUS_WRITE && is_passing(&intent.status);
    }
    buf_fini(&content);
    arena_fini(&arena);
    return order;
}

bool
order_same(const struct order *a, const struct order *b)
{
    return a->type == b->type && str_eq(a->content, b->content);
}

void
order_read(union intent *intent, const struct order *order, struct arena *arena)
{
    const struct form *form = find_form(order->type);
    struct unpacked *u;
    struct err err;

    u = unpack_body(order->content, &err);
    if (u == NULL || form->read(intent, unpacked_root(u), arena, &err) != 0)
        fatal("an intent kept does not unpack: %s", err.text);
    unpacked_free(u);
    intent->target.uid = arena_str(arena, order->target.uid);
    intent->target.version = arena_str(arena, order->target.version);
}
