/* SPDX-License-Identifier: Apache-2.0 */
#include "informer/record.h"

#include "proto/check.h"
#include "proto/frame.h"

/* The caps of the catalogue, by name. */
enum {
#define MESSAGE(number, name, from, to, cap, body) CAP_##name = (cap),
#include "proto/messages.def"
};

static void
pack_profile(struct buf *out, const struct record *r)
{
    object_profile_pack(out, &r->profile, r->spec);
}

static void
pack_inventory(struct buf *out, const struct record *r)
{
    object_inventory_pack(out, &r->inventory, r->spec);
}

static void
pack_rack(struct buf *out, const struct record *r)
{
    object_rack_pack(out, &r->rack);
}

static void
pack_node(struct buf *out, const struct record *r)
{
    object_node_pack(out, &r->node);
}

static const struct {
    uint16_t message;
    uint32_t cap;
    void (*pack)(struct buf *out, const struct record *r);
} kinds[KIND_COUNT] = {
    [KIND_PROFILE] = {MSG_PROFILE, CAP_PROFILE, pack_profile},
    [KIND_INVENTORY] = {MSG_INVENTORY, CAP_INVENTORY, pack_inventory},
    [KIND_RACK] = {MSG_RACK, CAP_RACK, pack_rack},
    [KIND_NODE] = {MSG_NODE, CAP_NODE, pack_node},
};

void
record_pack(struct buf *out, const struct record *r, struct str version)
{
    struct record copy = *r;

    copy.meta.version = version;
    kinds[r->kind].pack(out, &copy);
}

uint16_t
record_message(enum object_kind kind)
{
    return kinds[kind].message;
}

int
record_check(enum object_kind kind, struct str body, struct err *err)
{
    if (body.n > kinds[kind].cap)
        return err_set(err, "its record of %zu bytes is above the limit of %u",
                       body.n, kinds[kind].cap);
    return check_body(body, err);
}
