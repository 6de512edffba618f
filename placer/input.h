/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACER_INPUT_H
#define PLACER_INPUT_H

#include "placer/placer.h"
#include "proto/recording.h"

/*
 * Everything that has an influence on the placer, as one kind of thing: a live
 * placer takes it from its links, a replay from a recording, and both do with
 * it what stands here.
 */
struct input {
    enum recorded kind; /* RECORDED_LINKED, _LOST or _TAKEN */
    enum role peer;
    /* TAKEN: a frame; bytes is its body as it came. */
    uint16_t type;
    uint32_t id;
    struct str bytes;
    const struct value *body;
};

/* -1 and err if a frame breaks the protocol; its link is over then, and a LOST
 * follows. */
int input_apply(struct placer *p, const struct input *in, struct err *err);

#endif
