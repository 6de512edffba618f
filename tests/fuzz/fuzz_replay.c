/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: bytes as they are, and bytes taken as frames for a placer, whose
 * recording, whatever was in the frames, must replay to the same intents.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "placer/input.h"
#include "placer/replay.h"
#include "proto/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct {
    enum role peer;
    uint16_t type;
} taken[] = {
    {ROLE_INFORMER, MSG_SYNC_BEGIN},   {ROLE_INFORMER, MSG_SYNC_END},
    {ROLE_INFORMER, MSG_BATCH_END},    {ROLE_INFORMER, MSG_PROFILE},
    {ROLE_INFORMER, MSG_INVENTORY},    {ROLE_INFORMER, MSG_RACK},
    {ROLE_INFORMER, MSG_NODE},         {ROLE_INFORMER, MSG_GONE},
    {ROLE_INFORMER, MSG_AS_OF},        {ROLE_PROJECTOR, MSG_WRITTEN},
    {ROLE_PROJECTOR, MSG_WRITTEN_END}, {ROLE_PROJECTOR, MSG_RESULT},
    {ROLE_SUPERVISOR, MSG_TERM_BEGAN}, {ROLE_SUPERVISOR, MSG_TERM_ENDED},
    {ROLE_PROJECTOR, MSG_RESTING},     {ROLE_INFORMER, MSG_CURRENT},
};

static void
on_said(void *arg, uint16_t type, uint32_t id, struct str body)
{
    recording_add_frame(arg, RECORDED_SAID, ROLE_PROJECTOR, type, id, body);
}

/* One frame, if its body is one, or a link event; how many bytes it took. */
static size_t
feed(struct placer *p, struct buf *recording, struct str bytes)
{
    unsigned what = (unsigned char)bytes.s[0];
    size_t size = bytes.n < 2 ? 0 : (unsigned char)bytes.s[1];
    struct input in = {.kind = RECORDED_LOST, .peer = what % 2 + 1};
    struct unpacked *u = NULL;

    if (size + 2 > bytes.n)
        size = bytes.n - (bytes.n < 2 ? 1 : 2);
    if (what % 32 < nitems(taken)) {
        in = (struct input){
            .kind = RECORDED_TAKEN,
            .peer = taken[what % 32].peer,
            .type = taken[what % 32].type,
            .id = what / 32,
            .bytes = {bytes.s + 2, size},
        };
        u = size == 0 ? NULL : unpack_body(in.bytes, NULL);
        if (u == NULL)
            return 2 + size;
        if (size > message_cap(in.type)) {
            unpacked_free(u);
            return 2 + size;
        }
        in.body = unpacked_root(u);
        recording_add_frame(recording, in.kind, in.peer, in.type, in.id,
                            in.bytes);
    } else {
        recording_add_link(recording, in.kind, in.peer);
    }
    (void)input_apply(p, &in, NULL);
    unpacked_free(u);
    return 2 + size;
}

static void
live(struct str bytes)
{
    struct buf recording = {0};
    struct replay_sums sums;
    struct placer p;

    recording_add_begin(&recording, 1, 0);
    placer_init(&p, on_said, &recording);
    while (bytes.n > 0) {
        size_t n = feed(&p, &recording, bytes);

        n = n > bytes.n ? bytes.n : n;
        bytes.s += n;
        bytes.n -= n;
    }
    placer_fini(&p);
    recording_add_end(&recording, true, "");
    if (replay(buf_str(&recording), REPLAY_NOTHING, &sums, NULL) != REPLAY_SAME)
        abort();
    buf_fini(&recording);
}

static void
nothing(void *arg, enum log_level level, const char *msg,
        const struct log_field *fields)
{
    (void)arg;
    (void)level;
    (void)msg;
    (void)fields;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = {(const char *)data, n};
    struct replay_sums sums;
    struct buf marked = {0};
    struct err err;

    log_hand_to(nothing, NULL);
    replay(bytes, REPLAY_NOTHING, &sums, &err);
    buf_addz(&marked, RECORDING_MARK);
    buf_adds(&marked, bytes);
    replay(buf_str(&marked), REPLAY_NOTHING, &sums, &err);
    buf_fini(&marked);
    live(bytes);
    return 0;
}
