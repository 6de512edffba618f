/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"

#include "common/mem.h"

struct row {
    uint16_t number;
    const char *name;
    uint32_t from, to;
    uint32_t cap;
    const char *body;
};

static const struct row rows[] = {
#define MESSAGE(number, name, from, to, cap, body)                             \
    {number, #name, from, to, cap, body},
#include "proto/messages.def"
};

static const struct row *
find(uint16_t type)
{
    for (size_t i = 0; i < nitems(rows); i++)
        if (rows[i].number == type)
            return &rows[i];
    return NULL;
}

const char *
message_name(uint16_t type)
{
    const struct row *row = find(type);

    return row == NULL ? "unknown" : row->name;
}

uint32_t
message_cap(uint16_t type)
{
    const struct row *row = find(type);

    return row == NULL ? 0 : row->cap;
}

uint32_t
message_receivers(uint16_t type)
{
    const struct row *row = find(type);

    return row == NULL ? 0 : row->to;
}

const char *
message_body(uint16_t type)
{
    const struct row *row = find(type);

    return row == NULL ? "" : row->body;
}

static void
put(unsigned char *at, uint32_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (unsigned char)value;
}

static uint32_t
get(const unsigned char *at, int bytes)
{
    uint32_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

void
frame_add(struct buf *out, uint16_t type, uint16_t flags, uint32_t id,
          struct str body)
{
    unsigned char header[FRAME_HEADER];

    put(header, (uint32_t)body.n, 4);
    put(header + 4, type, 2);
    put(header + 6, flags, 2);
    put(header + 8, id, 4);
    buf_add(out, header, sizeof(header));
    buf_adds(out, body);
}

static int
check_route(const struct frame *frame, enum role peer, enum role self,
            struct err *err)
{
    const struct row *row = find(frame->type);

    if (row == NULL)
        return err_set(err, "%s sent a message of unknown type %u",
                       role_name(peer), frame->type);
    if ((row->from & 1u << peer) == 0 || (row->to & 1u << self) == 0)
        return err_set(err, "%s may not send %s to %s", role_name(peer),
                       row->name, role_name(self));
    if (frame->length > row->cap)
        return err_set(err, "%s sent %s with %u bytes, the limit is %u",
                       role_name(peer), row->name, frame->length, row->cap);
    return 0;
}

int
frame_find(struct frame *frame, const struct buf *in, enum role peer,
           enum role self, struct err *err)
{
    const unsigned char *at = (const unsigned char *)buf_str(in).s;

    if (in->len < FRAME_HEADER)
        return 0;
    *frame = (struct frame){
        .length = get(at, 4),
        .type = (uint16_t)get(at + 4, 2),
        .flags = (uint16_t)get(at + 6, 2),
        .id = get(at + 8, 4),
        .body = (const char *)at + FRAME_HEADER,
    };
    if (check_route(frame, peer, self, err) != 0)
        return -1;
    return in->len - FRAME_HEADER >= frame->length;
}
