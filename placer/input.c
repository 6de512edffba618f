/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/input.h"

#include "proto/unpack.h"

static int
take_term_began(struct placer *p, const struct value *body, struct err *err)
{
    struct unpack u = unpack_fields(body);
    int64_t term = unpack_int(&u);

    if (unpack_end(&u, err) != 0)
        return -1;
    placer_term_began(p, (uint64_t)term);
    return 0;
}

static int
take_frame(struct placer *p, const struct input *in, struct err *err)
{
    switch (in->type) {
    case MSG_TERM_BEGAN:
        return take_term_began(p, in->body, err);
    case MSG_TERM_ENDED:
        placer_term_ended(p);
        return 0;
    default:
        return placer_frame(p, in->type, in->id, in->body, err);
    }
}

int
input_apply(struct placer *p, const struct input *in, struct err *err)
{
    if (in->kind == RECORDED_TAKEN)
        return take_frame(p, in, err);
    if (in->kind == RECORDED_LOST && in->peer == ROLE_INFORMER)
        placer_feed_lost(p);
    else if (in->kind == RECORDED_LOST && in->peer == ROLE_PROJECTOR)
        placer_projector_lost(p);
    return 0;
}
